// Attention weights that you can walk through: one map per head, any number of heads.
import {exactly} from "./base.js";
import {favourites, maps, reading, SAID, unpacked} from "./maps.js";

export default ({names, keys, weights, scores, masked}) => {
  const exact = Array.isArray(weights), heads = exact ? weights : unpacked(weights), digits = exact ? 4 : 3;
  const several = heads.length > 1, titles = heads.map((_, head) => several ? `head ${head}` : "weights");
  const look = {names, keys, digits, hidden: (row, column) => masked[row][column]};

  function draw(page, {query, head = -1}, at) {
    const chosen = [...heads.keys()].filter(place => head < 0 || place === head);
    maps(page, chosen.map(place => ({key: titles[place], values: heads[place]})), {...look, row: query, at, spots: heads.length});
    return at ? tell(at) : summary(chosen, query);
  }

  function tell(at) {
    const head = titles.indexOf(at.part), score = scores?.[head][at.row][at.column];
    return `${several ? `${at.part}, ` : ""}${reading(at, heads[head], look)}${Number.isFinite(score) ? exactly`, score ${score}` : ""}.`;
  }

  function summary(chosen, query) {
    if (query < 0) return `Each row is a query, each column a key, and a row's sum stands beside it${chosen.length > 1 ? "; each map is a head" : ""}. Pick a query to read it.`;
    const said = chosen.slice(0, SAID).map(head => (several ? `${titles[head]}: ` : "") + favourites(heads[head][query], keys, names[query]));
    return `${said.join("; ")}.${chosen.length > SAID ? " Pick a head to read the others." : ""}`;
  }

  const controls = {query: ["select", "query", -1, names]};
  if (several) controls.head = ["select", "head", -1, [...heads.keys()]];
  return {controls, draw, letters: several ? 260 : 130};
};

// Attention weights that you can walk through: one map per head, any number of heads.
import {figure, fixed, named} from "./base.js";
import {favourites, maps, SAID, unpacked} from "./maps.js";

export default figure(({names, keys, weights, scores, masked}) => {
  const exact = Array.isArray(weights), heads = exact ? weights : unpacked(weights), digits = exact ? 4 : 3;
  const titles = heads.map((_, head) => heads.length > 1 ? `head ${head}` : "weights"), several = heads.length > 1;
  const hidden = (row, column) => Boolean(masked[row][column]);

  function draw(page, {query, head = -1}, at) {
    const chosen = [...heads.keys()].filter(place => head < 0 || place === head);
    maps(page, chosen.map(place => ({key: titles[place], values: heads[place]})), {
      names, keys, hidden, row: query, at, press: row => page.change({query: row === query ? -1 : row}), spots: heads.length,
    });
    return at ? tell(at) : say(chosen, query);
  }

  function tell({part, row, column}) {
    const head = titles.indexOf(part), score = scores ? `score ${fixed(scores[head][row][column] ?? NaN, 4)}, ` : "";
    const what = hidden(row, column) ? "masked" : `${score}weight ${fixed(heads[head][row][column], digits)}`;
    return `${several ? `${part}, ` : ""}${named(names[row], keys[column])}${what}.`;
  }

  function say(chosen, query) {
    if (query < 0) return `Each row is a query, each column a key, and a row's sum stands beside it${chosen.length > 1 ? "; each map is a head" : ""}. Pick a query to read it.`;
    const said = chosen.slice(0, SAID).map(head => (several ? `${titles[head]}: ` : "") + favourites(heads[head][query], keys, names[query]));
    return `${said.join("; ")}.${chosen.length > SAID ? " Pick a head to read the others." : ""}`;
  }

  const controls = {query: ["select", "query", -1, names, "all"]};
  if (several) controls.head = ["select", "head", -1, [...heads.keys()], "all"];
  return {controls, draw, letters: several ? 260 : 130};
});

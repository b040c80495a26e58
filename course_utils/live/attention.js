// Attention weights that you can walk through: one map per head, any number of heads.
import {favourites, figure, fixed, places, SAID, unpacked} from "./base.js";

export default figure(({names, keys, weights, scores, masked}) => {
  const exact = Array.isArray(weights), heads = exact ? weights : unpacked(weights), digits = exact ? 4 : 3;
  const hidden = (row, column) => Boolean(masked && masked[row][column]);
  const title = head => heads.length > 1 ? `head ${head}` : "";

  function draw(page, {query, head = -1}, at) {
    const chosen = head < 0 ? heads.map((_, place) => place) : [head];
    page.maps(chosen.map(number => ({key: `head ${number}`, values: heads[number], title: title(number)})), {
      names, keys, hidden, row: query, at, press: row => page.change({query: row === query ? -1 : row}), spots: heads.length,
    });
    return at ? tell(at) : say(chosen, query);
  }

  function tell({map, row, column}) {
    const head = +map.slice(5);
    const score = scores ? `score ${fixed(scores[head][row][column] ?? NaN, 4)}, ` : "";
    const what = hidden(row, column) ? "masked" : `${score}weight ${fixed(heads[head][row][column], digits)}`;
    return `${heads.length > 1 ? `Head ${head}, query` : "Query"} "${names[row]}", key "${keys[column]}": ${what}.`;
  }

  function say(chosen, query) {
    if (query < 0) return `Each row is a query, each column a key, and a row's sum stands beside it${chosen.length > 1 ? "; each map is a head" : ""}. Pick a query to read it.`;
    const said = chosen.slice(0, SAID).map(head => (title(head) && `${title(head)}: `) + favourites(heads[head][query], keys, names[query])).join("; ");
    return said[0].toUpperCase() + said.slice(1) + "." + (chosen.length > SAID ? " Pick a head to read the others." : "");
  }

  const controls = {query: ["select", "query", -1, places(names, "all")]};
  if (heads.length > 1) controls.head = ["select", "head", -1, places(heads.map((_, head) => `${head}`), "all")];
  return {controls, draw, letters: heads.length > 1 ? 260 : 130};
});

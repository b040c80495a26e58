// Attention weights that you can walk through: one map per head, any number of heads.
import {corner, favourites, figure, fit, fixed, places, roomy, SAID, unpacked} from "./base.js";

export function render({model, el}) {
  const names = model.get("names"), keys = model.get("keys"), given = model.get("weights"), exact = Array.isArray(given);
  const heads = exact ? given : unpacked(given), digits = exact ? 4 : 3;
  const scores = model.get("scores"), masked = model.get("masked");
  const hidden = (row, column) => Boolean(masked && masked[row][column]);
  const title = head => heads.length > 1 ? `head ${head}` : "";

  function draw(page, {query, head = -1}, at) {
    const chosen = head < 0 ? heads.map((_, place) => place) : [head], room = roomy(page.width);
    const whole = fit(heads.length, names, keys, page.width, room, 44), tall = Math.ceil(heads.length / whole.across) * whole.high;
    const layout = head < 0 ? whole : fit(1, names, keys, page.width, tall, 44);
    chosen.forEach((number, place) => page.map(`head ${number}`, ...corner(layout, place), layout.cell, heads[number], {
      names, keys, hidden, title: title(number), row: query, at, press: row => page.change({query: row === query ? -1 : row}),
    }));
    page.height = tall;
    page.scale(24, page.height + 4);
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

  const controls = {query: ["select", "query", places(names, "all")]};
  if (heads.length > 1) controls.head = ["select", "head", places(heads.map((_, head) => `${head}`), "all")];
  figure(el, {controls, state: {query: -1, head: -1}, draw, letters: heads.length > 1 ? 260 : 130});
}

export default {render};

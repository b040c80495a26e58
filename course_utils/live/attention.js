// Message: each head has its own job, so one word reads different words in different heads.
// Attention weights that you can walk through: arcs from one word, a colour per head, and a map per head, any number of them.
import { exactly, figure, HEADS, most, short } from "./base.js";
import { arcs } from "./arcs.js";
import { favourites, maps, SAID, unpacked } from "./maps.js";

const MOST_WORDS = 14, MOST_ARCS = 4; // beyond them arcs cannot be told apart

export default figure(({ names, keys, weights, scores, masked, maps: kind = "head" }) => {
  const exact = Array.isArray(weights), heads = exact ? weights : unpacked(weights);
  const several = heads.length > 1, alone = names.length === 1 && keys.length > 1;
  const all = heads.map((values, head) => ({
    key: several ? `${kind} ${head}` : "weights",
    values,
    colour: several ? `rgb(${HEADS[head]})` : undefined,
  }));
  const plain = keys.map((name) => name.replace(/ \(\d+\)$/, "")), it = plain.lastIndexOf("it");
  const chain = kind === "layer"; // an arc begins where that of the layer above ends
  const withArcs = keys.length <= (chain ? 2 : 1) * MOST_WORDS && heads.length <= MOST_ARCS &&
    (alone || String(keys) === String(names));

  function draw(page, { query, head = -1 }, at) {
    const chosen = head < 0 ? all : [all[head]];
    const first = alone ? 0 : it < 0 ? names.length - 1 : it, asking = query < 0 ? first : query;
    let y = 0;
    if (withArcs) {
      const row = at?.row ?? asking;
      y = arcs(page, {
        words: plain.map(short),
        lines: linesFrom(chosen, row),
        from: alone ? it : row,
        asker: names[0],
        press: alone ? null : (query) => page.change({ query }),
      });
    }
    const said = maps(page, chosen.map(({ key, values }) => ({ key, values })), {
      names,
      keys,
      digits: exact ? 4 : 3,
      hidden: (row, column) => masked[row][column],
      row: query,
      at,
      y,
      spots: heads.length,
    });
    if (at) {
      const score = scores?.[all.findIndex(({ key }) => key === at.part)][at.row][at.column];
      return `${several ? `${at.part}, ` : ""}${said}${Number.isFinite(score) ? exactly`, score ${score}` : ""}.`;
    }
    if (query < 0 && !withArcs) {
      return `Each row is a query, each column a key, and a row's sum stands beside it${
        chosen.length > 1 ? `; each map is a ${kind}` : ""
      }. Pick a query to read it.`;
    }
    const lines = linesFrom(chosen, asking),
      read = (chain ? lines.toReversed() : lines).slice(0, SAID).map((
        { key, weights, from = 0 },
      ) => (several ? `${key}: ` : "") + favourites(weights, keys, names[from]));
    return `${read.join("; ")}.${chosen.length > SAID ? ` Pick a ${kind} to read the others.` : ""}${
      query < 0 && !alone ? " Pick another word to see what it reads." : ""
    }`;
  }

  function linesFrom(chosen, row) {
    let from = row;
    return chosen.toReversed().map(({ key, values, colour }) => {
      const line = { key, weights: values[alone ? 0 : from], colour, ...(!alone && { from }) };
      if (chain) from = most(values[from]);
      return line;
    }).reverse();
  }

  const controls = { query: ["select", "query", -1, names] };
  if (several) controls.head = ["select", kind, -1, [...heads.keys()]];
  return { controls, draw, letters: several ? 330 : 180 };
});

// Message: each head has its own job, so one word reads different words in different heads.
// Attention weights that you can walk through: arcs from one word, a colour per head, and a map per head, any number of them.
import { exactly, figure, HEADS } from "./base.js";
import { arcs } from "./arcs.js";
import { favourites, maps, SAID, unpacked } from "./maps.js";

const MOST_WORDS = 14, MOST_ARCS = 4; // beyond them arcs cannot be told apart

export default figure(({ names, keys, weights, scores, masked }) => {
  const exact = Array.isArray(weights), heads = exact ? weights : unpacked(weights);
  const several = heads.length > 1, alone = names.length === 1 && keys.length > 1;
  const all = heads.map((values, head) => ({
    key: several ? `head ${head}` : "weights",
    values,
    colour: several ? `rgb(${HEADS[head]})` : undefined,
  }));
  const plain = keys.map((name) => name.replace(/ \(\d+\)$/, "")), it = plain.lastIndexOf("it");
  const withArcs = keys.length <= MOST_WORDS && heads.length <= MOST_ARCS && (alone || String(keys) === String(names));

  function draw(page, { query, head = -1 }, at) {
    const chosen = head < 0 ? all : [all[head]];
    const first = alone ? 0 : it < 0 ? names.length - 1 : it, asking = query < 0 ? first : query;
    let y = 0;
    if (withArcs) {
      const row = at?.row ?? asking;
      y = arcs(page, {
        words: plain,
        lines: chosen.map(({ key, values, colour }) => ({ key, weights: values[row], colour })),
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
        chosen.length > 1 ? "; each map is a head" : ""
      }. Pick a query to read it.`;
    }
    const read = chosen.slice(0, SAID).map(({ key, values }) =>
      (several ? `${key}: ` : "") + favourites(values[asking], keys, names[asking])
    );
    return `${read.join("; ")}.${chosen.length > SAID ? " Pick a head to read the others." : ""}${
      query < 0 && !alone ? " Pick another word to see what it reads." : ""
    }`;
  }

  const controls = { query: ["select", "query", -1, names] };
  if (several) controls.head = ["select", "head", -1, [...heads.keys()]];
  return { controls, draw, letters: several ? 260 : 130 };
});

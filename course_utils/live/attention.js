// Attention weights that you can walk through: one map per head, any number of heads.
import { exactly, figure } from "./base.js";
import { favourites, maps, SAID, unpacked } from "./maps.js";

export default figure(({ names, keys, weights, scores, masked }) => {
  const exact = Array.isArray(weights), heads = exact ? weights : unpacked(weights);
  const several = heads.length > 1,
    all = heads.map((values, head) => ({ key: several ? `head ${head}` : "weights", values }));

  function draw(page, { query, head = -1 }, at) {
    const chosen = head < 0 ? all : [all[head]];
    const said = maps(page, chosen, {
      names,
      keys,
      digits: exact ? 4 : 3,
      hidden: (row, column) => masked[row][column],
      row: query,
      at,
      spots: heads.length,
    });
    if (at) {
      const score = scores?.[all.findIndex(({ key }) => key === at.part)][at.row][at.column];
      return `${several ? `${at.part}, ` : ""}${said}${Number.isFinite(score) ? exactly`, score ${score}` : ""}.`;
    }
    if (query < 0) {
      return `Each row is a query, each column a key, and a row's sum stands beside it${
        chosen.length > 1 ? "; each map is a head" : ""
      }. Pick a query to read it.`;
    }
    const read = chosen.slice(0, SAID).map(({ key, values }) =>
      (several ? `${key}: ` : "") + favourites(values[query], keys, names[query])
    );
    return `${read.join("; ")}.${chosen.length > SAID ? " Pick a head to read the others." : ""}`;
  }

  const controls = { query: ["select", "query", -1, names] };
  if (several) controls.head = ["select", "head", -1, [...heads.keys()]];
  return { controls, draw, letters: several ? 260 : 130 };
});

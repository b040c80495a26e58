// Message: each head has its own job, so one word reads different words in different heads.
// Attention weights that you can walk through: arcs from one word, a colour per head, and a map per head, any number of them.
import {
  BOLD,
  chunks,
  END,
  exactly,
  FAINT,
  figure,
  fixed,
  found,
  HEADS,
  leading,
  most,
  SEEN,
  short,
  unnumbered,
} from "./base.js";
import { arcs } from "./arcs.js";
import { favourites, maps, SAID, unpacked } from "./maps.js";

const MOST_WORDS = 14, MOST_ARCS = 4; // beyond them arcs cannot be told apart
const CURVE = 46, AXIS = 76; // the height of the losses, and the room for their numbers

export default figure(({ names, keys, weights, scores, masked, maps: kind = "head", steps, losses }) => {
  const exact = Array.isArray(weights), every = exact ? weights : unpacked(weights);
  const moments = chunks(every, every.length / steps.length), heads = moments[0];
  const several = heads.length > 1, alone = names.length === 1 && keys.length > 1;
  const plain = keys.map(unnumbered), it = plain.lastIndexOf("it");
  const chain = kind === "layer"; // an arc begins where that of the layer above ends
  const withArcs = keys.length <= (chain ? 2 : 1) * MOST_WORDS && heads.length <= MOST_ARCS &&
    (alone || String(keys) === String(names));
  const first = !withArcs ? -1 : alone ? 0 : it < 0 ? names.length - 1 : it; // with arcs one word asks

  function draw(page, state, at) {
    if (!(state.query >= 0)) state.query = first;
    const { query, head = -1, moment = 0 } = state;
    const all = moments[moment].map((values, head) => ({
      key: several ? `${kind} ${head}` : "weights",
      values,
      colour: several ? `rgb(${HEADS[head]})` : undefined,
    }));
    const chosen = head < 0 ? all : [all[head]], lines = linesFrom(chosen, query);
    let y = 0;
    if (withArcs) {
      const row = at?.row ?? query;
      const lines = linesFrom(chosen, row),
        words = plain.map(short),
        next = chain ? most(chosen.at(-1).values[row]) : 0;
      if (next && words[next - 1] === words[row]) words.push(`→ ${words[next]}`); // what followed its twin
      y = arcs(page, {
        words,
        lines,
        from: alone ? it : row,
        asker: names[0],
        twins: chain,
        spots: heads.length,
        press: alone ? null : (query) => query < names.length && page.change({ query }),
      });
    }
    if (losses) y = curve(page, y, moment);
    page.shown = { moment: steps[moment] };
    page.height = y; // one row's weights stand under the words already
    const said = !(alone && withArcs) &&
      maps(page, lines.map(({ key, values, from: row }) => ({ key, values, row })), {
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
    if (query < 0) {
      return `Each row is a query, each column a key, and a row's sum is beside it${
        chosen.length > 1 ? `; each map is a ${kind}` : ""
      }. Pick a query for details.`;
    }
    const read = (chain ? lines.toReversed() : lines).slice(0, SAID).map((
      { key, weights, from = 0 },
    ) => (several ? `${key}: ` : "") + favourites(weights, keys, names[from]));
    return `${losses ? `Step ${steps[moment]}: loss ${fixed(losses[moment])}. ` : ""}${read.join("; ")}.${
      chosen.length > SAID ? ` Pick a ${kind} to read the others.` : ""
    }${query === first && !alone ? " Pick another token to see what it reads." : ""}`;
  }

  // The loss over the steps of training, and where we are.
  function curve(page, top, now) {
    const last = steps.length - 1, wide = page.width - AXIS - 10;
    const place = (moment) => [AXIS + moment / last * wide, top + CURVE * (1 - losses[moment] / Math.max(...losses))];
    page.words(AXIS - 8, top, `loss ${fixed(Math.max(...losses))}`, END, "most loss");
    page.words(AXIS - 8, top + CURVE, "0", END, "no loss");
    page.words(AXIS, top + CURVE + 12, `step ${steps[0]}`, "", "first step");
    page.words(AXIS + wide, top + CURVE + 12, `step ${steps[last]}`, END, "last step");
    page.line(`M${AXIS} ${top + CURVE}h${wide}`, `stroke:${FAINT}`, "zero");
    const [x, y] = place(now);
    page.line(`M${steps.map((_, moment) => place(moment).join(" ")).join("L")}`, "", "losses");
    page.box("now", x - 5, y - 5, 10, 10, "rx:5px");
    page.words(page.width / 2, top + 8, `step ${steps[now]}: loss ${fixed(losses[now])}`, BOLD, "loss");
    return top + CURVE + 28;
  }

  function linesFrom(chosen, from) {
    return chosen.toReversed().map((each) => {
      const asks = alone ? 0 : from;
      const line = {
        says: chain && from >= 0 && `${each.key}: ${reads(from, each.values[asks])}`,
        ...each,
        weights: each.values[asks],
        masked: masked[asks]?.concat(true),
        ...(!alone && { from }),
      };
      if (chain && from >= 0) from = most(each.values[from]);
      return line;
    }).reverse();
  }

  // Which of several like words reads, and which is read: "the last “41” reads “59”", "“59” reads the “41” before it".
  function reads(from, weights) {
    const word = plain[from], twin = plain.indexOf(word) < from && plain.lastIndexOf(word) === from;
    const before = leading(weights).join() === `${from - 1}` && weights[from - 1] >= SEEN;
    return `${twin ? "the last " : ""}“${word}” reads ${
      before ? `the “${plain[from - 1]}” before it` : found(plain, weights)
    }`;
  }

  const controls = losses ? { moment: ["slide", "step of training", steps.length - 1, steps.length - 1] } : {};
  if (!alone) controls.query = ["select", "query", first, names];
  if (several) controls.head = ["select", kind, -1, [...heads.keys()]];
  return { controls, draw, letters: several ? 330 : 180 };
});

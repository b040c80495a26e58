// Message: with transpose, each head gets a part of every token; without, all of a few tokens.
// Chapter 5: a tensor passes through view, transpose, scores and merge, beside the same steps with a common mistake.
import {
  BOLD,
  chunks,
  dot,
  exactly,
  figure,
  fixed,
  flow,
  HEADS,
  ink,
  limit,
  longest,
  range,
  short,
  softmax,
  transposed,
} from "./base.js";

const STEPS = ["1 projected", "2 view", "3 transpose", "4 scores", "5 mix and merge"], SCORES = 3;
const CALLS = [ // each step's call, correct and with the mistake
  ["x: (T, d_out)", "x: (T, d_out)"],
  ["x.view(T, heads, head_dim)", "x.view(heads, T, head_dim)"],
  [".transpose(0, 1): (heads, T, head_dim)", "no transpose: each head gets only some tokens"],
  ["x @ x.T / √head_dim: (heads, T, T)", "x @ x.T / √head_dim: (heads, T, T)"],
  ["weights @ x, transposed, merged: (T, d_out)", "weights @ x, transposed, merged: (T, d_out)"],
];
const ROW = 21, TITLE = 17, TOP = 40, CHANGE = 1, ROUNDING = 1e-9;

const twice = (value) => [0, 1].map(value); // before and after the change
const moved = ({ values: [before, after] }) => Math.abs(after - before) > ROUNDING;

/* The five stages of x (T, d_out): blocks of rows of {values, token, head}, where token and head say to which the number
   belonged before the split; a score has those of its query. */
function walk(x, heads, right) {
  const dim = x[0].length / heads, numbers = (row, k) => row.map(({ values }) => values[k]);
  const viewed = chunks(chunks(x.flat(), dim), right ? heads : x.length), split = right ? transposed(viewed) : viewed;
  const scores = split.map((block) =>
    block.map((query, t) =>
      block.map((key, s) => ({
        ...query[0],
        id: undefined, // a number of its own
        values: twice((k) => s > t ? -Infinity : dot(numbers(query, k), numbers(key, k)) / Math.sqrt(dim)),
      }))
    )
  );
  const context = split.map((block, b) =>
    transposed(
      transposed(block).map((column) =>
        column.map((cell, t) => ({
          ...cell,
          values: twice((k) => dot(softmax(numbers(scores[b][t], k)), numbers(column, k))),
        }))
      ),
    )
  );
  return [[x], viewed, split, scores, [transposed(context).map((row) => row.flat())]];
}

export default figure(({ names, x, heads }) => {
  const width = x[0].length, label = longest(names) + 26;

  function draw(page, { step, token, number, head }, at) {
    page.controls.parentNode.style.setProperty("--travel", "0.8s"); // numbers travel to their next place
    const start = x.map((row, t) =>
      row.map((value, place) => ({
        values: twice((k) => t === token && place === number - 1 ? value + k * CHANGE : value),
        token: t,
        id: t * width + place,
        head: Math.floor(place * heads / width),
      }))
    );
    const ways = [true, false].map((right) => walk(start, heads, right)), stages = ways.map((way) => way[step]);
    const narrow = page.width < 900,
      room = narrow ? page.width : (page.width - 20) / 2,
      widest = limit(Math.floor((room - label) / width), 12, 36);
    const cellIn = (step) =>
      // scores are short: those of all heads fit side by side
      step === SCORES ? limit(Math.floor((room / heads - label - 8) / x.length), 24, widest) : widest;
    const high = (stage) => TITLE + stage[0].length * ROW + 6;
    const spots = (stage, step) =>
      stage.map(([row]) => label + row.length * cellIn(step) + 8).map(flow(room + 8, 0, high(stage)));
    const heights = ways.map((way) => way.map((stage, s) => spots(stage, s).at(-1).y + high(stage)));
    const most = TOP + Math.max(...heights.flat());
    // below each other, the second half follows the first closely; side by side, both stay where they are
    const tall = narrow ? TOP + Math.max(...heights.map((way) => way[step])) : most;
    const cell = cellIn(step);
    const [litWay, litBlock] = at?.part.split(" ") ?? [],
      pointed = stages[litWay]?.[litBlock],
      lit = pointed?.[at.row]?.[at.column];
    const next = flow(page.width + 20, 0, tall + 8);
    stages.forEach((stage, way) => {
      const { x: left, y: top } = next(room + 20);
      page.heading(left, top, way ? "with view alone: the mistake" : "with view and transpose", CALLS[step][way]);
      spots(stage, step).forEach(({ x, y }, b) => add(way, b, left + x + label, top + TOP + y + TITLE));
      page.height = narrow ? 2 * most + 8 : top + tall; // in every step the same
    });
    if (lit) {
      const whose = `"${names[lit.token]}", head ${lit.head}`, [value] = lit.values, [key] = pointed[at.column] ?? [];
      if (step !== SCORES) return exactly`Token ${whose}: ${value}.`;
      return `Query ${whose}, key "${names[key.token]}", head ${key.head}: ${
        value === -Infinity ? "masked" : exactly`score ${value}`
      }.`;
    }
    const what = `Number ${number} of "${names[token]}", ${
      fixed(x[token][number - 1])
    }, and everything it affects are framed`;
    if (step < SCORES) {
      return `${what}. Each number has the colour of its head; row labels give token and head.`;
    }
    const [right, wrong] = stages.map((stage) => stage.flat(2).filter(moved).length);
    const told = `${what}: ${right} ${step === SCORES ? "scores" : "numbers"} with transpose, ${wrong} without.`;
    const reached = names.filter((_, row) => step > SCORES && row < token && stages[1][0][row].some(moved));
    return reached.length
      ? `${told} Without transpose, it reaches ${reached.join(", ")}, which must not see it.`
      : told;

    // A block with its title, and its rows' names.
    function add(way, b, x0, y0) {
      const part = `${way} ${b}`, block = stages[way][b], split = step > 0 && step < 4;
      const shown = block.map((row) => row.map((entry) => head < 0 || entry.head === head ? entry : undefined));
      if (split) page.words(x0, y0 - TITLE / 2, step === 1 && !way ? names[b] : `head ${b}`, BOLD);
      page.column(x0 - 5, y0, ROW, block.map(([{ token, head }]) => short(names[token]) + (split ? ` · ${head}` : "")));
      page.grid(part, x0, y0, cell, ROW, shown, {
        colour: (entry) => HEADS[entry.head],
        id: (entry, r, c) => `cell ${way} ${entry?.id ?? `${part} ${r} ${c}`}`,
        hidden: (r, c) => block[r][c].values[0] === -Infinity,
        text: ({ values }) => cell < 22 ? "" : fixed(values[0], step === SCORES || cell < 36 ? 1 : 2),
        label: `${way ? "with view alone" : "with transpose"}, ${split ? `block ${b}` : "all numbers"}`,
        press: step === 0 && ((token, place) => page.change({ token, number: place + 1 })),
      });
      shown.forEach((row, r) =>
        row.forEach((entry, c) => {
          if (entry && moved(entry)) {
            page.line(
              `M${x0 + c * cell + 1.5} ${y0 + r * ROW + 1.5}h${cell - 4}v${ROW - 4}h${4 - cell}Z`,
              `stroke:${ink(HEADS[entry.head])};stroke-width:2`,
            );
          }
          if (lit && entry?.token === lit.token && entry.head === lit.head) page.light(part, r, c);
        })
      );
    }
  }

  return {
    controls: {
      step: ["radio", "step", 2, STEPS],
      token: ["select", "follow a number of", Math.min(2, x.length - 1), names],
      number: ["slide", "which number", 1, width, 1],
      head: ["select", "head", -1, range(heads)],
    },
    draw,
    letters: 240,
  };
});

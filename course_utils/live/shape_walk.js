// Chapter 5: a tensor on its way through view, transpose, scores and merge, beside the same way with a common mistake.
import {chunks, colours, dot, figure, fixed, ink, limit, longest, range, short, softmax, sum} from "./base.js";

const STEPS = ["1 projected", "2 view", "3 transpose", "4 scores", "5 mix and merge"], SCORES = 3;
const CALLS = [  // what each step does, on the right way and with the mistake
  ["x: (T, d_out)", "x: (T, d_out)"],
  ["x.view(T, heads, head_dim)", "x.view(heads, T, head_dim)"],
  [".transpose(0, 1): (heads, T, head_dim)", "nothing: the shape is right already"],
  ["x @ x.T / √head_dim: (heads, T, T)", "x @ x.T / √head_dim: (heads, T, T)"],
  ["weights @ x, transposed, merged: (T, d_out)", "weights @ x, transposed, merged: (T, d_out)"],
];
const HEADS = colours("#0072b2 #d55e00 #009e73 #cc79a7 #56b4e9 #e69f00 #8c6bb1 #999999");
const ROW = 21, TITLE = 17, TOP = 40, CHANGE = 1, ROUNDING = 1e-9;

const transposed = blocks => blocks[0].map((_, row) => blocks.map(block => block[row]));
const merged = blocks => [blocks[0].map((_, token) => blocks.flatMap(block => block[token]))];

/* The five stages of x (T, d_out): blocks of rows of {value, token, head}, where token and head say to which the number
   belonged before the split; a score has those of its query. */
function walk(x, heads, right) {
  const dim = x[0].length / heads;
  const start = x.map((row, token) => row.map((value, place) => ({value, token, head: Math.floor(place / dim)})));
  const viewed = chunks(chunks(start.flat(), dim), right ? heads : x.length);
  const split = right ? transposed(viewed) : viewed;
  const numbers = block => block.map(row => row.map(({value}) => value));
  const scores = split.map(block => block.map((query, t) => block.map((key, s) => ({
    ...query[0], value: s > t ? -Infinity : dot(...numbers([query, key])) / Math.sqrt(dim),
  }))));
  const context = split.map((block, b) => block.map((row, t) => {
    const weights = softmax(scores[b][t].map(({value}) => value));
    return row.map((cell, place) => ({...cell, value: sum(weights.map((weight, s) => weight && weight * block[s][place].value))}));
  }));
  return [[start], viewed, split, scores, merged(context)];
}

export default figure(({names, x, heads}) => {
  const size = x.length, width = x[0].length, label = longest(names) + 26;

  function draw(page, {step, token, number, head}, at) {
    const changed = x.map((row, t) => row.map((value, place) => t === token && place === number - 1 ? value + CHANGE : value));
    const ways = [true, false].map(right => {
      const after = walk(changed, heads, right), moves = (value, other) => Math.abs(other - value) > ROUNDING;
      return walk(x, heads, right).map((stage, s) => stage.map((block, b) => block.map((row, r) => row.map(
        (entry, c) => ({...entry, masked: entry.value === -Infinity, moved: moves(entry.value, after[s][b][r][c].value)})))));
    });
    const beside = page.width >= 700, room = beside ? (page.width - 20) / 2 : page.width, cell = limit(Math.floor((room - label) / width), 12, 36);
    // blocks stand side by side as far as there is room
    const wide = stage => label + stage[0][0].length * cell + 8, across = stage => Math.max(1, Math.floor((room + 8) / wide(stage)));
    const high = stage => TITLE + stage[0].length * ROW + 6, lines = stage => Math.ceil(stage.length / across(stage));
    const tall = TOP + Math.max(...ways.flat().map(stage => lines(stage) * high(stage)));
    const stages = ways.map(way => way[step]), [shownWay, shownBlock] = at ? at.part.split(" ") : [0];
    const block = stages[shownWay][shownBlock], lit = block?.[at.row]?.[at.column];
    stages.forEach((stage, way) => {
      const [left, top] = beside ? [way * (room + 20), 0] : [0, way * (tall + 8)];
      page.heading(left, top, way ? "with view alone: the mistake" : "with view and transpose", CALLS[step][way]);
      stage.forEach((block, b) => {
        const x0 = left + b % across(stage) * wide(stage) + label, y0 = top + TOP + Math.floor(b / across(stage)) * high(stage) + TITLE;
        add(page, way, b, x0, y0, cell, block, {step, head, lit});
      });
    });
    page.height = beside ? tall : 2 * tall + 8;
    return lit ? tell(step, lit, block[at.column]?.[0]) : say(stages, step, token, number);
  }

  function add(page, way, b, x0, y0, cell, block, {step, head, lit}) {
    const part = `${way} ${b}`, split = step > 0 && step < 4;
    const shown = block.map(row => row.map(entry => head < 0 || entry.head === head ? entry : undefined));
    if (split) page.words(`block ${part}`, x0, y0 - TITLE / 2, step === 1 && !way ? names[b] : `head ${b}`, {bold: true, size: 11});
    page.column(`row ${part}`, x0 - 5, y0, ROW, block.map(([{token, head}]) => split ? `${short(names[token])} · ${head}` : short(names[token])), {size: 11});
    page.grid(part, x0, y0, cell, ROW, shown, {
      colour: entry => HEADS[entry.head], hidden: (r, c) => block[r][c].masked, size: 11,
      text: ({value}) => cell < 22 ? "" : fixed(value, step === SCORES || cell < 32 ? 1 : 2),
      label: `${way ? "with view alone" : "with transpose"}, ${split ? `block ${b}` : "all numbers"}`,
      press: step === 0 && ((token, place) => page.change({token, number: place + 1})),
    });
    shown.forEach((row, r) => row.forEach((entry, c) => {
      if (entry?.moved) page.line(`moved ${part} ${r} ${c}`, `M${x0 + c * cell + 1.5} ${y0 + r * ROW + 1.5}h${cell - 4}v${ROW - 4}h${4 - cell}Z`, {width: 2, colour: ink(HEADS[entry.head])});
      if (lit && entry?.token === lit.token && entry.head === lit.head) page.light(part, r, c);
    }));
  }

  function tell(step, {value, token, head, masked}, key) {
    const whose = `"${names[token]}", head ${head}`;
    if (step !== SCORES) return `${whose}: ${fixed(value, 4)}.`;
    return `Query ${whose}, key "${names[key.token]}", head ${key.head}: ${masked ? "masked" : `score ${fixed(value, 4)}`}.`;
  }

  function say(stages, step, token, number) {
    const what = `Number ${number} of "${names[token]}", ${fixed(x[token][number - 1])}, is framed, and so is all that it changes`;
    if (step < SCORES) return `${what}. Every number has the colour of its head; a row names its numbers' token and head.`;
    const [right, wrong] = stages.map(stage => stage.flat(2).filter(entry => entry.moved).length);
    const told = `${what}: ${right} ${step === SCORES ? "scores" : "numbers"} with transpose, ${wrong} without.`;
    const reached = names.filter((_, row) => step > SCORES && row < token && stages[1][0][row].some(entry => entry.moved));
    return reached.length ? `${told} Without transpose it reaches ${reached.join(", ")}, which must not see it.` : told;
  }

  return {
    controls: {
      step: ["radio", "step", 2, STEPS], token: ["select", "follow a number of", Math.min(2, size - 1), names],
      number: ["slide", "which number", 1, [1, width, 1]], head: ["select", "head", -1, range(heads), "all"],
    },
    draw, letters: 240,
  };
});

// Chapter 5: a tensor on its way through view, transpose, scores and merge, beside the same way with a common mistake.
import {dot, figure, fixed, ink, limit, longest, places, range, short, softmax, sum} from "./base.js";

const STEPS = ["1 projected", "2 view", "3 transpose", "4 scores", "5 mix and merge"], SCORES = 3;
const CALLS = [  // what each step does, on the right way and with the mistake
  ["x: (T, d_out)", "x: (T, d_out)"],
  ["x.view(T, heads, head_dim)", "x.view(heads, T, head_dim)"],
  [".transpose(0, 1): (heads, T, head_dim)", "nothing: the shape is right already"],
  ["x @ x.T / √head_dim: (heads, T, T)", "x @ x.T / √head_dim: (heads, T, T)"],
  ["weights @ x, transposed, merged: (T, d_out)", "weights @ x, transposed, merged: (T, d_out)"],
];
const HEADS = [[0, 114, 178], [213, 94, 0], [0, 158, 115], [204, 121, 167], [86, 180, 233], [230, 159, 0], [140, 107, 177], [153, 153, 153]];
const ROW = 21, TITLE = 17, TOP = 40, CHANGE = 1, ROUNDING = 1e-9;

const view = (flat, blocks, rows, columns) => range(blocks).map(b => range(rows).map(r => range(columns).map(c => flat[(b * rows + r) * columns + c])));
const transposed = blocks => blocks[0].map((_, row) => blocks.map(block => block[row]));
const merged = blocks => [blocks[0].map((_, token) => blocks.flatMap(block => block[token]))];

/* The five stages of x (T, d_out): blocks of rows of {value, token, head}, where token and head say to which the number
   belonged before the split; a score has those of its query. */
export function walk(x, heads, right) {
  const size = x.length, dim = x[0].length / heads;
  const start = x.map((row, token) => row.map((value, place) => ({value, token, head: Math.floor(place / dim)})));
  const viewed = right ? view(start.flat(), size, heads, dim) : view(start.flat(), heads, size, dim);
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
      const [stage, after] = [x, changed].map(values => walk(values, heads, right)[step]);
      return {stage, moved: (b, r, c) => Math.abs(after[b][r][c].value - stage[b][r][c].value) > ROUNDING};
    });
    const beside = page.width >= 700, room = beside ? (page.width - 20) / 2 : page.width, cell = limit(Math.floor((room - label) / width), 12, 36);
    const tall = Math.max(...STEPS.map((_, place) => height(place, cell, room)));
    ways.forEach(({stage, moved}, way) => {
      const [left, top] = beside ? [way * (room + 20), 0] : [0, way * (tall + 8)];
      page.heading(left, top, way ? "with view alone: the mistake" : "with view and transpose", CALLS[step][way]);
      stage.forEach((block, b) => add(page, `${way} ${b}`, block, {way, b, left, top: top + TOP, cell, room, step, head, at, stage, moved}));
    });
    page.height = beside ? tall : 2 * tall + 8;
    return at ? tell(ways, step, at) : say(ways, step, token, number);
  }

  // Blocks stand side by side as far as there is room.
  function grid(step, cell, room) {
    const blocks = step === 0 || step === 4 ? 1 : step === 1 ? Math.max(size, heads) : heads, rows = step === 1 ? Math.max(size, heads) : size;
    const columns = step === 0 || step === 4 ? width : step === SCORES ? size : width / heads;
    const wide = label + columns * cell + 8;
    return {wide, across: Math.max(1, Math.floor((room + 8) / wide)), blocks, rows};
  }
  function height(step, cell, room) {
    if (step !== 1) { const {across, blocks, rows} = grid(step, cell, room); return TOP + Math.ceil(blocks / across) * (TITLE + rows * ROW + 6); }
    const {across} = grid(1, cell, room);
    return TOP + Math.max(Math.ceil(size / across) * (TITLE + heads * ROW + 6), Math.ceil(heads / across) * (TITLE + size * ROW + 6));
  }

  function add(page, key, block, {way, b, left, top, cell, room, step, head, at, stage, moved}) {
    const {wide, across} = grid(step, cell, room), rows = block.length, columns = block[0].length, split = step > 0 && step < 4;
    const x0 = left + b % across * wide + label, y0 = top + Math.floor(b / across) * (TITLE + rows * ROW + 6) + TITLE;
    if (split) page.words(`block ${key}`, x0, y0 - TITLE / 2, step === 1 && !way ? names[b] : `head ${b}`, {bold: true, size: 11});
    block.forEach((row, r) => {
      page.words(`row ${key} ${r}`, x0 - 5, y0 + (r + 0.5) * ROW, split ? `${short(names[row[0].token])} · ${row[0].head}` : short(names[r]), {anchor: "end", size: 11});
      row.forEach((entry, c) => {
        if (head >= 0 && entry.head !== head) return;
        const [px, py] = [x0 + c * cell, y0 + r * ROW], masked = entry.value === -Infinity, text = fixed(entry.value, step === SCORES || cell < 32 ? 1 : 2);
        page.cell(`cell ${key} ${r} ${c}`, px, py, cell, ROW, masked ? [226, 226, 226] : HEADS[entry.head], masked || cell < 22 ? "" : text, 11);
        if (masked) page.line(`hatch ${key} ${r} ${c}`, `M${px} ${py + ROW - 1}L${px + cell - 1} ${py}`, {colour: "#6b6b6b"});
        if (moved(b, r, c)) page.line(`moved ${key} ${r} ${c}`, `M${px + 1.5} ${py + 1.5}h${cell - 4}v${ROW - 4}h${4 - cell}Z`, {width: 2, colour: ink(HEADS[entry.head])});
        const lit = at && stage[b][r][c].token === at.token && entry.head === at.head && !masked;
        if (lit) page.mark(`lit ${key} ${r} ${c}`, px, py, cell - 1, ROW - 1, "#111");
      });
    });
    page.board(`board ${key}`, x0, y0, cell, ROW, rows, columns, `${way ? "with view alone" : "with transpose"}, ${split ? `block ${b}` : "all numbers"}`,
      (r, c) => block[r]?.[c] && {way, b, r, c, token: block[r][c].token, head: block[r][c].head},
      step === 0 ? (r, c) => page.change({token: r, number: c + 1}) : null);
  }

  function tell(ways, step, {way, b, r, c}) {
    const block = ways[way].stage[b], entry = block?.[r]?.[c];
    if (!entry) return "";
    const {value, token, head} = entry, whose = `"${names[token]}", head ${head}`;
    if (step !== SCORES) return `${whose[0]}${whose.slice(1)}: ${fixed(value, 4)}.`;
    const key = block[c][0];
    return `Query ${whose}, key "${names[key.token]}", head ${key.head}: ${value === -Infinity ? "masked" : `score ${fixed(value, 4)}`}.`;
  }

  function say(ways, step, token, number) {
    const what = `Number ${number} of "${names[token]}", ${fixed(x[token][number - 1])}, is framed, and so is all that it changes`;
    const counts = ways.map(({stage, moved}) => sum(stage.map((block, b) => sum(block.map((row, r) => row.filter((_, c) => moved(b, r, c)).length)))));
    if (step < SCORES) return `${what}. Every number has the colour of its head; a row names its numbers' token and head.`;
    if (step === SCORES) return `${what}: ${counts[0]} scores with transpose, ${counts[1]} without.`;
    const reached = range(token).filter(row => ways[1].stage[0][row].some((_, c) => ways[1].moved(0, row, c)));
    const early = reached.length ? ` Without transpose it reaches ${reached.map(row => names[row]).join(", ")}, which must not see it.` : "";
    return `${what}: ${counts[0]} numbers with transpose, ${counts[1]} without.${early}`;
  }

  return {
    controls: {
      step: ["radio", "step", 2, STEPS], token: ["select", "follow a number of", Math.min(2, size - 1), places(names)],
      number: ["slide", "which number", 1, [1, width, 1]],
      head: ["select", "head", -1, places(range(heads).map(place => `${place}`), "all")],
    },
    draw, letters: 240,
  };
});

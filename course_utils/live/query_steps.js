// Chapter 1: one query, step by step: scores, weights, context vector; as numbers and as arrows.
import {dot, FAINT, figure, fixed, hear, limit, longest, MARK, most, named, short, softmax, sum, weightColour} from "./base.js";
import {arrow, bars, reachOf, signedColour} from "./vectors.js";

const CELL = 40, ROW = 27, TOP = 40, BARS = 112, NARROW = 66, ARROWS = 250;
const list = values => values.map(value => fixed(value)).join(", ");

function attend(query, inputs) {
  const scores = inputs.map(key => dot(query, key)), weights = softmax(scores);
  const mixed = inputs.map((value, row) => value.map(number => weights[row] * number));
  return {scores, weights, mixed, context: query.map((_, number) => sum(mixed.map(row => row[number])))};
}

export default figure(({names, inputs: original}) => {
  const size = names.length, width = original[0].length;
  const reach = 2 * Math.max(1, reachOf(original)), left = longest(names) + 10, tall = TOP + ROW * (size + 1) + 8;

  // Three blocks side by side; one that does not fit goes below, with the names again.
  function layout(room) {
    const bar = room < 600 ? NARROW : BARS;
    let [x, y] = [left, 0];
    const spots = [width * CELL + 14, 2 * bar, width * CELL].map(need => {
      if (x > left && x + need > room) { x = left; y += tall; }
      x += need;
      return {x: x - need, y, top: y + TOP};
    });
    const beside = y === 0 && x + ARROWS <= room;
    return {bar, spots, below: y + tall, place: beside ? {x: room - ARROWS + 14, y: 0, wide: ARROWS - 14, high: tall} : {x: 0, y: y + tall + 4, wide: Math.min(room, 420), high: 240}};
  }

  function draw(page, {query, step, inputs}, at) {
    const results = attend(inputs[query], inputs), {scores, weights, mixed, context} = results;
    const {bar, spots, below, place} = layout(page.width), [input, score, mix] = spots, after = score.x + bar;
    const press = row => page.change({query: row});
    const edit = (row, column, value) => page.change({inputs: inputs.map((line, r) => line.map((old, c) => r === row && c === column ? value : old))});
    for (const {x, top} of spots.slice(0, Math.max(2, step + 1))) {
      if (x === left) page.column(`name ${top}`, left - 6, top, ROW, names.map(short), {bold: [query], press});
    }
    page.heading(left, input.y, "embedding", "drag a number");
    page.grid("input", left, TOP, CELL, ROW, inputs, {colour: signedColour(inputs)});
    page.pick("input", query);
    inputs.forEach((vector, row) => vector.forEach((value, column) => slider(page, "input", row, column, `number ${column + 1} of ${names[row]}`, value, reach, edit)));
    page.heading(score.x, score.y, "score ω", bar === BARS ? `with “${short(names[query])}”` : "");
    bars(page, "score", score.x, score.top, bar, ROW, scores, {low: Math.min(0, ...scores), reach: Math.max(0, ...scores)});
    page.board("score", score.x, score.top, bar, ROW, size, 1, "scores", press);
    if (step > 0) {
      page.heading(after, score.y, "weight α", "softmax");
      bars(page, "weight", after, score.top, bar, ROW, weights, {colour: weightColour});
      page.words("total", after, score.top + ROW * (size + 0.6), `sum ${fixed(sum(weights))}`, {bold: true});
      page.board("weight", after, score.top, bar, ROW, size, 1, "weights", press);
    }
    if (step > 1) {
      const rows = [...mixed, context];
      page.heading(mix.x, mix.y, "weight · value", "added up: z");
      page.grid("mix", mix.x, mix.top, CELL, ROW, rows, {colour: signedColour(rows), label: "weight times value, and below the context vector"});
      page.pick("mix", size);
    }
    if (at) light(page, at, query, step);
    const shown = at?.row < size ? at.row : most(scores);
    (step < 2 ? angles : tips)(page, place, inputs, query, results, shown, short(names[shown]));
    page.height = Math.max(below, place.y + place.high);
    return at ? tell(at, query, inputs, results) : say(query, step, results);
  }

  // What a number was made from stands out with it.
  function light(page, {part, row, column}, query, step) {
    if (part === "score") { page.light("input", row); page.light("input", query); }
    if (part === "weight") page.light("score");
    if (part === "input" && step > 1) page.light("mix", row, column);
    if (part !== "mix") return;
    if (row === size) page.light("mix", undefined, column);
    else { page.light("input", row, column); page.light("weight", row); }
  }

  function tell({part, row, column}, query, inputs, {scores, weights, mixed, context}) {
    const pair = named(names[query], names[row]);
    if (part === "input") return `Number ${column + 1} of "${names[row]}": ${fixed(inputs[row][column], 4)}. Drag it, or use the arrow keys.`;
    if (part === "score") return `${pair}${inputs[query].map((q, k) => `${fixed(q)} · ${fixed(inputs[row][k])}`).join(" + ")} = ${fixed(scores[row], 4)}.`;
    if (part === "weight") return `${pair}score ${fixed(scores[row], 4)}, weight ${fixed(weights[row], 4)}.`;
    if (row < size) return `Weight ${fixed(weights[row], 4)} · ${fixed(inputs[row][column], 4)} of "${names[row]}" = ${fixed(mixed[row][column], 4)}.`;
    return `Context vector, number ${column + 1}: ${fixed(context[column], 4)}, the sum of the column above.`;
  }

  function say(query, step, {scores, weights, context}) {
    const best = most(scores), said = [
      `Query "${names[query]}" scores highest with "${names[best]}", ${fixed(scores[best])}.`,
      `Softmax turns that into a weight of ${fixed(weights[best])}.`, `The context vector is ${list(context)}.`,
    ];
    return said.slice(0, step + 1).join(" ");
  }

  const steps = ["1 scores", "2 weights", "3 context vector"];
  return {
    controls: {query: ["select", "query", Math.min(1, size - 1), names], step: ["radio", "show", 2, steps]},
    more: {inputs: original}, draw, letters: 240,
  };
});

// A number that is dragged up and down, or changed with arrow keys, in a cell of a grid. reach: how far from 0.
function slider(page, part, row, column, name, value, reach, edit) {
  const {x, y, wide, high} = page.boards.get(part);
  const element = page.part(`${name} of ${part}`, 3, "rect", {
    transform: `translate(${x + column * wide}px,${y + row * high}px)`, width: `${wide - 1}px`, height: `${high - 1}px`, fill: "transparent",
    cursor: "ns-resize", touchAction: "none", transition: "none",
  }, {tabindex: 0, role: "slider", "aria-label": name, "aria-valuemin": -reach, "aria-valuemax": reach, "aria-valuenow": fixed(value), "aria-valuetext": `${name}: ${fixed(value)}`});
  const fresh = !element.change, point = byFocus => page.point({part, row, column}, byFocus);
  element.value = value;
  element.change = next => edit(row, column, Math.round(limit(next, -reach, reach) * 100) / 100);
  if (!fresh) return;
  let from = null;
  const stop = () => { from = null; page.settle(false); };
  hear(element, {
    pointerdown: event => {
      from = [event.clientY, element.value];
      element.setPointerCapture(event.pointerId);
      page.settle(true);
      point();
    },
    pointermove: event => from ? element.change(from[1] + (from[0] - event.clientY) / 100) : point(),
    pointerup: stop, pointercancel: stop,
    focus: () => point(true),
    blur: () => page.point(null, true),
    keydown: event => {
      const step = {ArrowUp: 0.01, ArrowRight: 0.01, ArrowDown: -0.01, ArrowLeft: -0.01, PageUp: 0.1, PageDown: -0.1}[event.key];
      if (step) { event.preventDefault(); element.change(element.value + step); }
    },
  });
}

// Where a point stands in a field that has room for these points and for [0, 0], with words above and below.
function field({x, y, wide, high}, points) {
  const [lows, highs] = [Math.min, Math.max].map(end => [0, 1].map(k => end(0, ...points.map(point => point[k]))));
  const scale = Math.min((wide - 20) / (highs[0] - lows[0] || 1), (high - 96) / (highs[1] - lows[1] || 1));
  return ([a, b]) => [x + 6 + (a - lows[0]) * scale, y + high - 44 - (b - lows[1]) * scale];
}

function captions(page, {x, y, high}, title, below, lines) {
  page.heading(x, y, title, below);
  page.column("caption", x, y + high - 30, 15, lines, {anchor: "start", size: 11});
}

// Every arrow with its true length and its true angle to the query, which points to the right; and one shadow on it.
function angles(page, place, inputs, query, {scores}, shown, name) {
  const length = Math.hypot(...inputs[query]), along = scores.map(score => length ? score / length : 0);
  const ends = inputs.map((vector, row) => [along[row], Math.sqrt(Math.max(0, dot(vector, vector) - along[row] ** 2))]);
  const at = field(place, [[length, 0], ...ends]), [origin, tip, foot] = [[0, 0], ends[shown], [along[shown], 0]].map(at);
  ends.forEach((end, row) => {
    arrow(page, `arrow ${row}`, origin, at(end), row === query ? {width: 3, colour: MARK} : row === shown ? {width: 2.5} : {width: 1.2, colour: FAINT});
  });
  page.line("shadow", `M${tip.join(" ")}L${foot.join(" ")}`, {dash: "4 3"});
  page.line("on query", `M${origin[0]} ${foot[1] + 6}H${foot[0]}`, {width: 4});
  captions(page, place, "as arrows", "true lengths and angles to the query", [
    `shadow of “${name}”: ${fixed(along[shown])}`, `× length of the query ${fixed(length)} = ${fixed(scores[shown])}`,
  ]);
}

// The weighted arrows laid tip to tail, in the first two numbers; they end where the context vector does.
function tips(page, place, inputs, query, {mixed, context}, shown, name) {
  const ends = [[0, 0]];
  for (const [a, b = 0] of mixed) ends.push([ends.at(-1)[0] + a, ends.at(-1)[1] + b]);
  const spots = ends.map(field(place, ends));
  mixed.forEach((_, row) => arrow(page, `arrow ${row}`, spots[row], spots[row + 1], row === shown ? {width: 3} : {width: 1.5, colour: FAINT}));
  arrow(page, "context arrow", spots[0], spots.at(-1), {width: 3, colour: MARK});
  captions(page, place, "as arrows, tip to tail", "→ number 1, ↑ number 2", [`bold: weight · “${name}”`, `long: the context vector, ${list(context.slice(0, 2))}`]);
}

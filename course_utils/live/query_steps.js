// Chapter 1: one query, step by step: scores, weights, context vector; as numbers and as arrows.
import {dot, figure, fixed, limit, longest, MARK, most, places, range, reachOf, short, signedColour, softmax, sum, weightColour} from "./base.js";

const CELL = 40, ROW = 27, TOP = 40, BARS = 112, NARROW = 66, ARROWS = 250;
const GREY = [138, 143, 152];
const list = values => values.map(value => fixed(value)).join(", ");

export function attend(query, inputs) {
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
    const pick = row => page.change({query: row});
    const edit = (row, column, value) => page.change({inputs: inputs.map((line, r) => line.map((old, c) => r === row && c === column ? value : old))});
    for (const {x, top} of spots.slice(0, step + 1)) {
      if (x === left) names.forEach((name, row) => page.words(`name ${top} ${row}`, left - 6, top + ROW * (row + 0.5), short(name), {anchor: "end", bold: row === query, press: () => pick(row)}));
    }
    page.heading(left, input.y, "embedding", "drag a number");
    page.heading(score.x, score.y, "score ω", bar === BARS ? `with “${short(names[query])}”` : "");
    const colour = signedColour(reachOf(inputs)), mixedColour = signedColour(reachOf(mixed)), largest = Math.max(...scores.map(Math.abs));
    inputs.forEach((vector, row) => {
      vector.forEach((value, column) => {
        const spot = [left + column * CELL, TOP + row * ROW];
        page.cell(`input ${row} ${column}`, ...spot, CELL, ROW, colour(value), fixed(value));
        slider(page, `drag ${row} ${column}`, ...spot, CELL - 1, ROW - 1, `number ${column + 1} of ${names[row]}`, value, [-reach, reach],
          next => edit(row, column, next), {part: "input", row, column});
      });
      bars(page, `score ${row}`, score.x, score.top + row * ROW, scores[row], largest, bar, GREY);
      if (step > 0) bars(page, `weight ${row}`, after, score.top + row * ROW, weights[row], 1, bar, weightColour(weights[row]));
    });
    page.mark("asks", left - 1, TOP + ROW * query - 1, width * CELL, ROW);
    page.board("scores", score.x, score.top, bar, ROW, size, 1, "scores", row => ({part: "score", row}), pick);
    if (step > 0) {
      page.heading(after, score.y, "weight α", "softmax");
      page.words("total", after, score.top + ROW * (size + 0.6), `sum ${fixed(sum(weights))}`, {bold: true});
      page.board("weights", after, score.top, bar, ROW, size, 1, "weights", row => ({part: "weight", row}), pick);
    }
    if (step > 1) {
      page.heading(mix.x, mix.y, "weight · value", "added up: z");
      mixed.forEach((values, row) => values.forEach((value, column) => page.cell(`mixed ${row} ${column}`, mix.x + column * CELL, mix.top + row * ROW, CELL, ROW, mixedColour(value), fixed(value))));
      page.line("added", `M${mix.x} ${mix.top + ROW * size + 3}h${width * CELL}`);
      context.forEach((value, column) => page.words(`context ${column}`, mix.x + (column + 0.5) * CELL, mix.top + ROW * (size + 0.6), fixed(value), {anchor: "middle", bold: true}));
      page.board("mix", mix.x, mix.top, CELL, ROW, size + 1, width, "weight times value, and below the context vector",
        (row, column) => row < size ? {part: "mixed", row, column} : {part: "context", column});
    }
    if (at) light(page, at, query, step, score, after, bar, mix);
    (step < 2 ? angles : tips)(page, place, inputs, query, results, at?.row ?? most(scores), names);
    page.height = Math.max(below, place.y + place.high);
    return at ? tell(at, names, query, inputs, results) : say(names, query, step, results);
  }

  // What a number was made from stands out with it.
  function light(page, {part, row, column}, query, step, score, after, bar, mix) {
    const around = (x, y, wide, high) => page.mark(`from ${x} ${y}`, x, y, wide - 1, high - 1, "#111");
    const input = (r, c, wide = 1) => around(left + c * CELL, TOP + r * ROW, wide * CELL, ROW);
    if (part === "score") { input(row, 0, width); input(query, 0, width); }
    if (part === "weight") around(score.x - 2, score.top, bar, size * ROW);
    if (part === "mixed") { input(row, column); around(after - 2, score.top + row * ROW, bar, ROW); }
    if (part === "context") around(mix.x + column * CELL, mix.top, CELL, size * ROW);
    if (part === "input" && step > 1) around(mix.x + column * CELL, mix.top + row * ROW, CELL, ROW);
  }

  const steps = ["1 scores", "2 weights", "3 context vector"];
  return {
    controls: {query: ["select", "query", Math.min(1, size - 1), places(names)], step: ["radio", "show", 2, steps]},
    more: {inputs: original}, draw, letters: 240,
  };
});

// A number that is dragged up and down, or changed with arrow keys.
function slider(page, key, x, y, width, height, name, value, [low, high], change, at) {
  const part = page.part(key, 3, "rect", {
    transform: `translate(${x}px,${y}px)`, width: `${width}px`, height: `${height}px`, fill: "transparent",
    cursor: "ns-resize", touchAction: "none", transition: "none",
  }, {tabindex: 0, role: "slider", "aria-label": name, "aria-valuemin": low, "aria-valuemax": high, "aria-valuenow": fixed(value), "aria-valuetext": `${name}: ${fixed(value)}`});
  const fresh = !part.now;
  part.now = {value, change: next => change(Math.round(limit(next, low, high) * 100) / 100), at};
  if (!fresh) return;
  let from = null;
  part.addEventListener("pointerdown", event => {
    from = [event.clientY, part.now.value];
    part.setPointerCapture(event.pointerId);
    page.frame.settle(true);
    page.frame.point(part.now.at);
  });
  part.addEventListener("pointermove", event => from ? part.now.change(from[1] + (from[0] - event.clientY) / 100) : page.frame.point(part.now.at));
  const stop = () => { from = null; page.frame.settle(false); };
  part.addEventListener("pointerup", stop);
  part.addEventListener("pointercancel", stop);
  part.addEventListener("focus", () => page.frame.point(part.now.at, true));
  part.addEventListener("blur", () => page.frame.point(null, true));
  part.addEventListener("keydown", event => {
    const step = {ArrowUp: 0.01, ArrowRight: 0.01, ArrowDown: -0.01, ArrowLeft: -0.01, PageUp: 0.1, PageDown: -0.1}[event.key];
    if (step) { event.preventDefault(); part.now.change(part.now.value + step); }
  });
}

function bars(page, key, x, y, value, longestValue, room, colour) {
  const length = Math.max(1, Math.abs(value) / (longestValue || 1) * (room - 52));
  page.box(key, x, y + 5, length, ROW - 10, value < 0 ? "transparent" : colour, "currentColor");
  page.words(`${key} text`, x + length + 5, y + ROW / 2, fixed(value));
}

// Every arrow with its true length and its true angle to the query, which points to the right; and one shadow on it.
function angles(page, {x, y, wide, high}, inputs, query, {scores}, shown, names) {
  const length = Math.hypot(...inputs[query]), along = scores.map(score => length ? score / length : 0);
  const aside = inputs.map((vector, row) => Math.sqrt(Math.max(0, dot(vector, vector) - along[row] ** 2)));
  const low = Math.min(0, ...along), scale = Math.min((wide - 20) / (Math.max(...along, length) - low || 1), (high - 96) / (Math.max(...aside) || 1));
  const at = (a, b) => [x + 6 + (a - low) * scale, y + high - 44 - b * scale];
  page.heading(x, y, "as arrows", "true lengths and angles to the query");
  inputs.forEach((_, row) => {
    const look = row === query ? {width: 3, colour: MARK} : row === shown ? {width: 2.5} : {width: 1.2, colour: "#8a8f98"};
    page.arrow(`arrow ${row}`, at(0, 0), at(along[row], aside[row]), look);
  });
  page.line("shadow", `M${at(along[shown], aside[shown]).join(" ")}L${at(along[shown], 0).join(" ")}`, {dash: "4 3"});
  const [from] = at(0, 0), [to, ground] = at(along[shown], 0);
  page.line("on query", `M${from} ${ground + 6}H${to}`, {width: 4});
  page.words("shadow text", x, y + high - 22, `shadow of “${short(names[shown])}”: ${fixed(along[shown])}`, {size: 11});
  page.words("shadow times", x, y + high - 7, `× length of the query ${fixed(length)} = ${fixed(scores[shown])}`, {size: 11});
}

// The weighted arrows laid tip to tail, in the first two numbers; they end where the context vector does.
function tips(page, {x, y, wide, high}, inputs, query, {mixed, context}, shown, names) {
  const ends = [[0, 0]];
  for (const [a, b = 0] of mixed) ends.push([ends.at(-1)[0] + a, ends.at(-1)[1] + b]);
  const [lows, highs] = [Math.min, Math.max].map(end => [0, 1].map(k => end(0, ...ends.map(point => point[k]))));
  const scale = Math.min((wide - 20) / (highs[0] - lows[0] || 1), (high - 92) / (highs[1] - lows[1] || 1));
  const at = ([a, b]) => [x + 6 + (a - lows[0]) * scale, y + high - 40 - (b - lows[1]) * scale];
  page.heading(x, y, "as arrows, tip to tail", "→ number 1, ↑ number 2");
  mixed.forEach((_, row) => page.arrow(`arrow ${row}`, at(ends[row]), at(ends[row + 1]), row === shown ? {width: 3} : {width: 1.5, colour: "#8a8f98"}));
  page.arrow("context arrow", at([0, 0]), at(ends.at(-1)), {width: 3, colour: MARK});
  page.words("shadow text", x, y + high - 22, `bold: weight · “${short(names[shown])}”`, {size: 11});
  page.words("shadow times", x, y + high - 7, `long: the context vector, ${list(context.slice(0, 2))}`, {size: 11});
}

function tell({part, row, column}, names, query, inputs, {scores, weights, mixed, context}) {
  const pair = `Query "${names[query]}", key "${names[row]}": `;
  if (part === "input") return `Number ${column + 1} of "${names[row]}": ${fixed(inputs[row][column], 4)}. Drag it, or use the arrow keys.`;
  if (part === "score") return `${pair}${inputs[query].map((q, k) => `${fixed(q)} · ${fixed(inputs[row][k])}`).join(" + ")} = ${fixed(scores[row], 4)}.`;
  if (part === "weight") return `${pair}score ${fixed(scores[row], 4)}, weight ${fixed(weights[row], 4)}.`;
  if (part === "mixed") return `Weight ${fixed(weights[row], 4)} · ${fixed(inputs[row][column], 4)} of "${names[row]}" = ${fixed(mixed[row][column], 4)}.`;
  return `Context vector, number ${column + 1}: ${fixed(context[column], 4)}, the sum of the column above.`;
}

function say(names, query, step, {scores, weights, context}) {
  const best = most(scores);
  let said = `Query "${names[query]}" scores highest with "${names[best]}", ${fixed(scores[best])}.`;
  if (step > 0) said += ` Softmax turns that into a weight of ${fixed(weights[best])}.`;
  if (step > 1) said += ` The context vector is ${list(context)}.`;
  return said;
}

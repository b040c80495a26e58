// Chapter 3: a causal mask, on or off, before or after softmax, renormalised or not, and what it lets through.
import {dot, figure, fixed, named, range, softmax, sum} from "./base.js";
import {DEPENDENCIES, DEPENDS, maps} from "./maps.js";

const ROUNDING = 1e-12, NUDGE = 1.01;
const BEFORE = 0, AFTER = 1;

export function causal(queries, keys, {mask, when, renormalised}) {
  return queries.map((query, row) => {
    let scores = keys.map(key => dot(query, key) / Math.sqrt(key.length));
    if (mask && when === BEFORE) scores = scores.map((score, column) => column > row ? -Infinity : score);
    let weights = softmax(scores);
    if (mask && when === AFTER) weights = weights.map((weight, column) => column > row ? 0 : weight);
    const total = sum(weights);
    return renormalised ? weights.map(weight => weight / total) : weights;
  });
}

// An output depends on an input if it moves when the query, key and value of that input are scaled a little.
export function dependencies({queries, keys, values}, settings) {
  const context = (q, k, v) => causal(q, k, settings).map(weights => v[0].map((_, number) => dot(weights, v.map(row => row[number]))));
  const before = context(queries, keys, values);
  const columns = queries.map((_, input) => {
    const nudged = [queries, keys, values].map(rows => rows.map((row, place) => place === input ? row.map(value => value * NUDGE) : row));
    return context(...nudged).map((row, output) => row.some((value, number) => Math.abs(value - before[output][number]) > ROUNDING) ? 1 : 0);
  });
  return range(queries.length).map(output => columns.map(column => column[output]));
}

export default figure(({names, queries, keys, values}) => {
  function draw(page, state, at) {
    const weights = causal(queries, keys, state), depends = dependencies({queries, keys, values}, state);
    const hidden = (row, column) => state.mask && column > row;
    maps(page, [
      {key: "weights", values: weights, hidden},
      {key: "depends", values: depends, colour: DEPENDS, text: value => value ? "yes" : "·", ...DEPENDENCIES},
    ], {names, at});
    if (!at) return say(weights, depends, state);
    const {part, row, column} = at;
    if (part === "weights") return `${named(names[row], names[column])}${hidden(row, column) ? "masked, " : ""}weight ${fixed(weights[row][column], 4)}.`;
    const leak = depends[row][column] && column > row && state.mask ? ": a leak" : "";
    return `Output of "${names[row]}" ${depends[row][column] ? "depends" : "does not depend"} on input "${names[column]}"${leak}.`;
  }

  return {
    controls: {
      mask: ["check", "mask on", true], when: ["radio", "masked", BEFORE, ["before softmax", "after softmax"]],
      renormalised: ["check", "renormalise", false],
    },
    draw, letters: 160,
  };
});

function say(weights, depends, {mask, when}) {
  const sums = weights.map(sum), whole = sums.every(total => Math.abs(total - 1) < 1e-6);
  const leaks = sum(depends.map((row, output) => sum(row.slice(output + 1))));
  return `${mask ? `Masked ${when === BEFORE ? "before" : "after"} softmax` : "No mask"}. `
    + (whole ? "Every row sums to 1" : `The rows sum to ${fixed(Math.min(...sums))} to ${fixed(Math.max(...sums))}`)
    + (leaks ? `; ${leaks} cells above the diagonal say yes: outputs depend on later tokens.` : "; no output depends on a later token.");
}

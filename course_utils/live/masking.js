// Chapter 3: a causal mask, on or off, before or after softmax, renormalised or not, and what it lets through.
import {figure, fixed, named, softmax, sum} from "./base.js";
import {DEPENDENCIES, DEPENDS, maps} from "./maps.js";

const ROUNDING = 1e-12;
const BEFORE = 0, AFTER = 1;

function attend(scores, row, {mask, when, renormalised}) {
  const hidden = column => mask && column > row;
  const all = softmax(scores.map((score, column) => hidden(column) && when === BEFORE ? -Infinity : score));
  const weights = all.map((weight, column) => hidden(column) && when === AFTER ? 0 : weight), total = sum(weights);
  return renormalised ? weights.map(weight => weight / total) : weights;
}

export default figure(({names, scores}) => {
  function draw(page, state, at) {
    const weights = scores.map((line, row) => attend(line, row, state)), hidden = (row, column) => state.mask && column > row;
    // An output depends on an input that it reads the value of, or whose score moves one of its weights.
    const moves = (row, column) => attend(scores[row].with(column, scores[row][column] + 1), row, state)
      .some((weight, place) => Math.abs(weight - weights[row][place]) > ROUNDING);
    const depends = weights.map((line, row) => line.map((weight, column) => weight > 0 || moves(row, column)));
    maps(page, [
      {key: "weights", values: weights, hidden},
      {key: "depends", values: depends, colour: DEPENDS, text: value => value ? "yes" : "·", ...DEPENDENCIES},
    ], {names, at});
    if (!at) return say(weights, depends, state);
    const {part, row, column} = at, leak = hidden(row, column) ? ": a leak" : "";
    if (part === "weights") return `${named(names[row], names[column])}${hidden(row, column) ? "masked, " : ""}weight ${fixed(weights[row][column], 4)}.`;
    return `Output of "${names[row]}" ${depends[row][column] ? "depends" : "does not depend"} on input "${names[column]}"${depends[row][column] ? leak : ""}.`;
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
  const leaks = depends.flatMap((line, row) => line.slice(row + 1)).filter(Boolean).length;
  return `${mask ? `Masked ${when === BEFORE ? "before" : "after"} softmax` : "No mask"}. `
    + (whole ? "Every row sums to 1" : `The rows sum to ${fixed(Math.min(...sums))} to ${fixed(Math.max(...sums))}`)
    + (leaks ? `; ${leaks} cells above the diagonal say yes: outputs depend on later tokens.` : "; no output depends on a later token.");
}

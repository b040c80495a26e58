// Message: a mask before softmax hides the future; after it, the future leaks (red).
// Chapter 3: a causal mask, on or off, before or after softmax, renormalised or not, and the leaks.
import { EMPTY, figure, LEAK, say, softmax, sum } from "./base.js";
import { maps } from "./maps.js";

const BEFORE = 0, USES = [0, 124, 190, 0.3];

export default figure(({ names, scores }) => {
  function draw(page, { mask, when, renormalised }, at) {
    const hidden = (row, column) => mask && column > row;
    page.idle = mask ? [] : ["when", "renormalised"];
    const weights = scores.map((line, row) => {
      const all = softmax(line.map((score, column) => hidden(row, column) && when === BEFORE ? -Infinity : score));
      const left = all.map((weight, column) => hidden(row, column) ? 0 : weight), total = sum(left);
      return renormalised ? left.map((weight) => weight / total) : left;
    });
    // An output depends on an input whose value it reads, or whose score is in a sum that no renormalising cancels.
    const depends = weights.map((line) => line.map((weight) => weight > 0 || when !== BEFORE && !renormalised));
    const sums = weights.map(sum), whole = sums.every((total) => Math.abs(total - 1) < 1e-6);
    const leaks = sum(depends.flatMap((line, row) => line.slice(row + 1)));
    const how = !mask
      ? "weights without a mask"
      : `weights masked ${when === BEFORE ? "before" : "after"} softmax${renormalised ? ", renormalised" : ""}`;
    const said = maps(page, [
      { key: "weights", label: "weights", title: how, values: weights, hidden },
      {
        key: "influence: dependency matrix",
        label: "influence: dependency matrix",
        title: !leaks
          ? "outputs use no later words"
          : mask
          ? "softmax's sum still includes later words"
          : "outputs use later words",
        values: depends,
        axes: ["output of", "input of"],
        colour: (uses, output, input) => !uses ? EMPTY : input > output ? LEAK : USES,
        text: (uses, output, input) => !uses ? "·" : input > output ? "leak" : "",
      },
    ], { names, at, marks: [["uses", USES], ["leak", LEAK]] });
    if (said) return `${said}.`;
    if (at) {
      const { row, column } = at;
      const whether = !depends[row][column]
        ? "does not depend on"
        : hidden(row, column)
        ? "leaks: it depends on"
        : "depends on";
      return `The output of "${names[row]}" ${whether} the input "${names[column]}".`;
    }
    return `${mask ? `Masked ${when === BEFORE ? "before" : "after"} softmax` : "No mask"}. ` +
      (whole ? "Every row sums to 1" : say`The row sums range from ${Math.min(...sums)} to ${Math.max(...sums)}`) +
      (leaks
        ? `; ${leaks} red ${leaks === 1 ? "cell leaks" : "cells leak"}: outputs depend on later tokens.`
        : "; no output depends on a later token.");
  }

  return {
    controls: {
      mask: ["check", "mask on", true],
      when: ["radio", "masked", 1, ["before softmax", "after softmax"]],
      renormalised: ["check", "renormalise", false],
    },
    draw,
    letters: 160,
  };
});

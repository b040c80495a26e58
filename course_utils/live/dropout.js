// Message: in training some weights are dropped at random and the others grow; in evaluation all stay as they are.
// Chapter 4: dropout on attention weights: its rate and its seed, beside the weights without it.
import { figure, fixed, LEAK, say, sum, weightColour } from "./base.js";
import { maps } from "./maps.js";

const STEPS = 20, DROPPED = [...LEAK, 0.14]; // rates are twentieths

export default figure(({ names, weights, masked, draws, seeds }) => {
  const hidden = (row, column) => masked[row][column];

  function draw(page, { rate, seed }, at) {
    const letters = draws[seed - seeds[0]], factor = 1 / (1 - rate);
    // a letter says at how many of the rates, from 0 upwards, an entry is kept; at 0 every one is
    const kept = (row, column) => letters.charCodeAt(row * names.length + column) - 97 > Math.round(rate * STEPS);
    const dropped = weights.map((line, row) => line.map((weight, column) => kept(row, column) ? weight * factor : 0));
    const said = maps(page, [
      { key: "before", title: "in evaluation", values: weights },
      {
        key: "weights",
        title: say`in training: ✕ dropped, the rest × ${factor}`,
        values: dropped,
        told: weights,
        colour: (weight, ...cell) => kept(...cell) ? weightColour(weight) : DROPPED,
        text: (weight, row, column, digits) => kept(row, column) ? fixed(weight, digits) : "✕",
      },
    ], { names, hidden, at, marks: [["dropped", DROPPED]] });
    if (at) {
      const { part, row, column } = at,
        fate = kept(row, column) ? `, kept: times ${fixed(factor)} = ${fixed(dropped[row][column], 4)}` : ", dropped";
      return `${said}${part === "before" || hidden(row, column) ? "" : fate}.`;
    }
    const fates = weights.flatMap((line, row) =>
      line.flatMap((_, column) => hidden(row, column) ? [] : kept(row, column))
    );
    const sums = dropped.map((line, row) => sum(line.filter((_, column) => !hidden(row, column)))),
      empty = names.filter((_, row) => sums[row] === 0);
    const nothing = empty.length ? ` Nothing is left for "${empty.join('", "')}".` : "";
    return `${sum(fates)} of ${fates.length} weights are kept. ` +
      say`The row sums range from ${Math.min(...sums)} to ${Math.max(...sums)}, with mean ${
        sum(sums) / sums.length
      }.${nothing}`;
  }

  return {
    controls: {
      rate: ["slide", "rate p", 0.5, 0.95, 0, 0.05],
      seed: ["slide", "seed", seeds[0], seeds[1], seeds[0]],
    },
    draw,
    letters: 190,
  };
});

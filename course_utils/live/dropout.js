// Message: in training some weights fall out and the others grow; in evaluation nothing happens.
// Chapter 4: dropout on attention weights: its rate, its seed, training and evaluation.
import { figure, fixed, say, sum } from "./base.js";
import { maps } from "./maps.js";

const TRAIN = 0, STEPS = 20; // rates are twentieths

export default figure(({ names, weights, masked, draws, seeds }) => {
  const hidden = (row, column) => masked[row][column];

  function draw(page, { mode, rate, seed }, at) {
    const p = mode === TRAIN ? rate : 0, letters = draws[seed - seeds[0]];
    page.idle = mode === TRAIN ? [] : ["rate", "seed"];
    // a letter says at how many of the rates, from 0 upwards, an entry is kept; at 0 every one is
    const kept = (row, column) => letters.charCodeAt(row * names.length + column) - 97 > Math.round(p * STEPS);
    const dropped = weights.map((line, row) => line.map((weight, column) => kept(row, column) ? weight / (1 - p) : 0));
    const said = maps(page, [{
      key: "weights",
      values: dropped,
      told: weights,
      title: mode === TRAIN ? say`weights, p = ${p}` : "weights in evaluation",
    }], {
      names,
      hidden,
      at,
    });
    if (at) {
      const { row, column } = at,
        fate = kept(row, column)
          ? `, kept: times ${fixed(1 / (1 - p))} = ${fixed(dropped[row][column], 4)}`
          : ", dropped";
      return `${said}${hidden(row, column) ? "" : fate}.`;
    }
    const fates = weights.flatMap((line, row) =>
      line.flatMap((_, column) => hidden(row, column) ? [] : kept(row, column))
    );
    const sums = dropped.map((line, row) => sum(line.filter((_, column) => !hidden(row, column)))),
      empty = names.filter((_, row) => sums[row] === 0);
    const nothing = empty.length ? ` Nothing is left for "${empty.join('", "')}".` : "";
    return `${sum(fates)} of ${fates.length} weights are kept. ` +
      say`The rows sum to between ${Math.min(...sums)} and ${Math.max(...sums)}, on average ${
        sum(sums) / sums.length
      }.${nothing}`;
  }

  return {
    controls: {
      mode: ["radio", "mode", TRAIN, ["train", "eval"]],
      rate: ["slide", "rate p", 0.5, 0.95, 0, 0.05],
      seed: ["slide", "seed", seeds[0], seeds[1], seeds[0]],
    },
    draw,
    letters: 190,
  };
});

// Chapter 4: dropout on attention weights: its rate, its seed, two samplers, training and evaluation.
import {figure, fixed, sum} from "./base.js";

const TRAIN = 0, STEPS = 20;  // rates are twentieths

export default figure(({names, weights, masked, draws, seeds}) => {
  const hidden = (row, column) => Boolean(masked[row][column]);

  function draw(page, {mode, rate, seed, sampler}, at) {
    const p = mode === TRAIN ? rate : 0, letters = draws[sampler][seed - seeds[0]], size = names.length;
    // a letter says at how many of the rates, from 0 upwards, an entry is kept
    const kept = (row, column) => letters.charCodeAt(row * size + column) - 97 > Math.round(p * STEPS);
    const dropped = weights.map((row, r) => row.map((weight, c) => kept(r, c) || mode !== TRAIN ? weight / (1 - p) : 0));
    page.maps([{key: "weights", values: dropped, title: `weights, p = ${fixed(p)}`}], {names, hidden, at});
    if (!at) return say(dropped, (row, column) => kept(row, column) || mode !== TRAIN);
    const {row, column} = at, pair = `Query "${names[row]}", key "${names[column]}": weight ${fixed(weights[row][column], 4)}`;
    if (hidden(row, column)) return `${pair}, masked.`;
    return kept(row, column) || mode !== TRAIN ? `${pair}, kept: times ${fixed(1 / (1 - p))} = ${fixed(dropped[row][column], 4)}.` : `${pair}, dropped.`;
  }

  function say(dropped, kept) {
    const visible = dropped.flatMap((row, r) => row.map((_, c) => [r, c])).filter(([r, c]) => !hidden(r, c));
    const sums = dropped.map((row, r) => sum(row.filter((_, c) => !hidden(r, c))));
    const empty = names.filter((_, row) => sums[row] === 0).map(name => `"${name}"`);
    const nothing = empty.length ? ` ${empty.join(", ")} ${empty.length === 1 ? "attends" : "attend"} to nothing.` : "";
    return `${visible.filter(([r, c]) => kept(r, c)).length} of ${visible.length} weights are kept. The rows sum to between ${fixed(Math.min(...sums))} and ${fixed(Math.max(...sums))}, `
      + `on average ${fixed(sum(sums) / sums.length)}.${nothing}`;
  }

  return {
    controls: {
      mode: ["radio", "mode", TRAIN, ["train", "eval"]], rate: ["slide", "rate p", 0.5, [0, 0.95, 0.05]],
      seed: ["slide", "seed", seeds[0], [...seeds, 1]], sampler: ["radio", "sampler", 0, ["mask A", "mask B"]],
    },
    draw, letters: 190,
  };
});

// Message: without a mask, padding takes weight from words.
// Chapter 6: padding among the keys, hidden from every query in three ways or in none, until no key is left.
import { figure, most, say, softmax, sum } from "./base.js";
import { maps } from "./maps.js";

const NONE = 0, SAFE = 3, WAYS = ["no mask", "−10⁹", "−∞", "−∞, then 0"], PADDING = "(padding)";
const SCORES = [0, -1e9, -Infinity, -Infinity]; // of padding: a vector of zeros scores 0
const EMPTY = [
  "",
  "all scores are −10⁹, and softmax shares evenly among the padding",
  "softmax of nothing but −∞ is nan",
  "all weights are 0, so nothing is read",
];

export default figure(({ names, keys: words, scores }) => {
  function draw(page, { length, mask }, at) {
    const keys = words.map((word, key) => key < length ? word : PADDING);
    const weights = scores.map((row) =>
      softmax(row.map((score, key) => key < length ? score : SCORES[mask]))
        .map((weight, key) => key < length || mask !== SAFE ? weight : 0)
    );
    const hidden = (row, column) => column >= length && mask !== NONE && weights[row][column] === 0,
      widest = [...words.slice(1), PADDING];
    const said = maps(page, [{ key: "weights", values: weights }], {
      names,
      keys,
      hidden,
      widest,
      at,
      dim: (key) => key >= length,
    });
    if (at) return `${said}.`;
    if (length === words.length) return "No padding: whatever the mask, every row sums to 1.";
    if (mask === NONE) {
      const shares = weights.map((row) => sum(row.slice(length))), worst = most(shares);
      return say`No mask: "${names[worst]}" gives ${shares[worst]} of its weight to padding.`;
    }
    return length > 0
      ? `Hidden by ${WAYS[mask]}: padding weighs nothing, and every row sums to 1.`
      : `No word is left: ${EMPTY[mask]}.`;
  }

  return {
    controls: {
      length: ["slide", "words that answer", Math.max(1, words.length - 2), words.length],
      mask: ["radio", "hidden by", NONE, WAYS],
    },
    draw,
    letters: 110,
  };
});

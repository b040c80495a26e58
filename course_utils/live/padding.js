// Chapter 6: padding among the keys, hidden from every query in three ways or in none, until no key is left.
import {most, say, softmax, sum} from "./base.js";
import {maps} from "./maps.js";

const [NONE, BILLION, INFINITY, SAFE] = [0, 1, 2, 3], WAYS = ["no mask", "−10⁹", "−∞", "−∞, then 0"];
const PADDING = "(padding)";

function padded(scores, length, mask) {
  return scores.map(row => {
    const fill = mask === NONE ? 0 : mask === BILLION ? -1e9 : -Infinity;  // padding is a vector of zeros
    const weights = softmax(row.map((score, key) => key < length ? score : fill));
    return mask === SAFE ? weights.map((weight, key) => key < length ? weight : 0) : weights;
  });
}

export default ({names, keys: words, scores}) => {
  function draw(page, {length, mask}, at) {
    const weights = padded(scores, length, mask), keys = words.map((word, key) => key < length ? word : PADDING);
    const hidden = (row, column) => column >= length && weights[row][column] === 0, widest = [...words.slice(1), PADDING];
    const said = maps(page, [{key: "weights", values: weights}], {names, keys, hidden, widest, at});
    return at ? `${said}.` : summary(weights, length, mask);
  }

  function summary(weights, length, mask) {
    if (length === words.length) return "No padding: whatever the mask, every row sums to 1.";
    if (mask === NONE) {
      const shares = weights.map(row => sum(row.slice(length))), worst = most(shares);
      return say`No mask: "${names[worst]}" gives ${shares[worst]} of its weight to padding.`;
    }
    if (length > 0) return `Hidden by ${WAYS[mask]}: padding weighs nothing, and every row sums to 1.`;
    if (mask === BILLION) return "No word is left: all scores are −10⁹, and softmax shares evenly among the padding.";
    return mask === INFINITY ? "No word is left: softmax of nothing but −∞ is nan." : "No word is left: all weights are 0, so nothing is read.";
  }

  return {
    controls: {
      length: ["slide", "words that answer", Math.max(1, words.length - 2), words.length], mask: ["radio", "hidden by", NONE, WAYS],
    },
    draw, letters: 110,
  };
};

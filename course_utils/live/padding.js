// Message: without a mask, padding takes weight from words; hidden, it takes none.
// Chapter 6: padding among the keys, seen beside hidden from every query in one of three ways, until no key is left.
import { figure, LEAK, most, say, softmax, sum, weightColour } from "./base.js";
import { maps, WEIGHTS } from "./maps.js";

const PADDING = "(padding)", NONE = 0, SAFE = 3; // ways to hide; 0: no mask
const SCORES = [0, -Infinity, -1e9, -Infinity]; // of padding: a vector of zeros scores 0
const WAYS = ["−∞", "−10⁹", "−∞, then 0"];
const EMPTY = [
  "softmax of nothing but −∞ is nan",
  "all scores are −10⁹, and softmax divides all weight evenly among the padding",
  "all weights are 0, so nothing is read",
];

export default figure(({ names, keys: words, scores }) => {
  function draw(page, { length, mask }, at) {
    const keys = words.map((word, key) => key < length ? word : PADDING), isWord = (_, key) => key < length;
    const [seen, hidden] = [NONE, mask + 1].map((way) =>
      scores.map((row) =>
        softmax(row.map((score, key) => key < length ? score : SCORES[way]))
          .map((weight, key) => key < length || way !== SAFE ? weight : 0)
      )
    );
    const said = maps(page, [
      { key: "seen", title: "padding not hidden", values: seen },
      {
        key: "hidden",
        title: `padding hidden by ${WAYS[mask]}`,
        values: hidden,
        hidden: (row, key) => key >= length && hidden[row][key] === 0,
      },
    ], {
      names,
      keys,
      at,
      axes: ["query (attends)", "key (attended to)", "words get"],
      counts: isWord,
      colour: (weight, row, key) =>
        isWord(row, key) || isNaN(weight) ? weightColour(weight) : [...LEAK, Math.min(0.6, 0.15 + 1.5 * weight)],
      marks: [["padding takes", LEAK]],
      scale: WEIGHTS,
      widest: [...words.slice(1), PADDING],
    });
    if (at) return `${said}.`;
    if (length === words.length) return "No padding: whatever the mask, every row sums to 1.";
    if (!length) return `No word is left: ${EMPTY[mask]}.`;
    const shares = seen.map((row) => sum(row.slice(length))), worst = most(shares);
    return say`Without a mask, "${names[worst]}" gives ${shares[worst]} of its weight to padding. Hidden by ${
      WAYS[mask]
    }, padding gets no weight.`;
  }

  return {
    controls: {
      length: ["slide", "words among the keys", Math.max(1, words.length - 2), words.length],
      mask: ["radio", "hidden by", 0, WAYS],
    },
    draw,
    letters: 120,
  };
});

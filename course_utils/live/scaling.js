// Message: with long vectors one key takes all the weight; divided by √d_k, the same scores share it.
// Chapter 2: one query's scores, and their weights without and with the division, while d_k grows, at any temperature.
import { dot, exactly, figure, longest, MARK, range, RIGHT, say, short, softmax } from "./base.js";
import { bars, reachOf } from "./vectors.js";

const ROW = 32, TOP = 40;

export default figure(({ names, query, keys }) => {
  const scoresOf = (d_k) => keys.map((key) => dot(key.slice(0, d_k), query.slice(0, d_k)));
  const reach = reachOf(range(query.length).map((place) => scoresOf(place + 1))), left = longest(names) + 10;

  function draw(page, { d_k, temperature }, at) {
    const scores = scoresOf(d_k), root = Math.sqrt(d_k), column = (page.width - left) / 3, wide = column > 170;
    const [plain, divided] = [1, root].map((by) => softmax(scores.map((score) => score / by / temperature)));
    const largest = (weights) => say`${wide ? "largest weight" : "largest"} ${Math.max(...weights)}`;
    [
      ["score q · k", say`√d_k = ${root}`, scores, { low: -reach, reach }],
      [wide ? "softmax(score)" : "softmax", largest(plain), plain, { colour: MARK }],
      [wide ? "softmax(score / √d_k)" : "with ÷ √d_k", largest(divided), divided, { colour: RIGHT }],
    ].forEach(([title, below, values, look], place) => {
      page.heading(left + place * column, 0, title, below);
      bars(page, title, left + place * column, TOP, column, ROW, values, look);
    });
    page.column(left - 6, TOP, ROW, names.map(short));
    page.board("keys", 2, TOP, page.width - 4, ROW, names.length, 1, "scores and weights");
    page.height = TOP + ROW * names.length + 4;
    if (!at) {
      const top = (weights) => say`${Math.max(...weights)} for "${names[weights.indexOf(Math.max(...weights))]}"`;
      return `Largest weight without the division: ${top(plain)}; with it: ${top(divided)}.`;
    }
    page.light("keys", at.row);
    return exactly`Key "${names[at.row]}": score ${scores[at.row]}, weight ${plain[at.row]}; scaled: score ${
      scores[at.row] / root
    }, weight ${divided[at.row]}.`;
  }

  return {
    controls: {
      d_k: ["slide", "d_k", query.length, query.length, 1],
      temperature: ["slide", "temperature", 1, 4, 0.1, 0.1],
    },
    draw,
    letters: 130,
  };
});

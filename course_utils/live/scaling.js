// Message: long vectors make scores so large that one key takes all the weight; dividing by √d_k undoes that.
// Chapter 2: from scores to weights, while d_k grows, with and without scaling, at any temperature.
import { dot, exactly, figure, fixed, longest, most, range, say, short, softmax, sum, weightColour } from "./base.js";
import { bars, reachOf } from "./vectors.js";

const ROW = 32, TOP = 36;

export default figure(({ names, query, keys }) => {
  const scoresOf = (d_k) => keys.map((key) => dot(key.slice(0, d_k), query.slice(0, d_k)));
  const reach = reachOf(range(query.length).map((place) => scoresOf(place + 1))), left = longest(names) + 10;

  function draw(page, { d_k, scaled, temperature }, at) {
    const scores = scoresOf(d_k), divided = scores.map((score) => score / (scaled ? Math.sqrt(d_k) : 1) / temperature);
    const weights = softmax(divided), column = (page.width - left) / 3, signed = { low: -reach, reach };
    const by = `${scaled ? " ÷ √d_k" : ""}${temperature === 1 ? "" : ` ÷ ${fixed(temperature, 1)}`}`;
    [
      ["score q · k", `d_k = ${d_k}`, scores, signed],
      ["to softmax", by || "the score", divided, signed],
      ["weight", say`sum ${sum(weights)}`, weights, { colour: weightColour, digits: 4 }],
    ].forEach(([title, below, values, look], place) => {
      page.heading(left + place * column, 0, title, below);
      bars(page, title, left + place * column, TOP, column, ROW, values, look);
    });
    const best = most(weights);
    page.column(left - 6, TOP, ROW, names.map(short), [best]);
    page.board("keys", 2, TOP, page.width - 4, ROW, names.length, 1, "scores and weights");
    page.height = TOP + ROW * names.length + 4;
    if (!at) {
      return say`The scores lie between ${Math.min(...scores)} and ${Math.max(...scores)}, and the largest weight is ${
        weights[best]
      }, for "${names[best]}".`;
    }
    page.light("keys", at.row);
    return exactly`Key "${names[at.row]}": score ${scores[at.row]}, divided ${divided[at.row]}, weight ${
      weights[at.row]
    }.`;
  }

  return {
    controls: {
      d_k: ["slide", "d_k", query.length, query.length, 1],
      scaled: ["check", "divide by √d_k", true],
      temperature: ["slide", "temperature", 1, 4, 0.1, 0.1],
    },
    draw,
    letters: 150,
  };
});

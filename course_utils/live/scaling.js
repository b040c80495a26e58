// Chapter 2: from products to scores to weights, while d_k grows, with and without scaling, at any temperature.
import {chunks, figure, fixed, longest, most, short, softmax, sum, weightColour} from "./base.js";
import {bars, reachOf, signedColour} from "./vectors.js";

const CELL = 36, ROW = 22, TOP = 36;

export default figure(({names, query, keys}) => {
  const most_d = query.length, size = names.length;
  const products = keys.map(key => key.map((value, place) => value * query[place]));
  const subtotals = products.map(row => { let total = 0; return row.map(value => total += value); });
  const reach = reachOf(subtotals), left = longest(names) + 10;

  function draw(page, {d_k, scaled, temperature, opened}, at) {
    const scores = subtotals.map(row => row[d_k - 1]), divided = scores.map(score => score / (scaled ? Math.sqrt(d_k) : 1) / temperature);
    const weights = softmax(divided), column = Math.floor((page.width - left) / 3), signed = {low: -reach, reach};
    const by = [scaled ? "√d_k" : "", temperature !== 1 ? fixed(temperature, 1) : ""].filter(Boolean).join(" and ");
    [
      ["score q · k", `d_k = ${d_k}`, scores, signed],
      ["to softmax", by ? `divided by ${by}` : "the score", divided, signed],
      ["weight", `sum ${fixed(sum(weights))}`, weights, {colour: weightColour, digits: 4}],
    ].forEach(([title, below, values, look], place) => {
      page.heading(left + place * column, 0, title, below);
      bars(page, title, left + place * column, TOP, column, ROW, values, look);
    });
    page.column("name", left - 6, TOP, ROW, names.map(short), {bold: [opened]});
    page.board("keys", 2, TOP, page.width - 4, ROW, size, 1, "scores and weights", row => page.change({opened: row}));
    page.pick("keys", opened);

    const top = TOP + ROW * size + 32, across = Math.min(Math.floor(page.width / CELL), 16), shown = products[opened].slice(0, d_k);
    page.words("products", 0, top - 14, `The ${d_k} products q · k in the score of “${short(names[opened])}”`, {bold: true});
    page.grid("product", 0, top, CELL, ROW, chunks(shown, across), {colour: signedColour(shown), size: 11, label: "products"});
    page.height = top + Math.ceil(most_d / across) * ROW + 4;

    if (at?.part === "keys") {
      page.light("keys", at.row);
      if (at.row === opened) page.light("product");
      return `Key "${names[at.row]}": score ${fixed(scores[at.row], 4)}, divided ${fixed(divided[at.row], 4)}, weight ${fixed(weights[at.row], 4)}.`;
    }
    const number = at ? at.row * across + at.column : d_k;
    if (number < d_k) {
      page.light("product", at.row, at.column);
      return `Number ${number + 1}: q ${fixed(query[number], 4)} times k ${fixed(keys[opened][number], 4)} = ${fixed(shown[number], 4)}.`;
    }
    const best = most(weights);
    return `With d_k = ${d_k} the scores lie between ${fixed(Math.min(...scores))} and ${fixed(Math.max(...scores))}, and the largest weight is ${fixed(weights[best])}, for "${names[best]}". `
      + `The score of "${names[opened]}" is the sum of ${d_k} products, ${fixed(scores[opened])}.`;
  }

  return {
    controls: {
      d_k: ["slide", "d_k", most_d, [1, most_d, 1]], scaled: ["check", "divide by √d_k", true],
      temperature: ["slide", "temperature", 1, [0.1, 4, 0.1]], opened: ["select", "open the score of", 0, names],
    },
    draw, letters: 230,
  };
});

// Chapter 2: from products to scores to weights, while d_k grows, with and without scaling, at any temperature.
import { BOLD, chunks, exactly, figure, fixed, longest, most, say, short, softmax, sum, weightColour } from "./base.js";
import { bars, reachOf, signedColour } from "./vectors.js";

const CELL = 36, ROW = 22, TOP = 36;

export default figure(({ names, query, keys }) => {
  const most_d = query.length, size = names.length;
  const products = keys.map((key) => key.map((value, place) => value * query[place]));
  const scoresOf = (d_k) => products.map((row) => sum(row.slice(0, d_k)));
  const largest = reachOf(products);
  const reach = reachOf(query.map((_, place) => scoresOf(place + 1))), left = longest(names) + 10;

  function draw(page, { d_k, scaled, temperature, opened }, at) {
    const scores = scoresOf(d_k), divided = scores.map((score) => score / (scaled ? Math.sqrt(d_k) : 1) / temperature);
    const weights = softmax(divided), column = Math.floor((page.width - left) / 3), signed = { low: -reach, reach };
    const by = `${scaled ? " ÷ √d_k" : ""}${temperature === 1 ? "" : ` ÷ ${fixed(temperature, 1)}`}`;
    [
      ["score q · k", `d_k = ${d_k}`, scores, signed],
      ["to softmax", by || "the score", divided, signed],
      ["weight", say`sum ${sum(weights)}`, weights, { colour: weightColour, digits: 4 }],
    ].forEach(([title, below, values, look], place) => {
      page.heading(left + place * column, 0, title, below);
      bars(page, title, left + place * column, TOP, column, ROW, values, look);
    });
    page.column(left - 6, TOP, ROW, names.map(short), [opened]);
    page.board(
      "keys",
      2,
      TOP,
      page.width - 4,
      ROW,
      size,
      1,
      "scores and weights",
      (row) => page.change({ opened: row }),
    );
    page.pick("keys", opened);

    const top = TOP + ROW * size + 32,
      across = Math.min(Math.floor(page.width / CELL), 16),
      shown = products[opened].slice(0, d_k);
    page.words(0, top - 14, `The ${d_k} products q · k in the score of “${short(names[opened])}”`, BOLD);
    page.grid("product", 0, top, CELL, ROW, chunks(shown, across), {
      colour: signedColour(largest),
      label: "products",
    });
    page.height = top + Math.ceil(most_d / across) * ROW + 4;

    if (at?.part === "keys") {
      page.light("keys", at.row);
      if (at.row === opened) page.light("product");
      return exactly`Key "${names[at.row]}": score ${scores[at.row]}, divided ${divided[at.row]}, weight ${
        weights[at.row]
      }.`;
    }
    const number = at ? at.row * across + at.column : d_k;
    if (number < d_k) {
      page.light("product", at.row, at.column);
      return `Number ${number + 1}: ${exactly`q ${query[number]} times k ${keys[opened][number]} = ${shown[number]}`}.`;
    }
    const best = most(weights);
    return say`The scores lie between ${Math.min(...scores)} and ${Math.max(...scores)}, and the largest weight is ${
      weights[best]
    }, for "${names[best]}". ` +
      say`The score of "${names[opened]}" is the sum of these products, ${scores[opened]}.`;
  }

  return {
    controls: {
      d_k: ["slide", "d_k", most_d, most_d, 1],
      scaled: ["check", "divide by √d_k", true],
      temperature: ["slide", "temperature", 1, 4, 0.1, 0.1],
      opened: ["select", "open the score of", 0, names],
    },
    draw,
    letters: 230,
  };
});

// Chapter 2: from products to scores to weights, while d_k grows, with and without scaling, at any temperature.
import {dot, figure, fixed, longest, most, places, range, reachOf, short, signedColour, softmax, sum, weightColour} from "./base.js";

const CELL = 36, ROW = 22, TOP = 36, NUMBER = 52;
const GREY = [138, 143, 152];

export default figure(({names, query, keys}) => {
  const most_d = query.length, size = names.length;
  const products = keys.map(key => key.map((value, place) => value * query[place]));
  const subtotals = products.map(row => { let total = 0; return row.map(value => total += value); });
  const reach = reachOf(subtotals) || 1, left = longest(names) + 10;

  function draw(page, {d_k, scaled, temperature, opened}, at) {
    const scores = subtotals.map(row => row[d_k - 1]), divided = scores.map(score => score / (scaled ? Math.sqrt(d_k) : 1) / temperature);
    const weights = softmax(divided), column = Math.floor((page.width - left) / 3), bar = column - NUMBER - 4;
    const by = [scaled ? "√d_k" : "", temperature !== 1 ? fixed(temperature, 1) : ""].filter(Boolean).join(" and ");
    const headings = [["score q · k", `d_k = ${d_k}`], ["to softmax", by ? `divided by ${by}` : "the score"], ["weight", `sum ${fixed(sum(weights))}`]];
    headings.forEach(([title, below], place) => page.heading(left + place * column, 0, title, below));
    names.forEach((name, row) => {
      const y = TOP + ROW * row, middle = y + ROW / 2;
      page.words(`name ${row}`, left - 6, middle, short(name), {anchor: "end", bold: row === opened, press: () => page.change({opened: row})});
      [scores, divided].forEach((values, place) => {
        const x = left + place * column, share = Math.max(-1, Math.min(1, values[row] / reach)), length = Math.max(1, Math.abs(share) * bar / 2);
        page.box(`bar ${place} ${row}`, x + bar / 2 - (share < 0 ? length : 0), y + 4, length, ROW - 8, share < 0 ? "transparent" : GREY, "currentColor");
        page.words(`value ${place} ${row}`, x + column - 8, middle, fixed(values[row]), {anchor: "end"});
      });
      page.box(`weight ${row}`, left + 2 * column, y + 4, Math.max(1, weights[row] * (bar - 4)), ROW - 8, weightColour(weights[row]), "currentColor");
      page.words(`share ${row}`, left + 3 * column - 2, middle, fixed(weights[row], 4), {anchor: "end"});
    });
    [0, 1].forEach(place => page.line(`zero ${place}`, `M${left + place * column + bar / 2} ${TOP}v${ROW * size}`));
    page.mark("opened", 2, TOP + ROW * opened, page.width - 5, ROW - 1);
    page.board("keys", left, TOP, 3 * column, ROW, size, 1, "scores and weights", row => ({row}), row => page.change({opened: row}));

    const top = TOP + ROW * size + 32, across = Math.min(Math.floor(page.width / CELL), 16), colour = signedColour(reachOf([products[opened].slice(0, d_k)]));
    page.words("products", 0, top - 14, `The ${d_k} products q · k in the score of “${short(names[opened])}”`, {bold: true});
    range(d_k).forEach(place => page.cell(`product ${place}`, place % across * CELL, top + Math.floor(place / across) * ROW, CELL, ROW, colour(products[opened][place]), fixed(products[opened][place]), 11));
    const lines = Math.ceil(most_d / across), used = Math.ceil(d_k / across);
    page.board("product", 0, top, CELL, ROW, used, Math.min(across, d_k), "products", (row, place) => ({place: Math.min(row * across + place, d_k - 1)}));
    if (at?.place < d_k) page.mark("product mark", at.place % across * CELL, top + Math.floor(at.place / across) * ROW, CELL - 1, ROW - 1, "#111");
    if (at?.row !== undefined) page.mark("key mark", 2, TOP + ROW * at.row, page.width - 5, ROW - 1, "#111");
    if (at?.row === opened) page.mark("products mark", 0, top, Math.min(across, d_k) * CELL - 1, used * ROW - 1, "#111");
    page.height = top + lines * ROW + 4;

    if (at?.place < d_k) return `Number ${at.place + 1}: q ${fixed(query[at.place], 4)} times k ${fixed(keys[opened][at.place], 4)} = ${fixed(products[opened][at.place], 4)}.`;
    if (at?.row !== undefined) return `Key "${names[at.row]}": score ${fixed(scores[at.row], 4)}, divided ${fixed(divided[at.row], 4)}, weight ${fixed(weights[at.row], 4)}.`;
    const best = most(weights);
    return `With d_k = ${d_k} the scores lie between ${fixed(Math.min(...scores))} and ${fixed(Math.max(...scores))}, and the largest weight is ${fixed(weights[best])}, for "${names[best]}". `
      + `The score of "${names[opened]}" is the sum of ${d_k} products, ${fixed(scores[opened])}.`;
  }

  return {
    controls: {
      d_k: ["slide", "d_k", most_d, [1, most_d, 1]], scaled: ["check", "divide by √d_k", true],
      temperature: ["slide", "temperature", 1, [0.1, 4, 0.1]], opened: ["select", "open the score of", 0, places(names)],
    },
    draw, letters: 230,
  };
});

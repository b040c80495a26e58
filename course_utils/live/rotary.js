// Chapter 9: a query and a key whose pairs of numbers turn with their positions; each pair's share of the score.
import {figure, fixed, MARK, range, sum} from "./base.js";

const FIELD = 160, TOP = 40, BELOW = 24, FARTHEST = 40;
const QUERY = MARK, KEY = "#0072b2";

export default figure(({query, key, frequencies}) => {
  const pairs = frequencies.length, pairOf = (vector, k) => [vector[k], vector[k + pairs]];
  const turned = ([first, second], angle) => [first * Math.cos(angle) - second * Math.sin(angle), second * Math.cos(angle) + first * Math.sin(angle)];
  const longestArrow = Math.max(...range(pairs).flatMap(k => [Math.hypot(...pairOf(query, k)), Math.hypot(...pairOf(key, k))])) || 1;

  // An arrow from the middle of a field, and its letter behind the tip.
  function arrow(page, name, letter, [first, second], x, y, radius, colour) {
    const scale = radius / longestArrow, [dx, dy] = [first * scale, -second * scale], behind = 1 + 8 / (Math.hypot(dx, dy) || 1);
    page.arrow(name, [x, y], [x + dx, y + dy], {width: 2.5, colour});
    page.words(`${name} letter`, x + behind * dx, y + behind * dy, letter, {anchor: "middle", size: 11, bold: true});
  }

  function draw(page, {m, n}, at) {
    const queries = range(pairs).map(k => turned(pairOf(query, k), m * frequencies[k])), keys = range(pairs).map(k => turned(pairOf(key, k), n * frequencies[k]));
    const products = range(pairs).map(k => queries[k][0] * keys[k][0] + queries[k][1] * keys[k][1]), score = sum(products);
    const across = Math.max(1, Math.min(pairs, Math.floor(page.width / FIELD))), lines = Math.ceil(pairs / across), high = TOP + FIELD + BELOW, radius = FIELD / 2 - 14;
    range(pairs).forEach(k => {
      const x = k % across * FIELD + FIELD / 2, top = Math.floor(k / across) * high, y = top + TOP + FIELD / 2;
      page.heading(x, top, `pair ${k}`, `${fixed(frequencies[k], 3)} a position`, {anchor: "middle"});
      page.line(`circle ${k}`, `M${x - radius} ${y}a${radius} ${radius} 0 1 0 ${2 * radius} 0a${radius} ${radius} 0 1 0 ${-2 * radius} 0`, {colour: "#8a8f98", layer: 0});
      arrow(page, `query ${k}`, "q", queries[k], x, y, radius, QUERY);
      arrow(page, `key ${k}`, "k", keys[k], x, y, radius, KEY);
      page.words(`product ${k}`, x, top + TOP + FIELD + 10, `q · k = ${fixed(products[k])}`, {anchor: "middle"});
    });
    page.board("pairs", 0, 0, FIELD, high, lines, across, "pairs", (row, column) => ({pair: Math.min(row * across + column, pairs - 1)}));
    if (at) page.mark("pair mark", at.pair % across * FIELD + 2, Math.floor(at.pair / across) * high + 1, FIELD - 5, high - 4, "#111");
    page.words("score", 4, lines * high + 14, `score, the sum: ${fixed(score)}`, {bold: true});
    page.height = lines * high + 28;

    if (at) return `Pair ${at.pair}: the query is turned by ${fixed(m * frequencies[at.pair], 4)}, the key by ${fixed(n * frequencies[at.pair], 4)}; their product is ${fixed(products[at.pair], 4)}.`;
    return `Query at ${m}, key at ${n}: distance ${m - n}, score ${fixed(score, 4)}. Any other two positions at this distance give the same.`;
  }

  const slide = (label, first) => ["slide", label, first, [0, FARTHEST, 1]];
  return {controls: {m: slide("position of the query", 7), n: slide("position of the key", 3)}, draw, letters: 110};
});

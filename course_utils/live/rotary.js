// Message: both turn with their positions, so only the distance counts: move both on, and the score stays.
// Chapter 9: a query and a key whose pairs of numbers turn with their positions; each pair's share of the score.
import { BOLD, dot, FAINT, figure, fixed, MARK, MIDDLE, range, say, sum } from "./base.js";
import { arrow } from "./vectors.js";

const WIDEST = 160, LARGE = 230, TOP = 40, BELOW = 24, FARTHEST = 40;
const KEY = "#0072b2";

export default figure(({ query, key, frequencies }) => {
  const count = frequencies.length, pairs = (vector) => range(count).map((k) => [vector[k], vector[k + count]]);
  const turned = (vector, position) =>
    pairs(vector).map(([first, second], k) => {
      const [cos, sin] = [Math.cos(position * frequencies[k]), Math.sin(position * frequencies[k])];
      return [first * cos - second * sin, second * cos + first * sin];
    });
  const longest = Math.max(...[query, key].flatMap(pairs).map((pair) => Math.hypot(...pair))) || 1;

  // An arrow from the middle of a field, and its letter behind the tip.
  function lettered(page, name, letter, [first, second], x, y, colour, scale) {
    const [dx, dy] = [first * scale, -second * scale], behind = 1 + 8 / (Math.hypot(dx, dy) || 1);
    arrow(page, name, [x, y], [x + dx, y + dy], `stroke:${colour};stroke-width:2.5`);
    page.words(x + behind * dx, y + behind * dy, letter, MIDDLE + BOLD, null, name);
  }

  function draw(page, { m: ownM, n: ownN, shift }, at) {
    const [m, n] = [ownM + shift, ownN + shift],
      field = Math.min(count > 4 ? WIDEST : LARGE, Math.floor(page.width / Math.min(2, count)));
    const radius = field / 2 - 14, scale = radius / longest;
    const queries = turned(query, m),
      keys = turned(key, n),
      products = queries.map((pair, k) => dot(pair, keys[k])),
      score = sum(products);
    const across = Math.max(1, Math.min(count, Math.floor(page.width / field))),
      lines = Math.ceil(count / across),
      high = TOP + field + BELOW;
    products.forEach((product, k) => {
      const x = k % across * field + field / 2, top = Math.floor(k / across) * high, y = top + TOP + field / 2;
      page.words(x, top + 9, `pair ${k}`, MIDDLE + BOLD);
      page.words(x, top + 26, `${fixed(frequencies[k], 3)} a position`, MIDDLE);
      page.line(
        `M${x - radius} ${y}a${radius} ${radius} 0 1 0 ${2 * radius} 0a${radius} ${radius} 0 1 0 ${-2 * radius} 0`,
        `stroke:${FAINT}`,
        `circle ${k}`,
      );
      lettered(page, `query ${k}`, "q", queries[k], x, y, MARK, scale);
      lettered(page, `key ${k}`, "k", keys[k], x, y, KEY, scale);
      page.words(x, top + TOP + field + 10, say`q · k = ${product}`, MIDDLE);
    });
    page.board("pairs", 0, 0, field, high, lines, across, "pairs");
    page.words(4, lines * high + 14, say`score, the sum: ${score}`, BOLD);
    page.height = lines * high + 28;

    const pair = at ? at.row * across + at.column : count;
    if (pair >= count) {
      return `Query at ${m}, key at ${n}: distance ${m - n}, score ${
        fixed(score, 4)
      }. Any other two positions at this distance give the same.`;
    }
    page.light("pairs", at.row, at.column);
    return `Pair ${pair}: the query is turned by ${fixed(m * frequencies[pair], 4)}, the key by ${
      fixed(n * frequencies[pair], 4)
    }; their product is ${fixed(products[pair], 4)}.`;
  }

  const slide = (label, first) => ["slide", label, first, FARTHEST];
  return {
    controls: {
      m: slide("position of the query", 7),
      n: slide("position of the key", 3),
      shift: slide("both farther on by", 0),
    },
    draw,
    letters: 110,
  };
});

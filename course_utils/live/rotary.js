// Message: both turn with their positions, so only the distance counts: farther on, at the same distance, the same score.
// Chapter 9: a query and a key whose pairs of numbers turn with their positions, and the same two farther on.
import { BOLD, dot, FAINT, figure, fixed, MARK, MIDDLE, range, RIGHT, sum } from "./base.js";
import { arrow } from "./vectors.js";

const SMALLEST = 62, LARGEST = 160, TITLE = 18, NAMES = 42, BELOW = 22, SCORE = 92, FARTHEST = 40;

export default figure(({ query, key, frequencies }) => {
  const count = frequencies.length, pairs = (vector) => range(count).map((k) => [vector[k], vector[k + count]]);
  const turned = (vector, position) =>
    pairs(vector).map(([first, second], k) => {
      const [cos, sin] = [Math.cos(position * frequencies[k]), Math.sin(position * frequencies[k])];
      return [first * cos - second * sin, second * cos + first * sin];
    });
  const longest = Math.max(...[query, key].flatMap(pairs).map((pair) => Math.hypot(...pair))) || 1;

  // A circle with the two arrows in it and the angle between them.
  function circle(page, name, x, y, radius, both) {
    page.line(
      `M${x - radius} ${y}a${radius} ${radius} 0 1 0 ${2 * radius} 0a${radius} ${radius} 0 1 0 ${-2 * radius} 0`,
      `stroke:${FAINT}`,
      `circle ${name}`,
    );
    const angles = both.map(([a, b]) => Math.atan2(b, a)), part = radius * 0.4;
    const [from, to] = angles.map((angle) => `${x + part * Math.cos(angle)} ${y - part * Math.sin(angle)}`);
    const left = Math.sin(angles[1] - angles[0]) < 0 ? 1 : 0;
    page.line(
      `M${x} ${y}L${from}A${part} ${part} 0 0 ${left} ${to}Z`,
      `fill:${FAINT};stroke:none;opacity:.5`,
      `angle ${name}`,
    );
    both.forEach((pair, k) => {
      const [dx, dy] = [pair[0] / longest * radius, -pair[1] / longest * radius],
        behind = 1 + 8 / (Math.hypot(dx, dy) || 1);
      const letter = "qk"[k], key = `${letter} ${name}`;
      arrow(page, key, [x, y], [x + dx, y + dy], `stroke:${[MARK, RIGHT][k]};stroke-width:2.5`);
      page.words(x + behind * dx, y + behind * dy, letter, MIDDLE + BOLD, null, key);
    });
  }

  function draw(page, { m, n, shift }, at) {
    const room = page.width - SCORE, across = Math.min(count, Math.floor(room / SMALLEST));
    const field = Math.min(LARGEST, Math.floor(room / across)), lines = Math.ceil(count / across), wide = field > 120;
    const high = field + BELOW, tall = TITLE + lines * high, radius = field / 2 - 14;
    const scores = [0, shift].map((more, row) => {
      const [queries, keys] = [turned(query, m + more), turned(key, n + more)], top = NAMES + row * tall;
      const products = queries.map((pair, k) => dot(pair, keys[k])), score = sum(products);
      const title = row ? `both ${shift} farther on: ${m + more} and ${n + more}` : `query at ${m}, key at ${n}`;
      page.words(4, top + 8, title, BOLD, null, `title ${row}`);
      products.forEach((product, k) => {
        const x = (k % across + 0.5) * field, y = top + TITLE + Math.floor(k / across) * high + field / 2;
        if (!row && k < across) {
          page.words(x, 9, `pair ${k}`, MIDDLE + BOLD);
          page.words(x, 25, fixed(frequencies[k], 3) + (wide ? " a position" : ""), MIDDLE);
        }
        circle(page, `${row} ${k}`, x, y, radius, [queries[k], keys[k]]);
        page.words(
          x,
          y + field / 2 + 4,
          (wide ? "q · k = " : "") + fixed(product),
          MIDDLE,
          null,
          `product ${row} ${k}`,
        );
      });
      const x = across * field + SCORE / 2, y = top + tall / 2;
      page.words(x, y - 22, "score", MIDDLE);
      page.words(x, y, fixed(score), `${MIDDLE}${BOLD};font-size:22px`, null, `score ${row}`);
      return score;
    });
    page.words(across * field + SCORE / 2, NAMES + tall - 8, "=", `${MIDDLE}${BOLD};font-size:30px`);
    page.board("pairs", 0, NAMES, field, tall / lines, 2 * lines, across, "pairs");
    page.height = NAMES + 2 * tall;

    const pair = at ? at.row % lines * across + at.column : count;
    if (pair >= count) {
      return `Distance ${m - n} both times, so the score is ${fixed(scores[0], 4)} both times.`;
    }
    page.light("pairs", at.row, at.column);
    const [own, other] = [m, n].map((place) => fixed((place + (at.row < lines ? 0 : shift)) * frequencies[pair], 4));
    return `Pair ${pair}: the query is turned by ${own}, the key by ${other}; their product is ${
      fixed(dot(turned(query, m)[pair], turned(key, n)[pair]), 4)
    }.`;
  }

  const slide = (label, first) => ["slide", label, first, FARTHEST];
  return {
    controls: {
      m: slide("position of the query", 7),
      n: slide("position of the key", 3),
      shift: slide("both farther on by", 20),
    },
    draw,
    letters: 110,
  };
});

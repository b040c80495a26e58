// Message: both turn with their positions, so only the distance counts: moved on together, they give the same score.
// Chapter 9: a query and a key whose pairs of numbers turn with their positions, and the same two moved on together.
import { BOLD, FAINT, figure, fixed, MARK, MIDDLE, range, RIGHT, sum } from "./base.js";
import { arrow } from "./vectors.js";

const SMALLEST = 62, LARGEST = 160, TITLE = 18, NAMES = 42, BELOW = 22, SCORE = 92, FARTHEST = 40;

export default figure(({ query, key, frequencies }) => {
  const count = frequencies.length, vectors = [query, key];
  // Of each pair: how long its two arrows are, and where they point.
  const lengths = range(count).map((k) => vectors.map((vector) => Math.hypot(vector[k], vector[k + count])));
  const angles = (k, positions) =>
    vectors.map((vector, which) => Math.atan2(vector[k + count], vector[k]) + positions[which] * frequencies[k]);
  const product = (k, [own, other]) => lengths[k][0] * lengths[k][1] * Math.cos(own - other);
  const longest = Math.max(...lengths.flat()) || 1;

  // A circle with the two arrows in it and the angle between them.
  function circle(page, name, x, y, radius, lengths, angles) {
    const spot = (length, angle) => [x + length * Math.cos(angle), y - length * Math.sin(angle)], part = radius * 0.4;
    const [from, to] = angles.map((angle) => spot(part, angle).join(" ")),
      left = +(Math.sin(angles[1] - angles[0]) < 0);
    page.line(
      `M${x} ${y}L${from}A${part} ${part} 0 0 ${left} ${to}Z`,
      `fill:${FAINT};stroke:none;opacity:.5`,
      `angle ${name}`,
    );
    page.box(`circle ${name}`, x - radius, y - radius, 2 * radius, 2 * radius, `stroke:${FAINT};rx:${radius}px`, 2);
    angles.forEach((angle, which) => {
      const length = lengths[which] / longest * radius, letter = "qk"[which];
      arrow(page, letter + name, [x, y], spot(length, angle), `stroke:${[MARK, RIGHT][which]};stroke-width:2.5`);
      page.words(...spot(length + 8, angle), letter, MIDDLE + BOLD, letter + name);
    });
  }

  function draw(page, { m, n, shift }, at) {
    const room = page.width - SCORE, across = Math.min(count, Math.floor(room / SMALLEST));
    const field = Math.min(LARGEST, Math.floor(room / across)), lines = Math.ceil(count / across), wide = field > 120;
    const high = TITLE + field + BELOW, tall = lines * high, right = across * field + SCORE / 2;
    const scores = [0, shift].map((more, row) => {
      const positions = [m + more, n + more], top = NAMES + row * tall;
      const place = row ? `both moved by ${shift}: ${positions.join(" and ")}` : `query at ${m}, key at ${n}`;
      page.words(4, top + 8, place, BOLD, `place ${row}`);
      const products = range(count).map((k) => {
        const x = (k % across + 0.5) * field, y = top + TITLE + Math.floor(k / across) * high + field / 2;
        const name = ` ${row} ${k}`, now = angles(k, positions), value = product(k, now);
        if (!row && k < across) {
          page.words(x, 9, `pair ${k}`, MIDDLE + BOLD);
          page.words(x, 25, fixed(frequencies[k], 3) + (wide ? " rad per position" : ""), MIDDLE);
        }
        circle(page, name, x, y, field / 2 - 14, lengths[k], now);
        page.words(x, y + field / 2 + 4, (wide ? "q · k = " : "") + fixed(value), MIDDLE, name);
        return value;
      });
      page.words(right, top + tall / 2 - 22, "score", MIDDLE);
      page.words(right, top + tall / 2, fixed(sum(products)), `${MIDDLE}${BOLD};font-size:22px`, `score ${row}`);
      return sum(products);
    });
    page.words(right, NAMES + tall - 8, "=", `${MIDDLE}${BOLD};font-size:30px`);
    page.board("pairs", 0, NAMES, field, high, 2 * lines, across, "pairs");
    page.height = NAMES + 2 * tall;

    const pair = at ? at.row % lines * across + at.column : count;
    if (pair >= count) return `The distance is ${m - n} both times, so the score is ${fixed(scores[0], 4)} both times.`;
    page.light("pairs", at.row, at.column);
    const [own, other] = [m, n].map((place) => fixed((place + (at.row < lines ? 0 : shift)) * frequencies[pair], 4));
    return `Pair ${pair}: the query is turned by ${own}, the key by ${other}; their dot product is ${
      fixed(product(pair, angles(pair, [m, n])), 4)
    }.`;
  }

  const slide = (label, first) => ["slide", label, first, FARTHEST];
  return {
    controls: {
      m: slide("position of the query", 7),
      n: slide("position of the key", 3),
      shift: slide("move both by", 20),
    },
    draw,
    letters: 110,
  };
});

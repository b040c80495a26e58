// Message: the whole table of scores never exists; one tile of it does, and travels, and only little is kept of each row.
// Chapter 10: causal attention in tiles, with the largest score, the total and the output of each query so far.
import { BOLD, chunks, dot, END, figure, fixed, LEAK, limit, longest, MIDDLE, range, say, short, sum } from "./base.js";
import { arrow, reachOf, signedColour } from "./vectors.js";

const LARGEST = 52, HIGHEST = 420, NUMBERED = 32, NAMED = 13, TOP = 46, MEMORY = 178, BAR = 56;
const KEPT = "#0072b2", MADE = "#bf5600"; // in memory: numbers of rows, and scores
const NOTHING = { factor: 0, largest: -Infinity, total: 0, mixed: [] };

const list = ({ total, mixed }) => mixed.map((number) => fixed(number / total)).join(" ");

// What is kept of a query when the scores and values of one more tile are read.
function merged(before, scores, values, forgotten) {
  const largest = Math.max(before.largest, ...scores), shares = scores.map((score) => Math.exp(score - largest));
  const factor = forgotten && before.total ? 1 : Math.exp(before.largest - largest);
  return {
    factor,
    largest,
    total: factor * before.total + sum(shares),
    mixed: values[0].map((_, k) => factor * (before.mixed[k] || 0) + dot(shares, values.map((value) => value[k]))),
  };
}

export default figure(({ names, scores, values, size: atFirst }) => {
  const T = names.length, numbers = values[0].length, colour = signedColour(reachOf(scores));
  const tilesOf = (length) =>
    range(Math.ceil(T / length)).flatMap((row) => range(row + 1).map((column) => [row * length, column * length]));

  // What is kept of a row whose keys are read up to this one, a tile after the other.
  const rowRead = (row, end, length, forgotten) =>
    chunks(range(Math.min(row + 1, end)), length).reduce(
      (before, keys) => merged(before, keys.map((key) => scores[row][key]), keys.map((key) => values[key]), forgotten),
      NOTHING,
    );

  function draw(page, { tile, length, forgotten }, at) {
    const tiles = tilesOf(length), place = Math.min(tile, tiles.length) - 1, [top, start] = tiles[place];
    const end = Math.min(T, start + length), rows = range(T).slice(top, top + length), keys = range(end).slice(start);
    const isRead = (row, key) => row < top || rows.includes(row) && key < end;
    const isNow = (row, key) => rows.includes(row) && keys.includes(key);
    const kept = range(T).filter((row) => isRead(row, 0)).map((row) =>
      rowRead(row, row < top ? T : end, length, forgotten)
    );
    const wrong = kept.flatMap((now, row) =>
      (row < top || end > row) && list(now) !== list(rowRead(row, T, T)) ? [names[row]] : []
    );
    page.controls.tile.max = tiles.length;

    const narrow = page.width < 700, number = narrow ? 34 : 44, travel = narrow ? 18 : 40;
    const titles = ["old ×", "m", "ℓ", "o / ℓ"].slice(narrow ? T > 6 ? 3 : 1 : 0), kinds = titles.length + numbers - 1;
    const left = longest(names) + 8, wide = kinds * number + 6, room = page.width - (narrow ? 0 : MEMORY) - left;
    const cell = Math.floor(limit((room - travel - wide) / T, 8, Math.min(LARGEST, HIGHEST / T))), high = T * cell;
    const right = left + high + travel, below = TOP + top * cell, tall = rows.length * cell;

    // A tile is there, with its numbers. Of the others there is nothing: what was made is forgotten.
    page.heading(left, 0, "scores", "only one tile at a time");
    if (cell >= NAMED) page.column(left - 6, TOP, cell, names.map(short), rows);
    page.grid(
      "table",
      left,
      TOP,
      cell,
      cell,
      scores.map((line, row) => line.map((_, key) => key > row || isNow(row, key) ? undefined : 0)),
      {
        text: () => "",
        colour: (_, row, key) => isRead(row, key) ? [128, 128, 128, 0.16] : [128, 128, 128, 0.05],
        label: "scores and shares",
        press: (row, key) => {
          const pressed = tiles.findIndex(([y, x]) => row >= y && row < y + length && key >= x && key < x + length);
          if (pressed >= 0) page.change({ tile: pressed + 1 });
        },
      },
    );
    page.grid(
      "tile",
      left + start * cell,
      below,
      cell,
      cell,
      rows.map((row) => keys.map((key) => key > row ? undefined : scores[row][key])),
      { colour, text: (score) => cell < NUMBERED ? "" : fixed(score) },
    );
    page.mark("now", left + start * cell, below, keys.length * cell - 1, tall - 1);
    const middle = below + tall / 2;
    arrow(page, "travel", [left + end * cell + 3, middle], [right - 2, middle], `stroke:${MADE};stroke-width:3`);

    // What is kept of the rows at work, and what is left of those above: their outputs.
    page.heading(right, 0, "kept of a row", "");
    titles.forEach((title, k) =>
      title === "o / ℓ" // over all the columns of an output
        ? page.words(right + (k + numbers / 2) * number + 8, 26, title, MIDDLE)
        : page.words(right + (k + 1) * number, 26, title, END)
    );
    kept.forEach((now, row) => {
      const parts = [now.factor, now.largest, now.total].slice(4 - titles.length), y = TOP + (row + 0.5) * cell;
      const look = END + (row < top ? "" : BOLD) + (wrong.includes(names[row]) ? `;fill:rgb(${LEAK})` : "");
      if (row >= top) parts.forEach((part, k) => page.words(right + (k + 1) * number, y, fixed(part), look));
      now.mixed.forEach((part, k) =>
        page.words(right + (titles.length + k) * number, y, fixed(part / now.total), look)
      );
    });
    const m = titles.indexOf("m"); // the frame holds what the blue part of the bar counts
    if (m >= 0) {
      page.box("rows", right + m * number + 5, below, 2 * number, tall - 1, `stroke:${KEPT};stroke-width:2;rx:5px`, 2);
    }

    // What is there of numbers at this moment, as bars of one scale.
    const made = rows.length * keys.length, tallest = narrow ? 110 : high, size = tallest / (T * T + 2 * T);
    const x = narrow ? left : right + wide + 30,
      y = narrow ? TOP + high + 14 : 0,
      floor = y + TOP + tallest;
    page.heading(x, y, "memory", "scores, m and ℓ now");
    [["a plain layer", [[T * T, MADE]]], ["in tiles", [[made, MADE], [2 * rows.length, KEPT]]]].forEach(
      ([title, parts], side) => {
        const from = x + side * (BAR + 34) + 10;
        let count = 0;
        parts.forEach(([more, fill], k) => {
          count += more;
          page.box(`${title} ${k}`, from, floor - count * size, BAR, more * size, `fill:${fill}`);
        });
        page.words(from + BAR / 2, floor - count * size - 9, count, MIDDLE + BOLD, null, title);
        page.words(from + BAR / 2, floor + 10, title, MIDDLE);
      },
    );
    page.height = floor + 20;

    if (at) {
      page.light("table", at.row);
      page.light("table", undefined, at.column);
      const of = `Query "${names[at.row]}", key "${names[at.column]}": `, score = scores[at.row][at.column];
      if (at.column > at.row) return `${of}the future, so this score is never made.`;
      if (!isNow(at.row, at.column)) {
        return of + (isRead(at.row, at.column) ? "this score was made and forgotten." : "this score is not made yet.");
      }
      const { largest } = kept[at.row];
      return `${of}score ${fixed(score, 4)}, e^(${fixed(score)} − ${fixed(largest)}) = ${
        fixed(Math.exp(score - largest), 4)
      }.`;
    }
    const last = names[kept.length - 1], { factor } = kept.at(-1);
    return `Tile ${place + 1} of ${tiles.length}: ${made} ${
      made === 1 ? "score is" : "scores are"
    } there, and m and ℓ of ${rows.length} ${rows.length === 1 ? "row" : "rows"}; a plain layer keeps ${T * T} scores.${
      start ? say` What was kept of "${last}" counts ${factor} times.` : ""
    }${wrong.length ? ` Wrong outputs: "${wrong.join('", "')}".` : ""}`;
  }

  return {
    controls: {
      tile: ["slide", "tile", Math.ceil(tilesOf(atFirst).length * 0.75), tilesOf(1).length, 1],
      length: ["slide", "side of a tile", atFirst, T, 1],
      forgotten: ["check", "forget to rescale", false],
    },
    draw,
    letters: 220,
  };
});

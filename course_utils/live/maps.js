// What figures of maps share: maps of weights with names and sums, as large as fits, and what colours mean.
import {
  BOLD,
  chunks,
  END,
  fixed,
  flow,
  LEAK,
  LETTER,
  limit,
  longest,
  MASKED,
  MIDDLE,
  most,
  NAN,
  range,
  say,
  short,
  sum,
  weightColour,
} from "./base.js";

const LARGEST = 56; // a cell of a map
// Cell sizes from which names (else in the sentence), less steep names, numbers, and longer numbers are shown.
const NAMED = 14, STEEP = 24, NUMBERED = 30, FULL = 40;
const MANY = 16; // a map with more rows or columns is one image
const SUMS = 46, TITLE = 20; // room for row sums, and for the title above a map
const SCALE = [range(40).map((step) => step / 39)];
const AXES = ["query (attends)", "key (attended to)", "sum"];
export const WEIGHTS = [weightColour, "1  weight"];

export const SAID = 3; // keys that a sentence names
export function favourites(row, keys, name) {
  const best = range(row.length).filter((key) => fixed(row[key]) > 0).sort((a, b) => row[b] - row[a]).slice(0, SAID);
  return !best.length
    ? `query "${name}" ${sum(row) ? "has no weight above 0.00" : "attends to nothing"}`
    : `query "${name}" attends most to ${best.map((key) => say`"${keys[key]}" (${row[key]})`).join(", ")}`;
}

// Weights from 0, packed as Python's `maps.packed` does: five bits a letter, the first letters of a number carry 32 more.
export function unpacked({ shape, letters }) {
  const bits = (letter) => atob(`AAA${letter}`).charCodeAt(2) % 32; // of its place among the letters of base 64
  const flat = letters.match(/[^A-Za-f]*./g).map((number) =>
    [...number].reduce((before, letter) => before * 32 + bits(letter), 0) / 10000
  );
  return shape.slice(1).reduceRight((list, size) => chunks(list, size), flat);
}

/* Maps side by side, as large as fits right of x (or into `room`) and below y, and what their colours mean. Each has a
   row per query and a column per key. Returns the words on the weight pointed at. list: [{key, values: rows of
   numbers}], and, for one map or all: title. axes: what rows, columns and sums beside rows are. row: the picked one or
   -1, where names pick one. told: the values to say, if not those shown. colour, ...: of a grid. counts(row, column):
   whether a cell is in the row's sum; by default, if not hidden. For all: at: the row and column to light up. marks:
   [what a colour means, the colour]. scale: other colours, and the label of the end. spots: how many maps the height is
   for, so that hiding some does not change it. widest: the keys with the longest names to come; named: the queries with
   them. least: how many rows and columns there is room for. bold: the keys that stand out. */
export function maps(
  page,
  list,
  {
    names,
    keys = names,
    spots = list.length,
    widest = keys,
    named = names,
    x: fromLeft = 0,
    y: fromTop = 0,
    room = page.width - fromLeft,
    row,
    at,
    digits = 4,
    least = 0,
    bold = [],
    ...all
  },
) {
  const { axes: [, , sums] = AXES } = all;
  // a digit more where the numbers of a row, as they are printed, would not add up to its sum
  const adds = (line) => fixed(sum(line)) === fixed(sum(line.map((value) => +fixed(value))));
  const many = !list.every((own) => {
    const { values, hidden, counts = (...cell) => !hidden?.(...cell), axes: [, , sums] = AXES } = { ...all, ...own };
    return !sums || values.every((line, row) => adds(line.filter((_, column) => counts(row, column))));
  });

  const tagged = row !== undefined; // the picked row and what it reads most have names even where others have none
  // The cell size at which this many maps best fill a height, with room for names and axes on the left and on top.
  function fit(count, height) {
    for (let cell = LARGEST;; cell -= cell > 2 ? 1 : 0.25) {
      const [left, top, right] = cell < NAMED ? tagged ? [longest(named) + 26, 36, 8] : [20, 20, 8] : [
        longest(named) + 22,
        Math.ceil(longest(widest) * (cell < STEEP ? 1 : 0.87)) + 22,
        sums ? Math.max(SUMS, 8 + LETTER * sums.length) : 20,
      ];
      const wide = left + Math.max(least, keys.length) * cell + right,
        high = TITLE + top + Math.max(least, names.length) * cell + 8;
      const across = limit(Math.floor(room / wide), 1, count), tall = Math.ceil(count / across) * high;
      if (wide <= room && tall <= height || cell === 1) return { cell, across, left, top, wide, high, tall };
    }
  }

  const { tall } = fit(spots, page.width < 700 ? 4000 : Math.min(420, 590 - fromTop)); // a narrow screen scrolls anyway
  const { cell, across, ...size } = fit(list.length, tall);

  function map(
    {
      key,
      values,
      title = key,
      axes: [rows, columns, sums] = AXES,
      told = values,
      row: picked = row,
      ...look
    },
    spot,
  ) {
    const { colour = weightColour, hidden, counts = (...cell) => !hidden?.(...cell) } = look,
      shown = many && cell >= FULL ? 3 : 2,
      text = (...at) => cell < NUMBERED ? "" : look.text ? look.text(...at, shown) : fixed(at[0], shown);
    const x = fromLeft + spot % across * size.wide + size.left,
      y = fromTop + Math.floor(spot / across) * size.high + TITLE + size.top;
    const wide = cell * keys.length, high = cell * names.length, drawn = Math.max(names.length, keys.length) > MANY;
    page.words(x, y - size.top - TITLE / 2, title, BOLD);
    page.words(x + wide / 2, y - size.top + 6, columns, MIDDLE);
    if (high > LETTER * rows.length) page.words(x - size.left + 6, y + high / 2, rows, MIDDLE + ";rotate:-90deg");
    if (cell >= NAMED) {
      page.column(
        x - 5,
        y,
        cell,
        names.map(short),
        [picked, at?.row],
        row !== undefined && ((query) => page.change({ query: query === row ? -1 : query })),
      );
      keys.forEach((name, place) =>
        page.words(
          x + (place + 0.5) * cell + 2,
          y - 7,
          short(name),
          `;rotate:${cell < STEEP ? -90 : -60}deg${place === at?.column || bold.includes(place) ? BOLD : ""}`,
        )
      );
      if (sums) {
        page.column(
          x + wide + 6,
          y,
          cell,
          values.map((line, query) => fixed(sum(line.filter((_, place) => counts(query, place))))),
          [at?.row],
          null,
          "",
        );
        page.words(x + wide + 6, y - 7, sums);
      }
    }
    if (cell < NAMED && picked >= 0) {
      const best = most(values[picked]);
      page.words(x - 5, y + (picked + 0.5) * cell, short(names[picked]), END + BOLD, `asks ${key}`);
      page.words(x + (best + 0.5) * cell, y - 8, short(keys[best]), MIDDLE + BOLD, `read ${key}`);
    }
    if (drawn) {
      image(page, x, y, wide, high, values, (...cell) => hidden?.(...cell.slice(1)) ? MASKED : colour(...cell));
    }
    page.grid(key, x, y, cell, cell, values, { label: title, ...look, drawn, text });
    if (picked >= 0) page.pick(key, picked);
    if (!at) return "";
    page.light(key, at.row);
    page.light(key, undefined, at.column);
    if (at.part !== key || sums === undefined) return "";
    const whether = hidden?.(at.row, at.column) ? "masked, " : "", weight = fixed(told[at.row][at.column], digits);
    return `query "${names[at.row]}", key "${keys[at.column]}": ${whether}weight ${weight}`;
  }

  const said = list.map((own, spot) => map({ ...all, ...own }, spot)).join("");
  page.height = fromTop + tall;
  legend(page, fromLeft + 24, page.height + 4, list.map((own) => ({ ...all, ...own })), all);
  return said;
}

// What the colours in these maps mean, and only those that are in them.
function legend(
  page,
  left,
  y,
  list,
  { marks = [["leak", LEAK]], scale = list.some(({ colour }) => !colour) && WEIGHTS },
) {
  const seen = list.flatMap(({ values, hidden, colour }) =>
    values.flatMap((line, row) =>
      line.map((value, column) => hidden?.(row, column) ? MASKED : (colour || weightColour)(value, row, column))
    )
  );
  const place = flow(page.width, left - 24, 18);
  if (scale) {
    image(page, left, y, 120, 10, SCALE, scale[0]);
    page.words(left - 4, y + 5, "0", END);
    page.words(left + 124, y + 5, scale[1]);
    place(156 + LETTER * scale[1].length);
  }
  for (
    // of the cells with a colour, the most covered one
    const [name, like, colour = seen.filter((each) => `${each}`.startsWith(like)).sort().pop()] of [
      ["masked", MASKED],
      [
        "above 1",
        "",
        scale === WEIGHTS && list.some(({ values }) => Math.max(...values.flat()) > 1 + 1e-9) && weightColour(1.5),
      ],
      ["nan", NAN],
      ...marks,
    ]
  ) {
    if (!colour) continue;
    const spot = place(42 + LETTER * name.length);
    page.grid(name, spot.x, y + spot.y, 15, 11, [[0]], {
      colour: () => colour,
      text: () => "",
      hidden: () => colour === MASKED,
    });
    page.words(spot.x + 20, y + spot.y + 5, name);
  }
  page.height = y + (page.width < 460 ? 34 : 16);
}

const pixel = ([red, green, blue, cover = 1]) => [red, green, blue, 255 * cover];

// Rows of values as one image, a pixel each. colour(value, row, column).
export function image(page, x, y, wide, high, values, colour) {
  const part = page.part(`image ${x} ${y}`, 0, "image", `translate:${x}px ${y}px;image-rendering:pixelated`, {
    width: wide,
    height: high,
    preserveAspectRatio: "none",
  });
  if (part.values === values) return;
  part.values = values;
  const columns = values[0].length,
    canvas = Object.assign(document.createElement("canvas"), { width: columns, height: values.length }),
    context = canvas.getContext("2d");
  const pixels = values.flatMap((line, row) => line.flatMap((value, column) => pixel(colour(value, row, column))));
  context.putImageData(new ImageData(Uint8ClampedArray.from(pixels), columns), 0, 0);
  part.setAttribute("href", canvas.toDataURL());
}

export const LABELS = 58; // room for the numbers of layers, the first of them "layer 0" in bold
// The numbers of layers and heads, on the left and on top of a board that has a cell of this size for each head.
export function headLabels(page, left, top, wide, high, layers, heads, { layer, head }) {
  page.words(left - 6, top - 12, "head", END);
  range(heads).forEach((h) =>
    page.words(left + (h + 0.5) * wide, top - 12, wide < 18 && h % 2 ? "" : h, MIDDLE + (h === head ? BOLD : ""))
  );
  page.column(left - 6, top, high, range(layers).map((l) => l ? high < 18 && l % 5 ? "" : l : "layer 0"), [layer]);
}

// What figures of maps share: maps of weights with names and sums, as large as there is room for, and what colours mean.
import {BOLD, chunks, END, fixed, longest, make, MASKED, MIDDLE, range, say, short, sum, TURNED, weightColour} from "./base.js";

const LARGEST = 44;  // a cell of a map
const NAMED = 13, STEEP = 24, NUMBERED = 30;  // cells from these sizes on have names beside them (else the sentence names them), less steep ones, numbers
const MANY = 16;  // a map with more rows or columns is one image
const SUMS = 46, TITLE = 20;  // room for row sums, and for the title above a map
const SCALE = [range(40).map(step => step / 39)];
export const DEPENDS = yes => yes ? [8, 81, 156] : [247, 251, 255];
export const DEPENDENCIES = {title: "dependency matrix", axes: ["output of", "input of"], sums: false};

// What pointing at a cell of weights says.
export const reading = ({row, column}, weights, {names, keys = names, hidden = () => false, digits = 4}) =>
  `query "${names[row]}", key "${keys[column]}": ${hidden(row, column) ? "masked, " : ""}weight ${fixed(weights[row][column], digits)}`;

export const SAID = 3;  // keys that a sentence names
export function favourites(row, keys, name) {
  const best = range(row.length).sort((a, b) => row[b] - row[a]).slice(0, SAID);
  return `query "${name}" attends most to ${best.map(key => say`"${keys[key]}" (${row[key]})`).join(", ")}`;
}

// Weights from 0, packed as Python's `maps.packed` does: five bits a letter, the first letters of a number carry 32 more.
export function unpacked({shape, letters}) {
  const bits = letter => atob(`AAA${letter}`).charCodeAt(2) % 32;  // of its place among the letters of base 64
  const flat = letters.match(/[^A-Za-f]*./g).map(number => [...number].reduce((before, letter) => before * 32 + bits(letter), 0) / 10000);
  return shape.slice(1).reduceRight((list, size) => chunks(list, size), flat);
}

/* A map: a row per query, a column per key. values: rows of numbers. sums: whether each row's sum stands beside it.
   row: where names pick one, the picked one or -1. at: the row and the column to light up. colour, ...: of a grid. */
function map(page, key, x, y, {cell, left, top}, values, {names, keys, title = key, sums = true, row, at, axes = ["query (attends)", "key (attended to)"], ...look}) {
  const {colour = weightColour, hidden = () => false, text} = look;
  const wide = cell * keys.length, high = cell * names.length, drawn = Math.max(names.length, keys.length) > MANY;
  page.words(x, y - top - TITLE / 2, title, BOLD);
  page.words(x + wide / 2, y - top + 6, axes[1], MIDDLE);
  page.words(x - left + 6, y + high / 2, axes[0], MIDDLE + TURNED);
  if (cell >= NAMED) {
    page.column(x - 5, y, cell, names.map(short), [row, at?.row], row !== undefined && (query => page.change({query: query === row ? -1 : query})));
    keys.forEach((name, place) => page.words(x + (place + 0.5) * cell + 2, y - 7, short(name), `;rotate:${cell < STEEP ? -90 : -60}deg${place === at?.column ? BOLD : ""}`));
    if (sums) {
      const totals = values.map((line, query) => fixed(sum(line.filter((_, place) => !hidden(query, place)))));
      page.column(x + wide + 6, y, cell, totals, [at?.row], null, "");
      page.words(x + wide + 6, y - 7, "sum");
    }
  }
  if (drawn) image(page, x, y, wide, high, values, (value, query, place) => hidden(query, place) ? MASKED : colour(value));
  page.grid(key, x, y, cell, cell, values, {...look, drawn, label: title, text: cell < NUMBERED ? () => "" : text});
  if (row >= 0) page.pick(key, row);
  if (at) { page.light(key, at.row); page.light(key, undefined, at.column); }
}

/* Maps side by side, as large as there is room for right of x and below y, and what their colours mean. list: [{key,
   values, ...}]. spots: for how many maps the height is, that it stays the same when some are hidden. widest: keys with
   the longest names that may come. */
export function maps(page, list, {names, keys = names, spots = list.length, widest = keys, x = 0, y = 0, ...all}) {
  const place = (count, height) => fit(count, names, widest, page.width - x, height);
  const whole = place(spots, page.width < 700 ? 4000 : 420), tall = Math.ceil(spots / whole.across) * whole.high;  // a narrow screen scrolls anyway
  const layout = place(list.length, tall), {across, wide, high, left, top} = layout;
  list.forEach(({key, values, ...own}, spot) => map(page, key, x + spot % across * wide + left, y + Math.floor(spot / across) * high + TITLE + top, layout, values, {
    names, keys, ...all, ...own,
  }));
  page.height = y + tall;
  if (list.some(({colour}) => !colour)) scale(page, x + 24, page.height + 4);
}

// What colours of weights mean.
function scale(page, x, y) {
  image(page, x, y, 120, 10, SCALE, weightColour);
  page.words(x - 4, y + 5, "0", END);
  page.words(x + 124, y + 5, "1  weight");
  page.grid("masked", x + 186, y, 15, 11, [[0]], {hidden: () => true});
  page.words(x + 204, y + 5, "masked");
  page.height = y + 16;
}

// Rows of values as one image, a pixel each. colour(value, row, column).
export function image(page, x, y, wide, high, values, colour) {
  const rows = values.length, columns = values[0].length;
  const part = page.part(`image ${x} ${y}`, 0, "image", `translate:${x}px ${y}px;image-rendering:pixelated`, {width: wide, height: high, preserveAspectRatio: "none"});
  if (part.values === values) return;
  part.values = values;
  const canvas = make("canvas", {width: columns, height: rows}), context = canvas.getContext("2d");
  const pixels = values.flatMap((line, row) => line.flatMap((value, column) => [...colour(value, row, column), 255]));
  context.putImageData(new ImageData(Uint8ClampedArray.from(pixels), columns), 0, 0);
  part.setAttribute("href", canvas.toDataURL());
}

// How many maps stand side by side, and the size of a cell, so that they fill a width and a height as well as
// they can; with room for names and axis names on the left of a map and on top.
function fit(maps, names, keys, width, height) {
  for (let cell = LARGEST; ; cell -= cell > 2 ? 1 : 0.25) {
    const [left, top, right] = cell < NAMED ? [20, 20, 8] : [longest(names) + 22, Math.ceil(longest(keys) * (cell < STEEP ? 1 : 0.87)) + 22, SUMS];
    const wide = left + keys.length * cell + right, high = TITLE + top + names.length * cell + 8;
    const across = Math.min(maps, Math.floor(width / wide));
    if (across && Math.ceil(maps / across) * high <= height || cell === 1) return {cell, across: Math.max(across, 1), left, top, wide, high};
  }
}

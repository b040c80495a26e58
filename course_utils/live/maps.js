// What figures of maps share: maps of weights with names and sums, as large as there is room for, and what colours mean.
import {chunks, fixed, HATCH, longest, make, MASKED, range, short, sum, weightColour} from "./base.js";

const LARGEST = 44;  // a cell of a map
const NAMED = 13, STEEP = 24, NUMBERED = 30;  // cells from these sizes on have names beside them (else the sentence names them), less steep ones, numbers
const MANY = 16;  // a map with more rows or columns is one image
const SUMS = 46, TITLE = 20;  // room for row sums, and for the title above a map
export const DEPENDS = yes => yes ? [8, 81, 156] : [247, 251, 255];
export const DEPENDENCIES = {title: "dependency matrix", axes: ["output of", "input of"], sums: false};

export const SAID = 3;  // keys that a sentence names
export function favourites(row, keys, name) {
  const best = row.map((weight, key) => [weight, key]).sort((a, b) => b[0] - a[0]).slice(0, SAID);
  return `query "${name}" attends most to ${best.map(([weight, key]) => `"${keys[key]}" (${fixed(weight)})`).join(", ")}`;
}

// Weights from 0, packed as Python's `maps.packed` does: five bits a letter, the first letters of a number carry 32 more.
export function unpacked({shape, letters}) {
  let number = 0;
  const flat = [];
  for (const letter of letters) {
    const bits = atob(`AAA${letter}`).charCodeAt(2);  // the place of a letter among those of base 64
    number = number * 32 + bits % 32;
    if (bits < 32) { flat.push(number / 10000); number = 0; }
  }
  return shape.slice(1).reduceRight((list, size) => chunks(list, size), flat);
}

/* A map: a row per query, a column per key. values: rows of numbers. sums: whether each row's sum stands beside it.
   row: the picked one, or -1. press(row): by its name. at: the row and the column to light up. colour, ...: of a grid. */
function map(page, key, x, y, {cell, left, top}, values, {names, keys, title = key, sums = true, row = -1, at, axes = ["query (attends)", "key (attended to)"], ...look}) {
  const {colour = weightColour, hidden = () => false, text = fixed, press} = look, lit = at || {};
  const wide = cell * keys.length, high = cell * names.length, drawn = Math.max(names.length, keys.length) > MANY;
  page.words(`${key} title`, x, y - top - TITLE / 2, title, {bold: true});
  page.words(`${key} keys`, x + wide / 2, y - top + 6, axes[1], {anchor: "middle", size: 11});
  page.words(`${key} queries`, x - left + 6, y + high / 2, axes[0], {anchor: "middle", size: 11, turn: -90});
  if (cell >= NAMED) {
    page.column(`${key} query`, x - 5, y, cell, names.map(short), {size: 11, bold: [row, lit.row], press});
    keys.forEach((name, place) => page.words(`${key} key ${place}`, x + (place + 0.5) * cell + 2, y - 7, short(name), {
      size: 11, turn: cell < STEEP ? -90 : -60, bold: place === lit.column,
    }));
  }
  if (sums && cell >= NAMED) {
    const totals = values.map((line, query) => fixed(sum(line.filter((_, place) => !hidden(query, place)))));
    page.column(`${key} sum`, x + wide + 6, y, cell, totals, {anchor: "start", size: 11, bold: [lit.row]});
    page.words(`${key} sums`, x + wide + 6, y - 7, "sum", {size: 11});
  }
  if (drawn) image(page, key, x, y, cell, values, (value, query, place) => hidden(query, place) ? MASKED : colour(value));
  page.grid(key, x, y, cell, cell, values, {...look, drawn, label: title, text: cell < NUMBERED ? () => "" : text, size: cell < 34 ? 11 : 12});
  if (row >= 0) page.pick(key, row);
  if (at) { page.light(key, at.row); page.light(key, undefined, at.column); }
}

/* Maps side by side, as large as there is room for right of x and below y, and what their colours mean. list: [{key,
   values, ...}]. spots: for how many maps the height is, that it stays the same when some are hidden. widest: keys with
   the longest names that may come. */
export function maps(page, list, {names, keys = names, spots = list.length, widest = keys, x = 0, y = 0, ...all}) {
  const place = (count, height) => fit(count, names, widest, page.width - x, height);
  const whole = place(spots, page.width < 700 ? 4000 : 420), tall = Math.ceil(spots / whole.across) * whole.high;  // a narrow screen scrolls anyway
  const layout = list.length === spots ? whole : place(list.length, tall), {across, wide, high, left, top} = layout;
  list.forEach(({key, values, ...own}, spot) => map(page, key, x + spot % across * wide + left, y + Math.floor(spot / across) * high + TITLE + top, layout, values, {
    names, keys, ...all, ...own,
  }));
  page.height = y + tall;
  if (list.some(({colour}) => !colour)) scale(page, x + 24, page.height + 4);
}

// What colours of weights mean.
function scale(page, x, y) {
  range(40).forEach(step => page.box(`scale step ${step}`, x + step * 3, y, 3.5, 10, weightColour(step / 39)));
  page.words("scale 0", x - 4, y + 5, "0", {anchor: "end", size: 11});
  page.words("scale 1", x + 124, y + 5, "1  weight", {size: 11});
  page.box("scale masked", x + 186, y, 14, 10, MASKED);
  page.line("scale hatch", `M${x + 186} ${y + 10}L${x + 200} ${y}`, HATCH);
  page.words("scale word", x + 204, y + 5, "masked", {size: 11});
  page.height = y + 16;
}

// Rows of values as one image, a pixel each. colour(value, row, column).
export function image(page, key, x, y, cell, values, colour) {
  const rows = values.length, columns = values[0].length;
  const part = page.part(`${key} image`, 0, "image", {transform: `translate(${x}px,${y}px)`, imageRendering: "pixelated", pointerEvents: "none"}, {width: columns * cell, height: rows * cell, preserveAspectRatio: "none"});
  if (part.values === values) return;
  part.values = values;
  const canvas = make("canvas", {width: columns, height: rows}), context = canvas.getContext("2d");
  const pixels = context.createImageData(columns, rows);
  values.forEach((line, row) => line.forEach((value, column) => pixels.data.set([...colour(value, row, column), 255], 4 * (row * columns + column))));
  context.putImageData(pixels, 0, 0);
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

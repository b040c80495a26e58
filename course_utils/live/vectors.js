// What figures of single numbers share: bars, arrows, and colours for numbers of both signs.
import { FAINT, fixed, limit } from "./base.js";

const NUMBER = 52; // room for the number beside a bar

const PURPLE = [139, 92, 214];
export const GREEN = [0, 133, 119]; // on both of which black and white can be read

export const reachOf = (rows) => Math.max(...rows.flat().map(Math.abs));
// The end of a scale that stays while numbers change: it doubles only when a number leaves it.
export const ample = (first, now) => (first || 1) * 2 ** Math.max(0, Math.ceil(Math.log2(now / (first || 1))));
// The farther from 0, the more of the page's own colour a cell covers; palest: the least, beside 0.
export const signedColour = (reach, palest = 0) => (value) => [
  ...(value < 0 ? PURPLE : GREEN),
  limit(Math.abs(value) / (reach || 1), palest, 1).toFixed(3),
];

// Numbers in a column: a bar from 0, clipped to [low, reach], hollow if below 0, and the number. label, press: for the
// board on top.
export function bars(
  page,
  key,
  x,
  y,
  wide,
  high,
  values,
  { low = 0, reach = 1, colour = FAINT, digits, label, press } = {},
) {
  const place = (value) => x + (limit(value, low, reach) - low) / (reach - low || 1) * (wide - NUMBER), zero = place(0);
  values.forEach((value, row) => {
    page.box(
      `${key} ${row}`,
      Math.min(zero, place(value)),
      y + row * high + 4,
      Math.max(1, Math.abs(place(value) - zero)),
      high - 8,
      `fill:${typeof colour === "string" ? colour : `rgb(${colour(value, row)})`};stroke:currentColor;fill-opacity:${
        value < 0 ? 0 : 1
      }`,
    );
    // at the bar's own end: farther off, it would be read as the name of what stands there
    page.words(
      Math.max(zero, place(value)) + 5,
      y + (row + 0.5) * high,
      fixed(value, digits),
      "",
      `bar ${key} ${row}`,
    );
  });
  page.board(key, x, y, wide, high, values.length, 1, label, press);
  page.line(`M${zero} ${y}v${high * values.length}`);
}

export function arrow(page, key, [x, y], [toX, toY], look) {
  const wide = toX - x,
    high = toY - y,
    length = Math.hypot(wide, high),
    head = Math.min(7, length / 2),
    [u, v] = [wide / (length || 1), high / (length || 1)];
  const corner = (side) => `${toX - head * u + side * head * 0.5 * v} ${toY - head * v - side * head * 0.5 * u}`;
  page.line(`M${x} ${y}L${toX} ${toY}M${corner(1)}L${toX} ${toY}L${corner(-1)}`, look, key);
}

// What figures of single numbers share: bars, arrows, and colours for numbers of both signs.
import { between, colours, fixed, limit } from "./base.js";

const NUMBER = 52; // room for the number beside a bar

const PURPLE_ORANGE = colours("2d004b 542788 8073ac b2abd2 d8daeb f7f7f7 fee0b6 fdb863 e08214 b35806 7f3b08");

export const reachOf = (rows) => Math.max(...rows.flat().map(Math.abs));
export function signedColour(rows) {
  const reach = reachOf(rows) || 1;
  return (value) => between(PURPLE_ORANGE, (value / reach + 1) / 2);
}

// Numbers below each other: a bar from 0, which ends at low and reach, empty if below 0, and the number. label, press: of the board over them.
export function bars(
  page,
  key,
  x,
  y,
  wide,
  high,
  values,
  { low = 0, reach = 1, colour = () => [138, 143, 152], digits, label, press } = {},
) {
  const place = (value) => x + (limit(value, low, reach) - low) / (reach - low || 1) * (wide - NUMBER), zero = place(0);
  values.forEach((value, row) =>
    page.box(
      `${key} ${row}`,
      Math.min(zero, place(value)),
      y + row * high + 4,
      Math.max(1, Math.abs(place(value) - zero)),
      high - 8,
      `fill:rgb(${colour(value)});stroke:currentColor;fill-opacity:${value < 0 ? 0 : 1}`,
    )
  );
  page.column(x + wide - 6, y, high, values.map((value) => fixed(value, digits)));
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

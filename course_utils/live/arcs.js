// A sentence with an arc from the word that asks to each word that it reads: the thicker, the more weight. The words stand
// side by side where there is room, else below each other.
import { BOLD, END, FAINT, fixed, LETTER, limit, MARK, MIDDLE, sum } from "./base.js";

const THICK = 16, HIGH = 100, ROW = 26, GAP = 12, SEEN = 0.005, LARGE = 8.6, WIDEST = 760;
export const RIGHT = "#0072b2";

/* from: the place of the word that asks, or -1 for one that is not in the sentence, which is called `asker`. wanted: the
   keys that it should find, if that is known. press(place): by a word. Gives the height. */
export function arcs(page, { words, weights, from, asker, wanted, x = 0, y = 0, room = page.width, press = null }) {
  const large = sum(words.map((word) => word.length * LARGE + GAP)) <= room, letter = large ? LARGE : LETTER;
  const narrow = words.map((word) => word.length * letter + GAP), flat = sum(narrow) <= room;
  const more = flat ? limit((Math.min(room, WIDEST) - sum(narrow)) / words.length, 0, 30) : 0;
  const wide = narrow.map((each) => each + more), size = large ? ";font-size:15px" : "";
  const middle = (place) =>
    place < 0 ? flat ? sum(wide) / 2 : -ROW : flat ? sum(wide.slice(0, place)) + wide[place] / 2 : (place + 0.5) * ROW;
  const base = flat ? y + HIGH : x + HIGH, start = flat ? x : y + (from < 0 ? 1.5 * ROW : 0);
  const spot = (along, up) => flat ? `${start + along} ${base - up}` : `${base - up} ${start + along}`;
  weights.forEach((weight, key) => {
    const [a, b] = [middle(from), middle(key)],
      up = 18 + (HIGH - 34) * Math.min(1, Math.abs(b - a) / (flat ? 400 : 200));
    const good = !wanted || wanted[key];
    const way = key === from
      ? `M${spot(a - 7, 4)}C${spot(a - 16, 30)} ${spot(a + 16, 30)} ${spot(a + 7, 4)}`
      : `M${spot(a, 4)}C${spot(a, up * 1.3)} ${spot(b, up * 1.3)} ${spot(b, 4)}`;
    page.line(
      way,
      `stroke:${weight < SEEN ? FAINT : good ? RIGHT : MARK};stroke-width:${
        Math.max(1, weight * THICK)
      };stroke-linecap:round;opacity:${weight < SEEN ? 0.25 : 0.85}`,
      `arc ${key}`,
    );
    if (wanted?.[key]) target(key);
    const look = place(key) + size + (key === from ? BOLD : "");
    flat
      ? page.words(start + b, base + 14, words[key], look, press && (() => press(key)), `word ${key}`)
      : page.words(base + 10, start + b, words[key], look, press && (() => press(key)), `word ${key}`);
    flat
      ? page.words(start + b, base + 34, fixed(weight), MIDDLE, null, `weight ${key}`)
      : page.words(page.width - 12, start + b, fixed(weight), END, null, `weight ${key}`);
  });
  if (from < 0) page.words(flat ? x : base + 10, flat ? y + 8 : y + 12, asker, BOLD, null, "asker");
  return flat ? HIGH + 48 : start - y + words.length * ROW + 6;

  function place() {
    return flat ? MIDDLE : "";
  }
  // A frame around a word that should be found.
  function target(key) {
    const along = middle(key), half = wide[key] / 2 - 2;
    page.box(
      `target ${key}`,
      flat ? start + along - half : base + 4,
      flat ? base + 3 : start + along - ROW / 2 + 2,
      flat ? 2 * half : wide[key] + 4,
      22,
      `stroke:${RIGHT};stroke-width:2;stroke-dasharray:4 3;rx:5px`,
      2,
    );
  }
}

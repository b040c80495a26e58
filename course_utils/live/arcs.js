// A sentence with an arc from the word that asks to each word that it reads: the thicker, the more weight. The words stand
// side by side where there is room, else below each other.
import { BOLD, END, FAINT, fixed, LETTER, limit, MARK, MIDDLE, sum } from "./base.js";

const THICK = 16, HIGH = 100, ROW = 26, GAP = 12, SEEN = 0.005, LARGE = 8.6, WIDEST = 940;
export const RIGHT = "#0072b2";

/* lines: [{key, weights, colour, masked}], one or several heads; masked: of each key, whether it is hidden and has no arc. from: the place of the word that asks, or -1 for one that is not in
   the sentence, which is called `asker`. wanted: the keys that it should find, if that is known. press(place): by a word.
   Gives the height. */
export function arcs(page, { words, lines, from, asker, wanted, room = page.width, press = null }) {
  const large = sum(words.map((word) => word.length * LARGE + GAP)) <= room, letter = large ? LARGE : LETTER;
  const narrow = words.map((word) => word.length * letter + GAP), flat = sum(narrow) <= room;
  const more = flat ? limit((Math.min(room, WIDEST) - sum(narrow)) / words.length, 0, 64) : 0;
  const wide = narrow.map((each) => each + more), start = flat || from >= 0 ? 0 : 1.5 * ROW;
  const along = (place) =>
    start +
    (place < 0
      ? flat ? sum(wide) / 2 : -ROW
      : flat
      ? sum(wide.slice(0, place)) + wide[place] / 2
      : (place + 0.5) * ROW);
  const spot = (place, up) => flat ? `${place} ${HIGH - up}` : `${HIGH - up} ${place}`;
  const single = lines.length === 1;
  words.forEach((word, key) => {
    const b = along(key), good = !wanted || wanted[key], look = (flat ? MIDDLE : "") + (large ? ";font-size:15px" : "");
    lines.forEach(({ key: line, weights, colour = good ? RIGHT : MARK, from: start = from, masked }, place) => {
      if (masked?.[key]) return;
      const a = along(start), up = 1.3 * (18 + (HIGH - 34) * Math.min(1, Math.abs(b - a) / (flat ? 400 : 200)));
      const shift = 5 * (place - (lines.length - 1) / 2), weight = weights[key], faint = weight < SEEN;
      page.line(
        key === start
          ? `M${spot(a - 7 + shift, 4)}C${spot(a - 16, 30)} ${spot(a + 16, 30)} ${spot(a + 7 + shift, 4)}`
          : `M${spot(a + shift, 4)}C${spot(a, up)} ${spot(b, up)} ${spot(b + shift, 4)}`,
        `stroke:${faint ? FAINT : typeof colour === "function" ? colour(key) : colour};stroke-width:${
          Math.max(1, weight * THICK)
        };stroke-linecap:round;opacity:${faint ? 0.25 : 0.85}`,
        `arc ${line} ${key}`,
      );
      if (single) {
        const text = flat ? [b, HIGH + 34] : [page.width - 12, b];
        page.words(...text, fixed(weight), flat ? MIDDLE : END, null, `weight ${key}`);
      }
    });
    if (wanted?.[key]) { // a frame around a word that should be found
      const half = wide[key] / 2 - 2, frame = flat ? [b - half, HIGH + 3, 2 * half] : [HIGH + 4, b - 11, wide[key] + 4];
      page.box(`target ${key}`, ...frame, 22, `stroke:${RIGHT};stroke-width:2;stroke-dasharray:4 3;rx:5px`, 2);
    }
    const bold = key === from ? BOLD : "", place = flat ? [b, HIGH + 14] : [HIGH + 10, b];
    page.words(...place, word, look + bold, press && (() => press(key)), `word ${key}`);
  });
  if (from < 0) page.words(...(flat ? [0, 8] : [HIGH + 10, 12]), asker, BOLD, null, "asker");
  if (!single) {
    lines.forEach(({ key, colour }, place) => {
      page.line(`M0 ${10 + 18 * place}h24`, `stroke:${colour};stroke-width:5`, `${key} line`);
      page.words(30, 10 + 18 * place, key, BOLD, null, `${key} name`);
    });
  }
  return flat ? HIGH + 48 : start + words.length * ROW + 6;
}

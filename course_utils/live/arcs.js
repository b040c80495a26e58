// A sentence with an arc from the word that asks to each word that it reads: the thicker, the more weight. The words stand
// side by side where there is room, else below each other.
import {
  BOLD,
  END,
  FAINT,
  fixed,
  flow,
  found,
  leading,
  LETTER,
  limit,
  MARK,
  MIDDLE,
  RIGHT,
  SEEN,
  SMALL,
  sum,
} from "./base.js";

const THICK = 16, HIGH = 100, ROW = 26, GAP = 12, MUCH = 0.1, LARGE = 8.6, WIDEST = 940, LINE = 20, SEVERAL = 3;
const BAR = 40; // the height of the most weight

/* lines: [{key, weights, colour, masked, says}], one or several heads; masked: of each key, whether it is hidden and has
   no arc; says: what the head reads, if this is not to be found here. from: the place of the word that asks, or -1 for
   one outside the sentence, called `asker`. wanted: how much each key should get, if that is known: a pale arc, around
   what it gets; what gets too much is orange. twins: whether words like the one that asks stand out with it.
   press(place): a click on a word. On top, up to `spots` lines say who reads what; task: what stands before what is
   wanted, also: what is said after it. top: where all that begins. Returns the height. */
export function arcs(
  page,
  {
    words,
    lines,
    from,
    asker,
    wanted,
    spots = lines.length,
    twins,
    room = page.width,
    press,
    top = 0,
    task = "Puzzle",
    also = "",
  },
) {
  const large = sum(words.map((word) => word.length * LARGE + GAP)) <= room, letter = large ? LARGE : LETTER;
  const narrow = words.map((word) => word.length * letter + GAP), flat = sum(narrow) <= room;
  const more = flat ? limit((Math.min(room, WIDEST) - sum(narrow)) / words.length, 0, 64) : 0;
  const wide = narrow.map((each) => each + more), single = lines.length === 1;
  const abreast = room < 700 ? 1 : 2, head = top + LINE * Math.ceil(spots / abreast);
  const start = flat ? 0 : head + (from < 0 ? 1.5 * ROW : 0);
  const base = flat ? head + HIGH : HIGH; // where arcs begin
  const along = (place) =>
    start +
    (place < 0
      ? flat ? sum(wide) / 2 : -ROW
      : flat
      ? sum(wide.slice(0, place)) + wide[place] / 2
      : (place + 0.5) * ROW);
  const spot = (place, up) => flat ? `${place} ${base - up}` : `${base - up} ${place}`;
  const [{ weights: mine }] = lines, best = leading(mine);
  const spread = wanted && sum(wanted.map(Boolean)) > SEVERAL; // so many halos would hide each other: numbers instead
  const reach = spread && Math.max(...mine, ...wanted);
  const judged = (key) => {
    if (!wanted) return RIGHT;
    if (mine[key] > wanted[key] + MUCH) return MARK;
    return wanted[key] && !(spread && mine[key] < wanted[key] - MUCH) ? RIGHT : FAINT;
  };
  const told = lines.map(({ key, weights, colour, says, from: own = from }) => [
    says ||
    `${wanted ? "now: " : /\d/.test(key) ? `${key}: ` : ""}“${words[own] ?? asker}” reads ${found(words, weights)}`,
    ...wanted ? best.map(judged) : single ? [] : [colour], // of the words named
  ]);
  if (wanted) {
    const goal = `${task}: make “${words[from] ?? asker}” read ${found(words, wanted)}`;
    const fits = LETTER * (goal + also).length + 30 < room;
    told.unshift(
      [goal + (fits ? also : ""), `${RIGHT};${spread ? "stroke-dasharray:4 3" : "opacity:.4"}`],
      ...fits || !also ? [] : [[also.trim()]],
    );
    // the colour of what gets too much is told once
    if (best.some((key) => judged(key) !== MARK) && mine.some((_, key) => judged(key) === MARK)) {
      told.push(["too much", MARK]);
    }
  }
  const next = flow(room, 0, LINE);
  told.forEach(([says, ...looks], place) => {
    const { x, y } = next(wanted ? LARGE * says.length + 40 : room / abreast), wide = 24 / looks.length;
    looks.forEach((look, k) =>
      page.line(`M${x + k * wide} ${top + y + 10}h${wide}`, `stroke:${look};stroke-width:5`, `line ${place} ${k}`)
    );
    const look = BOLD + (LETTER * says.length + 30 > room ? SMALL : "");
    page.words(looks[0] ? x + 30 : x, top + y + 10, says, look, `told ${place}`);
  });
  const arc = (name, a, b, shift, look) => {
    const up = 1.3 * (18 + (HIGH - 34) * Math.min(1, Math.abs(b - a) / (flat ? 400 : 200)));
    page.line(
      a === b
        ? `M${spot(a - 7 + shift, 4)}C${spot(a - 16, 30)} ${spot(a + 16, 30)} ${spot(a + 7 + shift, 4)}`
        : `M${spot(a + shift, 4)}C${spot(a, up)} ${spot(b, up)} ${spot(b + shift, 4)}`,
      `stroke-linecap:round;${look}`,
      name,
    );
  };
  words.forEach((word, key) => {
    const b = along(key), look = (flat ? MIDDLE : "") + (large ? ";font-size:15px" : "");
    if (spread && flat) { // a bar of what the word gets, and a line at what it should get
      const floor = base + 46 + BAR, [gets, should] = [mine[key], wanted[key]].map((share) => share / reach * BAR);
      page.box(`gets ${key}`, b - 12, floor - gets, 24, gets, `fill:${judged(key)}`);
      page.line(
        `M${b - wide[key] / 2} ${floor - should}h${wide[key]}`,
        `stroke:${RIGHT};stroke-width:2;stroke-dasharray:4 3`,
        `should ${key}`,
      );
      if (wanted[key] !== wanted[key - 1]) {
        const [x, y] = wide[key] > 100 ? [b + wide[key] / 2, floor - should - 9] : [b, floor + 10];
        page.words(x, y, `wanted ${fixed(wanted[key])}`, MIDDLE, `wanted ${key}`);
      }
    }
    if (wanted?.[key] && !spread) { // a frame around a word that should be found, and the arc that should lead there
      const half = wide[key] / 2 - 2, frame = flat ? [b - half, base + 3, 2 * half] : [base + 4, b - 11, wide[key] + 4];
      page.box(`target ${key}`, ...frame, 22, `stroke:${RIGHT};stroke-width:2;stroke-dasharray:4 3;rx:5px`, 2);
      arc(
        `goal ${key}`,
        along(from),
        b,
        0,
        `stroke:${RIGHT};stroke-width:${Math.max(wanted[key], mine[key]) * THICK + 8};opacity:.3`,
      );
    }
    lines.forEach(
      ({ weights, colour = judged(key), from: own = from, masked }, place) => {
        const below = flat ? [b, base + 34] : [page.width - 12, b];
        if (masked?.[key] && single) {
          page.words(...below, key > own ? "" : "itself: hidden", flat ? MIDDLE : END, `weight ${key}`);
        }
        const weight = weights[key], faint = weight < SEEN;
        if (masked?.[key] || faint && !single) return;
        arc(
          `arc ${place} ${key}`,
          along(own),
          b,
          5 * (place - (lines.length - 1) / 2),
          `stroke:${faint ? FAINT : typeof colour === "function" ? colour(key) : colour};stroke-width:${
            Math.max(1, weight * THICK)
          };opacity:${faint ? 0.25 : 0.85}`,
        );
        const beside = spread && !flat ? ` (wanted ${fixed(wanted[key])})` : "";
        if (single) page.words(...below, fixed(weight) + beside, flat ? MIDDLE : END, `weight ${key}`);
      },
    );
    const bold = key === from || twins && word === words[from] ? BOLD : "",
      place = flat ? [b, base + 14] : [base + 10, b];
    page.words(...place, word, look + bold, `word ${key}`, press && (() => press(key)));
  });
  if (from < 0 && !flat) page.words(base + 10, along(-1), asker, BOLD, "asker");
  return flat ? base + (spread ? 66 + BAR : 48) : start + words.length * ROW + 6;
}

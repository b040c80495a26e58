// Chapter 10: one query's scores read tile by tile: the largest, the total and the output so far, merged or not.
import {figure, fixed, longest, range, short, sum, weightColour} from "./base.js";

const ROW = 22, TOP = 30, SCORE = 58, SHARE = 46;
const LINES = ["largest m", "factor", "total ℓ", "output o / ℓ"];
const NOTHING = numbers => ({largest: -Infinity, total: 0, mixed: range(numbers).map(() => 0)});

const list = numbers => numbers.map(number => fixed(number)).join(" ");
const output = ({total, mixed}) => mixed.map(number => number / total);

function piece(scores, values) {
  const largest = Math.max(...scores), shares = scores.map(score => Math.exp(score - largest));
  return {largest, total: sum(shares), mixed: values[0].map((_, k) => sum(shares.map((share, key) => share * values[key][k])))};
}

function merged(before, tile, forgotten) {
  const largest = Math.max(before.largest, tile.largest);
  const factors = [before, tile].map(each => forgotten ? 1 : Math.exp(each.largest - largest));
  const both = (a, b) => factors[0] * a + factors[1] * b;
  return {largest, factors, total: both(before.total, tile.total), mixed: before.mixed.map((number, k) => both(number, tile.mixed[k]))};
}

export default figure(({names, scores, values, size: atFirst}) => {
  const size = names.length, left = longest([...names, ...LINES]) + 10, whole = list(output(piece(scores, values)));
  const countOf = length => Math.ceil(size / length);

  function draw(page, {tile, length, forgotten}, at) {
    const count = countOf(length), last = Math.min(tile, count) - 1;
    const pieces = range(last + 1).map(place => [scores, values].map(all => all.slice(place * length, (place + 1) * length))).map(some => piece(...some));
    const before = pieces.slice(0, last).reduce((sofar, next) => merged(sofar, next, forgotten), NOTHING(values[0].length));
    const now = pieces[last], after = merged(before, now, forgotten);
    const unit = key => forgotten ? pieces[Math.floor(key / length)].largest : after.largest;

    [["score ω", left], ["share e^(ω − m)", left + SCORE]].forEach(([title, x]) => page.words(title, x, 9, title, {bold: true}));
    names.forEach((name, key) => {
      const y = TOP + ROW * key, middle = y + ROW / 2, seen = key < (last + 1) * length;
      page.words(`name ${key}`, left - 6, middle, short(name), {anchor: "end", bold: at?.row === key});
      page.words(`score ${key}`, left + SCORE - 14, middle, fixed(scores[key]), {anchor: "end"});
      const share = seen ? Math.exp(scores[key] - unit(key)) : 0;
      page.box(`bar ${key}`, left + SCORE, y + 4, share * (page.width - left - SCORE - SHARE), ROW - 8, weightColour(share), seen ? "currentColor" : "none");
      page.words(`share ${key}`, page.width - 4, middle, seen ? fixed(share) : "", {anchor: "end"});
    });
    page.mark("tile", 2, TOP + ROW * last * length, page.width - 5, ROW * (Math.min(size, (last + 1) * length) - last * length) - 1);
    page.board("keys", left, TOP, page.width - left, ROW, size, 1, "scores and shares", row => ({row}));
    if (at) page.mark("lit", 2, TOP + ROW * at.row, page.width - 5, ROW - 1, "#111");

    const top = TOP + ROW * size + 24, column = (page.width - left) / 3, x = place => left + place * column;
    ["before", "this tile", "after"].forEach((title, place) => page.words(title, x(place), top, title, {bold: true}));
    LINES.forEach((line, row) => page.words(line, left - 6, top + ROW * (row + 1), line, {anchor: "end"}));
    const tell = (place, texts) => texts.forEach((text, row) => page.words(`told ${place} ${row}`, x(place), top + ROW * (row + 1), text));
    tell(0, [last ? fixed(before.largest) : "−∞", fixed(after.factors[0]), fixed(before.total), last ? list(output(before)) : "none"]);
    tell(1, [fixed(now.largest), fixed(after.factors[1]), fixed(now.total), list(output(now))]);
    tell(2, [fixed(after.largest), "", fixed(after.total), list(output(after))]);
    page.words("whole", left - 6, top + ROW * 5, "whole row", {anchor: "end"});
    page.words("whole output", x(2), top + ROW * 5, whole);
    page.height = top + ROW * 5 + 14;

    if (at && at.row >= (last + 1) * length) return `Key "${names[at.row]}": score ${fixed(scores[at.row], 4)}, not read yet.`;
    if (at) return `Key "${names[at.row]}": score ${fixed(scores[at.row], 4)}, share e^(${fixed(scores[at.row])} − ${fixed(unit(at.row))}) = ${fixed(Math.exp(scores[at.row] - unit(at.row)), 4)}.`;
    const done = last + 1 < count ? "" : forgotten ? ` All keys are read, and the output is not that of the whole row, ${whole}.` : " All keys are read: this is the output of the whole row.";
    return `Tile ${last + 1} of ${count}: what was before counts ${fixed(after.factors[0])} times, the tile ${fixed(after.factors[1])} times.${done}`;
  }

  return {
    controls: {
      tile: ["slide", "tile", 1, [1, ({length}) => countOf(length), 1]], length: ["slide", "keys in a tile", atFirst, [1, size, 1]],
      forgotten: ["check", "forget to rescale", false],
    },
    draw, letters: 160,
  };
});

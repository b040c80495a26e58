// Chapter 10: one query's scores read tile by tile: the largest, the total and the output so far, merged or not.
import { BOLD, chunks, figure, fixed, longest, range, short, sum, weightColour } from "./base.js";
import { bars } from "./vectors.js";

const ROW = 22, TOP = 30, SCORE = 58;
const LINES = ["", "largest m", "factor", "total ℓ", "output o / ℓ", "whole row"];
const NOTHING = (numbers) => ({ largest: -Infinity, total: 0, mixed: range(numbers).map(() => 0) });

const list = (numbers) => numbers.map((number) => fixed(number)).join(" ");
const output = ({ total, mixed }) => mixed.map((number) => number / total);

function piece(scores, values) {
  const largest = Math.max(...scores), shares = scores.map((score) => Math.exp(score - largest));
  return {
    largest,
    total: sum(shares),
    mixed: values[0].map((_, k) => sum(shares.map((share, key) => share * values[key][k]))),
  };
}

function merged(before, tile, forgotten) {
  const largest = Math.max(before.largest, tile.largest);
  const factors = [before, tile].map((each) => forgotten ? 1 : Math.exp(each.largest - largest));
  const both = (a, b) => factors[0] * a + factors[1] * b;
  return {
    largest,
    factors,
    total: both(before.total, tile.total),
    mixed: before.mixed.map((number, k) => both(number, tile.mixed[k])),
  };
}

export default figure(({ names, scores, values, size: atFirst }) => {
  const size = names.length, left = longest([...names, ...LINES]) + 10, whole = list(output(piece(scores, values)));
  const countOf = (length) => Math.ceil(size / length);

  function draw(page, { tile, length, forgotten }, at) {
    const count = countOf(length), last = Math.min(tile, count) - 1, read = (last + 1) * length;
    const [tiles, theirs] = [scores, values].map((all) => chunks(all, length)),
      pieces = tiles.slice(0, last + 1).map((some, place) => piece(some, theirs[place]));
    const before = pieces.slice(0, last).reduce(
      (sofar, next) => merged(sofar, next, forgotten),
      NOTHING(values[0].length),
    );
    const now = pieces[last], after = merged(before, now, forgotten);
    page.controls.tile.max = count;
    const unit = (key) => forgotten ? pieces[Math.floor(key / length)].largest : after.largest;

    const shares = scores.slice(0, read).map((score, key) => Math.exp(score - unit(key)));
    page.words(left, 9, "score ω", BOLD);
    page.words(left + SCORE, 9, "e^(ω − m)", BOLD);
    page.column(left - 6, TOP, ROW, names.map(short), [at?.row]);
    page.column(left + SCORE - 14, TOP, ROW, scores.map((score) => fixed(score)));
    bars(page, "share", left + SCORE, TOP, page.width - left - SCORE, ROW, shares, { colour: weightColour });
    page.board("keys", 2, TOP, page.width - 4, ROW, size, 1, "scores and shares");
    page.mark("tile", 2, TOP + ROW * last * length, page.width - 5, ROW * (Math.min(size, read) - last * length) - 1);
    if (at) page.light("keys", at.row);

    const top = TOP + ROW * size + 13, column = (page.width - left) / 3;
    page.column(left - 6, top, ROW, LINES);
    [
      [
        "before",
        last ? fixed(before.largest) : "−∞",
        fixed(after.factors[0]),
        fixed(before.total),
        last ? list(output(before)) : "none",
      ],
      ["this tile", fixed(now.largest), fixed(after.factors[1]), fixed(now.total), list(output(now))],
      ["after", fixed(after.largest), "", fixed(after.total), list(output(after)), whole],
    ].forEach((texts, place) => page.column(left + place * column, top, ROW, texts, [0], null, ""));
    page.height = top + ROW * LINES.length;

    if (at && at.row >= read) return `Key "${names[at.row]}": score ${fixed(scores[at.row], 4)}, not read yet.`;
    if (at) {
      return `Key "${names[at.row]}": score ${fixed(scores[at.row], 4)}, e^(${fixed(scores[at.row])} − ${
        fixed(unit(at.row))
      }) = ${fixed(shares[at.row], 4)}.`;
    }
    const done = last + 1 < count
      ? ""
      : list(output(after)) !== whole
      ? ` All keys are read, and the output is not that of the whole row, ${whole}.`
      : " All keys are read: this is the output of the whole row.";
    return `Tile ${last + 1} of ${count}: what was before counts ${fixed(after.factors[0])} times, the tile ${
      fixed(after.factors[1])
    } times.${done}`;
  }

  return {
    controls: {
      tile: ["slide", "tile", 1, size, 1],
      length: ["slide", "keys in a tile", atFirst, size, 1],
      forgotten: ["check", "forget to rescale", false],
    },
    draw,
    letters: 160,
  };
});

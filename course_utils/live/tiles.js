// Message: a tile slides over the scores, and only three numbers are kept, which shrink when a larger score comes.
// Chapter 10: one query's scores read tile by tile: the largest, the total and the output so far, merged or not.
import { BOLD, chunks, END, figure, fixed, longest, MIDDLE, range, short, sum, weightColour } from "./base.js";
import { arrow, bars } from "./vectors.js";

const ROW = 22, TOP = 30, SCORE = 58, ARROW = 42;
const RIGHT = "#0072b2", KEY = "#8b5cd6";
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
  const size = names.length, left = longest(names) + 10, whole = list(output(piece(scores, values)));
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
    page.words(left + SCORE - 14, 9, "score ω", BOLD + END);
    page.words(left + SCORE, 9, "e^(ω − m)", BOLD);
    page.column(left - 6, TOP, ROW, names.map(short), [at?.row]);
    page.column(left + SCORE - 14, TOP, ROW, scores.map((score) => fixed(score)));
    bars(page, "share", left + SCORE, TOP, page.width - left - SCORE, ROW, shares, { colour: weightColour });
    page.board("keys", 2, TOP, page.width - 4, ROW, size, 1, "scores and shares");
    page.mark("tile", 2, TOP + ROW * last * length, page.width - 5, ROW * (Math.min(size, read) - last * length) - 1);
    if (at) page.light("keys", at.row);

    // Three numbers are kept, whatever the row's length: what was kept and what the tile gives run together into them.
    const top = TOP + ROW * size + 10, wide = (page.width - 2 * ARROW) / 3;
    [
      ["before", last ? before : null, RIGHT],
      ["after", after, "currentColor"],
      ["this tile", now, KEY],
    ].forEach(([title, part, colour], place) => {
      const x = place * (wide + ARROW) + 1;
      page.box(title, x, top, wide - 2, 5 * ROW + 4, `fill:none;stroke:${colour};stroke-width:2;rx:6px`, 2);
      const told = part
        ? [`m ${fixed(part.largest)}`, `ℓ ${fixed(part.total)}`, "o / ℓ", list(output(part))]
        : ["nothing"];
      page.column(x + 7, top + 2, ROW, [title, ...told], [0], null, "");
    });
    const y = top + 2.5 * ROW;
    [[wide + 2, wide + ARROW - 4], [page.width - wide - 2, page.width - wide - ARROW + 4]].forEach(
      ([from, to], side) => {
        const factor = after.factors[side];
        arrow(page, `flow ${side}`, [from, y], [to, y], `stroke:${side ? KEY : RIGHT};stroke-width:${1 + 7 * factor}`);
        page.words((from + to) / 2, y - 18, `× ${fixed(factor)}`, MIDDLE, null, `factor ${side}`);
      },
    );
    page.words(0, top + 5.7 * ROW, `whole row at once: ${whole}`);
    page.height = top + 6.2 * ROW;

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

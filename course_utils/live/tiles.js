// Message: a plain layer holds the whole table of scores at once; tiling holds one tile of it and two numbers a row.
// Chapter 10: causal attention in tiles, with the largest score, the total and the output of each query so far.
import { BOLD, chunks, dot, figure, fixed, LEAK, limit, longest, MIDDLE, range, short, sum } from "./base.js";
import { arrow, GREEN } from "./vectors.js";

const LARGEST = 52, HIGHEST = 420, NUMBERED = 30, NAMED = 13, TOP = 46, GAP = 30, WHOLE = 120;
const KEPT = [0, 124, 190, 0.75]; // in memory: numbers of rows; scores are green
const FORGOTTEN = [128, 128, 128, 0.35], TO_COME = [128, 128, 128, 0.1], NEVER = [128, 128, 128, 0]; // tiles not in memory
const LOOKS = [["forgotten", FORGOTTEN, 0], ["to come", TO_COME, 88], ["never computed", NEVER, 164]];
const NOTHING = { factor: 0, largest: -Infinity, total: 0, mixed: [] };

const list = ({ total, mixed }) => mixed.map((number) => fixed(number / total)).join(" ");

// What is kept of a query when the scores and values of one more tile are read.
function merged(before, scores, values, forgotten) {
  const largest = Math.max(before.largest, ...scores), shares = scores.map((score) => Math.exp(score - largest));
  const factor = forgotten && before.total ? 1 : Math.exp(before.largest - largest);
  return {
    factor,
    largest,
    total: factor * before.total + sum(shares),
    mixed: values[0].map((_, k) => factor * (before.mixed[k] || 0) + dot(shares, values.map((value) => value[k]))),
  };
}

export default figure(({ names, scores, values, size: atFirst }) => {
  const T = names.length, numbers = values[0].length;
  const tilesOf = (length) =>
    range(Math.ceil(T / length)).flatMap((row) => range(row + 1).map((column) => [row * length, column * length]));

  // What is kept of a row whose keys are read up to this one, a tile after the other.
  const rowRead = (row, end, length, forgotten) =>
    chunks(range(Math.min(row + 1, end)), length).reduce(
      (before, keys) => merged(before, keys.map((key) => scores[row][key]), keys.map((key) => values[key]), forgotten),
      NOTHING,
    );

  function draw(page, { tile, length, forgotten }, at) {
    const tiles = tilesOf(length), place = Math.min(tile, tiles.length) - 1, [top, start] = tiles[place];
    const end = Math.min(T, start + length), rows = range(T).slice(top, top + length), keys = range(end).slice(start);
    const numbersOf = Object.fromEntries(tiles.map((corner, number) => [corner, number]));
    const tileAt = (...cell) => numbersOf[cell.map((at) => at - at % length)] ?? -1;
    const isRead = (row, key) => row < top || rows.includes(row) && key < end;
    const kept = range(T).filter((row) => isRead(row, 0)).map((row) =>
      rowRead(row, row < top ? T : end, length, forgotten)
    );
    const wrong = kept.flatMap((now, row) =>
      (row < top || end > row) && list(now) !== list(rowRead(row, T, T)) ? [names[row]] : []
    );
    page.controls.tile.max = tiles.length;

    const narrow = page.width < 700, number = narrow ? 34 : 46, travel = narrow ? 18 : 40, much = T * T;
    const titles = narrow ? T > 6 ? ["output"] : ["max", "sum", "output"] : ["max m", "sum ℓ", "output"];
    const left = longest(names) + 8, kinds = titles.length + numbers - 1;
    const room = page.width - left - travel - kinds * number - 6, made = rows.length * keys.length;
    const cell = Math.floor(
      limit((narrow ? room : room - GAP) / T / (narrow ? 1 : 2), 8, Math.min(LARGEST, HIGHEST / T)),
    );
    // The same mask on both sides: what it hides is computed, too, and paler.
    const hidden = (row, key) => key > row, scored = { colour: () => [...GREEN, 0.75], masked: [...GREEN, 0.35] };
    const high = T * cell, own = narrow ? left : left + high + GAP, right = own + high + travel;
    const below = TOP + top * cell, tall = rows.length * cell, whole = narrow ? Math.floor(WHOLE / T) : cell;

    // Filled cells are in memory: every score of a plain layer; in tiles, one tile with its numbers and the kept sums.
    const from = narrow ? TOP + high + 32 : 0;
    page.heading(left, from, "a plain layer", `${much} scores, masked ones too`);
    page.grid("whole", left, from + TOP, whole, whole, scores, { ...scored, text: () => "", hidden });
    page.heading(own, 0, "in tiles", `${made} of ${much} ${narrow ? "" : "scores "}at once`);
    if (cell >= NAMED) page.column(left - 6, TOP, cell, names.map(short), rows);
    page.grid(
      "table",
      own,
      TOP,
      cell,
      cell,
      scores,
      {
        text: (_, row, key) =>
          row % length || key % length || cell < NAMED || tileAt(row, key) === place ? "" : tileAt(row, key) + 1 || "",
        colour: (_, row, key) => tileAt(row, key) < 0 ? NEVER : isRead(row, key) ? FORGOTTEN : TO_COME,
        label: "scores and shares",
        press: (row, key) => {
          if (tileAt(row, key) >= 0) page.change({ tile: tileAt(row, key) + 1 });
        },
      },
    );
    page.grid(
      "tile",
      own + start * cell,
      below,
      cell,
      cell,
      rows.map((row) => keys.map((key) => scores[row][key])),
      {
        ...scored,
        text: (score) => cell < NUMBERED ? "" : fixed(score),
        hidden: (row, key) => hidden(rows[row], keys[key]),
      },
    );
    page.mark("now", own + start * cell, below, keys.length * cell - 1, tall - 1);
    const middle = below + tall / 2;
    arrow(page, "travel", [own + end * cell + 3, middle], [right - 2, middle], "stroke-width:3");

    // What is kept of the rows at work, and what is left of those above: their outputs.
    page.heading(right, 0, "kept per row so far", "");
    titles.forEach((title, k) =>
      page.words(right + (k + (k === titles.length - 1 ? numbers : 1) / 2) * number, 26, title, MIDDLE) // over all of an output
    );
    const pair = ({ largest, total }) => [largest, total],
      before = rows.map((row) => rowRead(row, start, length, forgotten));
    const both = start && cell >= NUMBERED; // what was kept before this tile, above what is kept now
    if (titles.length > 1) {
      page.grid("kept", right, below, number, cell, kept.slice(top).map(pair), { colour: () => KEPT, text: () => "" });
      before.forEach((old, row) =>
        pair(kept[top + row]).forEach((now, k) => {
          const x = right + (k + 0.5) * number, y = below + (row + 0.5) * cell;
          if (both) page.words(x, y - 8, `${fixed(pair(old)[k])} →`, `${MIDDLE};font-size:11px`, `old ${row} ${k}`);
          page.words(x, y + (both ? 6 : 0), fixed(now), MIDDLE + BOLD, `kept ${row} ${k}`);
        })
      );
    }
    kept.forEach((now, row) => {
      const y = TOP + (row + 0.5) * cell, at = (k) => right + (titles.length - 0.5 + k) * number;
      const look = MIDDLE + (row < top ? "" : BOLD) + (wrong.includes(names[row]) ? `;fill:rgb(${LEAK})` : "");
      now.mixed.forEach((part, k) => page.words(at(k), y, fixed(part / now.total), look));
    });
    LOOKS.forEach(([says, look, offset], k) => {
      const x = offset + (narrow ? 0 : own), y = TOP + high + 6;
      page.box(`look ${k}`, x, y, 12, 12, `fill:rgb(${look});stroke:#808080`);
      page.words(x + 17, y + 6, says, "", `look ${k}`);
    });
    page.height = narrow ? from + TOP + T * whole + 8 : TOP + high + 30;
    if (!narrow) { // the sums of the last row, with their numbers
      const { factor, largest, total } = kept.at(-1), old = before.at(-1), more = fixed(total - factor * old.total);
      const shrinks = forgotten
        ? "1.00 (forgotten)"
        : `exp(${fixed(old.largest)} − ${fixed(largest)}) = ${fixed(factor, 3)}`;
      page.words(
        left,
        page.height + 4,
        start
          ? `“${short(names[kept.length - 1])}”: old sums × ${shrinks}; ℓ = ${fixed(factor, 3)} · ${
            fixed(old.total)
          } + ${more} = ${fixed(total)}`
          : "ℓ = Σ exp(score − m); output = Σ exp(score − m) · value / ℓ",
        "",
        "update",
      );
      page.height += 18;
    }

    if (at) {
      const { row, column } = at;
      page.light("table", row);
      page.light("table", undefined, column);
      const of = `Query "${names[row]}", key "${names[column]}": `, score = scores[row][column];
      if (column > row) return `${of}a future key, masked if its tile is computed at all.`;
      if (!(rows.includes(row) && keys.includes(column))) {
        return of +
          (isRead(row, column) ? "this score was computed and forgotten." : "this score has not been computed yet.");
      }
      const { largest } = kept[row];
      return `${of}score ${fixed(score, 4)}, e^(${fixed(score)} − ${fixed(largest)}) = ${
        fixed(Math.exp(score - largest), 4)
      }.`;
    }
    const last = names[kept.length - 1], { factor } = kept.at(-1);
    return `Tile ${
      place + 1
    } of ${tiles.length}: ${made} of ${much} scores in memory, plus m and ℓ for ${rows.length} of ${T} rows and ${kept.length} outputs; a plain layer keeps all scores.${
      start ? ` The sums kept for "${last}" are multiplied by ${fixed(factor, 3)}.` : ""
    }${wrong.length ? ` Wrong outputs: "${wrong.join('", "')}".` : ""}`;
  }

  return {
    controls: {
      tile: ["slide", "tile", Math.ceil(tilesOf(atFirst).length * 0.75), tilesOf(1).length, 1],
      length: ["slide", "side of a tile", atFirst, T, 1],
      forgotten: ["check", "forget to rescale", false],
    },
    draw,
    letters: 220,
  };
});

// Message: a query reads most from the words whose arrows point its way, and what it reads adds up to one vector.
// Chapter 1: one query, step by step: scores, weights, context vector; as numbers and as arrows.
import {
  BOLD,
  dot,
  END,
  exactly,
  FAINT,
  figure,
  fixed,
  flow,
  limit,
  longest,
  most,
  RIGHT,
  say,
  short,
  softmax,
  sum,
  transposed,
  weightColour,
} from "./base.js";
import { arcs } from "./arcs.js";
import { ample, arrow, bars, reachOf, signedColour } from "./vectors.js";

const CELL = 40, WIDE = 46, ROW = 27, TOP = 40, BARS = 190, NARROW = 66, ARROWS = 240;

export default figure(({ names, inputs: original }) => {
  const size = names.length, width = original[0].length;
  const largest = reachOf(original),
    reach = 2 * Math.max(1, largest),
    left = longest(names) + 10,
    tall = TOP + ROW * (size + 1) + 8;
  const longestOf = (vectors) => Math.max(...vectors.map((vector) => Math.hypot(...vector)));
  const scoresOf = (vectors, query) => vectors.map((key) => dot(vectors[query], key)),
    farthest = longestOf(original),
    highest = reachOf(original.map((_, query) => scoresOf(original, query)));

  function draw(page, { query, step, inputs }, at) {
    const scores = scoresOf(inputs, query), weights = softmax(scores);
    // All scales stay fixed while a number is dragged, and double when a value leaves them.
    const end = ample(highest, reachOf([scores])), colour = signedColour(ample(largest, reachOf(inputs)));
    const circle = ample(farthest, longestOf(inputs));
    const mixed = inputs.map((value, row) => value.map((number) => weights[row] * number)),
      context = transposed(mixed).map(sum);
    const press = (row) => page.change({ query: row });
    const lift = arcs(page, {
      words: names.map(short),
      lines: [{ key: "head", weights }],
      from: query,
      press,
    }) + 8;
    const first = width * CELL + 14, last = Math.max(width * WIDE + 14, ARROWS);
    const bar = limit((page.width - left - first - last) / 2, NARROW, BARS);
    const [numbers, score, place] = [first, 2 * bar, last].map(
        flow(page.width, left, tall),
      ).map(({ x, y }) => ({ x, y: y + lift })),
      after = score.x + bar;
    const block = ({ x, y }, title, below) => {
      page.heading(x, y, title, below);
      if (x === left) page.column(left - 6, y + TOP, ROW, names.map(short), [query], press);
    };
    block(numbers, "embedding", "drag a number");
    const edit = (row, column, by) =>
      page.change({
        inputs: inputs.with(
          row,
          inputs[row].with(column, +fixed(limit(inputs[row][column] + by / 5, -reach, reach))),
        ),
      });
    page.grid("input", left, lift + TOP, CELL, ROW, inputs, { colour, label: "embeddings", edit });
    page.pick("input", query);
    block(score, "score ω", "");
    bars(page, "score", score.x, score.y + TOP, bar, ROW, scores, {
      low: Math.min(...scores) < 0 ? -end : 0,
      reach: end,
      label: "scores",
      press,
    });
    if (step > 0) {
      page.heading(after, score.y, "weight α", "softmax");
      bars(page, "weight", after, score.y + TOP, bar, ROW, weights, { colour: weightColour, label: "weights", press });
      page.words(after, score.y + TOP + ROW * (size + 0.6), say`sum ${sum(weights)}`, BOLD);
    }
    if (step > 1) {
      const rows = [...mixed, context];
      block(place, "weight · embedding", "sum: z");
      page.words(place.x - 6, place.y + TOP + ROW * (size + 0.5), "z", BOLD + END);
      page.grid("mix", place.x, place.y + TOP, WIDE, ROW, rows, {
        colour,
        text: (value) => fixed(value, 3),
        label: "weight times value; context vector at the bottom",
      });
      page.pick("mix", size);
    }
    const best = most(scores), shown = at?.row < size ? at.row : best;
    if (step < 2) angles();
    page.height = place.y + ARROWS;
    if (!at) {
      return [
        say`Query "${names[query]}" scores highest with "${names[best]}", ${scores[best]}.`,
        say`Softmax turns that into a weight of ${weights[best]}.`,
        `The context vector is ${context.map((value) => fixed(value)).join(", ")}.`,
      ].slice(0, step + 1).concat(end > highest ? say`The score bars now end at ${end}.` : []).join(" ");
    }
    return tell(at);

    // Every arrow with its true length and its true angle to the query, which points to the right; and one shadow on it.
    // The field has room for arrows of the circle's radius, left of 0 only if one ends there.
    function angles() {
      const length = Math.hypot(...inputs[query]), along = scores.map((score) => length ? score / length : 0);
      const low = Math.min(...along) < -1e-9 ? -circle : 0;
      const scale = Math.min((ARROWS - 34) / (circle - low), (ARROWS - 96) / circle);
      const at = (a, b) => [place.x + 6 + (a - low) * scale, place.y + ARROWS - 44 - b * scale];
      const tips = inputs.map((vector, row) =>
        at(along[row], Math.sqrt(Math.max(0, dot(vector, vector) - along[row] ** 2)))
      );
      const origin = at(0, 0), foot = at(along[shown], 0);
      tips.forEach((tip, row) =>
        arrow(
          page,
          `arrow ${row}`,
          origin,
          tip,
          row === query ? `stroke:${RIGHT};stroke-width:3` : row === shown ? "stroke-width:2.5" : `stroke:${FAINT}`,
        )
      );
      page.line(`M${tips[shown].join(" ")}L${foot.join(" ")}`, "stroke-dasharray:4 3", "shadow");
      page.line(`M${origin[0]} ${foot[1] + 6}H${foot[0]}`, "stroke-width:4", "on query");
      page.heading(place.x, place.y, "as arrows", "true lengths and angles to the query");
      const shadow = [`projection of “${short(names[shown])}”: ${fixed(along[shown])}`];
      shadow.push(`× length of the query ${fixed(length)} = ${fixed(scores[shown])}`);
      page.column(place.x, place.y + ARROWS - 30, 15, shadow, [], null, "");
    }

    // Highlight the number under the pointer and the numbers it was made from.
    function tell({ part, row, column }) {
      const pair = `query "${names[query]}", key "${names[row]}": `, number = `number ${column + 1}`;
      if (part === "input") {
        page.light("mix", row, column);
        return exactly`${number} of "${names[row]}": ${inputs[row][column]}. Drag it, or press + and −.`;
      }
      if (part === "score") {
        page.light("input", row);
        page.light("input", query);
        return exactly`${pair}${inputs[query].map((q, k) => say`${q} · ${inputs[row][k]}`).join(" + ")} = ${
          scores[row]
        }.`;
      }
      if (part === "weight") {
        page.light("score");
        return exactly`${pair}score ${scores[row]}, weight ${weights[row]}.`;
      }
      if (row === size) {
        page.light("mix", undefined, column);
        return exactly`Context vector, ${number}: ${context[column]}, the sum of the column above.`;
      }
      page.light("input", row, column);
      page.light("weight", row);
      return exactly`Weight ${weights[row]} · ${inputs[row][column]} of "${names[row]}" = ${mixed[row][column]}.`;
    }
  }

  return {
    controls: {
      query: ["select", "query", Math.min(1, size - 1), names],
      step: ["radio", "show", 2, ["1 scores", "2 weights", "3 context vector"]],
    },
    more: { inputs: original },
    draw,
    letters: 240,
  };
});

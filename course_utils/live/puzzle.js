// Message: a head's numbers decide who finds whom. They are changed by hand until every sentence is read as the exercise
// asks, and the page says of them what `check` says.
import {
  BOLD,
  EMPTY,
  figure,
  flow,
  HEADS,
  LEAK,
  limit,
  longest,
  MARK,
  most,
  range,
  RIGHT,
  say,
  short,
  sum,
  transposed,
} from "./base.js";
import { coins, goalOf, headOf, judge, unfolded } from "./judge.js";
import { arcs } from "./arcs.js";
import { signedColour } from "./vectors.js";

const CELL = 38,
  ROW = 24,
  LOW = 17,
  FEW = 6,
  TITLE = 20,
  MOST = 100,
  SLIDER = 6,
  MOST_HEADS = 16,
  HEADS_FIRST = 4,
  THROWS = 20,
  PAUSE = 300;
const NAMES = { query: ["query"], table: ["embeddings"] }, MATRICES = ["W_query", "W_key", "W_value"];
const FIRST_SAID =
  "Change the numbers until every sentence is read as the exercise asks. Drag a number, type it, or press + and −.";
const plain = (value) => `${+value.toFixed(2)}`;

export default figure((data) => {
  const puzzle = unfolded(data), { kind, axes, words, sentence, goal: outputs } = puzzle, count = words.length;
  const simple = data.target; // the first page: one sentence, and one word to find
  const titles = NAMES[kind] ?? MATRICES, stack = kind === "stack", one = kind === "query";
  const places = puzzle.rows.length / count, judged = puzzle.groups.flat().concat(puzzle.first);
  let opening, tried, known, wrong, timer, last = {};

  const widths = (columns) => titles.map((_, m) => one ? 1 : m < 2 ? columns : outputs[0].length);
  const resized = (design, columns) =>
    widths(columns).map((wide, m) => axes.map((_, r) => range(wide).map((c) => design[m]?.[r]?.[c] ?? 0)));

  // A sentence as places in the table of words; words without numbers come separately.
  function read(text) {
    const all = text.trim().split(/\s+/).filter(Boolean).slice(0, places > 1 ? places : 12);
    const unknown = all.filter((word) => !words.includes(word));
    return {
      unknown,
      rows: all.filter((word) => words.includes(word)).map((word, at) => words.indexOf(word) + at % places * count),
    };
  }

  // The verdict on numbers: at once, and for many heads after a pause.
  function verdict(page, design) {
    const key = tried = JSON.stringify(design);
    opening ??= data.own && key; // the reader's numbers are judged at once
    if (key === known) return wrong;
    const now = () => [known, wrong] = [key, judge(puzzle, stack ? design : design[0])];
    if (!stack) return now()[1];
    clearTimeout(timer);
    timer = setTimeout(() => {
      now();
      page.change({});
    }, PAUSE);
  }

  function draw(page, state, at) {
    const { heads = 1, head = 0, alike, failing } = state;
    const columns = state.columns ?? data.columns, place = alike ? 0 : Math.min(head, heads - 1);
    if (state.design === last.design && state.picked === last.picked && state.number !== last.number) {
      put(state.picked, state.number); // it was typed
    }
    const { picked } = state;
    const design = state.design.map((matrices) => resized(matrices, columns));
    if (simple) design[0][0] = axes.map((_, k) => [state[`number${k}`]]);
    const asked = (matrices) => one ? [transposed(matrices[0])] : matrices;
    const mine = design[place] ?? design[0],
      all = stack ? range(heads).map((h) => design[alike ? 0 : h] ?? mine) : design;
    const found = simple ? null : verdict(page, all.map(asked));
    const { unknown, rows } = failing && wrong?.reading
      ? { unknown: [], rows: wrong.reading.rows }
      : read(state.sentence);
    const names = rows.map((row) => words[row % count]);
    page.height = 0;
    let bold = [];
    if (rows.length) {
      const it = names.lastIndexOf("it"), row = one ? 0 : Math.min(state.query, rows.length - 1);
      const { weights, context } = headOf(puzzle, asked(mine), rows),
        reading = judged.find((each) => String(each.words) === String(names));
      const rowsOf = (word) => puzzle.rows[rows[word]].flatMap((number, axis) => number ? [axis] : []);
      bold = [row, most(weights[row])].map(rowsOf); // the places of the numbers in which both words meet
      page.height = arcs(page, {
        words: names,
        lines: [{ key: "head", weights: weights[row] }],
        from: one ? it : row,
        asker: "your query",
        wanted: reading?.wanted[row],
        spots: 3,
        press: one ? null : (query) => page.change({ query }),
      });
      if (context) {
        const together = all.map((each) => headOf(puzzle, asked(each), rows)), goal = reading && goalOf(reading)[row];
        const received = stack ? [sum(together.map((each) => each.context[row][0]))] : context[row];
        const list = (values) => values.map(plain).join(", "), yes = goal && goal[0] > 0.5;
        const wanted = stack ? `${yes ? "above" : "below"} 0.5` : list(goal ?? []);
        const told = `${stack ? "together: " : ""}“${names[row]}” receives ${list(received)}`;
        page.words(0, page.height + 8, goal ? `${told}, wanted: ${wanted}` : told, BOLD, "receives");
        page.height += 20;
        if (stack && goal) throws(page, together, row, yes);
      }
      if (simple) return hunt(names, weights[0]);
    }
    matrices(page, mine, at, nudge, picked, bold);
    page.copied = data.python.split("{}")
      .reduce((left, right, m) =>
        left + literal(stack ? all.map((each) => each[m - 1]) : one ? asked(mine)[0][0] : mine[m - 1]) + right
      );
    const [m, r, c] = picked;
    page.controls.number.previousElementSibling.textContent = `${titles[m]}, ${axes[r]}${
      widths(columns)[m] > 1 ? `, ${c + 1}` : ""
    }`;
    state.number = mine[m][r]?.[c] ?? 0;
    last = { design: state.design, picked, number: state.number };
    if (unknown.length) return `There are no numbers for “${unknown[0]}”. Words with numbers: ${words.join(", ")}.`;
    if (found !== null && !failing && tried === opening) return FIRST_SAID;
    if (found === undefined) return "…";
    return found ? `✗ ${found.words}` : `✓ ${data.right}`;

    function put([m, r, c], value) {
      const next = state.design.map((matrices) => resized(matrices, columns));
      while (next.length <= place) next.push(structuredClone(next[0]));
      next[place][m][r][c] = +limit(value, -MOST, MOST).toFixed(2);
      state.design = next;
    }
    function nudge(m, r, c, by) {
      put([m, r, c], mine[m][r][c] + by);
      page.change({ picked: [m, r, c] });
    }
  }

  // Throws of dropout, a column each: which heads keep what the word reads, and whether they sum to what they should.
  function throws(page, heads, row, yes) {
    const kept = coins(puzzle.survive), x = 80, cell = limit(Math.floor((page.width - x) / THROWS), 10, 28);
    const outputs = heads.map(({ weights, value }) =>
      range(THROWS).map(() => 2 * sum(weights[row].map((weight, key) => kept() ? weight * value[key][0] : 0)))
    );
    const keeps = outputs.map((list, h) => list.map((value) => value > heads[h].context[row][0] / 2 - 0.01));
    const right = transposed(outputs).map((once) => sum(once) > 0.5 === yes), y = page.height + TITLE;
    const hits = sum(right), wanted = THROWS * puzzle.survive.need; // the goal replaces the arcs' own first line
    page.line("M0 10h24", `stroke:${hits < wanted ? MARK : RIGHT};stroke-width:5`, "line 0");
    page.words(30, 10, `half dropped: right ${hits} of ${THROWS} times, wanted: ${wanted}`, BOLD, "told 0");
    page.column(x - 6, y, LOW, [...heads.map((_, h) => `head ${h}`), yes ? "sum > 0.5" : "sum < 0.5"], [heads.length]);
    page.grid("throws", x, y, cell, LOW, [...keeps, right], {
      colour: (yes, h) => yes ? HEADS[0] : keeps[h] ? [...LEAK, 0.14] : HEADS[1],
      text: (yes, h) => yes ? keeps[h] ? "" : "✓" : "✕",
    });
    page.height = y + (heads.length + 1) * LOW + 8;
  }

  // The numbers, a board for each matrix. bold: the rows of the word that asks, and of the one that is read.
  function matrices(page, mine, at, nudge, picked, [asks, read]) {
    const left = longest(axes) + 10, few = axes.length <= FEW, tall = few ? ROW : LOW;
    const high = TITLE + axes.length * tall + 10;
    const place = flow(page.width, 0, high), top = page.height + 6;
    const cell = limit(Math.floor((page.width - left) / mine[0][0].length), 24, few ? CELL : 26);
    mine.forEach((matrix, m) => {
      const spot = place(left + matrix[0].length * cell + 10), x = spot.x + left, y = top + spot.y + TITLE;
      page.words(x, y - 9, titles[m], ";font-weight:bold");
      page.column(x - 6, y, tall, axes.map(short), one ? [] : m ? read : asks);
      page.grid(titles[m], x, y, cell, tall, matrix, {
        colour: (value) => value ? signedColour(4)(value) : EMPTY,
        text: (value) => value || matrix[0].length < 3 ? plain(value) : "·",
        label: titles[m],
        press: (r, c) => page.change({ picked: [m, r, c] }),
        edit: (r, c, by) => nudge(m, r, c, by),
      });
      if (picked[0] === m) page.pick(titles[m], picked[1], picked[2]);
      if (at?.part === titles[m]) page.light(titles[m], at.row, at.column);
      page.height = y + matrix.length * tall + 8;
    });
  }

  function hunt(names, weights) {
    const share = sum(weights.filter((_, key) => names[key] === simple)), best = weights.indexOf(Math.max(...weights));
    return share >= 0.9
      ? say`✓ Now “it” gives ${share} of its weight to “${simple}”. That is attention: a query scores every word, and the scores become shares.`
      : say`Now “it” gives ${weights[best]} of its weight to “${
        names[best]
      }”, and ${share} to “${simple}”. Drag the sliders until it finds “${simple}”.`;
  }

  const first = data.design, controls = {};
  if (simple) {
    axes.forEach((axis, k) => controls[`number${k}`] = ["slide", axis, first[0][k][0], SLIDER, -SLIDER, 0.1]);
  } else {
    controls.sentence = ["text", "sentence", sentence.join(" ")];
    if (stack) {
      controls.heads = ["slide", "heads", HEADS_FIRST, MOST_HEADS, 1];
      controls.alike = ["check", "all heads alike", true];
      controls.head = ["slide", "head", 0, MOST_HEADS - 1];
    }
    if (!one) controls.columns = ["slide", kind === "table" ? "numbers per word" : "columns", data.columns, 8, 1];
    controls.number = ["number", "", 0, MOST];
    controls.failing = ["check", "show the sentence from the reply", false];
  }
  return {
    controls,
    more: {
      design: [resized(first, data.columns)],
      picked: [0, Math.max(0, first[0].findIndex(([number]) => number)), 0],
      query: Math.max(0, sentence.length - 1),
      sentence: sentence.join(" "),
    },
    draw,
    letters: simple ? 150 : 330,
    copies: !simple,
  };
});

const literal = (value) =>
  Array.isArray(value) ? `[${value.map(literal).join(", ")}]` : Number.isInteger(value) ? `${value}.0` : `${value}`;

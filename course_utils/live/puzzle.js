// Message: a head's numbers decide who finds whom. They are changed by hand until every sentence is read as the exercise
// asks, and the page says of them what `check` says.
import {
  BOLD,
  EMPTY,
  END,
  figure,
  fixed,
  flow,
  HEADS,
  leading,
  LETTER,
  limit,
  longest,
  MIDDLE,
  most,
  range,
  say,
  short,
  sum,
  transposed,
} from "./base.js";
import { coins, goalOf, headOf, judge, unfolded } from "./judge.js";
import { arcs } from "./arcs.js";
import { ample, reachOf, signedColour } from "./vectors.js";

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
  PAUSE = 300,
  WIDER = 1.12, // than other letters, bold ones
  PALEST = 0.2, // so that no number looks like 0
  MOST_KEYS = 4,
  FEW_WORDS = 2; // that a query should read
const NAMES = { query: ["query"], table: ["embeddings"] },
  MATRICES = ["W_query", "W_key", "W_value"],
  DOES = ["asks", "answers", "gives"];
const HOW = "Drag a number, type it, or press + and −.";
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
    const { heads = 1, head = 0, alike, failing, whole = true } = state;
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
    // the same letter comes several times
    const called = words.every((word) => word.length < 4) ? names.map((name, k) => `${name} (${k})`) : names;
    page.height = 0;
    let bold = [], results = {}, scored = null;
    if (rows.length) {
      const it = names.lastIndexOf("it"), row = one ? 0 : Math.min(state.query, rows.length - 1);
      const shown = headOf(puzzle, asked(mine), rows),
        { weights, context, sees } = shown,
        reading = judged.find((each) => String(each.words) === String(names));
      const wanted = reading?.wanted[row], aims = wanted ? leading(wanted) : [];
      if (!one) { // the word that should be read, unless there are too many
        bold = [row, aims.length && aims.length <= FEW_WORDS ? aims[0] : most(weights[row])].map((word) => [
          called[word],
          puzzle.rows[rows[word]], // its features
        ]);
      }
      const goal = reading && goalOf(reading)?.[row];
      const receives = `“${called[row]}” receives${!stack ? "" : alike ? " from each head" : ` from head ${place}`}`;
      if (context) results = { [receives]: context[row], ...goal && !stack && { wanted: goal } };
      const gifts = (data.outputs ?? []).flatMap((name, k) => goal?.[k] ? [`${plain(goal[k])} (${name})`] : []);
      if (stack && goal) throws(page, all.map((each) => headOf(puzzle, asked(each), rows)), row, goal[0] > 0.5);
      if (whole) {
        page.height = arcs(page, {
          words: called,
          lines: [{ key: "head", weights: weights[row], masked: names.map((_, key) => !sees(row, key)) }],
          top: page.height,
          task: stack ? "in each head" : "Puzzle",
          from: one ? it : row,
          asker: "your query",
          wanted,
          also: gifts.length ? ` and receive ${gifts.join(", ")}` : "",
          spots: 4,
          press: one ? null : (query) => page.change({ query }),
        });
      }
      if (simple) return hunt(names, weights[0]);
      const counts = (key) => leading(weights[row]).includes(key) || wanted?.[key];
      if (whole) {
        scored = {
          ...shown,
          row,
          names: called,
          told: range(rows.length).filter((key) => sees(row, key) && counts(key)),
        };
      }
    }
    const owner = !stack ? "" : alike ? " of each head" : ` of head ${place}`;
    const boards = matrices(page, mine, at, nudge, picked, bold, results, whole ? 0 : 2, owner);
    if (scored) scoring(page, boards, scored);
    page.idle = [...whole ? [] : ["columns"], ...alike ? ["head"] : []]; // they would change nothing that is seen
    page.copied = data.python.split("{}")
      .reduce((left, right, m) =>
        left + literal(stack ? all.map((each) => each[m - 1]) : one ? asked(mine)[0][0] : mine[m - 1]) + right
      );
    const [m, r, c] = picked;
    page.controls.number.previousElementSibling.textContent = `${titles[m]}, ${axes[r]}${
      widths(columns)[m] > 1 ? `, column ${c}` : ""
    }`;
    state.number = mine[m][r]?.[c] ?? 0;
    last = { design: state.design, picked, number: state.number };
    if (unknown.length) return `There are no numbers for “${unknown[0]}”. Words with numbers: ${words.join(", ")}.`;
    if (found !== null && !failing && tried === opening) {
      return `Change the numbers${
        stack
          ? `, or how many heads there are, until at least ${puzzle.survive.need} of letters that have occurred are judged right, and as many of the others; here you see one letter with ${THROWS} dropout masks`
          : " until every sentence is read as the exercise asks; here you see one example"
      }. ${HOW}`;
    }
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

  // Throws of dropout, a column each: what each head gives then, and whether the sum is what it should be.
  function throws(page, heads, row, yes) {
    const kept = coins(puzzle.survive), x = 84, cell = limit(Math.floor((page.width - x - 6) / THROWS), 10, 46);
    const outputs = heads.map(({ weights, value }) =>
      range(THROWS).map(() => 2 * sum(weights[row].map((weight, key) => kept() ? weight * value[key][0] : 0)))
    );
    const gives = heads.map(({ context }) => context[row][0]), high = heads.length > FEW ? LOW : ROW, y = 50;
    const right = transposed(outputs).map((once) => sum(once) > 0.5 === yes), hits = sum(right);
    const wanted = THROWS * puzzle.survive.need, goal = `sum ${yes ? ">" : "<"} 0.5`, low = y + heads.length * high + 4;
    page.words(
      0,
      10,
      `Puzzle: ${goal} in ${wanted} of ${THROWS}, now ${hits} ${hits < wanted ? "✗" : "✓"}`,
      BOLD,
      "hits",
    );
    page.words(0, 32, `${THROWS} dropout masks, one per column; kept weights double`);
    page.column(x, y, high, heads.map((_, h) => `head ${h}`));
    const keeps = (value, h) => value > gives[h] / 2 - 0.01;
    page.grid("throws", x + 6, y, cell, high, outputs, {
      colour: (value, h) => keeps(value, h) ? HEADS[0] : EMPTY,
      text: (value, h) => !keeps(value, h) ? "0" : cell > 24 ? plain(value) : "",
    });
    const sums = cell > 24 ? ["sum"] : []; // where a number has room
    page.column(x, low, high, [...sums, `${sums.length ? "" : "sum "}${yes ? ">" : "<"} 0.5`], [0, 1]);
    sums.forEach((key) =>
      page.grid(key, x + 6, low, cell, high, [transposed(outputs).map(sum)], { colour: () => EMPTY, text: plain })
    );
    page.grid("right", x + 6, low + sums.length * high, cell, high, [right], {
      colour: (yes) => HEADS[+!yes],
      text: (yes) => yes ? "✓" : "✕",
    });
    page.height = low + (1 + sums.length) * high + 14;
  }

  // The numbers, a board for each matrix. bold: the word that asks and the one that is read, each with its rows. results:
  // numbers below what is passed on.
  function matrices(page, mine, at, nudge, picked, bold, results, from, owner) {
    const whole = longest(axes) * WIDER + 10,
      ends = axes.map((axis) => axis.split(" ").pop()),
      few = axes.length <= FEW,
      tall = few ? ROW : LOW;
    const high = TITLE + axes.length * tall + (mine[1] ? 34 : 10);
    const place = flow(page.width, 0, high), top = page.height + 6;
    const shade = signedColour(ample(4, reachOf(mine.flat())), PALEST);
    const colour = (value) => value ? shade(value) : EMPTY;
    let under = 0; // the width that is free below W_query and W_key, beside W_value
    const cell = limit(Math.floor((page.width - whole) / mine[0][0].length), 24, few ? CELL : 26);
    mine.forEach((matrix, m) => {
      if (m < from) return;
      const left = m === from ? whole : longest(ends) * WIDER + 14; // the first says "position 4", the next ones "4"
      const [word, features] = bold[+(m > 0)] ?? [], rows = features && range(axes.length).filter((r) => features[r]);
      const names = (m === from ? axes : ends).map((axis, r) =>
        features?.[r] && features[r] !== 1 ? `${axis} ${features[r]}` : axis
      );
      const wide = matrix[0].length * cell;
      const title = titles[m] + owner + (mine[1] && word ? `: “${word}” ${DOES[m]}` : "");
      const spot = place(left + Math.max(wide, LETTER * title.length) + 10),
        x = spot.x + left,
        y = top + spot.y + TITLE;
      if (m > 1 && !spot.y) under = spot.x;
      page.words(x, y - 12, title, BOLD, `title ${m}`);
      if (word && mine[1] && m < 2) {
        page.words(x, y + axes.length * tall + 9, `bold: features of “${word}”`, "", `bold ${m}`);
      }
      page.column(x - 6, y, tall, names.map(short), rows);
      page.grid(titles[m], x, y, cell, tall, matrix, {
        colour,
        text: (value) => value || !mine[1] ? plain(value) : "",
        label: titles[m],
        press: (r, c) => page.change({ picked: [m, r, c] }),
        edit: (r, c, by) => nudge(m, r, c, by),
      });
      if (picked[0] === m) page.pick(titles[m], picked[1], picked[2]);
      if (at?.part === titles[m]) page.light(titles[m], at.row, at.column);
      page.height = y + matrix.length * tall + 8;
      Object.keys(m < 2 ? {} : results).forEach((name) => {
        page.grid(name, x, page.height, cell, tall, [results[name]], { colour, text: plain });
        page.words(x + wide + 6, page.height + tall / 2, name, BOLD, name);
        page.height += tall;
      });
      const named = m === 2 && data.outputs ? data.outputs : [];
      named.forEach((name, c) => page.words(x + (c + 0.5) * cell, page.height + 8, name, MIDDLE, `output ${c}`));
      if (named.length) page.height += 16;
    });
    return { next: place, top, low: page.height, tall, under, colour };
  }

  // How the scores of the words that matter come about: the query beside their keys, the products and the weights.
  function scoring(
    page,
    { next, top, low, tall, under, colour },
    { queries, keys, scores, weights, root, row, names, told },
  ) {
    const seen = told.slice(0, page.width < 460 ? MOST_KEYS : 2 * MOST_KEYS), columns = seen.map((key) => names[key]);
    const vectors = seen.map((key) => keys[key]);
    if (!one) [columns, vectors].forEach((list, k) => list.unshift(["query", queries[row]][k]));
    const wide = 58, ended = one ? 0 : wide;
    const left = one ? 0 : 30, needs = left + columns.length * wide, spot = next(needs), x = spot.x + left;
    const y = TITLE + (spot.x || needs < under ? top + spot.y : low + 6);
    columns.forEach((name, c) => page.words(x + (c + 0.5) * wide, y - 12, short(name), BOLD + MIDDLE, `key ${c}`));
    page.grid("keys", x, y, wide, tall, transposed(vectors), {
      colour,
      text: plain,
    });
    const rows = [["q · k", (key) => scores[row][key] * root], [`÷ ${plain(root)}`, (key) => scores[row][key]], [
      "weight",
      (key) => weights[row][key],
    ]].filter((_, line) => root > 1 || line !== 1);
    rows.forEach(([name, value], line) => {
      const below = y + vectors[0].length * tall + 10 + 17 * line;
      page.words(x + ended - (one ? 8 : wide / 2), below, name, one ? END : MIDDLE, `scoring ${line}`);
      seen.forEach((key, c) =>
        page.words(
          x + ended + (c + 0.5) * wide,
          below,
          name === "weight" ? fixed(value(key)) : plain(value(key)),
          MIDDLE + BOLD,
          `scoring ${line} ${c}`,
        )
      );
      page.height = Math.max(page.height, below + 12);
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
      controls.whole = ["check", "show who reads whom", !data.own];
    }
    if (!one) controls.columns = ["slide", kind === "table" ? "numbers per word" : "columns", data.columns, 8, 1];
    controls.number = ["number", "", 0, MOST];
    controls.failing = ["check", "show the sentence from the reply", false];
  }
  return {
    controls,
    more: {
      design: [resized(first, data.columns)],
      picked: stack ? [2, 2, 0] : [0, Math.max(0, first[0].findIndex(([number]) => number)), 0],
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

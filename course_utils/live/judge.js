// Judges puzzles on the page, with the verdicts and words of exercises/puzzles.py and of chapter 4's `survives`; tests
// compare them. A reading is a sentence with how it should be read; a head is what the learner's numbers do with it.
import { dot, fixed, most, range, softmax, sum, transposed } from "./base.js";

const MISPLACED = 0.1, CLEARLY = 0.105, FARTHER = [3, 10, 30];
const product = (a, b) => a.map((row) => transposed(b).map((column) => dot(row, column)));
const near = (value) => Math.round(value * 1e9) / 1e9 + 0; // so that a last bit decides nothing, and no -0
const told = (value, digits) => fixed(near(value), digits);
const first = (values) => most(values.map(near));
const times = (matrix, change) => matrix.map((row) => row.map(change));

// --- readings and heads -----------------------------------------------------------------------------------------------

// Unpacks compact numbers into objects: `rows` index the table of words, `sets` say whom each row should find.
export function unfolded(puzzle) {
  const count = puzzle.words.length;
  const reading = ([rows, sets]) => ({
    rows,
    words: rows.map((row) => puzzle.words[row % count]),
    wanted: sets.map((set) => {
      const found = rows.map((_, key) => Math.floor(set / 2 ** key) % 2);
      return set < 0 ? null : found.map((yes) => yes / sum(found));
    }),
  });
  const groups = [...puzzle.groups, [puzzle.first]].map((group) => group.map((each) => ({ puzzle, ...reading(each) })));
  return { ...puzzle, first: groups.pop()[0], groups };
}

const kindsOf = ({ puzzle, rows }) => rows.map((row) => puzzle.kinds[row]);
const sees = ({ horizon }, query, key) => horizon === null || key - query <= horizon || query + key === 0;
export const goalOf = ({ puzzle, rows, wanted }) =>
  puzzle.goal && wanted.map((row) => row && product([row], rows.map((place) => puzzle.goal[place]))[0]);

function weighted(head, scores) {
  return scores.map((row, query) => softmax(row.map((score, key) => head.sees(query, key) ? score : -Infinity)));
}

// What numbers do with a sentence. matrices: [query], [table], or [W_query, W_key, W_value].
export function headOf(puzzle, matrices, rows) {
  const x = rows.map((row) => puzzle.kind === "table" ? matrices[0][row] : puzzle.rows[row]);
  const head = { sees: (query, key) => sees(puzzle, query, key), value: null, root: 1, queries: x, keys: x };
  if (puzzle.kind === "query") head.queries = matrices[0];
  else if (puzzle.kind !== "table") {
    [head.queries, head.keys, head.value] = matrices.map((matrix) => product(x, matrix));
    head.root = Math.sqrt(head.keys[0].length);
  }
  head.scores = times(product(head.queries, transposed(head.keys)), (score) => score / head.root);
  head.weights = weighted(head, head.scores);
  head.context = head.value && product(head.weights, head.value);
  return head;
}

// --- where a head looks -----------------------------------------------------------------------------------------------

const share = (found, wanted) => wanted ? near(sum(found.map((weight, key) => Math.abs(weight - wanted[key]))) / 2) : 0;
const misplaced = (weights, wanted) => weights.map((row, query) => share(row, wanted[query]));

function wrongAttention(tried) {
  const off = tried.map(({ reading, head }) => misplaced(head.weights, reading.wanted)),
    highest = off.map((rows) => Math.max(...rows)),
    worst = most(highest);
  if (highest[worst] <= MISPLACED) return null;
  const wrong = tried.map((each, place) => ({
    ...each,
    asking: range(off[place].length).filter((row) => off[place][row] > MISPLACED),
  })).filter(({ asking }) => asking.length);
  const row = most(off[worst]);
  const what = habit(wrong, HABITS) || changeOfScores(tried) || habit(wrong, UNIFORM);
  const words = `${example(tried[worst], row, !!what)} ${what || questionOnScores(tried[worst], row)}`;
  return { words, reading: tried[worst].reading };
}

function byName(names, weights) {
  const found = new Map();
  names.forEach((name, place) => found.set(name, (found.get(name) || 0) + weights[place]));
  return found;
}

// What one row does, and what was wanted; `brief` leaves out a word with nearly the weight wanted.
function example({ reading, head }, row, brief) {
  const names = reading.words.map((word) => `"${word}"`);
  let [found, wanted, over] = overWeights(names, reading, head, row);
  if (Math.max(...[...over.values()].map((value) => near(Math.abs(value)))) <= MISPLACED) { // equal names make up for it
    [found, wanted, over] = overWeights(names.map((name, k) => `${name} at position ${k}`), reading, head, row);
  }
  const values = [...over.values()];
  const [more, less] = [values, values.map((value) => -value)].map((each) => [...over.keys()][first(each)]);
  const off = [more, less].filter((name) => !brief || near(Math.abs(over.get(name))) > CLEARLY);
  const both = off.length ? off : [more, less];
  const gives = both.map((name) => `${told(found.get(name))} to ${name}`).join(" and ");
  return `In "${reading.words.join(" ")}", ${quoted(reading, row)} gives ${
    gives.replace(" to ", " of its weight to ")
  }. It should give ${both.map((name) => told(wanted.get(name))).join(" and ")}, to within ${told(MISPLACED)}.`;
}

function overWeights(names, reading, head, row) {
  const [found, wanted] = [head.weights, reading.wanted].map((each) => byName(names, each[row]));
  return [found, wanted, new Map([...found].map(([name, value]) => [name, value - wanted.get(name)]))];
}

function quoted({ puzzle, words }, row) {
  if (puzzle.askers) return puzzle.askers[row];
  return words.filter((word) => word === words[row]).length > 1
    ? `"${words[row]}" at position ${row}`
    : `"${words[row]}"`;
}

// What a head may do, whatever it reads: its weights for one row, or null where a habit says nothing.
const step = (by) => (_reading, head, row) => at(head, row + by);
const at = (head, place) => place in head.scores[0] ? head.scores[0].map((_, key) => +(key === place)) : null;
const HABITS = {
  "itself alone": step(0),
  "occurrences of its own word only": ({ words }, head, row) => {
    const same = words.map((word, key) => +(word === words[row] && head.sees(row, key)));
    return sum(same) ? same.map((yes) => yes / sum(same)) : null;
  },
  "the token before it": step(-1),
  "the token after it": step(1),
  "the second token before it": step(-2),
  "the first token alone": (_reading, head) => at(head, 0),
  "the last token alone": (_reading, head) => at(head, head.scores[0].length - 1),
};
const UNIFORM = { "all equally": (_reading, head, row) => weighted(head, times(head.scores, () => 0))[row] };

function habit(wrong, ways) {
  for (const [name, way] of Object.entries(ways)) {
    if (wrong[0].reading.puzzle.askers && !/first|last|equally/.test(name)) continue;
    let count = 0;
    const all = wrong.every(({ reading, head, asking }) =>
      asking.every((row) => {
        const weights = way(reading, head, row);
        count += !!weights;
        return !weights || share(head.weights[row], weights) <= MISPLACED;
      })
    );
    if (all && count) return `Wherever your head is wrong, a token attends to ${name}. Why?`;
  }
}

function changeOfScores(tried) {
  const close = "The right words score highest, but not by enough. How far apart must the scores be?",
    far = "The scores are too far apart. How close must they be?";
  const changes = [
    ...FARTHER.map((by) => [close, (scores) => times(scores, (score) => score * by)]),
    ...FARTHER.map((by) => [far, (scores) => times(scores, (score) => score / by)]),
    [
      "The words that should have the highest scores have the lowest. Which sign is wrong?",
      (scores) => times(scores, (score) => -score),
    ],
  ];
  if (tried.every(({ head }) => head.scores.length === head.scores[0].length)) {
    changes.push([
      "If W_query and W_key changed places, the weights would be right. Which of them belongs to the token that attends?",
      transposed,
    ]);
  }
  return changes.find(([, change]) =>
    tried.every(({ reading, head }) =>
      misplaced(weighted(head, change(head.scores)), reading.wanted).every((off) => off <= MISPLACED)
    )
  )?.[0];
}

function questionOnScores({ reading, head }, row) {
  let score;
  for (const names of [kindsOf(reading), reading.words]) {
    const same = String(names) === String(reading.words); // words, and no kinds of them
    const [found, wanted] = [head.weights, reading.wanted].map((each) => byName(names, each[row]));
    const all = [...found.keys()], over = all.map((name) => found.get(name) - wanted.get(name)), place = first(over);
    const own = new Set(reading.words.filter((word, k) => same ? word === all[place] : names[k] === all[place]));
    score = own.size === 1 ? `"${[...own][0]}"` : all[place];
    if (over[place] > MISPLACED / 2) break;
  }
  return `Which of your numbers make ${quoted(reading, row)} attend so much to ${score}?`;
}

// --- the output of a head ---------------------------------------------------------------------------------------------

function fits(found, wanted) {
  const reach = Math.max(1, ...wanted.flatMap((row) => row ? row.map(Math.abs) : []));
  return wanted.every((row, query) =>
    !row || row.every((value, k) => Math.abs(found[query][k] - value) <= 2 * MISPLACED * reach)
  );
}

function wrongOutput(tried) {
  if (!tried[0].reading.puzzle.goal) return null;
  const pairs = tried.map(({ reading, head }) => ({ reading, head, goal: goalOf(reading) })),
    wrong = pairs.find(({ head, goal }) => !fits(head.context, goal));
  if (!wrong) return null;
  const { reading, head, goal } = wrong;
  const row = first(
    goal.map((each, query) => each ? Math.max(...each.map((value, k) => Math.abs(head.context[query][k] - value))) : 0),
  );
  const [shown, wanted] = [head.context, goal].map((each) => each[row].map((value) => told(value)).join(" and "));
  return {
    words: `Your weights are right, but not the values: for ${quoted(reading, row)} in the sentence "${
      reading.words.join(" ")
    }", the output is ${shown}. It should be ${wanted}.${describeOutput(pairs)}`,
    reading,
  };
}

function describeOutput(pairs) {
  const [found, wanted] = [({ head }) => head.context, ({ goal }) => goal].map((of) =>
    pairs.flatMap((pair) => of(pair).flatMap((row, query) => pair.goal[query] ? row : []))
  );
  if (!(Math.max(...found.map(Math.abs)) > 1e-6)) return " Every output is 0.";
  for (const [name, numbers] of Object.entries(pairs[0].reading.puzzle.quantities)) {
    const passed = pairs.every(({ reading, head, goal }) =>
      fits(
        head.context,
        product(head.weights, reading.rows.map((row) => [numbers[row]])).map((row, query) => goal[query] && row),
      )
    );
    if (passed) return ` The value passes on ${name}. Should it?`;
  }
  const factor = near(dot(found, wanted) / Math.max(dot(wanted, wanted), 1e-9));
  const least = Math.min(1, ...wanted.filter(Boolean).map(Math.abs));
  const close = wanted.every((value, place) =>
    Math.abs(found[place] - factor * value) <= MISPLACED * Math.abs(factor) * Math.max(Math.abs(value), least)
  );
  return close ? ` Your output is ${told(factor, 1)} times the right one.` : " Which value does each word pass on?";
}

// --- heads that survive dropout ---------------------------------------------------------------------------------------

// numpy's generator, PCG64: whether its next number lies below one half. state, step: 128 bits as 8 parts of 16.
const FACTOR = [0xf645, 0x9fcc, 0xdf64, 0x4385, 0x5da4, 0x1fc6, 0xed05, 0x2360];
export function coins({ state, step }) {
  return () => {
    let rest = 0;
    const next = [];
    for (let place = 0; place < 8; place++) {
      rest += step[place];
      for (let k = 0; k <= place; k++) rest += state[k] * FACTOR[place - k];
      next[place] = rest % 65536;
      rest = Math.floor(rest / 65536);
    }
    state = next;
    const bit = (63 + (state[7] >> 10)) % 64, part = bit >> 4; // of both halves together, turned by the highest bits
    return ((state[part] ^ state[part + 4]) >> bit % 16 & 1) === 0;
  };
}

function wrongTogether(puzzle, tried) {
  for (const { reading, heads } of tried) {
    const outputs = reading.rows.map((_, row) => sum(heads.map((head) => head.context[row][0]))),
      goal = goalOf(reading);
    const row = range(outputs.length).find((row) => row && (outputs[row] > 0.5) !== (goal[row][0] === 1));
    if (!row) continue;
    const again = goal[row][0] === 1, { words } = reading;
    const alone = range(heads.length).map((place) => [
      place,
      wrongAttention(tried.map(({ reading, heads }) => ({ reading, head: heads[place] })))?.words,
    ]).find(([, wrong]) => wrong);
    return {
      words: `Even without dropout, in "${words.join(" ")}", "${words[row]}" at position ${row} gets ${
        told(outputs[row])
      } from all heads together. It has ${again ? "" : "not "}occurred before, so the sum should be ${
        again ? "above" : "below"
      } 0.50.${
        alone
          ? ` Head ${alone[0]} alone: ${alone[1][0].toLowerCase()}${alone[1].slice(1)}`
          : ` Each head looks where it should. Summed over heads, the values are ${
            puzzle.words.map((word, token) => `"${word}" ${told(sum(heads.map((head) => head.matrices[2][token][0])))}`)
              .join(", ")
          }.`
      }`,
      reading,
    };
  }
}

function wrongWithDropout({ survive }, tried) {
  const kept = coins(survive), right = { true: [], false: [] };
  for (const { reading, heads } of tried) {
    const goal = goalOf(reading), again = goal.map((each) => each?.[0] === 1), size = again.length;
    for (let draw = 0; draw < survive.draws; draw++) {
      const outputs = again.map(() => 0);
      for (const { weights, value } of heads) {
        for (let row = 0; row < size; row++) {
          for (let key = 0; key < size; key++) if (kept()) outputs[row] += 2 * weights[row][key] * value[key][0];
        }
      }
      outputs.forEach((output, row) => row && right[again[row]].push((output > 0.5) === again[row]));
    }
  }
  for (const again of [true, false]) {
    const judged = sum(right[again]) / right[again].length;
    if (judged < survive.need) {
      return {
        words: `With half of the weights dropped, letters that ${again ? "have" : "have not"} occurred before are ` +
          `judged correctly in ${justBelow(survive.need, judged)} of all cases. The goal is at least ${survive.need}.` +
          (again ? ` ${headsFinding(tried)} How many heads can lose the copy` : " How many weights may be dropped") +
          " before the sum of all heads is wrong?",
      };
    }
  }
}

// A share below a limit, with two digits, or as many as it takes to look below it.
function justBelow(limit, share) {
  const digits = range(10).find((digits) => digits > 1 && Number(told(share, digits)) < limit);
  return told(share, digits);
}

function headsFinding(tried) {
  const { reading, heads } = tried.find(({ reading }) => goalOf(reading).some((each) => each?.[0] === 1));
  const row = goalOf(reading).findIndex((each) => each?.[0] === 1),
    outputs = heads.map(({ context }) => context[row][0]);
  const finding = outputs.filter((output) => output > Math.max(...outputs) / 2).length;
  return `${finding} of your ${heads.length} heads ${finding === 1 ? "finds" : "find"} the copy.`;
}

// --- the verdict ------------------------------------------------------------------------------------------------------

// What is wrong, {words, reading: where it shows}, or null. puzzle: as `unfolded` gives it. design: the matrices of a head, or
// for a stack those of each head. Numbers are as torch keeps them, in 32 bits.
export function judge(puzzle, design) {
  const exact = (matrices) => matrices.map((matrix) => times(matrix, Math.fround));
  if (puzzle.survive) {
    const stack = design.map(exact);
    const tried = puzzle.groups[0].map((reading) => ({
      reading,
      heads: stack.map((matrices) => ({ ...headOf(puzzle, matrices, reading.rows), matrices })),
    }));
    return wrongTogether(puzzle, tried) || wrongWithDropout(puzzle, tried) || null;
  }
  for (const group of puzzle.groups) {
    const tried = group.map((reading) => ({ reading, head: headOf(puzzle, exact(design), reading.rows) }));
    const wrong = wrongAttention(tried) || wrongOutput(tried);
    if (wrong) return { ...wrong, words: wrong.words.replace(/ at position \d+/, "$& (counted from 0)") };
  }
  return null;
}

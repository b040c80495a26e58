// Message: a model's heads look different ways; with another sentence, the same head may or may not look the same way.
// Chapter 8: all heads of a model as small maps, and one of them large: layers and heads counted from 0.
import {
  BOLD,
  ending,
  figure,
  fixed,
  flow,
  found,
  HEADS,
  leading,
  LETTER,
  limit,
  short,
  SMALL,
  sum,
  transposed,
  unnumbered,
  weightColour,
} from "./base.js";
import { favourites, headLabels, image, LABELS, maps, unpacked } from "./maps.js";

const GAP = 6, TOP = 46, HEADLINE = 26, BESIDE = 330; // room for the large map
const MOST = 0.5, FEW = 2; // of all weight: then a head has a habit; else, so many tokens are named
const OTHER = "none of these", WHERE = ["your sentence", "the other"];
const SPECIAL = /^\[.*]$/; // tokens that are no words
const SAYS = "an average token ";

export default figure(({ names, weights, layer: firstLayer, head: firstHead, beside }) => {
  const sentences = [{ names, weights }, beside].filter(Boolean).map(({ names, weights }) => {
    const layers = unpacked(weights), kinds = layers.map((line) => line.map((values) => kindOf(values, names)));
    return { names, layers, kinds, every: kinds.flat() };
  });
  const [{ layers, every }, other] = sentences,
    heads = layers[0].length,
    both = sentences.flatMap((sentence) => sentence.names),
    least = other && Math.max(names.length, other.names.length);
  const count = (all, kind) => sum(all.map((each) => +(each === kind)));
  const kinds = [...new Set(every)]
    .sort((a, b) => (a === OTHER) - (b === OTHER) || count(every, b) - count(every, a))
    .map((kind) => ({ kind, counts: sentences.map((sentence) => count(sentence.every, kind)) }))
    .slice(0, other ? 1 : undefined); // with two sentences, the most frequent kind alone
  const colours = Object.fromEntries(kinds.map(({ kind }, k) => [kind, kind !== OTHER && HEADS[k]]));
  const frame = (kind) => `stroke:rgb(${colours[kind]});stroke-width:2`;

  function draw(page, { layer, head, query }, at) {
    const title = `layer ${layer}, head ${head}`, narrow = page.width < 700, pointed = at?.part.startsWith("all");
    const mine = ({ layers }) => layers[layer][head], large = mine(sentences[0]);
    let said = "";
    if (other) { // side by side, or below each other: the head on each sentence, and below it all heads
      const [one, two] = sentences.map((sentence) => read(mine(sentence), sentence.names));
      // "mostly" would be read of both
      const rest = one.startsWith("mostly") && !two.startsWith("mostly") ? `and ${two}` : two.replace("reads ", "");
      const where = narrow
        ? "on two sentences"
        : one === two
        ? `${one} in both sentences`
        : `${one} in your sentence, ${rest} in the other`;
      page.words(0, 10, `${title} ${where}`, BOLD, "headline");
      const room = narrow ? page.width : page.width / 2;
      page.height = HEADLINE;
      const rowOf = (paint) => {
        const top = page.height;
        page.height = Math.max(...sentences.map((sentence, k) => {
          paint(sentence, k, narrow ? 0 : k * room, narrow ? page.height : top);
          return page.height += 8;
        }));
      };
      rowOf((sentence, k, x, y) => {
        said += enlarge(k ? "other" : "large", mine(sentence), sentence.names, {
          x,
          y,
          room,
          ...k ? {} : { row: query, scale: false },
        });
      });
      rowOf((sentence, k, x, y) => {
        const [{ kind, counts }] = kinds, where = WHERE[k];
        small(
          sentence,
          k,
          x,
          told(
            [[kind, kind === OTHER ? where : `${where}: ${counts[k]} of ${every.length} give over half to ${kind}`]],
            x,
            y,
            room,
          ),
          room,
        );
      });
    } else {
      const beside = page.width * 0.45 - 14 >= BESIDE; // is there room for the large map?
      const room = beside ? page.width * 0.55 : page.width, few = kinds.slice(0, narrow ? 1 : undefined);
      const start = [
        [undefined, "heads that give over half of their weight to"],
        ...few.map(({ kind, counts: [number] }) => [kind, `${kind}: ${number}`]),
      ];
      const right = small(sentences[0], 0, 0, told(start, 0, 0, room), room), low = page.height;
      const [, { x, y }] = [right + 14, BESIDE].map(flow(page.width, 0, low));
      said = enlarge("large", large, names, { x, y, row: query, room: page.width - x });
      page.height = Math.max(low, page.height);
    }
    if (pointed) {
      const { layers, names } = sentences[+(at.part !== "all")];
      page.light("all", at.row, at.column);
      if (other) page.light("all other", at.row, at.column);
      return `Layer ${at.row}, head ${at.column}: ${SAYS}${
        most(layers[at.row][at.column], names)
      }. Press to enlarge it.`;
    }
    return said
      ? `${title}, ${said}.`
      : `${title}: ${other ? "in your sentence, " : ""}${
        query >= 0
          ? favourites(large[query], names, names[query])
          : `${SAYS}${most(large, names)}${other ? `; in the other, it ${most(mine(other), other.names)}` : ""}`
      }.`;

    // Some sentences on what heads read, each with the frame of its kind; returns where small maps begin below them.
    function told(list, x, y, room) {
      const spots = list.map(([, says]) => says.length * LETTER + 26).map(flow(room, 0, 16));
      list.forEach(([kind, says], k) => {
        const left = x + spots[k].x, middle = y + 10 + spots[k].y;
        if (colours[kind]) {
          page.box(`kind ${x} ${y} ${k}`, left + 1, middle - 6, 12, 12, `fill:rgb(${weightColour(0)});${frame(kind)}`);
        }
        page.words(left + (kind ? 20 : 0), middle, says, BOLD + (narrow ? SMALL : ""), `kind ${x} ${y} ${k}`);
      });
      return y + spots.at(-1).y + TOP;
    }

    // All heads on one sentence as small maps, framed by their kind; returns where they end on the right.
    function small({ layers, kinds }, k, x, top, room) {
      const step = Math.floor(limit(Math.min((room - LABELS) / heads, 420 / layers.length), 4, 44)), left = x + LABELS;
      const key = k ? "all other" : "all", where = k ? " in the other sentence" : "";
      headLabels(page, left, top, step, step, layers.length, heads, { layer, head });
      layers.forEach((maps, l) =>
        maps.forEach((values, h) => {
          const [x, y, side] = [left + h * step + GAP / 2, top + l * step + GAP / 2, step - GAP];
          image(page, x, y, side, side, values, weightColour);
          const kind = kinds[l][h];
          if (colours[kind]) page.box(`${key} ${l} ${h}`, x - 1, y - 1, side + 2, side + 2, `fill:none;${frame(kind)}`);
        })
      );
      page.board(
        key,
        left,
        top,
        step,
        step,
        layers.length,
        heads,
        `All heads${where}: a row for each layer, a column for each head`,
        (l, h) => page.change({ layer: l, head: h }),
      );
      page.pick(key, layer, head);
      page.height = top + layers.length * step + 10;
      return left + heads * step;
    }

    // A head's map; with two sentences, what all its queries together read stands out.
    function enlarge(key, values, names, more) {
      const words = names.filter((name) => !SPECIAL.test(name)).map(unnumbered).join(" ");
      const known = !narrow && kindOf(values, names) !== OTHER ? `: ${read(values, names)}` : "";
      return maps(page, [{
        key,
        values,
        title: !other ? title + known : narrow ? read(values, names) : WHERE[+(key !== "large")],
        label: other ? words : title,
      }], {
        names,
        axes: ["query (attends)", other ? ending(words, 1.1 * more.room) : "key (attended to)", ""],
        at: at?.part === key && at,
        bold: other ? leading(meansOf(values)) : [],
        digits: 3,
        named: both,
        widest: both,
        least: narrow ? 0 : least,
        ...more,
      });
    }
  }

  return {
    controls: {
      layer: ["slide", "layer", firstLayer, layers.length - 1],
      head: ["slide", "head", firstHead, heads - 1],
      query: ["select", "query", -1, names],
    },
    draw,
    letters: 210,
  };
});

const meansOf = (weights) => transposed(weights).map((column) => sum(column) / weights.length);

// What a head may read most, whatever the words are, and the weight that it gets on average where there is such a key.
function habit(weights, names) {
  const mean = (chosen) => {
    const shares = weights.map((row, t) => row.filter((_, key) => chosen(key, t))).filter((share) => share.length);
    return sum(shares.flat()) / (shares.length || 1);
  };
  return [
    [names[0], (key) => key === 0],
    [names.at(-1), (key) => key === names.length - 1],
    ["the token before", (key, t) => key === t - 1],
    ["the token itself", (key, t) => key === t],
    ["the token after", (key, t) => key === t + 1],
  ].map(([reads, chosen]) => ({ reads, share: mean(chosen) })).sort((a, b) => b.share - a.share)[0];
}

// A head's habit, if it has one.
function kindOf(weights, names) {
  const { reads, share } = habit(weights, names);
  return share > MOST ? reads : OTHER;
}

// What a head reads: its habit, or what gets the most weight.
function read(weights, names) {
  const kind = kindOf(weights, names);
  return kind === OTHER ? `reads ${found(names.map(short), meansOf(weights))}` : `mostly reads ${kind}`;
}

// What an average token gives the most weight to, and how much.
function most(weights, names) {
  const means = meansOf(weights), best = leading(means), { reads, share } = habit(weights, names);
  if (share <= MOST && best.length > FEW) return "gives many tokens about equal weight";
  return `gives the most weight to ${
    share > MOST
      ? `${reads} (${fixed(share)})`
      : best.map((key) => `"${names[key]}" (${fixed(means[key])})`).join(" and ")
  }`;
}

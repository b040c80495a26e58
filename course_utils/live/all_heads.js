// Message: a model's heads look different ways; with another sentence, the same head may or may not look the same way.
// Chapter 8: all heads of a model as small maps, and one of them large: layers and heads counted from 0.
import {
  BOLD,
  EMPTY,
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

const GAP = 4, TOP = 46, HEADLINE = 26, BESIDE = 330; // room for the large map
const MOST = 0.5, FEW = 2; // of all weight: then a head has a habit; else, so many tokens are named
const OTHER = "none of these";
const SPECIAL = /^\[.*]$/; // tokens that are no words
const SAYS = "an average token ";

export default figure(({ names, weights, layer: firstLayer, head: firstHead, beside }) => {
  const layers = unpacked(weights),
    heads = layers[0].length,
    other = beside && unpacked(beside.weights),
    both = [...names, ...beside?.names ?? []],
    least = other && Math.max(names.length, beside.names.length);

  // Each head's habit, and how many heads have which, the most frequent first.
  const habitsOf = (layers, names) =>
    layers.map((line) =>
      line.map((values) => {
        const [{ reads, share }] = habits(values, names);
        return share > MOST ? reads : OTHER;
      })
    );
  const mine = habitsOf(layers, names), there = other && habitsOf(other, beside.names).flat();
  const count = (all, reads) => sum(all.map((habit) => +(habit === reads))), every = mine.flat();
  const kinds = [...new Set(every)].sort((a, b) => (a === OTHER) - (b === OTHER) || count(every, b) - count(every, a));
  const kindColour = (kind) => kind === OTHER || there && kind !== kinds[0] ? EMPTY : HEADS[kinds.indexOf(kind)];

  function draw(page, { layer, head, query }, at) {
    const large = layers[layer][head], pointed = at?.part === "all", title = `layer ${layer}, head ${head}`;
    const narrow = page.width < 700;
    let top = TOP, said = "";
    if (other) { // the two sentences first, and all heads below them
      const [one, two] = [[large, names], [other[layer][head], beside.names]].map((map) => read(...map));
      const where = narrow
        ? "on two sentences"
        : one === two
        ? `${one} in both sentences`
        : `${one} in your sentence, ${two} in the other`;
      page.words(0, 10, `${title} ${where}`, BOLD, "headline");
      const wide = narrow ? page.width : page.width / 2;
      said += enlarge("large", large, names, { y: HEADLINE, row: query, room: wide, scale: false });
      const [first, place] = [page.height, wide < page.width ? { x: wide, y: HEADLINE } : { y: page.height + 8 }];
      said += enlarge("other", other[layer][head], beside.names, { room: wide, ...place });
      page.height = Math.max(first, page.height);
      top += page.height + 8;
    }
    const [reads] = kinds, [first, second] = [every, there ?? []].map((all) => count(all, reads));
    const told = there
      ? [`${reads}: ${first} of ${every.length} in your sentence (below)${narrow ? "" : `, ${second} in the other`}`]
      : kinds.slice(0, narrow ? 1 : kinds.length).map((kind) => `${kind}: ${count(every, kind)}`);
    const spot = flow(page.width, 0, 16);
    ["heads mostly read", ...told].forEach((says, k) => {
      const { x, y } = spot(says.length * LETTER + 26), middle = top - (narrow && there ? 44 : 36) + y;
      if (k) page.box(`kind ${k}`, x, middle - 2, 14, 4, `fill:rgb(${kindColour(kinds[k - 1])})`);
      page.words(x + (k ? 20 : 0), middle, says, BOLD + (narrow ? SMALL : ""), `kind ${k}`);
    });
    // beside the large map, where that fits there
    const room = other || page.width * 0.45 - 14 < BESIDE ? page.width : page.width * 0.55;
    const step = Math.floor(limit(Math.min((room - LABELS) / heads, 420 / layers.length), 4, 44));
    const low = top + layers.length * step + 10;
    headLabels(page, LABELS, top, step, step, layers.length, heads, { layer, head });
    layers.forEach((maps, l) =>
      maps.forEach((values, h) => {
        const [x, y, side] = [LABELS + h * step + GAP / 2, top + l * step + GAP / 2, step - GAP];
        image(page, x, y, side, side, values, weightColour);
        page.box(`habit ${l} ${h}`, x, y + side, side, 3, `fill:rgb(${kindColour(mine[l][h])})`);
      })
    );
    page.board(
      "all",
      LABELS,
      top,
      step,
      step,
      layers.length,
      heads,
      "All heads: a row for each layer, a column for each head",
      (l, h) => page.change({ layer: l, head: h }),
    );
    page.pick("all", layer, head);
    if (other) page.height = low;
    else {
      const [, { x, y }] = [LABELS + heads * step + 14, BESIDE].map(flow(page.width, 0, low));
      said = enlarge("large", large, names, { x, y, row: query, room: page.width - x });
      page.height = Math.max(low, page.height);
    }
    if (pointed) {
      page.light("all", at.row, at.column);
      return `Layer ${at.row}, head ${at.column}: ${SAYS}${
        most(layers[at.row][at.column], names)
      }. Press to enlarge it.`;
    }
    return said
      ? `${title}, ${said}.`
      : `${title}: ${other ? "in your sentence, " : ""}${
        query >= 0
          ? favourites(large[query], names, names[query])
          : `${SAYS}${most(large, names)}${other ? `; in the other, it ${most(other[layer][head], beside.names)}` : ""}`
      }.`;

    // A head's map; with two sentences, what all its queries together read stands out.
    function enlarge(key, values, names, more) {
      const columns = meansOf(values), [{ reads, share }] = habits(values, names);
      const words = names.filter((name) => !SPECIAL.test(name)).map(unnumbered).join(" ");
      const known = share > MOST && !narrow ? `: mostly reads ${reads}` : "";
      return maps(page, [{
        key,
        values,
        title: other ? read(values, names) : title + known,
        label: other ? words : title,
      }], {
        names,
        axes: ["query (attends)", other ? ending(words, 1.1 * more.room) : "key (attended to)", ""],
        at: at?.part === key && at,
        bold: other ? leading(columns) : [],
        digits: 3,
        named: both,
        widest: both,
        least,
        ...more,
      });
    }
  }

  // What a head may read, whatever the words are, and the weight that it gets on average where there is such a key.
  function habits(weights, names) {
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
    ].map(([reads, chosen]) => ({ reads, share: mean(chosen) })).sort((a, b) => b.share - a.share);
  }

  const meansOf = (weights) => transposed(weights).map((column) => sum(column) / weights.length);

  // What a head reads: its habit, or what gets the most weight.
  function read(weights, names) {
    const [{ reads, share }] = habits(weights, names);
    return share > MOST ? `mostly reads ${reads}` : `reads ${found(names.map(short), meansOf(weights))}`;
  }

  // What an average token gives the most weight to, and how much.
  function most(weights, names) {
    const means = meansOf(weights), best = leading(means), [{ reads, share }] = habits(weights, names);
    if (share <= MOST && best.length > FEW) return "gives many tokens about equal weight";
    return `gives the most weight to ${
      share > MOST
        ? `${reads} (${fixed(share)})`
        : best.map((key) => `"${names[key]}" (${fixed(means[key])})`).join(" and ")
    }`;
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

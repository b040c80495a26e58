// Message: a model's heads look different ways; with another sentence, the same head may or may not look the same way.
// Chapter 8: all heads of a model as small maps, and one of them large: layers and heads counted from 0.
import { BOLD, figure, flow, found, limit, say, short, sum, transposed, weightColour } from "./base.js";
import { favourites, headLabels, image, LABELS, maps, unpacked } from "./maps.js";

const GAP = 4, TOP = 22;

export default figure(({ names, weights, layer: firstLayer, head: firstHead, beside }) => {
  const layers = unpacked(weights),
    heads = layers[0].length,
    other = beside && unpacked(beside.weights),
    both = [...names, ...beside?.names ?? []],
    least = other && Math.max(names.length, beside.names.length);

  function draw(page, { layer, head, query }, at) {
    const room = page.width < 700 ? page.width : page.width * (other ? 0.32 : 0.55);
    const step = Math.floor(limit(Math.min((room - LABELS) / heads, 420 / layers.length), 4, 48));
    const low = TOP + layers.length * step + (other ? 26 : 10),
      [, { x, y }] = [LABELS + heads * step + 14, 330].map(flow(page.width, 0, low));
    headLabels(page, LABELS, TOP, step, step, layers.length, heads, { layer, head });
    layers.forEach((maps, l) =>
      maps.forEach((values, h) =>
        image(page, LABELS + h * step + GAP / 2, TOP + l * step + GAP / 2, step - GAP, step - GAP, values, weightColour)
      )
    );
    page.board(
      "all",
      LABELS,
      TOP,
      step,
      step,
      layers.length,
      heads,
      "All heads: a row for each layer, a column for each head",
      (l, h) => page.change({ layer: l, head: h }),
    );
    page.pick("all", layer, head);
    const large = layers[layer][head], pointed = at?.part === "all";
    const title = `layer ${layer}, head ${head}`, wide = other && !y ? (page.width - x) / 2 : page.width - x;
    const enlarge = (key, values, names, more) =>
      // and what all queries together read
      maps(page, [{
        key,
        values,
        title: other ? `reads ${found(names.map(short), transposed(values).map(sum))}` : title + mostly(values),
      }], {
        names,
        axes: ["query (attends)", "key (attended to)", ""],
        room: wide,
        at: at?.part === key && at,
        digits: 3,
        named: both,
        widest: both,
        least,
        ...more,
      });
    let said = enlarge("large", large, names, { x, y, row: query });
    page.height = Math.max(low, page.height);
    if (other) {
      page.words(LABELS, low - 10, `${title} on two sentences`, BOLD);
      const high = page.height, place = y ? { x, y: high + 8 } : { x: x + wide, y };
      said += enlarge("other", other[layer][head], beside.names, {
        scale: false,
        ...place,
      });
      page.height = Math.max(high, page.height);
    }
    if (pointed) {
      page.light("all", at.row, at.column);
      return `Layer ${at.row}, head ${at.column}: ${habits(layers[at.row][at.column])}. Press to enlarge it.`;
    }
    return said
      ? `${title}, ${said}.`
      : `${title}: ${query < 0 ? habits(large) : favourites(large[query], names, names[query])}.`;
  }

  const inner = (weights, place) =>
    sum(weights.flatMap((row, t) => row.filter((_, key) => key > 0 && key < names.length - 1 && place(key - t)))) /
    names.length;

  // What gets most of all weight, if anything does.
  function mostly(weights) {
    const of = (key) => sum(weights.map((row) => row.at(key))) / names.length;
    const shares = [
      [of(0), names[0]],
      [of(-1), names.at(-1)],
      [inner(weights, (step) => step === -1), "the token before"],
      [inner(weights, (step) => step === 0), "itself"],
      [inner(weights, (step) => step === 1), "the token after"],
    ];
    const [share, name] = shares.sort(([a], [b]) => b - a)[0];
    return share > 0.5 ? `: mostly reads ${name}` : "";
  }

  // The weight that an average token gives to the first and last token, and to neighbours, itself and the rest between
  // them: every weight counts once, so that the shares sum to 1.
  function habits(weights) {
    const size = names.length, mean = (shares) => sum(shares.flat()) / size;
    if (size === 1) return "the only token attends to itself";
    const between = (place) => inner(weights, place);
    return say`on average, a token gives ${mean(weights.map((row) => row[0]))} to ${names[0]} and ${
      mean(weights.map((row) => row[size - 1]))
    } to ${names.at(-1)}; among the tokens in between, ${between((step) => step === -1)} to the one before it, ${
      between((step) => step === 0)
    } to itself, ${between((step) => step === 1)} to the one after it and ${
      between((step) => Math.abs(step) > 1)
    } to the rest`;
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

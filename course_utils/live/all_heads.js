// Message: a model's heads look different ways; with another sentence, the same head may or may not look the same way.
// Chapter 8: all heads of a model as small maps, and one of them large: layers and heads counted from 0.
import { BOLD, figure, flow, found, LETTER, limit, range, say, short, sum, transposed, weightColour } from "./base.js";
import { favourites, headLabels, image, LABELS, maps, unpacked } from "./maps.js";

const GAP = 4, TOP = 22, HEADLINE = 26, BESIDE = 330; // room for the large map

export default figure(({ names, weights, layer: firstLayer, head: firstHead, beside }) => {
  const layers = unpacked(weights),
    heads = layers[0].length,
    other = beside && unpacked(beside.weights),
    both = [...names, ...beside?.names ?? []],
    least = other && Math.max(names.length, beside.names.length);

  function draw(page, { layer, head, query }, at) {
    const large = layers[layer][head], pointed = at?.part === "all", title = `layer ${layer}, head ${head}`;
    let top = TOP, said = "";
    if (other) { // the two sentences first, and all heads below them
      page.words(0, 10, `${title}: one head, two sentences`, BOLD, "headline");
      const wide = page.width < 700 ? page.width : page.width / 2;
      said += enlarge("large", large, names, { y: HEADLINE, row: query, room: wide, scale: false });
      const [first, place] = [page.height, wide < page.width ? { x: wide, y: HEADLINE } : { y: page.height + 8 }];
      said += enlarge("other", other[layer][head], beside.names, { room: wide, ...place });
      page.height = Math.max(first, page.height);
      page.words(0, page.height + 16, "all heads on the first sentence", BOLD, "all heads");
      top += page.height + 26;
    }
    // beside the large map, where that fits there
    const room = other || page.width * 0.45 - 14 < BESIDE ? page.width : page.width * 0.55;
    const step = Math.floor(limit(Math.min((room - LABELS) / heads, 420 / layers.length), 4, 44));
    const low = top + layers.length * step + 10;
    headLabels(page, LABELS, top, step, step, layers.length, heads, { layer, head });
    layers.forEach((maps, l) =>
      maps.forEach((values, h) =>
        image(page, LABELS + h * step + GAP / 2, top + l * step + GAP / 2, step - GAP, step - GAP, values, weightColour)
      )
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
      return `Layer ${at.row}, head ${at.column}: ${habits(layers[at.row][at.column])}. Press to enlarge it.`;
    }
    return said
      ? `${title}, ${said}.`
      : `${title}: ${other ? "on the first sentence, " : ""}${
        query < 0 ? habits(large) : favourites(large[query], names, names[query])
      }.`;

    // A head's map, and what all its queries together read.
    function enlarge(key, values, names, more) {
      const reads = `reads ${found(names.map(short), transposed(values).map(sum))}`;
      const words = names.filter((name) => !/^\[.*]$/.test(name)).map((name) => name.replace(/ \(\d+\)$/, ""));
      const first = (count) => words.slice(0, count).join(" ") + (count < words.length ? " …" : "");
      const fits = range(words.length + 1).findLast((count) =>
        1.1 * LETTER * first(count).length <= more.room - LABELS
      );
      return maps(page, [{ key, values, title: other ? first(fits) : title + mostly(values) }], {
        names,
        axes: ["query (attends)", other ? reads : "key (attended to)", ""],
        at: at?.part === key && at,
        digits: 3,
        named: both,
        widest: both,
        least,
        ...more,
      });
    }
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
    return say`a token's average weight is ${mean(weights.map((row) => row[0]))} for ${names[0]} and ${
      mean(weights.map((row) => row[size - 1]))
    } for ${names.at(-1)}; among those between, ${between((step) => step === -1)} for the one before it, ${
      between((step) => step === 0)
    } for itself, ${between((step) => step === 1)} for the one after it and ${
      between((step) => Math.abs(step) > 1)
    } for the rest`;
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

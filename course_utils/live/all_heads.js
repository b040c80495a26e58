// Chapter 8: all heads of a model as small maps, and one of them large: layers and heads counted from 0.
import {figure, fixed, limit, named, range, sum, weightColour} from "./base.js";
import {favourites, image, maps, unpacked} from "./maps.js";

const GAP = 4, LABELS = 48, TOP = 22;

export default figure(({names, weights, layer: firstLayer, head: firstHead}) => {
  const layers = unpacked(weights), size = names.length, heads = layers[0].length;

  function draw(page, {layer, head, query}, at) {
    const room = page.width < 700 ? page.width : page.width * 0.46;
    const step = Math.floor(limit((room - LABELS) / heads, 4, 48)), pixel = (step - GAP) / size;
    const small = LABELS + heads * step + 14, low = TOP + layers.length * step + 10, beside = page.width >= small + 330;
    page.words("head", LABELS - 6, 10, "head", {anchor: "end", size: 11});
    range(heads).forEach(h => { if (step >= 18 || h % 2 === 0) page.words(`head ${h}`, LABELS + (h + 0.5) * step, 10, h, {anchor: "middle", size: 11, bold: h === head}); });
    page.column("layer", LABELS - 6, TOP, step, range(layers.length).map(l => l || "layer 0"), {size: 11, bold: [layer]});
    layers.forEach((maps, l) => maps.forEach((values, h) => image(page, `small ${l} ${h}`, LABELS + h * step + GAP / 2, TOP + l * step + GAP / 2, pixel, values, weightColour)));
    page.board("all", LABELS, TOP, step, step, layers.length, heads, "All heads: a row for each layer, a column for each head", (l, h) => page.change({layer: l, head: h}));
    page.pick("all", layer, head);
    const large = layers[layer][head], [x, y] = beside ? [small, 0] : [0, low], pointed = at?.part === "all";
    maps(page, [{key: "large", values: large, title: `layer ${layer}, head ${head}`}], {
      names, x, y, row: query, at: pointed ? null : at, press: row => page.change({query: row === query ? -1 : row}),
    });
    page.height = Math.max(low, page.height);
    if (pointed) {
      page.light("all", at.row, at.column);
      return `Layer ${at.row}, head ${at.column}: ${habits(layers[at.row][at.column])}. Press to see it large.`;
    }
    const said = at ? `, ${named(names[at.row], names[at.column])}weight ${fixed(large[at.row][at.column], 3)}` : `: ${query < 0 ? habits(large) : favourites(large[query], names, names[query])}`;
    return `Layer ${layer}, head ${head}${said}.`;
  }

  // What an average token gives to its neighbours, itself, and the first and last token.
  function habits(weights) {
    const mean = values => fixed(sum(values) / values.length), along = offset => mean(weights.map((row, t) => row[t + offset]).filter(weight => weight !== undefined));
    const column = place => mean(weights.map(row => row.at(place)));
    return `an average token gives ${along(-1)} to the one before it, ${along(0)} to itself, ${along(1)} to the one after it, ${column(0)} to ${names[0]} and ${column(-1)} to ${names.at(-1)}`;
  }

  return {
    controls: {
      layer: ["slide", "layer", firstLayer, [0, layers.length - 1, 1]], head: ["slide", "head", firstHead, [0, heads - 1, 1]],
      query: ["select", "query", -1, names, "all"],
    },
    draw, letters: 210,
  };
});

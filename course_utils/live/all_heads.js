// Chapter 8: all heads of a model as small maps, and one of them large: layers and heads counted from 0.
import {corner, favourites, figure, fit, fixed, limit, places, range, roomy, sum, unpacked, weightColour} from "./base.js";

const GAP = 4, LABELS = 48, TOP = 22;

export default figure(({names, weights, first}) => {
  const layers = unpacked(weights), size = names.length, heads = layers[0].length;

  function draw(page, {layer, head, query}, at) {
    const room = page.width < 700 ? page.width : page.width * 0.46;
    const step = Math.floor(limit((room - LABELS) / heads, 4, 48)), pixel = (step - GAP) / size;
    const small = LABELS + heads * step + 14, low = TOP + layers.length * step + 10, beside = page.width >= small + 330;
    const mark = (key, l, h, colour) => page.mark(key, LABELS + h * step - 1, TOP + l * step - 1, step - GAP + 2, step - GAP + 2, colour);
    page.words("head", LABELS - 6, 10, "head", {anchor: "end", size: 11});
    range(heads).forEach(h => { if (step >= 18 || h % 2 === 0) page.words(`head ${h}`, LABELS + h * step + (step - GAP) / 2, 10, `${h}`, {anchor: "middle", size: 11, bold: h === head}); });
    layers.forEach((maps, l) => {
      page.words(`layer ${l}`, LABELS - 6, TOP + (l + 0.4) * step, l ? `${l}` : "layer 0", {anchor: "end", size: 11, bold: l === layer});
      maps.forEach((values, h) => page.image(`small ${l} ${h}`, LABELS + h * step, TOP + l * step, pixel, values, weightColour));
    });
    mark("chosen", layer, head);
    if (at?.small) mark("pointed", ...at.small, "#111");
    page.board("all", LABELS, TOP, step, step, layers.length, heads, "All heads: a row for each layer, a column for each head", (l, h) => ({small: [l, h]}), (l, h) => page.change({layer: l, head: h}));

    const [x, y] = beside ? [small, 0] : [0, low], layout = fit(1, names, names, page.width - x, beside ? 430 : roomy(page.width) , 40), [left, top] = corner(layout, 0);
    page.map("large", x + left, y + top, layout.cell, layers[layer][head], {
      names, keys: names, title: `layer ${layer}, head ${head}`, row: query, at, press: row => page.change({query: row === query ? -1 : row}),
    });
    page.height = Math.max(low, y + layout.high);
    page.scale(LABELS + 10, beside ? Math.max(low, page.height - 14) : page.height + 4);
    const weights = layers[layer][head];
    if (at?.small) return `Layer ${at.small[0]}, head ${at.small[1]}: ${habits(layers[at.small[0]][at.small[1]])}. Press to see it large.`;
    if (at) return `Layer ${layer}, head ${head}, query "${names[at.row]}", key "${names[at.column]}": weight ${fixed(weights[at.row][at.column], 3)}.`;
    return `Layer ${layer}, head ${head}: ${query < 0 ? habits(weights) : favourites(weights[query], names, names[query])}.`;
  }

  // What an average token gives to its neighbours, itself, and the first and last token.
  function habits(weights) {
    const mean = values => fixed(sum(values) / values.length), along = offset => mean(range(size).filter(t => t + offset >= 0 && t + offset < size).map(t => weights[t][t + offset]));
    const column = place => mean(weights.map(row => row[place]));
    return `an average token gives ${along(-1)} to the one before it, ${along(0)} to itself, ${along(1)} to the one after it, ${column(0)} to ${names[0]} and ${column(size - 1)} to ${names[size - 1]}`;
  }

  return {
    controls: {
      layer: ["slide", "layer", first.layer, [0, layers.length - 1, 1]], head: ["slide", "head", first.head, [0, heads - 1, 1]],
      query: ["select", "query", -1, places(names, "all")],
    },
    draw, letters: 210,
  };
});

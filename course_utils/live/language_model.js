// Chapter 11: all heads of a language model as one map, one of them large, and the next word without some of them.
import { figure, fixed, limit, most, range, short, weightColour } from "./base.js";
import { favourites, headLabels, LABELS, maps } from "./maps.js";
import { bars, reachOf, signedColour } from "./vectors.js";

const TOP = 22, ROW = 22;
const BOXES = [".own-sentence input", ".heads-off input"]; // with a kernel: boxes for a sentence, and for heads that are off
const OFF = [230, 97, 1], ALL = [138, 143, 152]; // bars of next words without them, and with all heads

export default figure(({ runs, layer: firstLayer, head: firstHead }) => {
  const models = runs.map(read), [{ layers }] = models, heads = layers[0].length;

  function draw(page, { sentence = 0, colour, layer, head, query }, at) {
    const { text, names, layers, words, before, after, off, each } = models[sentence], T = names.length;
    const narrow = page.width < 700,
      step = narrow ? 26 : Math.floor(limit(page.width * 0.34 - LABELS, 90, 270) / heads);
    const high = 13, low = TOP + layers.length * high + 40;
    const effects = each?.map((line) => line.map((chances) => Math.log(Math.max(chances[0], 0.0005) / before[0])));
    const shown = colour === 2 ? effects : layers.map((line) => line.map((rows) => rows[T - 1][colour ? T - 2 : 0]));
    const label = `All heads: a row for each layer, a column for each head`;

    headLabels(page, LABELS, TOP, step, high, layers.length, heads, { layer, head });
    page.grid("all", LABELS, TOP, step, high, shown, {
      colour: colour === 2 ? signedColour(reachOf(effects)) : weightColour,
      text: () => "",
      label,
      press: (l, h) => {
        page.change({ layer: l, head: h });
        toggle(page.controls, `${l}.${h}`, text);
      },
    });
    page.pick("all", layer, head);
    const meaning = colour === 2 ? [`without it "${short(words[0])}" is`, "less (purple) or more likely"] : [];
    meaning.forEach((text, line) => page.words(0, low - 26 + 16 * line, text));

    const x = narrow ? 0 : LABELS + heads * step + 18, y = narrow ? low + 8 : 0;
    const without = each ? [`${layer}.${head}`] : off, changed = each ? each[layer][head] : after;
    page.heading(
      x,
      y,
      "next word",
      without.length ? `grey: all heads; orange: without ${without.join(", ")}` : "all heads",
    );
    const list = y + 40, room = Math.min(330, page.width - x), name = 92;
    page.column(x + name - 6, list, 2 * ROW, words.map((word) => `"${short(word)}"`));
    const rows = words.flatMap((_, k) => [before[k], changed[k]]);
    bars(page, "next", x + name, list, room - name, ROW, rows, { digits: 3, colour: (_, k) => k % 2 ? OFF : ALL });

    const title = `layer ${layer}, head ${head}`, pointed = at?.part === "all";
    maps(page, [{ key: "large", values: layers[layer][head], title }], {
      names,
      x,
      y: list + rows.length * ROW + 16,
      row: limit(query, -1, T - 1),
      at: at?.part === "large" ? at : null,
      hidden: (query, key) => key > query,
      axes: ["query (attends)", "key (attended to)"], // no sums: with rounded weights they would be inexact
    });
    page.height = Math.max(low, page.height);
    if (pointed) {
      page.light("all", at.row, at.column);
      const here = layers[at.row][at.column][T - 1];
      return `Layer ${at.row}, head ${at.column}: ${favourites(here, names, names[T - 1])}. Press to enlarge it${
        each ? "" : " and to switch it off or on"
      }.`;
    }
    if (at?.part === "large") {
      const weight = fixed(layers[layer][head][at.row][at.column]);
      return `${title}, query "${names[at.row]}", key "${names[at.column]}": weight ${weight}.`;
    }
    const best = most(changed), asks = query < 0 ? T - 1 : Math.min(query, T - 1);
    return `${title}: ${favourites(layers[layer][head][asks], names, names[asks])}. ` +
      `With all heads, the likeliest next word is "${words[0]}", ${fixed(before[0], 3)}${
        without.length ? `; without ${without.join(", ")} it gets ${fixed(changed[0], 3)}` : ""
      }${best ? `, and "${words[best]}" is likeliest` : ""}.`;
  }

  const sentences = models.map(({ names }) => names.join(" ")),
    offered = ["last token to the first", "last token to the one before"];
  if (models.every(({ each }) => each)) offered.push("effect of switching it off");
  const controls = {
    colour: ["radio", "colour", offered.length - 1, offered],
    layer: ["slide", "layer", firstLayer, layers.length - 1],
    head: ["slide", "head", firstHead, heads - 1],
    query: ["select", "query", -1, range(Math.max(...models.map(({ names }) => names.length)))],
  };
  return {
    controls: models.length > 1 ? { sentence: ["select", "sentence", 0, sentences], ...controls } : controls,
    draw,
    letters: 330,
  };
});

// A run for drawing: each head's weights as rows, unpacked from one letter per share of the lower triangle.
function read({ shares, shape: [num_layers, num_heads], each, ...run }) {
  const T = run.names.length;
  let place = 0;
  const number = () => (shares.charCodeAt(place++) - 35) / 100;
  const rows = () => range(T).map((row) => range(T).map((column) => !row ? +!column : column <= row ? number() : 0));
  const layers = range(num_layers).map(() => range(num_heads).map(rows));
  return {
    ...run,
    layers,
    each: each?.map((line) => line.map((chances) => chances.map((thousandths) => thousandths / 1000))),
  };
}

// Add a head to the box of heads that are off, or remove it, and fill the sentence box if it is empty; the boxes'
// listeners run the model.
function toggle(controls, name, text) {
  const cell = controls.closest(".jp-Cell, .cell, .output, body"),
    [own, box] = BOXES.map((box) => cell?.querySelector(box));
  if (!box) return;
  const off = box.value.split(/[\s,]+/).filter(Boolean), rest = off.filter((each) => each !== name);
  if (!own.value) fill(own, text);
  fill(box, (rest.length < off.length ? rest : [...off, name]).join(" "));
}

function fill(box, value) {
  box.value = value;
  for (const kind of ["input", "change"]) box.dispatchEvent(new Event(kind, { bubbles: true }));
}

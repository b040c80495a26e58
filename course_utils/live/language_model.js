// Message: what a head reads, it may keep the model from saying.
// Chapter 11: all heads of a language model as one map, one of them large, and the next word without some of them.
import { BOLD, ending, figure, fixed, limit, most, range, short, SMALL, unnumbered, weightColour } from "./base.js";
import { favourites, headLabels, LABELS, maps } from "./maps.js";
import { bars, reachOf, signedColour } from "./vectors.js";

const TOP = 22, ROW = 26, MUCH = 0.75;
const BOXES = [".own-sentence input", ".heads-off input"]; // with a kernel: boxes for a sentence, and for heads that are off
const OFF = [230, 97, 1], ALL = [138, 143, 152]; // bars of next words without them, and with all heads

export default figure(({ runs, layer: firstLayer, head: firstHead }) => {
  const models = runs.map(read), [{ layers }] = models, heads = layers[0].length;

  function draw(page, { sentence = 0, colour, layer, head }, at) {
    const { text, names, layers, words, before, after, off, each } = models[sentence], T = names.length;
    const title = `layer ${layer}, head ${head}`,
      without = each ? [title] : off,
      changed = each?.[layer][head] ?? after;
    const large = layers[layer][head],
      last = large[T - 1],
      readBy = (rows) => unnumbered(names[most(rows[T - 1])]);
    // title, bars and colours speak of this word, which the first head reads, if it may come next
    const topic = Math.max(0, words.indexOf(readBy(layers[firstLayer][firstHead]))), word = words[topic];
    const gain = (chances) => Math.max(chances[topic], 0.0005) / before[topic];
    // a head that reads little else than it, while without that head it would be far likelier
    const held = each && Math.max(...last) > MUCH && readBy(large) === word && gain(changed) > 2;
    const name = 92, list = 70, narrow = page.width < 700, wide = narrow ? page.width : page.width / 2 - 20;
    const rows = words.flatMap((_, k) => [before[k], changed[k]]), end = list + rows.length * ROW + 30;
    const pointed = at?.part === "all";

    const lost = without.length ? ` without ${without.join(" and ")}` : "";
    page.words(0, 10, ending(`“${text.trim()} …”`, page.width), BOLD, "text");
    page.words(
      0,
      34,
      held ? `${title} reads “${word}” and makes it less likely` : `“${word}” gets ${fixed(changed[topic], 3)}${lost}`,
      BOLD + (narrow ? SMALL : ""),
      "headline",
    );
    [["all heads", ALL], [each ? "without this head" : lost.trim(), OFF]].forEach(([says, colour], k) => {
      if (!says) return;
      page.box(`bar ${k}`, 100 * k, 48, 14, 12, `fill:rgb(${colour})`);
      page.words(100 * k + 20, 54, says, "", `bar ${k}`);
    });
    page.column(name - 6, list, 2 * ROW, words.map((word) => `"${short(word)}"`), [topic]);
    bars(page, "next", name, list, wide - name, ROW, rows, {
      digits: 3,
      reach: Math.max(...before, ...(each ?? [[changed]]).flat(2)),
      colour: (_, k) => k % 2 ? OFF : ALL,
    });
    maps(page, [{ key: "large", values: large, title }], {
      names,
      x: narrow ? 0 : wide + 20,
      y: narrow ? end : 24,
      at: at?.part === "large" ? at : null,
      hidden: (query, key) => key > query,
      axes: ["query (attends)", "key (attended to)"], // no sums: with rounded weights they would be inexact
    });
    page.pick("large", T - 1); // it makes the next word

    const high = 13,
      legend = narrow ? page.height + 16 : end,
      top = legend + TOP + (colour === 2 ? 62 : 0),
      step = Math.floor(limit((wide - LABELS) / heads, 10, 34));
    const effects = each?.map((line) => line.map((chances) => -Math.log(gain(chances)))); // of having the head
    const shown = colour === 2 ? effects : layers.map((line) => line.map((rows) => rows[T - 1][colour ? T - 2 : 0]));
    headLabels(page, LABELS, top, step, high, layers.length, heads, { layer, head });
    page.grid("all", LABELS, top, step, high, shown, {
      colour: colour === 2 ? signedColour(reachOf(effects)) : weightColour,
      text: () => "",
      label: "All heads: a row for each layer, a column for each head",
      press: (l, h) => {
        page.change({ layer: l, head: h });
        toggle(page.controls, `${l}.${h}`, text);
      },
    });
    page.pick("all", layer, head);
    const low = top + layers.length * high + 14;
    if (colour === 2) { // how much a head changes the chance of the word
      const factor = fixed(Math.exp(reachOf(effects)), 1);
      page.words(0, legend + 7, `each head makes “${short(word)}”`, BOLD, "meaning");
      ["less likely", "more likely"].forEach((says, k) => {
        page.box(`scale ${k}`, 110 * k, legend + 22, 14, 12, `fill:rgb(${signedColour(1)(2 * k - 1)})`);
        page.words(110 * k + 20, legend + 29, says, "", `scale ${k}`);
      });
      page.words(0, legend + 49, `full colour: ${factor}-fold (log scale)`, "", "full colour");
    }
    page.height = Math.max(low, page.height);
    const { row, column } = at ?? {};
    if (pointed) {
      page.light("all", row, column);
      const here = layers[row][column][T - 1];
      return `Layer ${row}, head ${column}: ${favourites(here, names, names[T - 1])}. Press to enlarge it${
        each ? "" : " and to switch it on or off"
      }.`;
    }
    if (at?.part === "large") {
      const weight = fixed(large[row][column]);
      return `${title}, query "${names[row]}", key "${names[column]}": weight ${weight}.`;
    }
    const best = most(changed);
    return `${title}: ${favourites(last, names, names[T - 1])}. ` +
      `With all heads, the likeliest next word is "${words[0]}", ${fixed(before[0], 3)}${
        without.length ? `; without ${without.join(" and ")}, it gets ${fixed(changed[0], 3)}` : ""
      }${best ? `, and "${words[best]}" is likeliest` : ""}.`;
  }

  const sentences = models.map(({ text }) => text),
    offered = ["last token to the first", "last token to the one before"];
  if (models.every(({ each }) => each)) offered.push("effect on the next word");
  const controls = {
    colour: ["radio", "colour", offered.length - 1, offered],
    layer: ["slide", "layer", firstLayer, layers.length - 1],
    head: ["slide", "head", firstHead, heads - 1],
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

// Message: one word of the sentence changes, and hardly any head changes its preference.
// Chapter 8: which of two nouns each head of a model prefers, for sentences that differ in one word.
import { BOLD, FAINT, figure, fixed, flow, HEADS, LETTER, limit, range, short } from "./base.js";
import { arcs } from "./arcs.js";
import { headLabels, LABELS, unpacked } from "./maps.js";

const HIGH = 26, LEGEND = 22, FULL = 19000; // a difference of weights, times 100,000

export default figure(({ cases, layer: firstLayer, head: firstHead, asks }) => {
  const sentences = cases.map((one) => ({ ...one, rows: unpacked(one.rows) }));
  const [{ rows: { length: layers, 0: { length: heads } } }] = sentences;
  // The place of the only word in which two sentences differ.
  const changed = (one, other) => {
    const places = range(one.tokens.length).filter((place) => one.tokens[place] !== other.tokens[place]);
    return one.tokens.length === other.tokens.length && places.length === 1 ? places[0] : -1;
  };
  const preferred = ({ ahead }, layer, head) => +(ahead[layer][head] <= 0); // 0: the first noun, 1: the second

  function draw(page, { sentence, layer, head }, at) {
    const now = sentences[sentence], { tokens, nouns, rows, ahead } = now;
    const twin = sentences.find((other) => changed(now, other) >= 0), place = twin && changed(now, twin);
    const turns = (l, h) => twin && preferred(now, l, h) !== preferred(twin, l, h);
    const every = range(layers).flatMap((l) => range(heads).map((h) => [l, h]));
    const [l, h] = at ? [at.row, at.column] : [layer, head];
    const turned = every.filter((cell) => turns(...cell)).length, same = `${every.length - turned} of ${every.length}`;
    const top = 50 + arcs(page, {
      words: tokens.map((word, k) => short(word) + (k === place ? ` ⇄ ${short(twin.tokens[place])}` : "")),
      lines: [{
        key: `layer ${l}, head ${h}`,
        weights: rows[l][h],
        colour: (key) => nouns.includes(tokens[key]) ? `rgb(${HEADS[nouns.indexOf(tokens[key])]})` : FAINT,
      }],
      from: tokens.indexOf(asks),
      press: twin && ((word) => word === place && page.change({ sentence: sentences.indexOf(twin) })),
    });

    const wide = Math.floor(limit((page.width - LABELS) / heads, 10, 76)), low = top + layers * HIGH + 12;
    headLabels(page, LABELS, top, wide, HIGH, layers, heads, { layer, head });
    page.grid("all", LABELS, top, wide, HIGH, ahead, {
      text: (_, ...cell) => turns(...cell) ? "⇄" : "",
      colour: (more) => [...HEADS[+(more <= 0)], limit(0.25 + 0.75 * Math.abs(more) / FULL, 0.25, 1).toFixed(2)],
      label: "All heads: a row for each layer, a column for each head",
      press: (layer, head) => page.change({ layer, head }),
    });
    page.pick("all", layer, head);
    if (at) page.light("all", at.row, at.column);

    const spot = flow(page.width, LABELS, LEGEND);
    if (twin) page.words(0, top - 38, `${same} heads prefer the same noun with “${twin.tokens[place]}”`, BOLD, "same");
    const counted = nouns.map((noun, k) =>
      `prefer "${noun}": ${every.filter((cell) => preferred(now, ...cell) === k).length}`
    );
    if (twin) counted.push(`⇄ "${twin.tokens[place]}": ${turned} change${turned === 1 ? "s" : ""} sides`);
    counted.push(`full colour: differs by ${fixed(FULL / 1e5)} or more`);
    counted.forEach((text, k) => {
      const { x, y } = spot(text.length * LETTER + 44);
      if (k < 2) page.box(`legend ${k}`, x, low + y, 16, 12, `fill:rgb(${HEADS[k]})`);
      page.words(x + 22, low + y + 6, text, "", `legend ${k}`);
    });
    page.height = low + LEGEND * (page.width < 700 ? 4 : 2);

    const [first, second] = nouns.map((noun) => fixed(rows[l][h][tokens.indexOf(noun)], 3));
    return `Layer ${l}, head ${h}: "${asks}" gives ${first} to "${nouns[0]}" and ${second} to "${nouns[1]}".` +
      (twin ? ` With "${twin.tokens[place]}" instead of "${tokens[place]}", ${same} heads prefer the same noun.` : "");
  }

  return {
    controls: {
      sentence: ["radio", "sentence", 0, sentences.map(({ name }) => name)],
      layer: ["slide", "layer", firstLayer, layers - 1],
      head: ["slide", "head", firstHead, heads - 1],
    },
    draw,
    letters: 190,
  };
});

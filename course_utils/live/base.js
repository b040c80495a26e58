// What all figures share: the frame with its controls and its sentence, a picture whose parts keep their identity from
// one state to the next, and maps. A figure's own module says what to draw for a state. Lengths are CSS pixels.

const NS = "http://www.w3.org/2000/svg";
const WIDEST = 860, PADDING = 8;
const LETTER = 7.1, LONGEST = 12;  // width of a letter; letters of a name that are shown
const NAMED = 13, NUMBERED = 30;  // cells of at least this size have names beside them (else the sentence names them), and numbers in them
const LARGEST = 44;  // a cell of a map
const MANY = 16;  // a map with more rows or columns is one image
export const SUMS = 46, TITLE = 20;  // room for row sums, and for the title above a map

const VIRIDIS = ["#440154", "#482878", "#3e4989", "#31688e", "#26828e", "#1f9e89", "#35b779", "#6ece58", "#b5de2b", "#fde725"];
const PURPLE_ORANGE = ["#2d004b", "#542788", "#8073ac", "#b2abd2", "#d8daeb", "#f7f7f7", "#fee0b6", "#fdb863", "#e08214", "#b35806", "#7f3b08"];
export const DEPENDS = yes => yes ? [8, 81, 156] : [247, 251, 255];
export const DEPENDENCIES = {title: "dependency matrix", axes: ["output of", "input of"], sums: false};
export const MARK = "#c2410c";  // what is picked, inside a white line

const STYLE = `
.course-live{box-sizing:border-box;max-width:${WIDEST}px;padding:${PADDING}px;font:13px/1.4 var(--jp-ui-font-family,system-ui,sans-serif);
 color:var(--jp-content-font-color0,var(--vscode-editor-foreground,CanvasText));background:var(--jp-layout-color0,var(--vscode-editor-background,Canvas));color-scheme:light dark}
[data-jp-theme-light=true] .course-live{color-scheme:light}
[data-jp-theme-light=false] .course-live{color-scheme:dark}
.course-live .controls{display:flex;flex-wrap:wrap;gap:2px 16px;align-items:center}
.course-live fieldset{display:flex;flex-wrap:wrap;gap:0 10px;align-items:center;border:0;margin:0;padding:0;min-width:0}
.course-live legend{float:left;padding:0;margin:0 10px 0 0;font:inherit;width:auto}
.course-live label{display:flex;gap:5px;align-items:center;min-height:28px}
.course-live select,.course-live button{font:inherit;color:inherit;background:inherit;border:1px solid;border-radius:4px;min-height:28px;max-width:14em}
.course-live input{margin:0;accent-color:#0072b2}
.course-live input[type=range]{width:120px;height:24px}
.course-live output{min-width:2.6em}
.course-live .said{margin:6px 0 0;font:inherit;color:inherit}
.course-live svg{display:block;fill:currentColor;forced-color-adjust:none;user-select:none;font-size:12px}
.course-live svg text{dominant-baseline:central}
.course-live svg *{transition:transform .2s,width .2s,height .2s,fill .2s,d .2s}
.course-live.at-once svg *{transition:none}
.course-live :focus-visible{outline:3px solid #c2410c;outline-offset:1px;box-shadow:0 0 0 1px #fff}
@media(prefers-reduced-motion:reduce){.course-live svg *{transition:none}}
@media(forced-colors:active){.course-live,.course-live svg{color:CanvasText}.course-live :focus-visible{outline-color:Highlight}}`;

// --- numbers, names and colours ---------------------------------------------------------------------------------------

export const sum = values => values.reduce((total, value) => total + value, 0);
export const dot = (a, b) => sum(a.map((value, place) => value * b[place]));
export const range = size => [...Array(size).keys()];
export const most = values => values.indexOf(Math.max(...values));
export const limit = (value, low, high) => Math.min(high, Math.max(low, value));
export const fixed = (value, digits = 2) => Number.isNaN(value) ? "nan" : value.toFixed(digits);
export const short = name => name.length > LONGEST ? name.slice(0, LONGEST - 1) + "…" : name;
export const longest = names => Math.ceil(LETTER * Math.max(...names.map(name => short(name).length)));

export function softmax(scores) {
  const top = Math.max(...scores), exponentials = scores.map(score => Math.exp(score - top)), total = sum(exponentials);
  return exponentials.map(value => value / total);
}

export const SAID = 3;  // keys that a sentence names
export function favourites(row, keys, name) {
  const best = row.map((weight, key) => [weight, key]).sort((a, b) => b[0] - a[0]).slice(0, SAID);
  return `query "${name}" attends most to ${best.map(([weight, key]) => `"${keys[key]}" (${fixed(weight)})`).join(", ")}`;
}

// Weights from 0, packed as Python's `base.packed` does: five bits a letter, the first letters of a number carry 32 more.
export function unpacked({shape, letters}) {
  let number = 0;
  const flat = [];
  for (const letter of letters) {
    const bits = atob(`AAA${letter}`).charCodeAt(2);  // the place of a letter among those of base 64
    number = number * 32 + bits % 32;
    if (bits < 32) { flat.push(number / 10000); number = 0; }
  }
  let next = 0;
  const fold = ([size, ...rest]) => range(size).map(() => rest.length ? fold(rest) : flat[next++]);
  return fold(shape);
}

const rgb = colour => [1, 3, 5].map(place => parseInt(colour.slice(place, place + 2), 16));
function between(stops, share) {
  const place = limit(share || 0, 0, 1) * (stops.length - 1), left = Math.min(Math.floor(place), stops.length - 2);
  const [from, to] = [rgb(stops[left]), rgb(stops[left + 1])];
  return from.map((part, k) => Math.round(part + (place - left) * (to[k] - part)));
}
export const weightColour = value => between(VIRIDIS, value);
export const signedColour = reach => value => between(PURPLE_ORANGE, (value / (reach || 1) + 1) / 2);
export const reachOf = rows => Math.max(...rows.flat().map(Math.abs));
export function ink(colour) {
  const linear = colour.map(part => (part /= 255) <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
  return dot(linear, [0.2126, 0.7152, 0.0722]) > 0.179 ? "#000" : "#fff";
}
const css = colour => typeof colour === "string" ? colour : `rgb(${colour})`;

// --- the frame --------------------------------------------------------------------------------------------------------

function make(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

// Controls. Each is {element, read(), show(value)}; its value in the state has the control's name.
const KINDS = {
  select(label, options) {  // names; the value is a place, -1 for "all"
    const list = make("select", {}, ...options.map(([value, text]) => make("option", {value}, text)));
    return {element: make("label", {}, label, list), input: list, read: () => +list.value, show: value => { list.value = value; }};
  },
  radio(label, options) {  // the value is a place
    const group = `course-live-${Math.random()}`;  // the buttons of all figures in a page, whose scripts know of no other
    const inputs = options.map(() => make("input", {type: "radio", name: group}));
    const labels = options.map((text, place) => make("label", {}, inputs[place], text));
    return {
      element: make("fieldset", {}, make("legend", {}, label), ...labels), input: inputs,
      read: () => inputs.findIndex(input => input.checked),
      show: value => inputs.forEach((input, place) => { input.checked = place === value; }),
    };
  },
  check(label) {
    const input = make("input", {type: "checkbox"});
    return {element: make("label", {}, input, label), input, read: () => input.checked, show: value => { input.checked = value; }};
  },
  slide(label, [low, high, step]) {  // high: a number, or what makes it of the state
    const input = make("input", {type: "range", min: low, step}), shown = make("output");
    const show = (wanted, state) => {
      const most = typeof high === "function" ? high(state) : high, value = Math.min(wanted, most);
      input.max = most;
      input.value = value;
      shown.textContent = step < 1 ? fixed(value, step < 0.1 ? 2 : 1) : value;
      input.setAttribute("aria-valuetext", `${label}: ${shown.textContent}`);
    };
    return {element: make("label", {}, label, input, shown), input, read: () => +input.value, show};
  },
};
export const places = (names, all) => [...all ? [[-1, all]] : [], ...names.map((name, place) => [place, name])];

/* What a module exports. describe({...}) takes the figure's numbers by their names and gives
   controls: {name: [kind, label, first value, options]}. more: what else the figure's own parts change, plain data.
   draw(page, state, at) draws a state, the values of controls and more, and gives its sentence; `at` is what the reader
   points at, or null. letters: of the longest sentence, so that the height stays the same. */
export const figure = describe => ({
  render: ({model, el}) => show(el, describe(new Proxy({}, {get: (_, name) => model.get(name)}))),
});

function show(el, {controls = {}, more = {}, draw, letters}) {
  const state = {...more};
  let at = null, focused = null, width = 0;
  const root = make("div", {class: "course-live"}, make("style", {}, STYLE));
  const bar = make("div", {class: "controls"}), said = make("p", {class: "said", "aria-live": "polite"});
  const svg = document.createElementNS(NS, "svg");
  const page = new Page(svg, {change, point, settle});
  root.append(bar, svg, said);

  const made = Object.entries(controls).map(([name, [kind, label, first, options]]) => {
    const control = KINDS[kind](label, options);
    state[name] = first;
    for (const input of [control.input].flat()) {
      input.addEventListener("input", () => change({[name]: control.read()}));
    }
    control.element.dataset.control = name;
    bar.append(control.element);
    return [name, control];
  });
  const start = JSON.stringify(state), back = make("button", {type: "button"}, "put everything back");
  back.addEventListener("click", () => change(JSON.parse(start)));
  if (made.length) bar.append(back);

  function change(news) { Object.assign(state, news); redraw(); }
  function point(place, byFocus) {
    if (byFocus) focused = place;
    const next = place || focused;
    if (JSON.stringify(next) !== JSON.stringify(at)) { at = next; redraw(); }
  }
  function settle(dragging) { root.classList.toggle("at-once", dragging); }
  function redraw() {
    if (!width) return;
    for (const [name, control] of made) control.show(state[name], state);
    page.begin(width);
    const sentence = draw(page, state, at);
    page.end();
    if (said.textContent !== sentence) said.textContent = sentence;
  }
  // JupyterLab takes arrow keys unless the element that has the focus forbids it; Control-S is for JupyterLab
  addEventListener("keydown", event => {
    if (root.contains(event.target)) event.target.toggleAttribute("data-lm-suppress-shortcuts", !(event.ctrlKey || event.metaKey));
  }, true);
  root.addEventListener("keydown", event => {  // what a figure uses is not for the notebook around it
    if (event.key === "Escape") { focused = null; point(null); }
    if (event.key.startsWith("Arrow") || ["Home", "End", " ", "Enter", "PageUp", "PageDown"].includes(event.key)) event.stopPropagation();
  });
  new ResizeObserver(() => {
    const now = Math.max(0, root.clientWidth - 2 * PADDING);
    if (!now || now === width) return;
    width = now;
    said.style.minHeight = `${Math.ceil(letters * LETTER / width) * 1.4}em`;
    settle(true);
    redraw();
    requestAnimationFrame(() => settle(false));
  }).observe(root);
  el.replaceChildren(root);
}

// --- the picture ------------------------------------------------------------------------------------------------------

class Page {
  constructor(svg, frame) {
    Object.assign(this, {svg, frame, change: frame.change, parts: new Map(), boards: new Map()});
    this.layers = range(4).map(() => svg.appendChild(document.createElementNS(NS, "g")));
    svg.addEventListener("pointerleave", () => frame.point(null));
  }

  begin(width) { this.width = width; this.seen = new Set(); this.height = 0; }

  end() {
    for (const [key, part] of this.parts) if (!this.seen.has(key)) { part.remove(); this.parts.delete(key); }
    this.svg.setAttribute("width", this.width);
    this.svg.setAttribute("height", this.height);
  }

  // A part of the picture: made once for its key, then changed where it differs.
  part(key, layer, tag, styles, attributes = {}, text = null) {
    this.seen.add(key);
    let part = this.parts.get(key);
    if (!part) {
      part = this.layers[layer].appendChild(document.createElementNS(NS, tag));
      part.known = {};
      this.parts.set(key, part);
    }
    const known = part.known, set = (name, value, apply) => { if (known[name] !== value) { known[name] = value; apply(); } };
    for (const [name, value] of Object.entries(styles)) set(name, value, () => { part.style[name] = value; });
    for (const [name, value] of Object.entries(attributes)) set(`@${name}`, value, () => part.setAttribute(name, value));
    if (text !== null) set("text", text, () => { part.textContent = text; });
    return part;
  }

  box(key, x, y, width, height, fill, stroke = "none") {
    return this.part(key, 0, "rect", {
      transform: `translate(${x}px,${y}px)`, width: `${Math.max(width, 0)}px`, height: `${Math.max(height, 0)}px`,
      fill: css(fill), stroke,
    });
  }

  words(key, x, y, text, {anchor = "start", size = 12, bold = false, fill = "currentColor", turn = 0, press = null} = {}) {
    const part = this.part(key, press ? 3 : 1, "text", {
      transform: `translate(${x}px,${y}px) rotate(${turn}deg)`, fill, fontSize: `${size}px`, fontWeight: bold ? "bold" : "normal",
      cursor: press ? "pointer" : "", pointerEvents: press ? "" : "none",
    }, {"text-anchor": anchor}, text);
    part.onclick = press;
  }

  line(key, path, {width = 1, colour = "currentColor", dash = "none", layer = 2} = {}) {
    this.part(key, layer, "path", {
      d: `path("${path}")`, stroke: colour, strokeWidth: width, fill: "none", strokeDasharray: dash, pointerEvents: "none",
    }, {d: path});
  }

  // A title, and more about it below.
  heading(x, y, title, below, look = {}) {
    this.words(`title ${title}`, x, y + 9, title, {bold: true, ...look});
    this.words(`below ${title}`, x, y + 26, below, {size: 11, ...look});
  }

  arrow(key, [x, y], [toX, toY], look = {}) {
    const wide = toX - x, high = toY - y, length = Math.hypot(wide, high), head = Math.min(7, length / 2), [u, v] = [wide / (length || 1), high / (length || 1)];
    const corner = side => `${toX - head * u + side * head * 0.5 * v} ${toY - head * v - side * head * 0.5 * u}`;
    this.line(key, `M${x} ${y}L${toX} ${toY}M${corner(1)}L${toX} ${toY}L${corner(-1)}`, look);
  }

  // A frame that stands out on every colour: dark in a white line.
  mark(key, x, y, width, height, colour = MARK) {
    const path = `M${x} ${y}H${x + width}V${y + height}H${x}Z`;
    this.line(`${key} white`, path, {width: 5, colour: "#fff"});
    this.line(key, path, {width: 2.5, colour});
  }

  cell(key, x, y, width, height, colour, text, size = 12) {
    this.box(key, x, y, width - 1, height - 1, colour);
    if (text) this.words(`${key} text`, x + (width - 1) / 2, y + height / 2, text, {anchor: "middle", fill: ink(colour), size});
  }

  // Cells that are pointed at, tapped, and walked through with arrow keys: one tab stop. at(row, column): what it means.
  board(key, x, y, wide, high, rows, columns, label, at, press) {
    const board = this.boards.get(key) || {row: 0, column: 0};
    Object.assign(board, {x, y, wide, high, rows, columns, at, press});
    const part = this.part(key, 3, "rect", {
      transform: `translate(${x}px,${y}px)`, width: `${columns * wide}px`, height: `${rows * high}px`, fill: "transparent",
      cursor: press ? "pointer" : "crosshair", transition: "none",
    }, {tabindex: 0, role: "application", "aria-label": `${label}. Arrow keys walk through it.`, "data-cells": `${rows} ${columns}`});
    if (this.boards.has(key)) return;
    this.boards.set(key, board);
    const go = (row, column, byFocus) => {
      board.row = limit(row, 0, board.rows - 1); board.column = limit(column, 0, board.columns - 1);
      this.frame.point(board.at(board.row, board.column), byFocus);
    };
    const here = event => {
      const corner = this.svg.getBoundingClientRect();
      go(Math.floor((event.clientY - corner.top - board.y) / board.high), Math.floor((event.clientX - corner.left - board.x) / board.wide));
    };
    part.addEventListener("pointermove", here);
    part.addEventListener("pointerdown", here);
    part.addEventListener("click", event => { here(event); board.press?.(board.row, board.column); });
    part.addEventListener("focus", () => { if (part.matches(":focus-visible")) go(board.row, board.column, true); });
    part.addEventListener("blur", () => this.frame.point(null, true));
    part.addEventListener("keydown", event => {
      const step = {ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1], Home: [0, -1e9], End: [0, 1e9]}[event.key];
      if (step) { event.preventDefault(); go(board.row + step[0], board.column + step[1], true); }
      if (event.key === "Enter" || event.key === " ") { event.preventDefault(); board.press?.(board.row, board.column); }
    });
  }

  // Rows of values as one image, a pixel each.
  image(key, x, y, cell, values, colour) {
    const old = this.parts.get(key), rows = values.length, columns = values[0].length;
    const part = this.part(key, 0, "image", {transform: `translate(${x}px,${y}px)`, imageRendering: "pixelated", pointerEvents: "none"}, {width: columns * cell, height: rows * cell, preserveAspectRatio: "none"});
    if (old && old.values === values) return;
    part.values = values;
    const canvas = make("canvas", {width: columns, height: rows}), context = canvas.getContext("2d");
    const pixels = context.createImageData(columns, rows);
    values.forEach((row, r) => row.forEach((value, c) => pixels.data.set([...colour(value), 255], 4 * (r * columns + c))));
    context.putImageData(pixels, 0, 0);
    part.setAttribute("href", canvas.toDataURL());
  }

  /* A map: a row per query, a column per key. values: rows of numbers. hidden(row, column): hatched. text(value): what
     stands in a cell. sums: whether each row's sum stands beside it. row: the picked one, or -1. press(row): by its name. */
  map(key, x, y, cell, values, {names, keys, title = "", hidden = () => false, colour = weightColour, text = fixed, sums = true, row = -1, press = null, at = null, axes = ["query (attends)", "key (attended to)"]}) {
    const rows = names.length, columns = keys.length, wide = cell * columns, high = cell * rows;
    const [left, top] = margins(names, keys, cell);
    this.words(`${key} title`, x, y - top - TITLE / 2, title, {bold: true});
    this.words(`${key} keys`, x + wide / 2, y - top + 6, axes[1], {anchor: "middle", size: 11});
    this.words(`${key} queries`, x - left + 6, y + high / 2, axes[0], {anchor: "middle", size: 11, turn: -90});
    const lit = at && at.row !== undefined ? at : {};
    names.forEach((name, r) => {
      const look = {anchor: "end", size: 11, bold: r === row || r === lit.row, press: press && (() => press(r))};
      if (cell >= NAMED) this.words(`${key} query ${r}`, x - 5, y + (r + 0.5) * cell, short(name), look);
      if (sums && cell >= NAMED) this.words(`${key} sum ${r}`, x + wide + 6, y + (r + 0.5) * cell, fixed(sum(values[r].map((value, c) => hidden(r, c) ? 0 : value))), {size: 11, bold: r === lit.row});
    });
    keys.forEach((name, c) => {
      if (cell >= NAMED) this.words(`${key} key ${c}`, x + (c + 0.5) * cell + 2, y - 7, short(name), {size: 11, turn: cell < 24 ? -90 : -60, bold: c === lit.column});
    });
    if (sums && cell >= NAMED) this.words(`${key} sums`, x + wide + 6, y - 7, "sum", {size: 11});
    const image = Math.max(rows, columns) > MANY;
    if (image) this.image(`${key} image`, x, y, cell, values, colour);
    let hatch = "";
    values.forEach((line, r) => line.forEach((value, c) => {
      const [cx, cy] = [x + c * cell, y + r * cell], covered = hidden(r, c);
      if (covered) hatch += `M${cx} ${cy + cell - 1}L${cx + cell - 1} ${cy}`;
      if (!image) this.cell(`${key} ${r} ${c}`, cx, cy, cell, cell, covered ? [226, 226, 226] : colour(value), covered || cell < NUMBERED ? "" : text(value), cell < 34 ? 11 : 12);
      else if (covered) this.box(`${key} ${r} ${c}`, cx, cy, cell, cell, [226, 226, 226]);
    }));
    this.line(`${key} hatch`, hatch || "M0 0", {colour: "#6b6b6b", layer: 0});
    if (row >= 0) this.mark(`${key} row`, x, y + row * cell, wide - 1, cell - 1);
    if (lit.row !== undefined) {
      this.mark(`${key} lit row`, x, y + lit.row * cell, wide - 1, cell - 1, "#111");
      this.mark(`${key} lit column`, x + lit.column * cell, y, cell - 1, high - 1, "#111");
    }
    this.board(`${key} board`, x, y, cell, cell, rows, columns, title || "weights", (r, c) => ({map: key, row: r, column: c}), press);
    this.height = Math.max(this.height, y + high + 6);
  }

  /* Maps side by side, as large as the page has room for, and what their colours mean. maps: [{key, values, ...}].
     spots: for how many maps the height is, that it stays the same when some are hidden. widest: keys with the longest
     names that may come. */
  maps(maps, {names, keys = names, spots = maps.length, widest = keys, ...all}) {
    const place = (count, height) => fit(count, names, widest, this.width, height, LARGEST);
    const whole = place(spots, roomy(this.width)), tall = Math.ceil(spots / whole.across) * whole.high;
    const layout = maps.length === spots ? whole : place(maps.length, tall);
    maps.forEach(({key, values, ...own}, spot) => this.map(key, ...corner(layout, spot), layout.cell, values, {names, keys, ...all, ...own}));
    this.height = tall;
    if (maps.some(({colour}) => !colour)) this.scale(24, tall + 4);
  }

  // What colours of weights mean.
  scale(x, y, width = 120) {
    range(40).forEach(step => this.box(`scale step ${step}`, x + step * width / 40, y, width / 40 + 0.5, 10, weightColour(step / 39)));
    this.words("scale 0", x - 4, y + 5, "0", {anchor: "end", size: 11});
    this.words("scale 1", x + width + 4, y + 5, "1  weight", {size: 11});
    this.box("scale masked", x + width + 66, y, 14, 10, [226, 226, 226]);
    this.line("scale hatch", `M${x + width + 66} ${y + 10}L${x + width + 80} ${y}`, {colour: "#6b6b6b"});
    this.words("scale word", x + width + 84, y + 5, "masked", {size: 11});
    this.height = Math.max(this.height, y + 16);
  }
}

// Room that a map needs on its left and on top, for names and axis names.
export function margins(names, keys, cell) {
  if (cell < NAMED) return [20, 20];
  return [longest(names) + 22, Math.ceil(longest(keys) * (cell < 24 ? 1 : 0.87)) + 22];
}

// How many maps stand side by side, and the size of a cell, so that they fill a width and a height as well as they can.
export function fit(maps, names, keys, width, height, largest) {
  for (let cell = largest; ; cell -= cell > 2 ? 1 : 0.25) {
    const [left, top] = margins(names, keys, cell), wide = left + keys.length * cell + (cell < NAMED ? 8 : SUMS), high = TITLE + top + names.length * cell + 8;
    const across = Math.min(maps, Math.floor(width / wide));
    if (across && Math.ceil(maps / across) * high <= height || cell === 1) return {cell, across: Math.max(across, 1), left, top, wide, high};
  }
}
export const roomy = width => width < 700 ? 4000 : 420;  // a narrow screen scrolls anyway
export const corner = ({across, wide, high, left, top}, place) => [place % across * wide + left, Math.floor(place / across) * high + TITLE + top];

// --- the page around it -----------------------------------------------------------------------------------------------

/* Start every figure of this kind that stands in the page and was not started. Each root holds its data. */
export function start({render}, kind) {
  for (const root of document.querySelectorAll(`.course-figure[data-figure="${kind}"]:not([data-started])`)) {
    root.dataset.started = "";
    const data = JSON.parse(root.querySelector("script").textContent);
    render({model: {get: name => data[name]}, el: root});
  }
}

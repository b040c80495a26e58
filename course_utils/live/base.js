// What all figures share: the frame with its controls and its sentence, a picture whose parts keep their identity from
// one state to the next, and maps. A figure's own module says what to draw for a state. Lengths are CSS pixels.

const NS = "http://www.w3.org/2000/svg";
const WIDEST = 860, PADDING = 8;
const LETTER = 7.1, LONGEST = 12;  // width of a letter; letters of a name that are shown
const NAMED = 13, NUMBERED = 30;  // cells of at least this size have names beside them (else the sentence names them), and numbers in them
const LARGEST = 44;  // a cell of a map
const MANY = 16;  // a map with more rows or columns is one image
const SUMS = 46, TITLE = 20;  // room for row sums, and for the title above a map
const NUMBER = 52;  // room for the number beside a bar

const VIRIDIS = ["#440154", "#482878", "#3e4989", "#31688e", "#26828e", "#1f9e89", "#35b779", "#6ece58", "#b5de2b", "#fde725"];
const PURPLE_ORANGE = ["#2d004b", "#542788", "#8073ac", "#b2abd2", "#d8daeb", "#f7f7f7", "#fee0b6", "#fdb863", "#e08214", "#b35806", "#7f3b08"];
export const DEPENDS = yes => yes ? [8, 81, 156] : [247, 251, 255];
export const DEPENDENCIES = {title: "dependency matrix", axes: ["output of", "input of"], sums: false};
export const MARK = "#c2410c", LIT = "#111";  // what is picked, and what is pointed at, inside a white line
export const FAINT = "#8a8f98";
const MASKED = [226, 226, 226];
const HATCH = {colour: "#6b6b6b", layer: 0};

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
.course-live svg{display:block;overflow:visible;fill:currentColor;forced-color-adjust:none;user-select:none;font-size:12px}
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
export const named = (query, key) => `query "${query}", key "${key}": `;
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

export const hear = (element, acts) => Object.entries(acts).forEach(([name, act]) => element.addEventListener(name, act));

// Controls. Each is {element, show(value, state)}; its value in the state has the control's name.
const label = (...parts) => make("label", {}, ...parts);
const KINDS = {
  select(text, names, all) {  // the value is a place, -1 for what `all` calls all of them
    const options = names.map((name, value) => make("option", {value}, name));
    const list = make("select", {}, ...all ? [make("option", {value: -1}, all)] : [], ...options);
    return {element: label(text, list), show: value => { list.value = value; }};
  },
  radio(text, options) {  // the value is a place
    const name = `course-live-${Math.random()}`;  // the buttons of all figures in a page, whose scripts know of no other
    const inputs = options.map((_, value) => make("input", {type: "radio", name, value}));
    const buttons = inputs.map((input, place) => label(input, options[place]));
    return {element: make("fieldset", {}, make("legend", {}, text), ...buttons), show: value => { inputs[value].checked = true; }};
  },
  check(text) {
    const input = make("input", {type: "checkbox"});
    return {element: label(input, text), show: value => { input.checked = value; }};
  },
  slide(text, [min, high, step]) {  // high: a number, or what makes it of the state
    const input = make("input", {type: "range", min, step}), shown = make("output");
    const show = (wanted, state) => {
      input.max = typeof high === "function" ? high(state) : high;
      input.value = wanted;  // or the highest
      shown.textContent = step < 1 ? fixed(+input.value, step < 0.1 ? 2 : 1) : input.value;
      input.setAttribute("aria-valuetext", `${text}: ${shown.textContent}`);
    };
    return {element: label(text, input, shown), show};
  },
};

/* What a module exports. describe({...}) takes the figure's numbers by their names and gives
   controls: {name: [kind, label, first value, ...options]}. more: what else the figure's own parts change, plain data.
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

  const made = Object.entries(controls).map(([name, [kind, text, first, ...options]]) => {
    const {element, show} = KINDS[kind](text, ...options);
    state[name] = first;
    hear(element, {input: ({target}) => change({[name]: target.type === "checkbox" ? target.checked : +target.value})});
    element.dataset.control = name;
    bar.append(element);
    return [name, show];
  });
  const start = JSON.stringify(state), back = make("button", {type: "button"}, "put everything back");
  hear(back, {click: () => change(JSON.parse(start))});
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
    for (const [name, show] of made) show(state[name], state);
    page.begin(width);
    const words = draw(page, state, at), sentence = words[0].toUpperCase() + words.slice(1);
    page.end();
    if (said.textContent !== sentence) said.textContent = sentence;
  }
  // JupyterLab takes arrow keys unless the element that has the focus forbids it; Control-S is for JupyterLab
  addEventListener("keydown", event => {
    if (root.contains(event.target)) event.target.toggleAttribute("data-lm-suppress-shortcuts", !(event.ctrlKey || event.metaKey));
  }, true);
  hear(root, {keydown: event => {  // what a figure uses is not for the notebook around it
    if (event.key === "Escape") { focused = null; point(null); }
    if (/^(Arrow.*|Home|End| |Enter|Page.*)$/.test(event.key)) event.stopPropagation();
  }});
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
    Object.assign(this, {svg, ...frame, parts: new Map(), boards: new Map()});
    this.layers = range(4).map(() => svg.appendChild(document.createElementNS(NS, "g")));
    hear(svg, {pointerleave: () => frame.point(null)});
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

  // Words below each other, each in a row of this height. bold: the rows that stand out. press(row): by its word.
  column(key, x, y, high, texts, {bold = [], press, ...look} = {}) {
    texts.forEach((text, row) => this.words(`${key} ${row}`, x, y + (row + 0.5) * high, text, {
      anchor: "end", bold: bold.includes(row), press: press && (() => press(row)), ...look,
    }));
  }

  // Numbers below each other: a bar from 0, which ends at low and high, empty if below 0, and the number; null is none.
  bars(key, x, y, wide, high, values, {low = 0, reach = 1, colour = () => [138, 143, 152], digits = 2} = {}) {
    const place = value => x + (limit(value, low, reach) - low) / (reach - low || 1) * (wide - NUMBER), zero = place(0);
    values.forEach((value, row) => value !== null && this.box(`${key} ${row}`, Math.min(zero, place(value)), y + row * high + 4,
      Math.max(1, Math.abs(place(value) - zero)), high - 8, value < 0 ? "transparent" : colour(value), "currentColor"));
    this.column(`${key} number`, x + wide - 6, y, high, values.map(value => value === null ? "" : fixed(value, digits)));
    this.line(`${key} zero`, `M${zero} ${y}v${high * values.length}`);
  }

  /* Rows of cells; what is undefined is left out. colour(value), text(value): of a cell. hidden(row, column): hatched.
     image: draw them as one. label: what the board over them is called. */
  grid(part, x, y, wide, high, values, {colour = weightColour, text = fixed, hidden = () => false, size = 12, image, label, press}) {
    const filled = (value, row, column) => hidden(row, column) ? MASKED : colour(value);
    let hatch = "";
    if (image) this.image(part, x, y, wide, values, filled);
    values.forEach((line, row) => line.forEach((value, column) => {
      if (value === undefined) return;
      const [left, top] = [x + column * wide, y + row * high], covered = hidden(row, column);
      if (covered) hatch += `M${left} ${top + high - 1}L${left + wide - 1} ${top}`;
      if (image) return;
      const fill = filled(value, row, column), written = covered ? "" : text(value), key = `${part} ${row} ${column}`;
      this.box(key, left, top, wide - 1, high - 1, fill);
      if (written) this.words(`${key} text`, left + (wide - 1) / 2, top + high / 2, written, {anchor: "middle", fill: ink(fill), size});
    }));
    this.line(`${part} hatch`, hatch || "M0 0", HATCH);
    this.board(part, x, y, wide, high, values.length, values[0].length, label, press);
  }

  // A frame around a cell of a board, around a row, a column or all of it: of what is picked, and of what is pointed at.
  pick(part, row, column) { this.around(`${part} picked`, part, row, column, MARK); }
  light(part, row, column) { this.around(`${part} lit ${row} ${column}`, part, row, column, LIT); }
  around(key, part, row, column, colour) {
    const {x, y, wide, high, rows, columns} = this.boards.get(part);
    const span = (start, step, count, place) => place === undefined ? [start, count * step - 1] : [start + place * step, step - 1];
    const [[left, width], [top, height]] = [span(x, wide, columns, column), span(y, high, rows, row)];
    this.mark(key, left, top, width, height, colour);
  }

  // Cells that are pointed at, tapped, and walked through with arrow keys: one tab stop. Without a label they are only
  // known by their places. press(row, column).
  board(key, x, y, wide, high, rows, columns, label, press) {
    const known = this.boards.get(key), board = Object.assign(known || {row: 0, column: 0}, {x, y, wide, high, rows, columns, press});
    this.boards.set(key, board);
    if (!label) return;
    const part = this.part(`${key} board`, 3, "rect", {
      transform: `translate(${x}px,${y}px)`, width: `${columns * wide}px`, height: `${rows * high}px`, fill: "transparent",
      cursor: press ? "pointer" : "crosshair", transition: "none",
    }, {tabindex: 0, role: "application", "aria-label": `${label}. Arrow keys walk through it.`, "data-cells": `${rows} ${columns}`});
    if (part.board) return;
    part.board = board;
    const go = (row, column, byFocus) => {
      board.row = limit(row, 0, board.rows - 1); board.column = limit(column, 0, board.columns - 1);
      this.point({part: key, row: board.row, column: board.column}, byFocus);
    };
    const here = event => {
      const corner = this.svg.getBoundingClientRect();
      go(Math.floor((event.clientY - corner.top - board.y) / board.high), Math.floor((event.clientX - corner.left - board.x) / board.wide));
    };
    hear(part, {
      pointermove: here, pointerdown: here,
      click: event => { here(event); board.press?.(board.row, board.column); },
      focus: () => { if (part.matches(":focus-visible")) go(board.row, board.column, true); },
      blur: () => this.point(null, true),
      keydown: event => {
        const step = {ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1], Home: [0, -1e9], End: [0, 1e9]}[event.key];
        if (step) { event.preventDefault(); go(board.row + step[0], board.column + step[1], true); }
        if (event.key === "Enter" || event.key === " ") { event.preventDefault(); board.press?.(board.row, board.column); }
      },
    });
  }

  // Rows of values as one image, a pixel each. colour(value, row, column).
  image(key, x, y, cell, values, colour) {
    const rows = values.length, columns = values[0].length;
    const part = this.part(`${key} image`, 0, "image", {transform: `translate(${x}px,${y}px)`, imageRendering: "pixelated", pointerEvents: "none"}, {width: columns * cell, height: rows * cell, preserveAspectRatio: "none"});
    if (part.values === values) return;
    part.values = values;
    const canvas = make("canvas", {width: columns, height: rows}), context = canvas.getContext("2d");
    const pixels = context.createImageData(columns, rows);
    values.forEach((line, row) => line.forEach((value, column) => pixels.data.set([...colour(value, row, column), 255], 4 * (row * columns + column))));
    context.putImageData(pixels, 0, 0);
    part.setAttribute("href", canvas.toDataURL());
  }

  /* A map: a row per query, a column per key. values: rows of numbers. sums: whether each row's sum stands beside it.
     row: the picked one, or -1. press(row): by its name. at: the row and the column to light up. colour, ...: of a grid. */
  map(key, x, y, cell, values, {names, keys, title = key, sums = true, row = -1, at, axes = ["query (attends)", "key (attended to)"], ...look}) {
    const {hidden = () => false, text = fixed, press} = look, wide = cell * keys.length, high = cell * names.length;
    const [left, top] = margins(names, keys, cell), lit = at || {};
    this.words(`${key} title`, x, y - top - TITLE / 2, title, {bold: true});
    this.words(`${key} keys`, x + wide / 2, y - top + 6, axes[1], {anchor: "middle", size: 11});
    this.words(`${key} queries`, x - left + 6, y + high / 2, axes[0], {anchor: "middle", size: 11, turn: -90});
    if (cell >= NAMED) {
      this.column(`${key} query`, x - 5, y, cell, names.map(short), {size: 11, bold: [row, lit.row], press});
      keys.forEach((name, place) => this.words(`${key} key ${place}`, x + (place + 0.5) * cell + 2, y - 7, short(name), {
        size: 11, turn: cell < 24 ? -90 : -60, bold: place === lit.column,
      }));
    }
    if (sums && cell >= NAMED) {
      const totals = values.map((line, query) => fixed(sum(line.filter((_, place) => !hidden(query, place)))));
      this.column(`${key} sum`, x + wide + 6, y, cell, totals, {anchor: "start", size: 11, bold: [lit.row]});
      this.words(`${key} sums`, x + wide + 6, y - 7, "sum", {size: 11});
    }
    this.grid(key, x, y, cell, cell, values, {...look, label: title, image: Math.max(names.length, keys.length) > MANY, text: cell < NUMBERED ? () => "" : text, size: cell < 34 ? 11 : 12});
    if (row >= 0) this.pick(key, row);
    if (at) { this.light(key, at.row); this.light(key, undefined, at.column); }
  }

  /* Maps side by side, as large as there is room for right of x and below y, and what their colours mean. maps: [{key,
     values, ...}]. spots: for how many maps the height is, that it stays the same when some are hidden. widest: keys with
     the longest names that may come. */
  maps(maps, {names, keys = names, spots = maps.length, widest = keys, x = 0, y = 0, ...all}) {
    const place = (count, height) => fit(count, names, widest, this.width - x, height);
    const whole = place(spots, this.width < 700 ? 4000 : 420), tall = Math.ceil(spots / whole.across) * whole.high;  // a narrow screen scrolls anyway
    const {across, wide, high, left, top, cell} = maps.length === spots ? whole : place(maps.length, tall);
    maps.forEach(({key, values, ...own}, spot) => this.map(key, x + spot % across * wide + left, y + Math.floor(spot / across) * high + TITLE + top, cell, values, {names, keys, ...all, ...own}));
    this.height = y + tall;
    if (maps.some(({colour}) => !colour)) this.scale(x + 24, this.height + 4);
  }

  // What colours of weights mean.
  scale(x, y) {
    range(40).forEach(step => this.box(`scale step ${step}`, x + step * 3, y, 3.5, 10, weightColour(step / 39)));
    this.words("scale 0", x - 4, y + 5, "0", {anchor: "end", size: 11});
    this.words("scale 1", x + 124, y + 5, "1  weight", {size: 11});
    this.box("scale masked", x + 186, y, 14, 10, MASKED);
    this.line("scale hatch", `M${x + 186} ${y + 10}L${x + 200} ${y}`, HATCH);
    this.words("scale word", x + 204, y + 5, "masked", {size: 11});
    this.height = y + 16;
  }
}

// Room that a map needs on its left and on top, for names and axis names.
function margins(names, keys, cell) {
  if (cell < NAMED) return [20, 20];
  return [longest(names) + 22, Math.ceil(longest(keys) * (cell < 24 ? 1 : 0.87)) + 22];
}

// How many maps stand side by side, and the size of a cell, so that they fill a width and a height as well as they can.
function fit(maps, names, keys, width, height) {
  for (let cell = LARGEST; ; cell -= cell > 2 ? 1 : 0.25) {
    const [left, top] = margins(names, keys, cell), wide = left + keys.length * cell + (cell < NAMED ? 8 : SUMS), high = TITLE + top + names.length * cell + 8;
    const across = Math.min(maps, Math.floor(width / wide));
    if (across && Math.ceil(maps / across) * high <= height || cell === 1) return {cell, across: Math.max(across, 1), left, top, wide, high};
  }
}

// --- the page around it -----------------------------------------------------------------------------------------------

/* Start every figure of this kind that stands in the page and was not started. Each root holds its data. */
export function start({render}, kind) {
  for (const root of document.querySelectorAll(`.course-figure[data-figure="${kind}"]:not([data-started])`)) {
    root.dataset.started = "";
    const data = JSON.parse(root.querySelector("script").textContent);
    render({model: {get: name => data[name]}, el: root});
  }
}

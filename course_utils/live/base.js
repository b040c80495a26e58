// What all figures share: the frame with its controls and its sentence, and a picture whose parts keep their identity
// from one state to the next. A figure's own module says what to draw for a state. Lengths are CSS pixels.

const NS = "http://www.w3.org/2000/svg";
const WIDEST = 860, PADDING = 8;
const LETTER = 7.1, LONGEST = 12;  // width of a letter; letters of a name that are shown

// Colours as [red, green, blue].
export const colours = names => names.split(" ").map(name => [1, 3, 5].map(place => parseInt(name.slice(place, place + 2), 16)));
const VIRIDIS = colours("#440154 #482878 #3e4989 #31688e #26828e #1f9e89 #35b779 #6ece58 #b5de2b #fde725");
export const MARK = "#c2410c";  // what is picked, inside a white line
const LIT = "#111";  // what is pointed at
export const FAINT = "#8a8f98";
export const MASKED = [226, 226, 226];
export const HATCH = {colour: "#6b6b6b", layer: 0};

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
export const chunks = (list, size) => range(Math.ceil(list.length / size)).map(place => list.slice(place * size, (place + 1) * size));
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

export function between(stops, share) {
  const place = limit(share || 0, 0, 1) * (stops.length - 1), left = Math.min(Math.floor(place), stops.length - 2);
  return stops[left].map((part, k) => Math.round(part + (place - left) * (stops[left + 1][k] - part)));
}
export const weightColour = value => between(VIRIDIS, value);
export function ink(colour) {
  const linear = colour.map(part => (part /= 255) <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
  return dot(linear, [0.2126, 0.7152, 0.0722]) > 0.179 ? "#000" : "#fff";
}
const css = colour => typeof colour === "string" ? colour : `rgb(${colour})`;

// --- the frame --------------------------------------------------------------------------------------------------------

export function make(tag, attributes = {}, ...children) {
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
      shown.textContent = fixed(+input.value, `${step}`.slice(2).length);  // as many decimals as a step has
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

  /* Rows of cells; what is undefined is left out. colour(value), text(value): of a cell. hidden(row, column): hatched.
     drawn: without the cells. label: what the board over them is called. */
  grid(part, x, y, wide, high, values, {colour = weightColour, text = fixed, hidden = () => false, size = 12, drawn, label, press}) {
    let hatch = "";
    values.forEach((line, row) => line.forEach((value, column) => {
      if (value === undefined) return;
      const [left, top] = [x + column * wide, y + row * high], covered = hidden(row, column);
      if (covered) hatch += `M${left} ${top + high - 1}L${left + wide - 1} ${top}`;
      if (drawn) return;
      const fill = covered ? MASKED : colour(value), written = covered ? "" : text(value), key = `${part} ${row} ${column}`;
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

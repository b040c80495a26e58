// What all figures share: the frame with its controls and its sentence, and a picture whose parts keep their identity
// from one state to the next. A figure's own module says what to draw for a state. Lengths are CSS pixels.

export const LETTER = 7.1; // width
const LONGEST = 12; // most letters of a name shown

// Colours as [red, green, blue].
export const colours = (names) => names.split(" ").map((name) => name.match(/../g).map((part) => parseInt(part, 16)));
const VIRIDIS = colours("440154 482878 3e4989 31688e 26828e 1f9e89 35b779 6ece58 b5de2b fde725");
const BEYOND = colours("f7931e d3311d"); // of weights from just above 1 to 3, which no softmax gives
export const NAN = [204, 0, 102];
// What colours mean in all figures: blue is right, orange wrong, red what must not be seen, green and purple are numbers above
// and below 0, a black frame inside a white line is what is picked, and a thin one what is pointed at.
export const MARK = "#c2410c", RIGHT = "#0072b2", PICKED = "#000;stroke-width:2.5", LIT = "#111;stroke-width:1.5";
export const HEADS = colours("0072b2 d55e00 009e73 cc79a7 56b4e9 e69f00 8c6bb1 999999"); // a colour for each head
export const FAINT = "#8a8f98";
// A fourth number is how much of the page's own colour is covered, so that grey is never the brightest in a dark theme.
export const MASKED = [128, 128, 128, 0.3], EMPTY = [128, 128, 128, 0.1], LEAK = [197, 22, 34];

// Text styles, as CSS; they can be concatenated.
export const [BOLD, MIDDLE, END] = [";font-weight:bold", ";text-anchor:middle", ";text-anchor:end"];
export const SMALL = ";font-size:11px"; // where a line would not fit

const FRAME = `<div class="course-live"><style>
.course-live{box-sizing:border-box;max-width:1000px;padding:8px;font:13px/1.4 var(--jp-ui-font-family,system-ui,sans-serif);
 color:var(--jp-content-font-color0,var(--vscode-editor-foreground,CanvasText));background:var(--jp-layout-color0,var(--vscode-editor-background,Canvas));color-scheme:light dark}
[data-jp-theme-light=true] .course-live{color-scheme:light}
[data-jp-theme-light=false] .course-live{color-scheme:dark}
.course-live .controls{display:flex;flex-wrap:wrap;gap:2px 16px;align-items:center}
.course-live fieldset{display:flex;flex-wrap:wrap;gap:0 10px;align-items:center;border:0;margin:0;padding:0;min-width:0}
.course-live legend{float:left;padding:0;margin:0 10px 0 0;font:inherit;width:auto}
.course-live label{display:flex;gap:5px;align-items:center;min-height:28px}
.course-live select,.course-live button{font:inherit;color:inherit;background:inherit;border:1px solid;border-radius:4px;min-height:28px;max-width:20em}
.course-live input{margin:0;accent-color:#0072b2}
.course-live input[type=range]{width:120px;height:24px}
.course-live output{min-width:2.6em}
.course-live .line{width:100%}
.course-live [type=text],.course-live [type=number],.course-live textarea{font:inherit;color:inherit;background:inherit;border:1px solid;border-radius:4px;min-height:26px;padding:0 5px;flex:1;min-width:0;max-width:36em}
.course-live [type=number]{width:6em}
.course-live .copy{margin-top:6px}
.course-live [hidden]{display:none}
.course-live button:only-child{display:none}
.course-live .said{overflow-wrap:anywhere;margin:6px 0 0;font:inherit;color:inherit}
.course-live .said::first-letter{text-transform:uppercase}
.course-live svg{direction:ltr;display:block;width:100%;overflow:visible;fill:currentColor;forced-color-adjust:none;user-select:none;font-size:12px}
.course-live svg *{transition:translate var(--travel,.2s),width .2s,height .2s,fill .2s,d .2s,stroke-width .2s;pointer-events:none}
.course-live svg text{dominant-baseline:central}
.course-live svg g:nth-child(3) *{fill:none;stroke:currentColor}
.course-live svg g:last-child *{pointer-events:auto;cursor:pointer}
.course-live svg [tabindex]{fill:transparent;transition:none}
.course-live svg :focus:not(:focus-visible){outline:none}
.course-live svg:active *{transition:none}
.course-live :focus-visible{outline:3px solid #c2410c;outline-offset:1px;box-shadow:0 0 0 1px #fff}
@media(prefers-reduced-motion:reduce){.course-live svg *{transition:none}}
@media(forced-colors:active){.course-live,.course-live svg{color:CanvasText}.course-live :focus-visible{outline-color:Highlight}}
</style><form class="controls" method="dialog"><button type="button">Reset</button></form>
<svg><g></g><g></g><g></g><g></g></svg><p class="said" aria-live="polite"></p><label class="copy" hidden>copy this: <textarea readonly rows="2" onfocus="this.select()"></textarea></label></div>`;

// --- numbers, names and colours ---------------------------------------------------------------------------------------

export const sum = (values) => values.reduce((total, value) => total + value, 0);
export const dot = (a, b) => sum(a.map((value, place) => value * b[place]));
export const range = (size) => [...Array(size).keys()];
export const chunks = (list, size) =>
  range(Math.ceil(list.length / size)).map((place) => list.slice(place * size, (place + 1) * size));
export const transposed = (rows) => rows[0].map((_, column) => rows.map((row) => row[column]));
export const most = (values) => values.indexOf(Math.max(...values));
export const limit = (value, low, high) => Math.min(high, Math.max(low, value));
export const SEEN = 0.005; // the least that is named
const NEARLY = 0.7, FEW = 2; // what gets nearly as much as the first is named with it, unless there are too many
export const leading = (weights) => range(weights.length).filter((key) => weights[key] > NEARLY * Math.max(...weights));

// The most-read words, in a few words.
export function found(words, weights) {
  const top = Math.max(...weights), best = leading(weights);
  if (top < SEEN) return "nothing";
  if (best.length > FEW) return `${best.length < words.length ? "many" : "all"} words about equally`;
  return [...new Set(best.map((key) => `“${words[key]}”`))].join(" and ") +
    (sum(best.map((key) => weights[key])) < 0.5 ? " most" : "");
}

// Prints as Python and torch do: ties go to the even digit (toFixed rounds them up), and nan is in lower case.
export function fixed(value, digits = 2) {
  const raised = value.toFixed(digits), half = Math.abs(value) * 2 ** (digits + 1) % 2 === 1;
  return (half && raised.at(-1) % 2 ? (value * (1 - 1e-9)).toFixed(digits) : raised).toLowerCase();
}
// Sentences: their numbers with two decimals, or with four.
const decimals = (digits) => (texts, ...values) =>
  String.raw({ raw: texts }, ...values.map((value) => typeof value === "number" ? fixed(value, digits) : value));
export const [say, exactly] = [2, 4].map(decimals);
export const short = (name) => name.length > LONGEST ? [...name].slice(0, LONGEST - 1).join("") + "…" : name;
// Names without the position that tells equal ones apart: "saw (6)" is "saw".
export const unnumbered = (name) => name.replace(/ \(\d+\)$/, "");
// A bold text that fits, or its end.
export const ending = (text, wide) =>
  1.1 * LETTER * text.length < wide ? text : `…${text.slice(1 - Math.floor(wide / LETTER / 1.1))}`;
// Room for names, in pixels.
export const longest = (names) => Math.ceil(LETTER * Math.max(...names.map((name) => short(name).length)));

// The place of the next block: beside the last, or on a new line if that one is full.
export function flow(room, left, high) {
  let x = left, y = 0;
  return (wide) => {
    if (x > left && x + wide > room) {
      x = left;
      y += high;
    }
    x += wide;
    return { x: x - wide, y };
  };
}

export function softmax(scores) {
  const top = Math.max(...scores),
    exponentials = scores.map((score) => Math.exp(score - top)),
    total = sum(exponentials);
  return exponentials.map((value) => value / total);
}

export function between(stops, share) {
  const place = limit(share || 0, 0, 1) * (stops.length - 1), left = Math.floor(place), right = stops[Math.ceil(place)];
  return stops[left].map((part, k) => Math.round(part + (place - left) * (right[k] - part)));
}
export const weightColour = (value) =>
  isNaN(value) ? NAN : value > 1 + 1e-9 ? between(BEYOND, (value - 1) / 2) : between(VIRIDIS, value);
export function ink(colour) {
  if (colour.length > 3) return "currentColor";
  const linear = colour.map((part) => ((part / 255 + 0.055) / 1.055) ** 2.4);
  return dot(linear, [0.2126, 0.7152, 0.0722]) > 0.179 ? "#000" : "#fff";
}

// --- the frame --------------------------------------------------------------------------------------------------------

// Controls, named after values in the state. The value of a list or of buttons is an index.
const KINDS = {
  select: (name, text) => `<label>${text}<select name="${name}"></select></label>`,
  radio: (name, text, options) =>
    `<fieldset><legend>${text}</legend>${
      options.map((option, value) => `<label><input type="radio" name="${name}" value="${value}">${option}</label>`)
        .join("")
    }</fieldset>`,
  text: (name, text) => `<label class="line">${text} <input type="text" name="${name}"></label>`,
  number: (name, _text, most) =>
    `<label><span></span> <input type="number" name="${name}" step="any" min="${-most}" max="${most}"></label>`,
  check: (name, text) => `<label><input type="checkbox" name="${name}">${text}</label>`,
  slide: (name, text, max, min = 0, step = 1) =>
    `<label>${text} <input type="range" name="${name}" min="${min}" max="${max}" step="${step}"><output></output></label>`,
};

const field = ({ type }) => type === "checkbox" ? "checked" : "value";

/* What a module exports. describe({...}) takes the figure's numbers by their names and gives
   controls: {name: [kind, label, first value, ...options]}. more: what else the figure's own parts change, plain data.
   draw(page, state, at) draws a state, the values of controls and more, and gives its sentence; `at` is what the reader
   points at, or null. letters: of the longest sentence, so that the height stays the same. */
export const figure = (describe) => ({ render: ({ model, el }) => show(el, describe(model.get("data"))) });

// Names in the sentence that are written from right to left do not turn the words around them.
const isolated = (sentence) => sentence.replace(/[\u0590-\u08ff]+(\s+[\u0590-\u08ff]+)*/g, "\u2068$&\u2069");

function show(el, { controls = {}, more, draw, letters, copies }) {
  el.innerHTML = FRAME;
  el.querySelector(".copy").hidden = !copies;
  const [bar, svg, said] = el.querySelectorAll("form, svg, p"), page = picture(svg, { change, point, controls: bar });
  const state = { ...more };
  let at = null, focused = null;

  for (const name in controls) {
    const [kind, text, first, ...options] = controls[name];
    bar.lastChild.insertAdjacentHTML("beforebegin", KINDS[kind](name, text, ...options));
    if (kind === "select") { // a learner may write the words, so they are text, not HTML; -1 means all, if offered
      if (first < 0) bar[name].add(new Option("all", first));
      options[0].forEach((option, place) => bar[name].add(new Option(option, place)));
    }
    state[name] = first;
  }
  const start = { ...state };
  bar.lastChild.onclick = () => change(start);
  bar.oninput = ({ target }) => {
    const value = target[field(target)];
    if (target.validity.valid) change({ [target.name]: target.type === "text" ? value : +value });
  };

  function change(news) {
    Object.assign(state, news);
    redraw();
  }
  function point(place, byFocus) {
    if (byFocus) focused = place;
    const next = place || focused;
    if (JSON.stringify(next) !== JSON.stringify(at)) {
      at = next;
      redraw();
    }
  }
  function redraw() {
    page.width = bar.clientWidth;
    if (!page.width) return; // hidden
    const sentence = page.draw(() => draw(page, state, at));
    if (at && !page.shows(at.part)) { // a control took away what was pointed at
      at = focused = null;
      return redraw();
    }
    for (const name in controls) {
      const control = bar[name], idle = page.idle?.includes(name) ?? false;
      for (const each of control.length && !control.options ? control : [control]) each.disabled = idle;
      if (control.type === "number" && control === document.activeElement && +control.value === state[name]) continue;
      control[field(control)] = state[name]; // a slider clamps it
      if (control.type !== "range") continue;
      // what a figure says of it, or as many decimals as a step has
      control.nextSibling.value = page.shown?.[name] ?? fixed(+control.value, control.step.slice(2).length);
      control.ariaValueText = control.parentNode.textContent;
    }
    if (said.textContent !== isolated(sentence)) said.textContent = isolated(sentence);
    if (copies) el.querySelector("textarea").value = page.copied;
    said.style.minHeight = `${Math.ceil(letters * LETTER / page.width) * 1.4}em`;
  }
  // Jupyter takes arrow keys unless the very element that has the focus forbids it; Control-S is for Jupyter
  for (const name of ["focusin", "keydown", "keyup"]) {
    el.addEventListener(
      name,
      (event) => event.target.toggleAttribute("data-lm-suppress-shortcuts", !event.ctrlKey && !event.metaKey),
    );
  }
  el.onkeydown = (event) => { // keys that a figure uses must not reach the notebook
    if (event.key === "Escape") point(null, true);
    if (/^(Arrow.*|Home|End| |Enter|Page.*)$/.test(event.key)) event.stopPropagation();
  };
  new ResizeObserver(redraw).observe(el);
}

// --- the picture ------------------------------------------------------------------------------------------------------

const WALK = {
  ArrowUp: [-1],
  ArrowDown: [1],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
  Home: [0, -1e9],
  End: [0, 1e9],
  Enter: [],
  " ": [],
};

const NUDGE = { "+": [0, 0, 0.1], "-": [0, 0, -0.1], PageUp: [0, 0, 1], PageDown: [0, 0, -1] };

// What figures draw on: a module's `draw` takes it as page, and sets its height. change(news): sets state. Layers, the
// <g> in FRAME: 0 cells, 1 words, 2 lines and frames, 3 what takes the pointer and the focus.
function picture(svg, { change, point, controls }) {
  let frames; // how each board is framed: (name, colour, row, column)
  const page = {
    change,
    controls,
    shows: (key) => key in frames,
    draw,
    part,
    box,
    words,
    line,
    heading,
    mark,
    column,
    grid,
    pick,
    light,
    board,
  };
  let parts = new Map(), before;
  svg.onpointerleave = () => point(null);

  function draw(act) {
    [before, parts, frames] = [parts, new Map(), {}];
    const words = act();
    before.forEach((part, key) => parts.has(key) || part.remove());
    svg.style.height = `${page.height}px`;
    return words;
  }

  // A part of the picture: made once for its key, then changed where it differs.
  function part(key, layer, tag, look, attributes = {}, text = "") {
    const made = parts.get(key) || before.get(key) ||
      svg.children[layer].appendChild(document.createElementNS("http://www.w3.org/2000/svg", tag));
    parts.set(key, made);
    if (made.look !== look) made.style.cssText = made.look = look;
    for (const name in attributes) made.setAttribute(name, attributes[name]);
    if (made.textContent !== text) made.textContent = text;
    return made;
  }

  function box(key, x, y, wide, high, look, layer = 0, attributes) {
    return part(key, layer, "rect", `translate:${x}px ${y}px;width:${wide}px;height:${high}px;${look}`, attributes);
  }

  // key: for moving words. press(): called on a click.
  function words(x, y, text, look = "", key = `${x} ${y}`, press = null) {
    part(`words ${key}`, press ? 3 : 1, "text", `translate:${x}px ${y}px${look}`, {}, `${text}`).onclick = press;
  }

  // key: for a moving line.
  function line(d, look = "", key = d) {
    part(key, 2, "path", look, { d });
  }

  // A title, and more about it below.
  function heading(x, y, title, below) {
    words(x, y + 9, title, BOLD);
    words(x, y + 26, below);
  }

  // A frame that stands out on every colour, dark in a white line; around the cells, not on them.
  function mark(key, x, y, wide, high, colour = PICKED) {
    for (const [name, look] of [[`${key} white`, "#fff;stroke-width:4.5"], [key, colour]]) {
      box(name, x - 1.5, y - 1.5, wide + 3, high + 3, `stroke:${look}`, 2);
    }
  }

  // Words below each other, each in a row of this height. bold: the rows that stand out. press(row): on a click.
  function column(x, y, high, texts, bold = [], press = null, look = END) {
    texts.forEach((text, row) =>
      words(
        x,
        y + (row + 0.5) * high,
        text,
        look + (bold.includes(row) ? BOLD : ""),
        undefined,
        press && (() => press(row)),
      )
    );
  }

  /* Rows of cells; undefined ones are left out. colour, text(value, row, column): of a cell. hidden(row, column):
     hatched, on the colour masked. drawn: omit the cells. label: of the board over them. id(value, row, column): identifies a moving cell. */
  function grid(
    key,
    x,
    y,
    wide,
    high,
    values,
    {
      colour = weightColour,
      text = (value) => fixed(value),
      hidden = () => false,
      masked = MASKED,
      drawn,
      label,
      press,
      edit,
      id = (_, row, column) => `${key} ${row} ${column}`,
    },
  ) {
    let hatch = "M0 0";
    values.forEach((line, row) =>
      line.forEach((value, column) => {
        if (value === undefined) return;
        const left = x + column * wide, top = y + row * high, covered = hidden(row, column);
        if (covered) hatch += `M${left} ${top + high - 1}L${left + wide - 1} ${top}`;
        if (drawn) return;
        const fill = covered ? masked : colour(value, row, column), cell = id(value, row, column);
        box(cell, left, top, wide - 1, high - 1, `fill:rgb(${fill})`);
        words(
          left + (wide - 1) / 2,
          top + high / 2,
          covered ? "" : text(value, row, column),
          `${MIDDLE};fill:${ink(fill)};font-size:${wide < 30 ? 11 : 12}px`,
          cell,
        );
      })
    );
    line(hatch, "stroke:#808080", `${key} hatch`);
    board(key, x, y, wide, high, values.length, values[0].length, label, press, edit);
  }

  // Frames a cell, row, column or all of a board: `pick` for what is picked, `light` for what is pointed at.
  function pick(key, row, column) {
    frames[key]("picked", PICKED, row, column);
  }
  function light(key, row, column) {
    frames[key]?.(`lit ${row} ${column}`, LIT, row, column);
  }

  // Cells to point at, tap, and move through with arrow keys: one tab stop. Without a label they only have places.
  // press(row, column). edit(row, column, by): a number there that is dragged, to the right or up, or changed with the
  // keys + and −.
  function board(key, x, y, wide, high, rows, columns, label, press, edit) {
    frames[key] = (name, colour, row, column) =>
      mark(
        `${key} ${name}`,
        x + (column || 0) * wide,
        y + (row || 0) * high,
        (column === undefined ? columns : 1) * wide - 1,
        (row === undefined ? rows : 1) * high - 1,
        colour,
      );
    if (!label) return;
    const go = (row, column, byFocus) => {
      cells.now = { part: key, row: limit(row, 0, rows - 1), column: limit(column, 0, columns - 1) };
      point(cells.now, byFocus);
    };
    const here = (event) => {
      const { left, top } = cells.getBoundingClientRect();
      go(Math.floor((event.clientY - top) / high), Math.floor((event.clientX - left) / wide));
    };
    const pressed = () => press && press(cells.now.row, cells.now.column);
    const steps = edit ? { ...WALK, ...NUDGE } : WALK;
    const cells = Object.assign(
      box(`${key} board`, x, y, columns * wide, rows * high, press ? "" : "cursor:crosshair", 3, {
        tabindex: 0,
        role: "application",
        "aria-label": `${label}. Arrow keys move within it${edit ? "; + and − change a number" : ""}.`,
        "data-cells": `${rows} ${columns}`,
      }),
      {
        onblur: () => point(null, true),
        onkeydown: (event) => {
          if (!(event.key in steps)) return;
          event.preventDefault();
          const [down = 0, right = 0, by = 0] = steps[event.key];
          go(cells.now.row + down, cells.now.column + right, true);
          if (by) edit(cells.now.row, cells.now.column, by);
          else if (!down && !right) pressed();
        },
        onpointermove: (event) => {
          if (!cells.drag || !cells.hasPointerCapture(event.pointerId)) return here(event);
          const { x, y, row, column } = cells.drag, by = event.clientX - x + y - event.clientY;
          cells.drag = { ...cells.drag, x: event.clientX, y: event.clientY };
          edit(row, column, by / 20);
        },
        onpointerdown: (event) => {
          here(event);
          const [x, y] = [event.clientX, event.clientY];
          cells.drag = edit && !event.button && { ...cells.now, x, y, start: [x, y] };
          if (!cells.drag) return;
          pressed();
          cells.setPointerCapture(event.pointerId);
        },
        onpointercancel: () => delete cells.drag,
        ontouchmove: (event) => { // a finger that goes sideways changes the number, one that goes up scrolls the page
          const [{ clientX: x, clientY: y }] = event.touches, { start } = cells.drag || {};
          if (start && Math.abs(x - start[0]) >= Math.abs(y - start[1])) event.preventDefault();
        },
        onclick: (event) => {
          here(event);
          pressed();
        },
        onfocus: () => {
          if (cells.matches(":focus-visible")) point(cells.now, true);
        },
      },
    );
    cells.now ||= { part: key, row: 0, column: 0 };
  }

  return page;
}

// --- the page around it -----------------------------------------------------------------------------------------------

// Start every figure of this kind on the page that has not started, and so still holds its data.
export function start({ render }, kind) {
  for (const el of document.querySelectorAll(`.course-figure[data-figure="${kind}"]:has(script)`)) {
    const script = el.querySelector("script"), text = script.textContent;
    const begin = (json) => {
      const data = JSON.parse(json);
      render({ model: { get: () => data }, el });
    };
    script.remove();
    if (text[0] === "{") begin(text);
    else inflated(text).then(begin);
  }
}

// The text that Python's `packed` has packed.
function inflated(letters) {
  const bytes = Uint8Array.from(atob(letters), (letter) => letter.charCodeAt());
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).text();
}

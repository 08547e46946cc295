"use strict";
// A thread is columns (page.py), with an entry per node; a node is its number, 0 the root. Nodes are in the
// order of the calls, each after its parent. Children lie side by side below their parent, in order, as wide
// as their times; what is left of its width is its own time.

const HEIGHT = 20;        // of a row, in pixels
const NARROWEST = 1.5;    // boxes narrower than this are not drawn, nor what is below them
const MOST = 12000;       // boxes at most: the upper rows first
const LONGEST = 300;      // rows of the table

const at = id => document.getElementById(id);
const {strings, threads} = JSON.parse(at("data").textContent);
const graph = at("graph"), tip = at("tip"), search = at("search");
const ms = time => (time / 1e6).toLocaleString("en", {minimumFractionDigits: 3, maximumFractionDigits: 3});
const percent = share => `${(100 * share).toFixed(1)} %`;

let thread;               // what `prepare` makes of a thread
let zoomed = 0;           // the node that is as wide as the graph
let folded = new Set();
let matches = null;       // of a name (its number): whether it is searched for; null: nothing is
let order = {by: "self", down: true};

// -- threads --------------------------------------------------------------------------------------

function prepare(columns) {
  const count = columns.name.length;
  const start = new Float64Array(count), self = Float64Array.from(columns.total);
  const depth = new Int32Array(count), last = new Int32Array(count), next = new Float64Array(count);
  for (let k = 0; k < count; k++) {
    const parent = columns.parent[k];
    last[k] = k;
    if (parent < 0) continue;
    start[k] = start[parent] + next[parent];
    next[parent] += columns.total[k];
    self[parent] -= columns.total[k];
    depth[k] = depth[parent] + 1;
  }
  // Descendants of k are k + 1 ... last[k].
  for (let k = count - 1; k > 0; k--) {
    const parent = columns.parent[k];
    last[parent] = Math.max(last[parent], last[k]);
  }
  return {...columns, count, start, depth, last, self: self.map(time => Math.max(0, time))};
}

function choose(number) {
  thread = prepare(threads[number]);
  zoomed = 0;
  folded = new Set();
  showTable();
  draw();
}

const name = k => strings[thread.name[k]];
const share = k => thread.total[k] / Math.max(1, thread.total[0]);

function callers(k) {
  const found = [];
  for (let up = thread.parent[k]; up >= 0; up = thread.parent[up]) found.unshift(up);
  return found;
}

function* children(k) {
  for (let child = k + 1; child <= thread.last[k]; child = thread.last[child] + 1) yield child;
}

// -- the graph ------------------------------------------------------------------------------------

function draw() {
  const focus = document.activeElement?.dataset?.node;
  const width = graph.clientWidth, scale = width / Math.max(1, thread.total[zoomed]);
  const boxes = callers(zoomed).map(k => box(k, 0, width, "around"));
  let row = [zoomed], omitted = 0, rows = boxes.length;
  while (row.length && boxes.length < MOST) {
    const below = [];
    rows++;
    for (const k of row) {
      boxes.push(box(k, (thread.start[k] - thread.start[zoomed]) * scale, thread.total[k] * scale || width, ""));
      if (folded.has(k)) continue;
      for (const child of children(k)) {
        if (thread.total[child] * scale >= NARROWEST) below.push(child);
        else omitted += 1 + thread.last[child] - child;
      }
    }
    row = below;
  }
  for (const k of row) omitted += 1 + thread.last[k] - k;
  graph.replaceChildren(...boxes);
  graph.style.height = `${rows * HEIGHT}px`;
  const calls = omitted === 1 ? "call is" : "calls are";
  at("hidden").textContent = omitted ? `${omitted.toLocaleString("en")} ${calls} too narrow to be drawn: zoom in.` : "";
  if (focus !== undefined) boxOf(focus)?.focus({preventScroll: true});
  showPath();
}

function box(k, left, width, kind) {
  const made = document.createElement("div"), calls = thread.calls[k], classes = made.classList;
  made.className = `call ${kind}`;
  classes.toggle("narrow", width < 8);
  classes.toggle("raised", thread.raised[k] > 0);
  classes.toggle("resumed", thread.resumed[k] > 0);
  classes.toggle("folded", folded.has(k));
  if (matches) classes.add(matches[thread.name[k]] ? "hit" : "miss");
  made.dataset.node = k;
  made.tabIndex = k === zoomed ? 0 : -1;
  made.setAttribute("role", "treeitem");
  made.setAttribute("aria-level", thread.depth[k] + 1);
  made.setAttribute("aria-expanded", !folded.has(k) && thread.last[k] > k);
  made.setAttribute("aria-label", `${name(k)}, ${ms(thread.total[k])} ms, ${percent(share(k))}`);
  const {style} = made;
  style.left = `${left}px`;
  style.top = `${thread.depth[k] * HEIGHT}px`;
  style.width = `${width}px`;
  style.backgroundColor = color(name(k));
  if (width > 24) made.textContent = (folded.has(k) ? "+ " : "") + label(k, width) + (calls > 1 ? ` × ${calls}` : "");
  return made;
}

// The module is left out where there is no room for it.
function label(k, width) {
  const text = name(k);
  return text.length * 6.5 < width ? text : text.slice(text.lastIndexOf(".") + 1);
}

// Functions of a module have like colors.
function color(text) {
  const module = hash(text.split(".").slice(0, -1).slice(0, 3).join(".")), own = hash(text);
  return `hsl(${(module + own % 24) % 360} ${50 + own % 25}% ${68 + (own >> 5) % 12}%)`;
}

function hash(text) {
  let found = 19;
  for (let k = 0; k < text.length; k++) found = (Math.imul(found, 31) + text.charCodeAt(k)) | 0;
  return Math.abs(found);
}

const boxOf = k => graph.querySelector(`[data-node="${k}"]`);

function showPath() {
  at("path").replaceChildren(...[...callers(zoomed), zoomed].map(k => button(name(k), () => zoom(k))));
}

function button(text, act) {
  const made = document.createElement("button");
  made.type = "button";
  made.textContent = text;
  made.addEventListener("click", act);
  return made;
}

function zoom(k) {
  zoomed = k;
  tip.hidden = true;
  draw();
}

function fold(k) {
  if (!folded.delete(k) && thread.last[k] > k) folded.add(k);
  draw();
}

const back = () => zoom(Math.max(0, thread.parent[zoomed]));

// -- search ---------------------------------------------------------------------------------------

function find() {
  const text = search.value;
  search.setCustomValidity("");
  matches = null;
  if (text) {
    const matcher = matching(text);
    if (matcher) matches = strings.map(matcher);
  }
  at("found").textContent = matches ? foundText() : "";
  draw();
}

// /pattern/ is a regular expression.
function matching(text) {
  const slashed = /^\/(.+)\/$/.exec(text), low = text.toLowerCase();
  if (!slashed) return string => string.toLowerCase().includes(low);
  try {
    const pattern = new RegExp(slashed[1], "i");
    return string => pattern.test(string);
  } catch (error) {
    search.setCustomValidity(error.message);
    return null;
  }
}

// Time within a match counts once.
function foundText() {
  let calls = 0, time = 0, until = -1;
  for (let k = 1; k < thread.count; k++) {
    if (!matches[thread.name[k]]) continue;
    calls += thread.calls[k];
    if (k > until) {
      time += thread.total[k];
      until = thread.last[k];
    }
  }
  return `${calls.toLocaleString("en")} calls, ${ms(time)} ms, ${percent(time / Math.max(1, thread.total[0]))}`;
}

// -- the table ------------------------------------------------------------------------------------

// The total of a function that calls itself counts once.
function sums() {
  const found = new Map(), until = new Map();
  for (let k = 1; k < thread.count; k++) {
    const id = thread.name[k];
    if (!found.has(id)) found.set(id, {name: name(k), calls: 0, self: 0, total: 0});
    const sum = found.get(id);
    sum.calls += thread.calls[k];
    sum.self += thread.self[k];
    if (k > (until.get(id) ?? -1)) {
      sum.total += thread.total[k];
      until.set(id, thread.last[k]);
    }
  }
  return [...found.values()];
}

function showTable() {
  const {by, down} = order, sign = down ? -1 : 1;
  const compare = (a, b) => by === "name" ? a.name.localeCompare(b.name) : a[by] - b[by];
  const rows = sums().sort((a, b) => sign * compare(a, b)).slice(0, LONGEST);
  at("table").tBodies[0].replaceChildren(...rows.map(tableRow));
  for (const each of at("table").querySelectorAll("th")) {
    if (each.firstElementChild.dataset.by !== by) each.removeAttribute("aria-sort");
    else each.setAttribute("aria-sort", down ? "descending" : "ascending");
  }
}

function tableRow(sum) {
  const made = document.createElement("tr");
  made.insertCell().append(button(sum.name, () => {
    search.value = sum.name;
    find();
  }));
  for (const text of [sum.calls.toLocaleString("en"), ms(sum.self), ms(sum.total)]) {
    made.insertCell().textContent = text;
  }
  return made;
}

// -- what a box says ------------------------------------------------------------------------------

function describe(k) {
  const calls = thread.calls[k], raised = thread.raised[k], text = strings[thread.text[k]];
  const lines = [name(k) + (thread.resumed[k] ? " (resumed)" : "")];
  if (text) lines.push(text);
  lines.push(`total ${ms(thread.total[k])} ms (${percent(share(k))}), self ${ms(thread.self[k])} ms`);
  lines.push(`${calls.toLocaleString("en")} ${calls > 1 ? "calls" : "call"}`);
  if (raised) lines.push(calls > 1 ? `${raised} left by an exception` : "left by an exception");
  if (thread.site[k]) lines.push(`called at ${strings[thread.site[k]]}`);
  if (folded.has(k)) lines.push(`folded: ${(thread.last[k] - k).toLocaleString("en")} calls`);
  return lines.join("\n");
}

function showTip(k, x, y) {
  tip.textContent = describe(k);
  tip.hidden = false;
  tip.style.left = `${Math.max(4, Math.min(x + 14, innerWidth - tip.offsetWidth - 8))}px`;
  tip.style.top = `${y + 18 + tip.offsetHeight < innerHeight ? y + 18 : Math.max(4, y - tip.offsetHeight - 8)}px`;
}

// -- events ---------------------------------------------------------------------------------------

function nodeOf(event) {
  const found = event.target.closest?.(".call");
  return found ? Number(found.dataset.node) : null;
}

function onNode(type, act) {
  graph.addEventListener(type, event => {
    const k = nodeOf(event);
    if (k !== null) act(k, event);
  });
}

onNode("click", (k, event) => event.shiftKey ? fold(k) : zoom(k));
onNode("contextmenu", (k, event) => {
  event.preventDefault();
  fold(k);
});
onNode("mousemove", (k, event) => showTip(k, event.clientX, event.clientY));
onNode("focusin", (k, event) => {
  const place = event.target.getBoundingClientRect();
  showTip(k, place.left, place.top);
});
for (const type of ["mouseleave", "focusout"]) graph.addEventListener(type, () => { tip.hidden = true; });

// Where the arrows lead: to the caller, to the first call, to what lies beside it in the same row.
function neighbour(k, key) {
  if (key === "ArrowUp") return thread.parent[k];
  if (key === "ArrowDown") return [...children(k)].find(boxOf);
  const row = [...graph.children].filter(each => thread.depth[each.dataset.node] === thread.depth[k]);
  const place = row.findIndex(each => Number(each.dataset.node) === k);
  return row[place + (key === "ArrowLeft" ? -1 : 1)]?.dataset.node;
}

const KEYS = {
  "Enter": zoom,
  " ": fold,
  "Backspace": back,
  "Escape": back,
  "Home": () => zoom(0),
  "u": () => unfoldAll(),
};

onNode("keydown", (k, event) => {
  if (event.key.startsWith("Arrow")) boxOf(neighbour(k, event.key))?.focus();
  else if (KEYS[event.key]) KEYS[event.key](k);
  else return;
  event.preventDefault();
});

function unfoldAll() {
  folded.clear();
  draw();
}

document.addEventListener("keydown", event => {
  if (event.key === "/" && event.target !== search) {
    search.focus();
    event.preventDefault();
  }
});
search.addEventListener("input", find);
at("reset").addEventListener("click", () => zoom(0));
at("unfold").addEventListener("click", unfoldAll);
at("theme").addEventListener("click", () => {
  const style = document.documentElement.style, dark = matchMedia("(prefers-color-scheme: dark)").matches;
  style.colorScheme = (style.colorScheme || (dark ? "dark" : "light")) === "dark" ? "light" : "dark";
});
at("table").tHead.addEventListener("click", event => {
  const by = event.target.dataset.by;
  if (!by) return;
  order = {by, down: order.by === by ? !order.down : by !== "name"};
  showTable();
});
at("thread").append(...threads.map((each, k) => new Option(each.thread, k)));
at("thread").addEventListener("change", event => {
  choose(Number(event.target.value));
  find();
});
addEventListener("resize", draw);
at("threads").hidden = threads.length < 2;
if (threads.length) choose(0);

// The page of `python -m ctxdispatch ir --html`: one pass at a time, before and after, beside source and bytecode.
//
// Lines come as [text, line, column, end line, end column]; those of one source line belong together (`near`), those of
// one position more so (`exact`). All text goes in as text nodes.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const $ = (id) => document.getElementById(id);
  const passes = data.pipelines.flatMap((pipeline, p) => pipeline.stages.map((stage, s) => ({ pipeline, stage, s, p })));
  let current = 0;
  let code = 0;
  let held = null;

  const make = (tag, className, ...children) => {
    const made = document.createElement(tag);
    if (className) made.className = className;
    made.append(...children);
    return made;
  };

  // -- lines and blocks ---------------------------------------------------------------------------------------------

  function line(tag, [text, at, ...rest], className) {
    const made = make(tag, className || "line", text);
    if (at != null) {
      made.dataset.line = at;
      if (rest[0] != null) made.dataset.position = [at, ...rest].join(":");
    }
    return made;
  }

  function fill(pane, parts, marked, className) {
    let count = 0;
    const mark = (made) => { if (marked.has(count++)) made.classList.add(className); return made; };
    pane.replaceChildren(...parts.map(([head, lines]) => {
      const title = mark(make(lines.length ? "summary" : "div", lines.length ? "" : "line head", head));
      if (!lines.length) return title;
      const block = make("details", "", title, ...lines.map((each) => mark(line("div", each))));
      block.open = $("fold").getAttribute("aria-pressed") !== "true";
      return block;
    }));
  }

  function showSource() {
    $("source").replaceChildren(...data.source.map((text, i) => {
      const made = make("div", "line", make("span", "number", String(data.first + i)), text);
      made.dataset.line = data.first + i;
      return made;
    }));
    if (!data.source.length) $("source").append(make("p", "note", "the source is not there"));
    $("h-adjoint").hidden = $("adjoint").hidden = !data.adjoint;
    $("adjoint").textContent = data.adjoint;
    $("adjoint").classList.toggle("why", "adjoint" in data.errors);
  }

  function showPass(index) {
    if (!passes.length) return;
    current = Math.max(0, Math.min(passes.length - 1, index));
    const { pipeline, stage, s } = passes[current];
    const before = s ? pipeline.stages[s - 1] : null;
    $("stage").textContent = `${pipeline.title}: ${stage.name} (${s + 1} of ${pipeline.stages.length})`;
    fill($("after"), stage.parts, new Set(stage.new), "new");
    if (before) fill($("before"), before.parts, new Set(stage.gone), "gone");
    else $("before").replaceChildren(make("p", "note", "nothing comes before this"));
    document.querySelectorAll("#passes button").forEach((button, i) => {
      button.setAttribute("aria-current", String(i === current));
      if (i === current) button.scrollIntoView({ block: "nearest" });
    });
    refresh();
  }

  function showCode(index) {
    code = index;
    fill($("bytecode"), data.bytecodes[code].parts, new Set(), "");
    refresh();
  }

  function refresh() {
    relate(held);
    search();
  }

  // -- passes -------------------------------------------------------------------------------------------------------

  function listPasses() {
    let index = 0;
    for (const pipeline of data.pipelines) {
      $("passes").append(make("h2", "", pipeline.title));
      pipeline.stages.forEach((stage, s) => {
        const at = index++;
        const changed = stage.new.length + stage.gone.length;
        const count = s === 0 ? "" : changed ? `+${stage.new.length} \u2212${stage.gone.length}` : "=";
        const button = make("button", s && !changed ? "same" : "", stage.name, make("small", "", count));
        button.addEventListener("click", () => showPass(at));
        $("passes").append(button);
      });
    }
  }

  function listCodes() {
    data.bytecodes.forEach(({ name }, i) => {
      const input = make("input");
      Object.assign(input, { type: "radio", name: "code", checked: i === 0 });
      input.addEventListener("change", () => showCode(i));
      $("tabs").append(make("label", "", input, " " + name));
    });
  }

  function showSide(side) {
    $("ir").dataset.side = side;
    document.querySelector(`#switch input[value=${side}]`).checked = true;
    search();
  }

  function foldAll(fold) {
    $("fold").setAttribute("aria-pressed", String(fold));
    $("fold").textContent = fold ? "unfold all" : "fold all";
    document.querySelectorAll("details").forEach((each) => { each.open = !fold; });
  }

  // -- what belongs together ----------------------------------------------------------------------------------------

  function relate(from) {
    document.querySelectorAll(".near, .exact").forEach((each) => each.classList.remove("near", "exact"));
    if (!from || !from.dataset.line) return;
    document.querySelectorAll(`[data-line="${from.dataset.line}"]`).forEach((each) => {
      const exact = from.dataset.position && each.dataset.position === from.dataset.position;
      each.classList.add(exact ? "exact" : "near");
    });
  }

  const lineOf = (node) => (node.closest ? node.closest(".line") : null);

  function hold(made) {
    const same = held === made;
    if (held) held.classList.remove("held");
    held = same ? null : made;
    if (held) held.classList.add("held");
    relate(held);
  }

  for (const pane of document.querySelectorAll(".pane")) {
    pane.addEventListener("mouseover", (event) => { const made = lineOf(event.target); if (made) relate(made); });
    pane.addEventListener("mouseleave", () => relate(held));
    pane.addEventListener("click", (event) => { const made = lineOf(event.target); if (made) hold(made); });
    pane.addEventListener("keydown", (event) => walk(pane, event));
    pane.addEventListener("blur", () => pane.querySelectorAll(".at").forEach((each) => each.classList.remove("at")));
  }

  function walk(pane, event) {
    if (event.target !== pane) return;
    const lines = [...pane.querySelectorAll(".line")].filter((each) => each.offsetParent);
    const at = lines.findIndex((each) => each.classList.contains("at"));
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && lines.length) {
      const to = lines[Math.max(0, Math.min(lines.length - 1, at + step))];
      if (at >= 0) lines[at].classList.remove("at");
      to.classList.add("at");
      to.scrollIntoView({ block: "nearest" });
      relate(to);
      event.preventDefault();
    } else if (event.key === "Enter" && at >= 0) {
      hold(lines[at]);
      event.preventDefault();
    }
  }

  // -- search -------------------------------------------------------------------------------------------------------

  let match = 0;

  function search() {
    document.querySelectorAll("mark").forEach((mark) => {
      const parent = mark.parentNode;
      mark.replaceWith(...mark.childNodes);
      parent.normalize();
    });
    const wanted = $("search").value.toLowerCase();
    if (wanted) {
      for (const id of ["source", "before", "after", "bytecode", "adjoint"]) {
        if (getComputedStyle($(id)).display !== "none") markIn($(id), wanted);
      }
    }
    match = 0;
    go(0, false);
  }

  function markIn(pane, wanted) {
    const walker = document.createTreeWalker(pane, NodeFilter.SHOW_TEXT);
    const nodes = [];
    while (walker.nextNode()) nodes.push(walker.currentNode);
    for (let node of nodes) {
      if (node.parentNode.className === "number") continue;
      let at = node.data.toLowerCase().indexOf(wanted);
      while (at >= 0) {
        const hit = node.splitText(at);
        node = hit.splitText(wanted.length);
        const mark = make("mark");
        hit.replaceWith(mark);
        mark.append(hit);
        at = node.data.toLowerCase().indexOf(wanted);
      }
    }
  }

  function go(step, scroll = true) {
    const marks = [...document.querySelectorAll("mark")];
    marks.forEach((mark) => mark.classList.remove("current"));
    if (!marks.length) {
      $("found").textContent = $("search").value ? "none" : "";
      return;
    }
    match = (match + step + marks.length) % marks.length;
    marks[match].classList.add("current");
    $("found").textContent = `${match + 1} / ${marks.length}`;
    const block = marks[match].closest("details");
    if (block && scroll) block.open = true;
    if (scroll) marks[match].scrollIntoView({ block: "center" });
  }

  $("search").addEventListener("input", () => { search(); go(0); });
  $("search").addEventListener("keydown", (event) => {
    if (event.key === "Enter") { go(event.shiftKey ? -1 : 1); event.preventDefault(); }
    if (event.key === "Escape") { $("search").value = ""; search(); $("search").blur(); }
  });
  $("next").addEventListener("click", () => go(1));
  $("previous").addEventListener("click", () => go(-1));

  // -- keys and buttons ---------------------------------------------------------------------------------------------

  const KEYS = {
    j: () => showPass(current + 1),
    k: () => showPass(current - 1),
    b: () => showSide("before"),
    a: () => showSide("after"),
    s: () => showSide("both"),
    f: () => foldAll($("fold").getAttribute("aria-pressed") !== "true"),
    "/": () => $("search").focus(),
  };

  document.addEventListener("keydown", (event) => {
    const typing = event.target === $("search");
    if (typing || event.ctrlKey || event.metaKey || event.altKey || !KEYS[event.key]) return;
    event.preventDefault();
    KEYS[event.key]();
  });
  document.querySelectorAll("#switch input").forEach((input) => {
    input.addEventListener("change", () => showSide(input.value));
  });
  $("fold").addEventListener("click", KEYS.f);
  $("help").addEventListener("click", () => {
    $("keys").hidden = !$("keys").hidden;
    $("help").setAttribute("aria-expanded", String(!$("keys").hidden));
  });
  $("theme").addEventListener("click", () => {
    const root = document.documentElement;
    const system = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
    root.dataset.theme = (root.dataset.theme || system) === "dark" ? "light" : "dark";
  });

  // -- to begin with ------------------------------------------------------------------------------------------------

  document.title = `${data.title}(${data.call})`;
  $("title").textContent = document.title;
  $("file").textContent = `${data.file.split(/[\\/]/).pop()}:${data.first}`;
  showSource();
  listPasses();
  listCodes();
  showSide("after");
  if (data.bytecodes.length) showCode(0);
  showPass(0);
})();

// Small things that this page and write.html share.

const $ = id => document.getElementById(id);

// A new element: make("td", {className: "right"}, "some", "children").
function make(tag, properties = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

// The same, for a drawing: drawn("line", {x1: 0, y1: 0}).
function drawn(tag, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes))
    element.setAttribute(name, value);
  element.append(...children);
  return element;
}

// Puts a caption, the names of the columns, and rows of a name and cells into a table.
function tabulate(table, caption, columns, rows) {
  const head = (scope, name) => make("th", {scope}, ...[name].flat());
  table.replaceChildren(make("caption", {}, ...[caption].flat()),
    make("thead", {}, make("tr", {}, make("td"), ...columns.map(name => head("col", name)))),
    make("tbody", {}, ...rows.map(([name, ...cells]) =>
      make("tr", {}, head("row", name), ...cells))));
  return table;
}

function download(name, content, type) {
  const address = URL.createObjectURL(new Blob([content], {type}));
  make("a", {href: address, download: name}).click();
  setTimeout(() => URL.revokeObjectURL(address), 60000);
}

// A button that is switched off keeps the focus.
const switchOff = (button, off) => button.setAttribute("aria-disabled", off);

// The bytes of a text in base64; and a file that build.py has put into a page, gzipped.
const fromBase64 = text => Uint8Array.fromBase64?.(text)
  ?? Uint8Array.from(atob(text), c => c.charCodeAt(0));

async function unzipped(text) {
  const stream = new Blob([fromBase64(text)]).stream()
    .pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// Does the work once it has not been asked for again during this many milliseconds.
function later(pause, work) {
  let timer;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(work, pause);
  };
}

// One sentence for whoever sees the page, also for a screen reader.
function report(text, wrong = true) {
  $("message").textContent = text.replace(/ \(see: [^)]*\)/, "");
  $("message").classList.toggle("wrong", wrong);
}

// Throws an error that says what this browser lacks.
function checkBrowser() {
  // a function that returns a vector: (func (result v128) ...)
  const simd = [0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0,
    10, 10, 1, 8, 0, 65, 0, 253, 15, 253, 98, 11];
  const lacking = typeof WebAssembly === "undefined" ? "WebAssembly"
    : !WebAssembly.validate(new Uint8Array(simd)) ? "WebAssembly SIMD"
      : typeof DecompressionStream === "undefined" ? "DecompressionStream" : "";
  if (lacking)
    throw new Error(`This page needs ${lacking}, which this browser does not have. ` +
      "A newer Chrome, Edge, Firefox or Safari has it.");
}

// ---------------------------------------------------------------- by the keyboard

// Where a key leads: down and right.
const ARROWS = {ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1]};

const allTabs = () => [...document.querySelectorAll("[role=tab]")];

// Shows the view of one tab.
function chooseTab(chosen) {
  for (const tab of allTabs()) {
    tab.setAttribute("aria-selected", tab === chosen);
    tab.tabIndex = tab === chosen ? 0 : -1;
    $(tab.getAttribute("aria-controls")).hidden = tab !== chosen;
  }
}

// A click opens a tab, and so does an arrow that leads to it.
const listenToTabs = open => allTabs().forEach((tab, i, tabs) => {
  tab.onclick = () => open(tab);
  tab.onkeydown = event => {
    const [, right] = ARROWS[event.key] ?? [];
    if (!right) return;
    const next = tabs.at((i + right) % tabs.length);
    open(next);
    next.focus();
  };
});

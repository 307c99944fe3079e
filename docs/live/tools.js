// Small things that this page and write.html share.

const $ = id => document.getElementById(id);

// A new element: make("td", {className: "right"}, "some", "children").
function make(tag, properties = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

const SVG = "http://www.w3.org/2000/svg";

// The same, for a drawing: drawn("line", {x1: 0, y1: 0}).
function drawn(tag, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes))
    element.setAttribute(name, value);
  element.append(...children);
  return element;
}

function download(name, content, type) {
  const address = URL.createObjectURL(new Blob([content], {type}));
  make("a", {href: address, download: name}).click();
  setTimeout(() => URL.revokeObjectURL(address), 60000);
}

// A button that does nothing now keeps the focus.
const switchOff = (button, off) => button.setAttribute("aria-disabled", off);

// What this browser lacks, or "".
function missing() {
  if (typeof WebAssembly === "undefined") return "WebAssembly";
  // a function that returns a vector: (func (result v128) ...)
  const simd = [0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0,
    10, 10, 1, 8, 0, 65, 0, 253, 15, 253, 98, 11];
  if (!WebAssembly.validate(new Uint8Array(simd))) return "WebAssembly SIMD";
  return typeof DecompressionStream === "undefined" ? "DecompressionStream" : "";
}

// One head, in numbers: the matrices of attention_forward and attention_backward,
// computed by these two; any number that goes in can be changed.

const MOST_SHOWN = 24;    // rows, and columns, of a matrix that are shown

// The matrices in order: what their rows and columns stand for, and of those that are
// given what they are. The rest is what One sentence tells of the same stage, unless it
// stands here.
const MATRICES = {
  q: {axes: ["query", "number"], given: "the queries of this head"},
  k: {axes: ["key", "number"], given: "its keys"},
  v: {axes: ["key", "number"], given: "the values of this head"},
  scores: {axes: ["query", "key"]},
  scaled: {axes: ["query", "key"], formula: "scaled = scale · scores"},
  mask: {axes: ["query", "key"], given: "1 where the query may see the key", tone: "weight",
    lines: ["{{line softmax_row: visible[j] ?}}"]},
  weights: {axes: ["query", "key"]},
  out: {axes: ["query", "number"]},
  dout: {axes: ["query", "number"],
    given: "the gradient that later layers send back; here, an invented one"},
  dweights: {axes: ["query", "key"]},
  dscaled: {axes: ["query", "key"]},
  dscores: {axes: ["query", "key"], formula: "dscores = scale · dscaled"},
  dq: {axes: ["query", "number"]},
  dk: {axes: ["key", "number"]},
  dv: {axes: ["key", "number"]},
};

function aboutMatrix(name) {
  const stage = STAGES[name], of = STAGES[name.slice(1)];    // the gradient's name begins with d
  const told = of ? {tone: "gradient", formula: of.backFormula, lines: of.backLines} : stage;
  return {...told, ...MATRICES[name], part: of ? "backward" : "forward"};
}

// Which two vectors a product multiplies: a matrix, its row or column, and
// whether the row (0) or the column (1) of the result says which one.
const PRODUCTS = {
  scores: [["q", "row", 0], ["k", "row", 1]],
  out: [["weights", "row", 0], ["v", "column", 1]],
  dweights: [["dout", "row", 0], ["v", "row", 1]],
  dq: [["dscores", "row", 0], ["k", "column", 1]],
  dk: [["dscores", "column", 0], ["q", "column", 1]],
  dv: [["weights", "column", 0], ["dout", "column", 1]],
};

const one = {
  numbers: null,      // the matrices by name, and the scale
  unchanged: null,    // the same, before anything was changed
  edits: new Map(),   // "q,1,2" -> number; "scale,0,0" -> number
  chosen: null,       // the cell that was clicked: {name, i, j}
  shown: null,        // whose numbers they are
  built: null,        // whose tables stand in the page
  turn: 0,
};

// ---------------------------------------------------------------- numbers

function short(x) {
  if (x === null) return "not finite";
  const size = Math.abs(x);
  const text = size === 0 ? "0" : size >= 1000 ? x.toExponential(1)
    : size >= 0.0095 ? x.toFixed(2) : size >= 0.00095 ? x.toFixed(3) : x.toExponential(0);
  return text.replace("-", "−").replace("e-", "e−");
}

const wordsOn = axis => {
  const kind = KINDS[seen.kind];
  return axis === "number" ? null : seen.facts[axis === "query" ? kind.rows : kind.columns];
};

// ---------------------------------------------------------------- computing

// Another head, or another sentence: what was changed in the last one is gone.
function takeHead() {
  if (one.shown) forgetEdits();
  one.shown = {facts: seen.facts};
  one.chosen = null;
  $("change").hidden = true;
  return computeHead();
}

// Takes the head from the model, makes the changes, and computes all of it.
async function computeHead() {
  const {engine} = viewer, turn = ++one.turn, {kind, layer, head} = seen;
  const changes = [...one.edits].map(([place, x]) => [...place.split(","), x]);
  const found = await Promise.all([
    engine.call("take_head", KINDS[kind].number, layer, head),
    engine.call("compute_head"),
    ...changes.map(([name, i, j, x]) =>
      engine.call("change", name, Number(i), Number(j), x)),
    engine.call("compute_head"),
  ]);
  if (turn !== one.turn || seen.busy) return;
  Object.assign(one, {unchanged: found[1], numbers: found[found.length - 1]});
  showHead();
}

function edit(name, i, j, x) {
  const place = [name, i, j].join(",");
  const before = name === "scale" ? one.unchanged.scale : one.unchanged[name][i][j];
  if (x === before) one.edits.delete(place);
  else one.edits.set(place, x);
  rememberEdits("edits", one.edits);
  quietly(computeHead());
}

function forgetEdits() {
  one.edits.clear();
  rememberEdits("edits", one.edits);
}

// ---------------------------------------------------------------- the tables

const isShown = (i, j) => i < MOST_SHOWN && j < MOST_SHOWN;

function axisName(axis, n) {
  const words = wordsOn(axis);
  return [make("span", {className: "index"}, n), words ? " " + words[n] : ""];
}

function matrixTable(name) {
  const {tone, axes, given} = aboutMatrix(name), matrix = one.numbers[name];
  const [rows, columns] = [matrix, matrix[0]].map(({length}) => upTo(Math.min(length, MOST_SHOWN)));
  const table = make("table", {id: "matrix-" + name, role: "grid",
    className: `matrix-table tone-${tone}${given ? " given" : ""}`});
  return tabulate(table, captionOf(name), columns.map(j => axisName(axes[1], j)),
    rows.map(i => [axisName(axes[0], i),
      ...columns.map(j => make("td", {tabIndex: i || j ? -1 : 0, place: {name, i, j}}))]));
}

// A matrix in its place: the style sheet knows it by its name.
function frameOf(name) {
  const frame = make("div", {className: "table"}, matrixTable(name));
  frame.style.gridArea = name;
  return frame;
}

function captionOf(name) {
  const {given, formula, lines} = aboutMatrix(name), matrix = one.numbers[name];
  const size = [matrix.length, matrix[0].length];
  const part = Math.max(...size) > MOST_SHOWN ? `; the first ${MOST_SHOWN} of each are shown` : "";
  return [make("span", {}, make("b", {}, name), ` (${size})`,
    given ? `: ${given}` : formula.slice(name.length), part),
  ...lines.map(line => make("code", {}, line))];
}

const cellAt = ({name, i, j}) =>
  isShown(i, j) && $("matrix-" + name)?.tBodies[0].rows[i]?.cells[j + 1];

// Writes the numbers into the tables, which are made anew for another shape.
function showHead() {
  if (one.built !== one.shown) {
    for (const part of ["forward", "backward"])
      $(part).replaceChildren(...Object.keys(MATRICES)
        .filter(name => aboutMatrix(name).part === part).map(frameOf));
    one.built = one.shown;
  }
  for (const name of Object.keys(MATRICES)) fillTable(name);
  if (document.activeElement !== $("scale")) showScale();
  switchOff($("undo"), one.edits.size === 0);
  showOrigin(one.chosen);
}

const showScale = () => { $("scale").value = Number(one.numbers.scale.toFixed(6)); };

function fillTable(name) {
  const matrix = one.numbers[name], before = one.unchanged[name];
  const most = Math.max(1e-30, ...matrix.flat().map(x => Math.abs(x ?? 0)));
  for (const tr of $("matrix-" + name).tBodies[0].rows)
    for (const td of [...tr.cells].slice(1)) {
      const {i, j} = td.place, x = matrix[i][j];
      td.textContent = name === "mask" ? x : short(x);
      td.title = x === null ? "" : String(x);
      const masked = name === "weights" && one.numbers.mask[i][j] === 0;
      td.classList.toggle("changed", x !== before[i][j]);
      td.classList.toggle("masked", masked);
      if (masked) td.style.background = "";
      else tintBySign(td, x, name === "mask" ? 2 : most);
    }
}

// ---------------------------------------------------------------- whence?

// The cells of a row or a column.
function vector(name, line, n) {
  const matrix = one.numbers[name];
  return line === "row" ? matrix[n].map((_, p) => ({name, i: n, j: p}))
    : matrix.map((_, p) => ({name, i: p, j: n}));
}

const valueAt = ({name, i, j}) => one.numbers[name][i][j];
const placeOf = ({name, i, j}) => `${name}[${i}][${j}]`;

// What a cell has been computed from: these cells, and a sum in names and in numbers.
const ORIGINS = {
  scaled: ({i, j}, own) => scaledBy({name: "scores", i, j}, own),
  dscores: ({i, j}, own) => scaledBy({name: "dscaled", i, j}, own),
  weights: ({i, j}, own) => {
    const mask = {name: "mask", i, j};
    if (!valueAt(mask)) return {from: [mask], text: `0: the mask hides key ${j} from query ${i}`};
    const row = vector("scaled", "row", i).filter(cell => one.numbers.mask[i][cell.j]);
    return {from: [...row, mask],
      text: shareText(valueAt({name: "scaled", i, j}), row.map(valueAt), own)};
  },
  dscaled: ({i, j}, own) => {
    const w = vector("weights", "row", i), d = vector("dweights", "row", i);
    const {names, compute, write} =
      softmaxPull(w.map(valueAt), d.map(valueAt), j, `[${i}][${j}]`, `[${i}]`);
    return {from: [...w, ...d], text: `${names} = ${worked(own, compute, write)}`};
  },
};

const scaledBy = (cell, own) => ({from: [cell],
  text: `scale · ${placeOf(cell)} = ${written([[one.numbers.scale, valueAt(cell)]], own)}`});

function productOrigin({name, i, j}, own) {
  const [a, b] = PRODUCTS[name].map(([of, line, which]) => ({cells: vector(of, line, [i, j][which]),
    text: line === "row" ? `${of}[${[i, j][which]}]` : `${of}[:, ${[i, j][which]}]`}));
  const terms = a.cells.map((cell, p) => [valueAt(cell), valueAt(b.cells[p])]);
  return {from: [...a.cells, ...b.cells], text: `${a.text} · ${b.text} = ${written(terms, own)}`};
}

// What goes in has no formula: it comes from the model, or from whoever looks.
function givenOrigin({name, i, j}, own) {
  const words = wordsOn(MATRICES[name].axes[0]);
  const what = {
    q: `number ${j} of the query of “${words[i]}”`,
    k: `number ${j} of the key of “${words[i]}”`,
    v: `number ${j} of the value of “${words[i]}”`,
    dout: `how the loss would change with out[${i}][${j}], made up`,
    mask: (one.numbers.mask[i][j] ? "this query sees this key" : "this query must not see it") +
      (one.numbers.mask[i].some(Boolean) ? ""
        : "; it sees none, so its weights are all 0, and do not sum to 1"),
  }[name];
  return {from: [], text: `${four(own)}: ${what}` + (one.edits.has([name, i, j].join())
    ? `; without your change ${four(one.unchanged[name][i][j])}` : "")};
}

// Says where a number comes from, and marks what it is made of.
function showOrigin(cell) {
  for (const marked of document.querySelectorAll(".marked, .pointed"))
    marked.classList.remove("marked", "pointed");
  if (!cell) {
    $("origin").textContent = "";
    return;
  }
  const {name} = cell, origin = PRODUCTS[name] ? productOrigin : ORIGINS[name] || givenOrigin;
  const {from, text} = origin(cell, valueAt(cell));
  for (const part of from) cellAt(part)?.classList.add("marked");
  cellAt(cell).classList.add("pointed");
  $("origin").textContent = `${placeOf(cell)} = ${text}`;
}

// ---------------------------------------------------------------- by hand

// The number that an event is about.
const placeAt = ({target}) => target.closest?.("td")?.place;

// Chooses a number; one that goes in can then be changed.
function chooseCell(cell) {
  one.chosen = cell;
  const changeable = MATRICES[cell.name].given && cell.name !== "mask";
  $("change").hidden = !changeable;
  if (changeable) {
    $("change-name").textContent = `Change ${placeOf(cell)}`;
    showChange();
  }
  showOrigin(cell);
}

const showChange = () => { $("change-to").value = Number(valueAt(one.chosen).toFixed(6)); };

function typeInto(field) {
  field.focus();
  field.select();
}

// A cell of the mask turns; another number that goes in can be typed.
function useNumber(place) {
  if (place.name === "mask") edit("mask", place.i, place.j, 1 - valueAt(place));
  else if (!$("change").hidden) typeInto($("change-to"));
}

// Of a table of numbers: an arrow moves to the next one, Enter uses it.
function onNumberKey(event, use) {
  const [down, right] = ARROWS[event.key] || [0, 0], row = event.target.parentElement;
  const next = row.parentElement.rows[row.sectionRowIndex + down]
    ?.cells[event.target.cellIndex + right];
  if ((down || right) && next?.place) {
    event.target.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  } else if (["Enter", " "].includes(event.key)) use(placeAt(event));
  else return;
  event.preventDefault();
}

function beginTables(part) {
  const on = (type, work) => part.addEventListener(type, event => {
    const place = placeAt(event);
    if (place) work(place, event);
  });
  on("pointerover", (place, {pointerType}) => { if (pointerType === "mouse") showOrigin(place); });
  part.onpointerleave = () => showOrigin(one.chosen);
  on("focusin", chooseCell);
  on("click", useNumber);
  on("keydown", (place, event) => onNumberKey(event, useNumber));
}

function beginHead() {
  one.edits = editsIn("edits",
    name => name === "scale" || MATRICES[keyIn(MATRICES, name)]?.given);
  beginTables($("forward"));
  beginTables($("backward"));
  $("change-to").oninput = () => {
    const x = $("change-to").valueAsNumber, {name, i, j} = one.chosen;
    if (Number.isFinite(x)) edit(name, i, j, x);
  };
  $("change-to").onkeydown = event => {
    if (["Enter", "Escape"].includes(event.key)) cellAt(one.chosen).focus();
  };
  $("change-to").onblur = () => { if (one.chosen) showChange(); };
  $("scale").onblur = showScale;
  $("scale").oninput = () => {
    const x = $("scale").valueAsNumber;
    if (Number.isFinite(x)) edit("scale", 0, 0, x);
  };
  $("head-other").onclick = () => {
    goToTab("look");
    $("source").focus();
  };
  $("undo").onclick = () => {
    forgetEdits();
    quietly(computeHead());
  };
  addEventListener("head", () => quietly(takeHead()));
}

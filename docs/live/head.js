// One head, in numbers: the matrices of attention_forward and attention_backward,
// computed by these two; any number that goes in can be changed.

const MOST_SHOWN = 24;    // rows, and columns, of a matrix that are shown

// The matrices in order: their color, what their rows and columns stand for,
// the formula, and the lines of transformer.c that compute them.
const MATRICES = {
  q: {part: "forward", tone: "query", axes: ["query", "number"], given: true,
    formula: ": the queries of this head",
    lines: ["{{line attend: s->q = linear_forward}}"]},
  k: {part: "forward", tone: "key", axes: ["key", "number"], given: true,
    formula: ": its keys",
    lines: ["{{line make_keys: s->k = linear_forward}}"]},
  v: {part: "forward", tone: "value", axes: ["key", "number"], given: true,
    formula: ": the values of this head",
    lines: ["{{line make_keys: s->v = linear_forward}}"]},
  scores: {part: "forward", tone: "weight", axes: ["query", "key"], formula: " = q kᵀ",
    lines: ["{{line attention_forward: a.q, transposed(a.k)}}"]},
  scaled: {part: "forward", tone: "weight", axes: ["query", "key"],
    formula: " = scale · scores",
    lines: ["{{line attention_forward: scale_by(}}"]},
  mask: {part: "forward", tone: "weight", axes: ["query", "key"], given: true,
    formula: ": 1 where the query may see the key",
    lines: ["{{line softmax_row: visible[j] ?}}"]},
  weights: {part: "forward", tone: "weight", axes: ["query", "key"],
    formula: " = softmax(scaled), over what is visible",
    lines: ["{{line attention_forward: softmax_forward(}}",
      "{{line softmax_row: exponential(}}", "{{line softmax_row: *= share}}"]},
  out: {part: "forward", tone: "value", axes: ["query", "number"], formula: " = weights v",
    lines: ["{{line attention_forward: a.dropped, a.v}}"]},
  dout: {part: "backward", tone: "gradient", axes: ["query", "number"], given: true,
    formula: ": the gradient that later layers send back; here, an invented one",
    lines: ["{{line multi_head_backward: linear_backward(d->context}}"]},
  dweights: {part: "backward", tone: "gradient", axes: ["query", "key"],
    formula: " = dout vᵀ",
    lines: ["{{line attention_backward: d.out, transposed(a.v)}}"]},
  dscaled: {part: "backward", tone: "gradient", axes: ["query", "key"],
    formula: " = weights · (dweights − Σ weights · dweights)",
    lines: ["{{line attention_backward: softmax_backward(}}",
      "{{line softmax_backward: (d[j] - common)}}"]},
  dscores: {part: "backward", tone: "gradient", axes: ["query", "key"],
    formula: " = scale · dscaled",
    lines: ["{{line attention_backward: scale_by(}}"]},
  dq: {part: "backward", tone: "gradient", axes: ["query", "number"],
    formula: " = dscores k",
    lines: ["{{line attention_backward: small_matmul_add(d.q}}"]},
  dk: {part: "backward", tone: "gradient", axes: ["key", "number"],
    formula: " = dscoresᵀ q",
    lines: ["{{line attention_backward: small_matmul_add(d.k}}"]},
  dv: {part: "backward", tone: "gradient", axes: ["key", "number"],
    formula: " = weightsᵀ dout",
    lines: ["{{line attention_backward: small_matmul_add(d.v}}"]},
};

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
  rememberEdits();
  quietly(computeHead());
}

const rememberEdits = () =>
  remember("edits", [...one.edits].map(pair => pair.join(",")).join(";"));

function forgetEdits() {
  one.edits.clear();
  rememberEdits();
}

// ---------------------------------------------------------------- the tables

const isShown = (i, j) => i < MOST_SHOWN && j < MOST_SHOWN;

function axisHead(axis, n, scope) {
  const words = wordsOn(axis), th = make("th", {scope});
  th.append(make("span", {className: "index"}, n), words ? " " + words[n] : "");
  return th;
}

function matrixTable(name) {
  const {tone, axes, given} = MATRICES[name], matrix = one.numbers[name];
  const rows = upTo(Math.min(matrix.length, MOST_SHOWN));
  const columns = upTo(Math.min(matrix[0].length, MOST_SHOWN));
  const table = make("table", {id: "matrix-" + name, className: "matrix-table tone-" + tone},
    captionOf(name),
    make("thead", {}, make("tr", {}, make("td"),
      ...columns.map(j => axisHead(axes[1], j, "col")))),
    make("tbody", {}, ...rows.map(i => make("tr", {}, axisHead(axes[0], i, "row"),
      ...columns.map(j => make("td", {tabIndex: i || j ? -1 : 0}))))));
  table.setAttribute("role", "grid");
  if (given) table.classList.add("given");
  return table;
}

// A matrix in its place: the style sheet knows it by its name.
function frameOf(name) {
  const frame = make("div", {className: "table"}, matrixTable(name));
  frame.style.gridArea = name;
  return frame;
}

function captionOf(name) {
  const {formula, lines} = MATRICES[name], matrix = one.numbers[name];
  const [rows, columns] = [matrix.length, matrix[0].length];
  const part = rows > MOST_SHOWN || columns > MOST_SHOWN
    ? `; the first ${MOST_SHOWN} of each are shown` : "";
  return make("caption", {}, make("span", {}, make("b", {}, name),
    ` (${rows},${columns})${formula}${part}`), ...lines.map(line => make("code", {}, line)));
}

const cellAt = ({name, i, j}) =>
  isShown(i, j) && $("matrix-" + name)?.tBodies[0].rows[i]?.cells[j + 1];

// Writes the numbers into the tables, which are made anew for another shape.
function showHead() {
  if (one.built !== one.shown) {
    for (const part of ["forward", "backward"])
      $(part).replaceChildren(...Object.keys(MATRICES)
        .filter(name => MATRICES[name].part === part)
        .map(frameOf));
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
      const i = tr.sectionRowIndex, j = td.cellIndex - 1, x = matrix[i][j];
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
const numberAt = cell => cell.name === "mask" ? String(valueAt(cell)) : short(valueAt(cell));
const bracketed = cell => valueAt(cell) < 0 ? `(${numberAt(cell)})` : numberAt(cell);

// a·b + c·d − e·f …: at most so many terms are written out.
function sum(terms) {
  const MOST = 8;
  const written = terms.length <= MOST ? terms
    : [...terms.slice(0, MOST - 1), "…", terms[terms.length - 1]];
  return written.join(" + ").replaceAll("+ −", "− ");
}

const products = (a, b) => sum(a.map((cell, p) => `${numberAt(cell)}·${bracketed(b[p])}`));

// A cell's text and the cells that it is made of.
const ORIGINS = {
  scaled: (i, j) => scaledBy("scores", i, j),
  dscores: (i, j) => scaledBy("dscaled", i, j),
  weights: (i, j) => {
    const row = vector("scaled", "row", i).filter(c => one.numbers.mask[c.i][c.j]);
    const self = {name: "scaled", i, j}, mask = {name: "mask", i, j};
    if (!one.numbers.mask[i][j])
      return {from: [mask], text: `0: the mask hides key ${j} from query ${i}`, whole: true};
    return {from: [...row, mask],
      text: `e^${numberAt(self)} / (${sum(row.map(cell => "e^" + numberAt(cell)))})`};
  },
  dscaled: (i, j) => {
    const w = vector("weights", "row", i), d = vector("dweights", "row", i);
    return {from: [...w, ...d], text: `weights[${i}][${j}] · (dweights[${i}][${j}] − ` +
      `weights[${i}] · dweights[${i}]) = ${numberAt(w[j])}·(${numberAt(d[j])} − ` +
      `(${products(w, d)}))`};
  },
};

function scaledBy(name, i, j) {
  const cell = {name, i, j};
  return {from: [cell], text: `scale · ${placeOf(cell)} = ` +
    `${short(one.numbers.scale)}·${bracketed(cell)}`};
}

function productOrigin(name, i, j) {
  const [a, b] = PRODUCTS[name].map(([of, line, which]) => vector(of, line, [i, j][which]));
  const [x, y] = PRODUCTS[name].map(([of, line, which]) =>
    line === "row" ? `${of}[${[i, j][which]}]` : `${of}[:, ${[i, j][which]}]`);
  return {from: [...a, ...b], text: `${x} · ${y} = ${products(a, b)}`};
}

// What goes in has no formula: it comes from the model, or from whoever looks.
function givenOrigin(name, i, j) {
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
  return {from: [], text: one.edits.has([name, i, j].join())
    ? `${what}; without your change ${short(one.unchanged[name][i][j])}` : what};
}

function originOf({name, i, j}) {
  if (PRODUCTS[name]) return productOrigin(name, i, j);
  return ORIGINS[name] ? ORIGINS[name](i, j) : givenOrigin(name, i, j);
}

// Says where a number comes from, and marks what it is made of.
function showOrigin(cell) {
  for (const marked of document.querySelectorAll(".marked, .pointed"))
    marked.classList.remove("marked", "pointed");
  if (!cell) {
    $("origin").textContent = "";
    return;
  }
  const {from, text, whole} = originOf(cell), given = MATRICES[cell.name].given;
  for (const part of from) cellAt(part)?.classList.add("marked");
  cellAt(cell).classList.add("pointed");
  $("origin").textContent = given ? `${placeOf(cell)} = ${numberAt(cell)}: ${text}`
    : `${placeOf(cell)} = ${text}${whole ? "" : " = " + numberAt(cell)}`;
}

// ---------------------------------------------------------------- by hand

function cellOf(target) {
  const td = target.closest && target.closest(".matrix-table tbody td");
  if (!td) return null;
  return {name: td.closest("table").id.replace("matrix-", ""),
    i: td.parentElement.sectionRowIndex, j: td.cellIndex - 1};
}

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

function typeNumber() {
  $("change-to").focus();
  $("change-to").select();
}

function flip({name, i, j}) {
  edit(name, i, j, 1 - one.numbers.mask[i][j]);
}

// Arrows move in a table; Enter changes a number, or turns a cell of the mask.
function onKey(event) {
  const cell = cellOf(event.target);
  if (!cell) return;
  const [down, right] = {ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1],
    ArrowRight: [0, 1]}[event.key] || [0, 0];
  if (down || right) {
    const next = cellAt({name: cell.name, i: cell.i + down, j: cell.j + right});
    if (cell.j + right >= 0 && next) moveTo(event.target, next);
  } else if (["Enter", " "].includes(event.key)) {
    if (cell.name === "mask") flip(cell);
    else if (!$("change").hidden) typeNumber();
  } else return;
  event.preventDefault();
}

function moveTo(from, next) {
  from.tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
}

function beginTables(part) {
  part.onpointerover = event => {
    const cell = cellOf(event.target);
    if (cell && event.pointerType === "mouse") showOrigin(cell);
  };
  part.onpointerleave = () => showOrigin(one.chosen);
  part.addEventListener("focusin", event => {
    const cell = cellOf(event.target);
    if (cell) chooseCell(cell);
  });
  part.onclick = event => {
    const cell = cellOf(event.target);
    if (cell && cell.name === "mask") flip(cell);
    else if (cell && !$("change").hidden) typeNumber();
  };
  part.onkeydown = onKey;
}

function beginHead() {
  for (const pair of (state.get("edits") || "").split(";").filter(Boolean)) {
    const [name, i, j, x] = pair.split(",");
    if ((name === "scale" || keyIn(MATRICES, name) && MATRICES[name].given)
        && x && Number.isFinite(Number(x)))
      one.edits.set([name, countIn(i), countIn(j)].join(","), Number(x));
  }
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

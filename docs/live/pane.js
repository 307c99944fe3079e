// The pane: the matrices of a step, and what is said of it and of its numbers.

const pane = {matrices: [], told: 0};

// What a step offers to look at besides its own matrix.
const viewsOf = name => ({"": "this matrix",
  ...pathOf(name).endsWith("attention") && {heads: "all heads", matrices: "all matrices"},
  ...name.startsWith("output.") && {decoding: "decoding, word by word"}});

const VIEWS = {"": stepMatrices, heads: allHeads, matrices: allMatrices, decoding: decoding};

async function showStep() {
  const {way, name} = stepNow(), about = aboutStage(name), back = isBack();
  showTitle((way === "backward" ? "Backward: " : "") + placeName(pathOf(name)),
    (back ? about.backTitle : about.title) + (isMemory(name) ? ". This is the memory" : ""));
  $("flow-says").textContent = (back ? about.back : about.says) ?? "";
  $("flow-formula").textContent = back ? about.backFormula : about.formula;
  $("flow-lines").replaceChildren(...(back ? about.backLines : about.lines)
    .map(line => make("code", {}, line)));
  $("flow-link").href = back ? about.backOf : about.of;
  $("flow-link").textContent = `${$("flow-link").hash.slice(1)} in the book`;
  $("flow-users").textContent = back || name === "output.loss" ? aboutTiny() : "";
  showTrail(way, name);
  showViews(name);
  const list = $("flow-matrices"), had = [list, $("flow-inputs")].some(part =>
    part.contains(document.activeElement));
  pane.matrices = await VIEWS[flow.view](name, back).catch(notYet)
    ?? [{element: make("p", {className: "hint"}, "These numbers come with the program, in a moment.")}];
  list.replaceChildren(...pane.matrices.filter(({below, inside}) => !below && !inside).map(({element}) => element));
  $("flow-inputs").replaceChildren(...pane.matrices.filter(({below}) => below).map(({element}) => element));
  for (const matrix of pane.matrices) matrix.draw?.();
  const place = flow.pinned;
  if (had) (place && matrixWith(place) || pane.matrices[0]).focus?.(place ?? {i: 0, j: 0});
  if (state.get("panel") === "map") sendMap();
  await showNumber();
}

// Where a step is, and below it what it does.
function showTitle(where, what) {
  $("flow-title").replaceChildren(make("span", {}, where), " ",
    what[0].toUpperCase() + what.slice(1));
}

// All steps of this part, and the other ways; a click goes there, or a key: arrows, Home, End.
function showTrail(way, name) {
  const link = (at, text) => [make("span", {className: at === flow.at ? "here" : "", onclick: () => {
    stopPlaying();
    inTurn(() => goToStep(at));
  }}, text), " "];
  const mine = flow.steps.map((step, at) => ({...step, at})).filter(step =>
    step.way === way && pathOf(step.name) === pathOf(name));
  const ways = {forward: "forward", backward: "gradients", adam: "Adam’s step"};
  const there = to => [name, "output.loss", "output.logits", "adam.step"]
    .map(stage => stepOf(to, stage)).find(at => at >= 0);
  $("trail").replaceChildren(...mine.flatMap(({at, name: stage}) =>
    link(at, (way === "backward" ? "d" : "") + kindOf(stage))), make("span", {className: "ways"},
    ...Object.keys(ways).filter(to => to !== way).flatMap(to => link(there(to), ways[to]))));
}

// Says so where there is next to nothing to learn, because the model is nearly certain.
const aboutTiny = () => flow.computed.loss > 0.1 ? "" : " The loss is nearly 0, so all gradients are " +
  "tiny. Type another expected word above, and there is something to learn.";

function showViews(name) {
  const views = Object.entries(viewsOf(name)), isHeaded = pathOf(name).endsWith("attention");
  const isAdam = name === "adam.step";
  $("looks").hidden = views.length < 2 && !isAdam;
  $("views").hidden = isAdam;
  $("tensors").hidden = $("flow-take-step").hidden = !isAdam;
  $("heads").hidden = !isHeaded;
  $("views").replaceChildren(...views.map(([view, text]) => make("button", {textContent: text,
    ariaPressed: view === flow.view, onclick: () => chooseView(view)})));
  $("flow-head").replaceChildren(...upTo(sizeIn("heads")).map(n => make("option", {}, n)));
  $("flow-head").value = flow.head;
}

function chooseView(view) {
  stopPlaying();
  inTurn(async () => {
    flow.view = view;
    await goToStep(flow.at);
    $("views").querySelector("[aria-pressed=true]").focus();
  });
}

function chooseHead(head) {
  flow.head = head;
  remember("flow-head", head, USUAL_HEAD);
  flow.pinned = null;
}

// ---------------------------------------------------------------- what is shown

// A step's matrix, then what it is made of; on the way back its gradient and its value,
// and the parameters that learn.
async function stepMatrices(name, back) {
  if (name === "adam.step") return adamMatrices();
  const own = await stageMatrix(name, back ? "gradient" : "value");
  if (inPanel()) return withWords(own);
  const more = back ? [await stageMatrix(name, "value"), ...await learned(name)]
    : await Promise.all(inputsOf(name).map(part => stageMatrix(part, "value").then(folded)));
  return [...withWords(own),
    ...more.flatMap(withWords).map(matrix => Object.assign(matrix, {below: true}))];
}

// Strips have no room for words: if their columns are words, the first stand before them as digits.
function withWords(matrix) {
  const {columnNames, columns, label} = matrix.spec ?? {};
  if (!matrix.canvas || !columnNames) return [matrix];
  const most = innerWidth < 640 ? 7 : 8;
  return [new Digits({...matrix.spec, columns: columns.slice(0, most), label: `${label},`,
    note: `the first ${most} columns`}), matrix];
}

// For Adam's step the parameters, one tensor at a time; the one with the largest gradient is
// pinned, of all or of a tensor that has been chosen.
async function adamMatrices() {
  if (!flow.engine) throw new NotYet();
  if (!flow.pinned) await pinLargest("");
  $("flow-tensor").replaceChildren(...flow.facts.tensors.map(name => make("option", {}, name)));
  $("flow-tensor").value = flow.pinned.name;
  return tensorMatrices(flow.pinned.name);
}

async function pinLargest(tensor) {
  flow.pinned = {...await flow.engine.call("flow_largest", tensor), what: "gradient"};
}

// Folds a mask of nothing but ones into a sentence; its cells can still be switched.
function folded(matrix) {
  if (kindOf(matrix.spec.name) !== "mask" || matrix.spec.matrix.flat().some(x => !x)) return matrix;
  matrix.box = matrix.element;
  matrix.element = make("details", {}, make("summary", {}, "The mask hides nothing here: every " +
    "query may see every key"), matrix.box);
  return matrix;
}

// The matrices of one head, in the order in which they are computed.
const FORWARD = ["q", "k", "v", "scores", "scaled", "mask", "weights", "out"];
const BACKWARD = ["out", "weights", "scaled", "scores", "q", "k", "v"];

async function allMatrices(name, back) {
  const one = (kind, what) => stageMatrix(beside(name, kind), what, true);
  const found = await Promise.all([...FORWARD.map(kind => one(kind, "value")),
    ...back ? BACKWARD.map(kind => one(kind, "gradient")) : []]);
  return [{element: make("div", {className: "matrices"}, ...found.map(({element}) => element))}, ...found.map(matrix => Object.assign(matrix, {inside: true}))];
}

// A heat map as a drawing: one unit per cell, queries downwards.
function heatMap(weights) {
  const cells = weights.flatMap((row, i) => row.map((weight, j) =>
    drawn("rect", {x: j, y: i, width: 1, height: 1, "fill-opacity": weight.toFixed(3)})));
  return drawn("svg", {viewBox: `0 0 ${weights[0].length} ${weights.length}`, "aria-hidden": "true"},
    ...cells);
}

// All heads of all layers, small; a click shows one large, below.
async function allHeads(name, back) {
  const [side, , part] = name.split("."), weightsIn = layer => `${side}.${layer}.${part}.weights`;
  const what = back ? "gradient" : "value", T = rowsIn(name, "q");
  const layers = await Promise.all(upTo(sizeIn("layers")).map(layer => matrixOf(weightsIn(layer))));
  const most = back ? Math.max(...layers.map(({gradient}) => gradient.flat().map(Math.abs)).flat()) : 1;
  const map = (layer, head) => make("button", {className: "small-map",
    ariaLabel: `layer ${layer}, head ${head}`,
    ariaPressed: name.split(".")[1] === String(layer) && head === flow.head,
    onclick: () => inTurn(async () => {
      chooseHead(head);
      await goToStep(stepOf(stepNow().way, weightsIn(layer)));
      $("flow-matrices").querySelector("[aria-pressed=true]").focus();
    })}, heatMap(layers[layer][what].slice(head * T, head * T + T)
    .map(row => row.map(x => Math.abs(x) / most))));
  const table = tabulate(make("table", {id: "maps", className: back ? "tone-gradient" : "tone-weight"}),
    "All heads: the stronger the color, the more a row looks at a column. Click one to see it large.",
    upTo(sizeIn("heads")).map(head => `head ${head}`),
    layers.map((_, layer) => [`layer ${layer}`,
      ...upTo(sizeIn("heads")).map(head => make("td", {}, map(layer, head)))]));
  return [{element: table}, await stageMatrix(beside(name, "weights"), what)];
}

// ---------------------------------------------------------------- pointing

// The number that an event is about.
function placeAt(event) {
  const matrix = event.target.matrix;
  return matrix ? matrix.placeAt(event) : event.target.closest?.("td")?.place;
}

// Lights up what a number is made of, wherever it is shown.
function lightUp(place) {
  const parts = place ? partsOf(place) : [];
  for (const matrix of pane.matrices)
    if (matrix.mark) matrix.mark(parts, place);
  if (!flow.playing) light(place && traceOf(place));
}

// What is said of a number, unless something else is pointed at before it is known.
async function pointAt(place) {
  const told = ++pane.told;
  lightUp(place ?? flow.pinned);
  if (!place) return showNumber();
  const text = await numberText(place);
  if (told === pane.told) $("flow-origin").textContent = text;
}

const numberText = async place => place.what === "gradient"
  ? gradientText(place, (await matrixOf(place.name)).gradient[place.i][place.j])
  : `${called(place.name)}${indices(place.name, place.i, place.j)} = ${await originOfNumber(place)}`;

function pointAtThing(thing) {
  pane.told++;
  if (!thing) return quietly(pointAt(null));
  light(traceOfThing(thing));
  $("flow-origin").textContent = aboutThing(thing);
}

async function pin(place) {
  flow.pinned = place;
  pane.told++;
  lightUp(place);
  await showNumber();
}

// Pins a number that may belong to another step.
async function pinElsewhere(place) {
  const way = place.what === "gradient" ? "backward" : "forward", at = stepOf(way, place.name);
  if (at >= 0 && at !== flow.at) await goToStep(at);
  await pin(place);
}

// The first matrix that shows this number.
const matrixWith = ({name, what, i, j}) => pane.matrices.find(({spec}) => spec?.name === name
  && spec.what === what && spec.rows.includes(i) && spec.columns.includes(j));

function letGo() {
  const place = flow.pinned, had = place && matrixWith(place);
  flow.pinned = null;
  quietly(pointAt(null));
  if (place) had?.focus(place);
}

// What the pinned number is made of, its gradient, and a field to change it.
async function showNumber() {
  const place = flow.pinned, told = ++pane.told;
  $("flow-number").hidden = !place;
  $("flow-slope-says").textContent = "";
  lightUp(place);
  if (!place) {
    $("flow-origin").textContent = inPanel() ? "" : innerWidth < 640 ? "Touch a number, a dot or a line."
      : "Point at a number, a word, a dot or a line, and what it is made of lights up. A click pins it" + (isBack() ? ", to check its gradient." : ", to change it.");
    return;
  }
  const {value, gradient} = await matrixOf(place.name), {name, i, j, what} = place;
  const goesBack = Boolean(gradient) && isBack();
  const text = `${called(name)}${indices(name, i, j)} = ${await originOfNumber(place)}`;
  const sent = goesBack ? await gradientText(place, gradient[i][j]) : "";
  if (told !== pane.told) return;
  [$("flow-origin").textContent, $("flow-gradient").textContent] =
    what === "gradient" ? [sent, text] : [text, sent];
  $("flow-check").hidden = !goesBack;
  $("flow-change-label").hidden = !isChangeable(name);
  if (document.activeElement !== $("flow-change")) $("flow-change").value = value[i][j];
}

// A cell of the mask is switched; any other number is pinned, and can then be changed.
function useNumber(place) {
  stopPlaying();
  if (kindOf(place.name) === "mask")
    inTurn(async () => {
      flow.pinned = {...place};
      await changeNumber(place, 1 - (await numbersOf(place.name))[place.i][place.j]);
    });
  else quietly(pin(place));
}

// An arrow moves to the next number; Enter pins it, or goes to the field that changes it.
function onNumberKey(event) {
  const [down, right] = ARROWS[event.key] || [0, 0], {matrix} = event.target;
  const place = matrix ? matrix.placeOf(matrix.cursor) : placeAt(event);
  if (!place) return;
  if (down || right) {
    if (matrix) moveCursor(matrix, down, right);
    else moveCell(event.target, down, right);
  } else if (event.key === "Enter" && flow.pinned && sameNumber(place, flow.pinned)
    && isChangeable(place.name) && kindOf(place.name) !== "mask") typeInto($("flow-change"));
  else if (["Enter", " "].includes(event.key)) useNumber(place);
  else return;
  event.preventDefault();
}

const sameNumber = (a, b) => keyOf(a) === keyOf(b) && a.what === b.what;

function typeInto(field) {
  field.focus();
  field.select();
}

function moveCursor(matrix, down, right) {
  const {rows, columns} = matrix.spec, [m, n] = matrix.cursor;
  const within = (x, list) => Math.max(0, Math.min(x, list.length - 1));
  matrix.cursor = [within(m + down, rows), within(n + right, columns)];
  quietly(pointAt(matrix.placeOf(matrix.cursor)));
}

function moveCell(cell, down, right) {
  const row = cell.parentElement;
  const next = row.parentElement.rows[row.sectionRowIndex + down]?.cells[cell.cellIndex + right];
  if (!next?.place) return;
  cell.tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
}

function beginPane() {
  for (const list of [$("flow-matrices"), $("flow-inputs")]) listenTo(list);
  $("flow-head").onchange = () => inTurn(async () => {
    chooseHead(Number($("flow-head").value));
    await showSentence();
  });
  $("flow-close").onclick = letGo;
  const draw = () => pane.matrices.forEach(matrix => matrix.draw?.());
  new ResizeObserver(draw).observe($("flow-matrices"));
  matchMedia("(prefers-color-scheme: dark)").onchange = draw;
}

function listenTo(list) {
  list.addEventListener("pointermove", event => {
    const place = placeAt(event);
    if (flow.drawn) quietly(pointAt(place ?? null));
  });
  list.addEventListener("pointerleave", () => { if (flow.drawn) quietly(pointAt(null)); });
  list.addEventListener("click", event => {
    const place = placeAt(event);
    if (place) useNumber(place);
  });
  list.addEventListener("focusin", event => {
    const {matrix} = event.target, place = matrix ? matrix.placeOf(matrix.cursor) : placeAt(event);
    if (place && event.target.matches(":focus-visible")) quietly(pointAt(place));
  });
  list.addEventListener("keydown", onNumberKey);
}

function beginChanges() {
  $("flow-change").onchange = () => {
    const x = $("flow-change").valueAsNumber;
    if (Number.isFinite(x) && flow.pinned) inTurn(() => changeNumber(flow.pinned, x));
  };
  $("flow-change").onblur = () => { if (flow.pinned) quietly(showNumber()); };
  $("flow-check").onclick = () => inTurn(checkNumber);
  $("flow-take-step").onclick = () => inTurn(takeStep);
  $("flow-tensor").onchange = () => inTurn(async () => {
    await pinLargest($("flow-tensor").value);
    await showStep();
  });
}

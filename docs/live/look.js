// Look inside: translation as one types, attention, and the decoding, step by
// step.

const KINDS = {
  cross: {number: 2, name: "cross: decoder → source", rows: "input", columns: "source"},
  decoder: {number: 1, name: "decoder: itself", rows: "input", columns: "input"},
  encoder: {number: 0, name: "encoder: itself", rows: "source", columns: "source"},
};
const MOST_CELLS = 20000;    // that are drawn at once
const MOST_SIDE = 16;        // of the mask and the cache: the newest positions
const USUAL_HEAD = 2;        // in layer 1 its cross-attention is easy to read
const SENTENCES = ["the red car is fast", "does the small dog like this mouse ?",
  "are your small flowers blue ?"];

// What is looked at. The facts are what inspect() says of the sentence; of the
// word that was clicked, side is "row" or "column".
const seen = {
  facts: null, kind: "cross", layer: 1, head: USUAL_HEAD, step: 0, word: null,
  weights: new Map(),        // "layer.head" -> matrix
  typed: false,              // is the sentence the user's own?
  busy: null, newer: false,  // the engine that reads a sentence; is there a newer?
  stale: false,              // is there another model, which has not read it yet?
  drawings: 0,               // counted: the answers to an old one are dropped
};

const spec = () => KINDS[seen.kind];
const sizeOf = name => Number(viewer.info[name]);
const upTo = n => [...Array(n).keys()];

// What stands beside a row: the token that is read, and the one written there.
function rowNames() {
  const tokens = seen.facts[spec().rows];
  return spec().rows === "source" ? tokens
    : tokens.map((token, i) => `${token} → ${seen.facts.expected[i]}`);
}

const columnNames = () => seen.facts[spec().columns];

const hidden = (i, j) => seen.kind === "decoder" && j > i;

// ---------------------------------------------------------------- the sentence

const list = words => words.map(word => `“${word}”`).join(", ");

// What is said about words that the model does not know.
function aboutUnknown({unknown, known}) {
  if (!unknown.length) return "";
  return `This model does not know ${list([...new Set(unknown)])} and reads ` +
    `<unknown> instead. ${known.length} of the tokens that it knows: ${known.join(" ")}`;
}

// A blank that belongs to a token, as one that can be seen.
function visibleBlanks(facts) {
  const shown = token => token.replaceAll(" ", "␣");
  for (const name of ["source", "input", "expected"]) facts[name] = facts[name].map(shown);
  facts.steps = facts.steps.map(step => step.map(([token, p]) => [shown(token), p]));
  return facts;
}

// Translates what is typed, and shows all about it. While a large model works,
// only the last of what is typed waits.
async function inspect() {
  const {engine} = viewer;
  seen.newer = seen.busy === engine;
  if (seen.newer) return;
  setBusy(engine);
  let facts;
  try {
    do {
      seen.newer = false;
      facts = await engine.call("inspect", $("source").value);
    } while (seen.newer);
  } finally {
    if (seen.busy === engine) setBusy(null);
  }
  showFacts(facts);
}

// Sentences that the model can read, to click; the first stands in the field as
// long as nobody has typed one. What a file can read is not known.
const sentences = () => $("model").value === "trained"
  ? current.last.samples.map(sample => sample.source) : SENTENCES;

function suggest() {
  $("examples").hidden = $("model").value === "file";
  $("examples").replaceChildren("Try: ", ...sentences().map(text =>
    make("button", {className: "word", onclick: () => typed(text)}, text)));
  if (!seen.typed) [$("source").value] = sentences();
}

function typed(text) {
  $("source").value = text;
  $("source").dispatchEvent(new Event("input"));
}

function setBusy(engine) {
  seen.busy = engine;
  for (const view of ["look", "head"]) $(view).setAttribute("aria-busy", Boolean(engine));
}

function showFacts(facts) {
  $("looked").hidden = $("one-head").hidden = Boolean(facts.wrong);
  $("translation").textContent = facts.wrong ? "" : facts.text || NOTHING;
  $("unknown").textContent = facts.wrong
    ? $("source").value.trim() && "This sentence " + facts.wrong : aboutUnknown(facts);
  $("head-sentence").textContent = facts.wrong ? "This sentence " + facts.wrong
    : `${facts.source.join(" ")} → ${facts.expected.join(" ")}`;
  if (facts.wrong) return;
  seen.facts = visibleBlanks(facts);
  seen.step = Math.min(seen.step, facts.steps.length - 1);
  if (seen.word && seen.word.index >= wordsOf(seen.word.side).length) seen.word = null;
  dispatchEvent(new Event("head"));
}

// Reports what fails, unless it was asked of an engine that another has replaced.
const quietly = work => work.catch(error => {
  if (error.message !== "ended") report(error.message);
});

// ---------------------------------------------------------------- which head

// Looks at another kind, layer or head; both views follow.
function chooseHead(chosen) {
  if (chosen.kind && chosen.kind !== seen.kind) seen.word = null;
  Object.assign(seen, chosen);
  rememberHead();
  dispatchEvent(new Event("head"));
}

function rememberHead() {
  remember("kind", seen.kind, "cross");
  remember("layer", seen.layer, 1);
  remember("head", seen.head, USUAL_HEAD);
  remember("word", seen.word ? `${seen.word.side},${seen.word.index}` : "");
}

// The three menus, in both views.
function beginMenus() {
  for (const menu of document.querySelectorAll("select.kind")) {
    menu.append(...Object.entries(KINDS).map(([value, {name}]) =>
      make("option", {value}, name)));
    menu.onchange = () => chooseHead({kind: menu.value});
  }
  for (const what of ["layer", "head"])
    for (const menu of document.querySelectorAll("select." + what))
      menu.onchange = () => chooseHead({[what]: Number(menu.value)});
}

function showMenus() {
  for (const what of ["kind", "layer", "head"])
    for (const menu of document.querySelectorAll("select." + what)) {
      if (what !== "kind")
        menu.replaceChildren(...upTo(sizeOf(what + "s")).map(n => make("option", {}, n)));
      menu.value = seen[what];
    }
}

// ---------------------------------------------------------------- attention

// The heads that are drawn: all of them, or those of the layer, or the one.
function headsDrawn() {
  const cells = rowNames().length * columnNames().length;
  const all = upTo(sizeOf("layers")).flatMap(layer =>
    upTo(sizeOf("heads")).map(head => ({layer, head})));
  const some = all.filter(({layer}) => layer === seen.layer);
  return [all, some].find(heads => heads.length * cells <= MOST_CELLS)
    || some.filter(({head}) => head === seen.head);
}

const weightsOf = ({layer, head}) => seen.weights.get(`${layer}.${head}`);

async function showAttention() {
  const {engine} = viewer, heads = headsDrawn(), turn = ++seen.drawings;
  const found = await Promise.all(heads.map(({layer, head}) =>
    engine.call("attention", spec().number, layer, head)));
  if (turn !== seen.drawings || seen.busy) return;
  seen.weights = new Map(heads.map(({layer, head}, n) => [`${layer}.${head}`, found[n]]));
  showMaps(heads);
  showMap();
  showWord();
  await showDecoding(turn);
}

// A heat map as a drawing: a unit for a cell, queries downwards.
function heatMap(weights) {
  const cells = [drawn("rect", {width: weights[0].length, height: weights.length,
    class: "map-paper"})];
  weights.forEach((row, i) => row.forEach((weight, j) => {
    if (weight > 0.005)
      cells.push(drawn("rect", {x: j, y: i, width: 1, height: 1,
        class: "map-weight", "fill-opacity": weight.toFixed(3)}));
  }));
  return cells;
}

// All heads, small: a row for each layer, and a button for each head.
function showMaps(heads) {
  const layers = [...new Set(heads.map(({layer}) => layer))];
  const columns = [...new Set(heads.map(({head}) => head))];
  const caption = "All heads: the stronger its color, the more a row looks at a column. " +
    "Click one to see it large.";
  tabulate($("maps"), caption, columns.map(head => `head ${head}`),
    layers.map(layer => [`layer ${layer}`,
      ...columns.map(head => make("td", {}, smallMap({layer, head})))]));
}

function smallMap({layer, head}) {
  const weights = weightsOf({layer, head});
  const svg = drawn("svg", {viewBox: `0 0 ${weights[0].length} ${weights.length}`,
    "aria-hidden": "true"}, ...heatMap(weights));
  const button = make("button", {className: "small-map",
    onclick: () => chooseHead({layer, head})}, svg);
  button.setAttribute("aria-label", `layer ${layer}, head ${head}`);
  button.setAttribute("aria-pressed", layer === seen.layer && head === seen.head);
  return button;
}

const percent = share => `${(100 * share).toFixed(1)}%`;

// Gives a cell a share of its color.
function tint(cell, share) {
  cell.style.background = `color-mix(in srgb, var(--tint) ${percent(share)}, transparent)`;
}

// A number among others, of which `most` is the largest size.
function tintBySign(cell, x, most) {
  cell.classList.toggle("negative", x < 0);
  tint(cell, 0.45 * (Math.abs(x ?? 0) / most) ** 0.7);
}

// A cell of a heat map: its color says what its number says.
function weightCell(weight, isHidden = false) {
  const cell = make("td", {className: isHidden ? "masked" : "weight",
    title: isHidden ? "hidden by the causal mask" : String(weight)});
  if (!isHidden) tint(cell, weight);
  cell.append(make("span", {}, weight === null ? "?"
    : isHidden || weight < 0.005 ? "" : weight.toFixed(2)));
  return cell;
}

function wordButton(side, index, text) {
  const button = make("button", {className: "word", onclick: () => chooseWord(side, index)},
    make("span", {}, text));
  button.setAttribute("aria-pressed", isWord(side, index));
  return button;
}

// The head that was chosen, large, with the words at its sides.
// On the book's first page, the mean of the layer's heads.
function showMap() {
  const isMean = state.get("panel") === "map", names = rowNames();
  const layer = upTo(sizeOf("heads")).map(head => weightsOf({layer: seen.layer, head}))
    .filter(Boolean);
  const weights = !isMean ? weightsOf(seen) : layer[0].map((row, i) => row.map((_, j) =>
    total(layer.map(head => [head[i][j], 1 / layer.length]))));
  $("map").classList.toggle("dense", weights[0].length > 16);
  const caption = isMean ? "Where the model looks before it writes each word: the last layer, " +
      "the mean of its heads" : `${seen.kind}, layer ${seen.layer}, head ${seen.head}: each row ` +
    "sums to 1" + (spec().rows === "input"
    ? ". In a row “a → b”, the model has read a and writes b." : "");
  tabulate($("map"), caption, columnNames().map((word, j) => wordButton("column", j, word)),
    weights.map((row, i) => [wordButton("row", i, names[i]),
      ...row.map((weight, j) => weightCell(weight, hidden(i, j)))]));
  if (isMean) parent.postMessage("there", "*");
}

// ---------------------------------------------------------------- one word

const isWord = (side, index) =>
  Boolean(seen.word) && seen.word.side === side && seen.word.index === index;

const wordsOf = side => side === "row" ? rowNames() : columnNames();

function chooseWord(side, index) {
  seen.word = isWord(side, index) ? null : {side, index};
  rememberHead();
  showMap();
  showWord();
  const buttons = $("map").querySelectorAll(side === "row" ? "tbody button" : "thead button");
  buttons[index].focus();
}

// What all heads give the word that was clicked.
function showWord() {
  $("one-word").hidden = !seen.word;
  $("word-hint").hidden = Boolean(seen.word);
  if (!seen.word) return;
  const {side, index} = seen.word, byRow = side === "row";
  const others = byRow ? columnNames() : rowNames(), word = wordsOf(side)[index];
  const line = ({layer, head}) => [`layer ${layer}, head ${head}`, ...others.map((_, n) => {
    const [i, j] = byRow ? [index, n] : [n, index];
    return weightCell(weightsOf({layer, head})[i][j], hidden(i, j));
  })];
  const caption = byRow ? `Where each head looks from “${word}”`
    : `How much each row looks at “${word}”, in each head`;
  tabulate($("word-heads"), caption,
    others.map(other => make("span", {className: "upright"}, other)), headsDrawn().map(line));
}

// ---------------------------------------------------------------- the decoding

async function showDecoding(turn) {
  const cache = await viewer.engine.call("cached", seen.layer, seen.head);
  if (turn !== seen.drawings || seen.busy) return;
  seen.cache = cache;
  showStep();
}

function goTo(step) {
  seen.step = Math.max(0, Math.min(step, seen.facts.steps.length - 1));
  remember("at", seen.step, 0);
  showStep();
}

function showStep() {
  const {facts, step} = seen, last = facts.steps.length - 1;
  $("step-range").max = last;
  $("step-range").value = step;
  $("step-number").textContent = `${step + 1} of ${last + 1}`;
  switchOff($("step-back"), step === 0);
  switchOff($("step-on"), step === last);
  $("step-says").replaceChildren(
    ...facts.input.slice(0, step + 1).flatMap(word => [make("span", {}, word), " "]),
    "→ ", make("strong", {}, facts.expected[step]));
  $("likeliest").replaceChildren(...facts.steps[step].map(likely));
  $("causal").replaceChildren(...growing(maskCells));
  $("cache").replaceChildren(...growing(cacheCells));
  $("cache-name").textContent = `layer ${seen.layer}, head ${seen.head}`;
}

function likely([token, probability], n) {
  const bar = make("td", {className: "bar"});
  bar.style.setProperty("--share", percent(probability));
  return make("tr", {className: n ? "" : "chosen"},
    make("th", {scope: "row"}, token),
    make("td", {}, probability < 0.0001 ? "< 0.0001" : probability.toFixed(4)), bar);
}

// The positions that are shown.
function newest() {
  const first = Math.max(0, seen.step + 1 - MOST_SIDE);
  return upTo(seen.facts.input.length).slice(first, first + MOST_SIDE);
}

// A row for each position; those that are not reached yet are empty.
function growing(cells) {
  return newest().map(i => make("tr", {className: i === seen.step ? "new" : ""},
    make("th", {scope: "row"}, seen.facts.input[i]), ...cells(i, i <= seen.step)));
}

function maskCells(i, open) {
  return newest().map(j => make("td",
    {className: !open ? "" : j > i ? "masked" : "visible"}, open ? String(Number(j <= i)) : ""));
}

function cacheCells(i, open) {
  return ["k", "v"].flatMap(name => {
    const rows = seen.cache[name].map(row => row.slice(0, MOST_SIDE));
    const most = Math.max(...rows.flat().map(Math.abs));
    return rows[i].map((x, p) => {
      const cell = make("td", {className: open ? name : "",
        title: open ? `${name}[${i}][${p}] = ${x}` : ""});
      if (p === 0) cell.classList.add("first");
      if (open) tint(cell, 0.8 * Math.abs(x) / most);
      return cell;
    });
  });
}

function beginDecoding() {
  $("step-range").oninput = () => goTo(Number($("step-range").value));
  $("step-back").onclick = () => goTo(seen.step - 1);
  $("step-on").onclick = () => goTo(seen.step + 1);
  $("decoding").onkeydown = event => {
    const [, right] = ARROWS[event.key] ?? [];
    if (!right || event.target === $("step-range")) return;
    event.preventDefault();
    goTo(seen.step + right);
  };
}

// ---------------------------------------------------------------- begin

// A kind, a layer and a head that this model has.
function clampHead() {
  seen.layer = Math.min(seen.layer, sizeOf("layers") - 1);
  seen.head = Math.min(seen.head, sizeOf("heads") - 1);
}

function readState() {
  seen.kind = keyIn(KINDS, state.get("kind")) || seen.kind;
  for (const [name, key] of [["layer", "layer"], ["head", "head"], ["step", "at"]])
    if (state.has(key)) seen[name] = countIn(state.get(key));
  const [side, index] = (state.get("word") || "").split(",");
  if (["row", "column"].includes(side)) seen.word = {side, index: countIn(index)};
  seen.typed = state.has("source");
  $("source").value = state.get("source") ?? SENTENCES[0];
}

function beginLook() {
  const translate = later(150, () => quietly(inspect()));
  readState();
  beginMenus();
  beginDecoding();
  $("in-numbers").onclick = () => goToTab("head");
  $("source").oninput = () => {
    seen.typed = true;
    remember("source", $("source").value, SENTENCES[0]);
    translate();
  };
  const wake = () => {    // one of both views has been opened
    if (!seen.stale || !["look", "head"].includes(shownTab)) return;
    seen.stale = false;
    clampHead();
    showMenus();
    suggest();
    quietly(inspect());
  };
  addEventListener("model", () => {
    seen.stale = true;
    wake();
  });
  addEventListener("tab", wake);
  addEventListener("head", () => {
    showMenus();
    quietly(showAttention());
  });
}

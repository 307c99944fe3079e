// A sentence, all the way: every stage from words to loss and back, in double precision,
// computed by transformer.c in an engine of its own. Until that engine is there, what has been
// recorded for the first sentence is shown.

const flow = {
  engine: null, info: null,   // what describe_model says
  key: "page",           // of the model
  stale: false,          // is there a newer model?
  facts: null,           // the words, and the list of tensors
  stages: new Map(),     // name -> stage, in the order of the program
  computed: null,        // loss, stages
  steps: [], at: 0,      // {way, name}: what is shown one after the other
  head: 0, view: "",     // of a step with attention, or of the output
  pinned: null,          // the number that was clicked: {name, i, j, what}
  edits: new Map(),      // "name,i,j" -> number
  cache: new Map(),      // name -> {value, gradient}, as last computed
  typed: false,          // has the reader typed what is expected?
  queue: Promise.resolve(),   // what the engine does, one thing after the other
};

const FIRST_SENTENCE = ["the red car is fast", "la voiture verte est rapide"];
const USUAL_HEAD = 2;    // in layer 1 its cross-attention is easy to read

// Does some work once all work before it is done.
function inTurn(work) {
  const mine = flow.queue = flow.queue.then(work, work);
  $("flow-body").ariaBusy = true;
  mine.catch(() => {}).finally(() => { if (mine === flow.queue) $("flow-body").ariaBusy = false; });
  return quietly(mine);
}

// ---------------------------------------------------------------- the stages

const SUBLAYERS = {self_attention: "self-attention", cross_attention: "cross-attention",
  feed_forward: "feed-forward"};

const kindOf = name => name.slice(name.lastIndexOf(".") + 1);
const pathOf = name => name.slice(0, name.lastIndexOf("."));
const beside = (name, kind) => `${pathOf(name)}.${kind}`;

const sizeIn = name => Number(flow.info[name]);

// "Decoder, layer 1, cross-attention"
function placeName(path) {
  const [side, layer, part] = path.split("."), stack = {encoder: "Encoder", decoder: "Decoder"}[side];
  const whole = {source: "Encoder, input", target: "Decoder, input", output: "Output",
    adam: "Finally"}[side];
  return whole || `${stack}, ${part ? `layer ${layer}, ${SUBLAYERS[part]}` : "final norm"}`;
}

const isHidden = name =>
  ["token", "encoding", "mean", "rstd", "mask"].includes(kindOf(name));
const perHead = name => ["scores", "scaled", "weights"].includes(kindOf(name));

// Forward, backward, and finally Adam.
function listSteps() {
  const names = [...flow.stages.keys()].filter(name => !isHidden(name));
  const back = names.filter(name => flow.stages.get(name).pulls).reverse();
  flow.steps = [...names.map(name => ({way: "forward", name})),
    ...back.map(name => ({way: "backward", name})), {way: "adam", name: "adam.step"}];
}

const stepNow = () => flow.steps[flow.at];
const isBack = () => stepNow().way !== "forward";
const stepOf = (way, name) => flow.steps.findIndex(step => step.way === way && step.name === name);

// ---------------------------------------------------------------- computing

// Begins with a model that has just been loaded, or with another one.
async function beginSentence({engine, info}, key) {
  if (flow.engine) flow.engine.end();
  if (flow.info && key !== flow.key) {
    flow.edits.clear();
    rememberEdits("changes", flow.edits);
  }
  if (key === "trained" && key !== flow.key) {
    $("flow-source").value = current.last.samples[0].source;
    $("flow-target").value = "";
    flow.typed = false;
  }
  Object.assign(flow, {engine, info, key, stale: false});
  showModel(info);
  await readSentence();
}

const asText = tokens => tokens.map(token => token.replaceAll("␣", " "))
  .join(flow.info.tokens === "word" ? " " : "");

// What is said of words that the model does not know.
function aboutUnknown(typed, {source, source_words: known}) {
  if (!source.includes("<unknown>")) return "";
  const words = typed.split(/\s+/).filter((_, n) => source[n] === "<unknown>");
  const some = known.slice(4).filter((_, n, {length}) => n % Math.ceil(length / 20) === 0);
  return `The model does not know ${words.length ? words.map(word => `“${word}”`).join(", ")
    : "all of this"} and reads <unknown> instead. It knows, among others: ${some.join(" ")}`;
}

// Reads both sentences anew. If the reader has not typed what is expected, and the model
// would be nearly certain, another text is expected, so that there is something to learn.
async function readSentence() {
  if (!flow.engine) return;
  const typed = $("flow-source").value.trim(), read = target =>
    flow.engine.call("flow_begin", typed, target.trim());
  const facts = await read($("flow-target").value);
  $("flow-wrong").textContent = !typed ? "Type a sentence."
    : facts.wrong ? `This sentence ${facts.wrong}` : aboutUnknown(typed, facts);
  $("flow-body").hidden = Boolean(facts.wrong);
  if (facts.wrong) return stopPlaying();
  flow.facts = visibleWords(facts);
  flow.pinned = null;
  flow.order = null;
  for (const [place, x] of flow.edits) await sendEdit(place, x);
  flow.computed = await flow.engine.call("flow_compute");
  if (!flow.typed && !inPanel() && flow.computed.loss < 0.1 && !flow.edits.size) {
    await takeComputed();
    $("flow-target").value = await anotherText();
    Object.assign(flow, {facts: visibleWords(await read($("flow-target").value)),
      computed: await flow.engine.call("flow_compute")});
  }
  await takeComputed();
  await showSentence();
}

function visibleWords(facts) {
  for (const name of ["source", "input", "expected", "source_words", "target_words"])
    facts[name] = facts[name].map(token => token.replaceAll(" ", "␣"));
  return facts;
}

// The model's own words, except that the first is replaced by its second choice.
async function anotherText() {
  const {expected, target_words: names} = flow.facts;
  const words = expected.filter(word => word !== "<end>");
  const [row] = await numbersOf("output.probabilities");
  const [first, second] = upTo(row.length).slice(4).sort((a, b) => row[b] - row[a]);
  words[0] = words[0] === names[first] ? names[second] : names[first];
  return asText(words).trim();
}

const sendEdit = (place, x) => {
  const [name, i, j] = place.split(",");
  return flow.engine.call("flow_change", name, Number(i), Number(j), x);
};

// Takes over what has just been computed, and stays at the same step as before.
async function takeComputed() {
  flow.stages = new Map(flow.computed.stages.map(stage => [stage.name, stage]));
  flow.cache.clear();
  flow.decoded = null;
  const step = stepNow();
  listSteps();
  flow.at = step ? Math.max(0, stepOf(step.way, step.name)) : stepInAddress();
  flow.head = Math.min(countIn(state.get("flow-head") ?? USUAL_HEAD), sizeIn("heads") - 1);
}

async function computeSentence() {
  flow.computed = await flow.engine.call("flow_compute");
  await takeComputed();
  await showSentence();
}

function stepInAddress() {
  const way = state.get("way") || "forward", named = stepOf(way, state.get("stage"));
  return Math.max(0, named >= 0 ? named : flow.steps.findIndex(step => step.way === way));
}

// Thrown when a number is wanted that was not recorded, before the program is there.
class NotYet extends Error {}
const notYet = error => {
  if (!(error instanceof NotYet)) throw error;
  return null;
};

async function matrixOf(name) {
  if (!flow.cache.has(name)) {
    if (!flow.engine && !RECORDED.matrices[name]) throw new NotYet();
    flow.cache.set(name, flow.engine ? await flow.engine.call("flow_matrix", name)
      : RECORDED.matrices[name]);
  }
  return flow.cache.get(name);
}

const numbersOf = async name => (await matrixOf(name)).value;

// Changes a number of a stage, of the mask, or a parameter; all after it is computed anew.
async function changeNumber(place, x) {
  flow.edits.set(keyOf(place), x);
  await sendEdit(keyOf(place), x);
  rememberEdits("changes", flow.edits);
  await computeSentence();
}

// Other words have other stages, so their changes are dropped; those to parameters stay.
function forgetStages() {
  for (const place of flow.edits.keys())
    if (!isParameter(place.split(",")[0])) flow.edits.delete(place);
  rememberEdits("changes", flow.edits);
}

// Back to the model's own numbers.
async function undoChanges() {
  flow.edits.clear();
  flow.learned = false;
  rememberEdits("changes", flow.edits);
  await beginSentence(await engineWith(models.get(flow.key).bytes), flow.key);
}

// ---------------------------------------------------------------- a step

async function goToStep(at) {
  flow.at = Math.max(0, Math.min(at, flow.steps.length - 1));
  flow.pinned = null;
  if (!viewsOf(stepNow().name)[flow.view]) flow.view = "";
  const {way, name} = stepNow();
  remember("way", way, "forward");
  remember("stage", name, flow.steps[0].name);
  remember("view", flow.view);
  await showSentence();
}

// The step that says most about a part, on the way forward or back.
function tellingStep(path, back) {
  const kind = {source: "positions", target: "positions", output: back ? "logits" : "loss",
    self_attention: "weights", cross_attention: "weights", feed_forward: "active"}[kindOf(path)];
  return stepOf(back ? "backward" : "forward", `${path}.${kind ?? "norm"}`);
}

const goToPart = path => inTurn(() => goToStep(tellingStep(path, isBack())));

async function showSentence() {
  const last = flow.steps.length - 1;
  $("count").textContent = `step ${flow.at + 1} of ${last + 1}`;
  const turn = flow.steps.findIndex(step => step.way === "backward");
  $("bar").style.setProperty("--turn", `${100 * turn / last}%`);
  $("bar").style.setProperty("--done", `${100 * flow.at / last}%`);
  switchOff($("back"), flow.at === 0);
  switchOff($("next"), flow.at === last);
  $("flow-undo").hidden = !flow.edits.size && !flow.learned;
  $("flow-undo").textContent = flow.edits.size ? "Undo my changes" : "Undo the training";
  await Promise.all([showLoss(), showPicture()]);
  await showStep();
}

// What the model says at each expected word, and the loss.
async function showLoss() {
  const {expected, target_words: words} = flow.facts;
  const said = flow.said = (await numbersOf("output.probabilities"))
    .map(row => words[row.indexOf(Math.max(...row))]);
  const pair = `${$("flow-source").value}\t${expected}`, {loss} = flow.computed;
  const isOwn = !flow.edits.size && !flow.learned;
  if (isOwn) flow.unchanged = {pair, loss};
  const before = isOwn || flow.unchanged?.pair !== pair ? ""
    : ` (before: ${exact(flow.unchanged.loss)})`;
  $("flow-loss").replaceChildren("The model says: ", ...said.flatMap((word, i) => [" ",
    make(word === expected[i] ? "span" : "mark", {textContent: word, onpointerenter: () =>
      pointAtThing({word: flow.drawn.words.find(one => one.isExpected && one.i === i)}),
    onpointerleave: () => pointAtThing(null)})]),
  make("b", {}, ` Loss ${exact(loss)}`), before);
}

// ---------------------------------------------------------------- begin

// Arrows move in a matrix; elsewhere, except in fields, they go one step on or back, and Home
// and End go to the first and the last step.
function onFlowKey(event) {
  if ($("flow").hidden || event.altKey || event.ctrlKey || event.metaKey) return;
  if (event.key === "Escape") letGo();
  const [, right] = {...ARROWS, Home: [0, -Infinity], End: [0, Infinity]}[event.key] || [];
  if (!right || $("flow-body").hidden || event.defaultPrevented
    || event.target.closest("input, select, [role=tab], [role=radiogroup]")) return;
  event.preventDefault();
  stopPlaying();
  inTurn(() => goToStep(flow.at + right));
}

function beginWords() {
  const [first, wrong] = FIRST_SENTENCE, usual = () =>
    $("flow-source").value === first && !inPanel() ? wrong : "";
  $("flow-source").value = state.get("sentence") ?? first;
  $("flow-target").value = state.get("target") ?? usual();
  flow.typed = state.has("target");
  const read = later(300, () => inTurn(readSentence));
  $("flow-source").oninput = () => {
    if (!flow.typed || usual() || $("flow-target").value === wrong) {
      $("flow-target").value = usual();
      flow.typed = false;
      remember("target", "");
    }
    remember("sentence", $("flow-source").value, first);
    forgetStages();
    read();
  };
  $("flow-target").oninput = () => {
    flow.typed = true;
    if ($("flow-target").value === usual()) state.delete("target");
    else remember("target", $("flow-target").value, null);
    read();
  };
}

const RECORDED = JSON.parse($("recorded").textContent);

// The first sentence of the page, as it has been recorded.
function showRecorded() {
  const isFirst = FIRST_SENTENCE.every((text, n) =>
    [$("flow-source"), $("flow-target")][n].value === text);
  if (!isFirst || flow.edits.size || state.get("tab") === "train") return;
  Object.assign(flow, {info: RECORDED.info, facts: visibleWords(RECORDED.facts),
    computed: RECORDED.computed});
  inTurn(async () => {
    await takeComputed();
    await showSentence();
  });
}

function beginFlow() {
  flow.edits = editsIn("changes", isChangeable);
  flow.view = keyIn(VIEWS, state.get("view") ?? "");
  beginWords();
  const step = on => () => {
    stopPlaying();
    inTurn(() => goToStep(flow.at + on));
  };
  $("back").onclick = step(-1);
  $("next").onclick = step(1);
  $("flow-undo").onclick = () => inTurn(undoChanges);
  document.addEventListener("keydown", onFlowKey);
  beginPicture();
  beginPane();
  beginChanges();
  beginPlay();
  beginTour();
  if (!inPanel()) showRecorded();
}

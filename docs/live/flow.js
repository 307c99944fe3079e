// One sentence, all the way: every stage from words to loss and back, in double
// precision, computed by transformer.c in an engine of its own.

const flow = {
  engine: null, stale: true, busy: false,
  model: null, info: null,   // TRANSLATOR or GPT; what describe_model says
  facts: null,           // the words, and the list of tensors
  stages: new Map(),     // name -> stage, in the order of the program
  computed: null,        // loss, correct
  steps: [], at: 0,      // {way, name}: what is shown one after the other
  head: 0,
  chosen: null,          // the number that was clicked: {name, i, j}
  held: false,           // the focus on a number does not choose it
  edits: new Map(),      // "name,i,j" -> number
  cache: new Map(),      // name -> {value, gradient}, as last computed
  timer: 0,
  read: new Set(),       // the texts that have been shown while it plays
  another: false,        // has another word been expected, on the way back?
  queue: Promise.resolve(),   // what the engine does, one thing after the other
};

// Does something when all before it is done.
const inTurn = work => quietly(flow.queue = flow.queue.then(work, work));

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
  const whole = {source: "Encoder, input", target: "Decoder, input", text: "Input",
    output: "Output"};
  const name = part ? `layer ${layer}, ${SUBLAYERS[part]}` : "final norm";
  return whole[side] || (flow.model === GPT ? name[0].toUpperCase() + name.slice(1)
    : `${stack}, ${name}`);
}

const isHidden = name =>
  ["token", "encoding", "mean", "rstd", "mask"].includes(kindOf(name));
const perHead = name => ["scores", "scaled", "weights"].includes(kindOf(name));

// Forward, backward, and Adam at last.
function listSteps() {
  const names = [...flow.stages.keys()].filter(name => !isHidden(name));
  const back = names.filter(name => flow.stages.get(name).pulls).reverse();
  flow.steps = [...names.map(name => ({way: "forward", name})),
    ...back.map(name => ({way: "backward", name})), {way: "adam", name: "adam"}];
}

const stepNow = () => flow.steps[flow.at];

// ---------------------------------------------------------------- computing

// The model that is looked at, in double precision.
async function beginSentence() {
  flow.stale = false;
  flow.model = isGpt() ? GPT : TRANSLATOR;
  if (!state.has("sentence")) $("flow-source").value = flow.model.first();
  if (!state.has("target")) $("flow-target").value = "";
  if (flow.engine) flow.engine.end();
  flow.engine = new Engine(await doubleProgram());
  await flow.engine.write("model.safetensors", await flow.model.bytes());
  await flow.engine.call(flow.model.load);
  flow.info = await flow.engine.call("describe_model");
  $("flow-head").replaceChildren(...upTo(sizeIn("heads")).map(n => make("option", {}, n)));
  showModel();
  await readSentence();
}

// A page with another program in it has that one in single precision alone.
let compiledDouble;
const doubleProgram = async () => compiledDouble ??= $("double.wasm")
  ? await WebAssembly.compile(await unpacked("double.wasm")) : program;

// Reads both sentences anew.
async function readSentence() {
  if (!flow.engine) return;
  const facts = await flow.engine.call(flow.model.begin, flow.model.typed($("flow-source").value),
    flow.model.typed($("flow-target").value));
  $("flow-wrong").textContent = !$("flow-source").value.trim() ? `Type a ${flow.model.text}.`
    : facts.wrong ? `This ${flow.model.text} ${facts.wrong}`
    : flow.model.unknown(facts) ? "The model does not know every word: it reads <unknown>"
      : facts.forgotten ? `The model sees the last ${facts.given + 1} tokens of this text; it ` +
        `has forgotten the ${facts.forgotten} before them` : "";
  $("flow-body").hidden = Boolean(facts.wrong);
  if (facts.wrong && flow.timer) play();
  if (facts.wrong) return;
  flow.facts = visibleWords(facts);
  flow.chosen = null;
  for (const [place, x] of flow.edits) await sendEdit(place, x);
  await computeSentence();
}

// Tokens as they are shown, as text again.
const asText = tokens => tokens.map(flow.model.invisible)
  .join(flow.info.tokens === "word" ? " " : "");

function visibleWords(facts) {
  for (const name of ["source", "input", "expected", "source_words", "target_words"])
    facts[name] = facts[name].map(flow.model.visible);
  return facts;
}

const sendEdit = (place, x) => {
  const [name, i, j] = place.split(",");
  return flow.engine.call("flow_change", name, Number(i), Number(j), x);
};

async function computeSentence() {
  flow.computed = await flow.engine.call("flow_compute");
  flow.stages = new Map(flow.computed.stages.map(stage => [stage.name, stage]));
  flow.cache.clear();
  const step = stepNow();
  listSteps();
  if (step) flow.at = Math.max(0, flow.steps.findIndex(({way, name}) =>
    way === step.way && name === step.name));
  else flow.at = stepInAddress();
  flow.head = Math.min(countIn(state.get("flow-head") ?? USUAL_HEAD), sizeIn("heads") - 1);
  $("flow-head").value = flow.head;
  fillParts();
  await showSentence();
  if (!step && (state.has("stage") || state.has("way"))) bringIntoSight();
  await flow.model.follow();
}

function stepInAddress() {
  const way = state.get("way") || "forward";
  const named = flow.steps.findIndex(step => step.way === way && step.name === state.get("stage"));
  return Math.max(0, named >= 0 ? named : flow.steps.findIndex(step => step.way === way));
}

async function matrixOf(name) {
  if (!flow.cache.has(name)) flow.cache.set(name, await flow.engine.call("flow_matrix", name));
  return flow.cache.get(name);
}

const numbersOf = async name => (await matrixOf(name)).value;
const numberOf = async (name, i, j) => (await numbersOf(name))[i][j];

// Changes a number of a stage, of the mask, or a parameter; all after it follows.
async function changeNumber(place, x) {
  flow.edits.set(keyOf(place), x);
  await sendEdit(keyOf(place), x);
  rememberEdits("changes", flow.edits);
  await computeSentence();
}

// Other words have other stages; a parameter that has been changed stays so.
function forgetStages() {
  for (const place of flow.edits.keys())
    if (!isParameter(place.split(",")[0])) flow.edits.delete(place);
  rememberEdits("changes", flow.edits);
}

// Back to the model's own numbers.
async function undoChanges() {
  flow.edits.clear();
  rememberEdits("changes", flow.edits);
  await beginSentence();
}

// Is it the model's own words that are expected, or those in the field?
const expectsOwn = () => !$("flow-target").value.trim();

// Expects first the word that the model holds to be second: so there is something to
// learn. Then, again, the model's own.
async function expectAnother() {
  if ($("flow-body").hidden) return;
  $("flow-target").value = expectsOwn() ? await anotherText() : "";
  $("flow-target").dispatchEvent(new Event("input"));
}

async function anotherText() {
  const {expected, given, target_words: names} = flow.facts;
  const words = expected.slice(given).filter(word => word !== "<end>");
  const row = (await numbersOf("output.probabilities"))[given];
  const [first, second] = upTo(row.length).slice(4).sort((a, b) => row[b] - row[a]);
  words[0] = words[0] === names[first] ? names[second] : names[first];
  return asText(words).trim();
}

// ---------------------------------------------------------------- a step

async function goToStep(at) {
  const before = stepNow().way;
  flow.at = Math.max(0, Math.min(at, flow.steps.length - 1));
  flow.chosen = null;
  const {way, name} = stepNow();
  remember("way", way, "forward");
  remember("stage", name, flow.steps[0].name);
  await showSentence();
  bringIntoSight();
  if (before === "forward" && way === "backward" && !flow.another && nothingToLearn()
    && !flow.edits.size) {
    flow.another = true;
    await expectAnother();
  }
}

const ROOM = 250;    // pixels below a step's title: less is not the step in sight

// Scrolls to the title of the step, unless it is in sight; where the picture stands
// above it, to the picture.
function bringIntoSight() {
  const topOf = id => $(id).getBoundingClientRect().top, above = $("flow-buttons").offsetHeight;
  const beside = topOf("flow-detail") <= topOf("flow-panels") + 1, top = topOf("flow-title");
  if (top < above || top > innerHeight - ROOM)
    scrollBy(0, topOf(beside ? "flow-title" : "flow-panels") - above - 8);
}

// The first step of a part, on the way that is being gone.
function goToPart(path) {
  const way = stepNow().way === "backward" ? "backward" : "forward";
  const find = way => flow.steps.findIndex(step => step.way === way && pathOf(step.name) === path);
  inTurn(() => goToStep(find(way) >= 0 ? find(way) : find("forward")));
}

// The parts of the way, to jump to.
function fillParts() {
  const parts = [];
  flow.steps.forEach(({way, name}, n) => {
    const key = way === "adam" ? "Adam's step" : `${way}: ${placeName(pathOf(name))}`;
    if (!parts.length || parts[parts.length - 1][1] !== key) parts.push([n, key]);
  });
  $("flow-part").replaceChildren(...parts.map(([value, text]) => make("option", {value}, text)));
}

async function showSentence() {
  const {way, name} = stepNow(), last = flow.steps.length - 1;
  await matrixOf("output.probabilities");
  if (way !== "adam") for (const part of shownWith(name)) await matrixOf(part);
  if (way === "backward") for (const part of behind(name)) await matrixOf(part);
  $("flow-step").max = last;
  $("flow-step").value = flow.at;
  showTurn();
  const parts = [...$("flow-part").options].map(option => Number(option.value));
  $("flow-part").value = Math.max(...parts.filter(n => n <= flow.at));
  switchOff($("flow-back"), flow.at === 0);
  switchOff($("flow-next"), flow.at === last);
  switchOff($("flow-undo"), flow.edits.size === 0);
  $("flow-other").textContent = expectsOwn() ? "Expect another word" : "Expect the model’s own";
  showWhich();
  showLoss();
  if (way === "adam") showAdam();
  else showStage(way, name);
  await showPicture();
}

// Where the way turns; what comes after its last steps; and the way to the same
// stage in the other direction.
function showTurn() {
  const {way, name} = stepNow(), all = flow.steps.length;
  const turn = flow.steps.findIndex(step => step.way === "backward");
  const otherWay = way === "forward" ? "backward" : "forward";
  const other = flow.steps.findIndex(step => step.way === otherWay && step.name === name);
  $("flow-count").textContent = `${flow.at + 1} of ${all}: forward 1–${turn}, backward ` +
    `${turn + 1}–${all - 1}`;
  $("flow-step").parentElement.style.setProperty("--turn", `${100 * (turn - 0.5) / (all - 1)}%`);
  $("flow-turn").textContent = flow.at === turn - 1 ? "The forward pass is done: this is the " +
      "loss. Next begins the backward pass, which goes from here back to the words." +
      (flow.another || !nothingToLearn() ? "" : " So that there is something to learn, another " +
      "first word will be expected than the one the model writes.")
    : flow.at === all - 2 ? "The backward pass is done: each parameter has its gradient. Next " +
      "is what Adam does with it." : "";
  $("flow-same").hidden = other < 0;
  $("flow-same").textContent = `This stage ${otherWay}: step ${other + 1}`;
  $("flow-same").onclick = () => inTurn(() => goToStep(other));
  showPlay();
}

// A model that does not come with the page has been chosen elsewhere.
function showWhich() {
  const own = flow.model === TRANSLATOR && viewer.key !== "page";
  const first = own && $("flow-source").value === flow.model.first();
  $("flow-which").textContent = !own ? "" : `The model is now “${models.get(viewer.key).name}”` +
    (first && viewer.key === "trained" ? ", and the sentence is one of its task." : ".") +
    " You can choose another above.";
}

// What the model says in each row; it has read the translation up to there.
function showLoss() {
  const expected = flow.facts.expected.join(" "), pair = `${$("flow-source").value}\t${expected}`;
  if (!flow.edits.size) flow.unchanged = {pair, loss: flow.computed.loss};
  const loss = `${exact(flow.computed.loss)} per token` + (!flow.edits.size ? "."
    : flow.unchanged?.pair !== pair ? ", with your changes."
      : `, with your changes; without them ${exact(flow.unchanged.loss)}.`);
  $("flow-loss").textContent = flow.model === GPT
    ? `Against this text, the loss is ${loss} After each word, the model says: ${said()}`
    : expectsOwn() ? `The model says: ${said()}. ` +
      `${inPanel() ? "The" : "Against its own translation, the"} loss is ${loss}`
      : `Expected: ${expected}. At each of these words, the model says: ` +
        `${said()}. The loss is ${loss}`;
}

const shownWith = name =>
  [...(STAGES[kindOf(name)].shows || []).map(kind => beside(name, kind)), name];

// What is needed, besides, to show what comes back to a stage.
const behind = name => [...parametersOf(name), ...!isMemory(name) ? []
  : usersOfStage(name).flatMap(user => [user, parametersOf(user)[0]])];

// Three digits at least.
function exact(x) {
  if (x === null) return "not finite";
  const size = Math.abs(x);
  const text = size === 0 ? "0" : size >= 0.1 ? x.toFixed(4) : size < 1e-6 ? x.toExponential(2)
    : x.toFixed(2 - Math.floor(Math.log10(size)));
  return text.replaceAll("-", "−");
}

// The likeliest word in each row.
function said() {
  const words = flow.facts.target_words;
  return flow.cache.get("output.probabilities").value
    .map(row => words[row.indexOf(Math.max(...row))]).join(" ");
}

function showStage(way, name) {
  const about = aboutStage(name), back = way === "backward";
  showTitle((back ? "Backward: " : "") + placeName(pathOf(name)),
    (back ? about.backTitle : about.title) + (isMemory(name) ? ". This is the memory" : ""));
  $("flow-says").textContent = back ? about.back : about.says;
  $("flow-formula").textContent = back ? about.backFormula : about.formula;
  $("flow-lines").replaceChildren(...(back ? about.backLines : about.lines)
    .map(line => make("code", {}, line)));
  showLink(back ? about.backOf : about.of);
  $("flow-users").textContent = back ? usersOf(name) + aboutTiny() : "";
  $("flow-heads").hidden = !perHead(name);
  $("flow-one-head").hidden = flow.model === GPT;
  $("flow-matrices").hidden = false;
  $("flow-signs").hidden = false;
  const list = $("flow-matrices"), hadFocus = list.contains(document.activeElement);
  const stops = () => [...list.querySelectorAll("summary, td")], shown = `${way} ${name}`;
  const at = list.dataset.shown === shown ? stops().indexOf(document.activeElement) : -1;
  list.dataset.shown = shown;
  const parts = back || inPanel() ? [name] : shownWith(name);
  $("flow-why").hidden = name !== "decoder.1.cross_attention.weights" || viewer.key !== "page"
    || flow.model === GPT || $("flow-source").value !== SENTENCES[0] || inPanel();
  list.replaceChildren(
    ...parts.filter(part => !hidesNothing(part)).flatMap(part => tablesOf(part, back)),
    ...parts.filter(hidesNothing).map(foldedMask),
    ...back ? learned(name) : []);
  (stops()[at] ?? (hadFocus ? pointedCell() : null))?.focus();    // where it was
  $("flow-parameter").hidden = true;
  $("flow-whence").hidden = false;
  showNumber();
}

const hidesNothing = name => kindOf(name) === "mask"
  && flow.cache.get(name).value.every(row => row.every(Boolean));

// A mask of nothing but ones: a sentence; its cells can still be turned.
const foldedMask = name => make("details", {}, make("summary", {}, "The mask hides nothing " +
  "here: each query may see each key"), ...tablesOf(name, false));

function showLink(address) {
  $("flow-link").href = address;
  $("flow-link").textContent = `${address.split("#")[1]} in the book`;
}

// Where a step is, and below it what it does.
function showTitle(where, what) {
  $("flow-title").replaceChildren(make("span", {}, where), " ",
    what[0].toUpperCase() + what.slice(1));
}

// Who sends back a gradient to this stage.
function usersOf(name) {
  const users = usersOfStage(name);
  if (!users.length) return "This gradient comes from the loss itself.";
  const named = users.map(user => `${kindOf(user)} (${placeName(pathOf(user))})`).join("; ");
  return users.length < 2 ? `This gradient comes back from one stage: ${named}.`
    : `This gradient is the sum of what ${users.length} stages send back: ${named}.`;
}

// Nothing is learned from what the model knows.
const nothingToLearn = () => flow.computed.loss < 0.1;
const aboutTiny = () => !nothingToLearn() ? "" : " The loss is nearly 0, so all gradients are " +
  "tiny. Press “Expect another word”, above, and there is something to learn.";

// The chosen head in One head, for the same sentence.
function goToHead() {
  const [side, layer, part] = stepNow().name.split(".");
  Object.assign(seen, {kind: part === "cross_attention" ? "cross" : side, layer: Number(layer),
    head: flow.head, typed: true, stale: true});
  $("source").value = $("flow-source").value;
  remember("source", $("source").value, SENTENCES[0]);
  rememberHead();
  goToTab("head");
}

// ---------------------------------------------------------------- begin

const isLast = () => flow.at === flow.steps.length - 1;

const showPlay = () => {
  $("flow-play").textContent = flow.timer ? "Pause" : isLast() ? "Play again" : "Play";
};

// A step stays for as long as its text takes to read, a word in a quarter of a second;
// for two seconds, if that text has been there before.
function timeToRead() {
  const text = STAGES[kindOf(stepNow().name)]?.[stepNow().way === "forward" ? "says" : "back"];
  if (flow.read.has(text)) return 2000;
  flow.read.add(text);
  return Math.max(2000, 250 * $("flow-says").textContent.split(" ").length);
}

function play() {
  if (flow.timer) {
    clearTimeout(flow.timer);
    flow.timer = 0;
  } else {
    if (isLast()) inTurn(() => goToStep(0));
    playOn();
  }
  showPlay();
}

function playOn() {
  flow.timer = setTimeout(() => {
    if (isLast()) play();
    else inTurn(async () => {
      await goToStep(flow.at + 1);
      if (flow.timer) playOn();
    });
  }, timeToRead());
}

// Arrows move in a table; elsewhere, but for fields, they go a step on or back.
function onFlowKey(event) {
  if ($("flow").hidden || event.altKey || event.ctrlKey || event.metaKey) return;
  if (event.key === "Escape" && flow.chosen) closeNumber();
  const [, right] = ARROWS[event.key] || [];
  if (placeAt(event)) onNumberKey(event, turnOrType);
  else if (right && !$("flow-body").hidden && !event.target.closest("input, select, [role=tab]")) {
    event.preventDefault();
    inTurn(() => goToStep(flow.at + right));
  }
}

// A cell of the mask turns; another number can be typed.
function turnOrType(place) {
  if (kindOf(place.name) === "mask")
    inTurn(async () => changeNumber(place, 1 - await numberOf(place.name, place.i, place.j)));
  else if (isChangeable(place.name))
    quietly(openNumber(place).then(() => typeInto($("flow-change"))));
}

const pointedCell = () => $("flow-matrices").querySelector(".pointed");

// Says what a number is made of, and scrolls so far that this hides neither the
// number nor, where there is room, its table.
async function openNumber(place) {
  await chooseNumber(place);
  if (!flow.chosen) return;
  const cell = pointedCell(), {top} = cell.getBoundingClientRect();
  const {bottom} = cell.closest(".table").getBoundingClientRect();
  const most = top - $("flow-buttons").offsetHeight - 2 * cell.offsetHeight;
  const hidden = bottom + 4 - $("flow-whence").getBoundingClientRect().top;
  const down = Math.min(most, Math.max(0, hidden));
  if (down) scrollBy(0, down);
}

// Back to the table: the focus on a number opens nothing while it is held.
function closeNumber() {
  const cell = pointedCell();
  flow.chosen = null;
  flow.held = true;
  cell?.focus();
  flow.held = false;
  cell?.classList.remove("pointed");
  quietly(showNumber());
}

// A number is chosen when the focus comes to it, or, by a pointer, when that is let
// go: else what opens could come between, and there would be no click.
function beginNumbers() {
  const tables = $("flow-matrices");
  const hold = is => () => { flow.held = is; };
  tables.addEventListener("pointerdown", hold(true));
  for (const type of ["click", "keydown", "pointercancel"]) addEventListener(type, hold(false), true);
  tables.addEventListener("focusin", event => {
    const place = placeAt(event);
    if (place && !flow.held) quietly(openNumber(place));
  });
  tables.onclick = event => {
    const place = placeAt(event);
    if (!place) return;
    quietly(openNumber(place));
    if (kindOf(place.name) === "mask") turnOrType(place);
  };
  $("flow-close").onclick = closeNumber;
}

function beginChanges() {
  flow.edits = editsIn("changes", isChangeable);
  $("flow-change").onchange = () => {
    const x = $("flow-change").valueAsNumber;
    if (Number.isFinite(x) && flow.chosen) inTurn(() => changeNumber(flow.chosen, x));
  };
  $("flow-parameter-value").onchange = () => {
    const x = $("flow-parameter-value").valueAsNumber;
    if (Number.isFinite(x)) inTurn(async () =>
      await showParameter() && changeNumber(parameterNow(), x));
  };
  $("flow-change").onblur = () => { if (flow.chosen) quietly(showNumber()); };
  $("flow-parameter-value").onblur = () => inTurn(showParameter);
  $("flow-undo").onclick = () => inTurn(undoChanges);
  $("flow-check").onclick = () => inTurn(async () => {
    await checkNumber(flow.chosen, "flow-slope-says");
    $("flow-slope-says").scrollIntoView({block: "nearest"});
  });
}

function beginParameters() {
  $("flow-tensor").onchange = () => inTurn(showLargest);
  $("flow-row").oninput = $("flow-column").oninput = () => inTurn(showParameter);
  $("flow-parameter-check").onclick = () => inTurn(async () =>
    await showParameter() && checkNumber(parameterNow(), "flow-adam"));
  $("flow-take-step").onclick = () => inTurn(async () => await showParameter() && takeStep());
}

function beginFlow() {
  $("flow-source").value = state.get("sentence") ?? SENTENCES[0];
  $("flow-target").value = state.get("target") ?? "";
  const read = later(300, () => inTurn(readSentence));
  for (const [id, key, initial] of [["flow-source", "sentence", SENTENCES[0]],
    ["flow-target", "target", ""]])
    $(id).oninput = () => {
      remember(key, $(id).value, isGpt() ? "" : initial);
      if (key === "sentence") forgetStages();
      read();
    };
  $("flow-back").onclick = () => inTurn(() => goToStep(flow.at - 1));
  $("flow-next").onclick = () => inTurn(() => goToStep(flow.at + 1));
  $("flow-play").onclick = play;
  $("flow-train").onclick = () => goToTab("train");
  $("flow-one-head").onclick = goToHead;
  $("flow-other").onclick = () => inTurn(expectAnother);
  $("flow-step").oninput = () => inTurn(async () => {   // of many places, only the last is shown
    if (Number($("flow-step").value) !== flow.at) await goToStep(Number($("flow-step").value));
  });
  $("flow-part").onchange = () => inTurn(() => goToStep(Number($("flow-part").value)));
  $("flow-head").onchange = () => {
    remember("flow-head", $("flow-head").value, USUAL_HEAD);
    flow.head = Number($("flow-head").value);
    flow.chosen = null;
    inTurn(showSentence);
  };
  document.addEventListener("keydown", onFlowKey);
  beginNumbers();
  beginChanges();
  beginParameters();
  beginGpt();
  const wake = () => {
    if (!$("flow").hidden && (isGpt() || viewer.bytes) && flow.stale) inTurn(beginSentence);
  };
  addEventListener("chosen", () => {
    if (flow.facts) flow.edits.clear();
    flow.stale = true;
    wake();
  });
  addEventListener("tab", ({detail}) => {
    if (flow.timer && detail !== "flow") play();
    wake();
  });
  beginPicture();
}

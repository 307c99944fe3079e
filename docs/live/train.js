// Training: what is learned and how, the buttons, the curve and the timeline.

const TASKS = {
  "reverse": {
    name: "Reversal: j m i b → b i m j",
    options: {"layers": 1, "d-model": 32, "heads": 2, "d-ff": 64, "steps": 1000,
      "warmup": 200, "lr": 0.015, "max-len": 16},
  },
  "dates": {
    name: "Dates: 8th of June 2048 → 2048-06-08",
    options: {"layers": 1, "d-model": 32, "heads": 2, "d-ff": 64, "tokens": "char",
      "steps": 1200, "warmup": 100, "lr": 0.01, "dropout": 0.05, "max-len": 32},
  },
  "eng-fra": {
    name: "English → French",
    options: {"d-model": 32, "d-ff": 64, "steps": 800, "warmup": 100, "lr": 0.01,
      "dropout": 0.05, "max-len": 32},
  },
  "book": {
    name: "The book’s model: English → French",
    data: "eng-fra", options: {},
  },
  "own": {
    name: "Your own pairs",
    options: {"d-ff": 128, "steps": 800, "warmup": 100, "lr": 0.005,
      "max-len": 32},
  },
};

// These come before the other options, and are named while all are folded away.
const FIRST = ["layers", "d-model", "heads", "dropout", "norm", "positions", "lr",
  "steps", "seed"];

// What can be broken: by an option, or by a bit that train.c knows; for the latter,
// no command of the program does the same.
const BREAKS = {
  "mask": {
    name: "No causal mask in training", bit: 1, options: {},
    look: "The loss falls sooner than it should, and in use the model is lost: " +
      "in training, each position sees the token that it is to predict. In use, " +
      "that token is not there yet.",
  },
  "positions": {
    name: "No positions", bit: 0, options: {"positions": "none"},
    look: "The encoder sees its tokens without their order. The model says the " +
      "right tokens, in the wrong places.",
  },
  "scale": {
    name: "No scale: scores are not divided by √K", bit: 2, options: {},
    look: "The scores are √K times as large, and the softmax gives nearly all " +
      "to one key before anything has been learned. There its gradient is " +
      "nearly zero, and learning is slow.",
  },
  "warmup": {
    name: "No warm-up", bit: 4, options: {},
    look: "The rate is at its peak from the first step, when Adam has seen too few " +
      "gradients to know how far to step; after the steps of the warm-up it is what it " +
      "would have been. The damage of the first steps takes a long time to undo.",
  },
  "rate": {
    name: "Rate too high", bit: 0,
    options: {"lr": usual => 10 * (usual || 0.00625)},    // which is the book's
    look: "The loss stays as high as that of a model that always makes the same guess.",
  },
};

let options;          // the program's own table
let current = null;   // the Training that is shown
let before;           // an earlier one, whose curve stays for comparison
let earlier = [];     // all earlier ones, the latest first
let refused = false;  // has the latest new one failed to begin?
let beginning = false;   // is a new one about to begin?
let pairs = "";       // the user's own, as TSV

const NOTHING = "(nothing: <end> at once)";    // an empty answer

// ---------------------------------------------------------------- options

const chosenBreaks = () =>
  Object.keys(BREAKS).filter(name => $("break-" + name).checked);

const valueOf = name => $("option-" + name).value.trim();

function initialOf(option) {
  const own = TASKS[$("task").value].options[option.name];
  if (own !== undefined) return String(own);
  return option.type === "flag" ? "no" : option.initial;
}

function field(option) {
  const id = "option-" + option.name, choices = option.choices.split("|");
  const chosen = option.type === "choice" || option.type === "flag";
  const input = chosen
    ? make("select", {id}, ...choices.map(c => make("option", {value: c}, c)))
    : make("input", {id, type: "text", inputMode: "decimal", size: 6});
  input.title = option.help;
  input.onfocus = () => { $("option-help").textContent = `${option.name}: ${option.help}.`; };
  input.onchange = () => {
    remember(option.name, input.value, initialOf(option));
    showOptions();
  };
  return make("label", {title: option.help}, make("span", {}, option.name), input);
}

// Sets the fields to what the task, the broken parts and the address say.
function fillOptions() {
  const broken = Object.assign({}, ...chosenBreaks().map(name => BREAKS[name].options));
  for (const option of options) {
    let value = broken[option.name] ?? initialOf(option);
    if (typeof value === "function") value = value(Number(initialOf(option)));
    $("option-" + option.name).value = state.get(option.name) ?? value;
  }
  showOptions();
}

// The options as one writes them in a terminal.
function optionsNow() {
  const words = [];
  for (const {name, type, initial} of options) {
    const value = valueOf(name);
    if (type === "flag" ? value === "yes" : value && value !== initial)
      words.push("--" + name, ...(type === "flag" ? [] : [value]));
  }
  return words;
}

const brokenNow = () => chosenBreaks().reduce((sum, name) => sum + BREAKS[name].bit, 0);

const dataOf = task => TASKS[task].data ?? task;

function files(folder = "") {
  const task = $("task").value, data = folder + dataOf(task);
  return task === "own" ? ["pairs.tsv"] : [`${data}.train.tsv`, "--valid", `${data}.valid.tsv`];
}

const argumentsNow = () => ["train", ...files(), ...optionsNow()].join("\n");

// The command that does the same in a terminal, and what one must know about it.
function showCommand() {
  const own = $("task").value === "own";
  const onlyHere = chosenBreaks().filter(name => BREAKS[name].bit);
  const words = ["./transformer", "train", ...files("data/"), ...optionsNow()];
  $("command").replaceChildren(...onlyHere.length ? []
    : words.flatMap((word, i) => [i ? " " : "", make("span", {}, word)]));
  $("command-note").textContent = onlyHere.length
    ? "No command does the same. Only this page has " +
      onlyHere.map(name => `“${BREAKS[name].name}”`).join(" and ") + "."
    : own ? "Save your pairs as pairs.tsv. The page holds some of them out, " +
      "but this command trains on all of them." : "";
}

// The first pair of the task, before anything is trained.
async function showPair() {
  const task = $("task").value;
  const text = task === "own" ? pairs
    : new TextDecoder().decode((await unpacked(`${dataOf(task)}.train.tsv`)).subarray(0, 1000));
  if (task !== $("task").value) return;
  const [line] = text.split("\n");
  $("pair").textContent = line ? "The first pair: " + line.replace("\t", " → ") : "";
}

// What follows from the options: the command, and whether they are in use.
function showOptions() {
  $("own").hidden = $("task").value !== "own";
  $("settings-now").textContent =
    FIRST.filter(name => valueOf(name)).map(name => `${name} ${valueOf(name)}`).join(", ");
  showCommand();
  quietly(showPair());
  $("changed").hidden = !current || current.steps === 0
    || current.isChosen();
  $("break-look").replaceChildren(
    ...chosenBreaks().map(name => make("p", {}, BREAKS[name].look)));
}

// ---------------------------------------------------------------- a training

class Training {
  constructor() {
    this.arguments = argumentsNow();
    this.broken = brokenNow();
    this.breaks = chosenBreaks();
    this.task = $("task").value;
    this.pairs = pairs;
    this.engine = new Engine(program);
    this.steps = 0;
    this.rows = [];       // step, loss, rate
    this.points = [];     // of the timeline: what evaluate() said, and the model
    this.running = this.stopping = false;
  }

  // Does it have the settings that the fields show now?
  isChosen() {
    return this.arguments === argumentsNow() && this.broken === brokenNow()
      && (this.task !== "own" || this.pairs === pairs);
  }

  // Fails, with the program's words, if data or options are wrong.
  async begin() {
    if (this.task === "own")
      await this.engine.write("pairs.tsv", new TextEncoder().encode(this.pairs));
    else
      for (const name of ["train", "valid"].map(part => `${dataOf(this.task)}.${part}.tsv`))
        await this.engine.write(name, await unpacked(name));
    this.facts = await this.engine.call("train_new", this.arguments, this.broken);
    this.notes = this.engine.notes;
    await this.lookBack();
  }

  // Evaluates the model, and keeps it.
  async lookBack() {
    const result = await this.engine.call("evaluate");
    await this.engine.call("save");
    const model = await this.engine.read("model.safetensors");
    this.points.push({...result, step: this.steps, model});
    const most = Math.max(2, Math.floor(2e8 / model.length));
    if (this.points.length > most)    // in between, only the results are kept
      this.points[this.points.length - most].model = null;
  }

  // Trains for about a tenth of a second; looks back where that is due, and after
  // 300 steps, for which the book has the numbers.
  async go(until) {
    const total = this.facts.steps, interval = Math.max(1, Math.floor(total / 20));
    const even = interval * (Math.floor(this.steps / interval) + 1);
    const next = Math.min(total, this.steps < 300 ? Math.min(300, even) : even);
    const began = performance.now();
    const rows = await this.engine.call("train_steps",
      Math.min(until, next) - this.steps, 0.1);
    const pace = (performance.now() - began) / 1000 / rows.length;
    this.pace = this.pace === undefined ? pace : 0.9 * this.pace + 0.1 * pace;
    if (rows[rows.length - 1][1] === null)
      throw new Error(`step ${rows.pop()[0]}: the loss is not a number any more; ` +
        "try a smaller lr");
    this.rows.push(...rows);
    if (rows.length) this.steps = rows[rows.length - 1][0];
    if (this.steps === next) await this.lookBack();
  }

  get last() { return this.points[this.points.length - 1]; }
}

// Says why a training run cannot begin.
function refusal({message}) {
  const hint = message.includes("found no tab")
    ? ". Write a pair as: the red car = la voiture rouge" : "";
  const kept = current && current.steps > 0 && !current.ended
    ? ". The old training is kept: undo the change, and Start goes on with it."
    : "";
  return message + hint + kept;
}

// Begins anew. If something is wrong with data or options, the old training is not
// lost: it pauses.
async function newTraining() {
  if (beginning) return false;
  const training = new Training();
  beginning = true;
  if (current) current.stopping = true;
  showButtons();
  report("");
  try {
    await training.begin();
  } catch (error) {
    training.engine.end();
    refused = true;
    report(refusal(error));
    return false;
  } finally {
    beginning = false;
    showButtons();
  }
  report(training.notes, false);
  replaceBy(training);
  remember("step", 0, 0);
  showOptions();
  showAll();
  return true;
}

// The old training leaves its curve: a broken one is compared with the last that was
// not broken, and any other with the one before it.
function replaceBy(training) {
  if (current) {
    current.engine.end();
    for (const point of current.points) point.model = null;
    earlier.unshift(current);
  }
  const alike = earlier.filter(({steps, task}) => steps > 1 && task === training.task);
  before = training.breaks.length && alike.find(({breaks}) => !breaks.length) || alike[0];
  current = training;
  refused = false;
}

// Trains for this many steps, or until somebody pauses. After a change that was
// refused, it does not go on as if nothing had happened.
async function run(steps) {
  const old = current;
  const fresh = !old || old.ended || (refused || old.steps === 0) && !old.isChosen();
  if (beginning || old && old.running || fresh && !await newTraining()) return;
  const training = current;
  if (refused) report("");
  refused = false;
  training.running = true;
  training.stopping = false;
  showButtons();
  try {
    const until = Math.min(training.steps + steps, training.facts.steps);
    while (!training.stopping && training.steps < until) {
      await training.go(until);
      if (training !== current) return;
      showAll(training.last.step === training.steps);
    }
    if (training.last.step < training.steps) await training.lookBack();
  } catch (error) {
    if (training !== current) return;
    training.engine.end();
    training.ended = true;
    report(`The training has ended at step ${training.steps}: ${error.message}`);
  }
  training.running = false;
  if (training !== current) return;
  remember("step", training.steps, 0);
  showAll();
}

// ---------------------------------------------------------------- what is seen

function showAll(all = true) {
  showNumbers();
  showButtons();
  if (all) {
    $("timeline").max = current.points.length - 1;
    $("timeline").value = current.points.length - 1;
    showPoint();
  } else if (!document.hidden && !isStill())
    drawCurve();
}

function showButtons() {
  const running = beginning || Boolean(current && current.running);
  const done = Boolean(current && !current.ended && current.facts
    && current.steps >= current.facts.steps);
  switchOff($("start"), running || done);
  switchOff($("step"), running || done);
  switchOff($("pause"), !running || beginning);
  switchOff($("again"), beginning);
  document.querySelector(".results").ariaBusy = running;
  $("train-done").hidden = !done;
  $("train-begins").hidden = done;
}

const time = seconds =>
  `${Math.floor(seconds / 60)}:${String(Math.round(seconds) % 60).padStart(2, "0")}`;

function showNumbers() {
  const {rows, steps, facts, pace} = current;    // pace: seconds per step, smoothed
  const last = rows[rows.length - 1];
  $("steps-done").textContent = steps.toLocaleString("en");
  $("steps-total").textContent = facts.steps.toLocaleString("en");
  $("loss").textContent = last ? last[1].toFixed(4) : "–";
  $("rate").textContent = last ? last[2].toPrecision(2) : "–";
  $("left").textContent = pace ? time((facts.steps - steps) * pace) : "–";
  const V = facts.target_vocab;
  $("guess").textContent = `A blind guess among the ${V} tokens of this vocabulary costs ` +
    `ln ${V} = ${Math.log(V).toFixed(1)}; on unseen pairs, nearly 0 is perfect.`;
  $("with-dropout").hidden = !(facts.dropout > 0);
}

// What the model said at the chosen point of the timeline.
function showPoint() {
  const point = current.points[$("timeline").value];
  $("timeline-step").textContent = `step ${point.step}`;
  $("held-out").textContent = point.loss === null ? "–" : point.loss.toFixed(4);
  $("exact").textContent = (100 * point.exact).toFixed(1) + " %";
  $("checksum").textContent = point.checksum;
  $("as-book").hidden = !RECORDED.checksums.includes(point.checksum);
  const unseen = current.facts.held_out > 0;
  $("samples-title").textContent = unseen
    ? "What the model makes of pairs that it has not seen"
    : "What the model makes of pairs that it has seen: five are needed to hold one out";
  $("exact-title").textContent = (unseen ? "Unseen" : "Seen") + " pairs right";
  $("samples").replaceChildren(...point.samples.map(s => make("tr", {},
    make("td", {}, s.source), make("td", {}, s.said || NOTHING),
    make("td", {}, s.right ? "✓" : "should be: " + s.expected))));
  drawCurve();
  if (point.model) offerTrained(point);
  switchOff($("follow"), !point.model);
}

// ---------------------------------------------------------------- begin

// What is typed, as TSV: a line without a tab is cut at " = " or ";".
const typedPairs = text => text.split("\n").map(line =>
  line.includes("\t") ? line : line.replace(/ = |;/, "\t")).join("\n");

function beginFields() {
  for (const [value, {name}] of Object.entries(TASKS))
    $("task").append(make("option", {value}, name));
  $("task").value = keyIn(TASKS, state.get("task")) || "reverse";
  const isFirst = ({name}) => FIRST.includes(name);
  $("options").append(...[...options.filter(isFirst),
    ...options.filter(option => !isFirst(option))].map(field));
  $("settings").open = options.some(({name}) => state.has(name));
  const breaks = (state.get("break") || "").split(",");
  for (const [key, {name}] of Object.entries(BREAKS)) {
    const box = make("input", {type: "checkbox", id: "break-" + key,
      checked: breaks.includes(key)});
    box.onchange = () => {
      for (const option of Object.keys(BREAKS[key].options)) remember(option, "");
      remember("break", chosenBreaks().join(","));
      fillOptions();
    };
    $("breaks").append(make("label", {}, box, " " + name));
  }
  $("task").onchange = () => {
    remember("task", $("task").value, "reverse");
    for (const {name} of options) remember(name, "");
    fillOptions();
  };
  $("pairs").value = state.get("pairs") ?? "";
  pairs = typedPairs($("pairs").value);
  $("pairs").oninput = () => {
    pairs = typedPairs($("pairs").value);
    remember("pairs", pairs.length < 3000 ? $("pairs").value : "");
    showOptions();
  };
  $("break").open = state.has("break");
  fillOptions();
}

// The training of which the book has the losses and the checksum.
function trainAsBook() {
  goToTab("train");
  $("task").value = "book";
  $("task").onchange();
  return run(Infinity);
}

async function beginTraining() {
  const engine = new Engine(await singleProgram());
  options = (await engine.call("list_options"))
    .filter(({name}) => name !== "epochs");   // the number of steps says it
  engine.end();
  const step = countIn(state.get("step"));
  beginFields();
  $("start").onclick = () => run(Infinity);
  $("pause").onclick = () => { if (current) current.stopping = true; };
  $("step").onclick = () => run(1);
  $("again").onclick = newTraining;
  $("timeline").oninput = showPoint;
  switchOff($("follow"), true);
  $("follow").onclick = async () => {
    if (!models.has("trained")) return;
    flow.stale = false;
    await choose("trained");
    goToTab("flow");
  };
  showButtons();
  if (step > 0) run(step);
}

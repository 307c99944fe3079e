// Training: what is learned and how, the buttons, the curves, and the timeline.

const TASKS = {
  "reverse": {
    name: "Reversal: j m i b → b i m j",
    options: {"layers": 1, "d-model": 32, "d-ff": 64, "steps": 1000,
      "warmup": 100, "lr": 0.01, "dropout": 0, "max-len": 16},
  },
  "dates": {
    name: "Dates: 8th of June 2048 → 2048-06-08",
    options: {"layers": 1, "d-model": 64, "tokens": "char", "steps": 1000,
      "warmup": 100, "lr": 0.005, "dropout": 0, "max-len": 32},
  },
  "eng-fra": {
    name: "English → French",
    options: {"layers": 2, "d-model": 32, "d-ff": 64, "steps": 1500,
      "warmup": 150, "lr": 0.005, "dropout": 0.05, "max-len": 32},
  },
  "own": {
    name: "Your own pairs",
    options: {"layers": 2, "d-model": 64, "steps": 1000, "warmup": 100,
      "lr": 0.005, "max-len": 32},
  },
};
const MAIN = ["layers", "d-model", "heads", "lr", "dropout", "norm", "positions",
  "steps", "seed"];   // the other options are folded

const training = {
  engine: null,      // holds the model that is trained
  steps: 0, total: 0, rows: [], points: [],
  running: false,
};

// ---------------------------------------------------------------- options

let options;         // the program's own table

function initialOf(option) {
  const own = TASKS[$("task").value].options[option.name];
  if (own !== undefined) return String(own);
  return option.type === "flag" ? "no" : option.initial;
}

function field(option) {
  const id = "option-" + option.name;
  const choices = option.choices.split("|");
  const input = option.type === "choice" || option.type === "flag"
    ? make("select", {id}, ...choices.map(c => make("option", {value: c}, c)))
    : make("input", {id, type: "text", inputMode: "decimal", size: 6});
  input.title = option.help;
  input.onchange = () => remember(option.name, input.value, initialOf(option));
  return make("label", {}, make("span", {}, option.name), input);
}

function fillOptions() {
  for (const option of options)
    $("option-" + option.name).value = state.get(option.name) ?? initialOf(option);
}

// The arguments of `transformer train`, one a line.
function argumentsNow() {
  const task = $("task").value, lines = ["train"];
  lines.push(task === "own" ? "pairs.tsv" : task + ".train.tsv");
  if (task !== "own") lines.push("--valid", task + ".valid.tsv");
  for (const {name, type, initial} of options) {
    const value = $("option-" + name).value;
    if (type === "flag" ? value === "yes" : value && value !== initial)
      lines.push(...(type === "flag" ? ["--" + name] : [`--${name}=${value}`]));
  }
  return lines.join("\n");
}

async function giveData(engine) {
  const task = $("task").value;
  if (task === "own")
    await engine.write("pairs.tsv", new TextEncoder().encode($("pairs").value));
  else
    for (const part of ["train", "valid"])
      await engine.write(`${task}.${part}.tsv`, await unpacked(`${task}.${part}.tsv`));
}

// ---------------------------------------------------------------- training

// A new training. What is wrong with its data or options ends the engine that
// was to begin it, and leaves the old one as it was.
async function newTraining() {
  const engine = new Engine(program);
  let facts;
  try {
    await giveData(engine);
    facts = await engine.call("train_new", argumentsNow(), 0);
  } catch (error) {
    engine.end();
    report(error.message);
    return false;
  }
  report(engine.notes, false);
  if (training.engine) training.engine.end();
  Object.assign(training, {engine, steps: 0, total: facts.steps, rows: [],
    points: []});
  await lookBack();
  showNumbers();
  return true;
}

// Evaluates the model, and keeps it for the timeline.
async function lookBack() {
  const {engine, points, steps} = training;
  const result = await engine.call("evaluate");
  await engine.call("save", 0);
  points.push({...result, step: steps, model: await engine.read("model.safetensors")});
  showPoint(points.length - 1);
}

// Trains until so many steps are done, or somebody pauses.
async function run(until) {
  if (training.running || !training.engine && !await newTraining()) return;
  training.running = true;
  showButtons();
  try {
    while (training.running && training.steps < Math.min(until, training.total))
      await slice(until);
    const last = training.points[training.points.length - 1];
    if (last.step < training.steps) await lookBack();
  } catch (error) {
    report(error.message);
    training.engine.end();
    training.engine = null;
  }
  training.running = false;
  showNumbers();
  showButtons();
}

// Some steps, for about a tenth of a second.
async function slice(until) {
  const interval = Math.max(1, Math.floor(training.total / 20));
  const next = interval * (Math.floor(training.steps / interval) + 1);
  const most = Math.min(until, next, training.total) - training.steps;
  const began = performance.now();
  const rows = await training.engine.call("train_steps", most, 0.1);
  const seconds = (performance.now() - began) / 1000;
  training.rate = rows.reduce((sum, row) => sum + row[5], 0) / seconds;
  training.pace = seconds / rows.length;
  for (const row of rows)
    if (row[1] === null) {
      report(`Step ${row[0]}: the loss is not a number any more. Try a smaller lr.`);
      training.running = false;
    } else {
      training.rows.push(row);
      training.steps = row[0];
    }
  showNumbers();
  if (training.steps === next) await lookBack();
}

// ---------------------------------------------------------------- what is seen

function showButtons() {
  $("start").disabled = $("step").disabled = training.running;
  $("pause").disabled = !training.running;
}

function showNumbers() {
  const {rows, steps, total, rate, pace} = training;
  const last = rows[rows.length - 1];
  $("steps-done").textContent = steps;
  $("steps-total").textContent = total;
  $("loss").textContent = last ? last[1].toFixed(4) : "–";
  $("rate").textContent = last ? last[3].toPrecision(2) : "–";
  $("tokens-rate").textContent = rate ? Math.round(rate).toLocaleString("en") : "–";
  const left = Math.round((total - steps) * (pace || 0));
  $("time-left").textContent = pace
    ? `${Math.floor(left / 60)}:${String(left % 60).padStart(2, "0")}` : "–";
  drawCurve();
}

// Draws the loss of each step, that on held-out pairs, and the learning rate.
function drawCurve() {
  const {rows, points, total} = training, W = 640, H = 240;
  const high = Math.max(1, ...rows.slice(0, 20).map(row => row[1]));
  const peak = Math.max(1e-9, ...rows.map(row => row[3]));
  const x = step => (40 + (W - 50) * step / Math.max(1, total)).toFixed(1);
  const y = share => (H - 20 - (H - 30) * Math.min(1, share)).toFixed(1);
  const line = (list, className) =>
    drawn("polyline", {points: list.join(" "), class: className});
  $("curve").replaceChildren(
    line(rows.map(row => `${x(row[0])},${y(row[3] / peak)}`), "rate"),
    line(rows.map(row => `${x(row[0])},${y(row[1] / high)}`), "loss"),
    line(points.filter(p => p.loss !== null)
      .map(p => `${x(p.step)},${y(p.loss / high)}`), "held-out"),
    drawn("line", {x1: 40, x2: W - 10, y1: H - 20, y2: H - 20, class: "axis"}));
}

// What the model said at a point of the timeline.
function showPoint(i) {
  const point = training.points[i];
  $("timeline").max = training.points.length - 1;
  $("timeline").value = i;
  $("timeline-step").textContent = `step ${point.step}`;
  $("held-out").textContent = point.loss === null ? "–" : point.loss.toFixed(4);
  $("exact").textContent = (100 * point.exact).toFixed(1) + " %";
  $("samples").replaceChildren(...point.samples.map(s => make("tr", {},
    make("td", {}, s.source), make("td", {}, s.said),
    make("td", {}, s.right ? "✓" : "not yet"))));
}

// ---------------------------------------------------------------- begin

async function beginTraining() {
  const engine = new Engine(program);
  options = await engine.call("list_options");
  engine.end();
  for (const [value, {name}] of Object.entries(TASKS))
    $("task").append(make("option", {value}, name));
  $("task").value = TASKS[state.get("task")] ? state.get("task") : "reverse";
  for (const option of options)
    $(MAIN.includes(option.name) ? "options" : "more-options").append(field(option));
  const again = async () => {
    training.running = false;
    await newTraining();
  };
  $("task").onchange = () => {
    remember("task", $("task").value, "reverse");
    for (const {name} of options) remember(name, "");
    fillOptions();
    $("own").hidden = $("task").value !== "own";
    if ($("task").value !== "own") again();
  };
  fillOptions();
  $("own").hidden = $("task").value !== "own";
  $("start").onclick = () => run(Infinity);
  $("pause").onclick = () => { training.running = false; };
  $("step").onclick = () => run(training.steps + 1);
  $("again").onclick = again;
  $("timeline").oninput = () => showPoint(Number($("timeline").value));
  showButtons();
}

// The reader's own transformer.c: the whole file, built into the live page's
// program, and trained beside the file as it is. Or tiny.c, a program by itself.

import {Engine, Service, smooth, drawCurves} from "live";
import {$, make, json, text, file as inPage, unzipped, download, report, switchOff,
  later, isOff, kept, keep, difference, changed, verdict} from "./shared.js";
import {Editor, goToFunctions} from "./editor.js";
import * as grader from "./grader.js";
import {editors} from "./exercises.js";

const {version, breaks, tasks, options} = json("broken-json");
const FILES = {own: "transformer.c", tiny: "tiny.c"};

let loaded, editor;
let file = "";             // the key of the one that is edited
const references = {};     // each file as it is in the book
let reference = "";        // the one that is edited, as it is in the book
let engines = [];          // those that train
let ran = null;            // what was trained last, as now() gives it
let stopped = false;

// ---------------------------------------------------------------- the file

const broken = name => breaks[name].edits.reduceRight(
  (text, [from, until, after]) => text.slice(0, from) + after + text.slice(until), reference);

function save() {
  const change = difference(reference, editor.text);
  keep(file, {version, change, name: $("break").value});
  showChanges();
}

function showChanges() {
  const [from, until, middle] = difference(reference, editor.text);
  if (from === until && !middle) {
    $("changes").textContent = "Nothing is changed.";
    return;
  }
  const number = at => reference.slice(0, at).split("\n").length;
  const first = number(from), last = number(until);
  $("changes").replaceChildren(first === last ? `Changed: line ${first}. `
    : `Changed: between lines ${first} and ${last}. `,
  make("button", {className: "word", onclick: () => editor.goTo(first)}, "Show it"));
}

function openText(text, line = 0) {
  editor.open(text);
  save();
  if (line) editor.goTo(line);
}

function isMine() {
  const mine = editor.text;
  return mine !== reference && !Object.keys(breaks).some(name => broken(name) === mine);
}

// May another text replace this one?
const mayReplace = () => !isMine() || confirm("Your changes will be lost. Go on?");

let chosen = "";           // what is broken

function openBreak(name) {
  if (!mayReplace()) {
    $("break").value = chosen;
    return;
  }
  $("break").value = chosen = name;
  if (!name) {
    openText(reference);
    return;
  }
  const {edits, task, options} = breaks[name];
  const line = reference.slice(0, edits[0][0]).split("\n").length;
  if (task) {
    $("own-task").value = task;
    $("own-options").value = options;
  }
  openText(broken(name), line);
}

// ---------------------------------------------------------------- training

let live = null;           // the live page, once it has been asked for

async function fileIn(id) {
  live ??= new DOMParser().parseFromString(await text("live.html"), "text/html");
  return unzipped(live.getElementById(id).textContent);
}

class Training {
  constructor(module) {
    this.engine = new Engine(module);
    this.rows = [];
  }

  async begin(task, options) {
    for (const part of ["train", "valid"]) {
      const name = `${task}.${part}.tsv`;
      await this.engine.write(name, await fileIn(name));
    }
    const words = ["train", `${task}.train.tsv`, "--valid", `${task}.valid.tsv`,
      ...options.trim().split(/\s+/)];
    this.facts = await this.engine.call("train_new", words.join("\n"), 0);
  }

  async go() {
    while (this.rows.length < this.facts.steps) {
      const rows = await this.engine.call("train_steps",
        this.facts.steps - this.rows.length, 0.2);
      if (rows.at(-1)[1] === null) {
        this.rows.push(...rows.slice(0, -1));
        this.broke = `step ${rows.at(-1)[0]}: the loss is not a number any more`;
        break;
      }
      this.rows.push(...rows);
      drawCurve();
    }
    this.result = await this.engine.call("evaluate");
  }
}

class TinyTraining {
  constructor(module) {
    Object.assign(this, {module, rows: [], said: "", samples: []});
    this.engine = new Service("run-worker", text => this.hear(text));
  }

  async begin(task, steps) {
    this.facts = {steps: Math.max(1, Math.floor(Number(steps)) || 1)};
    this.data = await fileIn(`${task}.train.tsv`);
  }

  hear(text) {
    const lines = (this.said + text).split("\n");
    this.said = lines.pop();
    for (const line of lines) {
      const [, step, loss, source, own] = /^step (\d+): loss (\S+)$|^(.*?) +→ *(.*)$/.exec(line) || [];
      if (step) this.rows.push([Number(step), Number(loss)]);
      if (source) this.samples = [...this.samples.slice(-2), {source, said: own}];
    }
    drawCurve();
  }

  async go() {
    const words = ["tiny", "data.tsv", String(this.facts.steps)];
    const {ended: [status, output]} = await this.engine.call("run", this.module, words,
      {files: {"data.tsv": this.data}, aloud: true});
    const last = output.trimEnd().split("\n").at(-1);
    if (status) this.broke = last || `it ends with ${status}`;
    this.result = {checksum: last.replace("checksum ", ""), samples: this.samples};
  }
}

let pair = [];             // the training runs: of the reader's file, and of the file as it is
export const trainings = () => pair;

// A loss that becomes too large is drawn at the upper edge.
function drawCurve() {
  const {steps} = pair[1].facts, curves = pair.map(({rows}) => smooth(rows));
  const most = Math.max(1, ...curves.flat().map(([, loss]) => loss));
  const first = Math.max(1, ...curves.map(curve => curve[0]?.[1] ?? 0));
  drawCurves(steps, Math.ceil(Math.min(most, 2 * first)),
    [["before", curves[1]], ["loss", curves[0]]]);
  const last = curves.map(curve => curve.length ? curve.at(-1)[1].toFixed(3) : "–");
  $("curve").setAttribute("aria-label", `The loss of your file is ${last[0]} at step ` +
    `${stepOf(pair[0])} of ${steps}; of the file as it is ${last[1]}`);
}

const stepOf = ({rows}) => rows.length ? rows.at(-1)[0] : 0;

const percent = share => `${(100 * share).toFixed(1)} %`;

function showCompared() {
  const cell = ({result, broke}, show) => make("td", {}, result ? show(result) : broke || "–");
  const mark = {true: "✓ ", false: "✗ "};
  const rows = [...file === "tiny" ? [["checksum", r => r.checksum]]
    : [["loss on unseen pairs", r => r.loss === null ? "not a number" : r.loss.toFixed(3)],
      ["unseen pairs right", r => percent(r.exact)]],
  ...pair[1].result.samples.map(({source}, i) => [source,
    r => (mark[r.samples[i]?.right] ?? "") + (r.samples[i]?.said || "(nothing)")])];
  $("compared").replaceChildren(...rows.map(([name, show]) => make("tr", {},
    make("th", {scope: "row"}, name), ...pair.map(one => cell(one, show)))));
}

const say = (words, wrong = false, more = "") => verdict("own-result", words, wrong, more);

// What is trained: the file, the task and the options.
const now = () => [editor.text, $("own-task").value,
  $(file === "tiny" ? "own-steps" : "own-options").value];

// Says so if the results that are shown are not those of what is chosen now.
function showEarlier() {
  $("own-earlier").hidden = !ran || now().every((value, i) => value === ran[i]);
}

// The results of a training run are cleared when another one begins.
function clearResults() {
  ran = null;
  showEarlier();
  $("trained").hidden = true;
  $("compared").replaceChildren();
}

// What the compiler makes of the file.
async function compiled(text) {
  const line = `#line 1 "${FILES[file]}"\n`;
  if (file === "tiny") return {...await grader.buildAlone(line + text), half: []};
  const {source, whole, half} = await grader.done({do: "patch", text});
  if (whole) say(grader.WHOLE);
  return {...await grader.buildLive(line + source, whole), half};
}

async function build() {
  const {status, said, ...program} = await compiled(editor.text);
  editor.say(said, FILES[file]);
  if (status) {
    say("✗ It does not compile", true, said);
    return null;
  }
  return program;
}

// A warning about backward passes that still belong to the functions as they were.
const wordOn = half => half.map(([forward, backward]) => ` You have changed ${forward}, but not ` +
  `${backward}: does it still compute the gradient of what you have made?`).join("");

function end() {
  for (const engine of engines) engine.end();
  engines = [];
}

async function train() {
  if (isOff($("build"))) return;
  switchOff($("build"), true);
  end();
  clearResults();
  stopped = false;
  $("stop").hidden = false;
  const wanted = now(), [, task, options] = wanted;
  const begun = async bytes => {
    const one = new (file === "tiny" ? TinyTraining : Training)(await WebAssembly.compile(bytes));
    engines.push(one.engine);
    await one.begin(task, options);
    return one;
  };
  try {
    await loaded;
    say("Compiling …");
    const plain = await begun(await (file === "tiny" ? inPage("tiny.wasm") : fileIn("live.wasm")));
    const program = await build();    // when nothing is wrong with the options
    if (!program) return;
    if (stopped) throw new Error("ended");
    const names = ["Your file", "The file as it is"];
    const named = (work, k) => work.catch(error => {
      if (error.message === "ended") throw error;
      throw new Error(`${names[k]}: ${error.message}`);
    });
    say("Training …" + wordOn(program.half));
    pair = [await named(begun(program.wasm), 0), plain];
    ran = wanted;
    showEarlier();
    $("trained-with").textContent = `${tasks[task]}, with ${options}`
      + (file === "tiny" ? " steps" : "");
    $("trained").hidden = false;
    drawCurve();
    await Promise.all(pair.map((one, k) => named(one.go(), k)));
    drawCurve();
    showCompared();
    say((pair[0].broke ? `Trained, but your file failed: ${pair[0].broke}.` : "Trained.") + wordOn(program.half));
  } catch (error) {
    if (error.message !== "ended") say(`✗ ${error.message.replace(/ \(see: .*\)/, "")}`, true);
    else if (!ran) say("Stopped.");
    else say(`Stopped: your file was at step ${stepOf(pair[0])} of ${pair[0].facts.steps}.`);
  } finally {
    end();
    $("stop").hidden = true;
    switchOff($("build"), false);
  }
}

// ---------------------------------------------------------------- begin

// Edits another file: what has been written in this one is kept.
function openFile(key) {
  if (file === key) return;
  if (file) save();
  end();
  clearResults();
  file = $("own-file").value = key;
  reference = references[key];
  $("view-own").classList.toggle("tiny", key === "tiny");
  const own = kept(key);
  const mine = own && own.version === version ? own : null;
  $("break").value = chosen = mine ? mine.name : "";
  if (key === "tiny" && $("own-task").value === "dates") $("own-task").value = "eng-fra";
  openText(mine ? changed(reference, mine.change) : reference);
}

export async function showOwn(name, key) {
  openFile(key === "tiny" ? "tiny" : "own");
  if (name && !breaks[name]) report(`There is no broken line ${name} in the book.`);
  else if (name && editor.text !== broken(name)) openBreak(name);
  scrollTo(0, 0);
}

export async function beginOwn(promise) {
  loaded = promise;
  loaded.catch(() => {});
  for (const [key, name] of Object.entries(FILES)) references[key] = await text(name);
  for (const name of Object.keys(breaks))
    $("break").append(make("option", {value: name}, name.replaceAll("_", " ")));
  for (const [value, name] of Object.entries(tasks))
    $("own-task").append(make("option", {value}, name));
  $("own-options").value = options;
  $("functions").append(...[...Object.values(references).join("\n")
    .matchAll(/^\w[^;{}=#]*?\b(\w+)\([^;{}]*\) \{/gm)].map(([, value]) => make("option", {value})));
  editor = new Editor($("own-editor"), {label: "transformer.c", changed: later(300, () => {
    save();
    showEarlier();
  })});
  editors.own = editor;
  addEventListener("pagehide", () => { if (file) save(); });
  $("own-file").onchange = () => {
    location.hash = $("own-file").value === "tiny" ? "own=tiny" : "own";
  };
  $("break").onchange = () => openBreak($("break").value);
  $("own-search").onclick = () => editor.search();
  goToFunctions($("function"), editor);
  $("open-own").onchange = async () => {
    const [file] = $("open-own").files;
    if (file && mayReplace()) openText((await file.text()).replaceAll("\r\n", "\n"));
    $("open-own").value = "";
  };
  $("save-own").onclick = () => download(FILES[file], editor.text, "text/x-c");
  $("build").onclick = train;
  for (const id of ["own-task", "own-options", "own-steps"]) $(id).addEventListener("input", showEarlier);
  $("do-residual").onclick = () => openBreak("no_residual");
  $("stop").onclick = () => {
    stopped = true;
    if (!ran) say("Stopping as soon as the compiler is done …");
    end();
  };
}

// The labs: a prediction, a program that prints a table, its plot, and three sentences.

import {dot, line, plot} from "@observablehq/plot";
import {autoType, csvParseRows} from "d3-dsv";
import {$, make, json, download, switchOff, isOff, kept, keep,
  verdict} from "./shared.js";
import {Editor} from "./editor.js";
import {Service} from "live";
import * as grader from "./grader.js";
import {editors} from "./exercises.js";

const {labs, headers} = json("labs-json");
const PLOT = ["x", "y", "series", "rows", "logarithmic"];
const WORDS = ["prediction", "sentences"];

let loaded, editor, engine;
let work = {};             // by lab: what the reader wrote; by program: its text and table
let lab, program;          // that are seen

const of = name => work[name] ??= {};

// A file with the labs' headers in the place of their #include lines.
function whole(name, text) {
  let at = 1;
  return `#line 1 "${name}"\n` + text.split("\n").map(each => {
    const header = headers[/^#include "(.*)"/.exec(each)?.[1]];
    at++;
    return header === undefined ? each : `${header}\n#line ${at} "${name}"`;
  }).join("\n");
}

function save() {
  for (const id of WORDS) of(lab.name)[id] = $(id).value;
  of(program.name).table = $("table").value;
  of(program.name).text = editor.text === program.text ? undefined : editor.text;
  keep("labs", work);
}

// ---------------------------------------------------------------- the plot

// The table's columns, and of its rows those that are to be seen.
function rowsOf(text, wanted) {
  const [columns, ...cells] = csvParseRows(text.trim());
  const rows = cells.map(row =>
    autoType(Object.fromEntries(columns.map((column, i) => [column, row[i] ?? ""]))));
  const pairs = wanted.split(/\s+/).filter(Boolean).map(pair => pair.split("="));
  return [columns ?? [], rows.filter(row =>
    pairs.every(([column, value]) => String(row[column]) === value))];
}

function draw() {
  const [x, y, series, wanted] = PLOT.map(id => $(id).value);
  const names = series.split(/[\s,]+/).filter(Boolean);
  const [columns, chosen] = rowsOf($("table").value, wanted);
  const lacking = [x, y, ...names].find(name => name && !columns.includes(name));
  $("plot").replaceChildren();
  $("plot-result").textContent = !columns.length ? "" : lacking ? `The table has no column ${lacking}.`
    : chosen.length ? "" : "No row of the table is as you want it.";
  if (lacking || !chosen.length || !x || !y) return;
  const log = $("logarithmic").value;
  const axis = (name, letter) => ({label: name, grid: true,
    ...log.includes(letter) && {type: "log", tickFormat: "~g"}});
  const shown = chosen.filter(row => (!log.includes("x") || row[x] > 0)
    && (!log.includes("y") || row[y] > 0));
  const label = row => names.map(name => `${name} ${row[name]}`).join(", ") || y;
  const drawn = plot({width: 640, height: 380, marginLeft: 60, marginBottom: 50,
    x: axis(x, "x"), y: axis(y, "y"), symbol: {legend: true}, style: {fontSize: "14px"},
    ariaLabel: `${y} against ${x}`, marks: [line(shown, {x, y, stroke: label, z: label}),
      dot(shown, {x, y, stroke: label, symbol: label})]});
  // Plot names these groups, which have no role that could have a name.
  for (const marks of drawn.querySelectorAll("g")) marks.removeAttribute("aria-label");
  $("plot").append(drawn);
}

// ---------------------------------------------------------------- running it

const say = (words, wrong = false, more = "") => verdict("lab-result", words, wrong, more);

// The rows of a run behind those of earlier ones, with a column that counts runs.
function together(earlier, text) {
  const [head, ...rows] = text.trim().split("\n");
  const before = earlier.trim().split("\n");
  if (before[0] !== `run,${head}`) before.splice(0, Infinity, `run,${head}`);
  const run = before.length > 1 ? Number.parseInt(before.at(-1), 10) + 1 : 1;
  return [...before, ...rows.map(row => `${run},${row}`)].join("\n") + "\n";
}

async function run() {
  if (isOff($("run-lab"))) return;
  if (!$("prediction").value.trim()) {
    say("Write your prediction first: it is what you learn from.", true);
    $("prediction").focus();
    return;
  }
  switchOff($("run-lab"), true);
  say("Compiling …");
  try {
    await loaded;
    const file = `${program.name}.c`;
    const {status, said, wasm} = await grader.buildProgram(whole(file, editor.text));
    editor.say(said, file);
    if (status) {
      say("✗ It does not compile", true, said);
      return;
    }
    say("Running …");
    $("stop-lab").hidden = false;
    engine = new Service("run-worker");
    const words = [program.name, ...$("arguments").value.trim().split(/\s+/).filter(Boolean)];
    const {ended: [code, output]} = await engine.call("run", await WebAssembly.compile(wasm),
      words, {kept: 1 << 22});
    if (code) {
      say(`✗ It ends with ${code}`, true, output);
      return;
    }
    say("");
    $("table").value = together($("table").value, output);
    save();
    draw();
  } catch (error) {
    say(error.message === "ended" ? "Stopped." : `✗ ${error.message}`, error.message !== "ended");
  } finally {
    engine?.end();
    $("stop-lab").hidden = true;
    switchOff($("run-lab"), false);
  }
}

// One page with all that is handed in.
function handIn() {
  save();
  const page = document.implementation.createHTMLDocument(lab.title);
  page.head.prepend(make("meta", {}));
  page.head.firstChild.setAttribute("charset", "utf-8");
  page.body.append(make("h1", {}, lab.title),
    make("h2", {}, "Prediction"), make("p", {}, $("prediction").value),
    make("h2", {}, "Plot"), $("plot").cloneNode(true),
    make("h2", {}, "Three sentences"), make("p", {}, $("sentences").value),
    make("h2", {}, "Table"), make("pre", {}, $("table").value),
    make("h2", {}, `${program.name}.c`), make("pre", {}, editor.text));
  download(`${lab.name}.html`, `<!DOCTYPE html>\n${page.documentElement.outerHTML}\n`, "text/html");
}

// ---------------------------------------------------------------- begin

function openProgram(name) {
  program = lab.programs.find(one => one.name === name);
  const mine = of(name);
  $("lab-file").value = name;
  editor.open(mine.text ?? program.text);
  for (const id of [...PLOT, "arguments"]) $(id).value = program[id];
  $("table").value = mine.table ?? "";
  draw();
}

export function showLab(name) {
  const chosen = labs.find(one => one.name === name) || labs[0];
  if (chosen === lab) return;
  if (lab) save();
  lab = chosen;
  $("lab").value = lab.name;
  $("lab-text").innerHTML = lab.text;
  for (const id of WORDS) $(id).value = of(lab.name)[id] ?? "";
  $("lab-file").replaceChildren(...lab.programs.map(({name}) =>
    make("option", {value: name}, `${name}.c`)));
  say("");
  openProgram(lab.programs[0].name);
  scrollTo(0, 0);
}

export function beginLabs(promise) {
  loaded = promise;
  work = kept("labs") || {};
  $("lab").append(...labs.map(({name, title}) => make("option", {value: name}, title)));
  editor = editors.lab = new Editor($("lab-editor"), {label: "the lab's program"});
  addEventListener("pagehide", () => { if (lab) save(); });
  $("lab").onchange = () => { location.hash = `lab=${$("lab").value}`; };
  $("lab-file").onchange = () => {
    save();
    openProgram($("lab-file").value);
  };
  $("run-lab").onclick = run;
  $("stop-lab").onclick = () => engine.end();
  $("lab-reset").onclick = () => editor.replace(program.text);
  $("clear").onclick = () => {
    $("table").value = "";
    draw();
  };
  for (const id of [...PLOT, "table"]) $(id).addEventListener("change", draw);
  $("hand-in").onclick = handIn;
}

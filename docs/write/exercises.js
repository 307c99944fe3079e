// The exercises: the list, and one of them with task, editor, verdict and hints.

import {$, make, json, text, toBase64, fromBase64, download, report, switchOff, later, isOff,
  kept, keep, difference, changed} from "./shared.js";
import {Editor, goToFunctions} from "./editor.js";
import * as grader from "./grader.js";

const KINDS = {write: "Write", bug: "Find the bug", number: "Compute",
  train: "Train (these need a terminal)"};
const ANSWERS = "exercises/answers.txt";
const PROGRAM = `#define TRANSFORMER_NO_MAIN
#include "../transformer.c"

int main(void) {
    printf("%d\\n", 6 * 7);
    return 0;
}
`;

const {version, pages} = json("exercises-json");
const byName = new Map(pages.map(page => [page.name, page]));
const here = pages.filter(page => page.kind !== "train");

let ready;                 // a promise: what was kept is with the grader, too
let reference;             // transformer.c
let editor, answers;
export const editors = {};
let page = null;           // the one that is shown
let judged = null;         // the text that the verdict is about
let work = {}, programs = {}, notes = null, states = {};
let keeps = true;

// ---------------------------------------------------------------- what is kept

// What is to be graded, as the page shows it.
const mine = () => (page.kind === "number" ? answers : editor).text;

// The text as the grader takes it; of a bug only the difference is kept.
function textOf(name) {
  const kept = work[name], one = byName.get(name);
  if (one.kind !== "bug") return kept ?? one.stub;
  return kept ? changed(planted(one), kept.change) : planted(one);
}

// The bodies of all exercises to write, also of those that have not been changed.
const bodies = () => Object.fromEntries(here.filter(({kind}) => kind === "write")
  .map(({name}) => [name, textOf(name)]));

const texts = () => Object.fromEntries(Object.keys(work).map(name => [name, textOf(name)]));

function save() {
  if (!page) return;
  if (page.kind === "bug") {
    const before = planted(page);
    if (mine() === before) delete work[page.name];
    else work[page.name] = {version, change: difference(before, mine())};
  } else {
    if (mine() === page.stub) delete work[page.name];
    else work[page.name] = mine();
    if (page.kind === "number") programs[page.name] = editor.text;
  }
  keeps = keep("work", work) && keep("programs", programs);
}

function takeStatus(status) {
  ({states, notes} = status);
  keep("states", states);
  keep("notes", notes);
}

// The file of a bug: transformer.c without the marks of exercises, and with a
// mistake.
function planted({bug}) {
  const lines = reference.split("\n").filter(line => !/^\s*\/\/@ (exercise|end)\b/.test(line));
  lines.splice(bug.at, bug.count, ...bug.lines);
  return lines.join("\n");
}

// ---------------------------------------------------------------- the list

const points = chosen => chosen.reduce((sum, {points}) => sum + points, 0);

function stateWord(name) {
  return states[name] || (work[name] === undefined ? "" : "begun");
}

function row(one) {
  const link = make("a", {href: `#exercise=${one.name}`}, one.title);
  return make("tr", {},
    make("td", {className: "number"}, String(one.number)),
    make("th", {scope: "row"}, one.kind === "train" ? one.title : link),
    make("td", {className: "number"}, one.chapter),
    make("td", {className: "number"}, `${one.points}`),
    make("td", {className: "state " + (states[one.name] === "passed" ? "passed" : "")},
      stateWord(one.name)));
}

function showList() {
  $("score").textContent = `Score: ${points(here.filter(({name}) =>
    states[name] === "passed"))} of ${points(here)} points.`;
  const next = here.find(({name}) => states[name] !== "passed");
  $("next-step").replaceChildren(...next ? [make("a", {href: `#exercise=${next.name}`},
    `${work[next.name] === undefined ? "Begin" : "Go on"} with ${next.number}, “${next.title}”`)] : []);
  const kinds = Object.entries(KINDS).filter(([kind]) => pages.some(one => one.kind === kind));
  $("kinds").replaceChildren(...kinds.flatMap(([kind, heading]) => [
    make("h3", {}, heading),
    make("div", {className: "table"}, make("table", {className: "list"},
      make("thead", {}, make("tr", {}, ...["", "exercise", "chapter", "points", "state"]
        .map(word => word ? make("th", {scope: "col"}, word) : make("td", {})))),
      make("tbody", {}, ...pages.filter(one => one.kind === kind).map(row))))]));
  $("kept").textContent = keeps
    ? "What you write is kept in this browser. Download it before you change to another machine."
    : "This browser keeps nothing of this page: download your work before you close it.";
}

// ---------------------------------------------------------------- one exercise

const lines = text => text.split("\n").length;

// The number of the first line that the editor shows.
function firstLine(one) {
  return here.filter(({kind, number}) => kind === "write" && number < one.number)
    .reduce((sum, {name, stub}) => sum + lines(textOf(name)) - lines(stub), one.first);
}

function openEditor() {
  const file = page.file;
  if (page.kind === "write") {
    editor.open(textOf(page.name), {head: page.head, tail: page.tail, first: firstLine(page)});
  } else if (page.kind === "bug") {
    editor.open(textOf(page.name));
  } else {
    editor.open(programs[page.name] ?? PROGRAM);
    answers.open(textOf(page.name));
  }
  $("file").textContent = file;
  $("file-hint").textContent = {
    write: "Write in the lines that are not shaded.",
    bug: "The whole file, with one mistake.",
    number: "Your program. The page compiles it: no command is needed.",
  }[page.kind];
  $("finding").hidden = page.kind !== "bug";
}

function showHints() {
  const count = notes?.hints[page.name] || 0;
  $("hints").replaceChildren(...page.hints.slice(0, count).map((html, k) => {
    const box = make("section", {className: "hint-box"}, make("h3", {}, `Hint ${k + 1} of ${page.hints.length}`));
    box.insertAdjacentHTML("beforeend", html);
    return box;
  }));
  switchOff($("hint"), count === page.hints.length);
  $("hint").textContent = count && count < page.hints.length ? "Another hint" : "Hint";
}

function showNeighbours() {
  const at = here.indexOf(page);
  for (const [id, one] of [["previous", here[at - 1]], ["next", here[at + 1]]]) {
    $(id).hidden = !one;
    if (one) $(id).href = `#exercise=${one.name}`;
  }
  const chapter = `chapter ${page.chapter}${page.section && `, “${page.section}”`}`;
  $("where").replaceChildren(`${page.number} of ${pages.length} · `,
    make("a", {href: page.book, target: "_blank"}, chapter),
    ` · ${page.points} points${stateWord(page.name) ? " · " + stateWord(page.name) : ""}`);
}

export function showExercise(name) {
  save();
  page = here.find(one => one.name === name) || null;
  $("list").hidden = Boolean(page);
  $("one").hidden = !page;
  if (!page) {
    if (name) report(`There is no exercise ${name} here.`);
    showList();
    return;
  }
  $("task").innerHTML = `<h2>${page.number}. ${page.heading}</h2>${page.text}`;
  $("task").scrollTop = 0;
  $("program-part").hidden = page.kind !== "number";
  $("reset").hidden = page.kind === "number";
  clearVerdict();
  $("printed").hidden = true;
  openEditor();
  showHints();
  showNeighbours();
  scrollTo(0, 0);
}

// ---------------------------------------------------------------- the verdict

function clearVerdict() {
  judged = null;
  $("result").replaceChildren();
  $("answer").replaceChildren();
  showEarlier();
}

// Says so if the verdict is not about the text that is shown.
function showEarlier() {
  $("earlier").hidden = judged === null || judged === mine();
}

const MARKS = {right: "✓", wrong: "✗", todo: "…"};

function showResult({state, word, detail}) {
  const good = state === "right";
  const heading = good ? `Right: ${page.points} of ${page.points} points`
    : state === "todo" ? word[0].toUpperCase() + word.slice(1) : word || "Wrong";
  const parts = [make("p", {className: "verdict " + state}, `${MARKS[state]} ${heading}`)];
  if (good && detail.trim()) parts.push(make("p", {}, detail.trim()));
  if (good && !detail.trim() && word) parts.push(make("p", {}, word));
  if (!good && detail.trim()) {
    const details = make("pre", {tabIndex: 0, role: "region", ariaLabel: "Details"},
      detail.replace(/\n+$/, ""));
    parts.push(state === "wrong" ? details : make("details", {},
      make("summary", {}, "What its first failing check says"), details));
  }
  const next = here[here.indexOf(page) + 1];
  if (good && next)
    parts.push(make("p", {}, make("a", {className: "next", href: `#exercise=${next.name}`},
      `Next: ${next.number}, “${next.title}”`)));
  $("result").replaceChildren(...parts);
  editor.say(`${word}\n${detail}`, page.file);
  if (page.kind === "number") answers.say(`${word}\n${detail}`, ANSWERS);
  $("result").scrollIntoView({block: "nearest"});
}

// Does something that takes a moment; its button is off meanwhile.
async function busy(button, words, work) {
  if (isOff(button)) return;
  switchOff(button, true);
  const seen = page;
  $("result").replaceChildren(make("p", {}, words));
  try {
    const show = await work();
    if (seen === page) show();
  } catch (error) {
    const state = error.message === grader.STOPPED ? "todo" : "wrong";
    $("result").replaceChildren(make("p", {className: `verdict ${state}`}, error.message));
  } finally {
    switchOff(button, false);
  }
}

const waiting = words => $("loading").dataset.ready ? words
  : "This goes on as soon as the compiler is loaded …";

function check() {
  save();
  clearVerdict();
  const name = page.name, text = textOf(name), seen = mine(), others = bodies();
  const began = performance.now();
  return busy($("check"), waiting("Compiling and running …"), async () => {
    await ready;
    const result = await grader.done({do: "grade", name, text, others});
    takeStatus(result);
    $("result").dataset.seconds = ((performance.now() - began) / 1000).toFixed(2);
    return () => {
      judged = seen;
      showResult(result);
      showNeighbours();
      showEarlier();
    };
  });
}

async function moreHints() {
  if (isOff($("hint"))) return;
  const count = (notes?.hints[page.name] || 0) + 1;
  notes ??= {hints: {}};
  notes.hints[page.name] = count;
  keep("notes", notes);
  showHints();
  $("hints").lastElementChild.scrollIntoView({block: "nearest"});
  const name = page.name;
  await ready;
  takeStatus(await grader.done({do: "seen", name, count}));
}

// How long a student's program has been running, if it takes more than a moment.
function showRunning() {
  let timer;
  grader.listen((seconds, words) => {
    clearInterval(timer);
    if (words) $("result").replaceChildren(make("p", {}, words));
    $("running").hidden = true;
    if (!seconds) return;
    let left = seconds;
    timer = setInterval(() => {
      left--;
      $("seconds").textContent = `Your program is running. It will be stopped in ${left} s.`;
      $("running").hidden = left <= 0;
    }, 1000);
  });
  $("stop-check").onclick = grader.stopStudent;
}

function beginAnew() {
  const first = page.kind === "bug" ? planted(page) : page.stub;
  if (editor.text !== first && !confirm("What you have written for this exercise will be " +
    "replaced by what was there at the beginning. Go on?")) return;
  editor.replace(first);
  clearVerdict();
}

function solution() {
  if (states[page.name] !== "passed" && !confirm(
    "You have not passed this exercise yet. Show the solution all the same?")) return;
  busy($("solution"), waiting("…"), async () => {
    await ready;
    const lines = await grader.done({do: "solution", name: page.name});
    return () => {
      clearVerdict();
      $("answer").replaceChildren(make("h3", {}, "Solution"),
        make("pre", {tabIndex: 0, role: "region", ariaLabel: "Solution"}, lines));
      $("answer").scrollIntoView({block: "nearest"});
    };
  });
}

function runProgram() {
  save();
  const source = editor.text, file = page.file;
  busy($("run"), waiting("Compiling and running …"), async () => {
    await ready;
    const {said, output} = await grader.runProgram(source, file);
    return () => {
      clearVerdict();
      $("printed").hidden = false;
      $("printed").textContent = said + output || "(it prints nothing)";
      editor.say(said, file);
    };
  });
}

// ---------------------------------------------------------------- files

async function openWork(file) {
  if (Object.keys(work).length
      && !confirm(`${file.name} will replace what is written here. Open it?`)) return;
  await ready;
  const content = toBase64(new Uint8Array(await file.arrayBuffer()));
  const found = await grader.done({do: "opened", name: file.name, content});
  const own = {};
  for (const [name, text] of Object.entries(found.work)) {
    const one = byName.get(name);
    if (one.kind === "bug") own[name] = {version, change: difference(planted(one), text)};
    else if (text !== one.stub) own[name] = text;
  }
  for (const name of Object.keys(work))
    if (!(name in own)) found.work[name] = byName.get(name).kind === "bug"
      ? planted(byName.get(name)) : byName.get(name).stub;
  work = own;
  keep("work", work);
  takeStatus(await grader.done({do: "restore", work: found.work, notes: found.notes}));
  showList();
  report(`${file.name} is open. It has not left this page.`, false);
}

async function packed(name) {
  await ready;
  return fromBase64(await grader.done({do: name, work: texts()}));
}

// ---------------------------------------------------------------- begin

export async function beginExercises(loaded) {
  reference = await text("transformer.c");
  work = kept("work") || {};
  for (const [name, mine] of Object.entries(work))
    if (!byName.has(name) || (mine.version && mine.version !== version)) delete work[name];
  programs = kept("programs") || {};
  notes = kept("notes");
  states = kept("states") || {};
  keeps = keep("work", work);
  ready = loaded.then(async () => {
    takeStatus(await grader.done({do: "restore", work: texts(), notes}));
    $("loading").dataset.ready = "yes";
    if (!page) showList();
  });
  ready.catch(() => {});
  const written = later(300, () => {
    save();
    showEarlier();
  });
  editor = new Editor($("editor"), {label: "C code", changed: written});
  answers = new Editor($("answers"), {label: "Answers", changed: written});
  Object.assign(editors, {code: editor, answers});
  addEventListener("pagehide", save);
  $("check").onclick = check;
  $("search").onclick = () => editor.search();
  goToFunctions($("bug-function"), editor);
  $("hint").onclick = moreHints;
  $("solution").onclick = solution;
  $("run").onclick = runProgram;
  $("reset").onclick = beginAnew;
  showRunning();
  const reported = work => async event => {
    try {
      await work(event);
    } catch (error) {
      report(error.message);
    }
  };
  $("save-all").onclick = reported(async () =>
    download("exercises.zip", await packed("packed"), "application/zip"));
  $("save-file").onclick = reported(async () =>
    download("transformer.c", await packed("file"), "text/x-c"));
  $("open-work").onchange = reported(async () => {
    const [file] = $("open-work").files;
    if (file) await openWork(file).finally(() => { $("open-work").value = ""; });
  });
}

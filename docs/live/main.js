"use strict";
// The page: its state, which stands in the address after #, its two views, and the
// files in it.

// ---------------------------------------------------------------- the state

// #sentence=the+red+dog&stage=output.loss: what differs from how the page opens.
const state = new URLSearchParams(location.hash.slice(1));

// Two tabs of older versions are steps now: where each word looks, and one head in numbers.
function readOldAddress() {
  const tab = state.get("tab"), kind = state.get("kind") ?? "cross";
  if (!["look", "head"].includes(tab) || state.has("stage")) return;
  const part = kind === "cross" ? "cross_attention" : "self_attention";
  const layer = countIn(state.get("layer") ?? 1), decodes = state.has("at");
  state.set("stage", decodes ? "output.probabilities"
    : `${kind === "encoder" ? kind : "decoder"}.${layer}.${part}.weights`);
  if (state.get("panel") !== "map")
    state.set("view", decodes ? "decoding" : tab === "head" ? "matrices" : "heads");
  for (const [old, now] of [["head", "flow-head"], ["source", "sentence"]])
    if (state.has(old)) state.set(now, state.get(old));
  if (!state.has("target")) state.set("target", "");
  for (const key of ["kind", "layer", "head", "source", "word", "edits"]) state.delete(key);
  state.set("tab", "flow");
}

// Browsers let a page change its address only two hundred times in ten seconds.
const writeAddress = later(60, () => {
  if (shownTab === usualTab()) state.delete("tab");
  else state.set("tab", shownTab);
  history.replaceState(null, "", "#" + state);
});

// Keeps a value in the address, or, if it is how the page opens, takes it out.
function remember(key, value, initial = "") {
  if (String(value) === String(initial)) state.delete(key);
  else state.set(key, value);
  writeAddress();
}

// The address may say anything. What is not a whole number from 0 on is read as 0,
// and what is not a key of the table as "".
const countIn = text => Math.min(1e9, Math.max(0, Math.floor(Number(text)) || 0));
const keyIn = (table, text) => Object.hasOwn(table, text ?? "") ? text : "";

// Numbers that have been changed stand in the address as "q,1,2,0.5;…": "q,1,2" -> 0.5.
function editsIn(key, isKnown) {
  const edits = new Map();
  for (const edit of (state.get(key) || "").split(";")) {
    const [name, i, j, x] = edit.split(",");
    if (isKnown(name) && x && Number.isFinite(Number(x)))
      edits.set([name, countIn(i), countIn(j)].join(), Number(x));
  }
  return edits;
}

const rememberEdits = (key, edits) => remember(key, [...edits].join(";"));

addEventListener("hashchange", () => location.reload());

// ---------------------------------------------------------------- small things

const upTo = n => [...Array(n).keys()];

// Reports what fails, unless it was asked of an engine that another has replaced.
const quietly = work => work.catch(error => {
  if (error.message !== "ended") report(error.message);
});

const isStill = () => matchMedia("(prefers-reduced-motion)").matches;

// ---------------------------------------------------------------- the files

// The large files come last in the page.
const isLoaded = new Promise(done => addEventListener("load", done));

// A page of the book hands the next panel what one of its panels has already unpacked.
const handed = new Promise(done => {
  addEventListener("message", ({source, data}) => { if (source === parent) done(data.unpacked ?? {}); });
  if (parent === window) done({});
  else parent.postMessage("unpacked?", "*");
  setTimeout(done, 500, {});
});

// A file of the page; of four-byte numbers all first bytes come first, then all second ones, …
async function unpacked(name) {
  const before = (await handed)[name];
  if (before) return before;
  await isLoaded;
  let bytes = await unzipped($(name).textContent);
  const n = bytes.length >> 2;
  if ($(name).dataset.planes) bytes = bytes.map((_, i) => bytes[(i & 3) * n + (i >> 2)]);
  if (parent !== window) parent.postMessage({unpacked: {[name]: bytes}}, "*");
  return bytes;
}

// The compiled module in single precision, of which every training makes an instance;
// and that in double, for a sentence.
let program, compiledDouble;
const compiled = async name => WebAssembly.compile(await unpacked(name));
const singleProgram = async () => program ??= await compiled("live.wasm");
const doubleProgram = async () => compiledDouble ??= await compiled("double.wasm");

// ---------------------------------------------------------------- the page

const SENTENCE_KEYS = ["sentence", "target", "stage", "way", "changes", "flow-head", "panel",
  "view", "at"];
let shownTab = "flow";

// The tab of a link that names none: training, if it has any key of a training run.
const usualTab = () =>
  [...state.keys()].every(key => key === "tab" || SENTENCE_KEYS.includes(key)) ? "flow" : "train";

function showTab(name) {
  if (!$("message").classList.contains("wrong")) report("");
  chooseTab($("tab-" + name));
  $("buttons").hidden = name !== "flow" || $("buttons").dataset.hidden;
  shownTab = name;
  scrollTo(0, 0);
  remember("tab", name);
  dispatchEvent(new CustomEvent("tab", {detail: name}));
}

function beginTabs() {
  listenToTabs(tab => showTab(tab.dataset.tab));
  const name = state.get("tab") ?? usualTab();
  showTab((allTabs().find(tab => tab.dataset.tab === name) || allTabs()[0]).dataset.tab);
}

// Shows a view, for a button that stands elsewhere.
function goToTab(name) {
  showTab(name);
  $("tab-" + name).focus();
}

// In a panel of the book the page shows one step, which fills it. "panel=sentence" also shows
// the sentence; "panel=map" shows where the model looks, and nothing else.
function beginPanel() {
  if (!state.has("panel")) return;
  document.body.classList.add("panel", state.get("panel") || "one");
  new ResizeObserver(() => {
    if (flow.drawn) parent.postMessage({height: document.body.offsetHeight}, "*");
  }).observe(document.body);
  $("whole").target = "_top";
  $("whole").href = `live.html#${String(state).replace(/&?panel(=[^&]*)?/, "")}`;
}

const inPanel = () => document.body.classList.contains("panel");

function hideParts() {
  for (const name of (state.get("hide") || "").split(","))
    for (const part of document.querySelectorAll(`[data-part="${CSS.escape(name)}"]`)) {
      part.hidden = true;
      part.dataset.hidden = "yes";
    }
}

async function beginPage() {
  readOldAddress();
  checkBrowser();
  beginPanel();
  hideParts();
  beginTabs();
  beginFlow();
  await (programThere = beginModels());
  await beginTraining();
}

beginPage().catch(error => report(String(error.message || error)));

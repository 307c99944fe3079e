"use strict";
// The page: its state, which stands in the address behind #, its tabs, and the
// files in it.

// ---------------------------------------------------------------- the state

// #tab=look&source=the+red+car&seed=2: what differs from how the page opens.
const state = new URLSearchParams(location.hash.slice(1));

// Browsers let a page change its address two hundred times in ten seconds.
const ADDRESS_PAUSE = 60;
let addressTimer = 0, lastAddress = 0;

function writeAddress() {
  addressTimer = 0;
  if (shownTab === usualTab()) state.delete("tab");
  else state.set("tab", shownTab);
  lastAddress = performance.now();
  history.replaceState(null, "", "#" + state);
}

// Keeps a value in the address, or, if it is how the page opens, takes it out.
function remember(key, value, initial = "") {
  if (String(value) === String(initial)) state.delete(key);
  else state.set(key, value);
  addressTimer ||= setTimeout(writeAddress, lastAddress + ADDRESS_PAUSE - performance.now());
}

// What the address says may be anything: a whole number from 0, or a key of a
// table. What is neither is 0, or "".
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

// ---------------------------------------------------------------- the files

const unpacked = name => unzipped($(name).textContent);

// ---------------------------------------------------------------- the page

const SENTENCE_KEYS = ["sentence", "target", "stage", "way", "changes", "flow-head", "panel",
  "model", "temperature", "gpt-seed"];
let shownTab = "flow";

// A link to a training need not say that it is one.
const usualTab = () =>
  [...state.keys()].every(key => key === "tab" || SENTENCE_KEYS.includes(key)) ? "flow" : "train";

function showTab(name) {
  if (!$("message").classList.contains("wrong")) report("");
  chooseTab($("tab-" + name));
  shownTab = name;
  remember("tab", name);
  dispatchEvent(new CustomEvent("tab", {detail: name}));
}

function beginTabs() {
  listenToTabs(tab => showTab(tab.dataset.tab));
  const name = state.get("tab") ?? usualTab();
  showTab((allTabs().find(tab => tab.dataset.tab === name) || allTabs()[0]).dataset.tab);
}

// Shows a view from its top, for a button that stands elsewhere.
function goToTab(name) {
  showTab(name);
  $("tab-" + name).focus();
  scrollTo(0, 0);
}

// In a panel of the book the page shows one matrix, or one map, which fills it.
// "panel=sentence": and the sentence.
function beginPanel() {
  if (!state.has("panel")) return;
  document.body.classList.add("panel", state.get("panel") || "one");
  $("whole").target = "_top";
  $("whole").href = `live.html#${String(state).replace(/&?panel(=[^&]*)?/, "")}`;
  if (!state.get("panel"))
    for (const part of document.querySelectorAll("[data-part=sentence]")) part.hidden = true;
}

const inPanel = () => document.body.classList.contains("panel");

let program;   // the compiled module, of which every Engine makes an instance

async function beginPage() {
  checkBrowser();
  beginPanel();
  program = await WebAssembly.compile(await unpacked("live.wasm"));
  beginTabs();
  beginLook();
  beginHead();
  beginFlow();
  await Promise.all([beginTraining(), beginModels()]);
  for (const name of (state.get("hide") || "").split(","))
    document.querySelectorAll(`[data-part="${CSS.escape(name)}"]`)
      .forEach(part => { part.hidden = true; });
}

addEventListener("load", () =>
  beginPage().catch(error => report(String(error.message || error))));

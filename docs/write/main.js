// The page: its tabs, and what stands in its address behind #.
//
//     #exercise=softmax_row    an exercise
//     #own                     your own transformer.c
//     #own=tiny                your own tiny.c
//     #break=no_scale          the same, with a line broken that the book breaks
//     #lab=01-scaling          a lab

import {$, report, missing, whole} from "./shared.js";
import * as grader from "./grader.js";
import {beginExercises, showExercise, editors} from "./exercises.js";
import {beginOwn, showOwn, trainings} from "./own.js";
import {beginLabs, showLab} from "./labs.js";

export {editors, grader, trainings};  // for the tests: page.editors

const isWhole = Boolean($("view-own"));  // not that of the students' bundle

function show(view) {
  for (const tab of document.querySelectorAll("[role=tab]")) {
    const chosen = tab.getAttribute("aria-controls") === `view-${view}`;
    tab.setAttribute("aria-selected", chosen);
    tab.tabIndex = chosen ? 0 : -1;
    $(tab.getAttribute("aria-controls")).hidden = !chosen;
  }
}

function follow() {
  const wanted = new URLSearchParams(location.hash.slice(1));
  const own = isWhole && (wanted.has("own") || wanted.has("break"));
  const lab = isWhole && wanted.has("lab");
  show(own ? "own" : lab ? "labs" : "exercises");
  report("");
  document.body.classList.toggle("at-work", own || lab || wanted.has("exercise"));
  if (lab) showLab(wanted.get("lab"));
  else if (own) showOwn(wanted.get("break"), wanted.get("own"));
  else showExercise(wanted.get("exercise"));
}

function beginTabs() {
  const tabs = [...document.querySelectorAll("[role=tab]")];
  tabs.forEach((tab, i) => {
    tab.onclick = () => {
      location.hash = {"tab-own": "own", "tab-labs": "lab"}[tab.id] || "";
    };
    tab.onkeydown = event => {
      const step = {ArrowRight: 1, ArrowLeft: -1}[event.key];
      if (!step) return;
      const next = tabs[(i + step + tabs.length) % tabs.length];
      next.click();
      next.focus();
    };
  });
}

async function begin() {
  const lacking = missing();
  if (lacking) {
    report(`This page needs ${lacking}, which this browser does not have. ` +
      "A newer Chrome, Edge, Firefox or Safari has it.");
    return;
  }
  let ready;
  const loaded = new Promise((resolve, reject) => { ready = {resolve, reject}; });
  loaded.catch(error => report(`The compiler does not start: ${error.message}`));
  beginTabs();
  if (isWhole) beginLabs(loaded);
  await Promise.all([beginExercises(loaded), isWhole && beginOwn(loaded)]);
  addEventListener("hashchange", follow);
  follow();
  await whole;
  try {
    await grader.begin(share => {
      $("loading").textContent = share < 1
        ? `Loading the compiler: ${Math.round(100 * share)} %` : "Starting the compiler …";
    });
    ready.resolve();
    $("loading").textContent = "The compiler is ready";
  } catch (error) {
    $("loading").textContent = "";
    ready.reject(error);
  }
}

begin().catch(error => report(String(error.message || error)));

// The page: its tabs, and what stands in its address after #.
//
//     #exercise=softmax_row    an exercise
//     #own                     your own transformer.c
//     #own=tiny                your own tiny.c
//     #break=no_scale          the same, with a line broken that the book breaks

import {$, report, checkBrowser, chooseTab, listenToTabs} from "live";
import {whole} from "./shared.js";
import * as grader from "./grader.js";
import {beginExercises, showExercise, editors} from "./exercises.js";
import {beginOwn, showOwn, trainings} from "./own.js";

export {editors, grader, trainings};  // for the tests: page.editors

function follow() {
  const wanted = new URLSearchParams(location.hash.slice(1));
  const own = wanted.has("own") || wanted.has("break");
  chooseTab($(own ? "tab-own" : "tab-exercises"));
  report("");
  document.body.classList.toggle("at-work", own || wanted.has("exercise"));
  if (own) showOwn(wanted.get("break"), wanted.get("own"));
  else showExercise(wanted.get("exercise"));
}

async function begin() {
  checkBrowser();
  let ready;
  const loaded = new Promise((resolve, reject) => { ready = {resolve, reject}; });
  loaded.catch(error => report(`The compiler did not start: ${error.message}`));
  listenToTabs(({id}) => { location.hash = id === "tab-own" ? "own" : ""; });
  await Promise.all([beginExercises(loaded), beginOwn(loaded)]);
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

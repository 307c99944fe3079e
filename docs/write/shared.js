// Small things that the views of the page share.

import {$, make, fromBase64, unzipped} from "live";

export {$, make, download, switchOff, later, report, fromBase64, unzipped} from "live";

export const json = id => JSON.parse($(id).textContent);

export const toBase64 = bytes =>
  btoa(Array.from(bytes, byte => String.fromCharCode(byte)).join(""));

// The scripts run before the large files after them in the page are loaded.
export const whole = new Promise(resolve => addEventListener("load", resolve));

// A file that build.py has put into the page.
export async function file(name) {
  if (!$(name)) await whole;
  return unzipped($(name).textContent);
}

export const text = async name => new TextDecoder().decode(await file(name));

// One line about what has been done, and details.
export function verdict(id, words, wrong, more) {
  $(id).replaceChildren(make("p", {className: wrong ? "verdict wrong" : ""}, words),
    ...more ? [make("pre", {tabIndex: 0, role: "region", ariaLabel: "Details"}, more)] : []);
}

export const isOff = button => button.getAttribute("aria-disabled") === "true";

// What is kept in the browser; some keep nothing for a page from the disk.
let keeps = true;

export function kept(key) {
  try {
    return JSON.parse(localStorage.getItem("transformer.c/" + key));
  } catch {
    keeps = false;
    return null;
  }
}

export function keep(key, value) {
  try {
    localStorage.setItem("transformer.c/" + key, JSON.stringify(value));
    keeps = true;
  } catch {
    keeps = false;
  }
  return keeps;
}

// A change of a long text as what differs: [from, until, what stands there].
export function difference(before, after) {
  let from = 0, rest = 0;
  const shorter = Math.min(before.length, after.length);
  while (from < shorter && before[from] === after[from]) from++;
  while (rest < shorter - from
      && before[before.length - 1 - rest] === after[after.length - 1 - rest]) rest++;
  return [from, before.length - rest, after.slice(from, after.length - rest)];
}

export const changed = (before, [from, until, middle]) =>
  before.slice(0, from) + middle + before.slice(until);

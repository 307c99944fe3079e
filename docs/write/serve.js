// In a worker: the files of the page, in the place of a network. What is asked
// for under any address is the file of that name.

// Browsers let a page from the disk have classic workers alone. Pyodide, which wants
// a module, takes one for it that cannot import scripts; nothing here does.
globalThis.importScripts = undefined;

import {unzipped} from "live";

const files = new Map();   // name -> a text in base64, of gzipped bytes

export const put = packed => {
  for (const [name, text] of Object.entries(packed)) files.set(name, text);
};

// The bytes of a file, which is used once.
export function read(name) {
  const text = files.get(name);
  files.delete(name);
  return unzipped(text);
}

globalThis.fetch = async address => {
  const name = String(address.url || address).split("/").pop();
  if (!files.has(name)) throw new Error(`there is no ${name} in this page`);
  const type = name.endsWith(".wasm") ? "application/wasm" : "application/octet-stream";
  return new Response(await read(name), {headers: {"content-type": type}});
};

// Calls of the page: {id, name, args}; each is answered once.
export function answerCalls(calls) {
  onmessage = async ({data: {id, name, args}}) => {
    try {
      postMessage({id, result: await calls[name](...args)});
    } catch (error) {
      postMessage({id, error: String(error && error.message || error)});
    }
  };
}

// In a worker: the files of the page, in place of a network. A request for any
// address gets the file that has its name.

// Browsers allow a page from the disk classic workers only. Pyodide wants a module; it takes
// a worker that cannot import scripts for one, and nothing here imports any.
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

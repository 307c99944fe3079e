// In a worker: the files of the page, in the place of a network. What is asked
// for under any address is the file of that name.

// Browsers let a page from the disk have classic workers alone. Pyodide, which wants
// a module, takes one for it that cannot import scripts; nothing here does.
globalThis.importScripts = undefined;

const files = new Map();   // name -> a text in base64, of gzipped bytes

export const put = packed => {
  for (const [name, text] of Object.entries(packed)) files.set(name, text);
};

function bytesOf(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  return Uint8Array.from(atob(text), c => c.charCodeAt(0));
}

// The bytes of a file, which is used once.
function stream(name) {
  const bytes = bytesOf(files.get(name));
  files.delete(name);
  return new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
}

export const read = async name =>
  new Uint8Array(await new Response(stream(name)).arrayBuffer());

globalThis.fetch = async address => {
  const name = String(address.url || address).split("/").pop();
  if (!files.has(name)) throw new Error(`there is no ${name} in this page`);
  const type = name.endsWith(".wasm") ? "application/wasm" : "application/octet-stream";
  return new Response(stream(name), {headers: {"content-type": type}});
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

// Clang and its linker, in WebAssembly: in the page's worker, and in Node when
// the page is built.
//
// The command lines come from the driver, once, when the page is built: so what
// the page runs is the compiler proper and the linker alone.

import {runLLVM} from "@yowasp/clang";

// What a tool has said, and its files: {status, said, files}. The first run loads
// the compiler.
export async function run(words, files, fetchProgress = () => {}) {
  const decoder = new TextDecoder();
  let said = "";
  const hear = bytes => { if (bytes) said += decoder.decode(bytes, {stream: true}); };
  try {
    const made = await runLLVM(words, files, 
      {stdout: hear, stderr: hear, fetchProgress});
    return {status: 0, said, files: made};
  } catch (error) {
    if (error.code === undefined) throw error;
    return {status: error.code, said, files: {}};
  }
}

// The commands of the driver for `clang ARGUMENTS`: the compiler's words, in
// which the source is SOURCE.c, and the linker's, in which its object is
// SOURCE.o. SOURCE.wasm is made.
export async function commandsOf(words) {
  const {said} = await run(["clang", "-###", ...words, "SOURCE.c", "-o", "SOURCE.wasm"],
    {"SOURCE.c": ""});
  const lines = said.split("\n").filter(line => line.startsWith(' "'))
    .map(line => [...line.matchAll(/"((?:[^"\\]|\\.)*)"/g)]
      .map(word => word[1].replace(/\\(.)/g, "$1")).filter(word => word)
      .map(word => /^\/tmp\/.*\.o$/.test(word) ? "SOURCE.o" : word));
  if (lines.length !== 2) throw new Error("the driver said: " + said);
  return {compile: lines[0], link: lines[1]};
}

// Compiles one C file; {status, said, object}.
export async function compiled(commands, source, more = [], files = {}) {
  const words = [...commands.compile];
  words.splice(words.indexOf("-o"), 0, ...more);
  const {status, said, files: made} =
    await run(words, {...files, "SOURCE.c": source});
  return {status, said, object: made["SOURCE.o"]};
}

// Links an object with others; a function that several define is that of the first;
// {status, said, wasm}.
export async function linked(commands, object, others = {}) {
  const words = [...commands.link];
  words.splice(words.indexOf("SOURCE.o") + 1, 0, ...Object.keys(others));
  const {status, said, files} = await run(words, {...others, "SOURCE.o": object});
  return {status, said, wasm: files["SOURCE.wasm"]};
}

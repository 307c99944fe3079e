// The compiler, in a worker of its own, where it stays loaded.

import {put, read, answerCalls} from "./serve.js";
import {run, compiled, linked} from "./toolchain.js";

let commands;
const objects = {};
const files = {};

// With checks of its pointers, the whole file takes minutes to compile.
const unchecked = ({compile, link}) =>
  ({compile: compile.filter(word => !word.startsWith("-fsanitize")), link});

// Compiles and links: {status, said, wasm}. `kind` says with what: "grade", or
// "live". `whole`: the source is all of transformer.c, not only what has changed.
async function build(kind, source, whole, more) {
  const command = whole ? unchecked(commands[kind]) : commands[kind];
  return whole
    ? made(command, files[kind],
      [...more, "-DSOURCE=\"transformer.c\"", "-Wno-macro-redefined"],
      {...files, "transformer.c": source})
    : made(command, source, more, {}, {[`${kind}.o`]: objects[kind]});
}

async function made(command, source, more, files, others) {
  const {status, said, object} = await compiled(command, source, more, files);
  if (status) return {status, said};
  const linking = await linked(command, object, others);
  return {...linking, said: said + linking.said};
}

answerCalls({
  async begin(packed) {
    put(packed);
    const text = async name => new TextDecoder().decode(await read(name));
    commands = JSON.parse(await text("commands.json"));
    Object.assign(files, JSON.parse(await text("sources.json")));
    for (const kind of ["grade", "live"]) objects[kind] = await read(`${kind}.o`);
    let last = 0;
    await run(["clang", "--version"], {}, ({doneLength, totalLength}) => {
      const share = doneLength / totalLength;
      if (share - last < 0.01) return;
      last = share;
      postMessage({progress: share});
    });
    const {status, said} = await build("grade", "int begun;\n", false, []);
    if (status) throw new Error(said);
  },
  build,
  // A program of its own that includes transformer.c.
  program: source => made(commands.grade, source,
    ["-Wall", "-UTRANSFORMER_NO_MAIN", "-UTRANSFORMER_POISON"],
    {"transformer.c": files["outline.c"]}, {"grade.o": objects.grade}),
  // A program that includes nothing but the C library's headers.
  alone: source => made(commands.tiny, source),
});

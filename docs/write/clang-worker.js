// The compiler, in a worker of its own, where it stays loaded.

import {put, read, answerCalls} from "./serve.js";
import {run, compiled, linked} from "./toolchain.js";

let commands;
const objects = {};
const files = {};

// All of the file with checks of its pointers takes minutes to compile.
const unchecked = ({compile, link}) =>
  ({compile: compile.filter(word => !word.startsWith("-fsanitize")), link});

// Compiles and links: {status, said, wasm}. `kind` says with what: "grade", or
// "live". `whole`: the source is all of transformer.c, not only what has changed.
async function build(kind, source, whole, more) {
  const command = whole ? unchecked(commands[kind]) : commands[kind];
  let {status, said, object} = whole
    ? await compiled(command, files[kind],
      [...more, "-DSOURCE=\"transformer.c\"", "-Wno-macro-redefined"],
      {...files, "transformer.c": source})
    : await compiled(command, source, more);
  if (status) return {status, said};
  const others = whole ? {} : {[`${kind}.o`]: objects[kind]};
  const program = await linked(command, object, others);
  return {status: program.status, said: said + program.said, wasm: program.wasm};
}

answerCalls({
  async begin(packed) {
    put(packed);
    const text = async name => new TextDecoder().decode(await read(name));
    commands = JSON.parse(await text("commands.json"));
    Object.assign(files, JSON.parse(await text("sources.json")));
    for (const kind of Object.keys(commands)) objects[kind] = await read(`${kind}.o`);
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
  async program(source) {
    const {status, said, object} = await compiled(commands.grade, source,
      ["-Wall", "-UTRANSFORMER_NO_MAIN", "-UTRANSFORMER_POISON"],
      {"transformer.c": files["outline.c"]});
    if (status) return {status, said};
    const linking = await linked(commands.grade, object, {"grade.o": objects.grade});
    return {...linking, said: said + linking.said};
  },
  // A program of an object that is in the page, and of grade.o.
  async link(packed) {
    put(packed);
    const [name] = Object.keys(packed);
    return linked(commands.grade, await read(name), {"grade.o": objects.grade});
  },
});

// What the page needs from the compiler, made by it, in Node:
//
//     node make.js IN OUT
//
// IN has jobs.json: {"commands": {name: driver's words}, "objects": [...]},
// and the sources that it names. OUT gets commands.json, the objects, tiny.wasm and
// grade.wasm.

import {readFileSync, writeFileSync} from "node:fs";
import {commandsOf, compiled, linked} from "./toolchain.js";

const [from, to] = process.argv.slice(2);
const read = name => readFileSync(`${from}/${name}`, "utf8");
const jobs = JSON.parse(read("jobs.json"));
const files = Object.fromEntries(jobs.files.map(name => [name, read(name)]));

function good(result, what) {
  if (result.status) {
    console.error(`${what}:\n${result.said}`);
    process.exit(1);
  }
  return result;
}

const commands = {};
for (const [name, words] of Object.entries(jobs.commands))
  commands[name] = await commandsOf(words);
writeFileSync(`${to}/commands.json`, JSON.stringify(commands));

for (const {name, source, flags} of jobs.objects) {
  const {object} = good(await compiled(commands[name], read(source), flags, files), name);
  writeFileSync(`${to}/${name}.o`, object);
}

const {object} = good(await compiled(commands.tiny, read("tiny.c")), "tiny.c");
writeFileSync(`${to}/tiny.wasm`, good(await linked(commands.tiny, object), "tiny.wasm").wasm);

const grade = readFileSync(`${to}/grade.o`);
const {wasm} = good(await linked(commands.grade, grade), "grade.wasm");
writeFileSync(`${to}/grade.wasm`, wasm);

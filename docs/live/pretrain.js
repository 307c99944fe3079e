"use strict";
// Trains the page's English-French model, in the page's own program, by Node:
//
//     node pretrain.js live.wasm ../../data model.safetensors
//
// WebAssembly gives the same bits on every machine.

const fs = require("fs");
const vm = require("vm");
const path = require("path");

const OPTIONS = "--d-model 32 --d-ff 64 --steps 800 --warmup 100 --lr 0.01 " +
  "--dropout 0.05 --max-len 32";

const [wasm, data, to] = process.argv.slice(2);
const Program = vm.runInThisContext(
  fs.readFileSync(path.join(__dirname, "wasi.js"), "utf8") + "\nProgram");
const program = new Program(new WebAssembly.Module(fs.readFileSync(wasm)));
for (const name of ["eng-fra.train.tsv", "eng-fra.valid.tsv"])
  program.files.write(name, fs.readFileSync(path.join(data, name)));
const {value: {steps}} = program.call("train_new", ["train", "eng-fra.train.tsv",
  "--valid", "eng-fra.valid.tsv", ...OPTIONS.split(" ")].join("\n"), 0);
for (let step = 0; step < steps;)
  step = program.call("train_steps", steps - step, 5).value.pop()[0];
program.call("save");
fs.writeFileSync(to, program.files.read("model.safetensors"));
console.log(JSON.stringify(program.call("evaluate").value));

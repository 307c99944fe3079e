"use strict";
// Trains a model of the page, by pretrain.c or pretrain-gpt.c in Node:
//
//     node pretrain.js pretrain.wasm ../../data/eng-fra.train.tsv model.safetensors
//
// WebAssembly gives the same bits on every machine; they are those of the
// portable program that docs/runs/make.sh builds.

const fs = require("fs");
const vm = require("vm");
const path = require("path");

const [wasm, data, to] = process.argv.slice(2);
const Program = vm.runInThisContext(
  fs.readFileSync(path.join(__dirname, "wasi.js"), "utf8") + "\nProgram");
const program = new Program(new WebAssembly.Module(fs.readFileSync(wasm)));
program.files.write(path.basename(data), fs.readFileSync(data));
program.call("pretrain");
fs.writeFileSync(to, program.files.read("model.safetensors"));

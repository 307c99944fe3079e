"use strict";
// Trains the book's English-French model, by pretrain.c in Node:
//
//     node pretrain.js pretrain.wasm ../../data model.safetensors
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
const pairs = "eng-fra.train.tsv";
program.files.write(pairs, fs.readFileSync(path.join(data, pairs)));
program.call("pretrain");
fs.writeFileSync(to, program.files.read("model.safetensors"));

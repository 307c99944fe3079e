// node --single-threaded (compiling threads may crash Node 20 as it exits) THIS PROGRAM ARGUMENTS
import { readFileSync } from "node:fs";
import { WASI } from "node:wasi";
const args = process.argv.slice(2);
const wasi = new WASI({ version: "preview1", args, preopens: { ".": "." } });
globalThis.kept = wasi; // or Node 20 may collect it while the program runs
const program = new WebAssembly.Module(readFileSync(args[0]));
const imports = { wasi_snapshot_preview1: wasi.wasiImport };
process.exitCode = wasi.start(new WebAssembly.Instance(program, imports));

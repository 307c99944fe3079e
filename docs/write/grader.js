// Grades: Python says what is to be compiled and run, and what comes of it.

import {unzipped, Service} from "live";

let clang, python, judge, limits;
let student = null;        // the worker in which the student's programs run

// What build.py has put into the page: a text in base64, of gzipped bytes. It is
// used once, so the page need not keep it.
function take(...names) {
  return Object.fromEntries(names.map(name => {
    const element = document.getElementById(name), text = element.textContent;
    element.remove();
    return [name, text];
  }));
}

// Loads everything, in the background; `progress` is given the share that is loaded.
export async function begin(progress) {
  clang = new Service("clang-worker", progress);
  python = new Service("python-worker");
  judge = new Service("run-worker");
  const compiler = clang.call("begin", take("llvm.core.wasm", "llvm.core2.wasm",
    "llvm.core3.wasm", "llvm.core4.wasm", "llvm-resources.tar", "commands.json",
    "sources.json", "grade.o", "live.o"));
  const packed = take("pyodide.asm.wasm", "python_stdlib.zip", "project.zip", "grade.wasm");
  const {["grade.wasm"]: grade, ...rest} = packed;
  const [about, module] = await Promise.all([python.call("begin", rest),
    unzipped(grade).then(bytes => WebAssembly.compile(bytes)), compiler]);
  limits = JSON.parse(about);
  reference = module;
}

let reference;             // grade.c with transformer.c as it is
let program;               // the same with the student's functions, as compiled last

// Hears how many seconds a student's program has when it begins, and 0 when it ends; or
// words on what takes long.
let hear = () => {};
export const listen = listener => { hear = listener; };

// Ends the student's program that runs, if one does.
let stop = () => {};
export const stopStudent = () => stop();
export const WHOLE = "Compiling. Not only functions have changed, so the whole file is compiled: " +
  "this takes some 20 seconds …";
export const STOPPED = "Stopped: there is no result.";

// Runs what a student has written: it is stopped after some seconds.
async function runStudent(module, words, options = {}) {
  student ??= new Service("run-worker");
  const mine = student;
  let late;
  const end = error => {
    student = null;
    mine.end(error);
  };
  const timer = setTimeout(() => {
    late = true;
    end();
  }, 1000 * limits.seconds);
  stop = () => end(new Error(STOPPED));
  hear(limits.seconds);
  try {
    return await mine.call("run", module, words,
      {most: limits.output, kept: limits.kept, ...options});
  } catch (error) {
    if (!late) throw error;
    return {ended: [1, "", `stopped after ${limits.seconds} seconds`], results: ""};
  } finally {
    clearTimeout(timer);
    stop = () => {};
    hear(0);
  }
}

const token = () => [...crypto.getRandomValues(new Uint8Array(16))]
  .map(byte => byte.toString(16).padStart(2, "0")).join("");

// A check: the student's program makes results, which Python compares.
async function check(name, module) {
  const given = token();
  const made = await runStudent(module, ["grade", name, "results"], {given: given + "\n"});
  return {...made, token: given};
}

const answering = {
  async compile({source, whole, flags}) {
    if (whole) hear(0, WHOLE);
    const {status, said, wasm} = await clang.call("build", "grade", source, whole, flags);
    if (!status) program = await WebAssembly.compile(wasm);
    return {status, said};
  },
  async make({name}) {
    const made = await judge.call("run", reference,
      ["grade", name, "results"], {given: "\n"});
    return made.results;
  },
  async check({names, reference: itself}) {
    const done = {};
    for (const name of names) {
      done[name] = await check(name, itself ? reference : program);
      if (done[name].ended[0] !== 0) break;
    }
    return done;
  },
};

// The result of a task of bridge.py: {"do": "grade", "name": ..., "text": ...}
let last = Promise.resolve();
export function done(task) {
  last = last.catch(() => {}).then(async () => {
    const answers = {};
    for (;;) {
      const {need, result, trouble} = JSON.parse(await python.call("answer",
        JSON.stringify(task), JSON.stringify(answers)));
      if (trouble !== undefined) throw new Error(trouble);
      if (!need) return result;
      answers[need.key] = await answering[need.ask](need);
    }
  });
  return last;
}

// A program that includes transformer.c, built and run: {said, output}.
export async function runProgram(source, file) {
  const {status, said, wasm} = await clang.call("program", `#line 1 "${file}"\n${source}`);
  if (status) return {said, output: ""};
  const {ended: [code, output, stopped]} =
    await runStudent(await WebAssembly.compile(wasm), ["program"]);
  const end = stopped || (typeof code === "string" ? `it crashes (${code})`
    : code ? `it ends with status ${code}` : "");
  return {said, output: output + (end && `\n${end}\n`)};
}

// A program that needs nothing else: {status, said, wasm}.
export const buildAlone = source => clang.call("alone", source);

export const buildLive = (source, whole) => clang.call("build", "live", source, whole, []);

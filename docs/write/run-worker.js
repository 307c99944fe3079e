// Runs a WASI program, which may do anything: says what it prints, how it ends, and which
// file it leaves. A program that does not end is ended together with this worker.

import {WASI, File, OpenFile, PreopenDirectory, Directory, ConsoleStdout}
  from "@bjorn3/browser_wasi_shim";
import {answerCalls} from "./serve.js";

const MOST_FILE = 2 << 20;   // bytes that a file may have

// Ends a program from within one of its calls.
class Stopped extends Error {
  constructor(how) {
    super();
    this.how = how;
  }
}

const write = OpenFile.prototype.fd_write;
OpenFile.prototype.fd_write = function (bytes) {
  if (Number(this.file_pos) + bytes.length > MOST_FILE) throw new Stopped({signal: "SIGXFSZ"});
  return write.call(this, bytes);
};

// The signal with which a system would have ended a program that trapped.
function signalOf(error) {
  const text = String(error.message);
  if (/divide|integer overflow/.test(text)) return "SIGFPE";
  if (/unreachable/.test(text) && /\babort\b/.test(error.stack)) return "SIGABRT";
  return "SIGSEGV";
}

// What is kept of the output: its beginning and its end.
class Output {
  constructor(most, kept, aloud) {
    Object.assign(this, {most, kept, aloud, count: 0, parts: [], decoder: new TextDecoder()});
  }

  add(bytes) {
    this.count += bytes.length;
    this.parts.push(bytes);
    if (this.aloud) postMessage({progress: this.decoder.decode(bytes, {stream: true})});
    if (this.count > this.most)
      throw new Stopped({stopped: `stopped: it prints more than ${this.most >> 20} MB`});
  }

  async text() {
    const all = new Uint8Array(await new Blob(this.parts).arrayBuffer());
    const decoder = new TextDecoder();
    if (all.length <= 2 * this.kept) return decoder.decode(all);
    return decoder.decode(all.subarray(0, this.kept))
      + "\n... (the middle is left out) ...\n"
      + decoder.decode(all.subarray(-this.kept));
  }
}

// {ended: [status or signal, output, why it was stopped], results}; `aloud`: posts output at once
async function run(module, words, {given = "", results = "",
  most = 10 << 20, kept = 1 << 15, files = {}, aloud = false} = {}) {
  const encoder = new TextEncoder();
  const output = new Output(most, kept, aloud);
  const file = new File(encoder.encode(results));
  const screen = () => new ConsoleStdout(bytes => output.add(bytes));
  const system = new WASI(words, [], [
    new OpenFile(new File(encoder.encode(given))), screen(), screen(),
    new PreopenDirectory("/", [["results", file],
      ...Object.entries(files).map(([name, bytes]) => [name, new File(bytes)]),
      ["dev", new Directory([["null", new File([])]])]])], {debug: false});
  let status = 0, stopped = "";
  try {
    const instance = new WebAssembly.Instance(module,
      {wasi_snapshot_preview1: system.wasiImport});
    status = system.start(instance);
  } catch (error) {
    if (error instanceof Stopped) {
      stopped = error.how.stopped || "";
      status = error.how.signal || 1;
    } else if (error instanceof WebAssembly.LinkError) {
      status = 1;
      output.add(encoder.encode(error.message + "\n"));
    } else {
      status = signalOf(error);
    }
  }
  return {ended: [status, await output.text(), stopped],
    results: new TextDecoder().decode(file.data)};
}

answerCalls({run});

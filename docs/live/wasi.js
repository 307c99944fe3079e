"use strict";
// An instance of the program, and what it asks of a system: fourteen calls of
// WASI, all in memory.

// Thrown when the program has ended itself, with its words.
class Ended extends Error {}

// Writes to an open file, which grows.
function append(open, part) {
  const {file, at} = open, end = at + part.length;
  if (end > file.bytes.length) {
    const larger = new Uint8Array(2 * end);
    larger.set(file.bytes.subarray(0, file.size));
    file.bytes = larger;
  }
  file.bytes.set(part, at);
  file.size = Math.max(file.size, end);
  open.at = end;
}

class Program {
  constructor(module) {
    this.files = new Map();         // path -> {bytes, size}
    this.open = new Map();          // descriptor -> {file, at}
    this.said = ["", "", ""];       // stdin, stdout, stderr
    this.decoder = [1, 2, 3].map(() => new TextDecoder());
    this.exports = new WebAssembly.Instance(module,
      {wasi_snapshot_preview1: this.calls()}).exports;
    this.exports._initialize();
  }

  write(path, bytes) {
    this.files.set(path, {bytes, size: bytes.length});
  }

  read(path) {
    const file = this.files.get(path);
    if (!file) throw new Error("there is no file " + path);
    return file.bytes.slice(0, file.size);
  }

  // Calls a function with numbers and strings. Returns {value, notes}: what it
  // printed to stdout, read as JSON, and what it printed to stderr.
  call(name, ...args) {
    this.said.fill("");
    const {malloc, free, finish_output} = this.exports;
    const strings = [];
    const given = args.map(arg => {
      if (typeof arg !== "string") return arg;
      const bytes = new TextEncoder().encode(arg + "\0");
      const place = malloc(bytes.length);
      this.bytes(place, bytes.length).set(bytes);
      strings.push(place);
      return place;
    });
    try {
      this.exports[name](...given);
      finish_output();
    } catch (error) {
      if (!(error instanceof Ended) && !(error instanceof WebAssembly.RuntimeError))
        throw error;
      const text = this.said[2].trim().split("\n").pop();
      throw new Ended(text.replace(/^transformer: /, "") || error.message);
    }
    strings.forEach(free);
    return {value: this.said[1] ? JSON.parse(this.said[1]) : null,
            notes: this.said[2].trim()};
  }

  bytes(place, length) {
    return new Uint8Array(this.exports.memory.buffer, place, length);
  }

  text(place, length) {
    return new TextDecoder().decode(this.bytes(place, length));
  }

  calls() {
    const OK = 0, BAD = 8, EXISTS = 20, MISSING = 44, ROOT = 3;
    const CREATE = 1, EXCLUSIVE = 4, TRUNCATE = 8;
    const view = () => new DataView(this.exports.memory.buffer);
    // Reads or writes the parts of a list; `work` gives the bytes that it has moved.
    const transfer = work => (fd, list, count, result) => {
      const open = this.open.get(fd);
      if (!open && (fd < 1 || fd > 2)) return BAD;
      let total = 0;
      for (let at = list; at < list + 8 * count; at += 8)
        total += work(fd, open, this.bytes(view().getUint32(at, true),
          view().getUint32(at + 4, true)));
      view().setUint32(result, total, true);
      return OK;
    };
    return {
      clock_time_get: (clock, precision, result) => {
        const milliseconds = performance.timeOrigin + performance.now();
        view().setBigUint64(result, BigInt(Math.round(1e6 * milliseconds)), true);
        return OK;
      },
      proc_exit: status => {
        throw new Ended("the program ended with status " + status);
      },
      fd_prestat_get: (fd, result) => {
        if (fd !== ROOT) return BAD;
        view().setUint32(result, 0, true);
        view().setUint32(result + 4, 1, true);
        return OK;
      },
      fd_prestat_dir_name: (fd, place) => {
        this.bytes(place, 1)[0] = 47; // "/"
        return OK;
      },
      fd_fdstat_get: (fd, result) => {
        this.bytes(result, 24).fill(0);
        view().setUint8(result, fd === ROOT ? 3 : 4); // a folder, or a file
        view().setBigUint64(result + 8, ~0n, true);   // that may do everything
        view().setBigUint64(result + 16, ~0n, true);
        return OK;
      },
      fd_fdstat_set_flags: () => OK,
      fd_close: fd => this.open.delete(fd) ? OK : BAD,
      fd_seek: (fd, offset, whence, result) => {
        const open = this.open.get(fd);
        if (!open) return BAD;
        const from = [0, open.at, open.file.size][whence];
        open.at = from + Number(offset);
        view().setBigUint64(result, BigInt(open.at), true);
        return OK;
      },
      fd_read: transfer((fd, open, part) => {
        const from = open.file.bytes.subarray(open.at, Math.min(open.file.size,
          open.at + part.length));
        part.set(from);
        open.at += from.length;
        return from.length;
      }),
      fd_write: transfer((fd, open, part) => {
        if (open) append(open, part);
        else this.said[fd] += this.decoder[fd].decode(part, {stream: true});
        return part.length;
      }),
      path_open: (dir, look, path, length, how, rights, inherited, flags, result) => {
        const {files} = this, name = this.text(path, length);
        if (how & CREATE && how & EXCLUSIVE && files.has(name)) return EXISTS;
        if (!files.has(name) && !(how & CREATE)) return MISSING;
        if (!files.has(name) || how & TRUNCATE)
          files.set(name, {bytes: new Uint8Array(0), size: 0});
        let fd = ROOT + 1;
        while (this.open.has(fd)) fd++;
        this.open.set(fd, {file: files.get(name), at: 0});
        view().setUint32(result, fd, true);
        return OK;
      },
      path_rename: (dir, path, length, other, to, size) => {
        const {files} = this, name = this.text(path, length);
        if (!files.has(name)) return MISSING;
        files.set(this.text(to, size), files.get(name));
        files.delete(name);
        return OK;
      },
      path_unlink_file: (dir, path, length) =>
        this.files.delete(this.text(path, length)) ? OK : MISSING,
      path_remove_directory: () => MISSING,
    };
  }
}

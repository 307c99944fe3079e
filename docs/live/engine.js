// A worker whose script is in the page; its calls return promises.
//
//     const service = new Service("clang-worker");
//     await service.call("begin", ...); service.end();
class Service {
  constructor(script, progress = () => {}) {
    const code = document.getElementById(script).textContent;
    const address = URL.createObjectURL(new Blob([code], {type: "text/javascript"}));
    this.worker = new Worker(address);
    URL.revokeObjectURL(address);
    this.waiting = new Map();
    this.calls = 0;
    this.worker.onmessage = ({data}) => {
      if (data.progress !== undefined) {
        progress(data.progress);
        return;
      }
      const {resolve, reject} = this.waiting.get(data.id);
      this.waiting.delete(data.id);
      if (data.error === undefined) resolve(data.result);
      else reject(new Error(data.error));
    };
    this.worker.onerror = event => {
      event.preventDefault();
      this.fail(new Error(event.message || "a part of this page did not start"));
    };
  }

  call(name, ...args) {
    if (this.over) return Promise.reject(this.over);
    const id = this.calls++;
    return new Promise((resolve, reject) => {
      this.waiting.set(id, {resolve, reject});
      this.worker.postMessage({id, name, args});
    });
  }

  fail(error) {
    for (const {reject} of this.waiting.values()) reject(error);
    this.waiting.clear();
  }

  end(error = new Error("ended")) {
    this.worker.terminate();
    this.over = error;
    this.fail(error);
  }
}

// An instance of the program, in a worker of its own.
//
//     const engine = new Engine(module);
//     await engine.call("inspect", "the red car");   what the C function prints
//     await engine.write("a.tsv", bytes); await engine.read("a.tsv");
//
// A call whose function fails rejects with the program's own words, and the
// instance has ended. engine.notes is what the last call wrote to stderr.
class Engine extends Service {
  constructor(module) {
    super("worker");
    super.call("begin", module).catch(() => {}); // if it fails, the next call fails, too
  }

  async call(name, ...args) {
    const {value, notes} = await super.call(name, ...args);
    this.notes = notes;
    return value;
  }

  write(path, bytes) { return super.call("write", path, bytes); }

  read(path) { return super.call("read", path); }
}

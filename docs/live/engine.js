// An instance of the program, in a worker of its own.
//
//     const engine = new Engine(module);
//     await engine.call("say", "the red car");   what the C function prints
//     await engine.write("a.tsv", bytes); await engine.read("a.tsv");
//
// A call whose function fails rejects with the program's own words, and the
// instance is at its end. engine.notes is what the last call said on stderr.
class Engine {
  constructor(module) {
    const code = document.getElementById("worker").textContent;
    const address = URL.createObjectURL(new Blob([code], {type: "text/javascript"}));
    this.worker = new Worker(address);
    URL.revokeObjectURL(address);
    this.waiting = new Map();
    this.calls = 0;
    this.notes = "";
    this.worker.onmessage = ({data: {id, result, error}}) => {
      const {resolve, reject} = this.waiting.get(id);
      this.waiting.delete(id);
      if (error === undefined) resolve(result);
      else reject(new Error(error));
    };
    this.worker.onerror = event => {
      event.preventDefault();
      for (const {reject} of this.waiting.values()) reject(new Error(event.message));
      this.waiting.clear();
    };
    this.post("begin", module).catch(() => {}); // a call after it fails, too
  }

  post(name, ...args) {
    const id = this.calls++;
    return new Promise((resolve, reject) => {
      this.waiting.set(id, {resolve, reject});
      this.worker.postMessage({id, name, args});
    });
  }

  async call(name, ...args) {
    const {value, notes} = await this.post(name, ...args);
    this.notes = notes;
    return value;
  }

  write(path, bytes) { return this.post("write", path, bytes); }

  read(path) { return this.post("read", path); }

  end() {
    this.worker.terminate();
    for (const {reject} of this.waiting.values()) reject(new Error("ended"));
    this.waiting.clear();
  }
}

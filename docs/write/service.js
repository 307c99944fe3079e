// A worker whose script is in the page: calls of it are promises.
//
//     const service = new Service("clang-worker");
//     await service.call("begin", ...); service.end();
export class Service {
  constructor(script, progress = () => {}) {
    const code = document.getElementById(script).textContent;
    const address = URL.createObjectURL(new Blob([code], {type: "text/javascript"}));
    this.worker = new Worker(address);
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
      this.fail(new Error(event.message || "a part of this page does not start"));
    };
  }

  call(name, ...args) {
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
    this.fail(error);
  }
}

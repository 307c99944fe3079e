// Python with the terminal's grader, in a worker of its own.

import {put, read, answerCalls} from "./serve.js";
import {loadPyodide} from "pyodide";
import createPyodideModule from "pyodide/pyodide.asm.mjs";
import {info} from "pyodide/pyodide-lock.json";

let bridge;

answerCalls({
  async begin(packed) {
    put(packed);
    const python = await loadPyodide({createPyodideModule, indexURL: "file:///",
      lockFileContents: {info, packages: {}}});
    python.unpackArchive(await read("project.zip"), "zip", {extractDir: "/project"});
    python.runPython("import sys; sys.path.append('/project/docs/write')");
    bridge = python.pyimport("bridge");
    return bridge.begin("/project/exercises");
  },
  answer: (task, answers) => bridge.answer(task, answers),
});

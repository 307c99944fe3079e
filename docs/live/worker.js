// The other side of Engine, in engine.js: one instance of the program.

let program;

onmessage = ({data: {id, name, args}}) => {
  try {
    postMessage({id, result: answer(name, args)});
  } catch (error) {
    postMessage({id, error: error.message});
  }
};

function answer(name, args) {
  if (name === "begin") program = new Program(...args);
  else if (name === "write") program.write(...args);
  else if (name === "read") return program.read(...args);
  else return program.call(name, ...args);
}

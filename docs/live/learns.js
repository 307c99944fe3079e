// The parameters of a step, and their gradients.

const isTensor = name => flow.facts.tensors.includes(name);
const isTied = name => name === "output.logits" && flow.info.tie === "yes";

// The tensors that a stage is computed with.
function parametersOf(name) {
  const path = pathOf(name), kind = kindOf(name);
  const norm = path.includes(".") ? `${path}_norm` : `${path}.norm`;
  const all = isTied(name) ? ["target_embedding.weight", "output.bias"]
    : kind === "norm" ? [`${norm}.gain`, `${norm}.bias`]
      : kind === "embedding" ? [`${path}_embedding.weight`]
        : kind === "positions" ? [`${path}_positions.weight`]
          : [`${tensorOf(name)}.weight`, `${tensorOf(name)}.bias`];
  return all.filter(isTensor);
}

// How a tensor's gradient comes from the step's: a function that gives the formula, and
// the lines that do it.
const LEARNS = {
  norm: {formula: () => "dgain = Σ dnorm · n, dbias = Σ dnorm, over the rows",
    lines: ["{{line norm_backward: add_column_sums(dw->gain}}",
      "{{line norm_backward: add_column_sums(dw->bias}}"]},
  embedding: {formula: () => "dtable[token] += √D · dembedding: a token that does not occur learns " +
      "nothing here",
    lines: ["{{line embedding_backward: to[j] += scale}}"]},
  positions: {formula: () => "dpositions = dinput",
    lines: ["{{line embedding_backward: row(dpositions, i}}"]},
  linear: {formula: linearLearns,
    lines: ["{{line linear_backward: matmul_add(dw->weight}}",
      "{{line linear_backward: add_column_sums(dw->bias}}"]},
};

// dWk = memoryᵀ · dk
function linearLearns(name) {
  const d = `d${kindOf(name)}`, letter = LETTER_OF[kindOf(name)];
  const from = called(flow.stages.get(name).from, name), x = from.includes(" ") ? `(${from})` : from;
  return (isTied(name) ? `dE += ${d}ᵀ · ${x}` : `dW${letter} = ${x}ᵀ · ${d}`) +
    `, db${letter} = Σ ${d}, over the rows`;
}

// What is shown of the parameters, below the gradient of the step itself.
async function learned(name) {
  const tensors = parametersOf(name), {formula, lines} = LEARNS[kindOf(name)] || LEARNS.linear;
  if (!tensors.length) return [];
  return [{element: make("div", {className: "learned"},
    make("h3", {}, "The gradient reaches the parameters"),
    make("p", {className: "formula"}, formula(name)),
    make("p", {}, ...lines.map(line => make("code", {}, line))))},
  ...(await Promise.all(tensors.map(tensorMatrices))).flat()];
}

// What the rows of an embedding stand for.
const wordsOfRows = name => ({source_embedding: flow.facts.source_words,
  target_embedding: flow.facts.target_words})[pathOf(name)];

const shortName = name => name.split(".").slice(-2).join(".");

// Gradient and value of a tensor, whole.
async function tensorMatrices(name) {
  const {value, gradient} = await matrixOf(name), words = wordsOfRows(name);
  const seen = !isKeyBias(name) ? gradient : gradient.map(row => row.map(x => isRounding(x) ? 0 : x));
  const note = `(${value.length},${value[0].length})`;
  return [["gradient", seen, "gradient", note], ["value", value, "weight", ""]]
    .map(([what, matrix, tone, more]) => shown({name, what, matrix, tone, note: more,
      label: (what === "gradient" ? "d" : "") + shortName(name),
      rows: upTo(value.length), columns: upTo(value[0].length),
      rowNames: i => words ? words[i] : value.length > 1 ? String(i) : kindOf(name),
      columnNames: name.startsWith("output.") ? flow.facts.target_words : null}));
}

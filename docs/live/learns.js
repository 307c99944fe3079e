// The parameters of a step of One sentence, and their gradients.

const MOST_OF_A_TENSOR = {rows: 8, columns: 6};    // that are shown

const isTensor = name => flow.facts.tensors.some(([tensor]) => tensor === name);
const tiedTable = () => ["target_embedding.weight", "embedding.weight"].find(isTensor);
const isTied = name => name === "output.logits" && flow.info.tie === "yes";

// The tensors that a stage is computed with.
function parametersOf(name) {
  const path = pathOf(name), kind = kindOf(name);
  const norm = path.includes(".") ? `${path}_norm` : `${path}.norm`;
  const all = isTied(name) ? [tiedTable(), "output.bias"]
    : kind === "norm" ? [`${norm}.gain`, `${norm}.bias`]
      : kind === "embedding" ? [`${path}_embedding.weight`, "embedding.weight"]
        : kind === "positions" ? [`${path}_positions.weight`, "positions.weight"]
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

// What is shown of them, below the gradient of the step itself.
function learned(name) {
  const tensors = parametersOf(name), {formula, lines} = LEARNS[kindOf(name)] || LEARNS.linear;
  if (!tensors.length) return [];
  return [make("div", {className: "learned"},
    make("h4", {}, "The gradient reaches the parameters"),
    make("p", {className: "formula"}, formula(name)),
    make("p", {}, ...lines.map(line => make("code", {}, line)))),
  ...tensors.flatMap(tensorTables)];
}

// The rows and columns with the largest gradients, in their order; none that is all 0,
// unless all are.
function largest(gradient) {
  const size = list => Math.max(...list.map(Math.abs));
  const first = (sizes, most) => upTo(sizes.length)
    .sort((a, b) => sizes[b] - sizes[a]).slice(0, most)
    .filter((n, place) => sizes[n] > 0 || place === 0).sort((a, b) => a - b);
  const rows = first(gradient.map(size), MOST_OF_A_TENSOR.rows);
  const sizes = upTo(gradient[0].length).map(j => size(rows.map(i => gradient[i][j])));
  return {rows, columns: first(sizes, MOST_OF_A_TENSOR.columns)};
}

// What the rows of an embedding stand for.
const wordsOfRows = name => ({source_embedding: flow.facts.source_words,
  target_embedding: flow.facts.target_words, embedding: flow.facts.target_words})[pathOf(name)];

const shortName = name => name.split(".").slice(-2).join(".");

// Value and gradient of a tensor, side by side.
function tensorTables(name) {
  const {value, gradient} = flow.cache.get(name), {rows, columns} = largest(gradient);
  const words = wordsOfRows(name), all = [value.length, value[0].length];
  const isZero = isKeyBias(name) && gradient[0].every(isRounding);
  const part = isZero || rows.length === all[0] && columns.length === all[1] ? ""
    : "; where the gradient is largest";
  const zero = isZero ? ": it moves all scores of a row alike, and the softmax ignores that" : "";
  const shown = isZero ? gradient.map(row => row.map(() => 0)) : gradient;
  return [["", value, "weight"], ["d", shown, "gradient"]].map(([d, matrix, tone]) =>
    numberTable(name, matrix, {label: d + shortName(name), note: `(${all})${part}${d && zero}`, tone,
      rows, columns,
      rowNames: i => words ? words[i] : all[0] > 1 ? String(i) : kindOf(name),
      columnNames: name.startsWith("output.") ? flow.facts.target_words : null}));
}

// The terms whose sum is what this stage sends to one of its parameters, and their names.
async function learnedTerms(user, {name, i, j}) {
  const kind = kindOf(user), d = (await matrixOf(user)).gradient, sent = `d${called(user)}`;
  const {from} = flow.stages.get(user), x = from ? (await numbersOf(from)) : null;
  if (kind === "embedding") {
    const tokens = tokensOf(user).rows, word = wordsOfRows(name)[i];
    const used = upTo(d.length).filter(t => tokens[t] === word), D = sizeIn("d-model");
    return {names: used.map(t => `√${D} · ${sent}${indices(user, t, j)}`).join(" + "),
      terms: used.map(t => [Math.sqrt(D), d[t][j]])};
  }
  if (kind === "positions")
    return i < d.length ? {names: sent + indices(user, i, j), terms: [[d[i][j], 1]]} : {terms: []};
  if (kindOf(name) === "bias") return {names: `Σ ${sent}[:, ${columnName(name, j)}]`,
    terms: d.map(row => [row[j], 1])};
  const y = called(from, user);
  if (kindOf(name) === "gain") return {names: `Σ ${y}[:, ${j}] · ${sent}[:, ${j}]`,
    terms: d.map((row, t) => [x[t][j], row[j]])};
  const [into, out] = isTied(user) ? [j, i] : [i, j];
  return {names: `Σ ${y}[:, ${into}] · ${sent}[:, ${columnName(user, out)}]`,
  terms: d.map((row, t) => [x[t][into], row[out]])};
}

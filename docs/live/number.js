// One number: what it is made of, its gradient, and a parameter's step.

// A number that something is computed from: of the mask, of a stage that has a
// gradient, or a parameter.
const isParameter = name => ["weight", "bias", "gain"].includes(kindOf(name));
const isChangeable = name => /^[a-z_0-9.]{1,60}$/.test(name) && (kindOf(name) === "mask"
  || isParameter(name) || Boolean(keyIn(STAGES, kindOf(name)) && STAGES[kindOf(name)].back));

const keyOf = ({name, i, j}) => `${name},${i},${j}`;

// ---------------------------------------------------------------- digits

// A number with this many significant digits, or fewer where they are all of it.
function inDigits(x, digits) {
  if (x === null || !Number.isFinite(x)) return "not finite";
  const text = x.toPrecision(digits), size = Math.abs(x);
  const shown = Number(text) === x && String(x).length < text.length ? String(x)
    : size < 1e-4 || size >= 1e6 ? x.toExponential(digits - 1) : text;
  return shown.replaceAll("-", "−");
}

const four = x => inDigits(x, 4);
const exact = x => inDigits(x, 5);

// An expression and its result, which has four digits; the numbers in the expression
// have as many as it takes to compute the result from them. Both functions are given a
// function that rounds a number: that of `compute` returns a number, that of `write` text.
function worked(result, compute, write) {
  const exactly = digits => four(compute(x => Number(inDigits(x, digits).replaceAll("−", "-"))));
  const most = 12, digits = upTo(most).find(n => n > 3 && exactly(n) === four(result));
  const text = write(x => inDigits(x, digits || most)).replaceAll("+ −", "− ");
  if (text === four(result)) return text;
  return `${text} = ${four(result)}` + (digits ? "" : " (computed with more digits than are shown)");
}

const inBrackets = text => text.startsWith("−") ? `(${text})` : text;

const MOST_TERMS = 8;    // that are written out

// x·w + x·w + … + more. Of many products the largest are written, and the others' sum.
function written(terms, result, more = []) {
  const isLong = terms.length > MOST_TERMS;
  const size = ([a, b]) => Math.abs(a * b);
  const sorted = isLong ? [...terms].sort((s, t) => size(t) - size(s)) : terms;
  const shown = sorted.slice(0, MOST_TERMS), rest = sorted.slice(MOST_TERMS);
  const isProduct = terms.some(([, b]) => b !== 1);
  const product = ([a, b], write) => b === 1 ? write(a) : `${write(a)}·${inBrackets(write(b))}`;
  const other = isLong ? total(rest) : 0;
  return worked(result,
    round => total(shown.map(term => term.map(round))) + round(other) +
      more.reduce((sum, x) => sum + round(x), 0),
    write => [...shown.map(term => product(term, write)),
      ...isLong ? [`${write(other)} (the other ${rest.length} ${isProduct ? "products" : "terms"})`]
        : [],
      ...more.map(write)].join(" + "));
}

// What the softmax makes of a number in a row.
function shareOf(x, row) {
  const powers = list => list.reduce((sum, x) => sum + Math.exp(x), 0);
  const isLong = row.length > MOST_TERMS, sorted = isLong ? [...row].sort((a, b) => b - a) : row;
  const shown = sorted.slice(0, MOST_TERMS), rest = sorted.slice(MOST_TERMS);
  return {compute: round => Math.exp(round(x)) / (powers(shown.map(round)) + round(powers(rest))),
    write: write => `e^${write(x)} / (${[...shown.map(x => "e^" + write(x)),
      ...isLong ? [`${write(powers(rest))} (the other ${rest.length})`] : []].join(" + ")})`};
}

// ---------------------------------------------------------------- names

const isMemory = name => flow.stages.get("decoder.0.cross_attention.k")?.from === name;

// What a stage is called in the expression of another one, the user.
function called(name, user = name) {
  if (isTensor(name)) return name;
  const kind = MATRIX_NAMES[kindOf(name)] || kindOf(name), [side] = name.split(".");
  if (name !== user && kindOf(name) === kindOf(user)) return `previous ${kind}`;
  if (pathOf(name) === pathOf(user)) return kind;
  if (isMemory(name) && !user.startsWith("encoder")) return "memory";
  return `${["source", "encoder"].includes(side) ? "encoder" : "decoder"} ${kind}`;
}

// A token's word; where several are the same, with its number among them.
function wordAt(tokens, i) {
  const same = upTo(tokens.length).filter(n => tokens[n] === tokens[i]);
  return same.length > 1 ? `${tokens[i]} (${same.indexOf(i) + 1})` : tokens[i];
}

const rowWord = (name, i) => {
  const {rows} = tokensOf(name);
  return wordAt(rows, i % rows.length);
};
const columnWord = (name, j) => wordAt(tokensOf(name).columns, j);

// In the output layer, each column belongs to a word.
const columnName = (name, j) => name.startsWith("output.") ? flow.facts.target_words[j] : j;

// [red][0], [la][red]
function indices(name, i, j) {
  if (isTensor(name)) {
    const words = wordsOfRows(name), column = `[${columnName(name, j)}]`;
    return ["bias", "gain"].includes(kindOf(name)) ? column : `[${words ? words[i] : i}]${column}`;
  }
  const row = `[${rowWord(name, i)}]`, kind = kindOf(name);
  if (perHead(name) || kind === "mask") return `${row}[${columnWord(name, j)}]`;
  return ["mean", "rstd", "loss"].includes(kind) ? row : `${row}[${columnName(name, j)}]`;
}

// The tensor behind a linear stage, and its letter in the formulas.
const WEIGHTS_OF = {q: "query", k: "key", v: "value", joined: "output", inner: "inner",
  outer: "outer"};
const LETTER_OF = {q: "q", k: "k", v: "v", joined: "o", inner: "1", outer: "2", logits: ""};
const tensorOf = name => name === "output.logits" ? "output"
  : `${pathOf(name)}.${WEIGHTS_OF[kindOf(name)]}`;
const matrixLetter = name => isTied(name) ? "E" : `W${LETTER_OF[kindOf(name)]}`;

// The finite difference of the loss, computed now.
async function checkNumber() {
  const {name, i, j} = flow.pinned, {value, gradient} = await matrixOf(name), says = $("flow-slope-says");
  const found = await flow.engine.call("flow_slope", name, i, j, value[i][j]);
  if (found.slope === null || !gradient) {
    says.textContent = "The loss is not finite there, so it has no slope.";
    return;
  }
  const own = gradient[i][j], size = Math.max(Math.abs(own), Math.abs(found.slope));
  const typed = [...flow.edits.keys()].some(key => keyIn(STAGES, kindOf(key.split(",")[0])));
  const agree = Math.abs(own - found.slope) <= found.bend * size + found.rounding;
  says.textContent = `With this number ${found.h} larger and smaller, the loss is ` +
    `${found.more.toPrecision(10)} and ${found.less.toPrecision(10)}, which differ by ` +
    `${exact(found.more - found.less)}: a slope of ` +
    `${exact(found.slope)}. The gradient is ${exact(own)}: ` +
    (agree && size < found.rounding ? "both are too small to compare." : agree ? "they agree."
      : typed ? "they differ. If a number that you have typed stands in between, it no longer " +
        "depends on this one, but the backward pass does not know that."
        : "they differ. Is there a kink between the two?");
}

// ---------------------------------------------------------------- a parameter's step

// Adam's first step for the pinned parameter, as if it were the only one.
async function takeStep() {
  const {name, i, j} = flow.pinned, found = await flow.engine.call("flow_adam", name, i, j);
  const {value, gradient} = await matrixOf(name), before = value[i][j];
  $("flow-slope-says").textContent = found.loss === null
    ? "The numbers are not finite: there is no step." : `Gradient ${four(gradient[i][j])}; ` +
    `m = (1 − β₁) · gradient = 0.1 · gradient = ${four(found.m)}, ` +
    `v = (1 − β₂) · gradient² = 0.02 · gradient² = ${four(found.v)}; at the peak rate ` +
    `${four(found.rate)} the parameter goes from ${exact(before)} to ${exact(found.after)}. ` +
    `Then the loss is ${found.loss.toPrecision(8)} instead of ` +
    `${flow.computed.loss.toPrecision(8)}. ` +
    (gradient[i][j] === 0 ? "Without a gradient there is no step."
      : "Adam's first step is as long as the rate, unless the gradient is so small that ε outweighs it.");
  return {...found, before};
}

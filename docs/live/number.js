// One number of One sentence: what it is made of, its gradient, and a parameter's
// step.

// A number that something is computed from: of the mask, of a stage that has a
// gradient, or a parameter.
const isParameter = name => ["weight", "bias", "gain"].includes(kindOf(name));
const isChangeable = name => /^[a-z_0-9.]{1,60}$/.test(name) && (kindOf(name) === "mask"
  || isParameter(name) || Boolean(keyIn(STAGES, kindOf(name)) && STAGES[kindOf(name)].back));

async function chooseNumber(place) {
  flow.chosen = place;
  for (const cell of $("flow-matrices").querySelectorAll(".pointed")) cell.classList.remove("pointed");
  for (const cell of $("flow-matrices").querySelectorAll("td"))
    if (cell.place && cell.place.name === place.name && cell.place.i === place.i
      && cell.place.j === place.j) cell.classList.add("pointed");
  await showNumber();
}

// Where the chosen number comes from, its gradient, and a field to change it.
async function showNumber() {
  const place = flow.chosen;
  $("flow-number").hidden = !place;
  $("flow-whence").classList.toggle("chosen", Boolean(place));
  $("flow-slope-says").textContent = "";
  $("flow-origin").textContent = place ? "" : matchMedia("(pointer: coarse)").matches
    ? "Touch a number to see what it is made of, to change it, or to check its gradient."
    : "Click a number, or move to it by Tab and the " +
    "arrow keys, to see what it is made of, to change it, or to check its gradient.";
  if (!place) return;
  const {value, gradient} = await matrixOf(place.name), {name, i, j} = place;
  const text = await originOfNumber(place);
  const pulled = gradient ? await gradientText(place, gradient[i][j]) : "";
  if (place !== flow.chosen) return;
  const row = perHead(name) ? i - firstRow(name) : i;
  const label = isTensor(name) ? name : MATRIX_NAMES[kindOf(name)] || kindOf(name);
  $("flow-origin").textContent = `${label}[${row}][${j}] = ${text}`;
  $("flow-gradient").textContent = pulled;
  $("flow-check").hidden = !gradient;
  $("flow-change-label").hidden = !isChangeable(name);
  if (document.activeElement !== $("flow-change")) $("flow-change").value = value[i][j];
}

const inBrackets = x => x < 0 ? `(${short(x)})` : short(x);

// x·w + x·w + …: the largest terms are written out.
function written(terms, MOST = 7) {
  const sorted = terms.map(([a, b]) => ({text: `${short(a)}·${inBrackets(b)}`,
    size: Math.abs(a * b)})).sort((a, b) => b.size - a.size);
  const rest = sorted.length - MOST;
  return sum(sorted.slice(0, MOST).map(({text}) => text)).replaceAll(" + −", " − ") +
    (rest > 0 ? ` + … (${rest} smaller terms)` : "");
}

// The tensor behind a linear stage.
const WEIGHTS_OF = {q: "query", k: "key", v: "value", joined: "output", inner: "inner",
  outer: "outer"};
const tensorOf = name => name === "output.logits" ? "output"
  : `${pathOf(name)}.${WEIGHTS_OF[kindOf(name)]}`;

async function linearOrigin({name, i, j}) {
  const {from} = flow.stages.get(name), x = (await matrixOf(from)).value[i];
  const tied = isTied(name);
  const w = (await matrixOf(tied ? tiedTable() : tensorOf(name) + ".weight")).value;
  const b = (await matrixOf(tensorOf(name) + ".bias")).value[0][j];
  return `${kindOf(from)}[${i}] · W[:, ${j}] + b[${j}] = ` +
    `${written(x.map((number, p) => [number, tied ? w[j][p] : w[p][j]]))} + ${short(b)}`;
}

// Φ(inner), of which GELU makes inner · Φ(inner).
async function shareBelow(active, i, j) {
  const x = (await matrixOf(beside(active, "inner"))).value[i][j];
  return x ? (await matrixOf(active)).value[i][j] / x : 0.5;
}

const ORIGIN_OF = {
  token: async ({i, j, name}) => {
    const tokens = name.startsWith("source") ? flow.facts.source : flow.facts.input;
    return `number ${j} in the row of “${tokens[i]}”`;
  },
  embedding: async ({i, j, name}) => {
    const D = sizeIn("d-model"), x = (await matrixOf(beside(name, "token"))).value[i][j];
    return `√${D} · token embedding[${i}][${j}] = ${short(Math.sqrt(D))}·${inBrackets(x)}`;
  },
  encoding: async ({i, j}) => flow.info.positions === "learned" ? `learned, for position ${i}`
    : `${j % 2 ? "cos" : "sin"}(${i} / 10000^(${j - j % 2}/${sizeIn("d-model")}))`,
  positions: async ({name, i, j}) => {
    const e = (await matrixOf(beside(name, "embedding"))).value[i][j];
    const p = (await matrixOf(beside(name, "encoding"))).value[i][j];
    return `embedding[${i}][${j}] + positional encoding[${i}][${j}] = ` +
      `${short(e)} + ${short(p)}`;
  },
  scores: async ({name, i, j}) => {
    const q = (await matrixOf(beside(name, "q"))).value, k = (await matrixOf(beside(name, "k"))).value;
    const T = q.length, h = Math.floor(i / T), K = sizeIn("d-model") / sizeIn("heads");
    const part = row => row.slice(h * K, h * K + K);
    const b = part(k[j]);
    return `q[${i % T}] · k[${j}], head ${h} = ${written(part(q[i % T]).map((x, p) => [x, b[p]]))}`;
  },
  scaled: async ({name, i, j}) => {
    const x = (await matrixOf(beside(name, "scores"))).value[i][j];
    const K = sizeIn("d-model") / sizeIn("heads");
    return `scores[${i - firstRow(name)}][${j}] / √${K} = ${short(x)} / ${short(Math.sqrt(K))}`;
  },
  mask: async () => "1: this query may see this key; 0: it may not",
  weights: async ({name, i, j}) => {
    const row = (await matrixOf(beside(name, "scaled"))).value[i];
    const mask = (await matrixOf(beside(name, "mask"))).value;
    const seen = mask[i % mask.length];
    if (!seen[j]) return "0: the mask hides this key from this query";
    return `e^${short(row[j])} / (${sum(row.filter((_, n) => seen[n]).map(x => "e^" + short(x)))})`;
  },
  out: async ({name, i, j}) => {
    const w = (await matrixOf(beside(name, "weights"))).value;
    const v = (await matrixOf(beside(name, "v"))).value;
    const T = flow.stages.get(name).rows, K = sizeIn("d-model") / sizeIn("heads");
    const h = Math.floor(j / K);
    return `weights[${i}] of head ${h} · v[:, ${j}] = ` +
      written(w[h * T + i].map((x, n) => [x, v[n][j]]));
  },
  residual: async ({name, i, j}) => {
    const {from, other} = flow.stages.get(name);
    const a = (await matrixOf(other)).value[i][j], b = (await matrixOf(from)).value[i][j];
    return `what came in + ${kindOf(from)} = ${short(a)} + ${inBrackets(b)}`;
  },
  mean: async ({name}) => `the mean of a row of ${kindOf(flow.stages.get(name).from)}`,
  rstd: async ({name}) => `1 / the deviation of a row of ${kindOf(flow.stages.get(name).from)}`,
  n: async ({name, i, j}) => {
    const {from} = flow.stages.get(name);
    const [x, mean, rstd] = [(await matrixOf(from)).value[i][j],
      (await matrixOf(beside(name, "mean"))).value[i][0],
      (await matrixOf(beside(name, "rstd"))).value[i][0]];
    return `(x − mean) · rstd = (${short(x)} − ${inBrackets(mean)}) · ${short(rstd)}`;
  },
  norm: async ({name, i, j}) => {
    const path = pathOf(name), tensor = path.includes(".") ? `${path}_norm` : `${path}.norm`;
    const n = (await matrixOf(beside(name, "n"))).value[i][j];
    const gain = (await matrixOf(tensor + ".gain")).value[0][j];
    const bias = (await matrixOf(tensor + ".bias")).value[0][j];
    return `n · gain + bias = ${short(n)}·${inBrackets(gain)} + ${inBrackets(bias)}`;
  },
  active: async ({name, i, j}) => {
    const x = (await matrixOf(beside(name, "inner"))).value[i][j];
    if (flow.info.activation === "gelu")
      return `inner[${i}][${j}] · Φ(inner[${i}][${j}]), Φ(x) being the share of a normal ` +
        `distribution below x: ${short(x)}·${short(await shareBelow(name, i, j))}`;
    return `relu(inner[${i}][${j}]) = relu(${short(x)})`;
  },
  probabilities: async ({i, j}) => {
    const z = (await matrixOf("output.logits")).value[i];
    return `e^${short(z[j])} / Σ e^logits, the probability of “${flow.facts.target_words[j]}”`;
  },
  loss: async ({i}) => {
    const p = (await matrixOf("output.probabilities")).value[i];
    const n = flow.facts.target_words.indexOf(flow.facts.expected[i]);
    return `−ln p(“${flow.facts.expected[i]}”) = −ln ${exact(p[n])}`;
  },
};

async function originOfNumber(place) {
  const {value} = await matrixOf(place.name), x = value[place.i][place.j];
  if (flow.edits.has(`${place.name},${place.i},${place.j}`)) return `${short(x)}, which you have typed`;
  if (isTensor(place.name)) return `${short(x)}, a parameter: it has been found by training`;
  const text = await (ORIGIN_OF[kindOf(place.name)] || linearOrigin)(place);
  if (text.startsWith("0: ")) return text;
  return kindOf(place.name) === "mask" ? `${x}; ${text}` : `${text.replaceAll("+ −", "− ")} = ${short(x)}`;
}

// The finite difference of the loss, computed now.
async function checkNumber(place, into) {
  const {value, gradient} = await matrixOf(place.name), {name, i, j} = place;
  const found = await flow.engine.call("flow_slope", name, i, j, value[i][j]);
  if (found.slope === null || !gradient) {
    $(into).textContent = "The loss is not finite there, so it has no slope.";
    return {...found, agree: false};
  }
  const own = gradient[i][j], size = Math.max(Math.abs(own), Math.abs(found.slope));
  const typed = [...flow.edits.keys()].some(key => keyIn(STAGES, kindOf(key.split(",")[0])));
  const agree = Math.abs(own - found.slope) <= found.bend * size + found.rounding;
  $(into).textContent = `With this number ${found.h} larger and smaller, the loss is ` +
    `${found.more.toPrecision(10)} and ${found.less.toPrecision(10)}, which differ by ` +
    `${exact(found.more - found.less)}: a slope of ` +
    `${exact(found.slope)}. The gradient is ${exact(own)}: ` +
    (agree && size < found.rounding ? "both are too small to compare." : agree ? "they agree."
      : typed ? "they differ. If a number that you have typed stands in between, it no longer " +
        "depends on this one, but the way back does not know that."
        : "they differ. Is there a bend between the two?");
  return {...found, own, agree};
}

// ---------------------------------------------------------------- parameters

// Adam's step for one parameter; any of them can be chosen.
function showAdam() {
  const names = flow.facts.tensors.map(([name]) => name);
  $("flow-title").textContent = "Adam's step: one parameter learns";
  $("flow-says").textContent = "Every parameter has a gradient now. Adam takes a step against it. " +
    "Choose one of the parameters, check its gradient, and let only this one try its first step; " +
    "then it is put back.";
  $("flow-formula").textContent = "p −= rate · m̂ / (√v̂ + ε), at first m̂ = m/0.1 and v̂ = v/0.02";
  $("flow-lines").replaceChildren(make("code", {}, "{{line adam_step: p[i] -= step}}"));
  showLink("{{link adam_step}}");
  $("flow-users").textContent = "";
  for (const id of ["flow-head-label", "flow-signs", "flow-matrices", "flow-number"])
    $(id).hidden = true;
  $("flow-whence").hidden = true;
  $("flow-parameter").hidden = false;
  if ([...$("flow-tensor").options].map(({value}) => value).join() !== names.join()) {
    $("flow-tensor").replaceChildren(...names.map(name => make("option", {}, name)));
    $("flow-tensor").value = flow.model.tensor;
    inTurn(showLargest);
  } else inTurn(showParameter);
}

const parameterNow = () => ({name: $("flow-tensor").value, i: $("flow-row").valueAsNumber,
  j: $("flow-column").valueAsNumber});

// Of a tensor just chosen, the parameter with the largest gradient.
async function showLargest() {
  const {gradient} = await matrixOf($("flow-tensor").value);
  let most = [-1, 0, 0];
  gradient.forEach((row, i) => row.forEach((x, j) => {
    if (Math.abs(x) > most[0]) most = [Math.abs(x), i, j];
  }));
  [, $("flow-row").value, $("flow-column").value] = most;
  await showParameter();
}

// Value and gradient of the chosen parameter.
async function showParameter() {
  const {value, gradient} = await matrixOf($("flow-tensor").value);
  $("flow-row").max = value.length - 1;
  $("flow-column").max = value[0].length - 1;
  const {i, j} = parameterNow(), known = value[i]?.[j] !== undefined;
  $("flow-adam").textContent = "";
  $("flow-parameter-says").textContent = known
    ? `Its value is ${exact(value[i][j])}, its gradient ${exact(gradient[i][j])}.`
    : `This tensor has rows from 0 to ${value.length - 1} and columns from 0 to ` +
      `${value[0].length - 1}.`;
  for (const id of ["flow-parameter-check", "flow-take-step"]) switchOff($(id), !known);
  if (document.activeElement !== $("flow-parameter-value"))
    $("flow-parameter-value").value = known ? value[i][j] : "";
  return known;
}

async function takeStep() {
  const {name, i, j} = parameterNow(), found = await flow.engine.call("flow_adam", name, i, j);
  const {value, gradient} = await matrixOf(name);
  if (found.loss === null) {
    $("flow-adam").textContent = "The numbers are not finite: there is no step.";
    return;
  }
  $("flow-adam").textContent = `Gradient ${exact(gradient[i][j])}; m = 0.1 · gradient = ` +
    `${exact(found.m)}, v = 0.02 · gradient² = ${exact(found.v)}; at the peak rate ` +
    `${exact(found.rate)} the parameter goes from ${exact(value[i][j])} to ${exact(found.after)}. ` +
    `Then the loss is ${found.loss.toPrecision(8)} instead of ` +
    `${flow.computed.loss.toPrecision(8)}. ` +
    (gradient[i][j] === 0 ? "Without a gradient there is no step."
      : "Adam's first step is as long as the rate, unless the gradient is so small that ε outweighs it.");
}

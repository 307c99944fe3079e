// Where the gradient of a number comes from: what each stage that has used the
// number sends back. That is a list of terms [a, b] whose products are summed up; what
// these are, in names; and where it is no plain sum, how to work it out.

// The stages that a gradient comes back from.
const usersOfStage = name => [...flow.stages.values()].filter(({from, other, pulls}) =>
  pulls && (from === name || other === name)).map(stage => stage.name);

const meanOf = row => row.reduce((sum, x) => sum + x / row.length, 0);

// A residual connection that sends back to this stage; in a pre-norm model also to the
// one before it.
const gradientOfResidual = name => kindOf(name) === "residual" ? "d(next residual)" : "dresidual";

// Back through the softmax, to number j of a row of weights, w, whose gradients are d.
function softmaxPull(w, d, j, at, row) {
  const common = w.reduce((sum, x, p) => sum + x * d[p], 0);
  return {names: `weights${at} · (dweights${at} − Σ weights${row} · dweights${row})`,
    terms: [[w[j], d[j] - common]],
    compute: round => round(w[j]) * (round(d[j]) - round(common)),
    write: write => `${write(w[j])}·(${write(d[j])} − ${inBrackets(write(common))})`};
}

// By the kind of the stage that sends back: d is its gradient, place the number.
const PULLS = {
  residual: async ({d, user}, {name, i, j}) =>
    ({names: `${gradientOfResidual(name)}${indices(user, i, j)}`, terms: [[d[i][j], 1]]}),
  positions: async ({d, user}, {i, j}) =>
    ({names: `dinput${indices(user, i, j)}`, terms: [[d[i][j], 1]]}),
  scaled: async ({d, user}, {i, j}) => {
    const K = widthOfHead(), root = Math.sqrt(K);
    return {names: `dscaled${indices(user, i, j)} / √${K}`, terms: [[d[i][j], 1 / root]],
      compute: round => round(d[i][j]) / round(root),
      write: write => `${write(d[i][j])} / ${write(root)}`};
  },
  norm: async ({d, user}, {i, j}) => {
    const [gain] = parametersOf(user);
    return {names: `dnorm${indices(user, i, j)} · gain[${j}]`,
      terms: [[d[i][j], await numberOf(gain, 0, j)]]};
  },
  n: async ({d, user}, {i, j}) => {
    const row = (await numbersOf(user))[i], at = `[${rowWord(user, i)}]`;
    const rstd = await numberOf(beside(user, "rstd"), i, 0);
    const mean = meanOf(d[i]), along = meanOf(d[i].map((x, p) => x * row[p]));
    const dn = d[i][j], n = row[j];
    return {names: `(dn${at}[${j}] − mean(dn${at}) − n${at}[${j}] · mean(dn${at} · n${at}))` +
        ` · rstd${at}`,
      terms: [[rstd, dn - mean - n * along]],
      compute: round => (round(dn) - round(mean) - round(n) * round(along)) * round(rstd),
      write: write => `(${write(dn)} − ${inBrackets(write(mean))} − ${inBrackets(write(n))}·` +
        `${inBrackets(write(along))})·${write(rstd)}`};
  },
  weights: async ({d, user}, {i, j}) => {
    const w = (await numbersOf(user))[i];
    return softmaxPull(w, d[i], j, indices(user, i, j), `[${rowWord(user, i)}]`);
  },
  scores: async ({d, user}, {name, i, j}) => {
    const h = Math.floor(j / widthOfHead()), isQuery = kindOf(name) === "q";
    const other = await numbersOf(beside(user, isQuery ? "k" : "q"));
    const T = d.length / sizeIn("heads"), word = rowWord(name, i);
    return {names: (isQuery ? `dscores[${word}] · k[:, ${j}]` : `dscores[:, ${word}] · q[:, ${j}]`) +
        `, head ${h}`,
      terms: other.map((row, p) => [isQuery ? d[h * T + i][p] : d[h * T + p][i], row[j]])};
  },
  out: async ({d, user}, {name, i, j}) => {
    const T = d.length, isValue = kindOf(name) === "v";
    const h = isValue ? Math.floor(j / widthOfHead()) : Math.floor(i / T);
    if (isValue) {
      const w = await numbersOf(beside(user, "weights"));
      return {names: `weights[:, ${rowWord(name, i)}] · dout[:, ${j}], head ${h}`,
        terms: d.map((row, t) => [w[h * T + t][i], row[j]])};
    }
    const v = headOf((await numbersOf(beside(user, "v")))[j], h);
    return {names: `dout[${rowWord(name, i)}] · v[${columnWord(name, j)}], head ${h}`,
      terms: headOf(d[i % T], h).map((x, p) => [x, v[p]])};
  },
  active: async ({d, user}, {name, i, j}) => {
    const x = await numberOf(name, i, j), at = indices(user, i, j);
    if (flow.info.activation !== "gelu")
      return {names: `dactive${at}${x > 0 ? "" : " · 0"}`, terms: [[d[i][j], x > 0 ? 1 : 0]]};
    const density = Math.exp(-x * x / 2) / Math.sqrt(2 * Math.PI);
    return {names: `dactive${at} · gelu'(inner${at})`,
      terms: [[d[i][j], await shareBelow(user, i, j) + x * density]]};
  },
};

// Back through a matrix: its row j.
async function linearPull({d, user}, {i, j}) {
  const tied = isTied(user), [weight] = parametersOf(user), w = await numbersOf(weight);
  return {names: `d${kindOf(user)}[${rowWord(user, i)}] · ${matrixLetter(user)}` +
      (tied ? `[:, ${j}]` : `[${j}, :]`),
    terms: d[i].map((x, p) => [x, tied ? w[p][j] : w[j][p]])};
}

// [{user, names, terms}, …] of a number.
async function pullsOn(place) {
  if (isTensor(place.name)) {
    const users = [...flow.stages.keys()].filter(user => parametersOf(user).includes(place.name));
    return Promise.all(users.map(async user => ({user, ...await learnedTerms(user, place)})));
  }
  return Promise.all(usersOfStage(place.name).map(async user => {
    const d = (await matrixOf(user)).gradient;
    const pull = PULLS[kindOf(user)] || linearPull;
    return {user, ...await pull({d, user}, place)};
  }));
}

const total = terms => terms.reduce((sum, [a, b]) => sum + a * b, 0);

// At the top the way back begins: (p − right) / T.
async function lossPull({name, i, j}, own) {
  const {value} = await matrixOf("output.probabilities"), p = value[i][j], T = value.length;
  const right = Number(flow.facts.target_words[j] === flow.facts.expected[i]);
  return `(probabilities${indices(name, i, j)} − right) / T = ` +
    worked(own, round => (round(p) - right) / T, write => `(${write(p)} − ${right}) / ${T}`);
}

// One sum, or what each of several stages sends back.
async function pulledText(place, own) {
  if (place.name === "output.logits") return lossPull(place, own);
  const pulls = (await pullsOn(place)).filter(({terms}) => terms.length);
  if (!pulls.length) return "0, since no token has used it";
  const [{names, terms, compute, write}] = pulls;
  if (pulls.length === 1)
    return `${names} = ${compute ? worked(own, compute, write) : written(terms, own)}`;
  const layer = user => isMemory(place.name) ? ` (layer ${user.split(".")[1]})` : "";
  return `${pulls.map(pull => pull.names + layer(pull.user)).join(" + ")} = ` +
    written(pulls.map(pull => [total(pull.terms), 1]), own);
}

// A bias of the keys adds the same to all scores of a row.
const isKeyBias = name => name.endsWith(".key.bias");
const isRounding = x => Math.abs(x) < 1e-12;

async function gradientText(place, gradient) {
  const {name, i, j} = place;
  if (isKeyBias(name) && isRounding(gradient))
    return "Its gradient is 0: a key's bias moves all scores of a row alike, and the softmax " +
      `ignores that. The program's ${four(gradient)} is what rounding has left.`;
  return `Its gradient: d${isTensor(name) ? shortName(name) : called(name)}${indices(name, i, j)} = ` +
    await pulledText(place, gradient);
}

// Where the gradient of a number comes from: what each stage that has used the
// number sends back, as a list of terms [a, b] whose products are summed up.

const widthOfHead = () => sizeIn("d-model") / sizeIn("heads");
const columnOf = (matrix, j) => matrix.map(row => row[j]);
const headOf = (row, h) => row.slice(h * widthOfHead(), (h + 1) * widthOfHead());

// By the kind of the stage that sends back: d is its gradient, place the number.
const PULLS = {
  residual: async ({d}, {i, j}) => [[d[i][j], 1]],
  positions: async ({d}, {i, j}) => [[d[i][j], 1]],
  scaled: async ({d}, {i, j}) => [[d[i][j], 1 / Math.sqrt(widthOfHead())]],
  norm: async ({d, user}, {i, j}) => {
    const path = pathOf(user), tensor = path.includes(".") ? `${path}_norm` : `${path}.norm`;
    return [[d[i][j], (await matrixOf(tensor + ".gain")).value[0][j]]];
  },
  n: async ({d, user}, {i, j}) => {
    const n = (await matrixOf(user)).value[i], D = n.length;
    const rstd = (await matrixOf(beside(user, "rstd"))).value[i][0];
    const mean = d[i].reduce((sum, x) => sum + x / D, 0);
    const along = d[i].reduce((sum, x, p) => sum + x * n[p] / D, 0);
    return [[rstd, d[i][j] - mean - n[j] * along]];
  },
  weights: async ({d, user}, {i, j}) => {
    const w = (await matrixOf(user)).value[i];
    return [[w[j], d[i][j] - w.reduce((sum, x, p) => sum + x * d[i][p], 0)]];
  },
  scores: async ({d, user}, {name, i, j}) => {
    const h = Math.floor(j / widthOfHead()), isQuery = kindOf(name) === "q";
    const other = (await matrixOf(beside(user, isQuery ? "k" : "q"))).value;
    const T = d.length / sizeIn("heads");
    return other.map((row, p) => [isQuery ? d[h * T + i][p] : d[h * T + p][i], row[j]]);
  },
  out: async ({d, user}, {name, i, j}) => {
    const T = d.length, isValue = kindOf(name) === "v";
    const h = isValue ? Math.floor(j / widthOfHead()) : Math.floor(i / T);
    if (isValue) {
      const w = (await matrixOf(beside(user, "weights"))).value;
      return d.map((row, t) => [w[h * T + t][i], row[j]]);
    }
    const v = headOf((await matrixOf(beside(user, "v"))).value[j], h);
    return headOf(d[i % T], h).map((x, p) => [x, v[p]]);
  },
  active: async ({d, user}, {name, i, j}) => {
    const x = (await matrixOf(name)).value[i][j];
    if (flow.info.activation !== "gelu") return [[d[i][j], x > 0 ? 1 : 0]];
    const density = Math.exp(-x * x / 2) / Math.sqrt(2 * Math.PI);
    return [[d[i][j], await shareBelow(user, i, j) + x * density]];
  },
};

// Back through a matrix: its row j.
async function linearPull({d, user}, {i, j}) {
  const tied = isTied(user);
  const w = (await matrixOf(tied ? tiedTable() : tensorOf(user) + ".weight")).value;
  return d[i].map((x, p) => [x, tied ? w[p][j] : w[j][p]]);
}

// [{user, terms}, …] of a number.
async function pullsOn(place) {
  if (isTensor(place.name)) {
    const users = [...flow.stages.keys()].filter(user => parametersOf(user).includes(place.name));
    return Promise.all(users.map(async user => ({user, terms: await learnedTerms(user, place)})));
  }
  const users = [...flow.stages.values()].filter(({from, other, pulls}) =>
    pulls && (from === place.name || other === place.name));
  return Promise.all(users.map(async ({name: user}) => {
    const d = (await matrixOf(user)).gradient;
    const pull = PULLS[kindOf(user)] || linearPull;
    return {user, terms: await pull({d, user}, place)};
  }));
}

const total = terms => terms.reduce((sum, [a, b]) => sum + a * b, 0);

// At the top the way back begins: (p − right) / T.
async function lossPull({i, j}, own) {
  const {value} = await matrixOf("output.probabilities");
  const right = Number(flow.facts.target_words[j] === flow.facts.expected[i]);
  return `Its gradient: (${exact(value[i][j])} − ${right}) / ${value.length} = ${own}`;
}

// One sum, or what each of several stages sends back.
async function gradientText(place, gradient) {
  const pulls = await pullsOn(place), own = exact(gradient);
  if (place.name === "output.logits") return lossPull(place, own);
  const [{user, terms}] = pulls;
  if (pulls.length === 1 && !terms.length) return "Its gradient: 0, since no token has used it";
  if (pulls.length === 1)
    return `Its gradient, from ${kindOf(user)}: ${written(terms)} = ${own}`;
  return `Its gradient, a sum: ${pulls.map(pull => `${exact(total(pull.terms))} from ` +
    `${kindOf(pull.user)} of ${placeName(pathOf(pull.user))}`).join("; ")}. Together ${own}.`;
}

// What a number is made of: an expression of parts, which are numbers that stand elsewhere.
// The same parts light up for it and are written out.

const widthOfHead = () => sizeIn("d-model") / sizeIn("heads");

// The columns of a head, as a part of a row; its rows, as a part of a column.
const band = h => ({j: h * widthOfHead(), to: (h + 1) * widthOfHead()});
const rowsOfHead = (name, h) => ({i: h * rowsIn(name, "q"), below: (h + 1) * rowsIn(name, "q")});

const rowsIn = (name, kind) => flow.stages.get(beside(name, kind)).rows;
const fromOf = name => flow.stages.get(name).from;

// The numbers of a part: {name, what, i, j} is one of them. Without j it is a row, without i
// a column; columns j up to `to`, rows i up to `below`. A constant is a part, too.
async function numbersIn({name, what = "value", i, below, j, to, constant}) {
  if (constant) return [constant];
  const cut = (list, from, end = from + 1) => from === undefined ? list : list.slice(from, end);
  return cut((await matrixOf(name))[what], i, below).flatMap(row => cut(row, j, to));
}

// What a part is called in the expression of a stage: dscores[red], v[:, 3], Wq[:, 3].
function labelOf({name, what, i, below, j, to, label}, user) {
  if (label) return label;
  const isRow = i !== undefined && !below, isColumn = j !== undefined && !to;
  if (isTensor(name) && kindOf(name) !== "weight")
    return (kindOf(user) === "norm" ? kindOf(name) : `b${LETTER_OF[kindOf(user)]}`) +
      `[${columnName(user, j)}]`;
  if (isTensor(name)) return matrixLetter(user) + (isTied(user)
    ? isRow ? `[${columnName(user, i)}]` : `[:, ${j}]`
    : isRow ? `[${i}, :]` : `[:, ${columnName(user, j)}]`);
  const index = isRow && isColumn ? indices(name, i, j) : isRow ? `[${rowWord(name, i)}]`
    : `[:, ${perHead(name) ? columnWord(name, j) : columnName(name, j)}]`;
  return (what === "gradient" ? "d" : "") + called(name, user) + index;
}

// An expression has `parts`, its text in `names`, and `how`, which works it out from the numbers
// of the parts. This gives a list of terms [a, b] whose products are added up; or functions
// that compute it and write it; or else a text.
//
// Adds up products of two parts (or single parts), and the parts in `more`.
function sum(user, products, {more = [], head} = {}) {
  const all = [...products, ...more.map(part => [part])];
  return {parts: all.flat(), names: all.map(pair => pair.map(part => labelOf(part, user)).join(" · "))
    .join(" + ") + (head === undefined ? "" : `, head ${head}`),
  how: numbers => {
    let n = 0;
    const terms = products.flatMap(pair => {
      const [a, b] = pair.map(() => numbers[n++]);
      return a.map((x, p) => [x, b ? b[p] : 1]);
    });
    return {terms, more: numbers.slice(n).flat()};
  }};
}

const rootOf = size => ({constant: Math.sqrt(sizeIn(size)), label: `√${sizeIn(size)}`});

// A part, divided by the root of the width of a head.
function overRoot(user, part) {
  const K = widthOfHead(), root = Math.sqrt(K);
  return {parts: [part], names: `${labelOf(part, user)} / √${K}`, how: ([[x]]) => ({
    terms: [[x, 1 / root]], compute: round => round(x) / round(root),
    write: write => `${write(x)} / ${write(root)}`})};
}

// An expression that only says what is done with its parts.
const said = (names, ...parts) => ({parts, names, how: () => ({})});

// For each kind of stage, what a number of it is made of.
const MADE = {
  token: ({name, i, j}) => said(`column ${j} of the row of “${rowWord(name, i)}”`),
  embedding: ({name, i, j}) => sum(name, [[rootOf("d-model"), {name: beside(name, "token"), i, j}]]),
  encoding: ({i, j}) => said(flow.info.positions === "learned" ? `learned, for position ${i}`
    : `${j % 2 ? "cos" : "sin"}(${i} / 10000^(${j - j % 2}/${sizeIn("d-model")}))`),
  positions: ({name, i, j}) =>
    sum(name, ["embedding", "encoding"].map(kind => [{name: beside(name, kind), i, j}])),
  scores: ({name, i, j}) => {
    const T = rowsIn(name, "q"), head = Math.floor(i / T);
    return sum(name, [[{name: beside(name, "q"), i: i % T, ...band(head)},
      {name: beside(name, "k"), i: j, ...band(head)}]], {head});
  },
  scaled: ({name, i, j}) => overRoot(name, {name: beside(name, "scores"), i, j}),
  mask: () => ({parts: [], how: (_, own) => `${own}; 1: this query may see this key; 0: it may not`}),
  weights: ({name, i, j}) => ({parts: [{name: beside(name, "scaled"), i},
    {name: beside(name, "mask"), i: i % rowsIn(name, "q")}],
  names: "e^scaled / (Σ e^scaled, over the row)",
  how: ([row, seen]) => seen[j] ? shareOf(row[j], row.filter((_, n) => seen[n]))
    : "0: the mask hides this key from this query"}),
  out: ({name, i, j}) => {
    const head = Math.floor(j / widthOfHead());
    return sum(name, [[{name: beside(name, "weights"), i: head * rowsIn(name, "q") + i},
      {name: beside(name, "v"), j}]], {head});
  },
  residual: ({name, i, j}) =>
    sum(name, [flow.stages.get(name).other, fromOf(name)].map(part => [{name: part, i, j}])),
  mean: ({name, i}) => said(`the mean of ${labelOf({name: fromOf(name), i}, name)}`,
    {name: fromOf(name), i}),
  rstd: ({name, i}) => said(`1 / the standard deviation of ${labelOf({name: fromOf(name), i}, name)}`,
    {name: fromOf(name), i}),
  n: ({name, i, j}) => ({parts: [{name: fromOf(name), i},
    ...["mean", "rstd"].map(kind => ({name: beside(name, kind), i}))],
  names: `(${labelOf({name: fromOf(name), i, j}, name)} − mean) · rstd`,
  how: ([row, [mean], [rstd]]) => ({compute: round => (round(row[j]) - round(mean)) * round(rstd),
    write: write => `(${write(row[j])} − ${inBrackets(write(mean))})·${write(rstd)}`})}),
  norm: ({name, i, j}) => {
    const [gain, bias] = parametersOf(name);
    return sum(name, [[{name: beside(name, "n"), i, j}, {name: gain, j}]], {more: [{name: bias, j}]});
  },
  active: ({name, i, j}) => {
    const inner = {name: beside(name, "inner"), i, j}, label = labelOf(inner, name);
    return flow.info.activation === "gelu"
      ? {parts: [inner], names: `${label} · Φ(${label}), where Φ(x) is the share of a normal distribution below x`,
        how: ([[x]], own) => ({terms: [[x, x ? own / x : 0.5]]})}
      : {parts: [inner], names: `max(0, ${label})`, how: ([[x]]) => ({
        compute: round => Math.max(0, round(x)), write: write => `max(0, ${write(x)})`})};
  },
  probabilities: ({i, j}) => ({parts: [{name: "output.logits", i}],
    names: "e^logit / (Σ e^logit, over all words)", how: ([z]) => {
      const all = z.reduce((so, x) => so + Math.exp(x), 0);
      return {compute: round => Math.exp(round(z[j])) / round(all),
        write: write => `e^${write(z[j])} / ${write(all)}`};
    }}),
  loss: ({i}) => {
    const word = flow.facts.expected[i], j = flow.facts.target_words.indexOf(word);
    return {parts: [{name: "output.probabilities", i, j}], names: `−ln p(“${word}”)`,
      how: ([[p]]) => ({compute: round => -Math.log(round(p)), write: write => `−ln ${write(p)}`})};
  },
};

function linearMade({name, i, j}) {
  const [weight, bias] = parametersOf(name);
  return sum(name, [[{name: fromOf(name), i}, {name: weight, ...isTied(name) ? {i: j} : {j}}]],
    {more: [{name: bias, j}]});
}

// ---------------------------------------------------------------- gradients

const gradientOf = part => ({...part, what: "gradient"});

// The stages that a gradient comes back from.
const usersOfStage = name => [...flow.stages.values()].filter(({from, other, pulls}) =>
  pulls && (from === name || other === name)).map(stage => stage.name);

const meanOf = row => row.reduce((sum, x) => sum + x / row.length, 0);

// What the gradient is called that a residual connection sends back to this stage; in a
// pre-norm model the stage may be another residual connection.
const gradientOfResidual = name => kindOf(name) === "residual" ? "d(next residual)" : "dresidual";

// For each kind of stage that has used a number, what it sends back.
const SENT = {
  residual: (user, {name, i, j}) =>
    sum(user, [[gradientOf({name: user, i, j, label: gradientOfResidual(name) + indices(user, i, j)})]]),
  positions: (user, {i, j}) => sum(user, [[gradientOf({name: user, i, j})]]),
  scaled: (user, {i, j}) => overRoot(user, gradientOf({name: user, i, j})),
  norm: (user, {i, j}) => sum(user, [[gradientOf({name: user, i, j}), {name: parametersOf(user)[0], j}]]),
  n: (user, {i, j}) => {
    const at = `[${rowWord(user, i)}]`;
    return {parts: [gradientOf({name: user, i}), {name: user, i}, {name: beside(user, "rstd"), i}],
      names: `(dn${at}[${j}] − mean(dn${at}) − n${at}[${j}] · mean(dn${at} · n${at})) · rstd${at}`,
      how: ([dn, n, [rstd]]) => {
        const mean = meanOf(dn), along = meanOf(dn.map((x, p) => x * n[p]));
        return {terms: [[rstd, dn[j] - mean - n[j] * along]],
          compute: round => (round(dn[j]) - round(mean) - round(n[j]) * round(along)) * round(rstd),
          write: write => `(${write(dn[j])} − ${inBrackets(write(mean))} − ` +
            `${inBrackets(write(n[j]))}·${inBrackets(write(along))})·${write(rstd)}`};
      }};
  },
  weights: (user, {i, j}) => {
    const at = indices(user, i, j), row = `[${rowWord(user, i)}]`;
    return {parts: [{name: user, i}, gradientOf({name: user, i})],
      names: `weights${at} · (dweights${at} − Σ weights${row} · dweights${row})`,
      how: ([w, d]) => {
        const common = w.reduce((so, x, p) => so + x * d[p], 0);
        return {terms: [[w[j], d[j] - common]],
          compute: round => round(w[j]) * (round(d[j]) - round(common)),
          write: write => `${write(w[j])}·(${write(d[j])} − ${inBrackets(write(common))})`};
      }};
  },
  scores: (user, {name, i, j}) => {
    const head = Math.floor(j / widthOfHead()), isQuery = kindOf(name) === "q";
    const d = isQuery ? {i: head * rowsIn(user, "q") + i} : {...rowsOfHead(user, head), j: i};
    return sum(user, [[gradientOf({name: user, ...d}), {name: beside(user, isQuery ? "k" : "q"), j}]], {head});
  },
  out: (user, {name, i, j}) => {
    const isValue = kindOf(name) === "v", T = rowsIn(user, "q");
    const head = Math.floor(isValue ? j / widthOfHead() : i / T);
    return sum(user, [isValue
      ? [{name: beside(user, "weights"), ...rowsOfHead(user, head), j: i}, gradientOf({name: user, j})]
      : [gradientOf({name: user, i: i % T, ...band(head)}), {name: beside(user, "v"), i: j, ...band(head)}]],
    {head});
  },
  active: (user, {name, i, j}) => {
    const parts = [gradientOf({name: user, i, j}), {name, i, j}, {name: user, i, j}];
    const [d, x] = parts.map(part => labelOf(part, user)), isGelu = flow.info.activation === "gelu";
    const bell = x => Math.exp(-x * x / 2) / Math.sqrt(2 * Math.PI);
    return {parts, names: `${d} · ` + (isGelu ? `gelu'(${x})` : `(1 if ${x} > 0, else 0)`),
      how: ([[d], [x], [y]]) => ({terms: [[d, !isGelu ? Number(x > 0)
        : (x ? y / x : 0.5) + x * bell(x)]]})};
  },
};

// Back through a linear layer, by row j of its matrix.
const linearSent = (user, {i, j}) => sum(user, [[gradientOf({name: user, i}),
  {name: parametersOf(user)[0], ...isTied(user) ? {j} : {i: j}}]]);

// The way back begins at the logits: (p − right) / T.
function lossSent({name, i, j}) {
  const T = flow.facts.expected.length;
  const right = Number(flow.facts.target_words[j] === flow.facts.expected[i]);
  return {parts: [{name: "output.probabilities", i, j}],
    names: `(probabilities${indices(name, i, j)} − right) / T`, how: ([[p]]) => ({
      terms: [[p - right, 1 / T]], compute: round => (round(p) - right) / T,
      write: write => `(${write(p)} − ${right}) / ${T}`})};
}

// What a stage sends to one of its parameters.
function learnedBy(user, {name, i, j}) {
  const kind = kindOf(user), from = fromOf(user), {rows} = flow.stages.get(user);
  if (kind === "embedding") {
    const tokens = tokensOf(user).rows, word = wordsOfRows(name)[i];
    return sum(user, upTo(rows).filter(t => tokens[t] === word)
      .map(t => [rootOf("d-model"), gradientOf({name: user, i: t, j})]));
  }
  if (kind === "positions") return sum(user, i < rows ? [[gradientOf({name: user, i, j})]] : []);
  if (kindOf(name) === "bias") return sum(user, [[gradientOf({name: user, j,
    label: `Σ ${labelOf(gradientOf({name: user, j}), user)}`})]]);
  const [into, out] = kindOf(name) === "gain" ? [j, j] : isTied(user) ? [j, i] : [i, j];
  return sum(user, [[{name: from, j: into}, gradientOf({name: user, j: out})]]);
}

// What a number is made of; for a gradient, an expression for each stage that sends it back.
function expressionsOf(place) {
  const {name, what} = place, kind = kindOf(name);
  if (what !== "gradient") return isTensor(name) ? [] : [(MADE[kind] || linearMade)(place)];
  if (name === "output.logits") return [lossSent(place)];
  const users = isTensor(name)
    ? [...flow.stages.keys()].filter(user => parametersOf(user).includes(name)) : usersOfStage(name);
  return users.map(user => ({user, ...isTensor(name) ? learnedBy(user, place)
    : (SENT[kindOf(user)] || linearSent)(user, place)}));
}

const partsOf = place => expressionsOf(place).flatMap(({parts}) => parts);

// The stages that a step is computed from, as far as they are shown beside it.
const inputsOf = name => [...new Set(partsOf({name, i: 0, j: 0, what: "value"}).map(part => part.name))]
  .filter(part => part && !isTensor(part));

// ---------------------------------------------------------------- in words

const total = terms => terms.reduce((sum, [a, b]) => sum + a * b, 0);

const workedOut = async ({parts, how}, own) => how(await Promise.all(parts.map(numbersIn)), own);

// An expression as text: its names, the numbers, and the result.
async function textOf(expression, own) {
  const made = await workedOut(expression, own), {compute, write, terms, more} = made;
  return typeof made === "string" ? made : `${expression.names} = ` + (compute
    ? worked(own, compute, write) : terms ? written(terms, own, more) : four(own));
}

async function originOfNumber(place) {
  const {value} = await matrixOf(place.name), x = value[place.i][place.j];
  if (flow.edits.has(keyOf(place))) return `${four(x)}, which you typed`;
  if (isTensor(place.name)) return `${four(x)}, a parameter: it has been found by training`;
  const [made] = expressionsOf({...place, what: "value"});
  return textOf(made, x);
}

// A bias of the keys adds the same number to all scores of a row.
const isKeyBias = name => name.endsWith(".key.bias");
const isRounding = x => Math.abs(x) < 1e-12;

async function gradientText(place, gradient) {
  const {name, i, j} = place;
  if (isKeyBias(name) && isRounding(gradient))
    return "Its gradient is 0: a key's bias moves all scores of a row alike, and the softmax " +
      `ignores that. The program's ${four(gradient)} is what rounding has left.`;
  return `Its gradient: d${isTensor(name) ? shortName(name) : called(name)}${indices(name, i, j)} = ` +
    await sentText(place, gradient);
}

// One sum, or what each of several stages sends back.
async function sentText(place, own) {
  const sent = expressionsOf({...place, what: "gradient"}).filter(({parts}) => parts.length);
  if (!sent.length) return "0, since no token has used it";
  if (sent.length === 1) return textOf(sent[0], own);
  const layer = user => isMemory(place.name) ? ` (layer ${user.split(".")[1]})` : "";
  const terms = await Promise.all(sent.map(async one => [total((await workedOut(one)).terms), 1]));
  return `${sent.map(one => one.names + layer(one.user)).join(" + ")} = ` + written(terms, own);
}

// ---------------------------------------------------------------- in the picture

// Which lines bring what a number is made of: all that end in its row; for a score or a
// weight, the one between its two words.
function linesOf({name, i, j}) {
  const path = pathOf(name), kind = kindOf(name), {lines} = flow.drawn;
  const row = perHead(name) ? i % rowsIn(name, "q") : i;
  const mine = lines.filter(line => line.path === path);
  if (perHead(name) || kind === "mask") return mine.filter(line => line.looks && line.i === row && line.j === j);
  if (["k", "v"].includes(kind)) return mine.filter(line => line.looks && line.j === row);
  if (kind === "q") return mine.filter(line => !line.looks && line.i === row);
  return mine.filter(line => line.i === row);
}

// What is lit in the picture for a number.
function traceOf(place) {
  if (isTensor(place.name)) return {lines: [], dots: [], words: []};
  const lines = linesOf(place), path = pathOf(place.name);
  const row = perHead(place.name) ? place.i % rowsIn(place.name, "q") : place.i;
  const own = flow.drawn.dots.filter(dot => dot.path === path && dot.i === row
    && !["k", "v"].includes(kindOf(place.name)));
  return withEnds({lines, dots: own});
}

// Lines with the dots at their ends; a dot of the lowest level with its word, one of the
// highest with what is expected there.
function withEnds({lines, dots = [], words = []}) {
  const all = new Set([...dots, ...lines.flatMap(({from, to}) => [from, to])]);
  const named = flow.drawn.words.filter(word => [...all].some(dot => dot === word.dot));
  return {lines, dots: [...all], words: [...new Set([...words, ...named])]};
}

// What is lit for the thing that is pointed at in the picture.
function traceOfThing({line, dot, word}) {
  const {lines} = flow.drawn;
  if (line) return withEnds({lines: [line]});
  if (dot) return withEnds({lines: lines.filter(line => line.to === dot), dots: [dot]});
  const mine = word.isExpected
    ? line => line.to.side === "decoder" && line.to.i === word.i
    : line => line.from.side === word.dot.side && line.from.i === word.i;
  return withEnds({lines: lines.filter(mine), dots: [word.dot], words: [word]});
}

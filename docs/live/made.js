// What a number is made of: other numbers, and the lines of the picture that bring them.

const widthOfHead = () => sizeIn("d-model") / sizeIn("heads");
const headOf = (row, h) => row.slice(h * widthOfHead(), (h + 1) * widthOfHead());

// The columns of a head, as a part of a row.
const band = h => ({j: h * widthOfHead(), to: (h + 1) * widthOfHead()});

const rowsIn = (name, kind) => flow.stages.get(beside(name, kind)).rows;
const fromOf = name => flow.stages.get(name).from;

// By kind: the numbers that go into one. Without i or j, a whole column or row.
const MADE = {
  token: () => [],
  encoding: () => [],
  mask: () => [],
  embedding: ({name, i, j}) => [{name: beside(name, "token"), i, j}],
  positions: ({name, i, j}) =>
    ["embedding", "encoding"].map(kind => ({name: beside(name, kind), i, j})),
  scores: ({name, i, j}) => {
    const T = rowsIn(name, "q"), h = Math.floor(i / T);
    return [{name: beside(name, "q"), i: i % T, ...band(h)}, {name: beside(name, "k"), i: j, ...band(h)}];
  },
  scaled: ({name, i, j}) => [{name: beside(name, "scores"), i, j}],
  weights: ({name, i}) => [{name: beside(name, "scaled"), i},
    {name: beside(name, "mask"), i: i % rowsIn(name, "q")}],
  out: ({name, i, j}) => {
    const h = Math.floor(j / widthOfHead());
    return [{name: beside(name, "weights"), i: h * rowsIn(name, "q") + i}, {name: beside(name, "v"), j}];
  },
  residual: ({name, i, j}) => [flow.stages.get(name).other, fromOf(name)].map(part => ({name: part, i, j})),
  mean: ({name, i}) => [{name: fromOf(name), i}],
  rstd: ({name, i}) => [{name: fromOf(name), i}],
  n: ({name, i}) => [{name: fromOf(name), i},
    ...["mean", "rstd"].map(kind => ({name: beside(name, kind), i}))],
  norm: ({name, i, j}) => [{name: beside(name, "n"), i, j},
    ...parametersOf(name).map(tensor => ({name: tensor, j}))],
  active: ({name, i, j}) => [{name: beside(name, "inner"), i, j}],
  probabilities: ({i}) => [{name: "output.logits", i}],
  loss: ({i}) => [{name: "output.probabilities", i,
    j: flow.facts.target_words.indexOf(flow.facts.expected[i])}],
};

const linearParts = ({name, i, j}) => [{name: fromOf(name), i},
  ...parametersOf(name).map(tensor => ({name: tensor, j}))];

// The same of a gradient: what is sent back, and what it has been multiplied by.
const SENT = {
  q: ({name, i, j}) => {
    const h = Math.floor(j / widthOfHead()), T = rowsIn(name, "q");
    return [{name: beside(name, "scores"), i: h * T + i, what: "gradient"}, {name: beside(name, "k"), j}];
  },
  k: ({name, i, j}) => [{name: beside(name, "scores"), j: i, what: "gradient"}, {name: beside(name, "q"), j}],
  v: ({name, i, j}) => [{name: beside(name, "weights"), j: i}, {name: beside(name, "out"), j, what: "gradient"}],
  scores: ({name, i, j}) => [{name: beside(name, "scaled"), i, j, what: "gradient"}],
  scaled: ({name, i}) => [{name: beside(name, "weights"), i},
    {name: beside(name, "weights"), i, what: "gradient"}],
  weights: ({name, i, j}) => {
    const T = rowsIn(name, "q"), h = Math.floor(i / T);
    return [{name: beside(name, "out"), i: i % T, ...band(h), what: "gradient"},
      {name: beside(name, "v"), i: j, ...band(h)}];
  },
  logits: ({name, i, j}) => [{name: "output.probabilities", i, j}],
};

const sentParts = ({name, i}) => usersOfStage(name).map(user => ({name: user, i, what: "gradient"}));

function partsOf(place) {
  const {name, what} = place, kind = kindOf(name);
  if (isTensor(name)) return [];
  return what === "gradient" ? (SENT[kind] || sentParts)(place) : (MADE[kind] || linearParts)(place);
}

// The stages that a step is computed from, as far as they are shown beside it.
const inputsOf = name => [...new Set(partsOf({name, i: 0, j: 0, what: "value"}).map(part => part.name))]
  .filter(part => !isTensor(part));

// ---------------------------------------------------------------- in the picture

// Which lines bring what a number is made of: all that end in its row; of a score or a
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
  return withEnds({lines, dots: own, words: []});
}

// Lines with the dots at their ends; a dot of the lowest level with its word, one of the
// highest with what is expected there.
function withEnds({lines, dots, words}) {
  const all = new Set([...dots, ...lines.flatMap(({from, to}) => [from, to])]);
  const named = flow.drawn.words.filter(word => [...all].some(dot => dot === word.dot));
  return {lines, dots: [...all], words: [...new Set([...words, ...named])]};
}

// By what is pointed at in the picture.
function traceOfThing({line, dot, word}) {
  const {lines} = flow.drawn;
  if (line) return withEnds({lines: [line], dots: [], words: []});
  if (dot) return withEnds({lines: lines.filter(line => line.to === dot), dots: [dot], words: []});
  const mine = word.isExpected
    ? line => line.to.side === "decoder" && line.to.i === word.i
    : line => line.from.side === word.dot.side && line.from.i === word.i;
  return withEnds({lines: lines.filter(mine), dots: [word.dot], words: [word]});
}

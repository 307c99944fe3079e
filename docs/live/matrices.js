// The matrices of One sentence, as tables.

const MOST_COLUMNS = 512;    // of a matrix that are shown

// The tokens that a stage's rows belong to; in attention, also those of its columns.
function tokensOf(name) {
  const {source, input} = flow.facts, [side] = name.split(".");
  const queries = source.length && ["encoder", "source"].includes(side) ? source : input;
  const keys = name.includes("cross_attention") ? source : queries;
  return {rows: ["k", "v"].includes(kindOf(name)) ? keys : queries, columns: keys};
}

// What a stage's rows and columns are called. A row that is to say the next word is
// called by both words, as one line or two.
function axesOf(name) {
  const {input, expected, target_words: words} = flow.facts, {rows, columns} = tokensOf(name);
  const named = rows === input ? input.map((token, i) => `${token}\u00a0→ ${expected[i]}`) : rows;
  if (perHead(name) || kindOf(name) === "mask") return [named, columns];
  if (["mean", "rstd", "loss"].includes(kindOf(name))) return [named, [kindOf(name)]];
  return [named, ["logits", "probabilities"].includes(kindOf(name)) ? words : null];
}

// The first row of the chosen head, for a matrix that has rows for each head.
const firstRow = name => perHead(name)
  ? flow.head * flow.stages.get(name).rows / sizeIn("heads") : 0;

function tablesOf(name, back) {
  const {value, gradient} = flow.cache.get(name);
  const tables = [sentenceTable(name, value, "value")];
  if (back && gradient) tables.push(sentenceTable(name, gradient, "gradient"));
  if (back && isMemory(name)) tables.push(partsOfMemory(name));
  return tables;
}

// What the keys and the values of each decoder layer send back to the memory: for each
// token, how long that vector is.
function partsOfMemory(name) {
  const users = usersOfStage(name), tokens = tokensOf(name).rows;
  const lengths = users.map(user => {
    const [weight] = parametersOf(user);
    const {gradient} = flow.cache.get(user), {value} = flow.cache.get(weight);
    return gradient.map(d => Math.hypot(...value.map(w => total(w.map((x, p) => [x, d[p]])))));
  });
  lengths.push(flow.cache.get(name).gradient.map(row => Math.hypot(...row)));
  return numberTable(null, lengths, {label: `the ${users.length} parts`, tone: "gradient",
    note: "and how long each is, for each token: √(Σ x²)",
    rows: upTo(lengths.length), columns: upTo(tokens.length), columnNames: tokens,
    rowNames: i => i === users.length ? "the sum of all (lengths do not add)"
      : `d${kindOf(users[i])} · ${matrixLetter(users[i])}ᵀ, layer ${users[i].split(".")[1]}`});
}

// The columns in the order in which they stand: of words, those that are expected,
// and the likeliest.
function columnsOf(name, matrix) {
  const all = upTo(matrix[0].length), {value} = flow.cache.get("output.probabilities");
  if (["logits", "probabilities"].includes(kindOf(name))) {
    const most = all.map(j => Math.max(...value.map(row => row[j])) +
      flow.facts.expected.includes(flow.facts.target_words[j]));
    all.sort((a, b) => most[b] - most[a]);
  }
  return all.slice(0, MOST_COLUMNS);
}

// Of a kind of stage, what its matrix is called; of others, the kind itself.
const MATRIX_NAMES = {token: "token embedding", encoding: "positional encoding",
  positions: "input"};

function sentenceTable(name, matrix, what) {
  const [rows, names] = axesOf(name), first = firstRow(name), kind = kindOf(name);
  const columns = columnsOf(name, matrix), isGradient = what === "gradient";
  const note = `(${rows.length},${matrix[0].length})` +
    (perHead(name) ? `, head ${flow.head}` : "") +
    (names && names === flow.facts.target_words ? ", the expected and the likeliest words first" : "") +
    (columns.length < matrix[0].length ? `; ${columns.length} columns are shown` : "");
  return numberTable(name, matrix, {note, columns, columnNames: names,
    label: isGradient ? "d" + kind : MATRIX_NAMES[kind] || kind,
    tone: isGradient ? "gradient" : STAGES[kind]?.tone || (kind === "mask" ? "weight" : "value"),
    rows: upTo(rows.length).map(i => first + i), rowNames: i => rows[i - first]});
}

// Some rows and columns of a matrix, with names where they have any. A cell knows its
// place, unless the matrix has no name: then there is nothing to choose in it.
function numberTable(name, matrix, {label, note, tone, rows, rowNames, columns, columnNames}) {
  const most = Math.max(1e-30, ...rows.map(i => Math.max(...matrix[i].map(x => Math.abs(x ?? 0)))));
  const write = tone === "gradient" ? short : writerOf(kindOf(name));
  const table = tabulate(make("table", {className: "matrix-table tone-" + tone}),
    [make("b", {}, label), " " + note], columns.map(j => columnNames ? columnNames[j] : String(j)),
    rows.map((i, m) => [rowNames(i), ...columns.map((j, n) =>
      sentenceCell({name, i, j}, matrix[i][j], write(matrix[i][j]), most, m || n ? -1 : 0))]));
  if (!name)
    return make("div", {className: "table", tabIndex: 0, role: "region", ariaLabel: label}, table);
  table.dataset.name = name;
  table.role = "grid";
  return make("div", {className: "table"}, table);
}

// How a number is written in a cell. A share that is tiny is 0 there.
const writerOf = kind => kind === "mask" ? String
  : ["weights", "probabilities"].includes(kind)
    ? x => x !== null && Math.abs(x) < 0.00095 ? "0" : short(x) : short;

function sentenceCell(place, x, text, most, tabIndex) {
  const {name} = place, cell = make("td", {title: x === null ? "" : String(x)}, text);
  tintBySign(cell, name && kindOf(name) === "mask" ? x / 2 : x, most);
  if (!name) return cell;
  cell.place = place;
  cell.tabIndex = tabIndex;
  cell.classList.toggle("changed", flow.edits.has(keyOf(place)));
  cell.classList.toggle("pointed", isChosen(place));
  return cell;
}

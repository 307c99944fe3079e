// The matrices of a step, each whole: with at most twelve columns as digits, with more as
// strips of color.

const MOST_DIGITS = 12;
const columnsInLine = () => innerWidth < 640 ? 16 : 64;

// The tokens that a stage's rows belong to; in attention, also those of its columns.
function tokensOf(name) {
  const {source, input} = flow.facts, [side] = name.split(".");
  const queries = ["encoder", "source"].includes(side) ? source : input;
  const keys = name.includes("cross_attention") ? source : queries;
  return {rows: ["k", "v"].includes(kindOf(name)) ? keys : queries, columns: keys};
}

// What a stage's rows and columns are called. A row that predicts the next word is named
// by both words, on one line or two.
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

// The columns in the order in which they stand: if they are words, first the expected
// ones, then the likeliest. They keep this order while a number is changed.
async function columnsOf(name, matrix) {
  const all = upTo(matrix[0].length);
  if (["logits", "probabilities"].includes(kindOf(name))) {
    const value = await numbersOf("output.probabilities");
    const most = all.map(j => Math.max(...value.map(row => row[j])) +
      flow.facts.expected.includes(flow.facts.target_words[j]));
    all.sort((a, b) => most[b] - most[a]);
    return flow.order = flow.edits.size && flow.order || all;
  }
  return all;
}

// What the matrix of a stage is called, by its kind, where that is not the kind itself.
const MATRIX_NAMES = {token: "token embedding", encoding: "positional encoding",
  positions: "input"};

// The matrix of a stage, or its gradient; `ofHead`, only the columns of the chosen head.
async function stageMatrix(name, what, ofHead = false) {
  const matrix = (await matrixOf(name))[what], kind = kindOf(name), isGradient = what === "gradient";
  const [rows, names] = axesOf(name), first = firstRow(name), K = widthOfHead();
  const columns = ofHead && !perHead(name) && kind !== "mask"
    ? upTo(K).map(j => flow.head * K + j) : await columnsOf(name, matrix);
  return shown({name, what, matrix, columns, columnNames: names, digits: !ofHead ? MOST_DIGITS : innerWidth < 1200 ? 0 : 6,
    label: (isGradient ? "d" : "") + (MATRIX_NAMES[kind] || kind),
    note: `(${rows.length},${columns.length})` + (perHead(name) || ofHead ? `, head ${flow.head}` : "") +
      (names === flow.facts.target_words ? ", first the expected words, then those likeliest in any row" : ""),
    tone: isGradient ? "gradient" : STAGES[kind]?.tone || (kind === "mask" ? "weight" : "value"),
    rows: upTo(rows.length).map(i => first + i), rowNames: i => rows[i - first]});
}

// Some rows and columns of a matrix, as digits or as strips.
function shown(given) {
  const spec = {digits: MOST_DIGITS, ...given};
  const sizes = spec.rows.map(i => Math.max(...spec.columns.map(j => Math.abs(spec.matrix[i][j] ?? 0))));
  spec.most = Math.max(1e-30, ...sizes);
  if (spec.what === "gradient" && spec.name) spec.note += largestIn(spec, sizes);
  return spec.columns.length > spec.digits ? new Strips(spec) : new Digits(spec);
}

// Which number is the largest.
function largestIn({name, matrix, rows, columns, most}, sizes) {
  const i = rows[sizes.indexOf(Math.max(...sizes))];
  const j = columns.find(column => Math.abs(matrix[i][column]) === most);
  return j === undefined ? "" : `; the largest is ${four(matrix[i][j])}, at ${indices(name, i, j)}`;
}

const captionOf = ({label, note}) => [make("b", {}, label), " " + note];

// Is a number in a part?
const isIn = ({name, what}, i, j) => part => part.name === name && (part.what ?? "value") === what
  && within(i, part.i, part.below) && within(j, part.j, part.to);
const within = (n, from, end = from + 1) => from === undefined || n >= from && n < end;

const shareOfColor = (x, most) => (Math.abs(x ?? 0) / most) ** 0.7;

// ---------------------------------------------------------------- digits

class Digits {
  constructor(spec) {
    const {name, what, matrix, tone, rows, rowNames, columns, columnNames, most} = spec;
    const table = tabulate(make("table", {className: "matrix-table tone-" + tone}), captionOf(spec),
      columns.map(j => columnNames ? columnNames[j] : String(j)),
      rows.map((i, m) => [rowNames(i), ...columns.map((j, n) =>
        this.cell({name, what, i, j}, matrix[i][j], most, m || n ? -1 : 0))]));
    if (name) table.role = "grid";
    Object.assign(this, {spec, element: make("div", {className: "table"}, table)});
    this.element.dataset.name = name;
  }

  cell(place, x, most, tabIndex) {
    const {name, what} = place, cell = make("td", {title: x === null ? "" : String(x)});
    cell.textContent = what === "gradient" ? short(x) : writerOf(name && kindOf(name))(x);
    const isEdited = what === "value" && flow.edits.has(keyOf(place));
    if (what === "value" && isMasked(name, x) && !isEdited) cell.classList.add("hatched");
    else tint(cell, x, name && kindOf(name) === "mask" ? 2 * most : most);
    if (!name) return cell;
    cell.place = place;
    cell.tabIndex = tabIndex;
    cell.classList.toggle("changed", isEdited);
    return cell;
  }

  get cells() { return [...this.element.querySelectorAll("td")].filter(cell => cell.place); }

  mark(parts, place) {
    this.element.classList.toggle("dimmed", parts.length > 0);
    for (const cell of this.cells) {
      const {i, j} = cell.place, is = isIn(this.spec, i, j);
      cell.classList.toggle("marked", parts.some(is));
      cell.classList.toggle("pointed", Boolean(place) && is(place));
    }
  }

  focus({i, j}) { this.cells.find(({place}) => place.i === i && place.j === j)?.focus(); }
}

// Does a mask hide this key? Softmax gives the weight 0 to no other.
const isMasked = (name, x) => name && x === 0 && ["mask", "weights"].includes(kindOf(name));

// Colors the cell of a number x; `most` is the largest size of the numbers around it.
function tint(cell, x, most) {
  cell.classList.toggle("negative", x < 0);
  cell.style.background = `color-mix(in srgb, var(--tint) ${(55 * shareOfColor(x, most)).toFixed(1)}%` +
    ", transparent)";
}

// How a number is written in a cell. A tiny share is written as 0.
const writerOf = kind => kind === "mask" ? String
  : ["weights", "probabilities"].includes(kind)
    ? x => x !== null && Math.abs(x) < 0.00095 ? "0" : short(x) : short;

function short(x) {
  if (x === null) return "not finite";
  const size = Math.abs(x);
  const text = size === 0 ? "0" : size >= 1000 ? x.toExponential(1)
    : size >= 9.995 ? x.toFixed(1) : size >= 0.0095 ? x.toFixed(2) : size >= 0.00095 ? x.toFixed(3) : x.toExponential(0);
  return text.replace("-", "−").replace("e-", "e−");
}

// ---------------------------------------------------------------- strips

// One canvas: a strip for each row, of several lines where it is long. The number under
// the pointer, or under the cursor that the arrow keys move, is written below.
class Strips {
  constructor(spec) {
    const {label, rows, rowNames, columns, name, tone} = spec;
    this.canvas = make("canvas", {tabIndex: 0, role: "img", ariaLabel: `${label}: ${rows.length} ` +
      `rows, ${columns.length} columns. The arrow keys move to a number, Enter pins it.`});
    this.names = make("div", {className: "names"}, ...rows.map(i => make("span", {}, rowNames(i))));
    Object.assign(this, {spec, parts: [], place: null, cursor: [0, 0],
      element: make("div", {className: `strips tone-${tone}`},
        make("p", {className: "caption"}, ...captionOf(spec)), this.names, this.canvas)});
    this.element.dataset.name = name;
    this.canvas.matrix = this;
  }

  // Sizes, in CSS pixels.
  measure() {
    const {rows, columns} = this.spec, line = Math.min(columns.length, columnsInLine());
    const lines = Math.ceil(columns.length / line), many = rows.length * lines;
    const high = many > 48 ? Math.max(4, Math.floor(260 / many)) : lines > 1 ? 6 : 15;
    this.size = {line, lines, high, wide: this.canvas.clientWidth / line,
      row: lines * high + (many > 48 ? 0 : 3)};
    this.names.hidden = this.size.row < 11;
  }

  // Where a number stands.
  boxOf(m, n) {
    const {line, high, wide, row} = this.size;
    return [n % line * wide, m * row + Math.floor(n / line) * high, wide, high];
  }

  placeAt({offsetX, offsetY}) {
    const {line, lines, high, wide, row} = this.size, {rows, columns} = this.spec;
    const m = Math.floor(offsetY / row), within = Math.min(lines - 1, Math.floor(offsetY % row / high));
    const n = within * line + Math.min(line - 1, Math.max(0, Math.floor(offsetX / wide)));
    return m in rows && n in columns ? this.placeOf([m, n]) : null;
  }

  placeOf([m, n]) {
    const {name, what, rows, columns} = this.spec;
    return {name, what, i: rows[m], j: columns[n]};
  }

  indexOf({i, j}) { return [this.spec.rows.indexOf(i), this.spec.columns.indexOf(j)]; }

  draw() {
    this.measure();
    const {canvas, size, spec} = this, {rows, columns, matrix, most} = spec;
    this.names.style.gridAutoRows = `${size.row}px`;
    canvas.style.height = `${rows.length * size.row}px`;
    const sharp = devicePixelRatio || 1, paper = canvas.getContext("2d");
    canvas.width = canvas.clientWidth * sharp;
    canvas.height = rows.length * size.row * sharp;
    paper.scale(sharp, sharp);
    const css = getComputedStyle(canvas), [tone, gray, line, link, ink] =
      ["--tone", "--minus", "--line", "--link", "--ink"].map(name => css.getPropertyValue(name).trim());
    rows.forEach((i, m) => columns.forEach((j, n) => {
      const x = matrix[i][j], lit = !this.parts.length || this.parts.some(isIn(spec, i, j));
      paper.fillStyle = x < 0 ? gray : tone;
      paper.globalAlpha = (lit ? 1 : 0.25) * shareOfColor(x, most);
      paper.fillRect(...this.boxOf(m, n));
    }));
    paper.globalAlpha = 1;
    paper.strokeStyle = line;
    const frames = this.names.hidden ? [[0, rows.length * size.row]]
      : rows.map((_, m) => [m * size.row, size.lines * size.high]);
    for (const [y, high] of frames)
      paper.strokeRect(0.5, y + 0.5, size.line * size.wide - 1, high - 1);
    this.outline(paper, link, ink);
  }

  // Outlines parts, line by line, the number itself, and those that have been changed.
  outline(paper, link, ink) {
    const {rows, columns, name, what} = this.spec, {line} = this.size;
    const frame = (m, n, cells, strokeStyle, lineWidth) => {
      const [x, y, wide, high] = this.boxOf(m, n);
      Object.assign(paper, {strokeStyle, lineWidth});
      paper.strokeRect(x, y, wide * cells, high);
    };
    rows.forEach((i, m) => {
      const are = columns.map(j => this.parts.some(isIn(this.spec, i, j)));
      columns.forEach((j, n) => {
        if (!are[n] || are[n - 1] && n % line) return;
        let to = n + 1;
        while (are[to] && to % line) to++;
        frame(m, n, to - n, link, 1.5);
      });
      columns.forEach((j, n) => {
        if (what === "value" && flow.edits.has(keyOf({name, i, j}))
          || this.place && isIn(this.spec, i, j)(this.place)) frame(m, n, 1, ink, 2.5);
      });
    });
  }

  mark(parts, place) {
    const mine = parts.filter(part => part.name === this.spec.name);
    Object.assign(this, {parts: parts.length && !mine.length ? [{}] : mine, place});
    this.draw();
  }

  focus(place) {
    this.cursor = this.indexOf(place).map(n => Math.max(0, n));
    this.canvas.focus();
  }
}

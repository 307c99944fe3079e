// The picture of One sentence: both stacks, and what flows in them.

const UNIT = 50, LEVEL = 52;    // of the picture: a token, and a sub-layer
const LETTERS = 10.4;           // pixels, however small the picture is

// What is written on a box: as long a name as it has room for.
const BOX_NAMES = {
  input: ["embedding + positions", "embedding", "emb."],
  self_attention: ["self-attention, add & norm", "self-attention", "self"],
  cross_attention: ["cross-attention, add & norm", "cross-attention", "cross"],
  feed_forward: ["feed-forward, add & norm", "feed-forward", "FFN"],
  norm: ["final norm", "norm"],
  output: ["linear, softmax", "softmax", "out"],
};

// The levels of one side, from the bottom: the stage whose rows are drawn there.
function levelsOf(side) {
  const start = flow.model.sides[side], stages = [...flow.stages.keys()];
  const last = path => stages.filter(name => pathOf(name) === path).pop();
  const subs = [...new Set(stages.filter(name => name.startsWith(side + ".")).map(pathOf))]
    .filter(path => path.includes("."));
  const levels = [{path: start, kind: "input", name: last(start)},
    ...subs.map(path => ({path, kind: kindOf(path), name: last(path)}))];
  if (last(side)) levels.push({path: side, kind: "norm", name: last(side)});
  if (side === flow.model.writer) levels.push({path: "output", kind: "output", name: "output.logits"});
  return levels;
}

// How many levels the decoder is drawn above the encoder: two, where otherwise a
// cross-attention would stand at the height of what it looks at.
const raised = ({encoder, decoder}) => decoder?.some(({kind}, level) =>
  kind === "cross_attention" && level === encoder.length - 1) ? 2 : 0;

// How large the picture is. Letters do not shrink with it; words that have no room
// side by side stand upright, and so does a <start> to which they leave none.
function measure(sides) {
  const raise = raised(sides), levels = sides[flow.model.writer].length + raise;
  const {source, input, expected} = flow.facts, svg = $("flow-picture");
  const columns = input.length + (source.length ? source.length + 1 : 0);
  const width = 40 + columns * UNIT, shown = svg.clientWidth;
  const scale = Math.min((shown || width) / width,
    parseFloat(getComputedStyle(svg).maxHeight) / (98 + levels * LEVEL));
  const font = Math.min(26, Math.max(13, LETTERS / scale));
  const all = [...source, ...input, ...expected], long = word => font * 0.58 * word.length;
  const longest = Math.max(0, ...all.filter(word => !/^<\w+>$/.test(word)).map(long));
  const isUpright = word => longest > UNIT + 6
    || long(word) > Math.max(UNIT + 6, 2 * UNIT - longest);
  const words = Math.max(26, ...all.filter(isUpright).map(word => long(word) + 16));
  const label = font + 10;
  flow.picture = {shown, font, isUpright, width, raise, below: words + label + LEVEL - 10,
    height: 2 * (words + label) + levels * LEVEL};
}

// Where row i of a level stands.
function placeOfRow(side, level, i) {
  const S = flow.facts.source.length, {height, below, raise} = flow.picture;
  const up = level + (side === "decoder" ? raise : 0);
  return [(side === "encoder" ? 28 : 28 + (S + 1) * UNIT) + i * UNIT,
    height - below - up * LEVEL];
}

const rowsOf = side =>
  (side === flow.model.writer ? flow.facts.input : flow.facts.source).length;

const sizesNow = stage =>
  (stepNow().way === "forward" ? stage.sizes : stage.pulls) || stage.sizes;

// The sum of a matrix over the heads of a sub-layer, for each query and key.
const overHeads = (matrix, T) => upTo(T).map(i => matrix[i].map((_, j) =>
  upTo(matrix.length / T).reduce((sum, h) => sum + matrix[h * T + i][j], 0)));

// How much a sub-layer's queries look at its keys: the mean weights of all heads.
async function looks(path, T) {
  const {value} = await matrixOf(path + ".weights"), H = value.length / T;
  return overHeads(value, T).map(row => row.map(sum => sum / H));
}

// What each query sends back to each key, as a share of the most that one sends:
// the sizes of weight · dout, to the value, and of dscores · q, to the key.
async function carriedBack(path, T) {
  const [{value: weights}, {gradient: dscores}, {value: q}, {gradient: dout}] = await Promise.all(
    ["weights", "scores", "q", "out"].map(kind => matrixOf(`${path}.${kind}`)));
  const K = sizeIn("d-model") / sizeIn("heads");
  const size = (row, h) => Math.hypot(...row.slice(h * K, h * K + K));
  const sent = overHeads(weights.map((row, n) => {
    const h = Math.floor(n / T), i = n % T, toValue = size(dout[i], h), toKey = size(q[i], h);
    return row.map((weight, j) => weight * toValue + Math.abs(dscores[n][j]) * toKey);
  }), T);
  const most = Math.max(1e-30, ...sent.flat());
  return sent.map(row => row.map(x => x / most));
}

async function showPicture() {
  const back = stepNow().way !== "forward";
  const {writer} = flow.model, sides = {};
  for (const side of Object.keys(flow.model.sides)) sides[side] = levelsOf(side);
  measure(sides);
  const boxes = [], parts = [], marks = [], names = [];
  for (const [side, levels] of Object.entries(sides))
    for (const [level, {path, kind, name}] of levels.entries()) {
      boxes.push(levelBox(side, level, path));
      names.push(boxName(side, level, path, kind));
      if (level) parts.push(...await flowInto(side, level, path, sides, back));
      const sizes = sizesNow(flow.stages.get(name)), most = Math.max(...sizes, 1e-30);
      sizes.forEach((size, i) => {
        const [cx, cy] = placeOfRow(side, level, i);
        marks.push(drawn("circle", {cx, cy, r: (2 + 4 * size / most).toFixed(2),
          class: back ? "pull" : "size"}));
      });
    }
  const {source, input, expected} = flow.facts, {width, height, font} = flow.picture;
  const top = sides[writer].length - 1;
  const svg = $("flow-picture");
  const at = [...svg.querySelectorAll(".level")].indexOf(document.activeElement);
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.style.fontSize = `${font}px`;
  svg.style.minWidth = `${width * LETTERS / 26}px`;    // then it is moved sideways
  svg.replaceChildren(...boxes, ...parts, ...names, ...marks,
    ...source.map((text, i) => drawWord(placeOfRow("encoder", 0, i), text, 1)),
    ...input.map((text, i) => drawWord(placeOfRow(writer, 0, i), text, 1)),
    ...expected.map((text, i) => drawWord(placeOfRow(writer, top, i), text, -1)),
    ...Object.keys(sides).map(side => drawLabel(side, flow.model.reads[side], height - 6)),
    drawLabel(writer, "expected next", font));
  svg.querySelectorAll(".level")[at]?.focus();
}

const beginPicture = () => new ResizeObserver(() => {
  const shown = $("flow-picture").clientWidth;    // a scroll bar more or less is nothing
  if (flow.picture && shown && Math.abs(shown - flow.picture.shown) > 20) inTurn(showPicture);
}).observe($("flow-picture"));

// A word below a row (down is 1) or above it (-1).
function drawWord([x, row], text, down) {
  const {isUpright, font} = flow.picture, y = row + (down > 0 ? LEVEL : -18);
  return isUpright(text)
    ? drawn("text", {"text-anchor": down > 0 ? "end" : "start",
      transform: `translate(${x + font / 3} ${y - 4}) rotate(-90)`}, text)
    : drawn("text", {x, y: y + (down > 0 ? 8 : 0), "text-anchor": "middle"}, text);
}

// What stands there, at the bottom or at the top of a side.
const drawLabel = (side, text, y) => drawn("text", {"text-anchor": "middle", class: "label", y,
  x: placeOfRow(side, 0, (rowsOf(side) - 1) / 2)[0]}, text);

// A sub-layer as a button: a click goes to its first step.
function levelBox(side, level, path) {
  const [x, y] = placeOfRow(side, level, 0), chosen = pathOf(stepNow().name) === path;
  const box = drawn("g", {role: "button", tabindex: 0, "aria-label": placeName(path),
    class: chosen ? "level chosen" : "level"},
  drawn("title", {}, placeName(path)),
  drawn("rect", {x: x - 22, y: y - 8, width: rowsOf(side) * UNIT - 6, height: LEVEL - 6, rx: 5}));
  box.onclick = () => goToPart(path);
  box.onkeydown = event => {
    if (!["Enter", " "].includes(event.key)) return;
    event.preventDefault();
    goToPart(path);
  };
  return box;
}

// What it is, written on it.
function boxName(side, level, path, kind) {
  const [x, y] = placeOfRow(side, level, 0), room = rowsOf(side) * UNIT - 6;
  const {font} = flow.picture, names = BOX_NAMES[kind].map(text =>
    flow.info.norm === "pre" ? text.replace(/^(.*), add & norm$/, "norm, $1, add") : text);
  const name = names.find(text => text.length * font * 0.54 < room - 8) || names[names.length - 1];
  const chosen = pathOf(stepNow().name) === path;
  return drawn("text", {x: x - 22 + room / 2, y: y + 19 + font / 2, "text-anchor": "middle",
    class: chosen ? "box-name chosen" : "box-name", "paint-order": "stroke",
    "aria-hidden": "true"}, name);
}

// What flows into a level: along the residual connections, and by attention.
async function flowInto(side, level, path, sides, back) {
  const rows = rowsOf(side), tone = back ? "pull" : "way";
  const line = ([x1, y1], [x2, y2], width, kind) => drawn("line", {x1, y1, x2, y2,
    class: kind, "stroke-width": width.toFixed(2)});
  const size = sizesNow(flow.stages.get(sides[side][level - 1].name));
  const most = Math.max(...size, 1e-30);
  const lines = upTo(rows).map(i => line(placeOfRow(side, level - 1, i),
    placeOfRow(side, level, i), 0.5 + 2.5 * size[i] / most, tone));
  if (!path.endsWith("attention")) return lines;
  const cross = path.endsWith("cross_attention"), top = sides.encoder.length - 1;
  (await (back ? carriedBack : looks)(path, rows)).forEach((row, i) => row.forEach((share, j) => {
    if (share > 0.03)
      lines.push(line(cross ? placeOfRow("encoder", top, j) : placeOfRow(side, level - 1, j),
        placeOfRow(side, level, i), 0.4 + 3.6 * share, cross ? "look cross" : "look"));
  }));
  return lines;
}

// The picture: both stacks, and what flows in them. It is drawn anew for each step;
// flow.drawn has what can be pointed at in it.

const UNIT = 50;                // the width of a token
const LEVEL = [52, 84];         // the height of a sub-layer, at least and at most
const LETTERS = 10.4;           // the least height of letters, in pixels of the screen

const SIDES = {encoder: "source", decoder: "target"};

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
  const start = SIDES[side], stages = [...flow.stages.keys()];
  const last = path => stages.filter(name => pathOf(name) === path).pop();
  const subs = [...new Set(stages.filter(name => name.startsWith(side + ".")).map(pathOf))]
    .filter(path => path.includes("."));
  const levels = [{path: start, kind: "input", name: last(start)},
    ...subs.map(path => ({path, kind: kindOf(path), name: last(path)}))];
  if (last(side)) levels.push({path: side, kind: "norm", name: last(side)});
  if (side === "decoder") levels.push({path: "output", kind: "output", name: "output.logits"});
  return levels.map((level, n) => ({...level, side, level: n}));
}

// How many levels the decoder is drawn above the encoder: two, where otherwise a
// cross-attention would stand at the height of what it looks at.
const raised = ({encoder, decoder}) => decoder.some(({kind}, level) =>
  kind === "cross_attention" && level === encoder.length - 1) ? 2 : 0;

const rowsOf = side => (side === "decoder" ? flow.facts.input : flow.facts.source).length;

// How large the picture is. Letters do not shrink with it; words that have no room
// side by side stand upright, and so does a <start> to which they leave none.
function measure(sides) {
  const raise = raised(sides), levels = sides.decoder.length + raise;
  const {source, input, expected} = flow.facts, svg = $("flow-picture");
  const width = 40 + (input.length + source.length + 1) * UNIT, wide = svg.clientWidth;
  const room = parseFloat(getComputedStyle(svg).maxHeight) || 600;
  const scale = Math.min((wide || width) / width, room / (98 + levels * LEVEL[0]));
  const font = Math.min(26, Math.max(13, LETTERS / scale));
  const all = [...source, ...input, ...expected], long = word => font * 0.58 * word.length;
  const longest = Math.max(0, ...all.filter(word => !/^<\w+>$/.test(word)).map(long));
  const isUpright = word => longest > UNIT + 6
    || long(word) > Math.max(UNIT + 6, 2 * UNIT - longest);
  const words = Math.max(26, ...all.filter(isUpright).map(word => long(word) + 16));
  const label = font + 10, [least, most] = LEVEL;
  const tall = Math.max(least, Math.min(most, (room / scale - 2 * (words + label)) / levels));
  return {wide, font, isUpright, width, raise, tall, below: words + label + tall - 10,
    height: 2 * (words + label) + levels * tall};
}

// Where row i of a level stands.
function placeOfRow(side, level, i) {
  const {height, below, raise, tall} = flow.drawn.size, S = flow.facts.source.length;
  return [(side === "encoder" ? 28 : 28 + (S + 1) * UNIT) + i * UNIT,
    height - below - (level + (side === "decoder" ? raise : 0)) * tall];
}

const sizesNow = stage => isBack() && stage.pulls || stage.sizes;

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
  const K = widthOfHead(), size = (row, h) => Math.hypot(...row.slice(h * K, h * K + K));
  const sent = overHeads(weights.map((row, n) => {
    const h = Math.floor(n / T), i = n % T, toValue = size(dout[i], h), toKey = size(q[i], h);
    return row.map((weight, j) => weight * toValue + Math.abs(dscores[n][j]) * toKey);
  }), T);
  const most = Math.max(1e-30, ...sent.flat());
  return sent.map(row => row.map(x => x / most));
}

// ---------------------------------------------------------------- drawing

async function showPicture() {
  const sides = {}, svg = $("flow-picture"), back = isBack();
  for (const side of Object.keys(SIDES)) sides[side] = levelsOf(side);
  const levels = Object.values(sides).flat(), shares = new Map();
  for (const {path, side} of levels.filter(({path}) => path.endsWith("attention")))
    shares.set(path, await (back ? carriedBack : looks)(path, rowsOf(side)).catch(notYet));
  flow.drawn = {size: measure(sides), levels, dots: [], lines: [], words: [],
    order: [...new Set([...flow.stages.keys()].map(pathOf))]};
  levels.forEach(drawDots);
  levels.forEach(level => drawLines(level, sides, shares.get(level.path)));
  drawWords(sides);
  const {width, height, font} = flow.drawn.size;
  const at = [...svg.querySelectorAll(".level")].indexOf(document.activeElement);
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.style.fontSize = `${font}px`;
  svg.style.minWidth = `${width * LETTERS / 26}px`;    // below that, it scrolls sideways
  const {lines, dots, words} = flow.drawn, elements = list => list.map(({element}) => element);
  svg.replaceChildren(...levels.map(levelBox), ...elements(lines), ...levels.map(boxName),
    ...elements(dots), ...elements(words),
    drawLabel("encoder", "the encoder reads", height - 6),
    drawLabel("decoder", "the decoder has read", height - 6),
    drawLabel("decoder", "expected next", font), flow.travelers);
  svg.querySelectorAll(".level")[at]?.focus();
  showReached();
  light(flow.pinned && traceOf(flow.pinned));
}

function drawDots({side, level, path, name}) {
  const sizes = sizesNow(flow.stages.get(name)), most = Math.max(...sizes, 1e-30);
  const tone = isBack() ? "pull" : "size";
  sizes.forEach((size, i) => {
    const [x, y] = placeOfRow(side, level, i), r = 2 + 4 * size / most;
    flow.drawn.dots.push({side, level, path, name, i, x, y, share: size / most,
      element: drawn("circle", {cx: x, cy: y, r: r.toFixed(2), class: tone})});
  });
}

const dotAt = (side, level, i) =>
  flow.drawn.dots.find(dot => dot.side === side && dot.level === level && dot.i === i);

// What flows into a level: along the residual connections, and by attention.
function drawLines({side, level, path}, sides, shares) {
  if (!level) return;
  const cross = path.endsWith("cross_attention"), top = sides.encoder.length - 1;
  const tone = isBack() ? "pull" : "way";
  const add = (from, i, j, share, looks, kind, width) => {
    const to = dotAt(side, level, i);
    flow.drawn.lines.push({path, from, to, i, j, share, looks, element: drawn("line", {x1: from.x,
      y1: from.y, x2: to.x, y2: to.y, class: kind, "stroke-width": width.toFixed(2)})});
  };
  for (const i of upTo(rowsOf(side))) {
    const from = dotAt(side, level - 1, i);
    add(from, i, i, from.share, false, tone, 0.5 + 2.5 * from.share);
  }
  shares?.forEach((row, i) => row.forEach((share, j) => {
    if (share > 0.03)
      add(cross ? dotAt("encoder", top, j) : dotAt(side, level - 1, j), i, j, share, true,
        cross ? "look cross" : "look", 0.4 + 3.6 * share);
  }));
}

function drawWords(sides) {
  const {source, input, expected} = flow.facts, top = sides.decoder.length - 1;
  const add = (texts, side, level, isExpected) => texts.forEach((text, i) => {
    const dot = dotAt(side, level, i), word = {text, dot, i, isExpected};
    word.element = drawWord(dot, text, isExpected ? -1 : 1);
    flow.drawn.words.push(word);
  });
  add(source, "encoder", 0, false);
  add(input, "decoder", 0, false);
  add(expected, "decoder", top, true);
}

// A word below a row (down is 1) or above it (-1).
function drawWord({x, y: row}, text, down) {
  const {isUpright, font, tall} = flow.drawn.size, y = row + (down > 0 ? tall : -18);
  const place = isUpright(text)
    ? {"text-anchor": down > 0 ? "end" : "start",
      transform: `translate(${x + font / 3} ${y - 4}) rotate(-90)`}
    : {x, y: y + (down > 0 ? 8 : 0), "text-anchor": "middle"};
  return drawn("text", {...place, class: "token"}, text);
}

// A label at the bottom or at the top of a side.
const drawLabel = (side, text, y) => drawn("text", {"text-anchor": "middle", class: "label", y,
  x: placeOfRow(side, 0, (rowsOf(side) - 1) / 2)[0]}, text);

const isHere = path => pathOf(stepNow().name) === path;

// A sub-layer as a button: a click goes to the step that says most about it.
function levelBox({side, level, path}) {
  const [x, y] = placeOfRow(side, level, 0);
  const box = drawn("g", {role: "button", tabindex: 0, "aria-label": placeName(path),
    class: isHere(path) ? "level chosen" : "level"},
  drawn("title", {}, placeName(path)),
  drawn("rect", {x: x - 22, y: y - 8, width: rowsOf(side) * UNIT - 6, height: flow.drawn.size.tall - 6,
    rx: 5}));
  box.dataset.path = path;
  box.onkeydown = event => {
    if (!["Enter", " "].includes(event.key)) return;
    event.preventDefault();
    stopPlaying();
    goToPart(path);
  };
  return box;
}

// The name that is written on a box.
function boxName({side, level, path, kind}) {
  const [x, y] = placeOfRow(side, level, 0), room = rowsOf(side) * UNIT - 6;
  const {font, tall} = flow.drawn.size, names = BOX_NAMES[kind].map(text =>
    flow.info.norm === "pre" ? text.replace(/^(.*), add & norm$/, "norm, $1, add") : text);
  const name = names.find(text => text.length * font * 0.54 < room - 8) || names[names.length - 1];
  return drawn("text", {x: x - 22 + room / 2, y: y - 11 + (tall + font) / 2, "text-anchor": "middle",
    class: isHere(path) ? "box-name chosen" : "box-name", "paint-order": "stroke",
    "aria-hidden": "true"}, name);
}

// ---------------------------------------------------------------- pointing

// Lights a trace, and dims the rest.
function light(trace) {
  const svg = $("flow-picture");
  svg.classList.toggle("pointing", Boolean(trace && trace.dots.length));
  for (const lit of svg.querySelectorAll(".lit")) lit.classList.remove("lit");
  if (trace) for (const {element} of [...trace.lines, ...trace.dots, ...trace.words])
    element.classList.add("lit");
}

const DOT_REACH = 13, LINE_REACH = 5;    // units

// What the pointer is at: a word, the nearest dot, the nearest line, or nothing.
function thingAt({clientX, clientY, target}) {
  const word = flow.drawn.words.find(({element}) => element === target);
  if (word) return {word};
  const {x, y} = new DOMPoint(clientX, clientY)
    .matrixTransform($("flow-picture").getScreenCTM().inverse());
  const nearest = (list, distance, reach) => {
    const [best] = list.map(one => [distance(one), one]).sort(([a], [b]) => a - b);
    return best && best[0] < reach ? best[1] : null;
  };
  const dot = nearest(flow.drawn.dots, one => Math.hypot(one.x - x, one.y - y), DOT_REACH);
  if (dot) return {dot};
  const line = nearest(flow.drawn.lines, ({from, to}) => toLine(x, y, from, to), LINE_REACH);
  return line ? {line} : null;
}

// How far a point is from a line segment.
function toLine(x, y, a, b) {
  const [dx, dy] = [b.x - a.x, b.y - a.y];
  const t = Math.max(0, Math.min(1, ((x - a.x) * dx + (y - a.y) * dy) / (dx * dx + dy * dy)));
  return Math.hypot(a.x + t * dx - x, a.y + t * dy - y);
}

const wordOfDot = ({side, i}) => (side === "encoder" ? flow.facts.source : flow.facts.input)[i];

// What a row looks at most, in words.
const looksAt = lines => lines.filter(({looks}) => looks).sort((a, b) => b.share - a.share).slice(0, 4)
  .map(({from, share}) => `“${wordOfDot(from)}” ${share.toFixed(2)}`).join(", ");

function aboutThing({line, dot, word}) {
  const {lines, levels} = flow.drawn, sends = isBack();
  if (line) return line.looks ? `“${wordOfDot(line.to)}” ` + (sends
    ? `sends back to “${wordOfDot(line.from)}” ${line.share.toFixed(2)} of the most that is sent in`
    : `looks at “${wordOfDot(line.from)}”: ${line.share.toFixed(2)}, the mean of the heads of`) +
    ` ${placeName(line.path)}` : `“${wordOfDot(line.to)}” goes on, into ${placeName(line.path)}`;
  const looks = dot && looksAt(lines.filter(one => one.to === dot));
  if (dot) return `The vector of “${wordOfDot(dot)}” in ${placeName(dot.path)}` +
    (looks && !sends ? `: it looks at ${looks}` : "");
  if (!word.isExpected) return `“${word.text}”, and all lines by which others look at it`;
  const cross = levels.filter(({path}) => path.endsWith("cross_attention")).at(-1).path;
  return `Where “${word.text}” is expected, the model says “${flow.said[word.i]}”; its last ` +
    `cross-attention ${sends ? "sends back to" : "looks at"} ` + looksAt(lines.filter(one => one.path === cross && one.i === word.i));
}

// The number that stands for what was clicked: for a line, its weight; for a vector, its
// largest number; for an expected word, its loss or, on the way back, its logit.
async function numberOfThing({line, dot, word}) {
  const what = isBack() ? "gradient" : "value";
  if (line?.looks) return {name: `${line.path}.weights`, what, j: line.j,
    i: flow.head * rowsOf(line.to.side) + line.i};
  if (word?.isExpected) return isBack() ? {name: "output.logits", what, i: word.i,
    j: flow.facts.target_words.indexOf(word.text)} : {name: "output.loss", what, i: word.i, j: 0};
  const {name, i} = dot || line?.to || word.dot, row = (await matrixOf(name))[what][i];
  const sizes = row.map(Math.abs);
  return {name, what, i, j: sizes.indexOf(Math.max(...sizes))};
}

function beginPicture() {
  const svg = $("flow-picture");
  flow.travelers = drawn("g", {id: "travelers"});
  new ResizeObserver(() => {
    const wide = svg.clientWidth;    // a scroll bar that comes or goes does not count
    if (flow.drawn && wide && Math.abs(wide - flow.drawn.size.wide) > 20) inTurn(showPicture);
  }).observe(svg);
  svg.onpointermove = event => {
    if (!flow.drawn || flow.playing) return;
    const thing = thingAt(event);
    svg.classList.toggle("on-thing", Boolean(thing));
    pointAtThing(thing);
  };
  svg.onpointerleave = () => { if (flow.drawn && !flow.playing) pointAtThing(null); };
  svg.onclick = event => {
    stopPlaying();
    const thing = thingAt(event), box = event.target.closest(".level");
    if (thing) inTurn(async () => pinElsewhere(await numberOfThing(thing)));
    else if (box) goToPart(box.dataset.path);
  };
}

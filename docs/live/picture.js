// The picture of One sentence: both stacks, and what flows in them.

const UNIT = 50, LEVEL = 42;    // of the picture: a token, and a sub-layer

// The levels of one side, from the bottom: the stage whose rows are drawn there.
function levelsOf(side) {
  const start = side === "encoder" ? "source" : "target";
  const stages = [...flow.stages.keys()];
  const inputs = stages.filter(name => name.startsWith(start + "."));
  const subs = [...new Set(stages.filter(name => name.startsWith(side + ".")).map(pathOf))]
    .filter(path => path.includes("."));
  return [{path: start, name: inputs[inputs.length - 1]}, ...subs.map(path => {
    const own = stages.filter(name => pathOf(name) === path);
    return {path, name: own[own.length - 1]};
  })];
}

// Where row i of a level stands.
function placeOfRow(side, level, i) {
  const S = flow.facts.source.length, top = flow.picture.height - 34;
  return [(side === "encoder" ? 28 : 28 + (S + 1) * UNIT) + i * UNIT, top - level * LEVEL];
}

const sizesNow = stage =>
  (stepNow().way === "forward" ? stage.sizes : stage.pulls) || stage.sizes;

// The mean weights of all heads of a sub-layer.
function meanWeights({value}, T) {
  const H = value.length / T;
  return upTo(T).map(i => value[i].map((_, j) =>
    upTo(H).reduce((sum, h) => sum + value[h * T + i][j] / H, 0)));
}

async function showPicture() {
  const back = stepNow().way !== "forward";
  const sides = {encoder: levelsOf("encoder"), decoder: levelsOf("decoder")};
  const {source, input, expected} = flow.facts;
  flow.picture = {width: 40 + (source.length + input.length + 1) * UNIT,
    height: 74 + sides.decoder.length * LEVEL};
  const boxes = [], parts = [], marks = [];
  for (const [side, levels] of Object.entries(sides))
    for (const [level, {path, name}] of levels.entries()) {
      boxes.push(levelBox(side, level, path));
      if (level) parts.push(...await flowInto(side, level, path, sides, back));
      const sizes = sizesNow(flow.stages.get(name)), most = Math.max(...sizes, 1e-30);
      sizes.forEach((size, i) => {
        const [cx, cy] = placeOfRow(side, level, i);
        marks.push(drawn("circle", {cx, cy, r: (2 + 4 * size / most).toFixed(2),
          class: back ? "pull" : "size"}));
      });
    }
  const word = (side, level, i, text, dy) => {
    const [x, y] = placeOfRow(side, level, i);
    return drawn("text", {x, y: y + dy, "text-anchor": "middle"}, text);
  };
  parts.push(...marks, ...source.map((text, i) => word("encoder", 0, i, text, 24)),
    ...input.map((text, i) => word("decoder", 0, i, text, 24)),
    ...expected.map((text, i) => word("decoder", sides.decoder.length - 1, i, text, -22)));
  const {width, height} = flow.picture;
  $("flow-picture").setAttribute("viewBox", `0 0 ${width} ${height}`);
  $("flow-picture").replaceChildren(...boxes, ...parts);
}

// A sub-layer as a button: a click goes to its first step.
function levelBox(side, level, path) {
  const rows = side === "encoder" ? flow.facts.source.length : flow.facts.input.length;
  const [x, y] = placeOfRow(side, level, 0), chosen = pathOf(stepNow().name) === path;
  const box = drawn("g", {role: "button", tabindex: 0, "aria-label": placeName(path),
    class: chosen ? "level chosen" : "level"},
  drawn("title", {}, placeName(path)),
  drawn("rect", {x: x - 22, y: level ? y - 7 : y - 10, width: rows * UNIT - 2,
    height: level ? LEVEL - 6 : 40, rx: 5}));
  box.onclick = () => goToPart(path);
  box.onkeydown = event => {
    if (!["Enter", " "].includes(event.key)) return;
    event.preventDefault();
    goToPart(path);
  };
  return box;
}

// What flows into a level: along the residual connections, and by attention.
async function flowInto(side, level, path, sides, back) {
  const rows = side === "encoder" ? flow.facts.source.length : flow.facts.input.length;
  const tone = back ? "pull" : "way";
  const line = ([x1, y1], [x2, y2], width, kind) => drawn("line", {x1, y1, x2, y2,
    class: kind, "stroke-width": width.toFixed(2)});
  const size = sizesNow(flow.stages.get(sides[side][level - 1].name));
  const most = Math.max(...size, 1e-30);
  const lines = upTo(rows).map(i => line(placeOfRow(side, level - 1, i),
    placeOfRow(side, level, i), 0.5 + 2.5 * size[i] / most, tone));
  if (path.endsWith("feed_forward")) return lines;
  const cross = path.endsWith("cross_attention"), top = sides.encoder.length - 1;
  const found = await matrixOf(path + ".weights");
  meanWeights(found, rows).forEach((row, i) => row.forEach((weight, j) => {
    if (weight > 0.03)
      lines.push(line(cross ? placeOfRow("encoder", top, j) : placeOfRow(side, level - 1, j),
        placeOfRow(side, level, i), 4 * weight, cross ? "look cross" : "look"));
  }));
  return lines;
}

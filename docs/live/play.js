// Play: dots travel the lines of the picture, part by part, there and back.

const PART = 1250, WAY = 19000;    // milliseconds at speed 1: for a part, and at most for a way

// Both ways, part by part, and then Adam.
function partsToPlay() {
  const paths = flow.drawn.order;
  return [...paths.map(path => ({path, at: path === "output"
    ? stepOf("forward", "output.probabilities") : tellingStep(path)})),
  {path: "output", at: tellingStep("output"), isLoss: true},
  ...[...paths].reverse().map(path => ({path, back: true, at: tellingStep(path, true)})),
  {at: flow.steps.length - 1}];
}

// Where each traveler begins and ends: along the lines into a part; into the lowest
// level from its words, and finally to the expected words.
function tracksOf({path, isLoss}, only = () => true) {
  const {lines, words} = flow.drawn;
  const level = dot => dot.path === path && !dot.level;
  const below = ({x, y}) => ({x, y: y + flow.drawn.size.tall - 6}), above = ({x, y}) => ({x, y: y - 22});
  if (isLoss) return words.filter(word => word.isExpected)
    .map(({dot}) => ({from: dot, to: above(dot), share: 1}));
  return [...words.filter(({dot, isExpected}) => !isExpected && level(dot))
    .map(({dot}) => ({from: below(dot), to: dot, share: 1, i: dot.i})),
  ...lines.filter(line => line.path === path)].filter(only);
}

// Moves dots along a part, for this time. Its promise is kept when the time is over, or when
// something else is played. Nothing travels if the reader prefers reduced motion.
function travel(part, time, only) {
  const turn = flow.turn, tracks = isStill() ? [] : tracksOf(part, only);
  const dots = tracks.map(({share, element}) => drawn("circle", {r: (3 + 4 * share).toFixed(1),
    class: part.back ? "pull" : element ? element.getAttribute("class") : "size"}));
  flow.travelers.replaceChildren(...dots);
  return new Promise(done => {
    let began = 0;
    const place = far => dots.forEach((dot, n) => {
      const {from, to} = tracks[n], along = part.back ? 1 - far : far;
      dot.setAttribute("cx", from.x + along * (to.x - from.x));
      dot.setAttribute("cy", from.y + along * (to.y - from.y));
    });
    const move = now => {
      began ||= now;
      const t = Math.min(1, (now - began) / Math.max(1, 0.85 * time));
      place(t * t * (3 - 2 * t));
      if (now - began < time && turn === flow.turn) return requestAnimationFrame(move);
      flow.travelers.replaceChildren();
      return done();
    };
    place(0);    // the first frame may be drawn before the first move
    requestAnimationFrame(move);
  });
}

// While it plays, what is not reached yet is faint.
function showReached() {
  const {order, lines, dots} = flow.drawn, now = flow.playing && order.indexOf(flow.playing.path);
  for (const {path, element} of [...lines, ...dots]) {
    const at = order.indexOf(path);
    element.classList.toggle("future", Boolean(flow.playing?.path)
      && (flow.playing.back ? at < now : at > now));
  }
}

// Plays parts one after the other, by the clock: a slow device shows fewer frames.
async function playParts(turn, parts, time, goTo) {
  let end = performance.now();
  for (const part of parts) {
    if (turn !== flow.turn) return;
    flow.playing = part;
    showReached();
    const shown = goTo?.(part);
    end = Math.max(end, performance.now() - time()) + time();
    await (part.path ? travel(part, end - performance.now()) : shown);
  }
  if (turn === flow.turn) stopPlaying();
}

// From where the reader is, or from the beginning.
async function play() {
  const all = partsToPlay(), now = stepNow(), back = now.way === "backward";
  let n = all.findIndex(({path, back: goes}) => path === pathOf(now.name) && Boolean(goes) === back);
  if (n < 0 || flow.at === flow.steps.length - 1) n = 0;
  $("speeds").hidden = false;
  $("take-tour").hidden = true;
  flow.playing = all[n];
  showPlay();
  await playParts(++flow.turn, all.slice(n), () => Math.min(PART, WAY / (all.length / 2)) / Number($("speed").value),
    part => inTurn(async () => { if (flow.playing === part) await goToStep(part.at); }));
}

function stopPlaying() {
  if (!flow.playing) return;
  flow.turn++;
  flow.playing = null;
  showPlay();
  if (flow.drawn) showReached();
}

function showPlay() {
  $("play").textContent = flow.playing ? "Pause" : "Play";
  document.body.classList.toggle("playing", Boolean(flow.playing));
}

function beginPlay() {
  flow.turn = 0;
  $("play").onclick = () => {
    if (flow.playing) stopPlaying();
    else if (flow.drawn) quietly(play());
  };
  addEventListener("tab", stopPlaying);
}

// ---------------------------------------------------------------- the tour

const TIMES = 10;    // steps of Adam

const TOUR = [
  {says: () => `Words become vectors: each word is a row of ${sizeIn("d-model")} numbers, and its ` +
      "position is added.",
    stage: "source.positions", moves: {path: "source"}},
  {says: () => "One query meets all keys: “car” asks every word, and takes most from those whose keys " +
      "fit.",
    stage: "encoder.1.self_attention.weights", moves: {path: "encoder.1.self_attention"}, only: ({i}) => i === 2},
  {says: () => "The mask: a word of the translation sees itself and those before it, and none that is still to come.",
    stage: "decoder.0.self_attention.weights", moves: {path: "decoder.0.self_attention"}, only: ({i}) => i === 2},
  {says: () => "Two stacks meet: the rows of the translation ask, and the words of the source answer.",
    stage: "decoder.1.cross_attention.weights", moves: {path: "decoder.1.cross_attention"}},
  {says: () => "The loss: “verte” was expected, and the model says “rouge”; so its surprise is large " +
      "at this word.",
    stage: "output.loss", moves: {path: "output", isLoss: true}},
  {says: () => "Back through both stacks: each number learns in which direction the loss would fall.",
    stage: "output.logits", way: "backward", all: true},
  {says: () => "One parameter moves: of all of them, the one with the largest gradient takes a step of Adam.",
    stage: "adam.step", way: "adam", then: stepOfOne},
  {says: () => `The sentence again, while all parameters take ${TIMES} such steps.`,
    stage: "output.probabilities", then: learnSentence, all: true},
];

let tourAt = -1;

// The pane tells what this step does, too, but on a phone it has no room for that.
async function stepOfOne() {
  const {name, i, j} = flow.pinned, {before, after, loss} = await takeStep();
  if (TOUR[tourAt]?.then === stepOfOne) $("tour-says").textContent += ` ${name}${indices(name, i, j)} goes from ${four(before)} to ` +
    `${four(after)}, and the loss from ${four(flow.computed.loss)} to ${four(loss)}.`;
}

// All parameters learn from this sentence; the loss falls while the reader watches.
async function learnSentence() {
  for (let step = 1; step <= TIMES && tourAt === TOUR.length - 1; step++) {
    await flow.engine.call("flow_learn", step);
    flow.learned = true;
    await computeSentence();
    $("tour-says").textContent = `The sentence again, after all parameters have taken ${step} of ` +
      `${TIMES} such steps` + (step < TIMES ? "." : ": better.");
  }
}

async function showTour(at) {
  tourAt = at;
  flow.playing = null;
  const turn = ++flow.turn, {says, stage, way = "forward", moves, only, then, all} = TOUR[at];
  $("tour").hidden = false;
  $("tour-says").textContent = says();
  $("tour-count").textContent = `${at + 1} of ${TOUR.length}`;
  switchOff($("tour-back"), at === 0);
  $("tour-next").textContent = at === TOUR.length - 1 ? "Train one" : "Next";
  await inTurn(() => goToStep(stepOf(way, stage)));
  if (turn !== flow.turn) return;
  scrollToPinned();
  if (only) light(withEnds({lines: flow.drawn.lines.filter(line => line.path === moves.path && only(line))}));
  if (then) await inTurn(then);
  while (turn === flow.turn && moves) {
    await travel(moves, 2 * PART, only);
    if (isStill()) return;
  }
  if (all) await playParts(turn, partsToPlay().filter(part => part.path && isBack() === Boolean(part.back)),
    () => PART / 2);
}

// Where the pane is too low for a matrix, scrolls it to the pinned number.
function scrollToPinned() {
  const place = flow.pinned, shown = $("pane"), top = element => element.getBoundingClientRect().top;
  shown.scrollTop = 0;
  const matrix = place && matrixWith(place);
  if (matrix?.canvas)
    shown.scrollTop = top(matrix.canvas) + matrix.boxOf(...matrix.indexOf(place))[1] - top(shown) - shown.clientHeight / 2;
}

async function endTour() {
  flow.turn++;
  tourAt = -1;
  flow.playing = null;
  $("tour").hidden = true;
  $("take-tour").focus();
  if (flow.learned) await inTurn(undoChanges);
}

// The tour is of the first sentence, and of the model of the page.
async function takeTour() {
  stopPlaying();
  [$("flow-source").value, $("flow-target").value] = FIRST_SENTENCE;
  for (const key of ["sentence", "target"]) remember(key, "");
  await programThere;
  if (flow.key !== "page" || flow.edits.size) await choose("page");
  else await inTurn(readSentence);
  await showTour(0);
  $("tour-next").focus();
}

function beginTour() {
  $("take-tour").onclick = () => quietly(takeTour());
  $("tour-back").onclick = () => { if (tourAt > 0) quietly(showTour(tourAt - 1)); };
  $("tour-end").onclick = () => quietly(endTour());
  $("tour-next").onclick = async () => {
    if (tourAt < TOUR.length - 1) return quietly(showTour(tourAt + 1));
    await endTour();
    return trainAsBook();
  };
}

// Two trainings side by side: the same seed, one switch different.

const NO_DIFFERENCE = {name: "", options: {}, bit: 0};

// What a second training can differ in: what can be broken, and each choice among
// the options. The tokens are the same, or the losses would not compare.
function differences() {
  const found = new Map();
  for (const [key, {name, options: changed, bit}] of Object.entries(BREAKS)) {
    const isBroken = $("break-" + key).checked, others = {};
    for (const [option, value] of Object.entries(changed))
      others[option] = isBroken ? initialOf(options.find(o => o.name === option))
        : String(typeof value === "function" ? value(TASKS[$("task").value].options) : value);
    found.set(key, {name: isBroken ? `without “${name}”` : name, options: others, bit});
  }
  for (const {name, type, choices} of options)
    if (["choice", "flag"].includes(type) && name !== "tokens")
      for (const value of choices.split("|").filter(value => value !== valueOf(name)))
        found.set(`${name}-${value}`, {name: `${name} ${value}`, options: {[name]: value}, bit: 0});
  return found;
}

const differenceNow = () => differences().get($("beside").value) || NO_DIFFERENCE;

// Only what differs from the fields can be chosen.
function fillBeside() {
  const chosen = $("beside").value;
  $("beside").replaceChildren(make("option", {value: ""}, "no second model"),
    ...[...differences()].map(([value, {name}]) => make("option", {value}, name)));
  chooseBeside(chosen);
}

function chooseBeside(key) {
  $("beside").value = differences().has(key) ? key : "";
}

// Does something with both at once. A second one that fails ends alone.
const together = (training, work) => Promise.all(training.both.map(one =>
  work(one).catch(error => {
    if (one === training || training !== current) throw error;
    one.engine.end();
    one.ended = true;
    report(`The second training has ended at step ${one.steps}: ${error.message}`);
  })));

// Both for about a tenth of a second, and then the slower one until it has come as far.
async function goTogether(training, until) {
  await together(training, one => one.go(until));
  const far = Math.max(...training.both.map(one => one.steps));
  await together(training, async one => {
    while (one.steps < far) await one.go(far);
  });
}

// What the second one said at a point of the timeline.
const secondAt = ({step}) => current.second?.points.find(point => point.step === step);

function secondSays(point, n) {
  const sample = secondAt(point)?.samples[n];
  return current.second
    ? [make("td", {}, sample ? (sample.right ? "✓ " : "") + (sample.said || NOTHING) : "–")]
    : [];
}

function showSecond(point) {
  const {second} = current, at = secondAt(point);
  for (const cell of document.querySelectorAll(".second")) cell.hidden = !second;
  if (!second) return;
  const number = (x, digits) => x === undefined || x === null ? "–" : x.toFixed(digits);
  $("second-name").textContent = `the second says (${second.difference.name})`;
  $("second-held-out").textContent = number(at?.loss, 4);
  $("second-exact").textContent = at ? number(100 * at.exact, 1) + " %" : "–";
}

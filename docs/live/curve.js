// The curve of a training: the loss of each step, that on unseen pairs, and the
// learning rate; and the loss of another training, to compare.

const unseenLosses = ({points}) => points.map(({step, loss}) => [step, loss]);

function drawCurve() {
  const {rows, points, facts, second} = current, old = second ? null : before;
  const first = Math.max(1, ...[current, second, old].map(t => t?.points[0].loss || 0));
  const most = Math.max(...[current, second].filter(Boolean)
    .flatMap(t => [...smooth(t.rows), ...unseenLosses(t)]).map(([, loss]) => loss));
  const high = Math.ceil(Math.min(2 * first, Math.max(first + 0.2, most)));
  const peak = Math.max(1e-9, ...rows.map(row => row[2]));
  const chosen = points[$("timeline").value] || points[0];
  drawCurves(facts.steps, high, [
    ...old ? [["before", smooth(old.rows)]] : [],
    ["rate", rows.map(row => [row[0], high * row[2] / peak])],
    ["each", rows], ["loss", smooth(rows)], ["held-out", unseenLosses(current)],
    ...second ? [["second-loss", smooth(second.rows)],
      ["second-held-out", unseenLosses(second)]] : []], chosen.step);
  describeCurve(peak, old);
}

// In words, and in the legend.
function describeCurve(peak, old) {
  const {rows, steps, facts, second} = current, last = second?.rows[second.rows.length - 1];
  $("curve").setAttribute("aria-label", `The loss at step ${steps} of ` +
    `${facts.steps} is ${$("loss").textContent}, on unseen pairs ` +
    `${$("held-out").textContent}.` + (last
    ? ` That of the second, ${second.difference.name}, is ${last[1].toFixed(4)}.` : ""));
  $("legend-rate").textContent = rows.length
    ? `learning rate, up to ${peak.toPrecision(2)}` : "learning rate";
  $("legend-second").textContent = second ? second.difference.name : "";
  $("legend-before").hidden = !old;
  if (old)
    $("legend-before").textContent = "loss of an earlier training: " +
      (old.breaks.map(name => BREAKS[name].name).join("; ") || "nothing broken");
}

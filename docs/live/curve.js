// The curve of a training run: the loss of each step, the loss on unseen pairs, and the
// learning rate; and the loss of another run, for comparison.

function drawCurve() {
  const {rows, points, facts} = current, unseen = points.map(({step, loss}) => [step, loss]);
  const first = Math.max(1, ...[current, before].map(t => t?.points[0].loss || 0));
  const most = Math.max(...[...smooth(rows), ...unseen].map(([, loss]) => loss));
  const high = Math.ceil(Math.min(2 * first, Math.max(first + 0.2, most)));
  const peak = Math.max(1e-9, ...rows.map(row => row[2]));
  const chosen = points[$("timeline").value] || points[0];
  drawCurves(facts.steps, high, [
    ...before ? [["before", smooth(before.rows)]] : [],
    ["rate", rows.map(row => [row[0], high * row[2] / peak])],
    ["each", rows], ["loss", smooth(rows)], ["held-out", unseen]], chosen.step);
  describeCurve(peak);
}

// Says in words, for a screen reader, and in the legend what the curve shows.
function describeCurve(peak) {
  const {rows, steps, facts} = current;
  $("curve").setAttribute("aria-label", `The loss at step ${steps} of ${facts.steps} is ` +
    `${$("loss").textContent}, on unseen pairs ${$("held-out").textContent}.`);
  $("legend-rate").textContent = rows.length
    ? `learning rate, up to ${peak.toPrecision(2)}` : "learning rate";
  $("legend-before").hidden = !before;
  if (before) $("legend-before").textContent = "loss of an earlier run: " +
    (before.breaks.map(name => BREAKS[name].name).join("; ") || "nothing broken");
}

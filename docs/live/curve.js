// The curve of a training: the loss of each step, that on unseen pairs, and the
// learning rate; and the loss of another training, to compare.

// The mean of each loss with those around it.
function smooth(rows) {
  const reach = Math.ceil(rows.length / 100);
  return rows.map((row, i) => {
    const near = rows.slice(Math.max(0, i - reach), i + reach + 1);
    return [row[0], near.reduce((sum, r) => sum + r[1], 0) / near.length];
  });
}

// Draws the loss of each step, that on unseen pairs, and the learning rate.
function drawCurve() {
  const W = 640, H = 260, LEFT = 34, RIGHT = 8, TOP = 8, BOTTOM = 24;
  const {rows, points, facts, second} = current, old = second ? null : before;
  const shown = [current, second, old].filter(Boolean);
  const first = Math.max(1, ...shown.map(t => t.points[0].loss || 0));
  const most = Math.max(...[current, second].filter(Boolean).flatMap(t =>
    [...smooth(t.rows), ...t.points.map(p => [p.step, p.loss])]).map(p => p[1]));
  const high = Math.ceil(Math.min(2 * first, Math.max(first + 0.2, most)));
  const peak = Math.max(1e-9, ...rows.map(row => row[3]));
  const x = step => (LEFT + (W - LEFT - RIGHT) * step / facts.steps).toFixed(1);
  const y = share =>
    (H - BOTTOM - (H - TOP - BOTTOM) * Math.min(1, share)).toFixed(1);
  const line = (list, name) => drawn("polyline", {class: name,
    points: list.filter(p => p[1] !== null && p[0] <= facts.steps)
      .map(p => `${x(p[0])},${y(p[1])}`).join(" ")});
  const losses = (list, name) => line(list.map(p => [p[0], p[1] / high]), name);
  const label = (text, place) => drawn("text", place, text);
  const parts = [];
  for (let loss = 0; loss <= high; loss++)
    parts.push(drawn("line", {class: "grid", x1: LEFT, x2: W - RIGHT,
      y1: y(loss / high), y2: y(loss / high)}),
    label(loss, {x: LEFT - 6, y: Number(y(loss / high)) + 4, "text-anchor": "end"}));
  for (let k = 0; k <= 4; k++)
    parts.push(label(Math.round(facts.steps * k / 4), {x: x(facts.steps * k / 4),
      y: H - 6, "text-anchor": k === 4 ? "end" : "middle"}));
  if (old) parts.push(losses(smooth(old.rows), "before"));
  const chosen = points[$("timeline").value] || points[0];
  parts.push(line(rows.map(row => [row[0], row[3] / peak]), "rate"),
    losses(rows, "each"), losses(smooth(rows), "loss"),
    losses(points.map(p => [p.step, p.loss]), "held-out"),
    ...second ? [losses(smooth(second.rows), "second-loss"),
      losses(second.points.map(p => [p.step, p.loss]), "second-held-out")] : [],
    drawn("line", {class: "chosen", x1: x(chosen.step), x2: x(chosen.step),
      y1: TOP, y2: H - BOTTOM}));
  $("curve").replaceChildren(...parts);
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

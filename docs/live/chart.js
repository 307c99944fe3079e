// Curves over the steps of a training, as this page and write.html draw them.

// Each step with the mean of its loss and of the losses around it.
function smooth(rows) {
  const reach = Math.ceil(rows.length / 100);
  return rows.map((row, i) => {
    const near = rows.slice(Math.max(0, i - reach), i + reach + 1);
    return [row[0], near.reduce((sum, r) => sum + r[1], 0) / near.length];
  });
}

// Draws this many steps, and losses up to `high`, a whole number. A curve is a pair of a CSS
// class and a list of pairs, step and loss; one step may be marked as chosen.
function drawCurves(steps, high, curves, chosen) {
  const W = 640, H = 260, LEFT = 34, RIGHT = 8, TOP = 8, BOTTOM = 24;
  const x = step => (LEFT + (W - LEFT - RIGHT) * step / steps).toFixed(1);
  const y = loss => (H - BOTTOM - (H - TOP - BOTTOM) * Math.min(1, loss / high)).toFixed(1);
  const parts = [];
  for (let loss = 0; loss <= high; loss++)
    parts.push(drawn("line", {class: "grid", x1: LEFT, x2: W - RIGHT, y1: y(loss), y2: y(loss)}),
      drawn("text", {x: LEFT - 6, y: Number(y(loss)) + 4, "text-anchor": "end"}, loss));
  for (let k = 0; k <= 4; k++)
    parts.push(drawn("text", {x: x(steps * k / 4), y: H - 6,
      "text-anchor": k === 4 ? "end" : "middle"}, Math.round(steps * k / 4)));
  for (const [name, rows] of curves)
    parts.push(drawn("polyline", {class: name, points: rows
      .filter(([step, loss]) => loss !== null && step <= steps)
      .map(([step, loss]) => `${x(step)},${y(loss)}`).join(" ")}));
  if (chosen !== undefined)
    parts.push(drawn("line", {class: "chosen", x1: x(chosen), x2: x(chosen), y1: TOP,
      y2: H - BOTTOM}));
  $("curve").replaceChildren(...parts);
}

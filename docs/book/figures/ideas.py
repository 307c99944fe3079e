"""Drawings of single ideas, for the walkthrough: a computation graph, strides, the
feed-forward network, Adam. gallery.py says how a picture is written.
"""
import math

from drawing import arrow, bars, box, grid, heat_map, label, line, svg, text
from gradients import times

# -------------------------------------------------------------- computation graph

PLACES = {  # of the numbers in build/examples chain: column, row, value, gradient
    "x": (0, 0, 2, 32), "w": (0, 1, 3, 16), "b": (0, 2, 1, 8), "t": (0, 3, 5, -8),
    "u": (1, 1, 7, 8), "y": (2, 1, 9, 8), "loss": (3, 1, 16, 1)}
STEPS = {"u": ("(1) u = w x + b", "wxb"), "y": ("(2) y = x + u", "xu"),
         "loss": ("(3) loss = (y - t)²", "yt")}


def chain_way(name, to):
    """The wire from a number to the step that makes another."""
    (c, r, *_), (d, s, *_) = PLACES[name], PLACES[to]
    x, y, u, v = 42 + 92 * c, 52 + 52 * r, 42 + 92 * d, 52 + 52 * s
    if (name, to) == ("x", "y"):
        return [(x + 22, y - 7), (u, y - 7), (u, v - 15)]
    if name == "t":
        return [(x + 22, y), (u, y), (u, v + 15)]
    return [(x + 22, y), (u - 22 if r == s else u - 16, v + (r > s) * 15
                          - (r < s) * 15)]


def chain_panel(back):
    parts = [text(8, 14, "backward: gradients" if back else "forward: values", "start",
                  bold=True)]
    for to, (_, givers) in STEPS.items():
        for name in givers:
            way = chain_way(name, to)
            parts.append(arrow(way[::-1], "gradient", dashes="4 3") if back
                         else arrow(way))
    for name, (column, row, value, slope) in PLACES.items():
        x, y = 42 + 92 * column, 52 + 52 * row
        parts += [box(x - 22, y - 15, 44, 30, "paper"),
                  label(x - 22, y - 15, 44, 30, "", "gradient" if back else "part"),
                  text(x, y - 2, ("d" if back else "") + name, size=11, bold=True),
                  text(x, y + 11, f"{slope if back else value}".replace("-", "−"),
                       size=11)]
    if back:
        parts += [text(140, 40, "8", size=11, fill="gradient"),
                  text(98, 72, "24", "start", 11, "gradient"),
                  text(8, 250, "x is used twice, so dx = 8 + 24", "start", 11.5,
                       "gradient")]
    else:
        parts += [text(8, 250, ",  ".join(words for words, _ in STEPS.values()),
                       "start", 11)]
    return svg(256, parts)


def computation_graph():
    """A computation graph: each number with an arrow to what is computed from it. The
    gradients go back the same ways, each step multiplying by its own derivative.
    Where two arrows come back to one number, they are added. (The numbers are those of
    the example below.)

    Two panels with the same seven boxes. Forward: w = 3, x = 2 and b = 1 lead to u =
    w x + b = 7; u and, once more, x lead to y = x + u = 9; y and t = 5 lead to loss =
    (y - t)² = 16. Backward, all arrows reversed and dashed: dloss = 1 gives dy = 8
    and dt = -8; dy gives du = 8 and, by the way around, 8 to x; du gives dw = 16,
    db = 8 and 24 to x. The two that reach x are added: dx = 32.
    """
    return chain_panel(False) + chain_panel(True)


# -------------------------------------------------------------- strides

VIEWS = [  # name, rows, cols, start, row stride, column stride
    ("m", 2, 4, 0, 4, 1), ("transposed(m)", 4, 2, 0, 1, 4),
    ("slice_cols(m, 2, 2)", 2, 2, 2, 4, 1), ("row 1, repeated", 3, 4, 4, 0, 1)]


def memory(y):
    """Eight numbers in memory, and the two steps that lead from one to another."""
    parts = [text(8, y - 34, "memory", "start", bold=True)]
    parts += grid(20, y, 40, [list("abcdefgh")])
    parts += [text(40 + 40 * i, y + 54, i, size=11, fill="faint") for i in range(8)]
    for first, last, high, words in ((0, 4, 22, "row_stride 4"),
                                     (4, 5, 12, "col_stride 1")):
        x, u = 40 + 40 * first + (8 if first else 0), 40 + 40 * last
        parts += [arrow([(x, y - 2), (x, y - high), (u, y - high), (u, y - 2)]),
                  text((x + u) / 2 if first == 0 else u + 8, y - high - 4
                       if first == 0 else y - high + 4,
                       words, "middle" if first == 0 else "start", 11)]
    return parts


def strides():
    """Four views of the same eight numbers. Each is a start, a shape and two strides:
    element (i, j) is found i · row_stride + j · col_stride numbers after the start.
    Nothing is copied.

    At the top, a strip of eight cells in memory, a to h, numbered from 0; one arrow
    leads from a across four cells to e, the row stride, another from e to f, the column
    stride. Below it four matrices. m: 2 rows of 4, start 0, strides 4 and 1: a b c d
    and e f g h. transposed(m): 4 rows of 2, start 0, strides 1 and 4: a e, b f, c g, d
    h. slice_cols(m, 2, 2): 2 rows of 2, start 2, strides 4 and 1: c d and g h. Row 1,
    repeated: 3 rows of 4, start 4, strides 0 and 1: e f g h three times.
    """
    panels = [svg(112, memory(50))]
    for name, rows, cols, start, down, right in VIEWS:
        numbers = [["abcdefgh"[start + i * down + j * right] for j in range(cols)]
                   for i in range(rows)]
        parts = [text(8, 14, name, "start", bold=True),
                 text(8, 31, f"start {start}, strides {down} and {right}", "start", 11)]
        parts += grid(8, 42, 26, numbers, lambda i, j: "part")
        panels.append(svg(152, parts, 176))
    return "".join(panels)


# -------------------------------------------------------------- feed-forward network

def made_up(rows, cols, seed):
    """Numbers from -1 to 1 for a drawing."""
    return [[math.sin(seed + 2.3 * i * i + 1.7 * j + 0.9 * i * j) for j in range(cols)]
            for i in range(rows)]


def feed_forward():
    """The feed-forward network, for six positions (made-up numbers; D = 4 and F = 16).
    Each position, a row, goes through the same two matrices by itself. ReLU lets
    nothing below zero pass: the brown cells become empty.

    From top to bottom: a matrix of 6 rows and 4 columns, x (N,D), one row framed; an
    arrow, times W₁ (D,F), plus b₁, to a wide matrix of 6 rows and 16 columns, inner
    (N,F), with cells in teal and brown for numbers above and below zero; an arrow,
    ReLU, to the same matrix without the brown cells, active (N,F); an arrow, times W₂
    (F,D), plus b₂, to a matrix of 6 rows and 4 columns, out (N,D). The framed row is the
    same in all four.
    """
    x = made_up(6, 4, 0.4)
    inner = times(x, made_up(4, 16, 1.1))
    most = max(abs(v) for row in inner for v in row)
    inner = [[v / most for v in row] for row in inner]
    active = [[max(0, v) for v in row] for row in inner]
    out = times(active, made_up(16, 4, 2.2))
    most = max(abs(v) for row in out for v in row)
    out = [[v / most for v in row] for row in out]
    parts, y, cell, left = [], 8, 14, 100
    names = [("x (N,D)", x, "times W₁ (D,F), plus b₁"),
             ("inner (N,F)", inner, "ReLU: what is below zero becomes 0"),
             ("active (N,F)", active, "times W₂ (F,D), plus b₂"),
             ("out (N,D)", out, "")]
    for name, rows, step in names:
        parts += heat_map(left, y, cell, cell, rows)
        parts += [text(left - 8, y + 46, name, "end", bold=True),
                  box(left - 2, y + 2 * cell - 1, cell * len(rows[0]) + 4, cell + 2,
                      stroke="currentColor", width=1.75)]
        y += 6 * cell
        if step:
            parts += [arrow([(left + 28, y + 4), (left + 28, y + 28)]),
                      text(left + 40, y + 20, step, "start", 11)]
            y += 32
    return svg(y + 6, parts)


# -------------------------------------------------------------- Adam

BETAS, EPSILON, TOLD = (0.9, 0.98), 1e-9, 30  # as in chapter 11; steps that are drawn


def adam_lengths(gradients):
    """m̂ / (√v̂ + ε) of each step."""
    m = v = 0
    for t, g in enumerate(gradients, 1):
        m = BETAS[0] * m + (1 - BETAS[0]) * g
        v = BETAS[1] * v + (1 - BETAS[1]) * g * g
        yield m / (1 - BETAS[0] ** t) / (math.sqrt(v / (1 - BETAS[1] ** t)) + EPSILON)


def adam_panel(title, words, gradients):
    parts = [text(8, 14, title, "start", bold=True)]
    lengths = list(adam_lengths(gradients))
    most = max(map(abs, gradients))
    rows = (("gradient", [g / most for g in gradients], "gradient", 64),
            ("step / rate", lengths, "part", 146))
    for name, values, fill, y in rows:
        axis, *lengths = bars(8, y, values, fill, 160 / TOLD, 28)
        parts += [text(8, y - 34, name, "start", 11), axis]
        parts += [line([(8, y - sign), (168, y - sign)], "faint", 0.5, "2 3")
                  for sign in (28, -28)]
        parts += lengths
    parts.append(text(8, 190, words, "start", 11))
    return svg(196, parts, 176)


def adam():
    """What Adam makes of four parameters' gradients, thirty steps each. A gradient is drawn
    relative to the largest one of its parameter, a step relative to the learning rate
    (dotted). In each step the running means keep 0.9 (β₁) and 0.98 (β₂) of what they
    were.

    Four panels, each with the gradient above and the step below, divided by the
    rate. A gradient that is always 3: every step has the length 1. One that is always
    300: the same steps. One that is 3 and -3 in turn: the first step is 1, the
    following ones soon almost 0. One that is always 3, but in step 15 is 300: steps of 1
    until then; in step 15 one of about a half; then shorter and shorter ones, down to
    a sixth in step 30, for v forgets more slowly than m.
    """
    alike = [3] * TOLD
    return adam_panel("always 3", "each step: the rate", alike) \
        + adam_panel("always 300", "the same steps", [300] * TOLD) \
        + adam_panel("3 and −3 in turn", "hardly a step", [3, -3] * (TOLD // 2)) \
        + adam_panel("3, and once 300", "short steps, long after",
                     alike[:14] + [300] + alike[15:])

"""Drawings of gradients, for the walkthrough: of a product, a norm, the loss, in
the numbers of the examples by hand. gallery.py says how a picture is written.
"""
import math

from drawing import (TINT, arrow, bars, box, decimals, grid, joint, label, legend,
                     line, number, svg, text, texts)
from mixtures import softmax

# ---------------------------------------------------------------- the product

A, B, DC = [[1, 2, 3], [4, 5, 6]], [[1, 0], [0, 1], [2, 2]], [[1, 0], [0, 2]]


def times(a, b):
    return [[sum(x * y for x, y in zip(row, column)) for column in zip(*b)]
            for row in a]


def meeting(title, names, matrices, fills, notes):
    """a on the left, b on top, c where the rows of a meet the columns of b.
    fills: for each of the three, the tints of cells {(i, j): color}."""
    x, y = 22, 118
    parts = [text(4, 14, title, "start", bold=True)]
    places = [(x, y), (x + 84, y - 84), (x + 84, y)]
    for (left, top), name, rows, fill in zip(places, names, matrices, fills):
        parts += grid(left, top, 24, rows, lambda i, j: fill.get((i, j)))
        red = "gradient" if name.startswith("d") else None
        side = left - 5 if left == x else left + 53
        parts.append(text(side, top + 16, name, "end" if left == x else "start",
                          fill=red, bold=True))
    parts += texts(4, y + 66, notes, 15)
    return svg(y + 66 + 15 * len(notes) - 8, parts, 176)


def product_gradient():
    """The product c = a b, and its gradients (red), each at the place of its matrix:
    da is the gradient of the loss with respect to a. Rows and columns count from 0. A
    number of a multiplies a row of b and adds to a row of c; its gradient comes back
    from these two rows. For a number of b it is the same with columns.

    Three drawings of one arrangement: a (2,3) on the left, b (3,2) above, and c
    (2,2) where the rows of a meet the columns of b. In the first, a_12 = 3, row
    2 of b and row 1 of c are shaded: a_12 is multiplied by each number of that
    row of b and added into that row of c. In the second, dc stands at the place
    of c and da at that of a: row 1 of dc, which is 0 2, times row 2 of b, which
    is 2 2, gives da_12 = 4. In the third, db stands at the place of b: column 2
    of a, which is 3 6, times column 1 of dc, which is 0 2, gives db_21 = 12.
    """
    da, db = times(DC, list(zip(*B))), times(zip(*A), DC)
    row = {(1, 0): "gradient", (1, 1): "gradient"}
    used = {(2, 0): "part", (2, 1): "part"}
    first = meeting("c = a b", "abc", (A, B, times(A, B)),
                    ({(1, 2): "part"}, used, {(1, 0): "part", (1, 1): "part"}),
                    ["a₁₂ times row 2 of b", "is added into row 1 of c"])
    second = meeting("da = dc bᵀ", ("da", "b", "dc"), (da, B, DC),
                     ({(1, 2): "gradient"}, used, row),
                     ["da₁₂ = row 1 of dc times", "row 2 of b = 0·2+2·2 = 4"])
    third = meeting("db = aᵀ dc", ("a", "db", "dc"), (A, db, DC),
                    ({(0, 2): "part", (1, 2): "part"}, {(2, 1): "gradient"},
                     {(0, 1): "gradient", (1, 1): "gradient"}),
                    ["db₂₁ = column 2 of a times", "column 1 of dc = 3·0+6·2 = 12"])
    return first + second + third


# ---------------------------------------------------------------- the norm

DN, N_ROW, RSTD = [0, 4, 4, 8], [-1, -1, 1, 1], 0.5


def mean(values):
    return sum(values) / len(values)


def row_of(values):
    return ", ".join(number(v).replace("-", "−") for v in values)


def dnn_mean():
    return mean([d * n for d, n in zip(DN, N_ROW)])


def split_gradient():
    """dn, its parts along (1,1,1,1) and along n, and the rest."""
    ones = [mean(DN)] * 4
    along = [n * dnn_mean() for n in N_ROW]
    return DN, ones, along, [d - a - b for d, a, b in zip(DN, ones, along)]


def gradient_bars():
    """dn as the sum of three rows of bars, and what becomes of the last."""
    whole, ones, along, rest = split_gradient()
    parts, w, ones_name = [], 18, "along (1,1,1,1)"
    for i, (sign, name, values, fill) in enumerate((
            ("", "dn", whole, "gradient"), ("=", ones_name, ones, "faint"),
            ("+", "along n", along, "faint"), ("+", "rest", rest, "gradient"))):
        x = 6 + 90 * i
        parts += [text(x - 9, 112, sign, size=15),
                  text(x + 36, 54, name, bold=True)]
        parts += bars(x, 122, values, fill, w, 6)
        parts += [text(x + (j + 0.5) * w, 152, number(v).replace("-", "−"), size=11)
                  for j, v in enumerate(values)]
    return svg(212, parts + [
        text(180, 14, f"n = ({row_of(N_ROW)})", bold=True),
        text(180, 31, f"rstd = ½, dn_mean = {number(mean(DN))}, dnn_mean = "
             + number(dnn_mean()), size=11),
        text(132, 170, "dn_mean", size=11), text(222, 170, "n · dnn_mean", size=11),
        line([(96, 176), (96, 181), (258, 181), (258, 176)], "faint"),
        text(177, 195, "removed", size=11),
        line([(276, 160), (276, 165), (348, 165), (348, 160)], "gradient"),
        text(312, 179, "times rstd = dx:", size=11, fill="gradient"),
        text(312, 195, row_of(RSTD * r for r in rest), size=11)])


def gradient_box():
    """The same three parts as the edges of a box, whose diagonal is dn."""
    lengths = [math.sqrt(sum(v * v for v in part))
               for part in split_gradient()[1:]]
    x, y, unit = 60, 122, 19

    def corner(*steps):
        a, b, c = (step * long * unit for step, long in zip(steps, lengths))
        return x + a + 0.75 * b, y - c - 0.42 * b

    parts = []
    for i in range(3):  # four edges in each direction
        for steps in [(0, 0), (0, 1), (1, 0), (1, 1)]:
            ends = [corner(*steps[:i], end, *steps[i:]) for end in (0, 1)]
            parts.append(line(ends, "faint", 0.75, "3 3"))
    path = [corner(0, 0, 0), corner(1, 0, 0), corner(1, 1, 0), corner(1, 1, 1)]
    parts += [arrow(path[0:2], "faint", 2), arrow(path[1:3], "faint", 2),
              arrow(path[2:4], "gradient", 2.5),
              arrow([path[0], path[3]], "gradient", 1.5)]
    middle = [(a + b) / 2 for a, b in zip(path[0], path[3])]
    parts += [text(path[0][0] + 70, y + 18, "along (1,1,1,1), length "
                   + number(lengths[0]) + ": removed", size=11),
              *texts(path[1][0] + 34, path[1][1] - 6,
                     ["along n,", f"length {number(lengths[1])}:", "removed"]),
              text(path[3][0] + 7, path[3][1] + 30, "rest,", "start",
                   fill="gradient", bold=True),
              text(path[3][0] + 7, path[3][1] + 44, "length "
                   + number(lengths[2]), "start", fill="gradient", bold=True),
              text(middle[0] - 12, middle[1] - 8, "dn", "end", fill="gradient",
                   bold=True)]
    return svg(150, parts)


def gradient_paths():
    """The three ways from dn to dx, for the first of four numbers."""
    n = N_ROW[0]
    ways = [("directly", "rstd dn₀", "½ · 0", RSTD * DN[0]),
            ("through the mean", "− rstd dn_mean", "− ½ · 4", -RSTD * mean(DN)),
            ("through rstd", "− rstd n₀ dnn_mean", "− ½ · (−1) · 2",
             -RSTD * n * dnn_mean())]
    parts = [text(180, 14, "dn: one row, 0, 4, 4, 8", fill="gradient", bold=True)]
    for i, (*words, value) in enumerate(ways):
        x = 60 + 120 * i
        parts += [arrow([(180, 20), (x, 50)], "gradient"),
                  label(x - 58, 52, 116, 52, words, "part", size=11),
                  arrow([(x, 104), (180 + (x - 180) * 0.07, 144)], "gradient"),
                  text((112, 193, 248)[i], (138, 124, 138)[i],
                       number(value).replace("-", "−"))]
    total = sum(value for *_, value in ways)
    return svg(190, parts + [joint(180, 150),
                             arrow([(180, 157), (180, 174)], "gradient"),
                             text(180, 187, f"dx₀ = {number(total)}"
                                  .replace("-", "−"), fill="gradient", bold=True)])


def norm_backward():
    """The backward pass of a norm, in the numbers of the example. Two parts of dn are
    removed, its mean, which is its part along (1,1,1,1), and its part along n; the rest
    goes on, times rstd. The box shows the same in space: the parts are at right angles, and dn
    is the diagonal. The last drawing shows the three ways from dn to the first number of dx.

    Three drawings. First, rows of four bars: dn, 0 4 4 8, is the sum of its part
    along (1,1,1,1), which is 4 4 4 4, its part along n, which is -2 -2 2 2, and a
    rest, -2 2 -2 2. The first two parts are gray: they are removed. The rest times
    rstd, which is a half, is dx: -1 1 -1 1. Second, the same three parts as edges
    of a box, at right angles to each other and 8, 4 and 4 long, with dn as the
    diagonal; only the upright edge, the rest, is left. Third, three ways from dn
    to the first number of dx, which meet in a sum: directly, 0; through the mean,
    -2; through rstd, 1; together -1.
    """
    return gradient_bars() + gradient_box() + gradient_paths()


# ---------------------------------------------------------------- the loss

LOGITS, EXPECTED = [1, 2, 0], 1


def loss_bars(left, title, targets):
    """For each word its logit and its probability, with an arrow to the target."""
    p, w, step, unit = softmax(LOGITS), 24, 46, 110
    parts = [text(left, 14, title, "start", bold=True)]
    parts += [line([(left, y), (left + 130, y)], "faint", 0.75)
              for y in (104, 252)]
    for j, (z, share, q) in enumerate(zip(LOGITS, p, targets)):
        x, aim = left + 8 + step * j, 252 - unit * q
        middle, top = x + w / 2, 252 - unit * share
        parts += [text(middle, 34, f"word {j}", size=11),
                  box(x, 104 - 28 * z, w, 28 * z, "part", TINT, "part") if z else "",
                  text(middle, 119, z, size=11),
                  box(x, top, w, 252 - top, "weight", TINT, "weight"),
                  line([(x - 4, aim), (x + w + 4, aim)], width=2.5),
                  arrow([(x + w + 9, top), (x + w + 9, aim)], "gradient", 1.5,
                        head=3.5),
                  text(middle, 269, decimals(share), size=11, fill="weight"),
                  text(middle, 285, decimals(q), size=11),
                  text(middle, 301, decimals(share - q), size=11,
                       fill="gradient", bold=True)]
    return parts


def logits():
    """The gradient of the loss for three logits, word 1 being expected: dz = p − q.
    The arrows lead from p to q, against the gradient, as a step of training does:
    it raises the logit of word 1 and lowers the others. The right panel has label
    smoothing 0.1.

    Two columns, each with three bars of logits, 1, 2 and 0, and below them three
    bars of probabilities p, 0.24, 0.67 and 0.09, with a mark at the target q and
    an arrow from the end of the bar to the mark. Left, without smoothing: q is 0,
    1, 0, and dz = p - q is 0.24, -0.33 and 0.09. Right, with smoothing 0.1: q is
    0.03, 0.93, 0.03, and the arrows are shorter: dz is 0.21, -0.27 and 0.06. In
    each column the three dz sum to zero.
    """
    hard = [float(j == EXPECTED) for j in range(3)]
    soft = [0.9 * q + 0.1 / 3 for q in hard]
    parts = loss_bars(44, "q: all on word 1", hard) \
        + loss_bars(212, "q smoothed, ε = 0.1", soft)
    parts += [text(32, y, name, "end", 11, fill, bold=True) for y, name, fill in (
        (119, "z", "part"), (269, "p", "weight"), (285, "q", None),
        (301, "dz", "gradient"))]
    keys, high = legend(316, [
        ("part", "logit z"), ("weight", "probability p"),
        (lambda x, y, *_: line([(x, y + 5), (x + 14, y + 5)], width=2.5), "target q"),
        (lambda x, y, *_: arrow([(x, y + 5), (x + 14, y + 5)], "gradient", 2),
         "−dz = q − p")], 8)
    return svg(316 + high, parts + keys)

"""Drawings of one idea each, for the walkthrough: numbers that can be checked by
hand, or those of the model that docs/runs/make.sh trains. plots.py says what a
picture's function is.
"""
import math

from drawing import (arrow, box, frame, grid, joint, label, legend, line, number,
                     svg, text)
from records import read

WORDS = "the red car is fast end".split()


def decimals(x):
    return f"{x:.2f}".replace("-", "−")


# ---------------------------------------------------------------- attention

def bars(x, y, values, fill, w, unit):
    """A bar for each number, up or down from y; unit: the height of 1."""
    parts = [line([(x, y), (x + w * len(values), y)], "faint", 0.75)]
    for j, value in enumerate(values):
        high = abs(value) * unit
        parts.append(box(x + j * w + 0.5, y - high if value > 0 else y, w - 1,
                         high, fill))
    return parts


def stacked(x, y, w, h, weights):
    """Weights that sum to 1, as one bar in the colours of the words."""
    parts = []
    for j, weight in enumerate(weights):
        parts.append(box(x, y, w * weight, h, f"word-{j}"))
        if weight >= 0.1:
            parts.append(text(x + w * weight / 2, y + h / 2 + 4, decimals(weight),
                              size=11, fill="paper", bold=True))
        x += w * weight
    return parts


def words_legend(y):
    return legend(y, [(f"word-{j}", word) for j, word in enumerate(WORDS)])


def vectors():
    """{matrix: rows of numbers} of one head, from vectors.csv."""
    found = {}
    for r in read("vectors.csv"):
        rows = found.setdefault(r["matrix"], {})
        rows.setdefault(int(r["row"]), []).append(float(r["value"]))
    return {name: list(rows.values()) for name, rows in found.items()}


def mixed(x, y, w, unit, weights, values):
    """What each word contributes to each number of the mixed value, on top of
    each other; a black mark is their sum."""
    parts = [line([(x, y), (x + w * len(values[0]), y)], "faint", 0.75)]
    for column in range(len(values[0])):
        ends = {True: y, False: y}
        for j, weight in enumerate(weights):
            high = weight * values[j][column] * unit
            end = ends[high > 0]
            parts.append(box(x + column * w + 1, min(end, end - high), w - 2,
                             abs(high), f"word-{j}"))
            ends[high > 0] = end - high
        total = ends[True] + ends[False] - y
        parts.append(box(x + column * w, total - 1, w, 2, "currentColor"))
    return parts


def mixture():
    """One head of a trained model, about to write "la". Its query is compared with
    the key of every word, number by number; the scores become weights, and the weights
    mix the values. Each word has one colour; "car" gives the most.

    Top left, the query of the position of "start": sixteen numbers, drawn as
    bars up and down. Below it, a row for each of "the red car is fast" and the
    end: its key, sixteen bars; the score, the dot product of query and key times
    the scale; the weight, a bar; and the value, sixteen bars. The weights are
    0.05 for "the", 0.04 for "red", 0.72 for "car", 0.18 for "is" and 0 for the
    last two; put side by side they fill one bar of length 1. At the bottom, the
    result: in each of its sixteen numbers, what each word contributes is drawn on
    top of each other in the word's colour, most of it in that of "car", and a
    black mark is the sum.
    """
    found = vectors()
    query, keys, values = found["query"][0], found["key"], found["value"]
    scores = [sum(a * b for a, b in zip(query, key)) / math.sqrt(len(query))
              for key in keys]
    weights = softmax(scores)
    parts = [text(50, 14, "query of “start”", "start", fill="query", bold=True),
             text(156, 42, "which is to write “la”", "start")]
    parts += bars(50, 38, query, "query", 6, 3)
    for x, words, fill, anchor in ((50, "keys", "key", "start"),
                                   (180, "scaled", None, "end"),
                                   (196, "weights", "weight", "start"),
                                   (262, "values", "value", "start")):
        parts.append(text(x, 76, words, anchor, fill=fill, bold=True))
    parts.append(text(180, 63, "scores,", "end", bold=True))
    for j, word in enumerate(WORDS):
        y, fill = 98 + 30 * j, f"word-{j}"
        parts.append(text(44, y + 4, word, "end", fill=fill, bold=True))
        parts += bars(50, y, keys[j], fill, 6, 3)
        parts.append(text(180, y + 4, decimals(scores[j]), "end"))
        parts += [box(196, y - 8, 30 * weights[j], 16, fill),
                  text(200 + 30 * weights[j], y + 4, decimals(weights[j]),
                       "start", 11)]
        parts += bars(262, y, values[j], fill, 6, 4)
    parts += [text(50, 290, "all weights together: 1", "start", fill="weight",
                   bold=True)]
    parts += stacked(50, 297, 308, 18, weights)
    parts += [text(50, 340, "out: the values, mixed in these proportions",
                   "start", bold=True)]
    parts += mixed(50, 382, 19.25, 15, weights, values)
    keys, high = legend(424, [(lambda x, y: box(x, y + 4, 14, 2, "currentColor"),
                               "sum of the contributions")], 50)
    return svg(424 + high, parts + keys)


def mixtures(rows, names, before, left=104):
    """Several mixtures of the same words below each other."""
    parts, high = words_legend(2)
    parts.append(text(left - 6, high + 16, before, "end", 11, "faint"))
    for i, (name, weights) in enumerate(zip(names, rows)):
        y = high + 24 + 28 * i
        parts.append(text(left - 6, y + 14, name, "end"))
        parts += stacked(left, y, 356 - left, 20, weights)
        parts.append(frame(left, y, 356 - left, 20))
    return svg(high + 24 + 28 * len(rows), parts)


def recorded(kind, layer, head):
    """Rows of weights, from red-car.csv."""
    rows = {}
    for r in read("red-car.csv"):
        if (r["kind"], r["layer"], r["head"]) == (kind, str(layer), str(head)):
            rows.setdefault(int(r["query"]), []).append(float(r["weight"]))
    return list(rows.values())


def mixture_heads():
    """The same query in all four heads of that layer. Each makes a mixture of its
    own: three take everything from "the", and one takes most from "car".

    Four bars of length 1, one for each head of cross-attention in the last layer
    when the model is to write "la", coloured by word. Heads 0, 1 and 3 are filled
    by "the", with 1.00. Head 2 has 0.05 "the", 0.04 "red", 0.72 "car" and 0.18
    "is".
    """
    return mixtures([recorded("cross", 1, h)[0] for h in range(4)],
                    [f"head {h}" for h in range(4)], "", 60)


def mixture_encoder():
    """Self-attention in the encoder: one head of the second layer. Every word makes
    a query, and here all but one of them take everything from "car".

    Six bars of length 1, one for each word of "the red car is fast" and the end,
    coloured by the word that is looked at. The bars of "the", "red", "is",
    "fast" and the end are filled by "car", with 1.00. The bar of "car" is "red"
    (0.69) and "is" (0.31).
    """
    return mixtures(recorded("encoder", 1, 1), WORDS, "query of", 60)


def mixture_decoder():
    """Cross-attention while the translation is written: each French word is made
    from a mixture of English ones. Means of the four heads of the last layer.

    Six bars of length 1, from top to bottom for "la", "voiture", "rouge", "est",
    "rapide" and the end, coloured by the English word that is looked at. "la" is
    made from "the" (0.76) and "car" (0.18), "voiture" from "car" alone, "rouge"
    from "red" alone; "est", "rapide" and the end from "is", "fast" and the end.
    """
    heads = [recorded("cross", 1, h) for h in range(4)]
    means = [[sum(weights) / 4 for weights in zip(*rows)] for rows in zip(*heads)]
    return mixtures(means, "la voiture rouge est rapide end".split(), "to write",
                    70)


# ---------------------------------------------------------------- the product

A, B, DC = [[1, 2, 3], [4, 5, 6]], [[1, 0], [0, 1], [2, 2]], [[1, 0], [0, 2]]


def times(a, b):
    return [[sum(x * y for x, y in zip(row, column)) for column in zip(*b)]
            for row in a]


def turned(m):
    return [list(column) for column in zip(*m)]


def meeting(title, names, matrices, fills, notes):
    """a on the left, b on top, c where the rows of a meet the columns of b.
    fills: for each of the three, the tints of cells {(i, j): colour}."""
    cell, x, y = 24, 22, 118
    parts = [text(4, 14, title, "start", bold=True)]
    places = [(x, y), (x + 84, y - 84), (x + 84, y)]
    for (left, top), name, rows, fill in zip(places, names, matrices, fills):
        parts += grid(left, top, cell, rows, lambda i, j: fill.get((i, j)))
        red = "gradient" if name.startswith("d") else None
        side = left - 5 if left == x else left + 53
        parts.append(text(side, top + 16, name, "end" if left == x else "start",
                          fill=red, bold=True))
    parts += [text(4, y + 66 + 15 * i, note, "start", 11)
              for i, note in enumerate(notes)]
    return svg(y + 66 + 15 * len(notes) - 8, parts, 176)


def product_gradient():
    """The product c = a b, and its gradients, each at the place of its matrix. A
    number of a meets a row of b and makes a row of c; its gradient comes back
    from these two rows. A number of b: the same with columns.

    Three drawings of one arrangement: a (2,3) on the left, b (3,2) above, and c
    (2,2) where the rows of a meet the columns of b. In the first, a_12 = 3, row
    2 of b and row 1 of c are shaded: a_12 is multiplied by each number of that
    row of b and added into that row of c. In the second, dc stands at the place
    of c and da at that of a: row 1 of dc, which is 0 2, times row 2 of b, which
    is 2 2, gives da_12 = 4. In the third, db stands at the place of b: column 2
    of a, which is 3 6, times column 1 of dc, which is 0 2, gives db_21 = 12.
    """
    da, db = times(DC, turned(B)), times(turned(A), DC)
    row = {(1, 0): "gradient", (1, 1): "gradient"}
    used = {(2, 0): "part", (2, 1): "part"}
    first = meeting("c = a b", "abc", (A, B, times(A, B)),
                    ({(1, 2): "part"}, used, {(1, 0): "part", (1, 1): "part"}),
                    ["a₁₂ times row 2 of b", "is part of row 1 of c"])
    second = meeting("da = dc bᵀ", ("da", "b", "dc"), (da, B, DC),
                     ({(1, 2): "gradient"}, used, row),
                     ["da₁₂ = row 1 of dc", "· row 2 of b = 0·2 + 2·2 = 4"])
    third = meeting("db = aᵀ dc", ("a", "db", "dc"), (A, db, DC),
                    ({(0, 2): "part", (1, 2): "part"}, {(2, 1): "gradient"},
                     {(0, 1): "gradient", (1, 1): "gradient"}),
                    ["db₂₁ = column 2 of a", "· column 1 of dc = 3·0 + 6·2 = 12"])
    return first + second + third


# ---------------------------------------------------------------- the norm

DN, N_ROW, RSTD = [0, 4, 4, 8], [-1, -1, 1, 1], 0.5


def mean(values):
    return sum(values) / len(values)


def row_of(values):
    return ", ".join(number(v).replace("-", "−") for v in values)


def split_gradient():
    """dn, its part along 1, its part along n, and the rest."""
    ones = [mean(DN)] * 4
    along = [n * mean([d * m for d, m in zip(DN, N_ROW)]) for n in N_ROW]
    return DN, ones, along, [d - a - b for d, a, b in zip(DN, ones, along)]


def gradient_bars():
    """dn as the sum of three rows of bars, and what becomes of the last."""
    whole, ones, along, rest = split_gradient()
    parts, w = [], 15
    for i, (sign, name, values, fill) in enumerate((
            ("", "dn", whole, "gradient"), ("=", "along 1", ones, "faint"),
            ("+", "along n", along, "faint"), ("+", "rest", rest, "gradient"))):
        x = 12 + 90 * i
        parts += [text(x - 8, 70, sign, size=15), text(x + 30, 14, name, bold=True)]
        parts += bars(x, 80, values, fill, w, 6)
        parts += [text(x + (j + 0.5) * w, 112, number(v).replace("-", "−"), size=11)
                  for j, v in enumerate(values)]
    parts += [line([(102, 124), (102, 129), (252, 129), (252, 124)], "faint"),
              text(177, 144, "removed: dn_mean and n · dnn_mean", size=11),
              line([(282, 124), (282, 129), (342, 129), (342, 124)], "gradient"),
              text(312, 144, "times rstd: dx", size=11, fill="gradient"),
              text(312, 160, row_of(RSTD * r for r in rest), size=11)]
    return svg(168, parts)


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
    parts += [text(path[0][0] + 70, y + 18, "along 1, length "
                   + number(lengths[0]) + ": removed", size=11),
              text(path[1][0] + 34, path[1][1] - 6, "along n,", "start", 11),
              text(path[1][0] + 34, path[1][1] + 8, "length "
                   + number(lengths[1]) + ":", "start", 11),
              text(path[1][0] + 34, path[1][1] + 22, "removed", "start", 11),
              text(path[3][0] + 7, path[3][1] + 36, "rest", "start",
                   fill="gradient", bold=True),
              text(middle[0] - 12, middle[1] - 8, "dn", "end", fill="gradient",
                   bold=True)]
    return svg(150, parts)


def gradient_paths():
    """The three ways from dn to dx, for the first of four numbers."""
    n = N_ROW[0]
    ways = [("directly", "rstd · dn", RSTD * DN[0]),
            ("through μ", "− rstd · dn_mean", -RSTD * mean(DN)),
            ("through rstd", "− rstd · n · dnn_mean", -RSTD * n * mean(
                [d * m for d, m in zip(DN, N_ROW)]))]
    parts = [text(180, 14, "dn: one row, 0, 4, 4, 8", fill="gradient", bold=True)]
    for i, (name, formula, value) in enumerate(ways):
        x = 60 + 120 * i
        parts += [arrow([(180, 20), (x, 50)], "gradient"),
                  label(x - 56, 52, 112, 38, [name, formula], "part", size=10.5),
                  arrow([(x, 90), (180 + (x - 180) * 0.07, 130)], "gradient"),
                  text(x + (16 if i == 2 else -16 if i == 0 else 6), 110,
                       number(value).replace("-", "−"),
                       "start" if i else "end")]
    total = sum(value for *_, value in ways)
    return svg(176, parts + [joint(180, 136),
                             arrow([(180, 143), (180, 160)], "gradient"),
                             text(180, 173, f"dx₀ = {number(total)}"
                                  .replace("-", "−"), fill="gradient", bold=True)])


def norm_backward():
    """The backward pass of a norm, in the numbers worked out above: what is left of
    dn without its part along 1 (its mean) and its part along n goes on. Below,
    the three ways from dn to one number of dx.

    Three drawings. First, rows of four bars: dn, 0 4 4 8, is the sum of its part
    along 1, which is 4 4 4 4, its part along n, which is -2 -2 2 2, and a rest,
    -2 2 -2 2. The first two parts are grey: they are removed. The rest times
    rstd, which is a half, is dx: -1 1 -1 1. Second, the same three parts as edges
    of a box, at right angles to each other and 8, 4 and 4 long, with dn as the
    diagonal; only the upright edge, the rest, is left. Third, three ways from dn
    to the first number of dx, which meet in a sum: directly, 0; through the mean,
    -2; through rstd, 1; together -1.
    """
    return gradient_bars() + gradient_box() + gradient_paths()


# ---------------------------------------------------------------- the loss

LOGITS, EXPECTED = [1, 2, 0], 1


def softmax(z):
    shares = [math.exp(x - max(z)) for x in z]
    return [share / sum(shares) for share in shares]


def loss_bars(left, title, targets):
    """Logits with the gradient as arrows; below, where these come from."""
    p, w, step = softmax(LOGITS), 24, 46
    parts = [text(left, 14, title, "start", bold=True),
             line([(left, 118), (left + 130, 118)], "faint", 0.75),
             line([(left, 262), (left + 130, 262)], "faint", 0.75)]
    for j, (z, share, q) in enumerate(zip(LOGITS, p, targets)):
        x, dz = left + 8 + step * j, share - q
        parts += [box(x, 118 - 34 * z, w, 34 * z, "part", 0.55) if z else "",
                  text(x + w / 2 - 4, 134, f"z = {z}", size=11),
                  arrow([(x + w + 5, 118 - 34 * z),
                         (x + w + 5, 118 - 34 * z - 100 * dz)], "gradient", 2),
                  text(x + w / 2 + 2, 152, decimals(dz), size=11.5,
                       fill="gradient", bold=True),
                  box(x, 262 - 80 * share, w, 80 * share, "weight", 0.6),
                  line([(x - 4, 262 - 80 * q), (x + w + 4, 262 - 80 * q)],
                       "currentColor", 2.5),
                  arrow([(x + w + 9, 262 - 80 * q), (x + w + 9, 262 - 80 * share)],
                        "gradient", 1.5, head=4),
                  text(x + w / 2, 278, f"word {j}", size=11),
                  text(x + w / 2, 292, decimals(share), size=10.5, fill="weight")]
    return parts


def logits():
    """The gradient of the loss for three logits, word 1 being expected: an arrow of
    length p - q for each. It points up where the model gives a word too much, and
    down where it gives too little; a step of training goes the other way. On the
    right, with label smoothing 0.1.

    Two columns, each with three bars of logits, 1, 2 and 0, and below them three
    bars of probabilities p, 0.24, 0.67 and 0.09, with a mark at the target q.
    Left, without smoothing: q is 0, 1, 0, and the arrows p - q are 0.24, -0.33 and
    0.09. Right, with smoothing 0.1: q is 0.03, 0.93, 0.03, and the arrows are
    shorter, 0.21, -0.27 and 0.06. In each column they sum to zero.
    """
    hard = [float(j == EXPECTED) for j in range(3)]
    soft = [0.9 * q + 0.1 / 3 for q in hard]
    parts = loss_bars(36, "q: all on word 1", hard) \
        + loss_bars(206, "q smoothed, ε = 0.1", soft)
    parts += [text(30, 90, "logit", "end", 11, "part"),
              text(30, 152, "dz", "end", 11, "gradient"),
              text(30, 238, "p", "end", 11, "weight")]
    keys, high = legend(308, [
        ("part", "logit z"), ("weight", "probability p"),
        (lambda x, y: line([(x, y + 5), (x + 14, y + 5)], width=2.5), "target q"),
        (lambda x, y: arrow([(x, y + 5), (x + 14, y + 5)], "gradient", 2),
         "dz = p − q")], 8)
    return svg(308 + high, parts + keys)


# ---------------------------------------------------------------- byte pairs

TEXT = "cat cats eat eats cat"


def joined(pieces, pair):
    """The pieces with a pair joined wherever it stands."""
    out = []
    for piece in pieces:
        if out and (out[-1], piece) == pair:
            out[-1] += piece
        else:
            out.append(piece)
    return out


def learned_merges(words):
    """The pairs of chapter 10, in the order in which they are joined."""
    spelled, merges = [["␣"] + list(word) for word in words.split()], []
    while True:
        counts = {}
        for pieces in spelled:
            for pair in zip(pieces, pieces[1:]):
                counts[pair] = counts.get(pair, 0) + 1
        # among equals, the first in the order of bytes, where the blank is first
        best = min(counts, key=lambda pair: (
            -counts[pair], [piece.replace("␣", " ") for piece in pair]))
        if counts[best] < 2:
            return merges
        merges.append(best)
        spelled = [joined(pieces, best) for pieces in spelled]


def merge_tree(word, merges, x, bottom, step=28):
    """A word's characters, and above them the pieces that they become. A number
    is that of the merge."""
    pieces = [(c, x + step * i, bottom) for i, c in enumerate("␣" + word)]
    parts = []
    for n, pair in enumerate(merges, 1):
        done = []
        for piece, at, top in pieces:
            if not done or (done[-1][0], piece) != pair:
                done.append((piece, at, top))
                continue
            left, left_at, left_top = done.pop()
            middle, y = (left_at + at) / 2, min(top, left_top) - 44
            parts += [line([(left_at, left_top - 14), (left_at, y + 21),
                            (at, y + 21), (at, top - 14)], "part"),
                      line([(middle, y + 21), (middle, y + 6)], "part"),
                      text(middle + 5, y + 18, n, "start", 10.5, "part")]
            done.append((left + piece, middle, y))
            parts.append(text(middle, y, left + piece, size=14))
        pieces = done
    parts += [text(x + step * i, bottom, c, size=14)
              for i, c in enumerate("␣" + word)]
    return parts + [box(at - 5 - 4.5 * len(piece), y - 14, 10 + 9 * len(piece), 20,
                        "part", 0.2, "part", radius=3) for piece, at, y in pieces]


def merging():
    """The five merges learned from "cat cats eat eats cat", applied to three words.
    Numbers say which merge joins two pieces; the tokens are framed. "seats" is new: only one merge fits.

    Three trees, to be read from bottom to top, with the blank written as an open
    box. "cats": merge 1 joins a and t, merge 2 the blank and c, merge 3 these two;
    the tokens are blank-cat and s. "eats": merge 1 joins a and t, merge 4 the
    blank and e, merge 5 these two; the tokens are blank-eat and s. "seats": merge
    1 joins a and t; the tokens are blank, s, e, at and s.
    """
    merges = learned_merges(TEXT)
    panels = []
    for word, note in (("cats", "in the training data"),
                       ("eats", "in the training data"), ("seats", "a new word")):
        panels.append(svg(146, merge_tree(word, merges, 18, 118)
                          + [text(10, 138, note, "start", 11, "faint")], 176))
    return "".join(panels)


# ---------------------------------------------------------------- the beam

NEXT = {(): {"il": 0.5, "elle": 0.4, "dort": 0.1},  # those of the example below
        ("il",): {"dort": 0.5, "mange": 0.4, "end": 0.1},
        ("elle",): {"dort": 0.9, "mange": 0.1},
        ("elle", "dort"): {"end": 0.9, "mange": 0.1},
        ("il", "dort"): {"end": 0.9, "mange": 0.1}}


def beam_steps(wide=2):
    """For each step its candidates, (words, probability, kept), grouped by what
    they continue."""
    steps, beam = [], {(): 1.0}
    while beam:
        found = {words + (word,): p * q for words, p in beam.items()
                 for word, q in NEXT[words].items()}
        best = sorted(found, key=found.get, reverse=True)[:wide]
        steps.append([(words, p, words in best) for words, p in found.items()])
        beam = {words: p for words, p in found.items()
                if words in best and words[-1] != "end"}
    return steps


def beam():
    """A beam of two. In each step the hypotheses grow by every word, and the two most
    probable candidates are kept; the others are cut. Greedy decoding would have
    followed "il" and missed "elle dort".

    A tree that grows from left to right, with the probability of each beginning.
    Step 0: "il" 0.50 and "elle" 0.40 are kept, "dort" 0.10 is cut. Step 1: from
    "il", "dort" 0.25 is kept, "mange" 0.20 and the end 0.05 are cut; from "elle",
    "dort" 0.36 is kept and "mange" 0.04 is cut. Step 2: from "elle dort", the end
    gives 0.324 and from "il dort" 0.225; both are finished, and what "mange" would
    give is cut. The best is "elle dort", end.
    """
    w, h, parts, at = 72, 22, [], {(): (4, 150)}
    parts.append(text(4, 155, "start", "start", bold=True))
    for t, candidates in enumerate(beam_steps()):
        x = 60 + 104 * t
        parts.append(text(x + w / 2, 14, f"step {t}", bold=True))
        gap = 250 / len(candidates)
        for i, (words, p, kept) in enumerate(candidates):
            y = 36 + gap * (i + 0.5)
            from_x, from_y = at[words[:-1]]
            from_x += w if t else 32
            ended = kept and words[-1] == "end"
            parts.append(line([(from_x, from_y), (x - 14, y), (x, y)],
                              "currentColor" if kept else "faint",
                              1.75 if kept else 0.75, None if kept else "3 3"))
            parts.append(box(x, y - h / 2, w, h, "value" if ended else "weight"
                             if kept else "paper", 0.3 if kept else 1,
                             "value" if ended else "weight" if kept else "faint",
                             None if kept else "3 3", 3))
            parts.append(text(x + 5, y + 4, words[-1], "start", 11.5,
                              None if kept else "faint", kept))
            parts.append(text(x + w - 4, y + 4, f"{p:.3f}" if ended else
                              f"{p:.2f}", "end", 10.5, None if kept else "faint"))
            at[words] = (x, y)
    keys, high = legend(302, [
        ("weight", "kept"), ("value", "finished"),
        (lambda x, y: box(x, y, 14, 10, "paper", stroke="faint", dashes="3 3"),
         "cut")], 60)
    return svg(302 + high, parts + keys)


PICTURES = {"mixture": mixture, "mixture-heads": mixture_heads,
            "mixture-encoder": mixture_encoder,
            "mixture-decoder": mixture_decoder,
            "product-gradient": product_gradient,
            "norm-backward": norm_backward,
            "logits": logits, "merging": merging, "beam": beam}

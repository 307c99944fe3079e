"""Pictures of numbers for the walkthrough, as SVG.

    python3 docs/plots.py NAME > picture.svg

PLOTS has a function for each name. The first paragraph of its docstring is the
caption; the rest describes the picture in words. Colours are CSS variables of
the page; lines and text have the colour of the page's text. The numbers of a
training run come from runs/, where make.sh puts them.
"""
import csv
import math
import os
import sys
from html import escape

from drawing import box, frame, heat_map, key, line, number, svg, text, upright
from flows import FLOWS

RUNS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "runs")
STYLES = {1: ("heat", None),  # colour, dashes
          2: ("cold", "7 3"),
          3: ("value", "2 3"),
          "dash-dot": ("currentColor", "9 3 2 3"),
          "plain": ("currentColor", None)}


def read(name):
    with open(os.path.join(RUNS, name), encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def chart(y, h, title, xticks, yticks, lines, bottom=True, log=False):
    """Lines over axes that reach from the first tick to the last.

    A line is its style, its points, and its label with the point to put it at.
    Only the bottom one of several charts has numbers at its x axis.
    """
    left, w = 64, 500
    scale = math.log10 if log else float

    def place(px, py):
        across = (px - xticks[0]) / (xticks[-1] - xticks[0])
        low, high = scale(yticks[0]), scale(yticks[-1])
        return left + w * across, y + h * (high - scale(py)) / (high - low)

    across = [place(t, yticks[0])[0] for t in xticks]
    up = [place(xticks[0], t)[1] for t in yticks]
    grid = "".join([f"M{number(a)} {y}v{h}" for a in across]
                   + [f"M{left} {number(u)}h{w}" for u in up])
    parts = [text(left, y - 10, title, "start"),
             f'<path d="{grid}" stroke="currentColor" stroke-opacity="0.15"/>']
    parts += [text(left - 8, u + 4, f"{t:.5f}".rstrip("0").rstrip("."), "end")
              for u, t in zip(up, yticks)]
    if bottom:
        parts += [text(a, y + h + 18, f"{t:,}") for a, t in zip(across, xticks)]
        parts.append(text(left + w / 2, y + h + 40, "step"))
    for style, points, label, label_at in lines:
        colour, dashes = STYLES[style]
        path = " ".join(f"{number(a)},{number(u)}"
                        for a, u in (place(*p) for p in points))
        parts += [f'<polyline points="{path}" fill="none" stroke="{colour}" '
                  f'stroke-width="1.75" stroke-dasharray="{dashes}" '
                  'stroke-linejoin="round"/>',
                  text(*place(*label_at), label, "start",
                       f' fill="{colour}"') if label else ""]
    return parts + [box(left, y, w, h, FRAME)]


# ---------------------------------------------------------------- the pictures

def positions():
    """The sinusoidal positions for D = 64. Each row is the code of a position.
    The columns on the left change from row to row, those on the right hardly
    at all.

    One colour is for positive and one for negative numbers; the stronger the
    colour, the nearer the number is to 1 or -1. On the left the colours change
    from row to row: columns 0 and 1 come round once in 6.3 positions. Farther
    right they change ever more slowly. From column 26 on nothing is negative,
    and the last columns are stripes that stay as they begin at position 0:
    sines near 0 and cosines near 1.
    """
    D, T, x, y, w, h = 64, 60, 60, 46, 10, 7
    table = [[(math.cos if j % 2 else math.sin)(t * 10000 ** (-(j - j % 2) / D))
              for j in range(D)] for t in range(T)]
    parts = heat_map(x, y, w, h, table) + key(x, y + T * h + 16, -1)
    parts += [text(x + (j + 0.5) * w, y - 8, str(j)) for j in range(0, D, 8)]
    parts += [text(x - 8, y + (t + 0.5) * h + 4, str(t), "end")
              for t in range(0, T, 10)]
    parts += [text(x + D * w / 2, 16, "column j"),
              upright(18, y + T * h / 2, "position t")]
    return svg(y + T * h + 56, parts)


def cross_attention(run="attention"):
    """{(layer, head): rows of weights}, words written, words looked at."""
    heads, wrote, looked = {}, {}, {}
    for r in read(f"{run}.csv"):
        rows = heads.setdefault((int(r["layer"]), int(r["head"])), {})
        rows.setdefault(int(r["query"]), []).append(float(r["weight"]))
        wrote[int(r["query"])] = r["query_token"]
        looked[int(r["key"])] = r["key_token"]
    # What a query writes is the next query's own token.
    return ({head: list(rows.values()) for head, rows in heads.items()},
            list(wrote.values())[1:] + ["<end>"], list(looked.values()))


def attention():
    """Cross-attention of a trained model: two layers with four heads each. A
    row is a word that it writes, a column a word that it looks at. In layer 1
    three heads look at the word that they translate, and so cross over where
    French puts the colour after the noun.

    The model writes "le petit chat blanc est sous la chaise rouge" for "the
    small white cat is under the red chair". A strong colour is a large weight.
    In layer 0 many rows are spread over several words. In layer 1, heads 0 and
    3 give at least 0.98 of the attention of every French word to its English
    one, down the diagonal except for two crossings: "chat", "blanc" looks at
    "cat", "white", and "chaise", "rouge" at "chair", "red". Head 1 does the
    same, except that a quarter of the attention of "est" goes to "under".
    """
    heads, wrote, looked = cross_attention()
    cell, x0, y0 = 15, 64, 70
    width, height = len(looked) * cell + 12, len(wrote) * cell + 34
    parts = []
    for (layer, head), rows in heads.items():
        x, y = x0 + head * width, y0 + layer * height
        parts += heat_map(x, y, cell, cell, rows)
        parts.append(text(x, y + len(rows) * cell + 17,
                          f"layer {layer}, head {head}", "start"))
        if head == 0:
            parts += [text(x - 6, y + (i + 0.5) * cell + 4, word, "end")
                      for i, word in enumerate(wrote)]
        if layer == 0:
            parts += [upright(x + (j + 0.5) * cell + 4, y - 6, word, "start")
                      for j, word in enumerate(looked)]
    bottom = y0 + (max(heads)[0] + 1) * height
    return svg(bottom + 36, parts + key(x0, bottom, 0))


def attention_large():
    """One head of the cross-attention (layer 1, head 2). To write "petit" it
    looks at "cat" rather than at "small", and to write "la" at "chair": in
    French, articles and adjectives take the gender of the noun.

    Weights of 0.05 and more are written in their cells. This head looks at the
    nouns more than the other heads do. For "petit" it looks at "cat" (0.79)
    rather than at "small" (0.16); for "la" at "chair" (0.98), not at "the"; for
    "le" at "cat" (0.46) and at "small" (0.43). For the remaining words it looks
    where the other heads look.
    """
    heads, wrote, looked = cross_attention()
    rows = heads[1, 2]
    x, y, w, h = 78, 34, 63, 34
    # Numbers have to be legible on the strongest cell: not quite opaque.
    parts = heat_map(x, y, w, h, rows, strongest=0.6)
    for j, word in enumerate(looked):
        parts.append(text(x + (j + 0.5) * w, y - 10, word))
    for i, word in enumerate(wrote):
        middle = y + (i + 0.5) * h + 5
        parts.append(text(x - 10, middle, word, "end"))
        for j, weight in enumerate(rows[i]):
            if weight >= 0.05:
                parts.append(text(x + (j + 0.5) * w, middle, f"{weight:.2f}"))
            title = escape(f"{word} ← {looked[j]}: {weight:.3f}")
            parts.append(box(x + j * w, y + i * h, w, h, 'fill-opacity="0"',
                             f"<title>{title}</title>"))
    return svg(y + len(rows) * h + 10, parts)


def red_car():
    """Where the model looks, in its last layer (the mean of four heads): a row for each word it writes, a column for each word it reads.

    A heat map of cross-attention. The stronger the colour, the larger the weight; weights from 0.05 on
    are written in their cells. The model writes "la voiture rouge est rapide"
    for "the red car is fast". For "voiture" it looks at "car" (1.00), and then it
    goes back to "red" for "rouge" (1.00): adjective and noun change places.
    "la" looks at "the" (0.76) and at "car" (0.18). The other words look at the
    word in their own place, with at least 0.95 of their attention.
    """
    heads, wrote, looked = cross_attention("red-car")
    last = [rows for (layer, _), rows in heads.items() if layer == max(heads)[0]]
    means = [[sum(weights) / len(last) for weights in zip(*row)]
             for row in zip(*last)]
    x, y, w, h = 76, 28, 62, 42
    parts = heat_map(x, y, w, h, means, strongest=0.6)
    parts += [text(x + (j + 0.5) * w, y - 9, word)
              for j, word in enumerate(looked)]
    for i, word in enumerate(wrote):
        middle = y + (i + 0.5) * h + 5
        parts.append(text(x - 10, middle, word, "end"))
        parts += [text(x + (j + 0.5) * w, middle, f"{weight:.2f}")
                  for j, weight in enumerate(means[i]) if weight >= 0.05]
    return svg(y + len(wrote) * h + 2, parts, x + len(looked) * w + 2)


def learning_rate():
    """The learning rate, relative to its peak, for warm-ups of three lengths. A
    longer warm-up also delays the fall.

    Each line rises straight to 1 at the end of its warm-up, after 200, 400 or
    800 steps. Then it falls with the inverse square root, to a half at four
    times the warm-up: warm-up 200 is there at step 800, warm-up 400 at step
    1,600. At step 2,400 the three have come down to 0.29, 0.41 and 0.58. The
    constant schedule rises with that of warm-up 400 and then stays at 1.
    """
    lines = []
    for style, w in enumerate((200, 400, 800), 1):
        points = [(t, t / w if t < w else math.sqrt(w / t))
                  for t in range(0, 2401, 20)]
        lines.append((style, points, f"warm-up {w}",
                      (2430, points[-1][1] - 0.01)))
    lines.append(("dash-dot", [(0, 0), (400, 1), (2400, 1)],
                  "constant after 400", (2430, 0.985)))
    return svg(340, chart(30, 260, "learning rate / peak", range(0, 2401, 400),
                          (0, 0.25, 0.5, 0.75, 1), lines))


def loss():
    """A training run, English to French: the loss, the learning rate and the
    norm of the gradient. The validation loss lies below the training loss
    because dropout is on only in training.

    The training loss (every tenth batch) falls from 5.11 at step 10 to around
    0.02 in the end, and jumps from batch to batch. The validation loss is 2.48
    at step 117, 0.029 at step 468, and 0.00005 at its best, at step 2,340. The learning rate rises to
    0.00625 at step 400 and falls to 0.0026. The norm of the gradient lies
    between 0.06 and 3.5; in 94 of the 235 steps shown it is above 1 and
    therefore clipped.
    """
    def column(name, split):
        return [(int(r["step"]), float(r[name])) for r in log
                if r["split"] == split]

    log, steps = read("log.csv"), range(0, 2401, 400)
    parts = chart(30, 250, "loss per token, in nats (logarithmic)", steps,
                  (0.00001, 0.0001, 0.001, 0.01, 0.1, 1, 10),
                  [(1, column("loss", "train"), "training", (2430, 0.02)),
                   (2, column("loss", "valid"), "validation", (2430, 0.0004))],
                  bottom=False, log=True)
    parts += chart(320, 90, "learning rate", steps,
                   (0, 0.002, 0.004, 0.006, 0.008),
                   [("plain", column("learning_rate", "train"), "", None)],
                   bottom=False)
    parts += chart(450, 100, "norm of the gradient, before it is clipped to 1",
                   steps, (0, 1, 2, 3, 4),
                   [("plain", column("gradient_norm", "train"), "", None)])
    return svg(600, parts)


def product():
    """Square matrices: five versions of the product on one core, and the last of
    them on two. The scale is logarithmic.

    There is a bar for each step and size, in billions of floating-point
    operations a second; the figures are written beside the bars. The
    definition is slowest everywhere, and slower the larger the matrices are.
    The order of the loops brings the first large gain, the tile in registers
    the second. For the smallest matrices the tile is all that is needed; for the
    largest, packing and blocking are what keeps it fed.
    """
    rows, x, y, parts = read("product.csv"), 130, 26, []
    sizes = sorted({int(row["size"]) for row in rows})

    def length(gflops):
        return 90 * (math.log10(gflops) + 1)

    for size in sizes:
        parts.append(text(x, y, f"{size} × {size}", "start", ' font-weight="bold"'))
        for row in (r for r in rows if int(r["size"]) == size):
            y += 22
            gflops = float(row["gflops"])
            name = row["step"]
            if name == "threads":
                name = f"{row['threads']} threads"
            parts += [text(x - 8, y + 4, name, "end"),
                      box(x, y - 8, length(gflops), 16, f'fill="{HEAT}"'),
                      text(x + length(gflops) + 6, y + 4,
                           f"{gflops:.3g} GFLOP/s", "start")]
        y += 34
    return svg(y - 6, parts)


PLOTS = {**FLOWS, "red-car": red_car, "product": product, "positions": positions,
         "cross-attention": attention,
         "cross-attention-large": attention_large, "learning-rate": learning_rate,
         "loss": loss}

if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] not in PLOTS:
        print("usage: plots.py " + "|".join(PLOTS), file=sys.stderr)
        sys.exit(2)
    sys.stdout.buffer.write(PLOTS[sys.argv[1]]().encode())

"""Charts of recorded numbers, for the walkthrough. gallery.py says how a picture
is written.
"""
import math

from drawing import (box, cell, decimals, frame, heat_map, key, legend, line, number,
                     strength, svg, text, texts, upright)
from records import attention, read

STYLES = {"plain": ("currentColor", None), "grey": ("part", None),  # dashes
          "long": ("currentColor", "8 4"), "short": ("currentColor", "2 3"),
          "dash-dot": ("part", "9 3 2 3"), "dots": ("currentColor", None)}
LEFT, ACROSS = 52, 288  # where a chart begins, and how wide it is


def chart(y, h, title, xticks, yticks, lines, bottom=True, log=False):
    """Lines over axes that reach from the first tick to the last. A line is its
    style and its points. Only the bottom one of several charts has numbers at its
    x axis."""
    scale = math.log10 if log else float

    def place(px, py):
        across = (px - xticks[0]) / (xticks[-1] - xticks[0])
        low, high = scale(yticks[0]), scale(yticks[-1])
        return LEFT + ACROSS * across, y + h * (high - scale(py)) / (high - low)

    across = [place(t, yticks[0])[0] for t in xticks]
    up = [place(xticks[0], t)[1] for t in yticks]
    grid = "".join([f"M{number(a)} {y}v{h}" for a in across]
                   + [f"M{LEFT} {number(u)}h{ACROSS}" for u in up])
    parts = [text(LEFT, y - 10, title, "start", bold=True),
             f'<path d="{grid}" stroke="currentColor" stroke-opacity="0.15"/>']
    parts += [text(LEFT - 6, u + 4, f"{t:.5f}".rstrip("0").rstrip("."), "end", 11)
              for u, t in zip(up, yticks)]
    if bottom:
        parts += [text(a, y + h + 16, f"{t:,}", size=11)
                  for a, t in zip(across, xticks)]
        parts.append(text(LEFT + ACROSS / 2, y + h + 32, "step", size=11))
    for style, points in lines:
        ink, dashes = STYLES[style]
        parts.append(line([place(*p) for p in points], ink, 1.5, dashes))
        if style == "dots":
            parts += [box(a - 2.5, u - 2.5, 5, 5, ink, radius=2.5)
                      for a, u in (place(*p) for p in points)]
    return parts + [frame(LEFT, y, ACROSS, h)]


def styles_legend(y, items):
    """What the styles of lines mean."""
    def swatch(style):
        ink, dashes = STYLES[style]
        return lambda x, y, *_: line([(x - 6, y + 5), (x + 14, y + 5)], ink, 2, dashes)

    return legend(y, [(swatch(style), words) for style, words in items], LEFT + 6)


# ---------------------------------------------------------------- heat maps

def weights_map(x, y, w, h, rows):
    """Weights in cells, the larger the stronger."""
    return [part for i, row in enumerate(rows) for j, weight in enumerate(row) for part in (
        cell(x + j * w, y + i * h, w, h, "weight", strength(weight)),
        text(x + (j + 0.5) * w, y + (i + 0.5) * h + 4, decimals(weight), size=11,
             fill=None if weight >= 0.005 else "faint"))]


def positions():
    """The sinusoidal positions for D = 64. Each row is the code of a position.
    The columns on the left change from row to row, those on the right hardly
    at all.

    One color is for positive and one for negative numbers; the stronger the
    color, the nearer the number is to 1 or -1. On the left the colors change
    from row to row: columns 0 and 1 come around once in 6.3 positions. Farther
    right they change ever more slowly. From column 26 on nothing is negative,
    and the last columns are stripes that stay as they begin at position 0:
    sines near 0 and cosines near 1.
    """
    D, T, x, y, w, h = 64, 60, 38, 36, 5, 4.5
    table = [[(math.cos if j % 2 else math.sin)(t * 10000 ** (-(j - j % 2) / D))
              for j in range(D)] for t in range(T)]
    parts = heat_map(x, y, w, h, table) + key(x, y + T * h + 12, -1)
    parts += [text(x + (j + 0.5) * w, y - 6, j, size=11) for j in range(0, D, 8)]
    parts += [text(x - 5, y + (t + 0.5) * h + 4, t, "end", 11)
              for t in range(0, T, 10)]
    parts += [text(x + D * w / 2, 13, "column j"),
              upright(12, y + T * h / 2, "position t")]
    return svg(y + T * h + 42, parts)


def cross_attention():
    """Cross-attention of a trained model: two layers with four heads each. A
    row is a word that it writes, a column a word that it looks at. In layer 1
    three heads look at the word that they translate, and so cross over where
    French puts the color after the noun; head 2 looks at the noun instead of its
    article.

    The model writes "le petit chat blanc est sous la chaise rouge" for "the
    small white cat is under the red chair". A strong color is a large weight.
    In layer 0 many rows look at other words than the one to be translated. In layer 1,
    heads 0, 1 and 3 give nearly all of the attention of every French word to its
    English one, down the diagonal except for two crossings: "chat", "blanc" looks at
    "cat", "white", and "chaise", "rouge" at "chair", "red". Head 2 does the same,
    except that "le" looks at "cat", and "la" at "chair".
    """
    heads, wrote, looked = attention()
    cell, x0, y0 = 13.5, 52, 54
    panels = []
    for layer in range(2):
        parts = []
        for head in range(4):
            x = x0 + head % 2 * (len(looked) * cell + 14)
            y = y0 + head // 2 * (len(wrote) * cell + 30)
            parts += heat_map(x, y, cell, cell, heads["cross", str(layer), str(head)], "weight")
            parts.append(text(x, y + len(wrote) * cell + 15,
                              f"layer {layer}, head {head}", "start", 11.5))
            parts += [text(x - 5, y + (i + 0.5) * cell + 4, word, "end", 11)
                      for i, word in enumerate(wrote) if head % 2 == 0]
            parts += [upright(x + (j + 0.5) * cell + 4, y - 5, word, "start",
                              size=11) for j, word in enumerate(looked) if head < 2]
        bottom = y0 + 2 * (len(wrote) * cell + 30)
        panels.append(svg(bottom + 30, parts + key(x0, bottom, 0, "weight")))
    return "".join(panels)


def cross_attention_large():
    """One head of the cross-attention (layer 1, head 2). To write "le" it looks at
    "cat" rather than at "the", and to write "la" at "chair": in French, articles
    take the gender of the noun.

    Weights are written in their cells. For "le" this head looks at
    "cat" (1.00), for "la" at "chair" (1.00), not at "the"; for "blanc" at "white"
    (0.91) and at "small" (0.09). For the remaining words it looks where the other
    heads look, and for the end at "is" (0.62) and at the end (0.23).
    """
    heads, wrote, looked = attention()
    x, y, w, h = 52, 48, 30, 27
    parts = weights_map(x, y, w, h, heads["cross", "1", "2"])
    parts += [upright(x + (j + 0.5) * w + 4, y - 6, word, "start", size=11.5)
              for j, word in enumerate(looked)]
    parts += [text(x - 6, y + (i + 0.5) * h + 4, word, "end", 11.5)
              for i, word in enumerate(wrote)]
    return svg(y + len(wrote) * h + 4, parts)


# ---------------------------------------------------------------- training

def slopes():
    """How far two slopes of f(x) = 1/(1 + x²) at x = 0.7 are from the true one, as
    the step h becomes smaller. The difference has a valley, the complex step none.

    Both axes count powers of ten. From h = 1 on, the error of the difference falls
    with h², to some 10⁻¹¹ at h = 10⁻⁵; down to there it is due to the function's bend.
    Below, it climbs again, since two numbers that are nearly equal are
    subtracted, and at h = 10⁻¹⁶ no digit is left. The error of the complex step
    falls as fast, reaches the last digit of a double at 10⁻⁸, and stays there.
    """
    x, true = 0.7, -1.4 / 1.49 ** 2
    def f(z):
        return 1 / (1 + z * z)
    def place(power, error):
        digits = math.log10(max(error / -true, 1e-16))
        return LEFT + ACROSS * power / 16, 28 - 180 * digits / 16
    powers = [k / 4 for k in range(65)]
    steps = [(k, 10.0 ** -k) for k in powers]
    lines = [("part", [place(k, abs((f(x + h) - f(x - h)) / (2 * h) - true))
                       for k, h in steps]),
             ("currentColor", [place(k, abs(f(x + 1j * h).imag / h - true))
                               for k, h in steps])]
    parts = [text(LEFT, 18, "relative error of the slope", "start", bold=True),
             frame(LEFT, 28, ACROSS, 180)]
    for n, name in enumerate(("1", "10⁻⁴", "10⁻⁸", "10⁻¹²", "10⁻¹⁶")):
        parts += [text(LEFT - 6, 32 + 45 * n, name, "end", 11),
                  text(LEFT + ACROSS * n / 4, 224, name, size=11)]
    return svg(250, parts + [
        text(LEFT + ACROSS / 2, 240, "h", size=11),
        text(LEFT + 160, 100, "difference", "end", fill="part"),
        text(LEFT + 170, 196, "complex step", "start"),
        *[line(points, ink, 1.5) for ink, points in lines]])


def learning_rate():
    """The learning rate, relative to its peak, for warm-ups of three lengths. A
    longer warm-up also delays the fall.

    Each line rises straight to 1 at the end of its warm-up, after 200, 400 or
    800 steps. Then it falls with the inverse square root, to a half at four
    times the warm-up: warm-up 200 is there at step 800, warm-up 400 at step
    1,600. At step 2,400 the three have come down to 0.29, 0.41 and 0.58. The
    constant schedule rises with that of warm-up 400 and then stays at 1.
    """
    lines, names = [], []
    for style, w in (("plain", 200), ("long", 400), ("short", 800)):
        lines.append((style, [(t, t / w if t < w else math.sqrt(w / t))
                              for t in range(0, 2401, 20)]))
        names.append((style, f"warm-up {w}"))
    lines.append(("dash-dot", [(0, 0), (400, 1), (2400, 1)]))
    parts, high = styles_legend(250, names + [("dash-dot", "constant after 400")])
    return svg(250 + high, parts + chart(
        28, 180, "learning rate / peak", range(0, 2401, 600),
        (0, 0.25, 0.5, 0.75, 1), lines))


def translations():
    """What the model makes of a sentence after some of its steps; of a long translation
    only the first words."""
    parts, y, line_of, shown = [], 40, 6, 12
    for row in read("learning.csv"):
        words = row["translation"].split()
        lines = [" ".join(words[k:k + line_of])
                 for k in range(0, min(len(words), shown), line_of)]
        if len(words) > shown:
            lines[-1] += f" … ({len(words)} words)"
        parts.append(text(46, y, f"{int(row['step']):,}", "end", bold=True))
        parts += texts(58, y, lines, 16, None)
        y += 16 * len(lines) + 8
    return svg(y - 8, parts + [text(8, 16, "“the red car is fast” after step",
                                    "start", bold=True)])


def loss():
    """A training run, English to French: the loss, the learning rate and the
    norm of the gradient, and what the model made of one sentence on its way. The
    validation loss lies below the training loss because dropout is on only in
    training: with dropout, six tokens in a thousand are still wrong at the
    end; without it, none.

    The training loss (every tenth batch) falls from 5.08 at step 10 to around
    0.02 in the end, and jumps from batch to batch. The validation loss is 3.06
    at step 94, 0.036 at step 470, and 0.00013 at the end, step 1,880. The
    learning rate rises to 0.00625 at step 400 and falls to 0.0029. The norm of
    the gradient lies between 0.09 and 2.8; in 79 of the 188 steps shown it is
    above 1 and therefore clipped. After its first step the model makes 55 words of
    "the red car is fast", such as "belles grande grande"; after 100 steps "les très
    sale"; after 400 steps, and at the end, it is "la voiture rouge est rapide".
    """
    def column(name, split):
        return [(int(r["step"]), float(r[name])) for r in log
                if r["split"] == split]

    log, steps = read("log.csv"), range(0, 2001, 500)
    parts = chart(28, 160, "loss per token, in nats (logarithmic)", steps,
                  (0.00001, 0.0001, 0.001, 0.01, 0.1, 1, 10),
                  [("grey", column("loss", "train")),
                   ("dots", column("loss", "valid"))],
                  log=True)
    names, high = styles_legend(232, [("grey", "training"), ("dots", "validation")])
    small = chart(28, 68, "learning rate", steps,
                  (0, 0.002, 0.004, 0.006, 0.008),
                  [("plain", column("learning_rate", "train"))], bottom=False)
    small += chart(126, 68, "norm of the gradient before clipping", steps,
                   (0, 1, 2, 3, 4),
                   [("grey", column("gradient_norm", "train")),
                    ("long", [(0, 1), (2000, 1)])])
    limit, _ = styles_legend(232, [("long", "clipped to this norm, 1")])
    return (svg(232 + high, parts + names) + svg(232 + high, small + limit)
            + translations())


def product():
    """Square matrices: five versions of the product on one core, and the last of
    them on two. The scale is logarithmic: from one line to the next the speed is ten
    times as high.

    A dot for each step and size, in billions of floating-point operations a
    second, on a scale of 0.1, 1, 10, 100 and 1,000; the figures are written beside
    the dots. The definition is slowest everywhere, and slower the larger the
    matrices are. The order of the loops brings the first large gain, the tile in
    registers the second. For the smallest matrices the tile is all that is needed;
    for the largest, packing and blocking are what keeps it fed.
    """
    rows, x, top, panels = read("product.csv"), 84, 44, []

    def place(gflops):
        return x + 34 * (math.log10(gflops) + 1)

    for size in sorted({int(row["size"]) for row in rows}):
        parts = [text(x, 14, f"{size} × {size}", "start", bold=True)]
        of_size = [row for row in rows if int(row["size"]) == size]
        for tick in (0.1, 1, 10, 100, 1000):
            parts += [line([(place(tick), top - 8), (place(tick),
                                                     top + 24 * len(of_size) - 8)],
                           "faint", 0.75, opacity=0.5),
                      text(place(tick), top - 14, f"{tick:,}", size=11)]
        for i, row in enumerate(of_size):
            y, gflops = top + 24 * i + 4, float(row["gflops"])
            name = f"{row['threads']} threads" if row["step"] == "threads" \
                else row["step"]
            parts += [text(x - 8, y + 4, name, "end", 11.5),
                      box(place(gflops) - 5, y - 5, 10, 10, "part", radius=5),
                      text(place(gflops) + 9, y + 4, f"{gflops:.3g}", "start",
                           11.5)]
        parts.append(text(x + 68, top + 24 * len(of_size) + 8, "GFLOP/s",
                          size=11))
        panels.append(svg(top + 24 * len(of_size) + 14, parts, 238))
    return "".join(panels)

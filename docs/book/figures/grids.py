"""Drawings of rows and columns in memory, for the walkthrough: heads, masks,
padding, the cache, a training step. gallery.py says how a picture is written.
"""
from drawing import TINT, arrow, box, cell, label, legend, line, svg, text, texts, upright


def swatch(fill, opacity=TINT, dashes=None):
    """A cell in a legend."""
    return lambda *place: box(*place, fill or "none", opacity, "faint", dashes)


def hatched(x, y, w, h):
    """What the mask hides: thin slanted lines."""
    parts = [box(x, y, w, h, stroke="faint", width=0.75)]
    for start in range(6, int(w + h), 6):
        a, b = min(start, w), min(start, h)
        parts.append(line([(x + a, y + start - a), (x + start - b, y + b)],
                          "faint", 0.6))
    return "".join(parts)


def pad(x, y, w, h, words="", dashes="3 3"):
    """A cell that only fills up a row."""
    return box(x, y, w, h, stroke="faint", dashes=dashes, width=0.75) + (
        text(x + w / 2, y + h / 2 + 4, words, fill="faint") if words else "")


# ---------------------------------------------------------------- heads

def heads():
    """Heads are bands of K columns, sentences are bands of rows. Head 1 of sentence 1
    takes its blocks of q, k and v and writes its block of context.

    Four matrices: q (B·T,D), k and v (B·S,D) in a row, and context (B·T,D) below.
    Each is drawn with two bands of rows, for sentences 0 and 1, and three bands
    of K columns, for heads 0, 1 and 2. One block of each is colored, head 1 of
    sentence 1: (T,K) numbers of q, (S,K) of k and of v, (T,K) of context. Arrows
    lead from the blocks of q, k and v down to the attention of this head, which
    makes weights (T,S), and from there to the block of context. The other blocks
    go the same way, each through an attention of its own.
    """
    w, h = 30, 34
    parts = [text(2, 68, "sentence 0", "start", 11),
             text(2, 102, "sentence 1", "start", 11)]

    def matrix(x, y, name, shape, block, fill):
        middle, below = x + 1.5 * w, name == "context"
        parts.append(text(x - 7 if below else middle, y - 10 if below else 12, name,
                          "end" if below else "middle", fill=fill, bold=True))
        for j in range(3):
            parts.append(text(x + (j + 0.5) * w, y + (2 * h + 13 if below else -6), j,
                              size=11))
        for i in range(2):
            for j in range(3):
                parts.append(cell(x + j * w, y + i * h, w, h,
                                  fill if i == j == 1 else None, 0.3))
        parts.append(text(middle, y + 1.5 * h + 4, block, size=11))
        parts.append(text(x - 7 if below else middle, y + 4 if below else 25, shape,
                          "end" if below else "middle", 11))

    for x, name, shape, block, fill in (
            (64, "q", "(B·T,D)", "(T,K)", "query"),
            (163, "k", "(B·S,D)", "(S,K)", "key"),
            (262, "v", "(B·S,D)", "(S,K)", "value")):
        matrix(x, 46, name, shape, block, fill)
        parts.append(arrow([(x + 45, 115), (x + 45 + (208 - x - 45) * 0.6, 142)],
                           fill))
    matrix(163, 214, "context", "(B·T,D)", "(T,K)", None)
    parts += [label(123, 144, 170, 40, ["attention of head 1,",
                                        "sentence 1: weights (T,S)"], "weight"),
              box(163 + w, 214 + h, w, h, "part", TINT),
              arrow([(208, 184), (208, 214 + h)]),
              text(57, 40, "head", "end", 11), text(156, 295, "head", "end", 11),
              text(156, 236, "sentence 0", "end", 11),
              text(156, 270, "sentence 1", "end", 11)]
    return svg(304, parts)


def heads_reshaped():
    """Two heads take the twelve numbers of q. If q is transposed, each gets its columns of every
    word; if it is only reshaped, head 0 gets the first six numbers, as they lie in memory.

    Above, q of one sentence, T = 3 words by D = 4 columns: the numbers of "the" lie at places 0
    to 3, those of "red" at 4 to 7, those of "car" at 8 to 11. Below, two heads with a row for
    each word and K = 2 columns. Transposed: head 0 has 0 1, 4 5, 8 9, and head 1 has 2 3, 6 7,
    10 11, two numbers of each word. Only reshaped: head 0 has 0 1, 2 3, 4 5, so that what it
    compares as the query of "red" are numbers of "the"; head 1 has 6 7, 8 9, 10 11.
    """
    w, h, words = 34, 26, ("the", "red", "car")
    said = ("columns 0 and 1 of each word", "columns 2 and 3 of each word"), \
        ("numbers 0 to 5 in memory", "numbers 6 to 11 in memory")
    parts = ["<style>.cut .number { transition: transform 0.7s; } @media (prefers-reduced-motion) "
             "{ .cut .number { transition: none; } } .cut:has(:last-child > :checked) .number "
             "{ transform: var(--cut); } .cut:has(:last-child > :checked) .transposed, "
             ".cut:not(:has(:last-child > :checked)) .reshaped { visibility: hidden; }</style>",
             text(180, 14, "q, a row for each word", bold=True, fill="query")]
    heads = [(44, 150), (222, 150)]  # where they begin

    def place(at):  # of number `at` of both heads' numbers, head by head
        (x, y), k = heads[at // 6], at % 6
        return x + k % 2 * w, y + k // 2 * h

    for i, word in enumerate(words):
        parts.append(text(104, 24 + (i + 0.65) * h, word, "end"))
        parts += [text(x - 8, y + (i + 0.65) * h, word, "end") for x, y in heads]
        for j in range(4):
            number = 4 * i + j
            (x, y), (to_x, to_y) = place(6 * (j // 2) + 2 * i + j % 2), place(number)
            parts += [part + text(left + w / 2, top + 17, number) + end
                      for left, top, part, end in (
                          (112 + j * w, 24 + i * h, cell(112 + j * w, 24 + i * h, w, h, "query",
                                                         0.08 + 0.18 * i), ""),
                          (x, y, f'<g class="number" style="--cut: translate({to_x - x}px, '
                           f'{to_y - y}px)">' + cell(x, y, w, h, "query", 0.08 + 0.18 * i), "</g>"))]
    for name, its in zip(("transposed", "reshaped"), said):
        parts += [f'<g class="{name}">' + text(x + w, 246, words, size=11) + "</g>"
                  for (x, _), words in zip(heads, its)]
    parts += [text(x + w, 142, f"head {i}", bold=True) for i, (x, _) in enumerate(heads)]
    return svg(254, parts)


# ---------------------------------------------------------------- masks

def mask_grid(title, keys, rows):
    """Rows are queries, columns keys; 1 and a tint where the key is visible."""
    size, x, y = 24, 30, 50
    parts = [text(24, 14, title, "start", bold=True),
             text(x + size * len(keys) / 2, 31, "keys", size=11, fill="key"),
             upright(11, y + size * len(rows) / 2, "queries", size=11, fill="query")]
    for i, row in enumerate(rows):
        middle = (i + 0.5) * size
        parts += [text(x + middle, y - 6, keys[i], size=11),
                  text(x - 8, y + middle + 4, keys[i], "end", 11)]
        for j, visible in enumerate(row):
            place = x + j * size, y + i * size, size, size
            parts += [cell(*place, "weight"), text(x + (j + 0.5) * size, y + middle + 4, 1)] \
                if visible else [hatched(*place)]
    return svg(y + len(rows) * size + 4, parts, 160)


def masks():
    """The three masks. A row for each query, a column for each key: 1, and a color,
    where the query may see the key; hatched where it may not. The edges show tokens,
    of which 0 is PAD and 2 the end, and, in the middle grid, positions.

    Three grids with queries as rows and keys as columns. Source padding, for the
    ids 5 7 2 0 0: in every one of the five rows the first three keys are visible
    and the last two hidden, so no query sees the two pads. Causal, for four
    words: row 0 has one visible key, row 1 two, row 2 three and row 3 four, so a
    query sees itself and what comes before it. Causal and padding, for the ids
    1 6 0 0: row 0 has one visible key, and the three other rows have two, so a
    query sees no key after it and no pad.
    """
    ids, target = [5, 7, 2, 0, 0], [1, 6, 0, 0]
    return (mask_grid("source padding", ids, [[k != 0 for k in ids]] * 5)
            + mask_grid("causal", range(4), [[j <= i for j in range(4)]
                                             for i in range(4)])
            + mask_grid("causal and padding", target,
                        [[j <= i and target[j] != 0 for j in range(4)]
                         for i in range(4)]))


# ---------------------------------------------------------------- padding

SENTENCES = ["the red car end".split(), "the cat is asleep end".split(),
             "yes end".split()]


def padded_batch():
    """A batch: three sentences as a rectangle."""
    w, h, x, y = 52, 28, 92, 34
    parts = [text(x, 14, "a batch, padded to the longest", "start",
                  bold=True)]
    for i, words in enumerate(SENTENCES):
        parts.append(text(x - 8, y + (i + 0.5) * h + 4, f"sentence {i}", "end", 11))
        for j in range(5):
            if j < len(words):
                parts += [cell(x + j * w, y + i * h, w, h, "part"),
                          text(x + (j + 0.5) * w, y + (i + 0.5) * h + 4, words[j])]
            else:
                parts += [pad(x + j * w, y + i * h, w, h, "pad")]
    keys, high = legend(y + 3 * h + 12, [
        (swatch("part", TINT), "a token"),
        (pad, "pad: computed, thrown away")], x)
    return svg(y + 3 * h + 12 + high, parts + keys)


def padded_attention():
    """What attention does with the pads of the last sentence."""
    size, x, y = 25, 92, 56
    names = SENTENCES[2] + ["pad"] * 3
    parts = [text(8, 14, "the mask of sentence 2: its pads are hidden as keys",
                  "start", bold=True)]
    for i, name in enumerate(names):
        parts += [text(x + (i + 0.5) * size, y - 7, name, size=11),
                  text(x - 8, y + (i + 0.5) * size + 4, name, "end", 11)]
        for j in range(5):
            place = x + j * size, y + i * size, size, size
            parts.append(cell(*place, "weight") if j < 2 else hatched(*place))
    bottom, right = y + 5 * size + 12, x + 5 * size + 12
    parts += [text(x + 2.5 * size, 34, "keys", size=11, fill="key", bold=True),
              text(24, y + 66, "queries", size=11, fill="query", bold=True),
              *texts(right, y + 22, ["real words: they", "look at real words"]),
              *texts(right, y + 82, ["rows of pads: what", "they see does", "not count"])]
    keys, high = legend(bottom, [
        (swatch("weight"), "visible"), (hatched, "hidden by the mask")], x)
    return svg(bottom + high, parts + keys)


def padding():
    """Padding makes a batch a rectangle, and the mask keeps it out of attention:
    no query sees a pad as its key. The rows of pads are computed, but nobody looks
    at them and the loss leaves them out.

    First, a batch of three rows and five columns. Sentence 0 is "the red car" and
    the end, with one pad; sentence 1, "the cat is asleep" and the end, fills its
    row; sentence 2, "yes" and the end, has three pads. Second,
    the mask of sentence 2, a grid of five queries and five keys: in all five rows
    the keys "yes" and "end" are visible and the three pads are hidden. The last
    three rows belong to queries of pads.
    """
    return padded_batch() + padded_attention()


def places(title, batches):
    """Batches of sentences, as rows of tokens and padding; lengths are given."""
    size, y, parts = 13, 34, [text(20, 14, title, "start", bold=True)]
    filled = sum(max(batch) - n for batch in batches for n in batch)
    for i, batch in enumerate(batches):
        parts.append(text(20, y, f"batch {i}", "start", 11, "faint"))
        y += 6
        for n in batch:
            parts.append(text(14, y + 10, n, "end", 11))
            for j in range(max(batch)):
                place = 20 + j * size, y, size - 2, size - 2
                parts.append(box(*place, "part", TINT, "part") if j < n
                             else pad(*place, dashes="2 2"))
            y += size
        y += 18
    parts.append(text(20, y, f"{filled} pads", "start", bold=True))
    keys, high = legend(y + 10, [("part", "token"), (pad, "pad")], 20)
    return svg(y + 10 + high, parts + keys, 172)


def bucketing():
    """The same six sentences in two batches of three, in the order of the data and
    sorted by length. A number before a row is its length. Empty places are padding:
    19 of them, or 4.

    Six rows of squares, a square for each token, in two groups of three, each
    group filled up with empty squares to its longest row. On the left the
    lengths are 3, 9, 4 and 10, 3, 9; the batches are 9 and 10 long, with 19 pads.
    On the right the sentences are sorted: 3, 3, 4 and 9, 9, 10; the batches are 4
    and 10 long, with 4 pads.
    """
    return (places("as they come", [[3, 9, 4], [10, 3, 9]])
            + places("sorted by length", [[3, 3, 4], [9, 9, 10]]))


# ---------------------------------------------------------------- the cache

WRITTEN = ["start", "la", "voiture", "rouge", "est", "rapide"]


def known_cell(known, fill, tint):
    """How a cell of the cache is drawn: filled, or still empty."""
    return (fill, tint) if known else (None, 1, "3 3")


def cache_steps(step=2):
    """The causal mask, and beside it the rows of the cache after that step."""
    size, x, y, right, wide = 22, 60, 54, 232, 54
    parts = [text(x + 3 * size, 14, "causal mask", bold=True),
             text(x + 3 * size, 30, "a row: the keys that a word sees", size=11),
             text(right + wide, 14, "cache", bold=True),
             text(right + wide / 2, 46, "keys", fill="key", bold=True, size=11),
             text(right + 1.5 * wide, 46, "values", fill="value", bold=True, size=11)]
    for i, word in enumerate(WRITTEN):
        top, tint = y + i * size, 0.5 if i == step else TINT
        parts += [text(x - 6, top + 15, word, "end", 11, bold=i == step),
                  text(x + (i + 0.5) * size, y - 8, i, size=11),
                  text(right - 6, top + 15, i, "end", 11)]
        parts += [cell(x + j * size, top, size, size, "weight", tint) if j <= i
                  else hatched(x + j * size, top, size, size) for j in range(len(WRITTEN))]
        parts += [cell(right + j * wide, top, wide, size, *known_cell(i <= step, fill, tint))
                  for j, fill in enumerate(("key", "value"))]
        note = "kept" if i < step else "new" if i == step else ""
        parts += [text(right + (j + 0.5) * wide, top + 15, note, size=11,
                       bold=i == step) for j in range(2)]
    top = y + step * size
    parts += [box(x - 1, top, 6 * size + 2, size, stroke="currentColor", width=2),
              line([(x + 6 * size + 1, top + 11), (right - 28, top + 11)]),
              line([(right - 22, y + 4), (right - 28, y + 4),
                    (right - 28, top + size - 4), (right - 22, top + size - 4)])]
    bottom = y + 6 * size
    keys, high = legend(bottom + 12, [
        ("weight", "seen"), (swatch("weight", 0.5), "seen in this step"),
        (hatched, "hidden: comes later")], 24)
    low = bottom + 12 + high
    parts += texts(24, low + 14, ["Step 3: one query, that of “voiture”. It sees rows 0",
                                  "to 2. Rows 0 and 1 are kept from the steps before,",
                                  "so only row 2 has to be computed."], 16, None)
    return svg(low + 54, parts + keys)


def cache_memory(step=2, room=6):
    """Two sentences in the memory of k."""
    h, x, y, wide = 15, 146, 40, 80
    parts = [text(8, 14, "in memory: k of a layer, P = 6 rows a sentence", "start",
                  bold=True), text(x + wide / 2, 32, "D numbers", size=11)]
    for r in range(2 * room):
        b, t = divmod(r, room)
        top = y + r * h + 8 * b
        parts += [cell(x, top, wide, h,
                       *known_cell(t <= step, "key", 0.5 if t == step else TINT)),
                  text(x - 8, top + 11.5, f"row {b}·P + {t}", "end", 11,
                       bold=t == step)]
    middles = [y + (b * room + step + 0.5) * h + 8 * b for b in range(2)]
    parts += [line([(x + wide + 4, middles[0]), (x + wide + 22, middles[0]),
                    (x + wide + 22, middles[1]), (x + wide + 4, middles[1])]),
              *texts(x + wide + 30, middles[0] + 40,
                     ["one matrix (B,D),", "whose rows are", "P rows apart"]),
              *texts(8, y + 0.5 * h + 4, ["sentence 0", "sentence 1"], room * h + 8)]
    bottom = y + 2 * room * h + 8
    keys, high = legend(bottom + 12, [
        (swatch("key", TINT), "kept"), (swatch("key", 0.5), "new in this step"),
        (swatch(None, 1, "3 3"), "still empty")], 40)
    return svg(bottom + 12 + high, parts + keys)


def cache():
    """The cache in the third step, when "start la voiture" has been written. A row of the
    causal mask says which keys and values a word needs; all but its own are there
    already. Each sentence has P rows,
    and so the new rows lie P rows apart.

    First, a causal mask of six words, with row 2, of "voiture", framed: it sees
    the keys 0, 1 and 2. A bracket leads to rows 0 to 2 of the cache, which has
    columns for keys and values. Rows 0 and 1 are kept from earlier steps, row 2
    is new, and rows 3 to 5 are still empty. Second, how the keys of two
    sentences lie in memory: rows 0·P+0 to 0·P+5, then 1·P+0 to 1·P+5, each D
    numbers. In both sentences rows 0 and 1 are kept, row 2 is new, and the others
    are still empty. The two new rows form one matrix (B,D) whose rows are P rows
    apart.
    """
    return cache_steps() + cache_memory()


# ---------------------------------------------------------------- a training step

PIECES = ["model", "gradient", "m", "v", "batch", "saved", "scratch"]
CALLS = [  # and for each piece: "-" is not there, "." is there and left alone
    ("make_batch", "....W--"), ("transformer_forward", "R...RW-"),
    ("loss_forward", "....RU-"), ("clear", ".0....-"),
    ("loss_backward", "....RU-"), ("transformer_backward", "R+..RRW"),
    ("l2_norm, clip_factor", ".R....."), ("adam_step", "URUU..."),
    ("arena_release(mark)", ".....××"), ("arena_release(0)", "....×--")]


def training_step():
    """One training step through memory. Time runs downward; a column is colored
    while its memory is in use. The four roles stay. What is in the arena is given
    back, most of the scratch layer by layer within transformer_backward.

    A table: the columns are pieces of memory, the rows are the calls of one step in
    order. Four columns stay colored from top to bottom: model, gradient, m and v.
    Three are in the arena: the batch, what the forward pass saves, and the scratch
    of the backward pass. make_batch writes the batch; in step 1 transformer_forward
    reads the model and the batch and writes what is saved, and loss_forward reads
    the batch and the logits and writes lse. In step 2 clear empties the gradient,
    loss_backward reads the batch and turns the logits into dlogits, and
    transformer_backward reads the model, the batch and what was saved, writes
    scratch, and adds to the gradient. In step 3 l2_norm and clip_factor read the
    gradient, and adam_step reads it and updates m, v and the model. At the end
    arena_release(mark) gives back what was saved and the scratch, and
    arena_release(0) the batch.
    """
    left, w, h, top = 150, 28, 24, 84
    columns = [left + w * i + (10 if i > 3 else 0) for i in range(len(PIECES))]
    parts = [text(left + 2 * w, 14, "four roles", bold=True),
             text(left + 5.5 * w + 10, 14, "arena", bold=True)]
    parts += [upright(x + w / 2 + 4, top - 8, piece, "start", size=11.5)
              for x, piece in zip(columns, PIECES)]
    steps = {"transformer_forward": "(1)", "clear": "(2)",
             "l2_norm, clip_factor": "(3)"}
    for i, (call, marks) in enumerate(CALLS):
        y = top + i * h
        parts += [text(2, y + 16, steps.get(call, ""), "start", 11, "faint"),
                  text(left - 6, y + 16, call, "end", 11)]
        for x, piece, mark in zip(columns, PIECES, marks):
            fill = "gradient" if piece in ("gradient", "scratch") else "part"
            parts.append(box(x, y, w - 3, h, fill, TINT) if mark != "-" else "")
            parts.append(text(x + w / 2 - 1.5, y + 16, mark, bold=True)
                         if mark not in "-." else "")
    bottom = top + len(CALLS) * h
    keys = ["R read, W write, U update, + add, 0 clear, × give back"]
    return svg(bottom + 28, parts + [text(180, bottom + 20, *keys, size=11.5)])

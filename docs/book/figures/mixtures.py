"""Drawings of attention, byte pairs and a beam, for the walkthrough, in numbers
that can be checked by hand or are those of the model that docs/book/records/make.sh
trains. gallery.py says how a picture is written.
"""
import math

from drawing import TINT, arrow, bars, box, decimals, frame, legend, line, strength, svg, text
from records import attention, matrices, mean_of_heads

WORDS = "the red car is fast end".split()


def softmax(z):
    shares = [math.exp(x - max(z)) for x in z]
    return [share / sum(shares) for share in shares]


# ---------------------------------------------------------------- attention

def stacked(x, y, w, h, weights):
    """Weights that sum to 1, as one bar: the larger one is, the stronger its color."""
    parts = []
    for word, weight in zip(WORDS, weights):
        parts.append(box(x, y, w * weight, h, "weight", strength(weight), "paper"))
        if weight >= 0.15:
            parts.append(text(x + w * weight / 2, y + h / 2 + 4,
                              f"{word} {decimals(weight)}", size=11))
        x += w * weight
    return parts


def mixed(x, y, w, unit, weights, values):
    """What the words contribute to each number of the mixed value, stacked: the larger
    a weight, the stronger its color; a black mark is the sum."""
    parts = [line([(x, y), (x + w * len(values[0]), y)], "faint", 0.75)]
    for column in range(len(values[0])):
        ends = {True: y, False: y}
        for j, weight in enumerate(weights):
            high = weight * values[j][column] * unit
            end = ends[high > 0]
            parts.append(box(x + column * w + 1, min(end, end - high), w - 2,
                             abs(high), "value", weight))
            ends[high > 0] = end - high
        total = ends[True] + ends[False] - y
        parts.append(box(x + column * w, total - 1, w, 2, "currentColor"))
    return parts


def mixture():
    """One head of a trained model's encoder reads "the red car is fast". The query of
    "the", sixteen numbers, is compared with the key of every word. A score is their
    dot product, scaled by 1/√16; the scores become weights, and the weights mix the
    values: "car" gives the most.

    Top left, the query of "the": sixteen numbers, drawn as bars up and down. Below
    it, a row for each word of "the red car is fast" and the end: its key, sixteen
    bars; the score, the dot product of query and key times the scale; the weight, a
    bar; and the value, sixteen bars. The weights are 0.08 for "the", 0.08 for "red",
    0.72 for "car", 0.03 for "is", 0.02 for "fast" and 0.06 for the end; put side by
    side they fill one bar of length 1. At the bottom, the result: for each of its
    sixteen numbers, what the words contribute is stacked, in colors that are the stronger
    the larger the weight, most of it from "car", and a black mark is the sum.
    """
    found = matrices("vectors.csv", ["matrix"], "row", "value")
    query, keys, values = found["query",][0], found["key",], found["value",]
    scores = [sum(a * b for a, b in zip(query, key)) / math.sqrt(len(query))
              for key in keys]
    weights = softmax(scores)
    parts = [text(50, 14, "query of “the”", "start", fill="query", bold=True)]
    parts += bars(50, 38, query, "query", 6, 3)
    for x, words, fill, anchor in ((50, "keys", "key", "start"),
                                   (186, "scaled", None, "end"),
                                   (196, "weights", "weight", "start"),
                                   (262, "values", "value", "start")):
        parts.append(text(x, 76, words, anchor, fill=fill, bold=True))
    parts.append(text(186, 63, "scores,", "end", bold=True))
    for j, word in enumerate(WORDS):
        y = 98 + 30 * j
        parts.append(text(44, y + 4, word, "end", bold=True))
        parts += bars(50, y, keys[j], "key", 6, 3)
        parts.append(text(186, y + 4, decimals(scores[j]), "end"))
        parts += [box(196, y - 8, 30 * weights[j], 16, "weight"),
                  text(200 + 30 * weights[j], y + 4, decimals(weights[j]),
                       "start", 11)]
        parts += bars(262, y, values[j], "value", 6, 4)
    parts += [text(50, 290, "all weights together: 1", "start", fill="weight",
                   bold=True)]
    parts += stacked(50, 297, 308, 18, weights)
    parts += [text(50, 340, "out: the values, mixed in these proportions",
                   "start", bold=True),
              text(50, 356, "drawn four times as high as the values above", "start",
                   11)]
    parts += mixed(50, 404, 19.25, 16, weights, values)
    keys, high = legend(446, [(lambda x, y, *_: box(x, y + 4, 14, 2, "currentColor"),
                               "sum of the contributions")], 50)
    return svg(446 + high, parts + keys)


def mixtures(rows, names, before, left=104):
    """Several mixtures of the same words below each other."""
    parts = [text(left - 6, 16, before, "end", 11, "faint")]
    for i, (name, weights) in enumerate(zip(names, rows)):
        y = 24 + 28 * i
        parts.append(text(left - 6, y + 14, name, "end"))
        parts += stacked(left, y, 356 - left, 20, weights)
        parts.append(frame(left, y, 356 - left, 20))
    return svg(24 + 28 * len(rows), parts)


def mixture_heads():
    """What the query of "car" fetches in the four heads of the encoder's first layer.
    Each head makes its own mixture: head 0 takes "red", head 1 mostly "is", head 2
    "fast" and "the", and head 3 the end.

    Four bars of length 1, one for each head of self-attention in the first layer of
    the encoder, for the query of "car", cut by word. Head 0 is filled by "red"
    (1.00). Head 1 has 0.69 "is", 0.19 the end and 0.11 "the"; head 2 has 0.52 "fast",
    0.30 "the" and 0.17 the end. Head 3 is filled by the end (1.00).
    """
    heads, *_ = attention("red-car")
    return mixtures([heads["encoder", "0", h][2] for h in "0123"],
                    [f"head {h}" for h in "0123"], "", 60)


def mixture_encoder():
    """Self-attention in the encoder: one head of the second layer reads "the red car
    is fast" and the end. Every word makes a query, and four of the six take nearly
    everything from "car". A share below 0.15 has no number.

    Six bars of length 1, one for each word of "the red car is fast" and the end,
    cut by the word that is looked at. The bars of "the", "red", "fast" and the
    end are filled by "car", with at least 0.99. The bar of "car" is "is" (0.64) and
    "fast" (0.27), that of "is" is "is" (0.59) and "car" (0.34).
    """
    return mixtures(attention("red-car")[0]["encoder", "1", "1"], WORDS, "query of", 60)


def mixture_decoder():
    """Cross-attention while the translation is written: each French word is made
    from a mixture of English ones. Means of the four heads of the last layer.

    Six bars of length 1, from top to bottom for "la", "voiture", "rouge", "est",
    "rapide" and the end, cut by the English word that is looked at. "la" is
    made from "the" (0.75) and "car" (0.25), "voiture" from "car" alone, "rouge"
    from "red" (0.98); "est" from "is" (0.87) and the end (0.13), "rapide" from "fast",
    and the end from itself (0.91).
    """
    return mixtures(mean_of_heads("red-car", "1"),
                    "la voiture rouge est rapide end".split(), "to write", 70)


# ---------------------------------------------------------------- byte pairs

MERGES = [("a", "t"), ("␣", "c"), ("␣c", "at"), ("␣", "e"), ("␣e", "at")]  # of chapter 10


def merge_tree(word, x, bottom, step=28):
    """A word's characters, and above them the pieces that they become. A number
    is that of the merge."""
    pieces = [(c, x + step * i, bottom) for i, c in enumerate("␣" + word)]
    parts = []
    for n, pair in enumerate(MERGES, 1):
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
                      text(middle + 5, y + 18, n, "start", 12, bold=True)]
            done.append((left + piece, middle, y))
            parts.append(text(middle, y, left + piece, size=14))
        pieces = done
    parts += [text(x + step * i, bottom, c, size=14)
              for i, c in enumerate("␣" + word)]
    return parts + [box(at - 5 - 4.5 * len(piece), y - 14, 10 + 9 * len(piece), 20,
                        "part", TINT, "part", radius=3) for piece, at, y in pieces]


def merging():
    """The five merges learned from "cat cats eat eats cat", applied to three words; ␣
    is the blank before a word. Numbers say which merge joins two pieces; the tokens
    are framed. "seats" is new: only one merge fits.

    Three trees, to be read from bottom to top, with the blank written as an open
    box. "cats": merge 1 joins a and t, merge 2 the blank and c, merge 3 these two;
    the tokens are blank-cat and s. "eats": merge 1 joins a and t, merge 4 the
    blank and e, merge 5 these two; the tokens are blank-eat and s. "seats": merge
    1 joins a and t; the tokens are blank, s, e, at and s.
    """
    panels = []
    for word, note, top in (("cats", "in the training data", -10),
                            ("eats", "in the training data", -10),
                            ("seats", "a new word", 34)):
        parts = merge_tree(word, 18, 118)
        panels.append(svg(128 - top, parts + [
            text(10, top + 12, word, "start", bold=True),
            text(52, top + 12, note, "start", 11, "faint")], 176, top))
    return "".join(panels)


# ---------------------------------------------------------------- the beam

NEXT = {(): {"il": 0.5, "elle": 0.4, "dort": 0.1},  # as in the example of the chapter
        ("il",): {"dort": 0.5, "mange": 0.4, "end": 0.1},
        ("elle",): {"dort": 0.9, "mange": 0.1},
        ("elle", "dort"): {"end": 0.9, "mange": 0.1},
        ("il", "dort"): {"end": 0.9, "mange": 0.1}}


def beam_steps():
    """For each step its candidates, (words, probability, whether it is one of the two
    that are kept), grouped by what they continue."""
    steps, beam = [], {(): 1.0}
    while beam:
        found = {words + (word,): p * q for words, p in beam.items()
                 for word, q in NEXT[words].items()}
        best = sorted(found, key=found.get, reverse=True)[:2]
        steps.append([(words, p, words in best) for words, p in found.items()])
        beam = {words: p for words, p in found.items()
                if words in best and words[-1] != "end"}
    return steps


def beam():
    """A beam of two. In each step the hypotheses grow by one word, and the two most
    probable candidates are kept; the others are cut. A number is the probability of
    all words since "start": 0.5 for "il" times 0.5 for "dort" after it is 0.25.
    Greedy decoding would have followed "il" and missed "elle dort".

    A tree that grows from left to right, with the probability of each beginning.
    Step 0: "il" 0.50 and "elle" 0.40 are kept, "dort" 0.10 is cut. Step 1: from
    "il", "dort" 0.25 is kept, "mange" 0.20 and the end 0.05 are cut; from "elle",
    "dort" 0.36 is kept and "mange" 0.04 is cut. Step 2: from "elle dort", the end
    gives 0.324 and from "il dort" 0.225; both are finished, and what "mange" would
    give is cut. The best is "elle dort", end.
    """
    w, h, parts, at = 82, 22, [], {(): (4, 150)}
    parts.append(text(4, 155, "start", "start", bold=True))
    steps = beam_steps()
    finished = max(p for step in steps for words, p, _ in step
                   if words[-1] == "end")
    for t, candidates in enumerate(steps):
        x = 57 + 109 * t
        parts.append(text(x + w / 2, 14, f"step {t}", bold=True))
        gap = 250 / len(candidates)
        for i, (words, p, kept) in enumerate(candidates):
            y = 36 + gap * (i + 0.5)
            from_x, from_y = at[words[:-1]]
            from_x += w if t else 39
            from_y += 0 if kept else 6
            ended = kept and words[-1] == "end"
            parts.append(line([(from_x, from_y), (x - 14, y), (x, y)],
                              "currentColor" if kept else "faint",
                              1.75 if kept else 0.75, None if kept else "3 3"))
            parts.append(box(x, y - h / 2, w, h, "part" if kept else "paper",
                             TINT if kept else 1,
                             "currentColor" if ended else "part",
                             None if kept else "3 3", 3, 2 if ended else 1))
            if ended and p == finished:
                parts.append(text(x + w / 2, y - h / 2 - 6, "the best", size=11,
                                  bold=True))
            parts.append(text(x + 5, y + 4, words[-1], "start", 11,
                              None if kept else "faint", kept))
            parts.append(text(x + w - 4, y + 4, decimals(p, 3 if t > 1 else 2), "end", 11,
                              None if kept else "faint"))
            at[words] = (x, y)
    keys, high = legend(302, [
        ("part", "kept"),
        (lambda *place: box(*place, "part", TINT, "currentColor", width=2),
         "finished"),
        (lambda *place: box(*place, "paper", stroke="faint", dashes="3 3"),
         "cut")], 60)
    return svg(302 + high, parts + keys)


def back_pointers():
    """How a beam remembers. For each hypothesis it keeps only the last word, and the row of
    the hypothesis that this one continues: an arrow. When the search is over, the best one
    is read from its end back to the start (thick).

    The same beam of two as above, in columns for the start and steps 0 to 2, and two
    rows. Step 0: row 0 "il" and row 1 "elle", both with an arrow to the start. Step 1:
    row 0 "dort" with an arrow to row 1, "elle"; row 1 "dort" with an arrow to row 0,
    "il". Step 2: the end, with an arrow to row 0, and another, finished as well, to row
    1. The thick way leads from the first end through "dort" in row 0 and "elle" in row
    1 to the start.
    """
    w, h, rows, parts = 62, 28, {(): 0}, []
    steps = [[((), 1.0)]] + [sorted(
        ((words, p) for words, p, kept in step if kept), reverse=True,
        key=lambda candidate: candidate[1]) for step in beam_steps()]
    best = max((c for step in steps for c in step if c[0][-1:] == ("end",)),
               key=lambda candidate: candidate[1])[0]
    for t, kept in enumerate(steps):
        x = 22 + 86 * t
        parts.append(text(x + w / 2, 14, f"step {t - 1}" if t else "start", bold=True))
        before, rows = rows, {words: i for i, (words, *_) in enumerate(kept)}
        for words, row in rows.items():
            y, on = 30 + 58 * row, words == best[:len(words)]
            if words:
                parts.append(arrow([(x - 1, y + h / 2),
                                    (x - 86 + w + 1, 30 + 58 * before[words[:-1]] + h / 2)],
                                   width=2.5 if on else 1, head=6 if on else 5))
            parts += [box(x, y, w, h, "part", TINT, "currentColor" if on else "part",
                          radius=3, width=2 if on else 1),
                      text(x + w / 2, y + h / 2 + 4, words[-1] if words else "start",
                           bold=on)]
    parts += [text(14, 30 + 58 * i + h / 2 + 4, i, "end", 11, "faint")
              for i in range(2)]
    return svg(122, parts)

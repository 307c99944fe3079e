"""Drawings of what flows through the model, for the walkthrough: forward,
backward, and through memory. gallery.py says how a picture is written.
"""
from drawing import arrow, box, joint, label, legend, svg, text

# ---------------------------------------------------------------- the whole model

# The middles of the two stacks, half the width of a box, and the tops of boxes.
ENCODER, DECODER, HALF = 89, 271, 64
EMBEDDING, SELF, CROSS = 580, 470, 352
NORMS = {ENCODER: (438, 340), DECODER: (438, 320, 222)}
FORWARD = {ENCODER: 372, DECODER: 254}
LINEAR, SOFTMAX, TOP = 162, 102, 34
FORK, ASIDE, MEMORY = 538, 553, 312  # to q, k and v; the residual path; its height


def up(x, *ys):
    return [(x, y) for y in ys]


def away(middle):
    """On which side of a stack its residual paths are."""
    return -1 if middle == ENCODER else 1


def around(middle, split, norm):
    """The residual path, outside of the stack, from a split to a norm."""
    side = middle + away(middle) * (HALF + 13)
    return [(middle, split), (side, split), (side, norm + 10),
            (middle + away(middle) * HALF, norm + 10)]


def wires():
    """The ways within the stacks and out of them, in the direction of the forward
    pass."""
    found = []
    for middle, norms in NORMS.items():
        found += [up(middle, EMBEDDING, 516)]
        found += [[(middle, FORK), (middle + dx, FORK), (middle + dx, 516)]
                  for dx in (-40, 40)]
        found += [around(middle, ASIDE, norms[0]), up(middle, SELF, 458)]
        feed = FORWARD[middle]
        found += [up(middle, norms[-2], feed + 26),
                  around(middle, feed + 48, norms[-1]),
                  up(middle, feed, norms[-1] + 20)]
    return found + [up(DECODER, 438, CROSS + 46), around(DECODER, CROSS + 68, 320),
                    up(DECODER, CROSS, 340), up(DECODER, 222, LINEAR + 26)]


def attention(middle, top, name, mask, ports):
    """A box of attention. A port is the place where q, k or v enters."""
    parts = [label(middle - HALF, top, 2 * HALF, 46, "", "weight"),
             text(middle, top + 13, name), text(middle, top + 25, mask, size=11)]
    for role, (x, y) in zip(("query", "key", "value"), ports):
        parts.append(text(x, y, role[0], size=12, fill=role, bold=True))
    return parts


def boxes(masks):
    """The boxes of both stacks; masks are the words in the attentions."""
    parts = []
    for middle, name, top in ((ENCODER, "encoder", 332), (DECODER, "decoder", 214)):
        parts += [box(middle - 84, top, 168, 562 - top, stroke="faint",
                      dashes="4 3", radius=6),
                  text(middle - 84, top - 6, f"{name} × L", "start", 11, bold=True),
                  label(middle - HALF, EMBEDDING, 2 * HALF, 28,
                        "embedding + position", size=11)]
        parts += attention(middle, SELF, "self-attention", masks[name],
                           [(middle + dx, 511) for dx in (-40, 0, 40)])
        parts += [label(middle - HALF, y, 2 * HALF, 20, "add, norm")
                  for y in NORMS[middle]]
        parts.append(label(middle - HALF, FORWARD[middle], 2 * HALF, 26,
                           "feed-forward"))
    edge = DECODER - HALF + 10
    parts += attention(DECODER, CROSS, "cross-attention", masks["cross"],
                       [(DECODER, CROSS + 41), (edge, CROSS + 18),
                        (edge, CROSS + 36)])
    return parts + [label(DECODER - HALF, LINEAR, 2 * HALF, 26, "linear (D,V)")]


LETTERS = [("q", "query"), ("k", "key"), ("v", "value"),
           ("B", "sentences in a batch"), ("S", "positions of the source"),
           ("T", "positions of the target"), ("D", "numbers in a vector"),
           ("V", "words of the vocabulary"), ("L", "layers of a stack")]


def model():
    """The whole model. The keys and values of cross-attention come, in every layer of
    the decoder, from the last layer of the encoder; everything else comes from below.

    Two columns, read from bottom to top. Left, the encoder: the source ids (B,S)
    go through the source embedding with positions and become (B·S,D); then come
    L layers of self-attention, add and norm, feed-forward, add and norm, and the
    output is the memory (B·S,D). Right, the decoder: the input ids (B,T) are
    embedded the same way and become (B·T,D); then come L layers of
    self-attention, cross-attention and feed-forward, each followed by add and
    norm; a linear layer makes logits (B·T,V), and softmax the probabilities of
    the next words. In both self-attentions q, k and v come from below; in
    cross-attention q comes from below, k and v come from the memory. A residual
    path leads around every sub-layer to the addition after it. The source
    padding mask acts in the encoder's self-attention and in cross-attention, the
    causal and padding mask in the decoder's self-attention.
    """
    ways = wires() + [up(DECODER, LINEAR, SOFTMAX + 26), up(DECODER, SOFTMAX, 80)]
    ways += [up(middle, 630, EMBEDDING + 28) for middle in NORMS]
    ways += [[(ENCODER, 340), (ENCODER, MEMORY), (180, MEMORY), (180, CROSS + dy),
              (DECODER - HALF, CROSS + dy)] for dy in (14, 32)]
    parts = [arrow(way, "part" if len(way) == 4 else "currentColor") for way in ways]
    parts += boxes({"encoder": "mask: padding", "cross": "mask: padding",
                    "decoder": "mask: causal, padding"})
    parts.append(label(DECODER - HALF, SOFTMAX, 2 * HALF, 26, "softmax",
                       "weight"))
    for x, y, words in ((ENCODER, 575, "(B·S,D)"), (DECODER, 575, "(B·T,D)"),
                        (DECODER, 207, "(B·T,D)"), (DECODER, 147, "(B·T,V)")):
        parts.append(text(x + 8, y, words, "start", 11))
    parts += [text(DECODER - 8, 147, "logits", "end", 11),
              text(ENCODER, 643, "source ids (B,S)"),
              text(DECODER, 643, "decoder input ids (B,T)"),
              text(DECODER, 74, "probability of each word"),
              text(14, 278, "memory (B·S,D)", "start", 11, bold=True),
              text(14, 292, "from the last encoder layer", "start", 11),
              text(14, 305, "to every decoder layer", "start", 11)]
    for i, (letter, meaning) in enumerate(LETTERS):
        role = meaning if meaning in ("query", "key", "value") else None
        parts += [text(14, 82 + 17 * i, letter, "start", fill=role, bold=True),
                  text(28, 82 + 17 * i, meaning, "start", 11)]
    keys, _ = legend(TOP, [("weight", "attention, softmax"),
                           ("part", "other parts of the model")])
    return svg(654 - TOP, parts + keys, top=TOP - 4)


MEETINGS = [  # what meets where, and the places
    ("feed-forward: dx through it, and around it",
     [(middle, feed + 48) for middle, feed in FORWARD.items()]),
    ("cross-attention: dq, and what goes around", [(DECODER, CROSS + 68)]),
    ("self-attention: dq, dk, dv, and around",
     [(ENCODER, FORK), (DECODER, FORK)]),
    ("dmemory: dk and dv of all L decoder layers", [(160, MEMORY)]),
    ("a word's vector: all places where it stands",
     [(ENCODER, 628), (DECODER, 628)])]


def back(way):
    """A way in the gradient's direction, in pieces that begin and end at the circles."""
    circles = [place for _, places in MEETINGS for place in places]
    *before, (x, y) = way[::-1]
    side = away(x)
    if y == ASIDE:
        return [before + [(x + 20 * side, y), (x + 6 * side, FORK + 6)]]
    if (x, y) in circles:
        return [before + [(x + (8 if before[-1][0] > x else -8), y)]]
    for over in (cy for cx, cy in circles if cx == x and before[0][1] < cy < y):
        if len(way) == 2:
            return [up(x, before[0][1], over - 8), up(x, over + 8, y)]
    return [way[::-1]]


def gradient_ways():
    """The gradient's path, from the loss down to both embeddings. It goes back
    along every wire of the forward pass. A circle with a plus is a place where
    the code says += because something was used more than once.

    The picture of the whole model again, with all arrows reversed: they begin at
    dlogits, at the top of the decoder, and end in the two tables of embeddings. At
    five kinds of places two or more arrows meet in a numbered circle. 1, below
    each feed-forward network: what comes through it, and what comes around it
    on the residual path. 2, below cross-attention: dq, and the residual path.
    3, below each self-attention: dq, dk and dv, and the residual path. 4, between
    the stacks: dk and dv of the cross-attention of every decoder layer, added up
    in dmemory before the encoder begins. 5, in the embeddings: every place in
    the batch where a word stands.
    """
    ways = [piece for way in wires() for piece in back(way)]
    ways += [up(DECODER, 134, LINEAR), [(152, MEMORY), (ENCODER, MEMORY),
                                        (ENCODER, 340)],
             [(DECODER - HALF, CROSS + 14), (177, CROSS + 14), (177, MEMORY + 17),
              (160, MEMORY + 17), (160, MEMORY + 8)],
             [(DECODER - HALF, CROSS + 32), (183, CROSS + 32), (183, MEMORY),
              (168, MEMORY)]]
    for middle in NORMS:
        ways += [up(middle, EMBEDDING + 28, 620), up(middle, 636, 652)]
    parts = [arrow(way, "gradient") for way in ways]
    parts += [arrow(up(160, 284, MEMORY - 8), "gradient", dashes="3 3"),
              text(180, 278, "dk, dv of other decoder layers", "end", 11, "gradient"),
              text(97, MEMORY - 5, "dmemory", "start", 11, "gradient")]
    parts += boxes({"encoder": "", "cross": "", "decoder": ""})
    for n, (_, places) in enumerate(MEETINGS, 1):
        for x, y in places:
            side = 13 if x == ENCODER else -13
            parts += [joint(x, y), text(x + side, y - 5 if n in (1, 2) else y + 15,
                                        n, size=12, fill="gradient", bold=True)]
    parts += [text(DECODER, 128, "from the loss: dlogits (B·T,V)", fill="gradient"),
              text(DECODER + 8, 207, "dhidden", "start", 11, "gradient")]
    parts += [text(middle, 665, f"{side} embedding", fill="gradient")
              for middle, side in ((ENCODER, "source"), (DECODER, "target"))]
    parts += [arrow([(12, 170), (40, 170)], "gradient"),
              text(48, 174, "gradient", "start", 11), joint(33, 194),
              text(48, 198, "+=: two or more meet", "start", 11)]
    keys = [text(8, 16, "What meets in the places marked +=", "start", bold=True)]
    for n, (words, _) in enumerate(MEETINGS, 1):
        keys += [text(14, 18 + 22 * n, n, fill="gradient", bold=True),
                 text(30, 18 + 22 * n, words, "start")]
    keys += [text(8, 158, "Within every linear layer, dW and db add up the rows",
                  "start"),
             text(8, 174, "of the batch, one for each position.", "start")]
    return svg(558, parts, top=114) + svg(184, keys)

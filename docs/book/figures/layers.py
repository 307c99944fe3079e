"""Drawings of the steps within a layer, for the walkthrough: boxes on a path that
climbs from the input to the output. gallery.py says how a picture is written.
"""
from drawing import arrow, box, joint, label, line, svg, text

THICK = 2.5  # a residual path


class Path:
    """What is drawn along a path, from (x, y) upwards; half: half a box's width."""

    def __init__(self, x, y, half=66):
        self.x, self.y, self.half, self.bottom, self.parts = x, y, half, y + 22, []

    def up(self, gap, words="", width=1.25, head=True):
        """Goes on upwards by `gap`, past words on the right."""
        way = [(self.x, self.y), (self.x, self.y - gap)]
        ink = "part" if width == THICK else "currentColor"
        self.parts.append((arrow if head else line)(way, ink, width))
        if words:
            self.parts.append(text(self.x + 7, self.y - gap / 2 + 4, words, "start",
                                   10.5))
        self.y -= gap

    def into(self, words, fill="none", high=24, gap=14, beside="", width=1.25):
        """Goes into a box, and to its upper edge. A tint means that it has parameters."""
        self.up(gap, beside, width)
        self.y -= high
        self.parts.append(label(self.x - self.half, self.y, 2 * self.half, high, words,
                                fill))

    def split(self):
        """Begins a residual path here; returns its height."""
        self.parts.append(box(self.x - 2.5, self.y - 2.5, 5, 5, "currentColor",
                              radius=2.5))
        return self.y

    def plus(self, began, aside):
        """Adds the residual path that began at this height and runs along x = aside."""
        self.up(14)
        self.y -= 7
        self.parts += [arrow([(self.x, began), (aside, began), (aside, self.y),
                              (self.x - 7, self.y)], "part", THICK),
                       joint(self.x, self.y, "currentColor")]
        self.y -= 7

    def frame(self, bottom, name, left, right):
        """A frame around what was drawn since the path was at this height."""
        self.parts += [box(left, self.y - 22, right - left, bottom - self.y + 22,
                           stroke="faint", dashes="4 3", radius=6),
                       text(left + 6, self.y - 8, name, "start", 11, "faint")]

    def add_and_norm(self, bottom, began, name, right=246):
        """The end of the sub-layer of this name, which began at these heights."""
        self.into("dropout")
        self.plus(began, 30 if right == 246 else 26)
        self.into("norm", "part")
        self.frame(bottom + 8, name, 10, right)

    def next_one(self, shape):
        """Goes on to the next sub-layer; returns the heights at which it begins."""
        self.up(22, head=False)
        self.up(28, shape, head=False)
        self.up(8, head=False)
        return self.y, self.split()


# -------------------------------------------------------------- pre and post

def norm_column(title, steps, out):
    path = Path(104, 282)
    path.parts += [text(104, 14, title, bold=True), text(104, 298, "x (N,D)")]
    path.up(16, width=THICK, head=False)
    began = path.split()
    for words in steps:
        if words == "+":
            path.plus(began, 20)
            continue
        on_path = "+" not in steps[steps.index(words):]
        path.into(words, "part" if "dropout" not in words else "none", 26, 18,
                  width=THICK if on_path else 1.25)
    path.up(path.y - 46, width=THICK)
    path.parts.append(text(104, 38, out))
    return svg(304, path.parts, 176)


def norms():
    """Post-norm and pre-norm. The thick line is the residual path: in post-norm a norm
    stands on it, in pre-norm nothing does.

    Two columns, read from bottom to top. Post-norm, left: x splits; one branch goes
    through the sub-layer and dropout, the other, the residual path, goes straight up
    to the addition; the norm follows the addition, on the common path, and gives the
    output norm(x + dropout(y)). Pre-norm, right: x splits; one branch goes through
    the norm, the sub-layer and dropout, the residual path goes straight up to the
    addition, and the sum x + dropout(y) is the output.
    """
    return norm_column("post-norm", ["y = sublayer(x)", "dropout(y)", "+", "norm"],
                       "norm(x + dropout(y))") \
        + norm_column("pre-norm", ["h = norm(x)", "y = sublayer(h)", "dropout(y)", "+"],
                      "x + dropout(y)")


# -------------------------------------------------------------- attention

STEPS = [  # forward, backward, and what goes up or down above each step
    (["(1) scores = q kᵀ"], ["(1) dq += dscores k,", "dk += dscoresᵀ q"],
     "scores (T,S)"),
    (["(2) times scale"], ["(2) times scale"], "scaled (T,S)"),
    (["(3) softmax(scaled)", "hidden keys: weight 0"],
     ["(3) softmax_backward", "hidden keys: gradient 0"], "weights (T,S)"),
    (["(4) dropout(weights)"], ["(4) the same dropout"], "dropped (T,S)"),
    (["(5) out = dropped v"], ["(5) ddropped = dout vᵀ,", "dv += droppedᵀ dout"],
     "out (T,K)")]


def given(x, y, name, shape, fill, wide=38):
    """A matrix that enters or leaves, in a small box around (x, y)."""
    return label(x - wide / 2, y - 16, wide, 32, [name, shape], fill, size=11)


def attention_column(back):
    fill, prefix = ("gradient", "d") if back else ("weight", "")
    roles = [fill] * 3 if back else ["query", "key", "value"]
    names = [prefix + name for name in "qkv"]
    x, half, parts, y = 134, 78, [], 372
    way = (lambda points: arrow(points[::-1], "gradient", dashes="4 3")) \
        if back else arrow
    parts.append(text(x, 14, "backward" if back else "forward", bold=True))
    for dx, name, shape, role in ((-36, names[0], "(T,K)", roles[0]),
                                  (36, names[1], "(S,K)", roles[1])):
        parts += [given(x + dx, y + 16, name, shape, role, 48),
                  way([(x + dx, y), (x + dx, y - 16)])]
    y -= 16
    for step, (forward, backward, above) in enumerate(STEPS):
        y -= 38
        parts += [label(x - half, y, 2 * half, 38, backward if back else forward,
                        fill, "3 3" if back else None),
                  way([(x, y), (x, y - 24)]),
                  text(x + 7, y - 9, prefix + above, "start", 11)]
        if step == 4:
            parts += [given(21, y + 19, names[2], "(S,K)", roles[2]),
                      way([(40, y + 19), (x - half, y + 19)])]
        elif step == 2 and not back:
            parts += [label(2, y + 3, 38, 32, ["mask", "(T,S)"], "part", size=11),
                      way([(40, y + 19), (x - half, y + 19)])]
        y -= 24
    return svg(408, parts, 228)


def attention():
    """Scaled dot-product attention, forward and backward. The steps are numbered as in
    attention_forward and attention_backward. Dashed and red: gradients.

    Two columns with the same five steps. Left, forward, read from bottom to top: q
    (T,K) and k (S,K) enter step 1, scores = q kᵀ, of shape (T,S); step 2 multiplies by
    scale and gives scaled (T,S); step 3 is softmax, where the mask acts, and gives
    weights (T,S); step 4 is dropout and gives dropped (T,S); v (S,K) joins in step 5,
    out = dropped v, of shape (T,K). Right, backward, read from top to bottom: dout
    (T,K) enters step 5, where ddropped = dout vᵀ (T,S) goes on and dropped transposed
    times dout is added to dv (S,K). Step 4, the same dropout, turns ddropped into
    dweights (T,S); step 3, softmax backward, turns that into dscaled (T,S); step 2,
    times scale, makes dscores (T,S). In step 1 dscores k is added to dq (T,K), and
    dscores transposed times q is added to dk (S,K).
    """
    return attention_column(False) + attention_column(True)


# -------------------------------------------------------------- encoder layer

def fan(path, places, high, shape):
    """From a path to three boxes side by side, which make q, k and v."""
    y = path.y - 12
    path.parts.append(line([(path.x, path.y), (path.x, y)]))
    for x, role in zip(places, ("query", "key", "value")):
        path.parts += [arrow([(path.x, y), (x, y), (x, y - 14)]),
                       label(x - 36, y - 14 - high, 72, high, [role, shape], role),
                       arrow([(x, y - 14 - high), (x, y - 34 - high)]),
                       text(x + 6, y - 20 - high, role[0], "start", fill=role,
                            bold=True)]
    path.y = y - 34 - high


def last_part(path, letter, detailed):
    """Draws the feed-forward sub-layer and the end of the layer; returns the layer's picture."""
    bottom, began = path.next_one(f"(B·{letter},D)")
    if detailed:
        path.into("inner (D,F)", "part")
        path.into("activation, dropout", gap=20, beside=f"(B·{letter},F)")
        path.into("outer (F,D)", "part")
    else:
        path.into(["feed-forward network", "(D,F), then (F,D)"], "part", 38)
    path.add_and_norm(bottom, began, "feed_forward", 350 if detailed else 246)
    path.up(42)
    path.parts.append(text(path.x, path.y - 6, f"x of the next layer (B·{letter},D)"))
    return svg(path.bottom - path.y + 18, path.parts, top=path.y - 18)


def encoder_layer():
    """An encoder layer, post-norm. In self-attention q, k and v all come from x. Thick:
    the residual paths. A shape in a box is that of a layer's matrix; beside an arrow,
    that of the data. White boxes and the attention have no parameters.

    Read from bottom to top. First sub-layer: x (B·S,D) goes into three linear layers,
    query, key and value, (D,D) each, which make q, k and v (B·S,D). They enter the
    attention of H heads, where the source padding mask acts; its context (B·S,D) goes
    through the linear layer output (D,D) and dropout, then x is added through the
    residual path, and a norm follows. Second sub-layer: the result goes through the
    linear layer inner (D,F), the activation with dropout, the linear layer outer (F,D)
    and dropout; what entered the sub-layer is added through the residual path, and a norm
    gives the output (B·S,D), the input of the next layer.
    """
    path = Path(186, 678, 76)
    path.parts.append(text(186, 694, "x (B·S,D)"))
    path.up(20, head=False)
    bottom, began = path.y, path.split()
    fan(path, (100, 186, 272), 36, "(D,D)")
    path.y -= 38
    path.parts.append(label(64, path.y, 244, 38, ["attention, H heads",
                                                  "mask: source padding"], "weight"))
    path.into("output (D,D)", "part", gap=20, beside="context (B·S,D)")
    path.add_and_norm(bottom, began, "self_attention", 350)
    return last_part(path, "S", True)


# -------------------------------------------------------------- decoder layer

def attention_box(path, mask, dx=0):
    """Multi-head attention on a path; dx: how far its words stand from the middle."""
    path.y -= 54
    path.parts += [box(path.x - path.half, path.y, 2 * path.half, 54, "weight", 0.18,
                       "weight", radius=3),
                   text(path.x + dx, path.y + 16, "multi-head attention"),
                   text(path.x + dx, path.y + 30, mask, size=11)]


def decoder_layer():
    """A decoder layer, post-norm. Self-attention: q, k and v come from x.
    Cross-attention: q comes from below, k and v from the memory. Thick: the residual
    paths.

    Read from bottom to top, three sub-layers. First, self-attention: x (B·T,D) gives
    q, k and v; the causal and padding mask acts here; dropout follows, x is added through
    the residual path, then comes a norm. Second, cross-attention: its q comes from the
    first sub-layer (B·T,D), its k and v come from the memory (B·S,D), the encoder's
    output, which enters from the right; the source padding mask acts here; dropout,
    addition through the residual path and norm follow. Third, the feed-forward network,
    (B·T,D) to (B·T,F) and back, with dropout, addition through the residual path and
    norm. The output (B·T,D) is the input of the next layer, which takes k and v from
    the same memory.
    """
    path = Path(142, 818, 76)
    path.parts.append(text(142, 834, "x (B·T,D)"))
    path.up(20, head=False)
    bottom, began = path.y, path.split()
    y = path.y - 12
    path.parts.append(line([(path.x, path.y), (path.x, y)]))
    path.y = y - 16
    attention_box(path, "mask: causal and padding")
    for dx, role in ((-50, "query"), (0, "key"), (50, "value")):
        path.parts += [arrow([(path.x, y), (path.x + dx, y), (path.x + dx, y - 16)]),
                       text(path.x + dx, y - 22, role[0], fill=role, bold=True)]
    path.add_and_norm(bottom, began, "self_attention")
    bottom, began = path.next_one("(B·T,D)")
    path.up(18)
    attention_box(path, "mask: source padding", -9)
    path.parts += [text(path.x, path.y + 47, "q", fill="query", bold=True),
                   label(256, path.y + 4, 102, 46, ["memory (B·S,D)",
                                                   "from the encoder"], "none",
                         size=11)]
    for dy, role in ((14, "value"), (40, "key")):
        path.parts += [arrow([(256, path.y + dy), (path.x + path.half,
                                                   path.y + dy)]),
                       text(path.x + path.half - 9, path.y + dy + 4, role[0],
                            fill=role, bold=True)]
    path.add_and_norm(bottom, began, "cross_attention")
    return last_part(path, "T", False)

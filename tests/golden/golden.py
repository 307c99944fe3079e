"""Make the golden values with which the C tests compare transformer.c.

    python3 tests/golden/golden.py            write tests/golden/*.txt
    python3 tests/golden/golden.py --check    recompute, compare with the files, exit 1
                                       if any number differs

Needs PyTorch (the files were made with 1.13); running the C tests does not.
The model is written out here in plain modules, so that every intermediate value
can be recorded, and autograd makes the gradients.  Before anything is written,
the same weights are put into torch.nn.Transformer, which must give the same
results and the same gradients: the golden values are PyTorch's own.

    post.txt   post-norm, ReLU, sinusoidal positions, no label smoothing
    pre.txt    pre-norm, GELU, learned positions, smoothing 0.1, and the target
               embedding tied to the output matrix
    adam.txt   three steps of Adam, one clipped gradient
    post-dropout.txt, pre-dropout.txt   the models of post.txt and pre.txt in
               training: the masks that transformer.c draws, whose generator is
               written out here once more, and what PyTorch computes with them:
               the values that meet dropout first, the logits, the losses, and
               the gradients of the embeddings and of all vectors

A file is a list of tensors.  Each is a line `name rows cols`, then `rows` lines
of `cols` numbers.  A vector is one row, a scalar is 1 1, `#` starts a comment
line.  Matrices of linear layers are stored [in, out], since transformer.c
computes x W + b; nn.Linear keeps the transpose.  The leading axes of a value
are flattened into rows: position i of sentence b is row b * length + i, and
query i of head h in attention weights is row (b * heads + h) * length + i.

All arithmetic is in double precision.
"""

import contextlib
import itertools
import math
import sys
from pathlib import Path
from unittest import mock

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)

FOLDER = Path(__file__).resolve().parent

D, HEADS, INNER, LAYERS = 8, 2, 12, 2
SOURCE_VOCABULARY, TARGET_VOCABULARY = 11, 13
POSITIONS = 6  # rows in a table of learned positions; no sentence uses the last

PAD = 0  # 1 is start, 2 is end, 3 is unknown
SOURCE = torch.tensor([[5, 7, 4, 9, 2], [6, 10, 2, PAD, PAD]])
INPUT = torch.tensor([[1, 8, 5, 12], [1, 6, PAD, PAD]])
EXPECTED = torch.tensor([[8, 5, 12, 2], [6, 2, PAD, PAD]])


# ---- Dropout -----------------------------------------------------------------

RATE = 0.25
SENTENCES = len(SOURCE)


def scramble(x):
    """The finalizer of SplitMix64."""
    x = (x + 0x9e3779b97f4a7c15) % 2**64
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9 % 2**64
    x = (x ^ x >> 27) * 0x94d049bb133111eb % 2**64
    return x ^ x >> 31


def scramble32(x):
    x = (x ^ x >> 16) * 0x7feb352d % 2**32
    x = (x ^ x >> 15) * 0x846ca68b % 2**32
    return x ^ x >> 16


class Noise:
    """Stands in for PyTorch's dropout and draws the masks of transformer.c: 0 for what
    is dropped, else 1. Each place in the forward pass has a key of its own; so has, in
    attention, each head of each sentence; and so has each row."""

    def __init__(self, key):
        self.key, self.masks = key, []

    def __call__(self, x, *_, **__):
        self.key = scramble(self.key)
        rows, cols = x.shape[-2:]
        blocks = range(x.shape[:-2].numel())
        first = [self.key + block * rows for block in blocks]
        if len(blocks) > SENTENCES:
            first = [scramble32((self.key + head) % 2**32) for head in blocks]
        mask = torch.tensor([
            [scramble32(scramble32((key + i) % 2**32) ^ j) >= RATE * 2**32
             for j in range(cols)] for key in first for i in range(rows)]).double()
        self.masks.append(mask)
        return x * mask.reshape(x.shape) / (1 - RATE)


def dropping(noise):
    """PyTorch drops what the noise says; without noise, nothing."""
    return mock.patch.object(F, "dropout", noise) if noise else contextlib.nullcontext()


places = []  # where the last forward pass dropped something, in its order


def drop(place, x):
    places.append(place)
    return F.dropout(x, 0.0)  # nothing, unless there is noise


# ---- The model ---------------------------------------------------------------

values = {}  # what the last forward pass computed, in the order of computation


def keep(module, what, value):
    """Record a value under the name of the module that computed it."""
    values[".".join(filter(None, [module.name, what]))] = value
    return value


class Norm(nn.LayerNorm):
    def __init__(self):
        super().__init__(D, eps=1e-5)

    def forward(self, x):
        return keep(self, "", super().forward(x))


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.query = nn.Linear(D, D)
        self.key = nn.Linear(D, D)
        self.value = nn.Linear(D, D)
        self.output = nn.Linear(D, D)

    def forward(self, x, seen, memory=None):
        """In `seen`, True means that the query may see the key."""
        memory = x if memory is None else memory  # none: self-attention
        q = keep(self, "query", self.query(x))
        k = keep(self, "key", self.key(memory))
        v = keep(self, "value", self.value(memory))
        q, k, v = (y.unflatten(-1, (HEADS, D // HEADS)).transpose(1, 2)
                   for y in (q, k, v))  # (B, T, D) -> (B, H, T, D / H)
        scores = q @ k.transpose(-2, -1) / math.sqrt(D // HEADS)
        scores = scores.masked_fill(~seen, -math.inf)
        weights = keep(self, "weights", scores.softmax(-1))
        merged = (drop(self.name + ".weights", weights) @ v).transpose(1, 2).flatten(2)
        context = keep(self, "context", merged)
        return keep(self, "output", self.output(context))


class FeedForward(nn.Module):
    def __init__(self, activation):
        super().__init__()
        self.inner = nn.Linear(D, INNER)
        self.outer = nn.Linear(INNER, D)
        self.activation = activation

    def forward(self, x):
        inner = keep(self, "inner", self.inner(x))
        active = keep(self, "active", drop(self.name + ".active", self.activation(inner)))
        return keep(self, "output", self.outer(active))


class Layer(nn.Module):
    """A layer of the encoder or, with cross-attention, of the decoder."""

    def __init__(self, pre_norm, activation, cross):
        super().__init__()
        self.pre_norm = pre_norm
        self.self_attention = Attention()
        self.self_attention_norm = Norm()
        if cross:
            self.cross_attention = Attention()
            self.cross_attention_norm = Norm()
        self.feed_forward = FeedForward(activation)
        self.feed_forward_norm = Norm()

    def residual(self, name, x, *others):
        sublayer, norm = getattr(self, name), getattr(self, name + "_norm")
        if self.pre_norm:
            return x + drop(sublayer.name + ".output", sublayer(norm(x), *others))
        return norm(x + drop(sublayer.name + ".output", sublayer(x, *others)))

    def forward(self, x, seen, memory=None, memory_seen=None):
        x = self.residual("self_attention", x, seen)
        if memory is not None:
            x = self.residual("cross_attention", x, memory_seen, memory)
        return keep(self, "output", self.residual("feed_forward", x))


class Stack(nn.Module):
    """Layers 0, 1, ..., and in a pre-norm model a norm after the last."""

    def __init__(self, pre_norm, activation, cross):
        super().__init__()
        for i in range(LAYERS):
            self.add_module(str(i), Layer(pre_norm, activation, cross))
        if pre_norm:
            self.norm = Norm()

    def forward(self, x, *others):
        for name, module in self.named_children():
            x = module(x) if name == "norm" else module(x, *others)
        return keep(self, "output", x)


def sinusoidal(positions):
    rates = 10000 ** (-torch.arange(0, D, 2) / D)
    angles = positions[:, None] * rates
    return torch.stack([angles.sin(), angles.cos()], -1).flatten(1)


class Transformer(nn.Module):
    """The modules are made in the order in which the files list them."""

    def __init__(self, pre_norm, activation, learned, tied):
        super().__init__()
        self.source_embedding = nn.Embedding(SOURCE_VOCABULARY, D)
        self.target_embedding = nn.Embedding(TARGET_VOCABULARY, D)
        self.source_positions = self.target_positions = sinusoidal
        if learned:
            self.source_positions = nn.Embedding(POSITIONS, D)
            self.target_positions = nn.Embedding(POSITIONS, D)
        self.encoder = Stack(pre_norm, activation, cross=False)
        self.decoder = Stack(pre_norm, activation, cross=True)
        self.output = nn.Linear(D, TARGET_VOCABULARY)
        if tied:
            self.output.weight = self.target_embedding.weight
        for name, module in self.named_modules():
            module.name = name
        for name, parameter in self.named_parameters():
            parameter.data = random_weights(name, parameter.shape)

    def embed(self, side, ids):
        table, positions = (getattr(self, f"{side}_{part}")
                            for part in ("embedding", "positions"))
        return drop(side + "_embedded", table(ids) * math.sqrt(D)
                    + positions(torch.arange(ids.shape[1])))

    def forward(self, source, target):
        # True means: may be seen.  The axes are (B, head, query, key).
        source_seen = (source != PAD)[:, None, None, :]
        target_seen = (target != PAD)[:, None, None, :]
        earlier = torch.ones(target.shape[1], target.shape[1]).tril().bool()
        x = keep(self, "source_embedded", self.embed("source", source))
        memory = self.encoder(x, source_seen)
        y = keep(self, "target_embedded", self.embed("target", target))
        y = self.decoder(y, target_seen & earlier, memory, source_seen)
        return keep(self, "logits", self.output(y))


def random_weights(name, shape):
    """Uniform numbers: large enough that attention is not flat, and no
    bias is zero and no gain is one, as they would be in a fresh model."""
    numbers = 2 * torch.rand(shape) - 1
    if name.endswith("norm.weight"):
        return 1 + 0.4 * numbers
    if name.endswith("bias"):
        return 0.25 * numbers
    return 0.5 * numbers * math.sqrt(3 / D)


def loss_of(logits, smoothing):
    """The mean over expected tokens that are not padding.  With smoothing e and
    V words the target is 1 - e + e / V at the expected word, e / V elsewhere:
    the e is spread over all words, padding and the expected one included."""
    return F.cross_entropy(logits.flatten(0, 1), EXPECTED.flatten(),
                           ignore_index=PAD, label_smoothing=smoothing)


# ---- The same in torch.nn.Transformer ----------------------------------------

def our_names(name):
    """Which of our parameters make up this one of nn.Transformer?"""
    norm2 = "feed_forward" if name.startswith("encoder") else "cross_attention"
    for old, new in [("layers.", ""), ("out_proj", "output"),
                     ("self_attn", "self_attention"),
                     ("multihead_attn", "cross_attention"),
                     ("linear1", "feed_forward.inner"),
                     ("linear2", "feed_forward.outer"),
                     ("norm1", "self_attention_norm"),
                     ("norm2", norm2 + "_norm"),
                     ("norm3", "feed_forward_norm")]:
        name = name.replace(old, new)
    if "in_proj_" not in name:
        return [name]
    return [name.replace("in_proj_", part + ".")
            for part in ("query", "key", "value")]


def compare_with_pytorch(ours, pre_norm, activation, smoothing, noise):
    """Call after ours has run forward and backward."""
    # It stays in training mode: the fast path of evaluation mode would put
    # zeros into padded rows.
    theirs = nn.Transformer(D, HEADS, LAYERS, LAYERS, INNER,
                            dropout=RATE if noise else 0.0,
                            activation=activation, layer_norm_eps=1e-5,
                            batch_first=True, norm_first=pre_norm)
    if not pre_norm:  # nn.Transformer has final norms always, the paper none
        theirs.encoder.norm = theirs.decoder.norm = None
    our = dict(ours.named_parameters())
    pairs = [(their, [our.pop(part) for part in our_names(name)])
             for name, their in theirs.named_parameters()]
    pairs += [(p, [p]) for p in our.values()]  # embeddings and output: shared
    for their, parts in pairs:
        their.data = torch.cat(parts).detach()

    # In the masks of nn.Transformer, True means: blocked.
    later = torch.ones(INPUT.shape[1], INPUT.shape[1]).triu(1).bool()
    with dropping(noise):
        memory = theirs.encoder(ours.embed("source", SOURCE),
                                src_key_padding_mask=SOURCE == PAD)
        y = theirs.decoder(ours.embed("target", INPUT), memory, tgt_mask=later,
                           tgt_key_padding_mask=INPUT == PAD,
                           memory_key_padding_mask=SOURCE == PAD)
    logits = ours.output(y)

    gradients = torch.autograd.grad(loss_of(logits, smoothing),
                                    [their for their, _ in pairs])
    wanted = [torch.cat([p.grad for p in parts]) for _, parts in pairs]
    for their, our in [(memory, values["encoder.output"]),
                       (y, values["decoder.output"]),
                       (logits, values["logits"]), *zip(gradients, wanted)]:
        assert torch.allclose(their, our, rtol=1e-12, atol=1e-14)


# ---- The files ---------------------------------------------------------------

def model_tensors(seed, pre_norm, activation, learned, tied, smoothing,
                  key=None):
    torch.manual_seed(seed)
    values.clear()
    places.clear()
    model = Transformer(pre_norm, getattr(F, activation), learned, tied)
    noise = key and Noise(key)
    with dropping(noise):
        logits = model(SOURCE, INPUT)
    masks = dict(zip(places, noise.masks)) if noise else {}
    values["loss"] = loss_of(logits, smoothing)
    values["loss_unsmoothed"] = loss_of(logits, 0.0)
    values["loss"].backward()
    compare_with_pytorch(model, pre_norm, activation, smoothing, key and Noise(key))
    # A ReLU that is nearly at its kink could go the other way in float.
    assert all(v.abs().min() > 1e-3 for name, v in values.items()
               if name.endswith("inner"))

    tensors = {"source": SOURCE, "input": INPUT, "expected": EXPECTED}
    tensors.update(("mask." + name, mask) for name, mask in masks.items())
    gradients = {}
    for name, parameter in model.named_parameters():  # a tied one comes once
        weight, gradient = parameter, parameter.grad
        owner = model.get_submodule(name.rpartition(".")[0])
        if isinstance(owner, nn.Linear) and name.endswith("weight"):
            weight, gradient = weight.T, gradient.T  # to [in, out]
        name = name.replace("norm.weight", "norm.gain")
        tensors["parameter." + name] = weight
        gradients["gradient." + name] = gradient
    tensors.update(("value." + name, value) for name, value in values.items())
    tensors.update(gradients)
    return tensors


def dropout_tensors(key, *model):
    """What changes with the noise of this key."""
    tensors = {"noise": torch.tensor(key), "rate": torch.tensor(RATE)}
    for name, tensor in model_tensors(*model, key).items():
        meets = name.startswith("value.") and name.endswith(
            ("_embedded", "context", "active", "_norm", "coder.output",
             "logits", "loss"))
        if meets or name.startswith("mask.") or name.startswith("gradient.") and (
                tensor.dim() == 1 or "embedding" in name):
            tensors[name] = tensor
    return tensors


def adam_tensors():
    parameter = nn.Parameter(torch.tensor([0.5, -1.25, 2.0, -0.03, 0.75, 1.0]))
    gradients = torch.tensor([[1e-3, -0.2, 10.0, 0.04, 0.0, -3.0],
                              [2e-3, 0.3, -7.0, 0.05, 0.0, -1e-3],
                              [-5e-3, 0.1, 4.0, 0.06, 0.0, 2.5]])
    optimizer = torch.optim.Adam([parameter], betas=(0.9, 0.98), eps=1e-9)
    tensors = {"parameter": parameter.detach().clone()}
    for step, learning_rate in enumerate([0.001, 0.02, 0.005], start=1):
        optimizer.param_groups[0]["lr"] = learning_rate
        parameter.grad = gradients[step - 1].clone()
        optimizer.step()
        tensors[f"learning_rate.{step}"] = torch.tensor(learning_rate)
        tensors[f"gradient.{step}"] = gradients[step - 1]
        tensors[f"parameter.{step}"] = parameter.detach().clone()
    tensors["m.3"] = optimizer.state[parameter]["exp_avg"]
    tensors["v.3"] = optimizer.state[parameter]["exp_avg_sq"]

    # PyTorch multiplies by max_norm / (norm + 1e-6) where that is below 1.
    parameter.grad = gradients[0].clone()
    norm = nn.utils.clip_grad_norm_([parameter], max_norm=1.0)
    tensors["clip.gradient"] = gradients[0]
    tensors["clip.max_norm"] = torch.tensor(1.0)
    tensors["clip.norm"] = norm
    tensors["clip.result"] = parameter.grad
    return tensors


def text_of(about, tensors):
    """A file, as described above."""
    lines = [f"# {about}",
             "# Made by tests/golden/golden.py, which describes this format. Do not edit."]
    for name, tensor in tensors.items():
        tensor = torch.atleast_2d(tensor.detach().double()).flatten(0, -2)
        assert tensor.isfinite().all()
        lines.append("%s %d %d" % (name, *tensor.shape))
        lines += [" ".join("%.17g" % x for x in row) for row in tensor.tolist()]
    return "\n".join(lines) + "\n"


def close(a, b):
    """The same word, or nearly the same number by the measure of the C tests."""
    try:
        return a == b or math.isclose(float(a), float(b), rel_tol=1e-12, abs_tol=1e-15)
    except ValueError:
        return False


def main():
    if sys.argv[1:] not in ([], ["--check"]):
        sys.exit("usage: python3 tests/golden/golden.py [--check]")
    # Seeds with which no value lies so close to zero that single precision,
    # whose error is a fraction of the numbers summed, would miss it by 1e-4.
    post = 392, False, "relu", False, False, 0.0
    pre = 67, True, "gelu", True, True, 0.1
    files = [
        ("post.txt", "post-norm, relu, sinusoidal positions, untied, label"
         " smoothing 0, 2 heads", model_tensors(*post)),
        ("pre.txt", "pre-norm, gelu (erf), learned positions, tied, label"
         " smoothing 0.1, 2 heads", model_tensors(*pre)),
        ("post-dropout.txt", "the model of post.txt, with dropout",
         dropout_tensors(24, *post)),
        ("pre-dropout.txt", "the model of pre.txt, with dropout",
         dropout_tensors(3, *pre)),
        ("adam.txt", "Adam, betas 0.9 and 0.98, epsilon 1e-9; clipping by norm",
         adam_tensors()),
    ]
    wrong = 0
    for name, about, tensors in files:
        path, text = FOLDER / name, text_of(about, tensors)
        if not sys.argv[1:]:
            path.write_text(text, "utf-8")
            continue
        pairs = itertools.zip_longest(path.read_text("utf-8").split(), text.split(),
                                      fillvalue="nothing")
        others = [f"{a} is {b}" for a, b in pairs if not close(a, b)]
        print(f"{name}: {len(tensors)} tensors,", *others[:9] or ["all the same"])
        wrong += len(others)
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main())

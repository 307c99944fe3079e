#!/usr/bin/env python3
"""The same training step in PyTorch and here, in turn, on the same machine.

    python3 tests/bench/bench_torch.py [--threads N] [--rounds N] [SIZE ...]
    python3 tests/bench/bench_torch.py --decode [--threads N] [--rounds N]

The sizes are those of bench.c, which says what a step is. The model in PyTorch
is the one that tutorials build from nn.Linear, nn.LayerNorm and softmax; its
dropout is in the same places. PyTorch's OpenBLAS does not recognise every
processor, so it is tried with several settings of OPENBLAS_CORETYPE, and the
best is taken. Each round runs both programs one after the other; the medians of
the rounds are printed, with their ratio. `make build/bench` comes first.

--decode translates sentences instead, greedily and with a beam of four: here
with bench.c, in PyTorch in two ways. The loop that tutorials have takes one
sentence after the other and runs the decoder over all words so far to get the
next one. The other way is that of chapter 12, and just as many rows at once: keys
and values are kept, and each step computes one word for every row.
"""

import argparse
import os
import re
import statistics
import subprocess
import sys
import time
from pathlib import Path

# vocabulary, d_model, heads, layers, d_ff, batch, length, by name
SIZES = {name: tuple(map(int, numbers.split(","))) for name, numbers in re.findall(
    r'\{"(\w+)", ([\d, ]+)\}', Path(__file__).with_name("bench.c").read_text())}
CORES = ["", "SKYLAKEX", "HASWELL", "ZEN"]


DECODE_SIZE, DECODE_LENGTH = "small", 20
ROWS, BEAM = 64, 4  # of a batch, as in chapter 12; hypotheses of a sentence


def tutorial_model(source_vocab, target_vocab, d_model, heads, layers, d_ff,
                   length, dropout):
    """The model that tutorials build, with the weights PyTorch gives it."""
    import math
    import torch
    from torch import nn

    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.query = nn.Linear(d_model, d_model)
            self.key = nn.Linear(d_model, d_model)
            self.value = nn.Linear(d_model, d_model)
            self.output = nn.Linear(d_model, d_model)
            self.dropout = nn.Dropout(dropout)

        def split(self, x):
            return x.view(*x.shape[:2], heads, -1).transpose(1, 2)

        def keys(self, y):
            return self.split(self.key(y)), self.split(self.value(y))

        def forward(self, x, k, v, hidden=None):
            q = self.split(self.query(x))
            scores = q @ k.transpose(2, 3) / math.sqrt(q.shape[-1])
            if hidden is not None:
                scores = scores.masked_fill(hidden, float("-inf"))
            out = self.dropout(scores.softmax(-1)) @ v
            return self.output(out.transpose(1, 2).reshape(x.shape))

    class Layer(nn.Module):
        def __init__(self, cross):
            super().__init__()
            self.self_attention = Attention()
            self.cross_attention = Attention() if cross else None
            self.inner = nn.Linear(d_model, d_ff)
            self.outer = nn.Linear(d_ff, d_model)
            self.norms = nn.ModuleList(
                nn.LayerNorm(d_model) for _ in range(3 if cross else 2))
            self.dropout = nn.Dropout(dropout)

        def forward(self, x, own, hidden=None, across=None, padding=None):
            y = self.self_attention(x, *own, hidden)
            x = self.norms[0](x + self.dropout(y))
            if self.cross_attention:
                y = self.cross_attention(x, *across, padding)
                x = self.norms[1](x + self.dropout(y))
            y = self.outer(self.dropout(torch.relu(self.inner(x))))
            return self.norms[-1](x + self.dropout(y))

    class Transformer(nn.Module):
        """Each layer is given the keys and values that it attends to, `own` and
        those `across`, in the memory. `padding` is true where a source key
        (batch, 1, 1, length) is the pad; without it there is none. A target's
        pads come last, so that the mask of the future hides them."""

        def __init__(self):
            super().__init__()
            self.source = nn.Embedding(source_vocab, d_model)
            self.target = nn.Embedding(target_vocab, d_model)
            self.encoder = nn.ModuleList(Layer(False) for _ in range(layers))
            self.decoder = nn.ModuleList(Layer(True) for _ in range(layers))
            self.output = nn.Linear(d_model, target_vocab)
            self.dropout = nn.Dropout(dropout)
            turns = torch.arange(length)[:, None] * 10000 ** (
                -torch.arange(0, d_model, 2) / d_model)
            table = torch.stack([turns.sin(), turns.cos()], -1)
            self.positions = table.view(length, d_model)
            self.future = torch.ones(length, length).triu(1).bool()

        def embed(self, table, ids, first=0):
            x = table(ids) * math.sqrt(d_model)
            here = self.positions[first:first + ids.shape[1]]
            return self.dropout(x + here)

        def encode(self, source, padding=None):
            x = self.embed(self.source, source)
            for layer in self.encoder:
                x = layer(x, layer.self_attention.keys(x), padding)
            return x

        def across(self, memory):
            """Keys and values of the memory, for each layer of the decoder."""
            return [layer.cross_attention.keys(memory) for layer in self.decoder]

        def decode(self, target, memory, padding=None):
            n = target.shape[1]
            y = self.embed(self.target, target)
            for layer, across in zip(self.decoder, self.across(memory)):
                y = layer(y, layer.self_attention.keys(y), self.future[:n, :n],
                          across, padding)
            return self.output(y)

        def step(self, words, t, own, across):
            """The logits after word t of every row. `own` has, for each layer,
            keys and values of all words before, and room for this one's."""
            y = self.embed(self.target, words[:, None], t)
            for layer, kept, memory in zip(self.decoder, own, across):
                for room, new in zip(kept, layer.self_attention.keys(y)):
                    room[:, :, t:t + 1] = new
                y = layer(y, [x[:, :, :t + 1] for x in kept], None, memory)
            return self.output(y)[:, 0]

        def forward(self, source, target, padding=None):
            memory = self.encode(source, padding)
            return self.decode(target, memory, padding)

    return Transformer()


def model_of_size(name):
    """The tutorial's model in one of the sizes, with random weights."""
    import torch

    torch.manual_seed(1)
    vocab, d_model, heads, layers, d_ff, _, length = SIZES[name]
    return tutorial_model(vocab, vocab, d_model, heads, layers, d_ff, length, 0.1)


def train_worker(name, threads, seconds):
    """Prints the median seconds of a step and the peak memory in bytes."""
    import resource
    import torch
    from torch import nn

    torch.set_num_threads(threads)
    vocab, _, _, _, _, batch, length = SIZES[name]
    model = model_of_size(name)
    adam = torch.optim.Adam(model.parameters(), 1e-4, (0.9, 0.98), 1e-9)
    times, started = [], time.perf_counter()
    while len(times) < 4 or time.perf_counter() - started < seconds:
        source, target, expected = torch.randint(4, vocab, (3, batch, length))
        before = time.perf_counter()
        logits = model(source, target)
        loss = nn.functional.cross_entropy(logits.view(-1, vocab),
                                           expected.reshape(-1))
        adam.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1)
        adam.step()
        times.append(time.perf_counter() - before)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(statistics.median(times[1:]), peak)


def tutorial_loop(model, source):
    """One sentence after the other, all words so far for every new one."""
    import torch

    result = []
    for sentence in source:
        memory = model.encode(sentence[None])
        target = torch.ones(1, 1, dtype=torch.long)
        while target.shape[1] <= DECODE_LENGTH:
            logits = model.decode(target, memory)
            word = logits[:, -1].argmax(-1, keepdim=True)
            target = torch.cat([target, word], 1)
        result.append(target[0, 1:])
    return torch.stack(result)


def cached(model, source, beam):
    """ROWS rows at once, with keys and values kept; `beam` rows a sentence."""
    import torch

    result = []
    for some in source.split(ROWS // beam):
        sentences, rows = len(some), len(some) * beam
        memory = model.encode(some).repeat_interleave(beam, 0)
        across = model.across(memory)
        own = [[torch.empty(rows, k.shape[1], DECODE_LENGTH, k.shape[3])
                for _ in range(2)] for k, _ in across]
        first = torch.arange(sentences)[:, None] * beam
        score = torch.full((sentences, beam), -torch.inf)
        score[:, 0] = 0  # one hypothesis, still empty
        words = torch.ones(rows, dtype=torch.long)
        target = torch.empty(rows, 0, dtype=torch.long)
        for t in range(DECODE_LENGTH):
            chance = model.step(words, t, own, across).log_softmax(-1)
            vocab = chance.shape[1]
            chance = chance.view(sentences, beam, vocab) + score[:, :, None]
            score, best = chance.view(sentences, -1).topk(beam)
            words = (best % vocab).view(-1)
            if beam > 1:  # each row goes on with the hypothesis that won
                origin = (first + best // vocab).view(-1)
                target = target[origin]
                for kept in own:
                    for room in kept:
                        room[:, :, :t + 1] = room[origin, :, :t + 1]
            target = torch.cat([target, words[:, None]], 1)
        result.append(target[::beam])
    return torch.cat(result)


DECODERS = {  # name: function of model and sources, sentences
    "loop": (tutorial_loop, 100),
    "decode": (lambda model, source: cached(model, source, 1), 1000),
    "beam": (lambda model, source: cached(model, source, BEAM), 1000),
}


def decode_worker(name, threads):
    """Prints the seconds for one sentence, and how many were translated."""
    import torch

    torch.set_num_threads(threads)
    model = model_of_size(DECODE_SIZE).eval()
    decoder, sentences = DECODERS[name]
    sources = torch.randint(4, SIZES[DECODE_SIZE][0], (sentences, DECODE_LENGTH))
    with torch.no_grad():
        few = sources[:4]
        if not torch.equal(tutorial_loop(model, few), cached(model, few, 1)):
            sys.exit("with a cache the translations are others")
        started = time.perf_counter()
        decoder(model, sources)
    print((time.perf_counter() - started) / sentences, sentences)


def theirs(threads, core, *worker):
    """Runs a worker in a process of its own -> the two numbers it prints."""
    environment = dict(os.environ, OMP_NUM_THREADS=str(threads))
    environment.pop("OPENBLAS_CORETYPE", None)
    if core:
        environment["OPENBLAS_CORETYPE"] = core
    out = subprocess.run([sys.executable, __file__, "--threads", str(threads),
                          "--worker", *map(str, worker)],
                         env=environment, check=True, capture_output=True,
                         text=True).stdout.split()
    return float(out[0]), int(out[1])


def ours(threads, name):
    """What build/bench prints behind the name and the threads."""
    out = subprocess.run(["build/bench", "--threads", str(threads), name],
                         check=True, capture_output=True, text=True).stdout
    return [float(word) for word in out.split()[2:]]


def best_core(threads, *worker):
    return min(CORES, key=lambda core: theirs(threads, core, *worker)[0])


def compare_training(name, threads, rounds, seconds, peak):
    core = best_core(threads, "train", name, 1)
    a, b = [], []
    for _ in range(rounds):
        a.append(theirs(threads, core, "train", name, seconds))
        b.append(ours(threads, name))
    they = statistics.median(x[0] for x in a)
    we = statistics.median(x[0] for x in b) / 1e3
    gflops = statistics.median(x[2] for x in b)
    print(f"{name:6} {threads:7} {1e3 * they:11.1f} {1e3 * we:8.2f} "
          f"{they / we:6.2f} {gflops:8.1f} {100 * gflops / peak / threads:6.0f} %"
          f"  {a[-1][1] / 1e6:8.0f} MB {b[-1][3] / 1e6:8.0f} MB"
          f"           {core or 'as detected'}", flush=True)


def compare_decoding(threads, rounds):
    """Sentences a second; the loop in PyTorch against our greedy decoding."""
    print(f"sentences of {DECODE_LENGTH} words at {DECODE_SIZE}, a second\n\n"
          "PyTorch  threads  PyTorch    ours  ratio   OPENBLAS_CORETYPE")
    for name in DECODERS:
        core = best_core(threads, "decode", name)
        a, b = [], []
        for _ in range(rounds):
            a.append(theirs(threads, core, "decode", name)[0])
            b.append(ours(threads, "beam" if name == "beam" else "decode"))
        they = 1 / statistics.median(a)
        we = 1 / statistics.median(seconds / count for count, seconds in b)
        print(f"{name:7} {threads:8} {they:8.1f} {we:7.0f} {we / they:6.1f}"
              f"   {core or 'as detected'}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("sizes", nargs="*", metavar="SIZE")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--decode", action="store_true")
    parser.add_argument("--worker", nargs="+", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    threads, worker = arguments.threads, arguments.worker
    if worker and worker[0] == "train":
        train_worker(worker[1], threads, float(worker[2]))
        return
    if worker:
        decode_worker(worker[1], threads)
        return
    if arguments.decode:
        compare_decoding(threads, arguments.rounds)
        return
    for name in arguments.sizes:
        if name not in SIZES:
            parser.error(f"there is no size {name}: {', '.join(SIZES)}")
    peak = float(subprocess.run(["build/bench", "--peak"], check=True,
                                capture_output=True, text=True).stdout.split()[1])
    print(f"{peak:.0f} GFLOP/s is the peak of one core, measured\n")
    print("size   threads  PyTorch ms  ours ms  ratio  GFLOP/s  of peak  "
          "peak memory, PyTorch and ours   OPENBLAS_CORETYPE")
    for name in arguments.sizes or SIZES:
        compare_training(name, threads, arguments.rounds, arguments.seconds, peak)


if __name__ == "__main__":
    main()

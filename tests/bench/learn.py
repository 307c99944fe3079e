#!/usr/bin/env python3
"""Does ./transformer learn as well as the same model in PyTorch?

    python3 tests/bench/learn.py PAIRS.tsv [HELD-OUT.tsv] [options]

Both train the same model on the same tokens, in the same batches, at the same
learning rates, and then translate the sentences held out. Only chance differs:
the initial parameters and what dropout drops. So each trains once per seed, and
a difference between the two means says little unless it exceeds the spread,
which is the largest value minus the smallest.

Without HELD-OUT.tsv, 5 % of the sources are held out, each with one of its
targets; no other pair with such a source is trained on. All text is converted
to lower case.

Loss (nats a token, no smoothing) and accuracy (percent) are teacher-forced. BLEU
and exact matches (percent) and the length of the translations, divided by that
of the references, come from greedy decoding. BLEU is NLTK's corpus_bleu on the
words of the printed translations. The seconds are processor time, for training
alone, on one thread.
"""

import argparse
import importlib.util
import math
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path

import bench_torch

PAD, START, END, UNKNOWN = range(4)
MORE = 50  # a translation is cut off when it has that many words more
POOL, FOR_ORDER = 8, 2  # as in transformer.c
MASK = 2 ** 64 - 1


# ---- text

def words(text):
    """The tokens of chapter 10."""
    return re.findall(r'[.,!?;:"()]|[^\x00- \x7f-\xa0\u202f.,!?;:"()]+', text)


def read_pairs(path):
    """The pairs of a file, as (source, target), in lower case."""
    pairs = []
    try:
        with open(path, encoding="utf-8-sig") as file:
            for number, line in enumerate(file, 1):
                pair = tuple(line.lower().rstrip("\n").split("\t")[:2])
                if len(pair) < 2 or not all(map(words, pair)):
                    sys.exit(f"{path}:{number}: expected source, tab, target")
                pairs.append(pair)
    except (OSError, UnicodeDecodeError) as error:
        sys.exit(f"cannot read {path}: {error}")
    return pairs


def hold_out(pairs, percent):
    """pairs -> those to train on, and those held out, one for each source"""
    chance = random.Random(1)
    targets = {}
    for source, target in pairs:
        targets.setdefault(source, []).append(target)
    count = max(1, round(len(targets) * percent / 100))
    held = set(chance.sample(list(targets), count))
    return ([pair for pair in pairs if pair[0] not in held],
            [(source, chance.choice(targets[source])) for source in targets
             if source in held])


def write_pairs(path, pairs):
    path.write_text("".join(f"{s}\t{t}\n" for s, t in pairs), "utf-8")


class Vocabulary:
    """The tokens of the texts that occur often enough, and their numbers."""

    def __init__(self, texts, min_count):
        count = Counter(word for text in texts for word in words(text))
        self.token = ["<pad>", "<start>", "<end>", "<unknown>"] + sorted(
            (word for word in count if count[word] >= min_count),
            key=lambda word: word.encode())
        self.number = {word: i for i, word in enumerate(self.token[4:], 4)}

    def ids(self, text):
        return [self.number.get(word, UNKNOWN) for word in words(text)] + [END]


# ---- the order of the pairs, as epoch_order of chapter 10 makes it

def scramble(x):
    x = (x + 0x9e3779b97f4a7c15) & MASK
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9 & MASK
    x = (x ^ x >> 27) * 0x94d049bb133111eb & MASK
    return x ^ x >> 31


def shuffle(items, key):
    for i in range(len(items) - 1, 0, -1):
        key = scramble(key)
        j = int((key >> 11) / 2 ** 53 * (i + 1))
        items[i], items[j] = items[j], items[i]


def batches(pairs, size, seed, epoch):
    """The batches of one epoch, lists of pairs of ids."""
    key = scramble(scramble(scramble(seed) + FOR_ORDER) + epoch)
    order = list(pairs)
    shuffle(order, key)
    for i in range(0, len(order), POOL * size):
        order[i:i + POOL * size] = sorted(
            order[i:i + POOL * size],
            key=lambda pair: (len(pair[1]), len(pair[0])))
    whole = [order[i:i + size] for i in range(0, len(order), size)]
    rest = [whole.pop()] if len(whole[-1]) < size else []
    shuffle(whole, scramble(key))
    return whole + rest


# ---- PyTorch

def pack(sentences):
    import torch

    longest = max(map(len, sentences))
    return torch.tensor([s + [PAD] * (longest - len(s)) for s in sentences])


def logits_of(model, batch):
    """batch -> logits (rows, vocabulary) and what is expected in each row"""
    source = pack([s for s, _ in batch])
    given = pack([[START] + t[:-1] for _, t in batch])
    expected = pack([t for _, t in batch])
    logits = model(source, given, (source == PAD)[:, None, None])
    return logits.flatten(0, 1), expected.flatten()


def torch_model(a, seed, source, target, length):
    """A new model, initialized as the program's: matrices by Xavier, embeddings
    too, biases with 0."""
    import torch
    from torch import nn

    torch.manual_seed(seed)
    model = bench_torch.tutorial_model(
        len(source.token), len(target.token), a.d_model, a.heads, a.layers,
        a.d_ff, length, a.dropout)
    for name, tensor in model.named_parameters():
        if tensor.dim() > 1:
            nn.init.xavier_uniform_(tensor)
        elif name.endswith("bias"):
            nn.init.zeros_(tensor)
    return model


def torch_train(a, model, pairs, seed):
    import torch
    from torch import nn

    adam = torch.optim.Adam(model.parameters(), a.lr, (0.9, 0.98), 1e-9)
    noam = torch.optim.lr_scheduler.LambdaLR(adam, lambda done: min(
        (done + 1) / a.warmup, math.sqrt(a.warmup / (done + 1))))
    model.train()
    for epoch in range(a.epochs):
        for batch in batches(pairs, a.batch, seed, epoch):
            loss = nn.functional.cross_entropy(
                *logits_of(model, batch), ignore_index=PAD,
                label_smoothing=a.label_smoothing)
            adam.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1)
            adam.step()
            noam.step()


def torch_evaluate(model, pairs):
    """Loss, accuracy in percent, and the number of tokens."""
    import torch
    from torch import nn

    loss = correct = tokens = 0
    model.eval()
    with torch.no_grad():
        for i in range(0, len(pairs), 64):
            logits, expected = logits_of(model, pairs[i:i + 64])
            loss += nn.functional.cross_entropy(
                logits, expected, ignore_index=PAD, reduction="sum").item()
            hit = (logits.argmax(-1) == expected) & (expected != UNKNOWN)
            correct += (hit & (expected != PAD)).sum().item()
            tokens += (expected != PAD).sum().item()
    return loss / tokens, 100 * correct / tokens, tokens


def torch_translate(model, source):
    """The ids of a source -> those of its translation, greedily."""
    import torch

    memory = model.encode(torch.tensor([source]))
    given = [START]
    while len(given) <= len(source) + MORE:
        logits = model.decode(torch.tensor([given]), memory)[0, -1]
        word = logits[END:].argmax().item() + END
        if word == END:
            break
        given.append(word)
    return given[1:]


def theirs(a, seed, train, test):
    """Trains PyTorch's model -> loss, accuracy, tokens, translations, seconds"""
    import torch

    source = Vocabulary([s for s, _ in train], a.min_count)
    target = Vocabulary([t for _, t in train], a.min_count)
    train, test = ([(source.ids(s), target.ids(t)) for s, t in pairs]
                   for pairs in (train, test))
    model = torch_model(a, seed, source, target, a.max_len + 1)
    started = time.process_time()
    torch_train(a, model, train, seed)
    seconds = time.process_time() - started
    loss, accuracy, tokens = torch_evaluate(model, test)
    with torch.no_grad():
        out = [torch_translate(model, s) for s, _ in test]
    texts = [" ".join(target.token[i] for i in ids) for ids in out]
    return loss, accuracy, tokens, texts, seconds


# ---- this program

def transformer(*arguments, text=None):
    """Runs ./transformer on one thread -> what it prints."""
    run = subprocess.run(["./transformer", *map(str, arguments), "--threads", "1"],
                         input=text, capture_output=True, encoding="utf-8")
    if run.returncode:
        sys.exit(run.stderr)
    return run.stdout


def ours(a, seed, folder, test):
    """The same with ./transformer, which reads its files in the folder."""
    model = folder / "model.safetensors"
    options = [word for name in ("layers", "d_model", "heads", "d_ff", "dropout",
                                 "label_smoothing", "batch", "lr", "warmup",
                                 "epochs", "min_count", "max_len")
               for word in ("--" + name.replace("_", "-"), getattr(a, name))]
    before = os.times()
    transformer("train", folder / "train.tsv", "--model", model, "--seed", seed,
                *options)
    after = os.times()
    value = dict(line.split() for line in transformer(
        "evaluate", model, folder / "test.tsv").splitlines())
    texts = transformer("translate", model, text="".join(
        source + "\n" for source, _ in test)).split("\n")[:-1]
    model.unlink()
    return (float(value["loss"]), float(value["token_accuracy"]),
            int(value["tokens"]), texts,
            after.children_user + after.children_system
            - before.children_user - before.children_system)


# ---- the table

def score(texts, test):
    """BLEU, exact matches, and the length of the translations."""
    from nltk.translate.bleu_score import corpus_bleu

    out = [words(text) for text in texts]
    true = [words(target) for _, target in test]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # no run of 4 words matches: BLEU 0
        bleu = corpus_bleu([[t] for t in true], out)
    return (100 * bleu, 100 * sum(map(list.__eq__, out, true)) / len(true),
            sum(map(len, out)) / sum(map(len, true)))


def show(name, what, numbers):
    print("{:12} {:>6} {:8.3f} {:8.1f} {:7.1f} {:7.1f} {:7.2f} {:8.0f}".format(
        name, what, *numbers), flush=True)


def compare(a, train, test):
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        write_pairs(folder / "train.tsv", train)
        write_pairs(folder / "test.tsv", test)
        programs = {"transformer": lambda seed: ours(a, seed, folder, test),
                    "PyTorch": lambda seed: theirs(a, seed, train, test)}
        rows = {name: [] for name in programs}
        tokens = set()
        print("             seed       loss accuracy    BLEU   exact  length  seconds")
        for seed in range(1, a.seeds + 1):
            for name, train_and_use in programs.items():
                loss, accuracy, count, texts, seconds = train_and_use(seed)
                tokens.add(count)
                if len(tokens) > 1:
                    sys.exit("the two programs count tokens differently")
                rows[name].append((loss, accuracy, *score(texts, test), seconds))
                show(name, seed, rows[name][-1])
    for name, numbers in rows.items():
        columns = list(zip(*numbers))
        show(name, "mean", map(statistics.mean, columns))
        show(name, "spread", (max(c) - min(c) for c in columns))


def arguments():
    parser = argparse.ArgumentParser(
        description="Does ./transformer learn as well as PyTorch?")
    parser.add_argument("pairs", metavar="PAIRS.tsv")
    parser.add_argument("test", metavar="HELD-OUT.tsv", nargs="?")
    for name, default in (
            ("layers", 2), ("d-model", 128), ("heads", 4), ("d-ff", 512),
            ("dropout", 0.3), ("label-smoothing", 0.1), ("batch", 64),
            ("lr", 1e-3), ("warmup", 200), ("epochs", 40), ("min-count", 1),
            ("seeds", 3)):
        parser.add_argument("--" + name, type=type(default), default=default,
                            help="default %(default)s")
    return parser.parse_args()


def main():
    a = arguments()
    if a.seeds < 1:
        sys.exit("--seeds must be at least 1")
    for module in "torch", "nltk":
        if not importlib.util.find_spec(module):
            sys.exit(f"{module} not found: install python3-{module}")
    if not Path("transformer").exists():
        sys.exit("./transformer not found: build it with make")
    train = read_pairs(a.pairs)
    if a.test:
        test = read_pairs(a.test)
    else:
        train, test = hold_out(train, 5)
    a.max_len = MORE + max(len(words(s)) for pair in train + test for s in pair)
    core = bench_torch.best_core(1, "train", "small", 1)
    os.environ["OMP_NUM_THREADS"] = "1"
    os.environ.pop("OPENBLAS_CORETYPE", None)
    if core:
        os.environ["OPENBLAS_CORETYPE"] = core
    import torch  # only now: it reads these variables
    torch.set_num_threads(1)
    print(f"{len(train)} pairs to train on, {len(test)} held out; PyTorch "
          f"{torch.__version__}, OPENBLAS_CORETYPE {core or 'as detected'}\n")
    compare(a, train, test)


if __name__ == "__main__":
    main()

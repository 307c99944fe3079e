#!/usr/bin/env python3
"""Lab 20: where dropout acts. On sentence pairs of yours, two columns or more:

    python3 notebook/20-dropout.py PAIRS.tsv EPOCHS > notebook/20-dropout.csv

For each of three seeds one source in ten is held out, with its first target;
all other pairs with such a source are left out. Models of two widths are
trained on the rest without dropout, with dropout in the paper's places
(embeddings, and what attention and the feed-forward network put out), and with
dropout in all five (attention weights and the network's inner layer, too). A
line of CSV for each model says how well it translates what was held out:

    seed,width,places,rate,loss,bleu
"""
import os
import random
import sys
import tempfile

import lab

SEEDS, WIDTHS = (1, 2, 3), (32, 128)
PAPER = ("--attention-dropout", 0, "--activation-dropout", 0)
DROPOUT = (("none", 0, ()), ("paper", 0.1, PAPER), ("all", 0.1, ()),
           ("paper", 0.3, PAPER), ("all", 0.3, ()))
RECIPE = ("--lowercase", "--label-smoothing", 0.1, "--lr", 1e-3,
          "--warmup", 200)


def split(path, seed, folder):
    """-> the names of two files: to train on, and held out"""
    targets = {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            source, target = line.rstrip("\n").split("\t")[:2]
            targets.setdefault(source.lower(), []).append(f"{source}\t{target}")
    held = set(random.Random(seed).sample(sorted(targets), len(targets) // 10))
    train = [pair for source, pairs in targets.items() if source not in held
             for pair in pairs]
    test = [targets[source][0] for source in sorted(held)]
    names = [f"{folder}/train.tsv", f"{folder}/test.tsv"]
    for name, pairs in zip(names, (train, test)):
        with open(name, "w", encoding="utf-8") as file:
            file.writelines(pair + "\n" for pair in pairs)
    return names


def measured(train, test, model, *options):
    """-> loss and BLEU"""
    lab.command("./transformer", "train", train, *RECIPE, *options, "--model",
                model, "--threads", 1)
    words = lab.command("./transformer", "evaluate", model, test, "--threads",
                        1).split()
    os.remove(model)
    return [words[words.index(name) + 1] for name in ("loss", "bleu")]


def compare(path, epochs, seed, folder):
    """Prints the lines of one seed."""
    files = *split(path, seed, folder), f"{folder}/model.safetensors"
    for width in WIDTHS:
        for places, rate, where in DROPOUT:
            loss, bleu = measured(*files, "--d-model", width, "--dropout", rate,
                                  *where, "--seed", seed, "--epochs", epochs)
            print(seed, width, places, rate, loss, bleu, sep=",", flush=True)


def main():
    if len(sys.argv) != 3:
        sys.exit("20-dropout.py PAIRS.tsv EPOCHS")
    path, epochs = os.path.abspath(sys.argv[1]), sys.argv[2]
    lab.command("make", "-s", "transformer")
    print("seed,width,places,rate,loss,bleu")
    with tempfile.TemporaryDirectory() as folder:
        for seed in SEEDS:
            compare(path, epochs, seed, folder)


if __name__ == "__main__":
    main()

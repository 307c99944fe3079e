#!/usr/bin/env python3
"""BLEU and exact match, counted again by NLTK.

    python3 tests/golden/bleu.py PROGRAM

Trains a few small models, stops them long before they are perfect, and compares what
`transformer evaluate` says of their translations with nltk.corpus_bleu on what
`transformer translate` prints. Sentences of one word and of many are among them.
"""

import sys
import tempfile
from pathlib import Path

from nltk.translate.bleu_score import corpus_bleu

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests" / "lib"))

from command import run  # noqa: E402
from harness import claim, end  # noqa: E402

SMALL = "--layers 1 --d-model 32 --threads 1".split()
MODELS = [  # name, data, steps, options
    ("words", "eng-fra", 250, []),
    ("rare words unknown", "eng-fra", 250, ["--min-count", "150"]),
    ("byte pairs", "eng-fra", 300, ["--tokens", "bpe", "--merges", "100"]),
    ("characters", "reverse", 400, ["--tokens", "char"]),
]


def words_of(sentence):
    """Words and punctuation marks, as the program cuts them."""
    return sentence.translate({ord(c): f" {c} " for c in '.,!?;:"()¿¡«»“”…。、'}).split()


def measured(program, model, pairs, options):
    lines = run(program, "evaluate", model, pairs, *options).out.splitlines()
    values = dict(line.split() for line in lines)
    return float(values["bleu"]), float(values["exact_match"])


def counted_again(program, model, pairs, options):
    source, target = zip(*(line.split("\t")[:2]
                           for line in pairs.read_text().splitlines()))
    said = run(program, "translate", model, *options,
               given="\n".join(source) + "\n").out.splitlines()
    said, target = [s.split() for s in said], [words_of(t) for t in target]
    exact = 100 * sum(s == t for s, t in zip(said, target)) / len(said)
    return 100 * corpus_bleu([[t] for t in target], said), exact


def main(program):
    with tempfile.TemporaryDirectory() as folder:
        model, pairs = Path(folder) / "model.safetensors", Path(folder) / "pairs.tsv"
        for name, data, steps, options in MODELS:
            run(program, "train", ROOT / "data" / f"{data}.train.tsv", "--model", model,
                "--steps", steps, *SMALL, *options)
            test = (ROOT / "data" / f"{data}.test.tsv").read_text().splitlines(True)
            pairs.write_text("".join(test[:200]))
            for beam in 1, 3:
                use = ["--beam", beam, "--threads", 1]
                bleu, exact = measured(program, model, pairs, use)
                theirs = counted_again(program, model, pairs, use)
                claim(abs(bleu - theirs[0]) <= 0.01 and abs(exact - theirs[1]) <= 0.01
                      and 5 < bleu < 95, f"{name}, beam {beam}: BLEU {bleu:.2f} and exact "
                      f"match {exact:.2f} are NLTK's {theirs[0]:.2f} and {theirs[1]:.2f}")
    end()


if __name__ == "__main__":
    main(sys.argv[1])

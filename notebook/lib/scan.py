"""SCAN (Lake and Baroni, 2018), used by lab 22: its commands, its sets, and models that learn
them.

    python3 notebook/lib/scan.py SEEDS > notebook/22-jump-twice.csv

makes the table of the lab: nine models for each seed, three minutes on one core.
"""
import hashlib
import os
import random
import sys

ROOT = os.path.abspath(f"{__file__}/../../..")
sys.path.append(f"{ROOT}/tests/lib")
from command import run  # noqa: E402

BUILD = "build/notebook"
SIZE = "--d-model 32 --norm pre".split()
FIRST = "--lr 0.005 --warmup 200 --steps 2400".split()
THEN = "--lr 0.0004 --warmup 1 --schedule constant --steps 800".split()
JUMPS = 1467  # of the training lines of "add jump" are commands with jump


# ---------------------------------------------------------------- the grammar

def verbs():
    """(words, actions) of each verb with its direction, if it has one."""
    for verb in ("walk", "look", "run", "jump", "turn"):
        act = [] if verb == "turn" else [f"I_{verb.upper()}"]
        if act:
            yield verb, act
        for side in ("left", "right"):
            turn = [f"I_TURN_{side.upper()}"]
            yield f"{verb} {side}", turn + act
            yield f"{verb} opposite {side}", 2 * turn + act
            yield f"{verb} around {side}", 4 * (turn + act)


def commands():
    """(command, actions) of all commands."""
    phrases = [(words + often, times * actions) for words, actions in verbs()
               for often, times in (("", 1), (" twice", 2), (" thrice", 3))]
    yield from phrases
    for one, first in phrases:
        for two, second in phrases:
            yield f"{one} and {two}", first + second
            yield f"{one} after {two}", second + first


# ---------------------------------------------------------------- the sets

PAIRS = [(command, " ".join(actions)) for command, actions in commands()]
COMPOSED = [pair for pair in PAIRS if "jump" in pair[0] and pair[0] != "jump"]


def simple():
    """(train, test): every fifth command, drawn at random, is for the test."""
    pairs = random.Random(0).sample(PAIRS, len(PAIRS))
    return pairs[len(PAIRS) // 5:], pairs[:len(PAIRS) // 5]


def length():
    """At most 22 actions, and 24 or more: no command has 23."""
    return ([pair for pair in PAIRS if len(pair[1].split()) < 23],
            [pair for pair in PAIRS if len(pair[1].split()) > 23])


def add_jump(contexts=0, seed=0):
    """All commands without "jump", and "jump" alone, again and again; in turn with it,
    `contexts` composed commands that contain it, taken from the test."""
    test = random.Random(seed).sample(COMPOSED, len(COMPOSED)) if contexts else COMPOSED
    shown = [("jump", "I_JUMP"), *test[:contexts]]
    return ([pair for pair in PAIRS if "jump" not in pair[0]]
            + [shown[i % len(shown)] for i in range(JUMPS)], test[contexts:])


def digest(pairs):
    """SHA-256 of the lines of the published files, sorted."""
    lines = sorted(f"IN: {command} OUT: {actions}\n" for command, actions in pairs)
    return hashlib.sha256("".join(lines).encode()).hexdigest()


# ---------------------------------------------------------------- learning

def transformer(*words, **how):
    """What ./transformer writes to stdout."""
    return run("./transformer", *words, cwd=ROOT, **how).out


def write(name, pairs):
    path = f"{BUILD}/22-{name}.tsv"
    os.makedirs(f"{ROOT}/{BUILD}", exist_ok=True)
    with open(f"{ROOT}/{path}", "w", encoding="utf-8") as file:
        file.writelines(f"{command}\t{actions}\n" for command, actions in pairs)
    return path


def learn(name, pairs, seed, *more):
    """-> the model that has learned from these pairs, fast and then slowly."""
    data = write(f"{name}-train-{seed}", pairs)
    fast, model = (f"{BUILD}/22-{name}-{seed}{end}.safetensors" for end in ("-fast", ""))
    usual = ["train", data, *"--dropout 0 --batch 32 --threads 1 --seed".split(), seed]
    transformer(*usual, *SIZE, *FIRST, *more, "--model", fast)
    transformer(*usual, *THEN, *more, "--from", fast, "--model", model)
    return model


def some(pairs, count=500):
    """`count` pairs of the test, drawn at random: those that are translated."""
    return random.Random(1).sample(pairs, min(count, len(pairs)))


def measure(name, model, pairs):
    """-> {what `evaluate` finds: number}"""
    lines = transformer("evaluate", model, write(f"{name}-test", pairs), "--threads", 1)
    return {key: float(value) for key, value in map(str.split, lines.splitlines())}


def translate(model, pairs):
    """-> what the model writes for each command: a list of actions."""
    said = transformer("translate", model, "--threads", 1, given="".join(f"{c}\n" for c, _ in pairs))
    return [line.split() for line in said.split("\n")[:-1]]


def plan(seeds):
    """(set, contexts, seed, (train, test)) of each model of the table."""
    for seed in range(1, seeds + 1):
        yield "simple", 0, seed, simple()
        yield "length", 0, seed, length()
        for contexts in (0, 1, 2, 4, 8, 16, 32):
            yield "jump", contexts, seed, add_jump(contexts, seed)


def main():
    print("set,contexts,seed,exact,tokens,loss")
    for name, contexts, seed, (train, test) in plan(int(sys.argv[1])):
        model = learn(f"{name}-{contexts}", train, seed)
        found = measure(f"{name}-{contexts}-{seed}", model, some(test))
        print(name, contexts, seed, found["exact_match"], found["token_accuracy"],
              found["loss"], sep=",", flush=True)


if __name__ == "__main__":
    main()

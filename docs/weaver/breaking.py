#!/usr/bin/env python3
"""Learning by breaking: what happens if one line of transformer.c is another.

    python3 docs/weaver/breaking.py           runs all; writes docs/runs/breaking/
    python3 docs/weaver/breaking.py NAME...   only these
    python3 docs/weaver/breaking.py --check   is what is there up to date?

Each entry of BROKEN names lines, by function and text, and what stands in their
place in a copy of the file. Each must be found exactly once. The copy is run beside the file as
it is. The sections "Break it" of docs/source/ show the lines (`@broken NAME`)
and what the run printed (`@outcome NAME`).

--check finds and compiles all of them, and runs those that take no training.
Its last line is "N passed, N failed".
"""

import csv
import functools
import os
import re
import shutil
import subprocess
import sys
import textwrap
from collections import namedtuple
from dataclasses import dataclass
from pathlib import Path

import c_code
from claims import claim, end
from source_file import Broken

DOCS = Path(__file__).resolve().parent.parent
ROOT = DOCS.parent
RUNS = DOCS / "runs" / "breaking"
BUILD = ROOT / "build" / "breaking"
PROGRAM = ROOT / "transformer.c"
COMPILE = [*os.environ.get("CC", "cc").split(), "-std=c11", "-ffp-contract=off"]


# ------------------------------------------------------------- what is broken

@dataclass
class Example:
    """One of docs/source/examples.c, most of which compare a gradient with finite
    differences. It is quick, and gives the same digits everywhere."""
    name: str

    def title(self):
        return f"build/examples {self.name}"


@dataclass
class Training:
    """A small model, trained with the file as it is and with the broken one."""
    task: str
    options: str
    sentences: int = 1  # of the test data, which both models translate
    seeds: int = 1  # more than one where the difference might be chance

    def title(self):
        return f"./transformer train data/{self.task}.train.tsv {self.options}"


SMALL = "--layers 1 --d-model 32 --dropout 0"
REVERSE = Training("reverse", f"{SMALL} --warmup 200 --steps 1000")
REVERSE_THRICE = Training(REVERSE.task, REVERSE.options, seeds=3)
FRENCH = Training("eng-fra", f"{SMALL} --lr 0.005 --warmup 100 --steps 600")
DEEP = Training("reverse", "--layers 4 --d-model 32 --dropout 0 --steps 600")

# name: what is run, and the changes: (function, what stands in it once, what
# comes in its place).
BROKEN = {
    "no_scale": (
        [Training("reverse", f"{SMALL} --warmup 200 --steps 1000 --heads 1"),
         REVERSE_THRICE],
        [("head_of", ".scale = 1 / REAL(sqrt)((real)K),", ".scale = 1,")]),
    "no_sum": (
        [REVERSE],
        [("softmax_backward", "(d[j] - common)", "d[j]")]),
    "one_question": (
        [Example("multi_head_gradient"), FRENCH],
        [("head_of", ".q = head(s->q, b, T, h, K),",
          ".q = head(s->q, b, T, 0, K),")]),
    "large_embeddings": (
        [REVERSE],
        [("initialize", "double limit = ", "double limit = i < 2 ? sqrt(3.0)\n"
          "                     : ")]),
    "last_place_only": (
        [Example("embedding_gradient"), REVERSE_THRICE],
        [("embedding_backward", "to[j] += scale", "to[j] = scale")]),
    "no_bend": (
        [REVERSE_THRICE],
        [("activation_forward", "from[j] > 0 ? from[j] : 0", "from[j]"),
         ("activation_backward", "from[j] > 0 ? d[j] : 0", "d[j]")]),
    "no_third_term": (
        [Example("norm_gradient"), REVERSE_THRICE],
        [("norm_backward", " - n * dnn_mean", "")]),
    "no_residual": (
        [DEEP],
        [("residual_leave", "add(y, x);", ""),
         ("residual_leave_backward", "add(dx, dy);", "")]),
    "no_positions": (
        [FRENCH],
        [("embedding_forward", "if (positions.at)", "if (false)")]),
    "lost_share": (
        [Example("model_gradient"),
         Training("eng-fra", "--layers 2 --d-model 32 --dropout 0 --lr 0.005 "
                  "--warmup 100 --steps 600", seeds=3)],
        [("decoder_backward", "dx = decoder_layer_backward(",
          "fill(dmemory, 0),\n        dx = decoder_layer_backward(")]),
    "wrong_side": (
        [Training(FRENCH.task, FRENCH.options, sentences=0)],
        [("decoder_layer_forward", "x, memory,", "x, none,"),
         ("decoder_layer_forward", "masks.source); ", "masks.target); "),
         ("decoder_layer_backward", "&dw->cross_attention, dmemory,",
          "&dw->cross_attention, none,")]),
    "no_future_hidden": (
        [FRENCH],
        [("transformer_forward", ".target = causal_padding_mask(",
          ".target = padding_mask(")]),
    "no_padding_hidden": (
        [FRENCH],
        [("padding_mask", "ids[i] != PAD", "1")]),
    "not_shifted": (
        [FRENCH],
        [("make_batch", "i % T ? batch.expected[i - 1] : START",
          "batch.expected[i]")]),
    "no_warmup": (
        [REVERSE, DEEP],
        [("update", "learning_rate(&t->recipe, s.step)",
          "learning_rate(&t->recipe, s.step + t->recipe.warmup)")]),
    "not_cleared": (
        [REVERSE],
        [("train_step", "clear(t->gradient->list.values, "
          "t->gradient->list.count);", "")]),
    "noise_in_use": (
        [Training("eng-fra", "--layers 1 --d-model 32 --lr 0.005 --warmup 100 "
                  "--steps 600")],
        [("evaluate_loss", ".config = &model->config}",
          ".config = &model->config,\n"
          "                 .training = true}"),
         ("translate", ".config = &model->config}",
          ".config = &model->config,\n"
          "                 .training = true}")]),
}


def entry(name):
    """Runs and changes."""
    if name not in BROKEN:
        raise Broken(f"nothing that is broken has the name {name}")
    return BROKEN[name]


# SOURCE[first:end] in a function becomes another text.
Change = namedtuple("Change", "function first end new")


@functools.lru_cache(maxsize=None)
def source():
    return PROGRAM.read_text(encoding="utf-8")


def plant(name):
    """The changes of an entry."""
    return [place(name, *change) for change in entry(name)[1]]


def place(name, function, before, after):
    """The change that puts `after` where `before` stands in a function."""
    its = c_code.function(PROGRAM, function)
    text = "\n".join(its.lines)
    if text.count(before) != 1:
        raise Broken(f"{name}: found {text.count(before)} times in {function}, not once: "
                     f"{before}")
    lines = source().split("\n")[:its.first - 1]
    at = sum(len(line) + 1 for line in lines) + text.index(before)
    return Change(function, at, at + len(before), after)


def planted(name):
    """The file with the changes of an entry."""
    text = source()
    for change in sorted(plant(name), key=lambda change: -change.first):
        text = text[:change.first] + change.new + text[change.end:]
    return text


def difference(change):
    """The lines that a change is in, as they are and broken; a broken line
    without a statement is left out."""
    text = source()
    first = text.rindex("\n", 0, change.first) + 1
    end = text.index("\n", change.end)
    before = text[first:end]
    after = text[first:change.first] + change.new + text[change.end:end]
    signs = "-" * (before.count("\n") + 1) + "+" * (after.count("\n") + 1)
    lines = re.sub(" +//", "  //", textwrap.dedent(
        f"{before}\n{after}")).split("\n")
    return [f"{sign} {line}".rstrip() for sign, line in zip(signs, lines)
            if sign == "-" or c_code.plain(line).strip()]


def recorded(name):
    """[(command, what was printed)] of the runs of an entry."""
    path = RUNS / f"{name}.txt"
    if not path.is_file():
        raise Broken(f"{name}: there is no {path.relative_to(ROOT)}: "
                     "breaking.py writes it")
    runs = re.split(r"^\$ (.*)\n", path.read_text(encoding="utf-8"),
                    flags=re.MULTILINE)
    return list(zip(runs[1::2], runs[2::2]))


# -------------------------------------------------------------------- running

def call(command, folder, text=None, allowed=(0,)):
    """What a program prints."""
    done = subprocess.run(command, cwd=folder, input=text, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode not in allowed:
        raise Broken(f"{' '.join(map(str, command))}: status {done.returncode}\n"
                     f"{done.stderr}")
    return done.stdout


def copy(name, text):
    """A folder of its own for transformer.c with this text."""
    folder = BUILD / name
    for file in ("tests/test.h", "tests/claims.h", "tests/model.h",
                 "notebook/lib/settings.h", "docs/source/examples.c"):
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / file, folder / file)
    (folder / "transformer.c").write_text(text, encoding="utf-8")
    return folder


def run_example(name, run):
    """The broken file's output; status 1 says that a claim is false."""
    folder = copy(name, planted(name))
    call([*COMPILE, "-DTRANSFORMER_DOUBLE", "docs/source/examples.c", "-o", "examples",
          "-lm"], folder)
    return call(["./examples", run.name], folder, allowed=(0, 1))


PARTS = 4  # of a training, whose mean losses are shown


@functools.lru_cache(maxsize=None)
def build(folder):
    call([*COMPILE, "-O2", "transformer.c", "-o", "transformer", "-lm"], folder)


@functools.lru_cache(maxsize=None)
def train(folder, task, options, sentences):
    """[(label, value)] of a training by the file in a folder; and what the
    model writes."""
    build(folder)
    data = ROOT / "data" / task
    call(["./transformer", "train", f"{data}.train.tsv", "--model", "model",
          "--log", "log.csv", *options.split()], folder)
    with open(folder / "log.csv", encoding="utf-8", newline="") as file:
        losses = [float(row["loss"]) for row in csv.DictReader(file)]
    size = len(losses) // PARTS
    rows = [(f"loss, steps {k + 1}–{k + size}",
             f"{sum(losses[k:k + size]) / size:.3f}")
            for k in range(0, size * PARTS, size)]
    test = f"{data}.test.tsv"
    held = dict(line.split() for line in call(
        ["./transformer", "evaluate", "model", test], folder).splitlines())
    rows += [("loss, unseen pairs", f"{float(held['loss']):.3f}"),
             ("% of tokens right", f"{float(held['token_accuracy']):.1f}")]
    if sentences:
        rows.append(("% of sentences right",
                     f"{float(held['exact_match']):.1f}"))
    return rows, translations(folder, test, sentences)


def translations(folder, test, count):
    """[(source, what the model writes)] of the first sentences."""
    with open(test, encoding="utf-8") as file:
        sources = [line.split("\t")[0] for line, _ in zip(file, range(count))]
    written = call(["./transformer", "translate", "model"], folder,
                   "".join(source + "\n" for source in sources))
    shown = [textwrap.shorten(line, 40, placeholder=" …") or "(nothing)"
             for line in written.split("\n")]
    return list(zip(sources, shown))


def run_training(name, run):
    """The numbers of both trainings, side by side."""
    sound = copy("sound", source())
    broken = copy(name, planted(name))
    (left, wrote), (right, writes) = (
        train(folder, run.task, run.options, run.sentences)
        for folder in (sound, broken))
    lines = [f"{'':22}{'as it is':>10}{'broken':>10}"]
    lines += [f"{label:22}{a:>10}{b:>10}"
              for (label, a), (_, b) in zip(left, right)]
    for (source, a), (_, b) in zip(wrote, writes):
        lines += ["", source, f"  as it is  {a}", f"  broken    {b}"]
    if run.seeds > 1:
        lines += ["", left[-1][0]]
        lines += by_seed(run, sound, broken)
    return "\n".join(lines) + "\n"


def by_seed(run, sound, broken):
    """The same trainings with other seeds: the last measure, a line for each."""
    for seed in range(1, run.seeds + 1):
        options = run.options + (f" --seed {seed}" if seed > 1 else "")
        a, b = (train(folder, run.task, options, run.sentences)[0][-1][1]
                for folder in (sound, broken))
        yield f"  --seed {seed:<13}{a:>10}{b:>10}"


def record(name, run):
    """What is written down for a run of an entry."""
    work = run_example if isinstance(run, Example) else run_training
    return run.title(), work(name, run)


# ------------------------------------------------------------------- checking

def compiles(name):
    """The lines are there, and the broken file is C."""
    folder = copy(name, planted(name))
    call([*COMPILE, "-fsyntax-only", "-pedantic-errors", "transformer.c"],
         folder)


def up_to_date(name):
    """What is written down is of these runs, and an example prints it again."""
    runs, there = BROKEN[name][0], recorded(name)
    if [command for command, _ in there] != [run.title() for run in runs]:
        raise Broken(f"{name}: other runs have been written down")
    for run, written in zip(runs, there):
        if isinstance(run, Example) and record(name, run) != written:
            raise Broken(f"{name}: {run.title()} prints something else now")


def shown(name):
    """A page shows the lines, and then what happens."""
    found = [directive for page in sorted((DOCS / "source").glob("*.md"))
             for directive in re.findall(rf"^@(\w+) {name}$", page.read_text(
                 encoding="utf-8"), re.MULTILINE)]
    if found != ["broken", "outcome"]:
        raise Broken(f"{name}: no page has @broken and then @outcome of it")


CHECKS = {"stands in the file once, and compiles": compiles,
          "was run as it is written here": up_to_date,
          "is on a page": shown}


def check(names):
    for name in names:
        for said, holds in CHECKS.items():
            why = ""
            try:
                holds(name)
            except Broken as wrong:
                why = str(wrong)
            claim(not why, f"{name} {said}", why)
    end()


def run(names):
    RUNS.mkdir(parents=True, exist_ok=True)
    for name in names:
        print(name, flush=True)
        (RUNS / f"{name}.txt").write_text("".join(
            f"$ {command}\n{printed}" for command, printed in
            (record(name, each) for each in BROKEN[name][0])), encoding="utf-8")


def main():
    action, names = run, sys.argv[1:]
    if names[:1] == ["--check"]:
        action, names = check, names[1:]
    for name in names:
        entry(name)
    action(names or list(BROKEN))


if __name__ == "__main__":
    try:
        main()
    except Broken as wrong:
        sys.exit(f"breaking.py: {wrong}")

#!/usr/bin/env python3
"""Learning by breaking: what happens if a line of transformer.c is replaced by another.

    python3 docs/book/weave/breaking.py           runs all; writes docs/book/records/breaking/
    python3 docs/book/weave/breaking.py NAME...   only these
    python3 docs/book/weave/breaking.py --check   are the records up to date?

Each entry of BROKEN names lines, by function and text, and what stands in their
place in a copy of the file. Each must be found exactly once. The copy is run beside the file as
it is. The sections "Break it" of docs/book/text/ show the lines (`@broken NAME`)
and what the run printed (`@outcome NAME`).

--check finds and compiles all of them, and runs those that take no training.
Its last line is "N passed, N failed".
"""

import csv
import functools
import os
import re
import shutil
import sys
import textwrap
from collections import namedtuple

from project import DOCS, ROOT, command, fail

import c_code
from harness import claim, end
from source_file import plain

RUNS = DOCS / "book" / "records" / "breaking"
BUILD = ROOT / "build" / "breaking"
PROGRAM = ROOT / "transformer.c"
SOURCE = PROGRAM.read_text(encoding="utf-8")
COMPILE = [*os.environ.get("CC", "cc").split(), "-std=c11", "-ffp-contract=off"]
PARTS = 4  # of a training run; the mean loss of each is shown


# ------------------------------------------------------------- what is run

def copy(name, text):
    """A folder of its own for transformer.c with this text."""
    folder = BUILD / name
    for file in ("tests/lib/test.h", "tests/lib/claims.h", "tests/lib/model.h",
                 "docs/book/examples.c"):
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / file, folder / file)
    (folder / "transformer.c").write_text(text, encoding="utf-8")
    return folder


class Example(namedtuple("Example", "name")):
    """One of docs/book/examples.c, most of which compare a gradient with finite
    differences. It is quick, and gives the same digits everywhere."""

    def title(self):
        return f"build/examples {self.name}"

    def outcome(self, name):
        """The broken file's output; status 1 says that a claim is false."""
        folder = copy(name, planted(name))
        command([*COMPILE, "-DTRANSFORMER_DOUBLE", "docs/book/examples.c", "-o", "examples",
                 "-lm"], cwd=folder)
        return command(["./examples", self.name], cwd=folder, allowed=(0, 1))


@functools.lru_cache(maxsize=None)
def built(name, text):
    """The folder of a file, with the program."""
    folder = copy(name, text)
    command([*COMPILE, "-O3", "-march=native", "transformer.c", "-o", "transformer", "-lm"],
            cwd=folder)
    return folder


def trained(folder, data, test, options):
    """What `evaluate` says of a model that the program in a folder has trained."""
    command(["./transformer", "train", data, "--model", "model.safetensors", *options.split()],
            cwd=folder)
    return dict(line.split() for line in command(
        ["./transformer", "evaluate", "model.safetensors", test], cwd=folder).splitlines())


class Training(namedtuple("Training", "task options sentences seeds", defaults=(1, 1))):
    """A small model, trained with the file as it is and with the broken one. Both translate
    this many sentences of the test data. More than one seed is tried where the difference
    might be chance."""

    def title(self):
        return f"./transformer train data/{self.task}.train.tsv {self.options}"

    @functools.lru_cache(maxsize=None)
    def measured(self, folder, seed=1):
        """{label: value} of a training by the program in a folder, and what the model makes
        of the sentences."""
        data, more = ROOT / "data" / self.task, f" --seed {seed}" if seed > 1 else ""
        held = trained(folder, f"{data}.train.tsv", f"{data}.test.tsv",
                       f"{self.options}{more} --log log.csv")
        with open(folder / "log.csv", encoding="utf-8", newline="") as file:
            losses = [float(row["loss"]) for row in csv.DictReader(file)]
        size = len(losses) // PARTS
        found = {f"loss, steps {k + 1}–{k + size}": f"{sum(losses[k:k + size]) / size:.3f}"
                 for k in range(0, size * PARTS, size)}
        found["loss, unseen pairs"] = f"{float(held['loss']):.3f}"
        found["% of tokens right"] = f"{float(held['token_accuracy']):.1f}"
        if self.sentences:
            found["% of sentences right"] = f"{float(held['exact_match']):.1f}"
        written = command(["./transformer", "translate", "model.safetensors"],
                          "".join(source + "\n" for source in self.sources()), cwd=folder)
        return found, [textwrap.shorten(line, 40, placeholder=" …") or "(nothing)"
                       for line in written.split("\n")]

    def sources(self):
        with open(ROOT / "data" / f"{self.task}.test.tsv", encoding="utf-8") as file:
            return [line.split("\t")[0] for line, _ in zip(file, range(self.sentences))]

    def outcome(self, name):
        """The numbers of both trainings, side by side."""
        folders = built("sound", SOURCE), built(name, planted(name))
        (left, wrote), (right, writes) = map(self.measured, folders)
        rows = [("", "as it is", "broken"), *((label, left[label], right[label])
                                              for label in left)]
        seeds = range(1, self.seeds + 1) if self.seeds > 1 else ()
        last = [*left][-1]
        tried = [(f"  --seed {seed}", *(self.measured(folder, seed)[0][last]
                                        for folder in folders)) for seed in seeds]
        return table_of(rows) + "".join(
            f"\n{source}\n  as it is  {a}\n  broken    {b}\n"
            for source, a, b in zip(self.sources(), wrote, writes)) \
            + (f"\n{last}\n{table_of(tried)}" if tried else "")


def table_of(rows):
    return "".join(f"{label:22}{a:>10}{b:>10}\n" for label, a, b in rows)


# ------------------------------------------------------------- what is broken

SMALL = "--layers 1 --d-model 32 --dropout 0"
REVERSE = Training("reverse", f"{SMALL} --warmup 200 --steps 1000")
REVERSE_THRICE = Training(REVERSE.task, REVERSE.options, seeds=3)
FRENCH = Training("eng-fra", f"{SMALL} --lr 0.005 --warmup 100 --steps 600")
DEEP = Training("reverse", "--layers 4 --d-model 32 --dropout 0 --steps 600")

# name: what is run, and the changes: (function, what stands in it once, what
# comes in its place).
BROKEN = {
    "no_scale": (
        [Training("reverse", f"{SMALL} --warmup 200 --steps 1000 --heads 1"), REVERSE_THRICE],
        [("head_of", ".scale = 1 / REAL(sqrt)((real)K),", ".scale = 1,")]),
    "no_sum": ([REVERSE], [("softmax_backward", "(d[j] - common)", "d[j]")]),
    "one_question": (
        [Example("multi_head_gradient"), FRENCH],
        [("head_of", ".q = head(s->q, b, T, h, K),", ".q = head(s->q, b, T, 0, K),")]),
    "large_embeddings": ([REVERSE], [
        ("initialize", "double limit = ",
         "double limit = i < 2 ? sqrt(3.0)\n                     : ")]),
    "last_place_only": ([Example("embedding_gradient"), REVERSE_THRICE], [
        ("embedding_backward", "to[j] += scale", "to[j] = scale")]),
    "no_bend": ([REVERSE_THRICE], [
        ("activation_forward", "(double)from[j] <= 0 ? 0 : from[j]", "from[j]"),
        ("activation_backward", "(double)from[j] <= 0 ? 0 : d[j]", "d[j]")]),
    "no_third_term": ([Example("norm_gradient"), REVERSE_THRICE], [
        ("norm_backward", " - n * dnn_mean", "")]),
    "no_residual": ([DEEP], [
        ("residual_leave", "add(y, x);", ""), ("residual_leave_backward", "add(dx, dy);", "")]),
    "no_positions": ([FRENCH], [("embedding_forward", "if (positions.at)", "if (false)")]),
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
    "no_future_hidden": ([FRENCH], [
        ("transformer_forward", ".target = causal_padding_mask(", ".target = padding_mask(")]),
    "no_padding_hidden": ([FRENCH], [("padding_mask", "ids[i] != PAD", "1")]),
    "not_shifted": ([FRENCH], [
        ("make_batch", "i % T ? batch.expected[i - 1] : START", "batch.expected[i]")]),
    "no_warmup": (
        [REVERSE, DEEP],
        [("update", "learning_rate(&t->recipe, s.step)",
          "learning_rate(&t->recipe, s.step + t->recipe.warmup)")]),
    "not_cleared": ([REVERSE], [
        ("train_step", "clear(t->gradient->list.values, t->gradient->list.count);", "")]),
    "noise_in_use": (
        [Training("eng-fra", "--layers 1 --d-model 32 --lr 0.005 --warmup 100 --steps 600")],
        [("evaluate_loss", ".config = &model->config}",
          ".config = &model->config,\n                 .training = true}"),
         ("translate", ".config = &model->config}",
          ".config = &model->config,\n                 .training = true}")]),
    "shifted_twice": (
        [FRENCH],
        [("make_batch", "i % T ? batch.expected[i - 1] : START;",
          "i % T > 1 ? batch.expected[i - 2] : START;")]),
    "mask_turned": (
        [FRENCH],
        [("padding_mask", "ids[i] != PAD", "ids[i] == PAD")]),
    "cut_short": (
        [FRENCH],
        [("longest_output", "S - 1 + MORE", "8")]),
    # The rest is trained by surviving.py alone. With heads reshaped, each step decodes anew
    # all that has been written, as a program without a cache does.
    "heads_reshaped": ([], [
        ("head", "slice_cols(slice_rows(m, b * rows, rows), h * K, K)",
         "mat(row(m, b * rows) + h * rows * K, rows, K)"),
        ("translate", "Mat logits = decoder_step(&pass, &cache, id);",
         "int T = t + 1, *input = arena_take(arena, (size_t)(B * T), sizeof *input);\n"
         "        for (int i = 0; i < B * T; i++)\n            input[i] = i % T ? "
         "out[i / T * P + i % T - 1] : START;\n        Saved saved;\n"
         "        encode(&pass, &saved, model, batch->source, S, cache.source_mask);\n"
         "        Mat all = decode(&pass, &saved, model, input, T,\n                         "
         "(Masks){cache.source_mask, causal_mask(arena, T)});\n"
         "        Mat logits = {row(all, t), B, all.cols, T * all.row_stride, 1};")]),
    "small_embeddings": ([], [
        ("embedding_forward", "scale = REAL(sqrt)((real)D)", "scale = 1"),
        ("embedding_backward", "scale = REAL(sqrt)((real)dx.cols)", "scale = 1")]),
    "smoothed_padding": ([], [
        ("loss_forward", "if (y == PAD)\n            continue;",
         "if (y == PAD) {\n            int most = arg_max(z, 0, V);\n            "
         "lse.at[i] = z[most] + REAL(log)(sum_exponentials(z, z[most], V));\n            "
         "each[i].loss = smoothing * (lse.at[i] - sum(z, V) / V);\n"
         "            continue;\n        }"),
        ("loss_backward", "memset(d, 0, sizeof(real) * (size_t)V);",
         "for (int j = 0; j < V; j++)\n                d[j] = ((real)smoothing * "
         "exponential(z[j] - lse.at[i]) - even) * share;")]),
    "padding_counts": ([], [
        ("tokens_expected", "batch->expected[i] != PAD", "1"),
        ("loss_forward", "if (y == PAD)", "if (false)"),
        ("loss_backward", "if (expected[i] == PAD)", "if (false)")]),
    "answer_given": ([], [
        ("evaluate_command", "Sentence *result = translate_all(model, p.source, p.count,\n"
         "                                     a->settings.beam, arena);",
         "Sentence *result = allocate((size_t)p.count, sizeof *result);\n"
         "    for (int i = 0; i < p.count; i++) {\n        Saved saved;\n"
         "        Pass pass = {.arena = arena, .config = &model->config};\n"
         "        Batch batch = make_batch(arena, &p, &i, 1);\n"
         "        Mat logits = transformer_forward(&pass, &saved, model, &batch);\n"
         "        int *id = allocate((size_t)logits.rows, sizeof *id), n = 0;\n"
         "        while (n < logits.rows && (n == 0 || id[n - 1] != END)) {\n            "
         "id[n] = arg_max(row(logits, n), END, logits.cols);\n            n++;\n        }\n"
         "        result[i] = (Sentence){id, n};\n        arena_release(arena, 0);\n    }")]),
}


# SOURCE[first:end] in a function becomes another text.
Change = namedtuple("Change", "function first end new")


def plant(name):
    """The changes of an entry."""
    if name not in BROKEN:
        fail(f"there is no broken line with the name {name}")
    return [place(name, *change) for change in BROKEN[name][1]]


def place(name, function, before, after):
    """The change that puts `after` where `before` stands in a function."""
    its = c_code.function(PROGRAM, function)
    text = "\n".join(its.lines)
    if text.count(before) != 1:
        fail(f"{name}: found {text.count(before)} times in {function}, not once: "
                     f"{before}")
    lines = SOURCE.split("\n")[:its.first - 1]
    at = sum(len(line) + 1 for line in lines) + text.index(before)
    return Change(function, at, at + len(before), after)


def planted(name):
    """The file with the changes of an entry."""
    text = SOURCE
    for change in sorted(plant(name), key=lambda change: -change.first):
        text = text[:change.first] + change.new + text[change.end:]
    return text


def difference(change):
    """The lines that a change is in, as they are and broken; a broken line
    without a statement is left out."""
    first = SOURCE.rindex("\n", 0, change.first) + 1
    end = SOURCE.index("\n", change.end)
    before = SOURCE[first:end]
    after = SOURCE[first:change.first] + change.new + SOURCE[change.end:end]
    signs = "-" * (before.count("\n") + 1) + "+" * (after.count("\n") + 1)
    lines = re.sub(" +//", "  //", textwrap.dedent(
        f"{before}\n{after}")).split("\n")
    return [f"{sign} {line}".rstrip() for sign, line in zip(signs, lines)
            if sign == "-" or plain(line).strip()]


def recorded(name):
    """[(command, what was printed)] of the runs of an entry."""
    path = RUNS / f"{name}.txt"
    if not path.is_file():
        fail(f"{name}: there is no {path.relative_to(ROOT)}: "
                     "breaking.py writes it")
    runs = re.split(r"^\$ (.*)\n", path.read_text(encoding="utf-8"),
                    flags=re.MULTILINE)
    return list(zip(runs[1::2], runs[2::2]))


# ------------------------------------------------------------------- checking

def compiles(name):
    """The lines are there, and the broken file is C."""
    command([*COMPILE, "-fsyntax-only", "-pedantic-errors", "transformer.c"],
            cwd=copy(name, planted(name)))


def up_to_date(name):
    """The record is of these runs, and its examples still print the same."""
    runs, there = BROKEN[name][0], BROKEN[name][0] and recorded(name)
    if [line for line, _ in there] != [run.title() for run in runs]:
        fail(f"{name}: other runs have been written down")
    for run, written in zip(runs, there):
        if isinstance(run, Example) and run.outcome(name) != written[1]:
            fail(f"{name}: {run.title()} prints something else now")


def shown(name):
    """A page shows the lines, and then what happened in the runs."""
    found = [directive for page in sorted((DOCS / "book" / "text").glob("*.md"))
             for directive in re.findall(rf"^@(\w+) {name}$", page.read_text(
                 encoding="utf-8"), re.MULTILINE)]
    wanted = ["broken", "outcome"] if BROKEN[name][0] else ["broken"]
    if found != wanted:
        fail(f"{name}: no page has @{' and then @'.join(wanted)} of it")


CHECKS = {"stands in the file once, and compiles": compiles,
          "was run as it is written here": up_to_date,
          "is on a page": shown}


def check(names):
    for name in names:
        for said, holds in CHECKS.items():
            why = ""
            try:
                holds(name)
            except SystemExit as wrong:
                why = str(wrong)
            claim(not why, f"{name} {said}", why)
    end()


def run(names):
    RUNS.mkdir(parents=True, exist_ok=True)
    for name in names:
        print(name, flush=True)
        (RUNS / f"{name}.txt").write_text("".join(
            f"$ {each.title()}\n{each.outcome(name)}" for each in BROKEN[name][0]),
            encoding="utf-8")


def main():
    action, names = run, sys.argv[1:]
    if names[:1] == ["--check"]:
        action, names = check, names[1:]
    for name in names:
        plant(name)
    action(names or [name for name in BROKEN if action == check or BROKEN[name][0]])


if __name__ == "__main__":
    main()

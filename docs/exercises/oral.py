#!/usr/bin/env python3
"""Six questions about a student's own code, for an examination of five minutes.

    python3 docs/exercises/oral.py SEED FILE      writes build/oral/SEED

`make oral SEED=7 SRC=exercises/transformer.c` does it. cards.html has the questions, with
the lines that they are about; answers.html has the answers, for whoever asks. All are
computed from the file as it is, right or wrong: its functions are run, its lines are taken
out or changed, and the grader is asked what it would say. The same seed and the same file
give the same cards. Needs pandoc.
"""

import itertools
import random
import re
import sys
import tempfile
from pathlib import Path

import exam
import neighbors
import tool
from tool import ROOT, Trouble

FOLDER = ROOT / "build" / "oral"
CARDS = 6
TRIES = 12  # of changes that turn out to be no question


class Desk:
    """A student's file, the regions in it that are written, and the dice."""

    def __init__(self, seed, path):
        self.draw = random.Random(seed)
        self.made, self.path = tool.reference(), Path(path).absolute()
        self.label = tool.shown(self.path)
        tool.SETTINGS["SRC"] = str(self.path)
        every = tool.student_regions(self.path)
        self.exercises = {e.name: e for e in tool.load_exercises() if e.name in every}
        self.regions = {name: region for name, region in every.items()
                        if name in self.exercises and not isinstance(region, str)
                        and not tool.is_stub(name, region)
                        and not tool.refusal(region, self.label)}

    def verdict(self, name, body):
        """What the grader says of a region with this body."""
        region = tool.source_file.Region(self.regions[name].start, body)
        return tool.grade_body(self.exercises[name], region, self.label, self.made)

    def asks(self, name, *numbers):
        """What exam.c says of the file's own functions; None if it does not end well."""
        text = tool.source_file.with_bodies(
            tool.read_text(self.made / "transformer.c"),
            {other: ["{", *region.body, "}"] for other, region in self.regions.items()})
        with tempfile.TemporaryDirectory(dir=tool.BUILD, prefix="oral-") as folder:
            folder = Path(folder)
            (folder / "source.c").write_bytes(text.encode("utf-8"))
            if tool.compile_grader(self.made, folder / "source.c", folder / "oral",
                                   ["-w"], tool.EXAM.name)[0]:
                return None
            ended, _ = tool.make_results(self.made, folder / "oral",
                                         [name, *map(str, numbers)], folder)
        return None if ended.status or ended.stopped else ended.output.splitlines()

    def listing(self, name):
        """The lines of a region with their numbers."""
        region = self.regions[name]
        return "``` c\n" + "".join(
            f"{region.start + 1 + k:5}  {line}\n" for k, line in enumerate(region.body)
            ) + "```"

    def statements(self, name):
        """The places of lines that are a statement each, and declare nothing."""
        return [k for k, line in enumerate(tool.code_of(
                    "\n".join(self.regions[name].body)).split("\n"))
                if re.fullmatch(r"\s*[^{}?:]*;\s*", line) and line.count(";") == 1
                and not re.match(r"\s*(return|const|\w+\s+\**\w+\s*[=;,[])", line)]


def told(result):
    """What a verdict comes to, in a sentence or two."""
    if result.state == "right":
        return "Nothing: the check passes as before."
    sure = [line for line in result.detail.split("\n")
            if re.match("wrong: |case: |.*: yours ", line)]
    return "The check fails: " + "; ".join([result.word, *sure]) + "."


def of_changes(desk, name, changes, what, wants_wrong):
    """A card about a change of a region, one that compiles and does not crash."""
    before = desk.verdict(name, desk.regions[name].body)
    for shown, body in changes[:TRIES]:
        after = desk.verdict(name, body)
        clean = after.state in ("right", "wrong") and not re.match(
            "does not compile|crashes|stopped", after.word)
        if clean and not (wants_wrong
                          and (after.state, after.word) == (before.state, before.word)):
            return (f"{what.format(shown=shown, name=name)}\n\n{desk.listing(name)}",
                    ("" if before.state == "right" else
                     f"As it stands, it is not right ({before.word}). ") + told(after))
    return None


def deleted(desk, name):
    places = desk.statements(name)
    desk.draw.shuffle(places)
    body, start = desk.regions[name].body, desk.regions[name].start + 1
    return of_changes(
        desk, name, [(f"{start + k}, `{body[k].strip()}`,", [
            *body[:k], ";", *body[k + 1:]]) for k in places],
        "In your `{name}`, line {shown} is deleted. Which of its results are wrong then, "
        "and which are still right? Why?", True)


def exchanged(desk, name):
    places = desk.statements(name)
    pairs = [(k, m) for k, m in zip(places, places[1:]) if m == k + 1]
    desk.draw.shuffle(pairs)
    body, start = desk.regions[name].body, desk.regions[name].start + 1
    return of_changes(
        desk, name, [(f"{start + k} and {start + m}", [*body[:k], body[m], body[k],
                                                       *body[m + 1:]]) for k, m in pairs],
        "In your `{name}`, lines {shown} are exchanged. What changes?", False)


def altered(desk, name):
    near = [n for n in neighbors.neighbors(desk.regions[name].body)
            if re.match("a (sign|factor|term|bracket)|=|two ", n.what)]
    desk.draw.shuffle(near)
    return of_changes(
        desk, name, [(n.shown(), n.body) for n in near],
        "In your `{name}`, one place becomes {shown}. By what would you notice it, and "
        "where?", True)


def row_sums(desk, name):
    seed = desk.draw.randrange(1000)
    body, start = list(desk.regions[name].body), desk.regions[name].start + 1

    def sums():
        return desk.asks("row_sums", seed)

    if sums() != ["1.000000"] * 4:
        return None
    guilty = []
    for k in desk.statements(name):
        desk.regions[name].body = [*body[:k], ";", *body[k + 1:]]
        found = sums()
        if found and found != ["1.000000"] * 4:
            guilty.append(f"line {start + k}, `{body[k].strip()}`: without it the sums are "
                          + ", ".join(found))
    desk.regions[name].body = body
    return guilty and (
        f"Which line of your `{name}` makes row 3 of the weights sum to 1? And "
        f"without which others would it not?\n\n{desk.listing(name)}", "- " + "\n- ".join(guilty))


def mask_bit(desk, name):
    bits = [desk.draw.choice([1, 1, 1, 0]) for _ in range(12)]
    bits[0] = bits[4] = bits[8] = 1
    place = desk.draw.choice([1, 2, 3, 5, 6, 7, 9, 10, 11])
    found = desk.asks("mask_bit", desk.draw.randrange(1000), place, *bits)
    picture = "\n".join("    " + " ".join(map(str, bits[4 * i:4 * i + 4]))
                        for i in range(3))
    return found and (
        "Attention has 3 queries and 4 keys, and this mask (1 is visible):\n\n" + picture
        + f"\n\nThe bit of query {place // 4} and key {place % 4}, counted from 0, is "
        "flipped. Forward and backward are run again, with the same q, k, v and the same "
        "gradient of out. Which of dq, dk and dv change, and in which rows? Which line of "
        f"yours carries it there?\n\n{desk.listing(name)}",
        "By your own code these rows change: " + "; ".join(found) + ".")


def softmax_value(desk, name):
    weights = desk.draw.sample([0.5, 0.25, 0.125, 0.125], 4)
    given = [desk.draw.randrange(-4, 5) for _ in range(4)]
    place = desk.draw.randrange(4)
    found = desk.asks("softmax_gradient", *weights, *given)
    return found and (
        f"Your `softmax_backward` is given one row: w = {weights}, dw = {given}. What is "
        f"dw[{place}] afterwards, to one digit?\n\n{desk.listing(name)}",
        f"By your code the row becomes {found[0]}.")


def norm_value(desk, name):
    middle, far = desk.draw.randrange(-3, 4), desk.draw.choice([1, 2, 3, 5])
    x = desk.draw.sample([middle - far] * 2 + [middle + far] * 2, 4)
    gain = [desk.draw.choice([1, 2, 3]) for _ in range(4)]
    bias = [desk.draw.choice([0, 1, -1]) for _ in range(4)]
    place = desk.draw.randrange(4)
    found = desk.asks("norm_row", *x, *gain, *bias)
    return found and (
        f"Your `norm_forward` is given the row {x}, the gain {gain} and the bias {bias}. "
        f"What is y[{place}], to one digit?\n\n{desk.listing(name)}",
        f"By your code y is {found[0]}.")


ABOUT_ONE = [("softmax_row", row_sums), ("attention_backward", mask_bit),
             ("softmax_backward", softmax_value), ("norm_forward", norm_value)]
ABOUT_ANY = [deleted, altered, exchanged]


def cards(desk):
    """[(question, answer)]: those about certain functions, if they are written, and about
    changes of others."""
    if not desk.regions:
        raise Trouble(f"{desk.label}: nothing is written in it yet")
    special = [pair for pair in ABOUT_ONE if pair[0] in desk.regions]
    found = [card for card in (make(desk, name) for name, make in special) if card]
    names = sorted(set(desk.regions) - {name for name, _ in special}) or sorted(desk.regions)
    desk.draw.shuffle(names)
    kinds = itertools.cycle(ABOUT_ANY)
    for name in names:
        card = len(found) < CARDS and next(kinds)(desk, name)
        found += [card] if card else []
    desk.draw.shuffle(found)
    return found


def write(seed, path):
    desk = Desk(seed, path)
    found = cards(desk)
    folder = FOLDER / str(seed)
    folder.mkdir(parents=True, exist_ok=True)
    for name, title, which in (("cards", "Questions about", 0), ("answers", "Answers to", 1)):
        text = f"# {title} {desk.label}\n\n" + "\n\n".join(
            f"## {k}\n\n{card[which]}" for k, card in enumerate(found, 1))
        exam.to_html(text, title, folder / f"{name}.html")
    print(f"{tool.shown(folder)}: cards.html with {len(found)} questions, answers.html")
    return 0


def main(arguments):
    if len(arguments) != 2 or not arguments[0].isdigit():
        sys.stderr.write("oral.py: whose? make oral SEED=7 SRC=exercises/transformer.c\n")
        return 2
    try:
        return write(int(arguments[0]), arguments[1])
    except tool.Broken as trouble:
        sys.stderr.write(f"error: {trouble}\n")
        return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

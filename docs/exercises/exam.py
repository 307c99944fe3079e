#!/usr/bin/env python3
"""Examinations: variants of the exercises with numbers and with bugs, which a class has
not seen, and their key.

    python3 docs/exercises/exam.py SEED           writes build/exam/SEED
    python3 docs/exercises/exam.py SEED FOLDER    grades what is in the folder

`make exam SEED=7` and `make exam SEED=7 DIR=FOLDER` do it. The same seed gives the same
examination. What is written:

    paper.html      the first part, for paper and a calculator: numbers
    answers.txt     for those numbers, typed in by whoever grades
    machine.html    the second part, with
    class/          a file that has three bugs
    key.html        what is right, and what is wrong
    key/            the folder of somebody who has full marks
    pages/          the examination as exercises; the grader reads them

The numbers are computed by the program's own functions (exam.c). The bugs are taken from
the exercises' mistakes: those that change one line, and that the grader refuses. The file
has them all, so no right file can be made of several; it has no comments and no main. Each
bug is graded alone, in the right program, by tool.py. Needs pandoc.
"""

import functools
import itertools
import random
import re
import shutil
import subprocess
import sys
from pathlib import Path

import tool
from tool import ROOT, Trouble

HERE = Path(__file__).resolve().parent
FOLDER = ROOT / "build" / "exam"
PROGRAM_FILE = "program.c"
BUGS, BUG_POINTS, NUMBER_POINTS = 3, 20, 8


# ---------------------------------------------------------------- numbers

def count(draw):
    K, H, L, V = draw.choice([8, 16, 32]), draw.choice([2, 4, 8]), \
        draw.choice([2, 3, 4, 6]), draw.choice([500, 800, 1200, 2000])
    D, F = K * H, draw.choice([2, 4]) * K * H
    return "Where the parameters are", "decoder", [L, D, H, F, V], f"""
A transformer has L = {L} layers in the encoder and the same number in the decoder, D = {D},
H = {H}, F = {F}, and V = {V} words each for source and target. Every linear layer has biases,
the output layer, too. Each norm has gains and biases; the norms come after the sub-layers
(post-norm, without a last norm). Positions are sines and cosines, and no matrix is shared. How
many parameters does it have

- in all attentions, those of the encoder and both kinds of the decoder
  (`count_attention`);
- in all norms (`count_norms`);
- altogether (`count_total`)?
"""


def attention(draw):
    scores = draw.sample([0, 1, 2, 3], 3)
    values = draw.sample(range(1, 10), 3)
    d = draw.choice([2, 4, 8])
    told = ", ".join({0: "0", 1: "log 2"}.get(s, f"{s} log 2") for s in scores)
    return "One query", "attention", [*scores, *values, d], f"""
A query and three keys have the scaled scores {told}. Each value is a single
number: {values[0]}, {values[1]} and {values[2]}. Compute

- the weight of the first key (`attention_weight`);
- the result (`attention_out`);
- the gradient of the first scaled score, if the gradient of the result is {d}
  (`attention_dscore`).
"""


def norm(draw):
    x = draw.sample(range(0, 13), 4)
    at, d = draw.randrange(1, 4), draw.choice([1, 2, 3])
    return "A norm", "residual", [*x, at, d], f"""
Layer normalization is given the row ({', '.join(map(str, x))}). All gains are 1, all biases are
0, ε is too small to matter, and the variance is the sum of squares divided by 4. Compute

- the first number of the output (`norm_first`);
- the gradient of the first number of the row, if the gradient of the output is {d} at
  index {at}, counted from 0, and 0 elsewhere (`norm_dx_first`).
"""


def loss(draw):
    sizes = [draw.choice([1, 2, 3, 4, 5]) for _ in range(4)]
    right, smoothing = draw.choice([1, 2, 3]), draw.choice([0.1, 0.2, 0.4])
    told = ", ".join(f"log {s}" for s in sizes)
    return "The loss of one word", "training", [*sizes, right, smoothing], f"""
A vocabulary has four words. Their logits are {told}, and word {right}, counted from 0,
is the right one. Compute

- the loss without label smoothing (`loss_plain`);
- the loss with label smoothing {smoothing}, which is spread evenly over all four words
  (`loss_smoothed`);
- the gradient of the right word's logit, with this smoothing (`loss_dlogit`).
"""


def training(draw):
    D, w = draw.choice([16, 64, 256]), draw.choice([100, 400, 900])
    early, late = w // draw.choice([2, 4, 5]), w * draw.choice([4, 9])
    a, b, whole = draw.choice([(3, 4, 5), (6, 8, 10), (5, 12, 13)])
    clip = draw.choice([1, 2])
    sign = draw.choice([1, -1])
    return "A step", "training", [D, w, early, late, sign * a, b, clip], f"""
A model with D = {D} is trained with a warm-up of {w} steps and the schedule of "Attention Is
All You Need". Compute

- the learning rate in step {early} (`training_rate_early`) and in step {late}
  (`training_rate_late`).

Another model has two parameters, both 0, whose first gradient is ({sign * a}, {b}). It is
clipped to a norm of {clip}. Then Adam makes its first step, with β₁ = 0.9, β₂ = 0.98, a
negligible ε, and a rate of 0.01. Compute

- the first number of the clipped gradient (`training_clipped`);
- the second moment v of the second parameter after this step, before its bias is corrected
  (`training_moment`);
- the first parameter after this step (`training_step`).
"""


QUESTIONS = [count, attention, norm, loss, training]
SIX = {"training_rate_early", "training_rate_late", "training_moment", "training_step"}


def tolerance(name):
    """What the paper says: counts exactly, some to six decimals, the others to four."""
    return 0 if name.startswith("count_") else 0.000005 if name in SIX else 0.001


def answers(name, numbers):
    """[(name, value)], computed by exam.c."""
    program = tool.program_of(tool.reference(), tool.EXAM, "-Og",
                              f'-DSOURCE="{tool.REFERENCE}"')
    done = subprocess.run([str(program), name, *map(str, numbers)],
                          stdout=subprocess.PIPE, text=True, check=True)
    return [line.split(" = ") for line in done.stdout.splitlines()]


def number_page(question, draw):
    """Name, head and text of a page with numbers."""
    title, chapter, numbers, text = question(draw)
    found = answers(question.__name__, numbers)
    head = {"chapter": chapter, "points": NUMBER_POINTS, "kind": "number",
            "answers": "; ".join(f"{name} = {value} ± {tolerance(name)}"
                                 for name, value in found)}
    return question.__name__, head, title, text


# ---------------------------------------------------------------- bugs

def one_line():
    """Of the exercises' mistakes, those that change one line, by region: (mistake, right,
    wrong); not those that the exercises with bugs have."""
    exercises, found, ours = tool.load_exercises(), {}, tool.reference_regions()
    known = {e.right for e in exercises if e.kind == "bug"}
    for m in (m for e in exercises if e.kind == "write"
              for m in tool.load_mistakes(e, ours[e.name].body)):
        body = ours[m.region].body
        m.body = [re.sub("^ *", re.match(" *", a)[0], b)  # indented as the right one
                  for a, b in itertools.zip_longest(body, m.body, fillvalue="") if a or b]
        pairs = [(a.strip(), b.strip()) for a, b in zip(body, m.body) if a != b]
        if m.kind == "=" and len(pairs) == 1 and pairs[0][0] not in known and len(body) \
                == len([line for line in m.body if line.strip()]):
            found.setdefault(m.region, []).append((m, *pairs[0]))
    return found


def refused(made, mistake):
    """What the grader says of a mistake, without naming it, if it is wrong numbers and no
    more than that, else None."""
    region = tool.source_file.Region(tool.reference_regions()[mistake.region].start,
                                     mistake.body)
    page = tool.source_file.Page(mistake.region, 0, {"kind": "bug"}, "", "", [], "")
    result = tool.grade_body(page, region, PROGRAM_FILE, made)
    said = f"{result.word}\n{result.detail}".strip()
    guess = re.search("compiler|instead of|in the place of", said)
    if result.state != "wrong" or guess:
        return None
    more = warnings(program({mistake.region: mistake.body})) > warnings(program({}))
    return None if more else said


@functools.lru_cache(maxsize=None)
def warnings(text):
    """How often a compiler warns of a program."""
    done = subprocess.run([*tool.compiler(), "-Wall", "-Wextra", "-fsyntax-only", "-xc", "-"],
                          input=text, capture_output=True, text=True)
    return done.stderr.count("warning:")


def program(bodies):
    """transformer.c up to its last region's chapter, with these bodies {region: lines}:
    neither comments nor a main, so that it tells and computes no answer."""
    text = tool.source_file.with_bodies(tool.read_text(tool.REFERENCE), bodies)
    end = next(c.start for c in tool.source_file.chapters(text, "transformer.c")
               if c.name == "looking") - 1
    lines = list(zip(text.split("\n")[:end], tool.code_of(text, True).split("\n")))
    marked = [raw if re.match(" *//@ (exercise|end)", raw) else code.rstrip()
              for raw, code in lines]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(marked)).strip("\n") + "\n"


BUG = """
One line, perhaps a part of a statement, is wrong in `{function}`, below. The check `{region}` passes with the right line;
with this one it says:

```
{said}
```

Find the line, and put it right in `{file}`.

``` c
{text}
```
"""


def bug_pages(made, draw):
    """Bugs in different functions, each with what the grader says of it."""
    found, ours = one_line(), tool.reference_regions()
    lines = tool.read_text(tool.REFERENCE).split("\n")
    pages, regions = [], sorted(found)
    draw.shuffle(regions)
    for region in regions:
        mistake, right, wrong = draw.choice(found[region])
        said = refused(made, mistake)
        if said is None:
            continue
        first, end = tool.around(lines, ours[region])
        function = re.search(r"(\w+)\(", lines[first])[1]
        inside = [*lines[first:ours[region].start - 1], *mistake.body,
                  *lines[ours[region].end:end]]
        head = {"points": BUG_POINTS, "kind": "write", "function": function,
                "right": right, "wrong": wrong}
        text = tool.code_of("\n".join(inside), True)
        pages.append((region, head, "A bug", BUG.format(
            file=PROGRAM_FILE, region=region, said=said, function=function,
            text="\n".join(line.rstrip() for line in text.split("\n") if line.strip())),
            mistake))
        if len(pages) == BUGS:
            return pages
    raise Trouble("the exercises have too few mistakes of one line")


# ---------------------------------------------------------------- writing

def write_pages(folder, pages):
    tool.write_text(folder / "order.txt", "".join(
        f"{name}\n" for name, head, *_ in pages if head["kind"] == "number"))
    for name, head, title, text, *_ in pages:
        lines = "".join(f"{key}: {value}\n" for key, value in head.items())
        tool.write_text(folder / "pages" / f"{name}.md",
                        f"{lines}----\n# {title}\n{text}")


PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>
body {{ max-width: 46em; margin: 2em auto; padding: 0 1em; font: 15px/1.5 sans-serif; }}
pre {{ white-space: pre-wrap; line-height: 1.3; padding: 0.5em; border: 1px solid #888; }}
section section, pre {{ break-inside: avoid; }}
h2 {{ break-after: avoid; }}
</style>
</head>
<body>
<main>
{body}</main>
</body>
</html>
"""


def to_html(text, title, to):
    done = subprocess.run(["pandoc", "-f", "markdown-smart", "--section-divs", "-t", "html5",
                           "--no-highlight"], input=text, text=True, check=True,
                          stdout=subprocess.PIPE)
    tool.write_text(to, PAGE.format(title=title, body=done.stdout))


PAPER = """# Examination {seed}, part 1

Time: 45 minutes. Points: {points}. Allowed: a calculator. Not allowed: a computer, the book.

Write each number on this page, beside its name: counts exactly, the learning rates and the
last two numbers to six decimals, all others to four. The points of a question are given if all
its numbers are right. `log` is the natural logarithm. Part 2 is handed out when this part has
been collected.
"""
MACHINE = """# Examination {seed}, part 2

Time: 45 minutes. Points: {points}. Allowed: a computer with a compiler. Not allowed: the book,
which shows every line.

`program.c` is a part of `transformer.c`, without its comments: `cc -c program.c` says whether
it compiles. Three of its lines are wrong, one in each of the functions below. Leave the lines
with `//@` as they are (below, they are left out). Hand in `program.c`.
"""


KEY = """# Key of examination {seed}

Type the numbers of each paper into a copy of `answers.txt`, beside that student's `program.c`.
Give one room one seed: `diff` shows the bugs of two.
"""


def paper(about, seed, exercises):
    out = [about.format(seed=seed, points=sum(e.worth for e in exercises))]
    out += [f"## {e.number}. {e.title} ({e.worth} points)\n\n{e.text}" for e in exercises]
    return "\n\n".join(out)


def key(seed, exercises, said):
    out = [KEY.format(seed=seed)]
    for e in exercises:
        out.append(f"## {e.number}. {e.title} ({e.worth} points)")
        if e.kind == "number":
            out.append("\n".join(f"- `{name}` = {value:.9g}" + (
                f", to {tolerance:g}" if tolerance else ", exactly")
                for name, (value, tolerance) in tool.wanted_answers(e).items()))
        else:
            out.append(f"In `{e.function}`: {said[e.name].say}.\n\n``` diff\n- {e.wrong}\n"
                       f"+ {e.right}\n```")
    return "\n\n".join(out)


def write_folders(folder, exercises, bugs):
    """What the class gets, and the same with full marks."""
    lines, right = [], []
    for e in exercises:
        if e.kind == "number":
            wanted = tool.wanted_answers(e)
            lines += [f"# {e.number}. {e.title}", *(f"{name} =" for name in wanted), ""]
            right += [f"{name} = {value:.9g}" for name, (value, _) in wanted.items()]
    tool.write_text(folder / "answers.txt", "\n".join(lines) + "\n")
    tool.write_text(folder / "key" / "answers.txt", "\n".join(right) + "\n")
    for name, bodies in (("class", {n: bugs[n].body for n in bugs}), ("key", {})):
        tool.write_text(folder / name / PROGRAM_FILE, program(bodies))


def exam_of(folder):
    """Its exercises; from then on they are those of the tool."""
    found = sorted(tool.source_file.pages(folder, tool.read_text,
                                          tool.read_text(tool.REFERENCE)),
                   key=lambda e: e.kind == "write")  # the paper is the first part
    for number, e in enumerate(found, 1):
        e.number = number
    tool.load_exercises = lambda: found
    return found


def write(seed):
    folder = FOLDER / str(seed)
    shutil.rmtree(folder, ignore_errors=True)
    draw = random.Random(seed)
    pages = [number_page(question, draw) for question in QUESTIONS]
    pages += bug_pages(tool.reference(), draw)
    write_pages(folder, pages)
    exercises, bugs = exam_of(folder), {page[0]: page[4] for page in pages[len(QUESTIONS):]}
    write_folders(folder, exercises, bugs)
    parts = [[e for e in exercises if e.kind == kind] for kind in ("number", "write")]
    to_html(paper(PAPER, seed, parts[0]), f"Examination {seed}, part 1",
            folder / "paper.html")
    to_html(paper(MACHINE, seed, parts[1]), f"Examination {seed}, part 2",
            folder / "machine.html")
    to_html(key(seed, exercises, bugs), f"Key of examination {seed}", folder / "key.html")
    print(f"{tool.shown(folder)}: paper.html, then machine.html with class/ for the class, "
          "key.html and answers.txt for you")
    return 0


def grade(seed, submission):
    folder = FOLDER / str(seed)
    if not (folder / "pages").is_dir():
        raise Trouble(f"there is no examination {seed}: make exam SEED={seed}")
    if not Path(submission).is_dir():
        raise Trouble(f"there is no folder {submission}")
    exam_of(folder)
    return tool.main(["grade", f"FOLDER={submission}"])


def main(arguments):
    if not arguments or not arguments[0].isdigit() or len(arguments) > 2:
        sys.stderr.write("exam.py: which? make exam SEED=7\n")
        return 2
    try:
        seed = int(arguments[0])
        return grade(seed, arguments[1]) if arguments[1:] else write(seed)
    except tool.Broken as trouble:
        sys.stderr.write(f"error: {trouble}\n")
        return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

#!/usr/bin/env python3
"""Examinations: variants of the exercises with numbers and with bugs, which a class has
not seen, and their key.

    python3 docs/exercises/exam.py SEED           writes build/exam/SEED
    python3 docs/exercises/exam.py SEED FOLDER    grades what is in the folder

`make exam SEED=7` and `make exam SEED=7 DIR=FOLDER` do it. The same seed gives the same
examination. What is written:

    paper.html      what the class gets, with
    class/          answers.txt to fill in, and the files that have a bug
    key.html        what is right, and what is wrong in each file
    key/            the folder of somebody who has full marks
    pages/          the examination as exercises; the grader reads them

The numbers are computed by the program's own functions (exam.c). The bugs are taken from
the exercises' mistakes: those that change one line, and that the grader refuses. It is tool.py that
grades. Needs pandoc.
"""

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
PROGRAM = FOLDER / "exam"
BUGS, BUG_POINTS, NUMBER_POINTS = 3, 20, 8


# ---------------------------------------------------------------- numbers

def count(draw):
    K, H, L, V = draw.choice([8, 16, 32]), draw.choice([2, 4, 8]), \
        draw.choice([2, 3, 4, 6]), draw.choice([500, 800, 1200, 2000])
    D, F = K * H, draw.choice([2, 4]) * K * H
    return "Where the parameters are", "decoder", [L, D, H, F, V], 0, f"""
A transformer has L = {L} layers in the encoder and as many in the decoder, D = {D},
H = {H}, F = {F}, and V = {V:,} words on either side. Every linear layer has biases, each
norm has gains and biases, the norms stand behind the sub-layers (post-norm, without a last
norm), positions are sines and cosines, and no matrix is shared. How many parameters has
it

- in all attentions, those of the encoder and both kinds of the decoder
  (`count_attention`);
- in all norms (`count_norms`);
- in all (`count_total`)?
"""


def attention(draw):
    scores = draw.sample([0, 1, 2, 3], 3)
    values = draw.sample(range(1, 10), 3)
    d = draw.choice([2, 4, 8])
    told = ", ".join({0: "0", 1: "log 2"}.get(s, f"{s} log 2") for s in scores)
    return "One query", "attention", [*scores, *values, d], 0.001, f"""
A query and three keys have the scaled scores {told}. The values have one
number each: {values[0]}, {values[1]} and {values[2]}. Compute

- the weight of the first key (`attention_weight`);
- the result (`attention_out`);
- the gradient of the first scaled score, if the gradient of the result is {d}
  (`attention_dscore`).
"""


def norm(draw):
    x = draw.sample(range(0, 13), 4)
    at, d = draw.randrange(4), draw.choice([1, 2, 3])
    return "A norm", "residual", [*x, at, d], 0.001, f"""
Layer normalization is given the row ({', '.join(map(str, x))}). All gains are 1, all biases are
0, and ε is too small to matter. Compute

- the first number of what comes out (`norm_first`);
- the gradient of the first number of the row, if the gradient of what comes out is {d} at
  place {at}, counted from 0, and 0 elsewhere (`norm_dx_first`).
"""


def loss(draw):
    sizes = [draw.choice([1, 2, 3, 4, 5]) for _ in range(4)]
    right, smoothing = draw.choice([1, 2, 3]), draw.choice([0.1, 0.2, 0.4])
    told = ", ".join(f"log {s}" for s in sizes)
    return "The loss of one word", "training", [*sizes, right, smoothing], 0.001, f"""
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
    return "A step", "training", [D, w, early, late, sign * a, b, clip], 0.000005, f"""
A model with D = {D} is trained with a warm-up of {w} steps, and the paper's schedule.
Compute, to six decimals,

- the learning rate in step {early} (`training_rate_early`) and in step {late}
  (`training_rate_late`).

Another model has two parameters, both 0, whose first gradient is ({sign * a}, {b}). It is
clipped to a norm of {clip}. Then Adam makes its first step, with β₁ = 0.9, β₂ = 0.98, a
negligible ε, and the rate 0.01. Compute

- the first number of the clipped gradient (`training_clipped`);
- the second moment v of the second parameter after this step (`training_moment`);
- the first parameter after this step (`training_step`).
"""


QUESTIONS = [count, attention, norm, loss, training]


def answers(name, numbers):
    """[(name, value)], computed by exam.c."""
    done = subprocess.run([str(PROGRAM), name, *map(str, numbers)],
                          stdout=subprocess.PIPE, text=True, check=True)
    return [line.split(" = ") for line in done.stdout.splitlines()]


def number_page(question, draw):
    """Name, head and text of a page with numbers."""
    title, chapter, numbers, tolerance, text = question(draw)
    found = answers(question.__name__, numbers)
    head = {"chapter": chapter, "points": NUMBER_POINTS, "kind": "number",
            "answers": "; ".join(f"{name} = {value} ± {tolerance}"
                                 for name, value in found)}
    return question.__name__, head, title, text


# ---------------------------------------------------------------- bugs

def function_of(lines, region):
    """The name of the function in which a region stands."""
    heads = [line for line in lines[:region.start] if re.match(r"[A-Za-z].*\w\(", line)]
    return re.search(r"(\w+)\(", heads[-1])[1]


def one_line():
    """Of the exercises' mistakes, those that change one line: (region, function, right, wrong,
    what is said of it), by region; not those that the exercises have."""
    lines = tool.read_text(tool.REFERENCE).split("\n")
    known = {e.right for e in tool.load_exercises() if e.kind == "bug"}
    found, ours = {}, tool.reference_regions()
    for m in (m for e in tool.load_exercises() if e.kind == "write"
              for m in tool.load_mistakes(e, ours[e.name].body)):
        region = ours[m.region]
        pairs = [(a.strip(), b.strip()) for a, b in zip(region.body, m.body) if a != b]
        if m.kind != "=" or len(pairs) != 1 or len(region.body) != len(
                [line for line in m.body if line.strip()]) or pairs[0][0] in known:
            continue
        found.setdefault(m.region, []).append(
            (m.region, function_of(lines, region), *pairs[0], m.say))
    return found


def chapter_of(region):
    """The name of the chapter in which a region stands."""
    line = tool.reference_regions()[region].start
    return [c for c in tool.source_file.chapters(tool.read_text(tool.REFERENCE), "it")
            if c.start < line][-1].name


def as_exercise(region, function, right, wrong, number):
    """The page of a bug, as tool.py has it."""
    head = {"chapter": chapter_of(region), "points": str(BUG_POINTS), "kind": "bug",
            "function": function, "right": right, "wrong": wrong, "checks": region,
            "diagnosis": region}
    return tool.source_file.Page(f"bug_{number}", number, head, f"Bug {number}", "", [], "")


def refused(made, exercise):
    """What the grader says of the file with this bug, if it is wrong numbers and no
    more than that, else None."""
    try:
        text = tool.plant_bug(exercise)
    except Trouble:  # the line stands twice in the function
        return None
    result = tool.grade_source(exercise, f'#line 1 "bug.c"\n{text}', "bug.c",
                               [exercise.checks], made)
    clean = result.state == "wrong" and "compiler" not in result.detail
    return clean and f"{result.word}\n{result.detail}".strip() or None


BUG = """
The file `{file}` is `transformer.c` with one wrong line, in the function below. The check
`{region}` passes with the right line; with this one it says:

```
{said}
```

Find the line, put it right in the file, and say in a comment beside it what it is for.

``` c
{function}
```
"""


def function_text(text, name):
    """A function of a file, as it is printed."""
    lines = text.split("\n")
    first = next(i for i, line in enumerate(lines)
                 if re.match(rf"[A-Za-z].*\b{name}\(.*[^;]$", line))
    return "\n".join(lines[first:lines.index("}", first) + 1])


def bug_pages(made, draw):
    """Bugs in different functions, each with what the grader says of it."""
    found = one_line()
    pages, regions = [], sorted(found)
    draw.shuffle(regions)
    for region in regions:
        mistake = draw.choice(found[region])
        bug = as_exercise(*mistake[:4], len(pages) + 1)
        said = refused(made, bug)
        if said is None:
            continue
        head = {key: bug.header[key] for key in
                ("chapter", "points", "kind", "function", "right", "wrong", "checks",
                 "diagnosis")}
        pages.append((bug.name, head, bug.title, BUG.format(
            file=f"bugs/{bug.slug}.c", region=region, said=said,
            function=function_text(tool.plant_bug(bug), bug.function)), mistake[4]))
        if len(pages) == BUGS:
            return pages
    raise Trouble("the exercises have too few mistakes of one line")


# ---------------------------------------------------------------- writing

def compile_answers():
    FOLDER.mkdir(parents=True, exist_ok=True)
    subprocess.run([*tool.compiler(), "-std=c11", "-O1", "-DTRANSFORMER_DOUBLE",
                    str(HERE / "exam.c"), "-o", str(PROGRAM), "-lm"], check=True)


def write_pages(folder, pages):
    tool.write_text(folder / "order.txt", "".join(f"{page[0]}\n" for page in pages))
    for name, head, title, text, *_ in pages:
        lines = "".join(f"{key}: {value}\n" for key, value in head.items())
        tool.write_text(folder / "pages" / f"{name}.md",
                        f"{lines}----\n# {title}\n{text}")


def to_html(text, title, to):
    variables = ["lang=en", "fontsize=15px",  # 80 columns have room
                 "header-includes=<style>body { max-width: 46em; }</style>"]
    subprocess.run(["pandoc", "-f", "markdown-smart", "-s", "--metadata",
                    f"pagetitle={title}", "-o", str(to),
                    *(word for v in variables for word in ("-V", v))],
                   input=text, text=True, check=True)


ABOUT = """# Examination {seed}

Time: 90 minutes. Points: {points}. Allowed: a calculator and a compiler, not the
book, which shows every line.

Write the numbers into `answers.txt`, a line each. Repair the files in `bugs/`. Hand in the
folder.
"""


def paper(seed, exercises):
    out = [ABOUT.format(seed=seed, points=sum(e.worth for e in exercises))]
    out += [f"## {e.number}. {e.title} ({e.worth} points)\n\n{e.text}" for e in exercises]
    return "\n\n".join(out)


def key(seed, exercises, said):
    out = [f"# Key of examination {seed}"]
    for e in exercises:
        out.append(f"## {e.number}. {e.title} ({e.worth} points)")
        if e.kind == "number":
            out.append("\n".join(f"- `{name}` = {value:.9g}" + (
                f", to {tolerance:g}" if tolerance else ", exactly")
                for name, (value, tolerance) in tool.wanted_answers(e).items()))
        else:
            out.append(f"In `{e.function}`: {said[e.name]}.\n\n``` diff\n- {e.wrong}\n"
                       f"+ {e.right}\n```")
    return "\n\n".join(out)


def write_folders(folder, exercises):
    """What the class gets, and the same with full marks."""
    lines, right = [], []
    for e in exercises:
        if e.kind == "number":
            wanted = tool.wanted_answers(e)
            lines += [f"# {e.number}. {e.title}", *(f"{name} =" for name in wanted), ""]
            right += [f"{name} = {value:.9g}" for name, (value, _) in wanted.items()]
        else:
            tool.write_text(folder / "class" / "bugs" / f"{e.slug}.c", tool.plant_bug(e))
            unmarked = tool.plant_bug(tool.source_file.Page(
                e.name, e.number, {**e.header, "wrong": e.right}, e.title, "", [], ""))
            tool.write_text(folder / "key" / "bugs" / f"{e.slug}.c", unmarked)
    tool.write_text(folder / "class" / "answers.txt", "\n".join(lines))
    tool.write_text(folder / "key" / "answers.txt", "\n".join(right) + "\n")


def exam_of(folder):
    """Its exercises; from then on they are those of the tool."""
    tool.load_exercises = lambda: tool.source_file.pages(
        folder, tool.read_text, tool.read_text(tool.REFERENCE))
    return tool.load_exercises()


def write(seed):
    folder = FOLDER / str(seed)
    shutil.rmtree(folder, ignore_errors=True)
    compile_answers()
    draw = random.Random(seed)
    pages = [number_page(question, draw) for question in QUESTIONS]
    pages += bug_pages(tool.reference(), draw)
    write_pages(folder, pages)
    exercises = exam_of(folder)
    write_folders(folder, exercises)
    said = {page[0]: page[4] for page in pages if len(page) == 5}
    to_html(paper(seed, exercises), f"Examination {seed}", folder / "paper.html")
    to_html(key(seed, exercises, said), f"Key of examination {seed}",
            folder / "key.html")
    print(f"{tool.shown(folder)}: paper.html and class/ for the class, key.html for you")
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

#!/usr/bin/env python3
"""Tests examinations, of three seeds or of those that are given: their keys are right by
the grader, and nothing else is.

    python3 docs/exercises/test-exam.py [SEED...]

The last line is "N passed, N failed".
"""

import contextlib
import hashlib
import io
import re
import shutil
import sys

import exam
import tool
from claims import claim, end

SEEDS = [int(seed) for seed in sys.argv[1:]] or [1, 2, 3]


def quiet(work, *arguments):
    """The status and what is printed."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        status = work(*arguments)
    return status, said.getvalue()


def digests(folder):
    return {path.relative_to(folder): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(folder.rglob("*")) if path.is_file()
            and path.name != ".hints"}


def wrong_answers(folder, wanted):
    """The key, but each number is off by a little more than is allowed."""
    text = "".join(f"{name} = {value + 1.01 * (tolerance or 1):.12g}\n"
                   for name, (value, tolerance) in wanted.items())
    (folder / "answers.txt").write_text(text)


def one(seed, load):
    tool.load_exercises = load
    status, said = quiet(exam.main, [str(seed)])
    folder = exam.FOLDER / str(seed)
    claim(status == 0, f"examination {seed} is written", said)
    first = digests(folder)
    status, said = quiet(exam.main, [str(seed), str(folder / "key")])
    claim(status == 0 and said.endswith("score: 100/100\n") and said.count("ok ") == 8,
          "its key has full marks", said)
    status, said = quiet(exam.main, [str(seed), str(folder / "class")])
    claim(status == 1 and said.endswith("score: 0/100\n"),
          "what the class is given has none", said)
    wanted = {name: value for e in exam.exam_of(folder) if e.kind == "number"
              for name, value in tool.wanted_answers(e).items()}
    spoiled = exam.FOLDER / "spoiled"
    shutil.rmtree(spoiled, ignore_errors=True)
    shutil.copytree(folder / "key", spoiled)
    wrong_answers(spoiled, wanted)
    status, said = quiet(exam.main, [str(seed), str(spoiled)])
    claim(status == 1 and said.endswith(f"score: {3 * exam.BUG_POINTS}/100\n"),
          f"none of its {len(wanted)} numbers may be off by more than is allowed", said)
    (spoiled / "answers.txt").unlink()
    (spoiled / "answers.txt").symlink_to(folder / "key" / "answers.txt")
    status, said = quiet(exam.main, [str(seed), str(spoiled)])
    claim(status == 1 and said.endswith(f"score: {3 * exam.BUG_POINTS}/100\n")
          and "links are not followed" in said, "a link to the key gets nothing", said)
    paper = (folder / "paper.html").read_text(encoding="utf-8")
    claim(all(f"{value:.9g}" not in paper for value, tolerance in wanted.values()
              if tolerance and value != round(value, 1)),
          "the paper does not have them")
    given = "".join(path.read_text(encoding="utf-8")
                    for path in (folder / "class" / "bugs").iterdir())
    claim("//@ exercise" not in given and "//@ end" not in given,
          "no mark in the files shows where a bug is")
    functions = re.findall("(?m)^function: (.*)$", "".join(
        path.read_text() for path in (folder / "pages").iterdir()))
    claim(len(set(functions)) == exam.BUGS, "its bugs are in different functions", functions)
    if seed == SEEDS[0]:
        tool.load_exercises = load
        quiet(exam.main, [str(seed)])
        claim(digests(folder) == first, "the same seed writes the same bytes")
    return first, functions


def main():
    load = tool.load_exercises
    made = [one(seed, load) for seed in SEEDS]
    files = ["paper.html", "key/answers.txt"]
    claim(all(len({str(first[exam.Path(name)]) for first, _ in made}) == len(SEEDS)
              for name in files), "other seeds ask other numbers")
    claim(len({tuple(functions) for _, functions in made}) == len(SEEDS),
          "and have other bugs", [functions for _, functions in made])
    tool.load_exercises = load
    found = exam.one_line()
    known = {e.wrong for e in load() if e.kind == "bug"}
    bugs = [bug for several in found.values() for bug in several]
    claim(len(bugs) > 100 and not known & {bug[3] for bug in bugs},
          f"{len(bugs)} bugs to choose from, in {len(found)} functions, none of which is "
          "an exercise", len(bugs))
    for wrong in ([], ["x"], ["99999", "."], ["1", "no/folder"]):
        status, said = quiet(exam.main, wrong)
        claim(status == 2 and said.count("\n") == 1, f"exam.py {' '.join(wrong)}: refused "
              "in one line", said)
    end()


if __name__ == "__main__":
    main()

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
import subprocess
import sys

import exam
import tool
sys.path.append(str(tool.ROOT / "tests" / "lib"))
from harness import claim, end

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


def one_is_fixed(folder, to):
    """The class's program with the first of its wrong lines put right."""
    given, right = ((folder / name / exam.PROGRAM_FILE).read_text().split("\n")
                    for name in ("class", "key"))
    k = next(k for k, pair in enumerate(zip(given, right)) if len(set(pair)) > 1)
    (to / exam.PROGRAM_FILE).write_text("\n".join([*given[:k], right[k], *given[k + 1:]]))


def about_the_program(folder, work):
    files = [path for path in (folder / "class").rglob("*.c")]
    text = files[0].read_text()
    claim(len(files) == 1, "the bugs are in one file: no majority of files is right")
    markers = [line for line in text.split("\n") if "//" in line or "/*" in line]
    claim(all(re.fullmatch(" *//@ (exercise \\w+|end)", line) for line in markers)
          and len(markers) == 2 * len(tool.reference_regions()),
          "it has no comment, and all regions are marked", markers[:9])
    done = [subprocess.run(["cc", "-std=c11", *more, str(files[0]), "-o", str(work / "b"), "-lm"],
                           capture_output=True, text=True) for more in (["-c"], [])]
    claim(done[0].returncode == 0 and done[1].returncode and "main" in done[1].stderr
          and "component" not in text, "it compiles; it has no main, and counts no parameters",
          done[0].stderr + done[1].stderr)


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
    claim(status == 1 and said.endswith("score: 0/100\n")
          and [path.name for path in (folder / "class").iterdir()] == [exam.PROGRAM_FILE],
          "what the class is given has none, and no place for the paper's numbers", said)
    exercises = exam.exam_of(folder)
    wanted = {name: value for e in exercises if e.kind == "number"
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
    one_is_fixed(folder, spoiled)
    status, said = quiet(exam.main, [str(seed), str(spoiled)])
    claim(status == 1 and said.endswith(f"score: {exam.BUG_POINTS}/100\n")
          and "links are not followed" in said,
          "a link to the key gets nothing, and one line put right the points of one bug", said)
    (spoiled / exam.PROGRAM_FILE).unlink()
    (spoiled / "answers.txt").unlink()
    shutil.copy(folder / "key" / "answers.txt", spoiled)
    status, said = quiet(exam.main, [str(seed), str(spoiled)])
    claim(status == 1 and said.endswith("score: 40/100\n") and "there is no " in said,
          "without the program the numbers count all the same", said)
    pages = [(folder / f"{name}.html").read_text(encoding="utf-8")
             for name in ("paper", "machine")]
    claim(not any(f"{value:.9g}" in page for page in pages
                  for value, tolerance in wanted.values()
                  if tolerance and value != round(value, 1)), "the pages do not have them")
    about_the_program(folder, spoiled)
    functions = [e.function for e in exercises if e.kind == "write"]
    claim(len(set(functions)) == exam.BUGS, "its bugs are in different functions", functions)
    if seed == SEEDS[0]:
        tool.load_exercises = load
        quiet(exam.main, [str(seed)])
        claim(digests(folder) == first, "the same seed writes the same bytes")
    return first, functions


def main():
    load = tool.load_exercises
    made = [one(seed, load) for seed in SEEDS]
    files = ["paper.html", "machine.html", "key/answers.txt"]
    claim(all(len({str(first[exam.Path(name)]) for first, _ in made}) == len(SEEDS)
              for name in files), "other seeds ask other numbers")
    claim(len({tuple(functions) for _, functions in made}) == len(SEEDS),
          "and have other bugs", [functions for _, functions in made])
    tool.load_exercises = load
    found = exam.one_line()
    known = {e.wrong for e in load() if e.kind == "bug"}
    bugs = [bug for several in found.values() for bug in several]
    claim(len(bugs) > 100 and not known & {wrong for _, _, wrong in bugs},
          f"{len(bugs)} bugs to choose from, in {len(found)} regions, none of which is "
          "an exercise", len(bugs))
    for wrong in ([], ["x"], ["99999", "."], ["1", "no/folder"]):
        status, said = quiet(exam.main, wrong)
        claim(status == 2 and said.count("\n") == 1, f"exam.py {' '.join(wrong)}: refused "
              "in one line", said)
    end()


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Computes what wrong bodies of the regions give, so that the grader can name them by
their numbers, and writes it into wrong_bodies.txt as digests.

    python3 docs/exercises/grader/run_wrong_bodies.py                  all: about a minute
    python3 docs/exercises/grader/run_wrong_bodies.py NAME ...         only these
    python3 docs/exercises/grader/run_wrong_bodies.py transformer.c    only its digest

To be run whenever a region, its check or its mistakes have changed, and for the digest
whenever transformer.c's code has; the test says so. wrong_bodies.txt has a line for each
exercise: its name, a digest of all its wrong bodies, and "NUMBER:FIRST:ALL" for each that is
not right: FIRST is a digest of the cases up to its first wrong one, ALL of all cases. Of
bodies with the same results only the first stands there.
"""

import os
import re
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import compiling
from comparing import read_results
from compiling import BUILD
from cutting import around, load_exercises
from files import GRADER, REFERENCE, ROOT, Trouble, read_text, write_file
from source_file import Broken, regions
from wrong_bodies import (KNOWN, agreement, digest_of, digest_of_code, key_of, read_known,
                          right_results, wrong_bodies)

sys.path.append(str(ROOT / "tests" / "lib"))
from command import run

FLAGS = ["-std=c11", "-O0", "-fno-diagnostics-show-caret", "-ffp-contract=off",
         "-Werror=int-conversion",
         "-Werror=incompatible-pointer-types", "-Werror=implicit-function-declaration",
         "-Werror=return-type"]

MISTAKE = """static int mistake;
__attribute__((constructor)) static void read_mistake(void) {
    mistake = atoi(getenv("MISTAKE"));
}"""


def with_bodies(text, region, bodies):
    """The reference with a function for each of {number: body}, after that of the
    region; `mistake` says which of them is called from there on."""
    lines = text.split("\n")
    first, end = around(lines, region)
    name = re.search(r"(\w+)\(", lines[first])[1]
    copies, chosen = [MISTAKE], []
    for k, body in bodies.items():
        copy = lines[first:region.start] + ["{", *body, "}"] + lines[region.end:end]
        copy[0] = copy[0].replace(f"{name}(", f"{name}_{k}(", 1)
        copies += [f'#line 1 "body-{k}"', *copy]
        chosen.append(f"mistake == {k} ? {name}_{k} :")
    return "\n".join(lines[:end] + copies + ['#line 1 "rest"',
                     f"#define {name}(...) ({' '.join(chosen)} {name})(__VA_ARGS__)"]
                     + lines[end:])


def with_errors(said):
    """The numbers of the bodies in which a compiler has found errors, its own or those of
    macros in them."""
    wrong, k = set(), None
    for line in said.splitlines():
        inside = re.match(r"body-(\d+):", line)
        k = int(inside[1]) if inside else k
        if ": error: " in line:
            wrong.add(k)
    return wrong


def compiled(made, name, bodies, folder):
    """Compiles the program with those of {number: body} that compile; returns these bodies."""
    text = read_text(made / "transformer.c")
    region = regions(text, "transformer.c")[name]
    bodies = dict(bodies)
    while bodies:
        write_file(folder / "source.c", with_bodies(text, region, bodies))
        status, said, _ = run(
            *compiling.compiler(), *FLAGS, f"-DCHECK={name}", "-I", made,
            f'-DSOURCE="{folder / "source.c"}"', GRADER / "grade.c",
            "-o", folder / "program", "-lm", allowed=(), together=True, cwd=folder)
        wrong = with_errors(said)
        if not status:
            return bodies
        if not wrong & {*bodies}:
            raise Trouble(f"the mistakes of {name} do not compile:\n{said[-2000:]}")
        bodies = {k: body for k, body in bodies.items() if k not in wrong}
    return bodies


def results(made, name, bodies, folder):
    """{number: (exit status, what it has written)} of those of the bodies that compile."""
    found, path = {}, folder / "written"
    for k in compiled(made, name, bodies, folder):
        path.write_text("")
        ended = compiling.run(["env", f"MISTAKE={k}", folder / "program", name, path], 2,
                              folder=folder, given="\n")
        found[k] = ended.status, path.read_text(errors="replace")
    return found


def of_exercise(made, exercise):
    """The line of wrong_bodies.txt for an exercise."""
    bodies = wrong_bodies(exercise, read_text(made / "transformer.c"))
    numbered = [(k, wrong.body) for k, wrong in enumerate(bodies)]
    with tempfile.TemporaryDirectory(dir=BUILD, prefix="known-") as folder:
        folder = Path(folder)
        found = results(made, exercise.name, numbered, folder)
    right = right_results(made, exercise.name)
    seen, entries = {digest_of(right)}, []
    for k, (status, written) in sorted(found.items()):
        cases, _ = read_results(written)
        first = agreement(cases, right)
        whole = digest_of(cases)
        if status in (0, 1) and whole not in seen and first < len(cases) \
                and cases[first].results \
                and digest_of(cases[:first + 1]) != digest_of(right[:first + 1]):
            seen.add(whole)
            entries.append(":".join([str(k), digest_of(cases[:first + 1]), whole]))
    return " ".join([exercise.name, key_of(bodies), *entries])


def main(names):
    made = compiling.reference()
    exercises = [e for e in load_exercises() if e.kind == "write"]
    lines = read_known()
    chosen = [e for e in exercises if not names or e.name in names]
    with ThreadPoolExecutor(os.cpu_count()) as jobs:
        for e, line in zip(chosen, jobs.map(lambda e: of_exercise(made, e), chosen)):
            lines[e.name] = line.split(" ")
            print(f"{e.name}: {len(lines[e.name]) - 2} wrong results", flush=True)
    for path in [REFERENCE] if names else [REFERENCE, GRADER / "grade.c"]:
        lines[path.name] = [path.name, digest_of_code(read_text(path))]
    order = ["transformer.c", "grade.c", *(e.name for e in exercises)]
    KNOWN.write_text("".join(" ".join(lines[n]) + "\n" for n in order if n in lines), "utf-8")


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except Broken as trouble:
        sys.exit(f"error: {trouble}")

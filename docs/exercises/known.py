#!/usr/bin/env python3
"""Computes what wrong bodies of the regions give, so that the grader can name them by
their numbers, and writes it into known.txt as digests.

    python3 docs/exercises/known.py                  all: about a minute
    python3 docs/exercises/known.py NAME ...         only these
    python3 docs/exercises/known.py transformer.c    only its digest: a moment

To be run whenever a region, its check or its mistakes have changed, and for the digest
whenever transformer.c's code has; test.py says so. The
wrong bodies are those of pages/NAME.md, and the neighbors of the right one. Each is run on
all cases of the check. known.txt has a line for each exercise: its name, a digest of all
these bodies, and "NUMBER:FIRST:ALL" for each body that is not right: FIRST is a digest of
the cases up to its first wrong one, ALL of all cases. Of bodies with the same results only
the first stands there.
"""

import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import tool

FLAGS = ["-std=c11", "-O0", "-fno-diagnostics-show-caret", "-ffp-contract=off",
         "-Werror=int-conversion",
         "-Werror=incompatible-pointer-types", "-Werror=implicit-function-declaration",
         "-Werror=return-type"]


def with_bodies(text, region, bodies):
    """The reference with a function for each of {number: body}, behind that of the
    region; which of them is called from there on is said by `mistake`."""
    lines = text.split("\n")
    first, end = tool.around(lines, region)
    name = re.search(r"(\w+)\(", lines[first])[1]
    copies, chosen = ["extern int mistake;"], []
    for k, body in bodies.items():
        copy = lines[first:region.start] + ["{", *body, "}"] + lines[region.end:end]
        copy[0] = copy[0].replace(f"{name}(", f"{name}_{k}(", 1)
        copies += [f'#line 1 "body-{k}"', *copy]
        chosen.append(f"mistake == {k} ? {name}_{k} :")
    return "\n".join(lines[:end] + copies + ['#line 1 "rest"',
                     f"#define {name}(...) ({' '.join(chosen)} {name})(__VA_ARGS__)"]
                     + lines[end:])


def call(command, folder):
    """What a program of ours says, and its status."""
    done = subprocess.run([str(word) for word in command], cwd=str(folder),
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.stdout.decode("utf-8", "replace"), done.returncode


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
    """The program with those of the bodies {number: body} that compile, and these."""
    text = tool.read_text(made / "transformer.c")
    region = tool.regions(text, "transformer.c")[name]
    bodies = dict(bodies)
    while bodies:
        tool.write_text(folder / "source.c", with_bodies(text, region, bodies))
        said, status = call([*tool.compiler(), *FLAGS, f"-DCHECK={name}", "-I", made,
                             f'-DSOURCE="{folder / "source.c"}"', tool.HERE / "each.c",
                             "-o", folder / "each", "-lm"], folder)
        wrong = with_errors(said)
        if not status:
            return bodies
        if not wrong & {*bodies}:
            raise tool.Trouble(f"the mistakes of {name} do not compile:\n{said[-2000:]}")
        bodies = {k: body for k, body in bodies.items() if k not in wrong}
    return bodies


def results(made, name, bodies, folder):
    """{number: (exit status, that of the comparison, cases)} of those of the bodies that
    compile."""
    found = {}
    (folder / "results").mkdir()
    (folder / "token").write_text("\n")
    bodies = compiled(made, name, bodies, folder)
    said, _ = call([folder / "each", name, *bodies], folder)
    for k, status, compared in re.findall(r"^(\d+) (-?\d+) (-?\d+)$", said, re.M):
        found[int(k)] = int(status), int(compared), \
            tool.read_results(folder / "results" / k)
    return found


def of_exercise(made, exercise):
    """The line of known.txt for an exercise."""
    bodies = tool.wrong_bodies(exercise, tool.read_text(made / "transformer.c"))
    numbered = [(k, wrong.body) for k, wrong in enumerate(bodies)]
    with tempfile.TemporaryDirectory(dir=tool.BUILD, prefix="known-") as folder:
        folder = Path(folder)
        found = results(made, exercise.name, numbered, folder)
        right = tool.right_results(made, exercise.name, folder)
    seen, entries = {tool.digest_of(right)}, []
    for k, (status, _, cases) in sorted(found.items()):
        first = tool.agreement(cases, right)
        whole = tool.digest_of(cases)
        if status in (0, 1) and whole not in seen and cases and first < len(cases) \
                and tool.digest_of(cases[:first + 1]) != tool.digest_of(right[:first + 1]):
            seen.add(whole)
            entries.append(":".join([str(k), tool.digest_of(cases[:first + 1]), whole]))
    return " ".join([exercise.name, tool.key_of(bodies), *entries])


def main(names):
    made = tool.reference()
    exercises = [e for e in tool.load_exercises() if e.kind == "write"]
    lines = {name: line for name, line in tool.read_known().items()
             if name in {e.name for e in exercises}}
    chosen = [e for e in exercises if not names or e.name in names]
    with ThreadPoolExecutor(os.cpu_count()) as jobs:
        for e, line in zip(chosen, jobs.map(lambda e: of_exercise(made, e), chosen)):
            lines[e.name] = line.split(" ")
            print(f"{e.name}: {len(lines[e.name]) - 2} wrong results", flush=True)
    digest = tool.digest_of_code(tool.read_text(tool.REFERENCE))
    tool.KNOWN.write_text(f"transformer.c {digest}\n" + "".join(
        " ".join(lines[e.name]) + "\n" for e in exercises if e.name in lines),
        encoding="utf-8")


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except tool.Broken as trouble:
        sys.exit(f"error: {trouble}")

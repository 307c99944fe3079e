#!/usr/bin/env python3
"""How much of transformer.c the tests reach:

    python3 tests/coverage.py        some minutes

gcov counts how often each line is executed and each branch taken, in the test programs
and in all that the command line does, and the figures of each chapter are printed.
Left out is what tests/list calls "once". Every build is without optimization and for
any processor, so that the figures are the same everywhere; functions are not put into
others, so that each is counted once.

What none of them reaches is held against coverage.txt, where paragraphs of prose say
why the lines below them are not reached:

    line   FUNCTION | TEXT         the line is never executed
    N of M FUNCTION | TEXT         N of the M ways the line may branch are
                                   never taken

Lines are known by their function and text, not by their number. An entry that is not
needed, and a count that is not right, are failures, so the list stays true.
"""

import collections
import concurrent.futures
import gzip
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
SOURCE = (ROOT / "transformer.c").read_text("utf-8").splitlines()
WORK = ROOT / "build" / "coverage"
COMPILE = """gcc -std=c11 -O0 -g -fopenmp --coverage -Dalways_inline=noinline
    -Wno-attributes""".split()
os.environ.update(LC_ALL="C", OMP_NUM_THREADS="1", OMP_WAIT_POLICY="passive")
sys.path.append(str(ROOT / "docs" / "weaver"))

from claims import claim, end, none  # noqa: E402
from programs import listed  # noqa: E402

# gcov writes its counts when a program ends. Some tests forbid large files until
# then, and end child processes by _exit, which gcov does not see.
END = """#define _XOPEN_SOURCE 700
#include <sys/resource.h>
__attribute__((destructor)) static void allow(void)
{
    struct rlimit limit;
    getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_FSIZE, &limit);
}
"""


# ---------------------------------------------------------- running the tests

def build(name, source, *flags):
    """The program build/coverage/NAME/NAME."""
    (WORK / name).mkdir()
    subprocess.run([*COMPILE, *flags, ROOT / source, "../end.c", "-o", name, "-lm"],
                   cwd=WORK / name, check=True)
    return WORK / name / name


def passes(name, program):
    done = subprocess.run([program], cwd=ROOT, stdout=subprocess.PIPE, text=True,
                          stderr=subprocess.STDOUT, errors="replace")
    claim(re.search(r"\n[1-9]\d* passed, 0 failed\n$", done.stdout),
          f"{name} passes, built for counting",
          re.findall("^FAIL.*", done.stdout, re.M) or done.stdout[-300:])


def programs():
    double = ["-DTRANSFORMER_DOUBLE", "-DTRANSFORMER_POISON"]
    for word, flags in [("double", double), ("machine", []), ("float", [])]:
        for test in listed(word):
            passes(f"{test}, {word}", build(f"{test}-{word}", f"tests/{test}.c",
                                            "-D_exit=exit", *flags))


def command_line():
    os.environ["TRANSFORMER"] = str(build("transformer", "transformer.c"))
    for test in listed("outside"):
        subprocess.run(["gcc", "-std=c11", "-O1", HERE / f"{test}.c", "-o", WORK / test,
                        "-lm"], check=True)
        passes(test, WORK / test)


def run_tests():
    """The command line takes as long as all the rest."""
    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir(parents=True)
    (WORK / "end.c").write_text(END)
    with concurrent.futures.ThreadPoolExecutor() as pool:
        for done in [pool.submit(command_line), pool.submit(programs)]:
            done.result()
    for counts in WORK.glob("*/*.gcda"):
        subprocess.run(["gcov", "-b", "--json-format", counts], cwd=counts.parent,
                       stdout=subprocess.DEVNULL, check=True)


# --------------------------------------------------------------- what they reach

def measured(paths):
    """Of each line its function, how often it was executed, and how often each of its
    ways was taken. The first way of a line is the first in every program."""
    functions, counts, ways = {}, collections.Counter(), collections.defaultdict(list)
    for path in paths:
        with gzip.open(path) as file:
            files = json.load(file)["files"]
        for line in itertools.chain.from_iterable(
                its["lines"] for its in files if its["file"].endswith("transformer.c")):
            n = line["line_number"]
            functions[n] = line["function_name"]
            counts[n] += line["count"]
            taken = [way["count"] for way in line["branches"]]
            ways[n] = [a + b for a, b in itertools.zip_longest(ways[n], taken, fillvalue=0)]
    return functions, counts, ways


def figures(counts, ways):
    """{chapter: its lines, those executed, its branches, those taken}"""
    table, begun = {}, [n for n, line in enumerate(SOURCE, 1)
                        if line.startswith("//@ chapter ")]
    for number, (first, last) in enumerate(zip(begun, begun[1:] + [len(SOURCE)])):
        its = [n for n in counts if first <= n < last]
        table[f"{number} {SOURCE[first - 1].split()[2].replace('_', '-')}"] = [
            len(its), sum(counts[n] > 0 for n in its), sum(len(ways[n]) for n in its),
            sum(len(ways[n]) - ways[n].count(0) for n in its)]
    table["all"] = [sum(column) for column in zip(*table.values())]
    return table


def unreached(functions, counts, ways):
    """Entries as coverage.txt has them."""
    for n, function in functions.items():
        where = f"{function} | {SOURCE[n - 1].strip()}"
        if not counts[n]:
            yield f"line   {where}"
        elif 0 in ways[n]:
            yield f"{ways[n].count(0)} of {len(ways[n])} {where}"


def main():
    run_tests()
    functions, counts, ways = measured(WORK.glob("*/*.gcov.json.gz"))
    print(f"{'chapter':20}    lines executed branches    taken")
    for name, row in figures(counts, ways).items():
        print(f"{name:20}", *(f"{number:8}" for number in row))
    reasons = collections.Counter(re.findall(
        r"^(?:line  |\d+ of \d+) .*", (HERE / "coverage.txt").read_text("utf-8"), re.M))
    found = collections.Counter(unreached(functions, counts, ways))
    none(found - reasons, "what is not reached has a reason in tests/coverage.txt")
    none(reasons - found, "what has a reason there is not reached")
    end()


if __name__ == "__main__":
    main()

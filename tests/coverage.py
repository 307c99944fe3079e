#!/usr/bin/env python3
"""Puts together what gcov says of transformer.c for several programs, and holds what
none of them has reached against the reasons in coverage.txt.

    python3 tests/coverage.py FILE.gcov.json.gz...

In coverage.txt, paragraphs of prose say why the lines below them are not reached:

    line   FUNCTION | TEXT         the line is never executed
    N of M FUNCTION | TEXT         N of the M ways the line may branch are
                                   never taken

Lines are known by their function and text, not by their number. An entry that is not
needed, and a count that is not right, are failures, so the list stays true. Then
come the figures of each chapter.
"""

import collections
import gzip
import itertools
import json
import re
import sys
from pathlib import Path

HERE = Path(__file__).parent
SOURCE = (HERE.parent / "transformer.c").read_text("utf-8").splitlines()


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
    for number, (first, end) in enumerate(zip(begun, begun[1:] + [len(SOURCE)])):
        its = [n for n in counts if first <= n < end]
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


def main(*paths):
    functions, counts, ways = measured(paths)
    table = figures(counts, ways)
    reasons = collections.Counter(re.findall(
        r"^(?:line  |\d+ of \d+) .*", (HERE / "coverage.txt").read_text("utf-8"), re.M))
    found = collections.Counter(unreached(functions, counts, ways))
    wrong = [f"not reached, and no reason given: {entry}" for entry in found - reasons]
    wrong += [f"a reason for what is reached: {entry}" for entry in reasons - found]
    for line in wrong:
        print("FAIL", line)
    print(f"{'chapter':20}    lines executed branches    taken")
    for name, row in table.items():
        print(f"{name:20}", *(f"{number:8}" for number in row))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

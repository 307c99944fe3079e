"""The wrong bodies of each region, and what they give: if a student's results are the same,
so is the cause. Those of a page are written out here, those that a machine makes are in
neighbors.py; run_wrong_bodies.py has run each on the cases of the check."""

import functools
import hashlib
import itertools
import math
import re
from dataclasses import dataclass

import compiling
import neighbors
from comparing import Case, close, read_results
from compiling import CHECK_SECONDS, run_folder
from files import EXERCISES, REFERENCE, Trouble, digest, read_text, shown
from source_file import code_of, regions

KNOWN = EXERCISES / "wrong_bodies.txt"
FEW = 8  # this many different numbers are not the same by chance


@dataclass
class Mistake:
    kind: str    # the mark at the beginning of its line
    region: str
    say: str
    body: list


def load_mistakes(exercise, body):
    """The mistakes of a region that has this right body, written out."""
    found = []
    for line in exercise.mistakes.split("\n"):
        head = re.fullmatch(r"([=~*!]) (.*)", line)
        if head:
            found.append(Mistake(head[1], exercise.name, head[2], []))
        elif found:
            found[-1].body.append(line)
    for mistake in found:
        if mistake.body[0].startswith("{"):
            mistake.body = changed(body, mistake)
        elif "&" in mistake.body:
            place = mistake.body.index("&")
            mistake.body[place:place + 1] = body
    return found


def changed(body, mistake):
    """The reference's body with the changes {A -> B} of a mistake."""
    text = "\n".join(body)
    for change in filter(None, mistake.body):
        old, _, new = change[1:-1].partition(" -> ")
        if text.count(old) != 1:
            page = EXERCISES / "pages" / f"{mistake.region}.md"
            line = read_text(page).split("\n").index(change) + 1
            raise Trouble(f"{shown(page)}:{line}: {change}: the lines of the region in "
                          f"transformer.c hold \"{old}\" {text.count(old)} times, not once: "
                          "change what stands before the arrow")
        text = text.replace(old, new)
    return text.split("\n")


def are_same(x, y):
    """Two numbers, up to rounding, or none."""
    return close(x, y) or (math.isnan(x) and math.isnan(y))


def same_case(ours, theirs):
    """Whether all results of a case are the same."""
    return len(ours.results) == len(theirs.results) and all(
        (x.name, x.shape, len(x.bits)) == (y.name, y.shape, len(y.bits))
        and all(map(are_same, x.numbers, y.numbers))
        for x, y in zip(ours.results, theirs.results))


def agreement(given, theirs):
    """How many of the first cases are the same."""
    pairs = enumerate(itertools.zip_longest(given, theirs, fillvalue=Case("")))
    return next((i for i, (ours, other) in pairs if not same_case(ours, other)),
                max(len(given), len(theirs)))


def rounded(x):
    text = f"{x:.8f}" if abs(x) < 0.01 else f"{x:.6e}"
    return text.replace("-0.00000000", "0.00000000").replace("-nan", "nan")


def digest_of(cases):
    """A digest of results, which rounding does not change (once in a thousand it does). How
    many bytes there are depends on the machine: in WebAssembly pointers are short."""
    lines = []
    for case in cases:
        lines += [" ".join([f"{m.name}\n{m.rows} {m.cols}", *map(rounded, m.numbers)])
                  for m in case.results if not m.name.startswith("bytes ")] + ["case"]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:6]


def wrong_bodies(exercise, text):
    """Each with `say` and `body`, of a region of `text`, which is transformer.c: those of
    its page, then the neighbors of its right body."""
    region = regions(text, "transformer.c")[exercise.name]
    return [m for m in load_mistakes(exercise, region.body) if m.kind == "="] \
        + neighbors.neighbors(region.body)


def key_of(bodies):
    return digest(*("\n".join(wrong.body) for wrong in bodies))


def digest_of_code(text):
    return digest(" ".join(code_of(text, True).split()))


def if_changed():
    """What to say if transformer.c is not the one of wrong_bodies.txt, else ""."""
    if read_known().get("transformer.c", ["", ""])[1] == digest_of_code(read_text(REFERENCE)):
        return ""
    return ("transformer.c is changed: what is right may fail now, and what is wrong may pass. "
            "A copy to change: make break")


def read_known():
    """wrong_bodies.txt: {name: [name, key, NUMBER:FIRST:ALL, ...]}; digests of two files."""
    lines = read_text(KNOWN).splitlines() if KNOWN.exists() else []
    return {line.split(" ")[0]: line.split(" ") for line in lines}


def matching(given, right, known):
    """The numbers of those known bodies, {number: (digest, digest)}, that give the same
    results as the student's: in all cases, or else up to the first that is wrong, if that
    has more than a few different numbers. The likeliest come first."""
    first = agreement(given, right)
    if first >= len(given):
        return []
    wrong = {str(x) for ours, theirs in zip(given[first].results, right[first].results)
             for x, y in zip(ours.numbers, theirs.numbers) if not are_same(x, y)}
    whole, begin = digest_of(given), digest_of(given[:first + 1])
    found = [k for k, digests in known.items() if digests[1] == whole]
    if not found and len(wrong) >= FEW:
        found = [k for k, digests in known.items() if digests[0] == begin]
    return found


def named(exercise, bodies, given, right):
    """What is said of results that are not right: what the page says of its mistakes with
    the same numbers, or else what the likeliest neighbor is; and whether it is from the
    page."""
    _, key, *entries = read_known().get(exercise.name, ["", ""])
    if key != key_of(bodies):
        return [], False
    known = {int(k): rest for k, *rest in (entry.split(":") for entry in entries)}
    said = list(dict.fromkeys(bodies[k].say for k in matching(given, right, known)))
    own = [text for text in said if not text.startswith(neighbors.SAY)]
    return own or ([] if is_constant(given, right) else said[:1]), bool(own)


def is_constant(given, right):
    """Whether a wrong result of the first wrong case is one number everywhere, which is
    too little to tell a neighbor by."""
    first = agreement(given, right)
    return any(len({*ours.numbers}) == 1 < len({*theirs.numbers})
               for one, other in zip(given[first:first + 1], right[first:])
               for ours, theirs in zip(one.results, other.results))


@functools.lru_cache(maxsize=None)
def right_results(made, name):
    """The cases of the reference, which has checked itself."""
    with run_folder() as folder:
        path = folder / "right"
        if compiling.run([made / "grade", name, path], CHECK_SECONDS, given="\n").status:
            raise Trouble("grade.c has no check of this exercise: add a row to its table")
        return read_results(read_text(path))[0]

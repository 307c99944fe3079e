"""Compares the results of a check, the student's with the reference's, and says what
differs. grade.h writes them, and says how."""

import math
import re
import struct
from dataclasses import dataclass, field

from describing import PREFILL, alike, close, describe, value, where
NAN = 0x7ff8000000c00000         # plus the number of the matrix outside of which it stands
JUNK = (0xc3, -0x3c3c3c3d)       # a byte and an int of memory that was never written
POOL_SIZE = 1 << 16              # numbers of a matrix, at most
MOST_CAUSES = 3
MOST_NAMES = 4


@dataclass
class Matrix:
    name: str
    kind: str      # matrix, bytes, tokens, number
    rows: int
    cols: int
    bits: list
    before: list   # what was there before the call; NaN if nobody knows

    def __post_init__(self):
        self.numbers = numbers_of(self.bits)

    @property
    def shape(self):
        return self.rows, self.cols


@dataclass
class Case:
    name: str
    given: list = field(default_factory=list)     # its matrices
    results: list = field(default_factory=list)
    wrong: str = ""        # what the program itself has seen
    is_whole: bool = False


def numbers_of(bits):
    return [struct.unpack(">d", x.to_bytes(8, "big"))[0] for x in bits]


def numbers_in(rows, cols):
    """How many there are of a matrix; none if its shape is impossible."""
    return rows * cols if rows > 0 and cols > 0 and rows * cols <= POOL_SIZE else 0


def bits_of(text, count):
    """This many numbers, each after a blank; None for anything else."""
    is_right = text.count(" ") == count and re.fullmatch(r"(?: [0-9a-f]{1,16})*", text)
    return [int(x, 16) for x in text.split()] if is_right else None


def read_results(text):
    """The cases that a check has written, and the line after them. Anything else that a
    student's code has written there ends them."""
    cases, lines = [], iter(text.split("\n")[:-1])
    for line in lines:
        word, _, rest = line.partition(" ")
        case = cases[-1] if cases else None
        if word == "case":
            cases.append(Case(rest))
        elif case is None:
            return cases, line
        elif word in ("given", "result"):
            kind, _, name = rest.partition(" ")
            found = re.fullmatch(r"(-?\d{1,9}) (-?\d{1,9})(.*)", next(lines, ""))
            rows, cols = (int(found[1]), int(found[2])) if found else (0, 0)
            bits = found and bits_of(found[3], numbers_in(rows, cols))
            if bits is None:
                return cases, ""
            (case.given if word == "given" else case.results).append(
                Matrix(name, kind, rows, cols, bits, [math.nan] * len(bits)))
        elif word == "before" and case.results:
            last = case.results[-1]
            last.before = numbers_of(bits_of(line[len(word):], len(last.bits)) or last.bits)
        elif word == "wrong:":
            case.wrong = rest
        elif word == "end":
            case.is_whole = True
        else:
            return cases, line
    return cases, ""


def wrong_places(yours, ours):
    return [k for k, pair in enumerate(zip(yours.numbers, ours.numbers)) if not close(*pair)]


# ---------------------------------------------------------------- what it looks like

def cause(yours, ours, case):
    """What the numbers show by themselves, or "". What comes of the right lines with one of
    them changed is in wrong_bodies.txt, and not here."""
    y, e, b = yours.numbers, ours.numbers, ours.before
    whole = ours.kind in ("bytes", "tokens")
    if any(all(x == junk for x in e) for junk in JUNK):
        return "nothing is to be written there"
    if alike(y, b) or any(all(x == junk for x in y) for junk in JUNK):
        return ("unchanged: it holds what it held before the call"
                if alike(y, b) and set(b) not in ({PREFILL}, {0})
                else "never written, or what was added is 0")
    outside = [made[x - NAN] for made in [[m.name for m in case.given if m.kind == "matrix"]]
               for x in yours.bits if 0 <= x - NAN < len(made)]
    if outside:
        return f"not a number: it was read outside of {outside[0]}"
    if whole and all(x == wanted or x in JUNK for x, wanted in zip(y, e)):
        return "the wrong ones are never written"
    if sum(abs(x - wanted) for x, wanted in zip(y, e)) < 1e-5 * max(map(abs, e)):
        return ("right to five digits, not to nine: a float where real belongs, a function "
                "for floats, or too short a constant")
    if len(e) == 1:
        return "" if math.isnan(y[0]) else f"it is {value(ours, y[0])}, not {value(ours, e[0])}"
    wrong = wrong_places(yours, ours)
    if all(close(y[k], b[k]) or y[k] in JUNK for k in wrong) and where(wrong, ours, case):
        return f"as before {where(wrong, ours, case)}: never written, or what was added is 0"
    if any(map(math.isnan, y)):
        return ("not a number: never written, or made of what was never written or lies "
                "outside, or of 0/0, ∞/∞ or ∞-∞")
    if any(map(math.isinf, y)):
        return "infinite: an exponential of too much, or a division by 0"
    if not any(y):
        return "all zero"
    return describe(yours, ours, case)


# ---------------------------------------------------------------- what is said

def place(m, k):
    """dgain[2] (of 4), dx[1][3] (of 8 × 18), loss"""
    if min(m.shape) > 1:
        return f"{m.name}[{k // m.cols}][{k % m.cols}] (of {m.rows} × {m.cols})"
    return m.name + (f"[{k}] (of {m.rows * m.cols})" if max(m.shape) > 1 else "")


def names(pairs, wrong):
    """For wrong results "2 of 60 of dx, 4 of 4 of dgain"; for right ones "dbias", or only
    how many they are."""
    found = [(yours, ours, wrong_places(yours, ours)) for yours, ours in pairs]
    chosen = [ours.name if yours.shape != ours.shape or not wrong or len(ours.bits) == 1
              else f"{len(places)} of {len(ours.bits)} of {ours.name}"
              for yours, ours, places in found
              if bool(places or yours.shape != ours.shape) == wrong]
    if not wrong and len(chosen) > MOST_NAMES:
        return f"the {len(chosen)} others are right"
    more = len(chosen) - MOST_NAMES
    return ("wrong: " if wrong else "right: ") + ", ".join(chosen[:MOST_NAMES]) \
        + (f" and {more} more" if more > 0 else "") if chosen else ""


def wrong_shape(yours, ours, case):
    """What to say of a result that has another shape."""
    if yours.shape == (0, 0):
        return ["wrong: nothing is returned: is the return missing?"
                if ours.name == "what is returned" else f"wrong: {ours.name} is not set"]
    return [f"wrong: {ours.name} is {yours.rows} × {yours.cols}, expected "
            f"{ours.rows} × {ours.cols}"] + [
        f"looks like: {ours.name}: it has the numbers expected of {other.name}"
        for other in case.results if other is not ours and other.shape == yours.shape
        and alike(yours.numbers, other.numbers)]


def causes(pairs, case):
    """What the wrong results look like. After a wrong result, a NaN in another one tells
    nothing: it may come from the first."""
    said, is_wrong = [], False
    for yours, ours in pairs:
        if yours.shape != ours.shape or not wrong_places(yours, ours):
            continue
        text = "" if is_wrong and any(map(math.isnan, yours.numbers)) \
            else cause(yours, ours, case)
        said += [f"looks like: {ours.name}: {text}"] if text else []
        is_wrong = True
    return said[:MOST_CAUSES]


def differences(given, case):
    """Lines about a case whose results are not right; none if they are."""
    pairs = list(zip(given.results, case.results))
    first = next(((yours, ours) for yours, ours in pairs if yours.shape != ours.shape
                  or wrong_places(yours, ours)), None)
    if not first:
        return []
    yours, ours = first
    if yours.shape != ours.shape:
        return wrong_shape(yours, ours, case)
    k = wrong_places(yours, ours)[0]
    x, wanted = yours.numbers[k], ours.numbers[k]
    digits = 15 if abs(x - wanted) < 1e-5 else 7
    return [f"{place(ours, k)}: yours {value(ours, x, digits)}, expected "
            f"{value(ours, wanted, digits)}",
            "; ".join(filter(None, [names(pairs, True), names(pairs, False)])),
            *causes(pairs, case),
            *([f"besides, {given.wrong}"] if given.wrong else [])]


def compare(text, right, token):
    """(state, what is said) of what a student's program has written: right, wrong, or early,
    if it ends too early; `right` are the cases of the reference."""
    cases, last = read_results(text)
    for k, case in enumerate(right):
        given = cases[k] if k < len(cases) else Case("")
        before = "; ".join(one.name for one in right[:k])
        where = f"case: {case.name}" + (f"; the cases before it are right: {before}"
                                        if before else "")
        is_all = [(m.kind, m.name) for m in given.results] == [
            (m.kind, m.name) for m in case.results]
        said = differences(given, case) if is_all else []
        if not said and given.wrong:
            said = [f"wrong: {given.wrong}"]
        if said:
            return "wrong", "".join(f"{line}\n" for line in [*said, where])
        if not is_all or not given.is_whole:
            return "early", where + "\n"
    if len(cases) != len(right) or last != token:
        return "early", ""
    return "right", f"right: {len(right)} cases"

"""What wrong numbers show by themselves: in which rows and columns they stand, and what was
added to the right ones, is missing from them, or was taken for them. This is true of the
numbers, whatever lines have made them."""

import math
from dataclasses import dataclass

PREFILL = 0.5
TOKENS = ("PAD", "START", "END", "UNKNOWN")
EXPECTED = "what is expected"
FEW = 4  # up to this many rows or columns are named one by one


def close(x, y):
    """Two numbers, up to rounding."""
    return x == y or abs(x - y) <= 1e-9 + 1e-7 * max(abs(x), abs(y)) < math.inf


def alike(xs, ys):
    return len(xs) == len(ys) and all(map(close, xs, ys))


def value(m, x, digits=7):
    """A number, or the name of a token. No -0, and no sign of a NaN."""
    if m.kind == "tokens" and 0 <= x < len(TOKENS):
        return TOKENS[int(x)]
    return f"{abs(x) if math.isnan(x) else x + 0.0:.{digits}g}"


@dataclass
class Grid:
    """Numbers in rows and columns, with the name under which a student knows them."""
    name: str
    rows: int
    cols: int
    numbers: list

    def lines(self, what="row"):
        n = self.cols
        return [self.numbers[k * n:k * n + n] for k in range(self.rows)] if what == "row" \
            else [self.numbers[k::n] for k in range(n)]

    def turned(self):
        return Grid(f"{self.name} transposed", self.cols, self.rows,
                    [x for line in self.lines("column") for x in line])


def sources(ours, case):
    """What the numbers may be made of: what is given, and the other right results, in the
    shape of ours; a single row or column is repeated."""
    for m in case.given + [m for m in case.results if m is not ours]:
        shift = PREFILL * (set(m.before) == {PREFILL} and m in case.results)
        g = Grid(m.name + " before the call" * (m.name == ours.name), m.rows, m.cols,
                 [x - shift for x in m.numbers])
        if m.kind != "matrix" or len({*g.numbers}) < 2 or any(map(math.isnan, g.numbers)):
            continue
        for one in (g, g.turned()):
            if (one.rows, one.cols) == ours.shape:
                yield one
            elif (one.rows, one.cols) == (1, ours.cols):
                yield Grid(f"{g.name} in each row", *ours.shape, one.numbers * ours.rows)
            elif (one.rows, one.cols) == (ours.rows, 1):
                yield Grid(f"{g.name} of the row", *ours.shape,
                           [x for x in one.numbers for _ in range(ours.cols)])
            elif (1, one.cols) == ours.shape:
                for k, line in enumerate(one.lines()):
                    yield Grid(f"row {k} of {one.name}", *ours.shape, line)
            if min(m.shape) == 1:
                break


# ---------------------------------------------------------------- places

def span(chosen, n, what):
    """Words for some of n rows, or columns; "" for all of them."""
    some, rest = sorted(chosen), sorted({*range(n)} - {*chosen})
    edges = {0: "the first", n - 1: "the last"}
    if not rest or len(some) > FEW < len(rest):
        return "" if not rest or some != [*range(some[0], some[-1] + 1)] \
            else f"{what}s {some[0]} to {some[-1]}"
    if len(rest) == 1 < len(some):
        return f"all {what}s but {edges.get(rest[0], rest[0])}"
    if len(some) == 1:
        return f"{edges[some[0]]} {what}" if some[0] in edges else f"{what} {some[0]}"
    return f"{what}s " + ", ".join(map(str, some))


def conditions(ours, case):
    """(in words, where it holds) of what may tell the wrong places from the right ones."""
    cells = [(i, j) for i in range(ours.rows) for j in range(ours.cols)]
    is_square = ours.rows % ours.cols == 0 < ours.cols - 1  # or one for each sentence
    if is_square:
        for sign, by in (("=", 0), (">", 1), ("<", -1)):
            yield f"where j {sign} i", [(j > i % ours.cols) - (j < i % ours.cols) == by
                                        for i, j in cells]
    for m in case.given:
        for token, name in enumerate(TOKENS) if m.kind == "tokens" else ():
            is_it = [x == token for x in m.numbers]
            if len(is_it) == len(cells):
                yield f"where {m.name} is {name}", is_it
            elif len(is_it) == ours.rows:
                yield f"where {m.name} of the row is {name}", [is_it[i] for i, _ in cells]
            if len(is_it) == ours.rows and is_square:
                yield f"where {m.name} of column j is {name}", [
                    is_it[i - i % ours.cols + j] for i, j in cells]
        for word, sign in (("negative", -1), ("0", 0), ("positive", 1)):
            if m.kind == "matrix" and m.shape == ours.shape:
                yield f"where {m.name} is {word}", [(x > 0) - (x < 0) == sign for x in m.numbers]
    yield f"where {value(ours, 0)} is expected", [x == 0 for x in ours.numbers]


def where(wrong, ours, case):
    """In which part the wrong places are, as small a one as there are words for; or ""."""
    places = [divmod(k, ours.cols) for k in wrong]
    rows, cols = {i for i, _ in places}, {j for _, j in places}
    words = [*filter(None, (span(cols, ours.cols, "column"), span(rows, ours.rows, "row")))]
    found = [(sum(holds), text) for text, holds in conditions(ours, case)
             if all(holds[k] for k in wrong)]
    found += [(len(rows) * len(cols), "in " + " of ".join(words))] * bool(words)
    size, text = min(found, default=(0, ""), key=lambda one: one[0])
    return text if 2 * len(wrong) >= size and size <= 0.8 * len(ours.numbers) else ""


def moved(mine, ours, what):
    """Rows of numbers, or columns, that are right ones in another place."""
    y, e = ([tuple(float(f"{x:.6g}") for x in line) for line in g.lines(what)]
            for g in (mine, ours))
    n = len(e)
    if n < 2 or len({*e}) < min(n, 3):
        return ""
    for by in sorted(range(1 - n, n), key=abs):
        inside = [k for k in range(n) if 0 <= k + by < n]
        if by and 2 * len(inside) > n and len({e[k + by] for k in inside}) > 1 \
                and all(y[k] == e[k + by] for k in inside):
            late = "late" if by < 0 else "early"
            return f"all is one {what} too {late}: an index is off by one" if abs(by) == 1 \
                else f"all is {abs(by)} {what}s too {late}"
    orders = [[*reversed(range(n))]] + [[k % f * (n // f) + k // f for k in range(n)]
                                        for f in range(2, n) if n % f == 0]
    if any(y == [e[k] for k in order] for order in orders):
        return f"the {what}s stand in another order: {what} 1 is what {what} " \
               f"{e.index(y[1])} should be"
    other = [(k, e.index(line)) for k, line in enumerate(y) if line != e[k]
             and len({*line}) > 2 and e.count(line) == 1]
    return "; ".join(f"{what} {k} is what {what} {i} should be" for k, i in other[:2])


# ---------------------------------------------------------------- numbers

def line_through(y, e):
    """a and b where y = a e + b; or None."""
    low, high = min(range(len(e)), key=e.__getitem__), max(range(len(e)), key=e.__getitem__)
    if close(e[low], e[high]):
        return None
    a = (y[high] - y[low]) / (e[high] - e[low])
    b = y[low] - a * e[low]
    b = 0 if abs(b) < 1e-9 * max(map(abs, y)) else b
    return (a, b) if alike(y, [a * x + b for x in e]) else None


def times(f, name):
    return name if close(f, 1) else f"-{name}" if close(f, -1) else f"{f:.7g} times {name}"


def scaled(y, e):
    found = len(y) > 1 and line_through(y, e)
    return f"a constant factor: {found[0]:.7g} times {EXPECTED}" if found and not found[1] else ""


def relation(y, e, found):
    """How the numbers come from the right ones, and from others."""
    d = [a - b for a, b in zip(y, e)]
    if alike([d[0]] * len(d), d):
        return f"each number is too {'large' if d[0] > 0 else 'small'} by {abs(d[0]):.7g}"
    for g in found:
        line = len({*g.numbers}) >= min(len(y), FEW) and line_through(y, g.numbers)
        if line and abs(line[0]) > 1e-6:
            return f"it is {times(line[0], g.name)}" + (f" {line[1]:+.7g}" if line[1] else "")
        line = line_through(d, g.numbers)
        if line and not line[1]:
            return f"{times(abs(line[0]), g.name)} is " + (
                "added to it, too" if line[0] > 0 else "missing from it, or subtracted")
        if all(e) and all(g.numbers):
            ratio = [a / b for a, b in zip(y, e)]
            for word, power in (("multiplied", 1), ("divided", -1)):
                if alike(ratio, [x ** power for x in g.numbers]):
                    return f"each number is {word} by {g.name}, too"
    return ""


def line_by_line(mine, ours, what):
    """Rows, or columns, that are right except for a factor or a number of their own."""
    y, e = mine.lines(what), ours.lines(what)
    found = [*map(line_through, y, e)] if len(e) > 1 and len(e[0]) > 2 else [None]
    if None in found:
        return ""
    for k, word in ((0, "is shifted by a number"), (1, "has a factor")):
        if all(close(one[k], 1 - k) for one in found):
            shown = ", ".join(f"{one[1 - k]:.4g}" for one in found[:3])
            return f"each {what} {word} of its own: {shown}" + ", …" * (len(found) > 3)
    return ""


def in_lines(mine, ours):
    """What rows and columns show; and rows that must sum to 0, or to 1."""
    text = line_by_line(mine, ours, "row") or line_by_line(mine, ours, "column")
    for total in (0, 1):
        if not text and ours.rows > 1 < ours.cols and all(
                abs(sum(line) - total) < 1e-9 for line in ours.lines()):
            off = [sum(line) for line in mine.lines()]
            k = max(range(len(off)), key=lambda k: abs(off[k] - total))
            if abs(off[k] - total) > 1e-6:
                return f"each row must sum to {total}: row {k} sums to {off[k]:.7g}"
    return text


def describe(yours, ours, case):
    """What a wrong matrix is, or where it is wrong; or ""."""
    y, e, b = yours.numbers, ours.numbers, ours.before
    mine, right = Grid("", *ours.shape, y), Grid("", *ours.shape, e)
    for sign, text, how in (
            (-1, "what it held before is lost: it must be added to (+=)", "missing from it"),
            (1, "it is added to what was there before: it must be set (=)", "added to it, too")):
        if any(b) and alike(y, [p + sign * q for p, q in zip(e, b)]):
            return text if set(b) == {PREFILL} else f"what was there before the call is {how}"
    if min(ours.shape) > 1 and alike(y, right.turned().numbers):
        return "the numbers are written column by column: row and column are exchanged"
    wrong = [k for k, pair in enumerate(zip(y, e)) if not close(*pair)]
    text = moved(mine, right, "row") or moved(mine, right, "column")
    if text or ours.kind != "matrix" or len(e) < 3:
        return text or "".join(partly(wrong, y, ours, case, [])).strip("; ")
    found = [*sources(ours, case)]
    place, there = partly(wrong, y, ours, case, found)
    text = scaled(y, e) or relation(y, e, found) or (there and place + there)
    if not text and set(b) == {PREFILL}:
        y, e = ([x - PREFILL for x in xs] for xs in (y, e))
        there = partly(wrong, y, ours, case, found, PREFILL)[1]
        text = (scaled(y, e) or relation(y, e, found) or (there and place + there) or in_lines(
            Grid("", *ours.shape, y), Grid("", *ours.shape, e))).replace(
                EXPECTED, "what is to be added")
    text = text or in_lines(mine, right) or place.strip("; ")
    for word, holds in (("large", float.__ge__), ("small", float.__le__)):
        if not text and all(holds(abs(p), abs(q)) for p, q in zip(y, e)):
            return f"the numbers are too {word}"
    return text


def partly(wrong, numbers, ours, case, found, shift=0):
    """Where the wrong numbers are, if not everywhere, and what they are there."""
    y, e = [numbers[k] for k in wrong], [ours.numbers[k] - shift for k in wrong]
    place, what = where(wrong, ours, case), ""
    if len(y) == len(ours.numbers):
        return "", ""
    if len({*y}) == 1:
        what = f"it is {value(ours, y[0])}" + f", not {value(ours, e[0])}" * (len({*e}) == 1)
    elif len(y) > 2:
        what = scaled(y, e) or relation(y, e, [
            Grid(g.name, 1, len(y), [g.numbers[k] for k in wrong]) for g in found])
    return place and f"wrong {place}; ", what and ("there " if place else "where it is wrong, ") + what

"""Prose as Markdown: contracts, formulas, and the anchors of sections."""

import itertools
import re

import formula
from common import fail, raw


def anchor_of(chapter, title):
    words = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")
    return f"{chapter.name}-{words}".replace("_", "-")


def contract_of(lines):
    """The part of a prose block that is the contract of the code below it."""
    last = max((i + 1 for i, l in enumerate(lines) if not l), default=0)
    whole = not lines[0].startswith("#") and len(lines) <= 16
    return lines if whole else lines[last:]


def contract(lines):
    """A contract as Markdown. A line that ends early ends on purpose."""
    out = []
    for line, after in zip(lines, lines[1:] + [""]):
        short = len("// " + line) + 1 + len(after.split(" ")[0]) <= 66
        if line.startswith("    ") or not line or not after:
            out.append(line)
        else:
            out.append(line + ("\\" if short or line.endswith("]") else ""))
    return "\n".join(l if l.startswith("    ") else re.sub(r" {2,}", "\u2003", l)
                     for l in out)


def kind_of(numbered):
    """What a line of prose belongs to."""
    _, line = numbered
    return "block" if line.startswith("    ") else "text" if line else ""


def set_formulas(lines, first):
    """Lines of prose, which begin at line `first` of the file, with formulas in
    MathML: blocks, and what stands in a sentence."""
    out = []
    for kind, part in itertools.groupby(enumerate(lines, first), kind_of):
        numbers, text = zip(*part)
        try:
            if kind == "block" and formula.is_formula(text):
                out.append(raw(formula.mathml(text)))
            elif kind == "text":
                out.append(formula.sentence("\n".join(text)))
            else:
                out += text
        except formula.Wrong as wrong:
            *row, why = wrong.args
            fail(f"transformer.c:{numbers[sum(row)]}: a formula: {why}")
    return out

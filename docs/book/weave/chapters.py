"""A chapter as Markdown: its blocks, and what docs/book/text/ adds to it. What its short
edition folds away besides boxes is plumbing, which "//@ plumbing WHAT IT DOES" begins
and "//@ core" or the next heading ends.
"""

import html
import itertools
import re

from project import DOCS, fail

import formula
from book import anchor_of, contract_of, is_heading, raw
from directives import DIRECTIVES, directives, figure, panel, run, with_blanks


# ------------------------------------------------------------------ plumbing

def folds(blocks):
    """For each block the mark that folds it, or None."""
    found, fold, marked = [], None, False
    for block in blocks:
        if block.kind == "plumbing":
            fold = block
        elif block.kind == "core" and not fold:
            fail(f"transformer.c:{block.line}: //@ core, where nothing is plumbing")
        elif block.kind == "core" or is_heading(block) and not marked:
            fold = None
        marked = block.kind == "plumbing"
        found.append(None if marked else fold)
    return found


# --------------------------------------------------------------------- prose

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


def boxes(book, chapter):
    """The parts of the chapter's file in docs/book/text/: figures and
    boxes that stand below the first prose of a section, or follow it, what is to
    be worked out by hand, sections that end the chapter, and questions."""
    path = DOCS / "book" / "text" / f"{chapter.page}.md"
    parts = re.split(rf"^@(?!(?:{DIRECTIVES}) )(.+)\n",
                     path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    if parts[0].strip() or "questions" not in parts[1::2]:
        fail(f"{path}: parts begin with @with or @after HEADING, @byhand, "
             "@end or @questions")
    heads = [f"{word} {title}" for _, title, _ in chapter.headings
             for word in ("with", "after")]
    found = {}
    for head, text in zip(parts[1::2], parts[2::2]):
        head = head.strip()
        if head not in heads + ["byhand", "end", "questions"]:
            fail(f"{path}: {head!r} is no heading of the chapter")
        found[head] = found.get(head, "") + "\n" + directives(book, text)
    return found


def contract_above(code, above):
    """The last lines of the block above, if they are the contract of this one."""
    if code and code.kind == "code" and code.touches and above and above.kind == "prose":
        return contract_of(above.lines)
    return []


def prose_markdown(book, block, below, beside):
    """A block of prose without its heading, and without a contract of the code below;
    `beside` stands below it."""
    lines = block.lines[:len(block.lines) - len(contract_above(below, block))]
    if is_heading(block):
        lines[0] = ""
    return "\n\n".join([book.prose("\n".join(set_formulas(lines, block.line))),
                        book.prose(beside)])


def listing(book, block, above):
    """A code block below its contract."""
    its = contract_above(block, above)
    first = block.line - len(its)
    return book.listing(block, book.prose("\n".join(set_formulas(
        contract(its).split("\n"), first))) if its else "")


def block_markdown(book, block, above, below, beside):
    where = f"transformer.c:{block.line}"
    make = {
        "prose": lambda: prose_markdown(book, block, below, beside),
        "deviation": lambda: "::: deviation\n" + book.link(block.text()) + "\n:::",
        "figure": lambda: figure(book, block.text(), where),
        "panel": lambda: panel(block.text()),
        "run": lambda: run(block.text(), where),
        "code": lambda: listing(book, block, above),
    }
    return make.get(block.kind, str)()  # a mark is not shown


def chapter_markdown(book, chapter):
    added = boxes(book, chapter)
    headings, section, out, open_fold = iter(chapter.headings), None, [], None
    before, following = [None, *chapter.blocks], [*chapter.blocks[1:], None]
    for block, fold, above, below in zip(chapter.blocks, folds(chapter.blocks), before,
                                         following):
        if open_fold and fold is not open_fold:
            out.append(raw("</details>"))
        beside = ""
        if is_heading(block):
            out.append(book.prose(added.get(f"after {section}", "")))
            _, section, anchor = next(headings)
            out.append(f"{block.lines[0]} {{#{anchor}}}")
            beside = added.get(f"with {section}", "")
        if fold and fold is not open_fold:
            out.append(raw('<details class="fold">\n'
                           f"<summary>{html.escape(fold.text())}</summary>"))
        open_fold = fold
        out.append(block_markdown(book, block, above, below, beside))
    out += [raw("</details>")] if open_fold else []
    out.append(book.prose(added.get(f"after {section}", "")))
    if "byhand" in added:
        out.append(f"## By hand {{#{anchor_of(chapter, 'By hand')}}}\n"
                   + book.prose(with_blanks(added["byhand"])))
    out.append(book.prose(added.get("end", "")))
    out.append(f"## Questions {{#{anchor_of(chapter, 'Questions')}}}\n"
               + book.prose(added["questions"]))
    return "\n\n".join(out)

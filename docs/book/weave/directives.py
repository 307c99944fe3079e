"""What stands for something else in the texts of docs/book/text/, and in transformer.c
after "//@": figures, panels, listings, tables, output, lines that are broken, and
blanks. README.md lists them.
"""

import csv
import functools
import html
import inspect
import itertools
import json
import re

from project import DOCS, ROOT, command, fail

import breaking
import surviving
from book import raw, unmarked
from c_code import definitions, with_comment
from gallery import GALLERY

EXAMPLES = DOCS / "book" / "examples.c"


# ------------------------------------------------------------------- figures

def figure(book, name, where):
    """The figure with its caption; its description is for screen readers."""
    if name not in GALLERY:
        fail(f"{where}: there is no figure {name}")
    title, _, description = (" ".join(part.split()) for part in inspect.getdoc(
        GALLERY[name]).partition("\n\n"))
    title = re.sub('"([^"]*)"', r"“\1”", title)
    svg = GALLERY[name]().strip()
    anchor = "" if name in book.figures_used else f' id="figure-{name}"'
    book.figures_used.add(name)
    picture = f'<div class="panels" role="img" aria-label="' \
        f'{html.escape(description)}">\n{panels(svg)}\n</div>'
    return raw(f'<figure{anchor} tabindex="0">\n{picture}\n'
               f"<figcaption>{html.escape(title)}</figcaption>\n</figure>")


def panel(state):
    """A step of the live page, which the script puts here when the place comes into
    sight; without it, and on paper, there is nothing."""
    return raw(f'<div class="panel" data-state="{html.escape(state)}"></div>')


def panels(picture):
    """The SVGs of a picture, for a page: side by side if there is room, and then
    a little larger. The figure describes them."""
    found = re.findall("<svg.*?</svg>", picture, re.DOTALL)
    widths = [float(re.search(r'viewBox="\S+ \S+ (\S+) ', svg)[1])
              for svg in found]
    scale = min(1.3, max(1, 700 / sum(widths)))
    out = []
    for svg, width in zip(found, widths):
        tag = re.sub(r' (width|height|role)="[^"]*"', "",
                     re.match("<svg[^>]*", svg)[0])
        out.append(f'{tag} aria-hidden="true" style="--width:{width:.0f}px;'
                   f'--scale:{scale:.2f}"' + svg[svg.index(">"):])
    return "\n".join(out)


def check_used(book):
    """Every figure stands on a page."""
    unused = set(GALLERY) - book.figures_used
    if unused:
        fail(f"figures that nobody uses: {sorted(unused)}")


# -------------------------------------------------------------------- output

@functools.lru_cache(maxsize=None)
def said(line):
    print(f"$ {line}", flush=True)
    return command(["sh", "-c", line]).rstrip("\n")


def run(line, where):
    """A command and its output; for an example, with the lines that print it."""
    if not said(line):
        fail(f"{where}: the command prints nothing: {line}")
    out = printed(line, said(line))
    example = re.fullmatch(r"build/examples (\w+)", line)
    if example:
        name = "example_" + example[1]
        out += raw("<details>\n<summary>The function that prints this: "
                   f"<code>{name}</code></summary>") \
            + f"\n``` c\n{with_comment(EXAMPLES, name)}\n```\n" + raw("</details>")
    return out


def printed(line, output, note=""):
    """A command above what it has printed."""
    return raw('<figure class="run">\n<figcaption><code>$ '
               f"{html.escape(line)}</code>{note}</figcaption>\n"
               f"<pre><samp>{html.escape(output)}</samp></pre>\n</figure>")


# ------------------------------------------------- lines that are broken, tables

def broken_lines(name):
    """What breaking.py breaks, by function: lines as they are, and broken."""
    functions = itertools.groupby(breaking.plant(name), lambda m: m.function)
    return "\n\n".join(
        f"In `{function}`:\n\n``` diff\n" + "\n".join(
            line for m in mutants for line in breaking.difference(m)) + "\n```"
        for function, mutants in functions)


def outcome(name):
    """What the runs with these lines broken have printed, as it was recorded."""
    return "".join(printed(line, output.rstrip("\n"), " with the line broken")
                   for line, output in breaking.recorded(name))


def table(name):
    """NAME.csv as a table, from docs/book/records unless NAME has a folder; numbers stand
    on the right."""
    folder = ROOT if "/" in name else DOCS / "book" / "records"
    with open(folder / f"{name}.csv", encoding="utf-8", newline="") as f:
        rows = list(csv.reader(f))
    if len(rows) < 2:
        fail(f"{name}.csv has no rows")
    numeric = [all(re.match(r"[\d.,:]+( \S+)?$", row[i]) for row in rows[1:])
               for i in range(len(rows[0]))]
    rows.insert(1, ["--:" if n else ":--" for n in numeric])
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


# Where functions that are not in transformer.c are looked for.
BESIDE = [ROOT / name for name in ("notebook/lib/gpt.h", "notebook/lib/modern.h",
                                   "tests/bench/product.c")]


def function(book, name):
    """One of transformer.c, without marks; or one beside it, with its comment and an
    address."""
    if name in book.defined:
        return "``` c\n" + unmarked("\n".join(book.defined[name][2])) + "\n```"
    file = next((file for file in BESIDE if name in {
        its.name for its in definitions(file)}), BESIDE[0])
    return f"::: {{#{name}}}\n``` c\n{with_comment(file, name)}\n```\n:::"


DIRECTIVES = "figure|panel|function|table|cells|file|broken|outcome"


def directives(book, text):
    """What "@figure NAME" and so on in the files of docs/book/text/ stand for."""
    make = {
        "figure": lambda name: figure(book, name, "docs/book/text"),
        "panel": panel,
        "function": lambda name: function(book, name),
        "table": table,
        "cells": lambda _: raw(surviving.table()),
        "file": lambda name: "```\n" + (ROOT / name).read_text(
            encoding="utf-8") + "```",
        "broken": broken_lines,
        "outcome": outcome,
    }
    return re.sub(rf"^@({DIRECTIVES}) (\S+)$", lambda m: make[m[1]](m[2]),
                  text, flags=re.MULTILINE)


# -------------------------------------------------------------------- blanks

# Numbers that the reader is to type, in the sections "By hand":
#
#     {{1/2 | 2 a_region: what its grader says of it | 1/3 That is …}}
#
# is the number, then wrong numbers, each with the sentence that is said to whoever types
# it. A sentence of the exercises' grader stands after the name of its region. The script
# makes a field of the blank; without the script the number is there.
BLANK = re.compile(r"\{\{(.*?)\}\}", re.DOTALL)
GRADERS = re.compile(r"([a-z]\w*): ")  # before a sentence of the grader


def blank_parts(text):
    """(answer, [(wrong number, region or None, sentence)]) of a blank."""
    answer, *rest = [" ".join(part.split()) for part in text.split(" | ")]
    usual = []
    for part in rest:
        wrong, _, sentence = part.partition(" ")
        region = GRADERS.match(sentence)
        usual.append((wrong, region and region[1],
                      sentence[region.end():] if region else sentence))
    return answer, usual


def blank(found):
    answer, usual = blank_parts(found[1])
    said = json.dumps([[wrong, sentence] for wrong, _, sentence in usual],
                      ensure_ascii=False)
    return (f'`<span class="blank" data-usual="{html.escape(said)}">{answer}'
            "</span>`{=html}")


def with_blanks(text):
    return BLANK.sub(blank, text)

"""The page for one sitting, docs/tiny.html: docs/book/text/tiny.md, with all lines of
notebook/programs/tiny.c, in the order in which they are read, and with numbers of the model.
"""

import math
import re

from project import ROOT, command, fail, read

from directives import directives
from formula import sentence
from mixtures import WORDS, softmax
from records import matrices, read as record

CODE = ROOT / "notebook" / "programs" / "tiny.c"
PIECE = re.compile(r"^@code (.+)\n((?:.+\n)*)", re.M)  # and the note beside it


def pieces(marks):
    """{mark: (lines of tiny.c, their numbers)}. A piece begins with the one line in which its
    mark stands, and ends where another begins: so each line is in one piece."""
    lines, starts, out = CODE.read_text(encoding="utf-8").split("\n"), {}, {}
    for mark in marks:
        found = [i for i, line in enumerate(lines) if mark in line]
        if len(found) != 1 or found[0] in starts:
            fail(f"book/text/tiny.md: {mark!r} marks {len(found)} lines of tiny.c, or one "
                 "that has a mark")
        starts[found[0]] = mark
    order = [*sorted(starts), len(lines)]
    if order[0]:
        fail("book/text/tiny.md: no mark for the first line of tiny.c")
    for a, b in zip(order, order[1:]):
        code = "\n".join(lines[a:b]).rstrip("\n")
        last = a + 1 + code.count("\n")
        out[starts[a]] = code, f"{a + 1}–{last}" if last > a + 1 else last
    return out


def numbers():
    """{name: number}, which the text has in braces: what tiny.c and the recorded model say."""
    said = read("book/records/tiny.txt").strip("\n").split("\n")
    losses = dict(line[5:].split(": loss ") for line in said if line.startswith("step"))
    pairs, english, french, parameters = re.findall(r"\d+", said[0])
    vectors = matrices("vectors.csv", ["matrix"], "row", "value")
    products = [sum(q * k for q, k in zip(vectors["query",][0], key))
                for key in vectors["key",]]
    best = products.index(max(products))
    changed = {f"{row['change']} {row['where']}": row
               for row in record("../../../notebook/02-whence.csv")}
    shown = [line for line in said if re.match(r"step (1|20|100|300):", line)]
    if said[-1] not in command(["./transformer", "info", "data/models/eng-fra.safetensors"]):
        fail("book/records/tiny.txt: tiny.c does not end with the model of the book")
    return {"pairs": f"{int(pairs):,}", "english": english, "french": french,
            "parameters": f"{int(parameters):,}", "first": losses["1"], "later": losses["300"],
            "even": f"{math.log(int(french)):.2f}", "steps": f"{int([*losses][-1]):,}",
            "last": [*losses.values()][-1], "sum": said[-1][9:],
            "early": re.search("checksum (.+)", read("book/records/300-steps.txt"))[1],
            "output": "\n".join([said[0], *shown, "…", *said[-5:]]),
            "word": WORDS[best], "product": f"{products[best]:.2f}",
            "score": f"{products[best] / 4:.2f}",
            "weight": f"{softmax([product / 4 for product in products])[best]:.2f}",
            "cases": changed["zero nothing"]["cases"],
            "same": f"{float(changed['zero cross: all weights on the noun']['same']):.0f}",
            "other": f"{float(changed['patch memory: the determiner']['other']):.0f}"}


def sitting(book):
    """Names in backquotes are tiny.c's: they do not become links to the book's names."""
    text, known = read("book/text/tiny.md"), numbers()
    place = dict(re.findall(r"^### (\d+)\. .* \{(#\S+)\}$", text, re.M))
    text = re.sub(r"(?<!\[)\bstep (\d+)", lambda m: f"[{m[0]}]({place[m[1]]})", text)
    text = re.sub(r"\{(\w+)\}", lambda m: known[m[1]], text)
    text = "".join(part if i % 2 else sentence(part) for i, part in enumerate(
        re.split(r"(^```.*?^```$|^@[^\n]*$|`[^`]+`)", text, flags=re.M | re.S)))
    code = pieces(mark for mark, _ in PIECE.findall(text))
    text = book.link(directives(book, text).replace("`", "\0")).replace("\0", "`")
    return PIECE.sub(lambda m: "::::: piece\n``` {.c .tiny}\n%s\n```\n\n"
                     ":::: {.note lines=%s}\n%s::::\n:::::\n" % (*code[m[1]], m[2]), text)

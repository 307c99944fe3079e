"""The start page: docs/source/index.md, with its contents."""

import html
import re

from common import fail, raw, read
from cut import LAST
from directives import directives, output
from figures import panel, records


def contents_list(book, text):
    """The chapters, each with what it promises. The text has a line
    "PAGE: promise" for each."""
    promises = dict(line.split(": ", 1) for line in text.splitlines())
    rows = [("" if c.number is None else c.number, c.page,
             c.label if c.number is None else c.title) for c in book.chapters]
    rows.append(("", *LAST))
    if list(promises) != [page for _, page, _ in rows]:
        fail("source/index.md: @contents needs one promise for each chapter, "
             "in the order of the chapters")
    items = [f'<li><span class="number">{number}</span> '
             f'<a href="{name}.html">{html.escape(title)}</a> '
             f'<span class="promise">{html.escape(promises[name])}</span></li>'
             for number, name, title in rows]
    return raw('<ul class="chapters">\n' + "\n".join(items) + "\n</ul>")


def translation():
    """What the model of docs/runs/ was given, and what it made of it."""
    _, _, looked = records.attention("red-car")
    written = read("runs/red-car.txt").partition("\n")[0]
    return raw('<dl class="pair">\n<dt>English in</dt> '
               f"<dd>{html.escape(' '.join(looked[:-1]))}</dd>\n"
               '<dt>French out</dt> '
               f'<dd lang="fr">{html.escape(written)}</dd>\n</dl>')


def index_page(book):
    """The first page: what it is, for whom, the chapters."""
    make = {
        r"run (.+)": lambda m: output(m[1], "source/index.md"),
        r"translation": lambda m: translation(),
        r"panel (.+)": lambda m: panel(m[1]),
        r"contents\n((?:\d*.+: .+\n)+)": lambda m: contents_list(book, m[1]),
    }
    text = read("source/index.md")
    for pattern, made in make.items():
        text = re.sub(f"^@{pattern}$", made, text, flags=re.MULTILINE)
    return book.link(directives(book, text))

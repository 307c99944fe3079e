"""The HTML file around a text: docs/source/page.tmpl, filled in."""

import html
import re
import string

from common import read
from finish import contents, headings_of

TITLE = "transformer.c"
START, BESIDE = "index", "articles"  # the first page; the first that is no chapter
WOVEN = ('Woven from <a href="../transformer.c">transformer.c</a> by '
         "<code>make docs</code>.\nAll output shown here is from a run made with "
         "the page,\nor, where a line is broken, by <code>docs/weaver/breaking.py</code>.")


def navigation(name, names, sections):
    """All pages, and the sections of this one. Below a width it is folded."""
    def item(to, title):
        if to == name:
            return f'<li><a href="{to}.html" aria-current="page">' \
                f"{html.escape(title)}</a>{sections}</li>"
        return f'<li><a href="{to}.html">{html.escape(title)}</a></li>'

    items = [item(*page) for page in names]
    if items:
        beside = [to for to, _ in names].index(BESIDE)
        items.insert(beside, "</ul>\n<ul>")
    return ('<nav class="contents" aria-label="Contents">\n<details>\n'
            '<summary>Contents<span class="here"></span></summary>\n'
            + ("<ul>\n" + "\n".join(items) + "\n</ul>" if items else sections)
            + "\n</details>\n</nav>")


def steps(name, names, label):
    """Links to the pages before and after this one."""
    at = [to for to, _ in names].index(name) if names else 0
    links = [f'<a rel="{rel}" href="{to}.html"><span>{word}</span> '
             f"{html.escape(title)}</a>"
             for rel, word, (to, title) in
             [("prev", "Previous:", names[at - 1] if at else (None, None)),
              ("next", "Next:", (*names[at + 1:], (None, None))[0])] if to]
    return f'<nav class="steps" aria-label="{label}">\n' + "\n".join(links) \
        + "\n</nav>" if links else ""


def full_page(title, body, *, name, top, names=(), base="", footer=WOVEN):
    """The text of an HTML file. top: highest level of heading in its contents, 0
    for none; names: (page, title) of all pages, in their order, if it is one of
    them; base: where the pages of docs/ are, seen from this one."""
    sections = contents(headings_of(body), top) if top else ""
    beside = sections or names and name != START
    template = read("source/page.tmpl").replace(
        f'<a href="${{base}}{name}.html">',
        f'<a href="${{base}}{name}.html" aria-current="page">')
    return string.Template(template).substitute(
        title=html.escape(title if title == TITLE else f"{title} · {TITLE}"),
        name=name, base=base, body=body, footer=footer,
        contents=navigation(name, names, sections) if beside else "",
        before=steps(name, names, "Previous and next page") if beside else "",
        after=steps(name, names, "Previous and next page, at the end"))


def body_of(page):
    """What full_page() was given of a page."""
    return re.search('<main id="content">\n(.*)\n</main>', page, re.DOTALL)[1]

"""Weaves the walkthrough from transformer.c.

    python3 docs/book/weave/weave.py          writes the pages, docs/*.html, and what their
                                          search looks through; `make docs` prepares it

README.md says how a page is made. The Markdown of every page is left in build/docs/.

The last line of a page is the digest of what it was woven from: a page for which it
has not changed stays as it is. So whoever has another pandoc, which writes other
HTML, changes only the pages whose text they change.

Places have names, never numbers of lines: a section has its heading's, a
function its own. So a page changes only if what stands on it changes.

Whatever does not fit (an unknown marker, a command that fails, a figure that
nobody uses, a formula that cannot be set) stops it with a message.
"""

import hashlib

from project import BUILD, DOCS, check_programs, fail, read

import search
import teaching
from book import Book
from pages import pages_of
from source_file import Broken
from to_html import START, body_of, full_page, headings_of, pandoc


def sections_of(pages):
    """(page, title, level, heading, anchor) of all sections."""
    return [(name, title, *heading) for name, title, page in pages
            for heading in headings_of(body_of(page))]


def woven(book, folder=DOCS):
    """{name: text} of every page and of the other files. A page that is up to date in
    the folder stays as it is."""
    made = pages_of(book)
    names = [(START, "Start page"), *((name, title) for name, title, _ in made[1:]),
             ("terms", "Index of terms")]

    def weave(name, title, markdown):
        return page_of(name, title, markdown, names, book, folder)

    pages = [(name, title, weave(name, title, markdown)) for name, title, markdown in made]
    terms = search.read_terms(read("book/text/terms.md"),
                              search.places(book, sections_of(pages)))
    sections = [*sections_of(pages), ("terms", "", 1, "Index of terms", "")]
    bodies = [(name, title, body_of(page)) for name, title, page in pages]
    pages.append((*names[-1], weave(*names[-1], search.terms_page(book, terms))))
    return {**{f"{name}.html": page for name, _, page in pages},
            "names.js": search.names(search.entries(
                book, terms, sections, search.contracts(dict(
                    (name, body) for name, _, body in bodies)["functions"]))),
            "texts.js": search.texts(bodies),
            "concept-test.gift": teaching.gift(book)}


# What makes HTML from Markdown.
MAKERS = [DOCS / "book" / "weave" / name for name in ("page.tmpl", "to_html.py", "boxes.lua")]


def page_of(name, title, markdown, names, book, folder):
    """A page from its Markdown, or the one in a folder that was made of the same."""
    what = [markdown, title, *map(str, names), *(
        path.read_text(encoding="utf-8") for path in MAKERS)]
    mark = "<!-- woven from " + hashlib.sha256(
        "\n".join(what).encode()).hexdigest()[:16] + " -->\n"
    (BUILD / f"{name}.md").write_text(markdown, encoding="utf-8")
    path = folder / f"{name}.html"
    if path.exists() and (old := path.read_text(encoding="utf-8")).endswith(mark):
        return old
    top = 0 if name in (START, "deviations", "terms") else 2
    return full_page(title, pandoc(name, book), name=name, top=top, names=names) + mark


def main():
    check_programs()
    for name, text in woven(Book()).items():
        (DOCS / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    try:
        main()
    except Broken as wrong:
        fail(wrong)

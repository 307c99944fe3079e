"""Weaves the walkthrough from transformer.c.

    python3 docs/weaver          writes the pages, docs/*.html, their scripts and
                                 their style; `make docs` prepares it
    python3 docs/weaver --anew   also those that are up to date

transformer.c is cut into chapters (cut.py); each chapter becomes Markdown, with
boxes, questions and examples from docs/source/ (chapters.py, directives.py).
Names of functions and chapters become links (book.py, link.py). formula.py sets
the formulas that the prose writes in plain characters; figures.py brings in what
docs/pictures/ draws; below a drawing in plain characters, "//@ figure NAME
instead" puts the figure in its place. pandoc turns Markdown and C into HTML
(finish.py), which is put into docs/source/page.tmpl (page.py). The pages that are
not chapters are made by pages.py, the start page by start.py and routes.py, the
index of terms and what the search knows by finding.py and texts.py. The Markdown of
every page is left in build/docs/.

The last line of a page is the digest of what it was woven from: a page for which it
has not changed stays as it is. So whoever has another pandoc, which writes other
HTML, changes only the pages whose text they change.

Places have names, never numbers of lines: a section has its heading's, a
function its own. So a page changes only if what stands on it changes.

Whatever does not fit (an unknown marker, a command that fails, a figure that
nobody uses, a formula that cannot be set) stops it with a message.
"""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "tests" / "lib"))

from book import Book
from common import DOCS, check_programs, fail, read
from pages import woven
from source_file import Broken


def main(*options):
    if options not in ((), ("--anew",)):
        fail(f"there are no options {' '.join(options)}, only --anew")
    check_programs()
    files = woven(Book(), anew="--anew" in options)
    files["style.css"] = read("source/style.css") + read("source/font.css")
    for name, text in files.items():
        (DOCS / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except Broken as wrong:
        fail(wrong)

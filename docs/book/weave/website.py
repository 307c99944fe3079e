#!/usr/bin/env python3
"""Makes build/site/, the folder to put on the web.

    python3 docs/book/weave/website.py        `make site` prepares it

The folder has the layout of the project. It begins with README.md and the live page; then
each file that a page links to or loads is put at its own place, Markdown and executed
notebooks as pages; so is what the search loads. Every page gets links to the labs and to
the book on one page, which is made here, for printing.

All links are checked; the last line is "N passed, N failed".
"""

import re
import shutil
from os.path import relpath
from urllib.parse import unquote

from project import DOCS, ROOT, check_programs, command, emptied, fail, read

from book import LAST, Book
from harness import claim, end
from test_pages import Page, check_links
from to_html import BOXES, body_of, finish, full_page

SITE = ROOT / "build" / "site"
READERS = {".md": "gfm", ".ipynb": "ipynb"}  # what becomes a page: for pandoc
LIVE = DOCS / "live.html"
BOOK = DOCS / "book.html"
DOORS = [("Labs", ROOT / "notebook" / "README.md"), ("One page", BOOK)]
FOUND = [DOCS / "names.js", DOCS / "texts.js"]  # they know addresses
ASSETS = (DOCS / "assets").iterdir()
LINK = re.compile(r'(?<=\s)(href|src)="([^"#:]+)(#[^"]*)?"')


def place(file):
    """Where a file of the project stands in the site."""
    if file.suffix in READERS:
        name = "index" if file.name == "README.md" else file.stem
        file = file.with_name(name + ".html")
    return SITE / file.relative_to(ROOT)


def linked(file, target):
    """The file that a link leads to: for a folder, its README.md."""
    path = (file.parent / unquote(target)).resolve()
    return path / "README.md" if path.is_dir() else path


def converted(file):
    """A page made of Markdown or of a notebook, pictures beside it."""
    to = place(file)
    body = command(
        ["pandoc", "-f", READERS[file.suffix], "-t", "html5", "--mathml", BOXES,
         "--wrap=preserve", f"--extract-media={to.stem}-pictures", str(file)],
        cwd=to.parent)
    alt = "A plot; the text below it says what it shows" \
        if file.suffix == ".ipynb" else ""
    body = re.sub(r"<img\b(?![^>]*\balt=)", f'<img alt="{alt}"', body)
    title = re.search(r"<h1[^>]*>(.*?)</h1>", body, re.DOTALL)
    if not title:
        fail(f"{file} has no heading")
    base = relpath(DOCS, file.parent) + "/"
    return full_page(re.sub("<[^>]+>|\n", " ", title[1]).strip(),
                     finish(body), top=0, base=base, name=file.stem.lower(),
                     footer=f"Made from {file.relative_to(ROOT)} by "
                     "<code>make site</code>.")


def book():
    """All chapters on one page: the texts of their pages, one after the other."""
    chapters = [*((c.page, c.anchor) for c in Book().chapters), (LAST[0], f"chapter-{LAST[0]}")]
    whole = "\n".join(body_of(read(f"{page}.html")) for page, _ in chapters)
    for page, anchor in chapters:
        whole = whole.replace(f'href="{page}.html#', 'href="#') \
            .replace(f'href="{page}.html"', f'href="#{anchor}"')
    return full_page("One page", whole, top=1, name="book")


def with_doors(text, file):
    """A page with the links that only the site has."""
    doors = [f'<a href="{relpath(page, file.parent)}">{name}</a>\n'
             for name, page in DOORS]
    return text.replace("</nav>\n</header>",
                        "".join(doors) + "</nav>\n</header>", 1)


def page_of(file):
    """The HTML that stands for a file."""
    if file == BOOK:
        return book()
    if file.suffix in READERS:
        return converted(file)
    return file.read_text(encoding="utf-8")


def put_page(file):
    """Puts a page into the site; returns the files it links to."""
    to, found = place(file), []

    def relinked(link):
        target = linked(file, link[2])
        if target != BOOK and not (target.is_file() and ROOT in target.parents):
            return link[0]  # pandoc's picture, or a dead link, which the check finds
        found.append(target)
        return f'{link[1]}="{relpath(place(target), to.parent)}' \
            f'{link[3] or ""}"'

    to.write_text(LINK.sub(relinked, with_doors(page_of(file), file)),
                  encoding="utf-8")
    return found


def put(file):
    """Puts a file into the site; returns the files that it needs there."""
    to = place(file)
    to.parent.mkdir(parents=True, exist_ok=True)
    if to.suffix == ".html":
        return put_page(file)
    if file in FOUND:
        to.write_text(re.sub(r'(\["(?:\w+", ")?[\w./-]+)\.(?:md|ipynb)"', r'\1.html"',
                             file.read_text(encoding="utf-8")), encoding="utf-8")
    else:
        shutil.copy(file, to)
    return []


def main():
    check_programs()
    emptied(SITE)
    waiting, done = [ROOT / "README.md", *FOUND, *ASSETS, LIVE], set()
    while waiting:
        file = waiting.pop()
        if file not in done:
            done.add(file)
            waiting += put(file)
    pages = {path: Page(path) for path in sorted(SITE.rglob("*.html"))}
    claim({DOCS / "index.html", BOOK, LIVE, *(ROOT / "notebook").glob("*.ipynb")} <= done,
          f"{SITE.relative_to(ROOT)}/ has the walkthrough, the labs and the book: {len(pages)} pages")
    check_links(pages)
    end()


if __name__ == "__main__":
    main()

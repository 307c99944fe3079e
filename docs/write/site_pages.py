"""Puts write.html, if it has been built, into build/site, with links to it: one at
the top of each page, and one below each line that the book breaks.

    python3 docs/write/site_pages.py        `make write` and `make site` do it
"""

import html
import os
import re
import shutil
import sys
from pathlib import Path

DOCS = Path(__file__).resolve().parent.parent
ROOT = DOCS.parent
PAGE = ROOT / "build" / "write" / "write.html"
SITE = ROOT / "build" / "site"


def broken():
    """{text of the lines: name} of what the book breaks."""
    sys.path.append(str(DOCS / "book" / "weave"))
    import breaking
    return {"\n".join(breaking.difference(breaking.plant(name)[0])): name
            for name in breaking.BROKEN}


def linked(text, address, names):
    """A page of the book, with links to write.html at this address."""
    left = dict(names)

    def after(block):
        shown = html.unescape(re.sub("<[^>]+>", "", block[0])).strip()
        lines = next((lines for lines in left if shown.startswith(lines)), None)
        name = left.pop(lines, None)
        return block[0] + (f'\n<p><a href="{address}#break={name}">Break it here: this '
                           "line, changed, in the page that compiles it</a></p>"
                           if name else "")

    text = re.sub(r'<div class="sourceCode"><pre [^>]*class="sourceCode diff">.*?</pre></div>',
                  after, text, flags=re.S)
    return text.replace("</nav>\n</header>", f'<a href="{address}">Write it here</a>\n'
                        "</nav>\n</header>", 1)


def put():
    if not PAGE.is_file():
        return
    SITE.mkdir(parents=True, exist_ok=True)
    names = broken()
    for page in SITE.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        address = os.path.relpath(SITE / PAGE.name, page.parent) \
            + ("#own=tiny" if page.name == "tiny.html" else "")
        if page.name != PAGE.name and f'href="{address}"' not in text:
            page.write_text(linked(text, address, names), encoding="utf-8")
    shutil.copy(PAGE, SITE / PAGE.name)


if __name__ == "__main__":
    put()

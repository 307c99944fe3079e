#!/usr/bin/env python3
"""Checks the woven pages, docs/*.html, against transformer.c and each other.

    python3 docs/check.py        the last line is "N passed, N failed"
"""

import csv
import re
import statistics
import subprocess
import sys
import tempfile
from html.parser import HTMLParser
from pathlib import Path

import weave

DOCS, ROOT = weave.DOCS, weave.ROOT
counts = {True: 0, False: 0}
VOID = {"meta", "link", "br", "hr", "img", "input"}


def claim(holds, text, found=()):
    counts[bool(holds)] += 1
    print(("ok   " if holds else "FAIL ") + text)
    for one in list(found)[:10]:
        print("     |", one)


def none(found, text):
    """A claim that nothing was found which should not be."""
    claim(not found, text, found)


class Page(HTMLParser):
    """What the checks ask about one page."""

    def __init__(self, path):
        super().__init__()
        self.name = path.name
        self.ids, self.links, self.tags, self.headings = [], [], [], []
        self.lines = {}         # line number -> text, of numbered listings
        self.words = []         # text that a reader sees
        self.loaded, self.unnamed, self.math = [], [], 0
        self.open = []          # tags that are open
        self.line = None
        self.html = path.read_text(encoding="utf-8")
        self.feed(self.html)
        self.close()

    def handle_starttag(self, tag, attributes):
        a = dict(attributes)
        self.tags.append(tag)
        if "id" in a:
            self.ids.append(a["id"])
        if tag == "a" and "href" in a:
            self.links.append(a["href"])
        if tag in ("script", "img", "iframe", "object") or \
                (tag == "link" and not a.get("href", "").startswith("data:")):
            self.loaded.append(f"{tag} {a}")
        if tag == "svg" and not (a.get("role") == "img"
                                 and len(a.get("aria-label", "")) > 40):
            self.unnamed.append(str(a))
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(int(tag[1]))
        self.math += tag == "math"
        if tag == "span" and re.fullmatch(r"L\d+", a.get("id", "")):
            self.line = int(a["id"][1:])
            self.lines[self.line] = ""
            self.depth = len(self.open)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag in VOID:
            return
        self.open.pop()
        if self.line and len(self.open) == self.depth:
            self.line = None

    def handle_data(self, data):
        if self.line:
            self.lines[self.line] += data
        elif not {"style", "annotation", "pre", "code"} & set(self.open):
            self.words.append(data)


def check_coverage(pages, source):
    """Every line of code once, in order, byte for byte; the rest is prose."""
    chapters = sorted(n for n in pages if re.match(r"\d\d-", n))
    shown = [item for n in chapters for item in pages[n].lines.items()]
    lines = source.split("\n")
    numbers = [n for n, _ in shown]
    claim(numbers == sorted(set(numbers)),
          "each line of a listing stands in one chapter, in the file's order")
    none([n for n, text in shown if text != lines[n - 1]],
         "each line of a listing is that line of transformer.c")
    code = dict(shown)
    rebuilt = "\n".join(code.get(i, "") for i, line in enumerate(lines, 1)
                        if not line.startswith("//"))
    claim(rebuilt == "\n".join(l for l in lines if not l.startswith("//")),
          "the listings of all chapters are transformer.c without its prose")
    claim(pages["book.html"].lines == code, "so are those of the one page")
    whole = "\n".join(pages["source.html"].lines.values())
    claim(whole == source.rstrip("\n"), "the source page is the whole file")


def check_functions(pages, book):
    """What the compiler finds in the file has a contract in the book."""
    with tempfile.NamedTemporaryFile(suffix=".o") as file:
        subprocess.run(["cc", "-std=c11", "-O0", "-DTRANSFORMER_NO_MAIN", "-c",
                        str(ROOT / "transformer.c"), "-o", file.name],
                       check=True)
        names = subprocess.run(["nm", "-g", file.name], check=True,
                               capture_output=True, text=True).stdout
    functions = set(re.findall(r" T (\w+)", names))
    known = {n for n, d in book.defined.items() if d[1] == "function"}
    claim(len(functions) > 200, f"transformer.c has {len(functions)} functions")
    none(sorted(functions - known), "each of them is in the index of functions")
    none(sorted(n for n in functions
                if len(" ".join(book.defined[n][4]).split()) < 3),
         "each has a contract above it")
    text = pages["functions.html"].html
    none(sorted(n for n in functions if f"<code>{n}</code>" not in text),
         "each is on the page of functions")


def check_links(pages):
    ids = {name: set(page.ids) for name, page in pages.items()}
    dead = []
    for name, page in pages.items():
        for link in page.links:
            if re.match("https?:", link):
                continue
            target, _, anchor = link.partition("#")
            target = target or name
            if target not in ids or anchor and anchor not in ids[target]:
                dead.append(f"{name}: {link}")
    none(dead, "no link leads nowhere")
    none([n for n, p in pages.items() if len(p.ids) != len(set(p.ids))],
         "no address is used twice on a page")
    reached = {link.partition("#")[0] for p in pages.values() for link in p.links}
    none(sorted(set(pages) - reached), "each page is linked from another")


def check_pages(pages):
    none([n for n, p in pages.items() if p.loaded],
         "nothing is loaded: no script, no image, no style from elsewhere")
    none([f"{n}: {u[:60]}" for n, p in pages.items() for u in p.unnamed],
         "each figure has a text alternative")
    none([n for n, p in pages.items() if p.tags.count("main") != 1
          or 'lang="en"' not in p.html or p.headings.count(1) != 1
          and n != "book.html"], "each page has a language, one main, one title")
    none([n for n, p in pages.items()
          if any(b > a + 1 for a, b in zip(p.headings, p.headings[1:]))],
         "no heading skips a level")


def check_math(pages, source):
    tex = re.compile(r"\\[A-Za-z]{3,}|\$\$")
    none([f"{n}: {w.strip()[:60]}" for n, p in pages.items()
          for w in p.words if tex.search(w)], "no TeX is left in the text")
    written = len(re.findall(r"^// \$\$", source, re.MULTILINE))
    shown = sum(p.math for n, p in pages.items() if re.match(r"\d\d-", n))
    claim(shown >= written > 10,
          f"all {written} formulas of the file are MathML ({shown} with those "
          "of boxes and questions)")


def check_balance(book):
    """Short listings, and no long function without a comment."""
    sizes = [sum(bool(line) for line in b.lines) for c in book.chapters
             for b in c.blocks if b.kind == "code"]
    claim(statistics.median(sizes) <= 12,
          f"half of the {len(sizes)} listings have at most "
          f"{statistics.median(sizes):.0f} lines of code; the longest, a table "
          f"of options, has {max(sizes)}")
    lines = book.source.split("\n")
    bare = [f"{name}, {last - first + 1} lines"
            for name, (_, kind, first, last, _) in book.defined.items()
            if kind == "function" and last - first + 1 > 35
            and not any("//" in line for line in lines[first - 1:last])]
    none(bare, "no function of more than 35 lines is without a comment")
    markers = sum(l.lstrip().startswith("//@") for l in lines)
    claim(markers < 0.03 * len(lines), f"markers are {markers} of "
          f"{len(lines)} lines")


def check_readme():
    """Two tables of docs/runs stand in README.md, too, in other columns."""
    def numbers(text):
        return re.findall(r"\d+(?:[.,]\d+)*", text)

    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = [numbers(line) for line in readme.splitlines() if line[:2] == "| "]
    for name in "platforms", "speed":
        with open(DOCS / "runs" / f"{name}.csv", encoding="utf-8") as file:
            rows = [" ".join(row) for row in list(csv.reader(file))[1:]]
        none([row for row in rows if numbers(row) not in shown],
             f"README shows the {len(rows)} rows of docs/runs/{name}.csv")


def main():
    book = weave.Book()
    pages = {p.name: Page(p) for p in sorted(DOCS.glob("*.html"))}
    check_coverage(pages, book.source)
    check_functions(pages, book)
    check_links(pages)
    check_pages(pages)
    check_math(pages, book.source)
    check_balance(book)
    check_readme()
    print(f"{counts[True]} passed, {counts[False]} failed")
    sys.exit(counts[False] > 0)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""The weaver stops at whatever does not fit, the checks of its pages find what is wrong
in them, one more line in transformer.c changes few lines of the pages, and another pandoc
changes only the pages whose text has changed.

    python3 docs/book/test/test_weaver.py        after `make docs`

Each check plants something in a copy of a file. The last line is "N passed, N failed".
"""

import difflib
import os
import re
import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "weave"))

import project
from project import DOCS, ROOT

import breaking
import c_code
import chapters
import pages
import search
import sitting
import test_pages
from book import Book
from harness import claim, end
from source_file import Broken
from weave import woven

WORK = ROOT / "build" / "weaver-test"
SOURCE = (ROOT / "transformer.c").read_text(encoding="utf-8")
count = 0


def copy(text):
    """A file of its own, because what has been read once is remembered."""
    global count
    count += 1
    path = WORK / str(count) / "transformer.c"
    path.parent.mkdir(parents=True)
    path.write_text(text, encoding="utf-8")
    return path


def planted(pattern, text):
    """The file with a text in the place of the first that the pattern finds."""
    found = re.search(pattern, SOURCE, re.M)
    return copy(SOURCE[:found.start()] + found.expand(text) + SOURCE[found.end():])


def refused(text, wanted, work):
    """The work ends with a message that has the wanted words."""
    try:
        work()
        said = "nothing was refused"
    except (SystemExit, Broken) as why:
        said = str(why)
    claim(re.search(wanted, said), f"refused: {text}", said)


def weave(path, number=0):
    book = Book(path)
    return chapters.chapter_markdown(book, book.chapters[number])


# ------------------------------------------------------------- what does not fit

NEXT = "//@ chapter numbers\n"  # the lines stand before it, at the end of chapter 0
SECOND = SOURCE[:SOURCE.index(NEXT)].count("\n") + 2  # the number of the second of them
LINES = {
    "//@ figur attention": "unknown marker: //@ figur attention",
    "    //@ end": "//@ end without a //@ exercise before it",
    "    //@ exercise lost": "exercise lost has no //@ end",
    "//@ exercise one\n//@ end\n//@ exercise one\n//@ end": "exercise one is here a second time",
    "//@ figure": "unknown marker: //@ figure",
    "//prose": "prose begins with",
    "//@ figure nothing": "there is no figure nothing",
    "// A paragraph.\n//@ figure masks instead": r"c:\d+: there is no drawing above",
    "//@ run echo out; exit 3": "status 3",
    "//@ run true": "prints nothing",
    "//@ run build/examples nothing": "there is no example nothing",
    "//     dx_i = Σ_j (dy_j": r"\d: a formula: \) should stand where the end stands",
    "//     dx_i = Σ_j dy_j)": r"a formula: the end should stand where \) stands",
    "//     dx_i =": "a formula: the end is not expected there",
    "//     dx_i = dy_j   since j = = i": "a formula: = is not expected there",
    "//     dx_i = dy_j % 2": "a formula: there is no sign '%' in formulas",
    "//     dx_i = dy_j  since j is i": "a reason stands three blanks off: since",
    "//     dx_i = dy_j over all j": "a reason stands three blanks off: over all",
    "//     dx_i = dy_j   because j is i": "because j is i' is neither shapes.* nor a reason",
    "//     dx_i = dy_ j": "a name, a number or . should touch _",
    "//     dx_i = 1 2   3 4": "'3 4' is neither",
    "// Raising dx_i = = 2 shifts it.": "a formula: the end is not expected there",
    "// See chapter 99.": "there is no chapter 99",
    "//@ plumbing": "unknown marker: //@ plumbing",
    "// ## New\n//@ core": "where nothing is plumbing",
    "// ## Letters": "two sections named",
    "//@ chapter lost\n// # Lost": f"c:{SECOND}: the heading has no number: Lost",
    "//@ chapter lost\n// # 7. Lost": f"c:{SECOND}: the chapters are not numbered 0, 1, 2",
    "//@ chapter lost\n// Lost": f"c:{SECOND}: chapter lost does not begin with its heading",
}


def test_refusals():
    for lines, message in LINES.items():
        refused(lines.replace("\n", " / "), message, lambda: weave(
            copy(SOURCE.replace(NEXT, f"{lines}\n\n{NEXT}", 1))))
    book = Book()
    places = {"f": ("a", "b", "c")}
    head = "| term | place | sentence |\n|--|--|--|\n"
    for row, message in (("| word | lost | It leads nowhere. |", "terms.md:3: .* no lost"),
                         ("| softmax | f | Twice. |\n" * 2, "two rows have softmax"),
                         ("| softmax | f |", "a sentence stand between")):
        refused(row, message, lambda: search.read_terms(head + row, places))
    refused("a chapter that promises nothing", "one promise for each chapter",
            lambda: pages.contents_list(book, {"00-manual": "read"}))
    refused("a line to break that is not there", "found 0 times in softmax_backward",
            lambda: breaking.place("x", "softmax_backward", "lost[j]", ""))
    refused("one that is there twice", r"found \d\d? times in softmax_backward",
            lambda: breaking.place("x", "softmax_backward", ";", ""))
    for marks in (["float *lost("], ["each (j, D)"], ["int main", "argc, char"], ["int main"]):
        refused(f"of tiny.c {marks}", "marks .* lines of tiny.c|no mark for the first",
                lambda: sitting.pieces(marks))
    refused("a function that is not there", "has 0 functions lost",
            lambda: c_code.function(ROOT / "transformer.c", "lost"))
    path, project.ENVIRONMENT["PATH"] = os.environ["PATH"], ""
    os.environ["PATH"] = ""
    refused("no pandoc", "^weaver: pandoc not found: apt-get install pandoc",
            project.check_programs)
    os.environ["PATH"] = project.ENVIRONMENT["PATH"] = path


# ------------------------------------------------------------- what is wrong in pages

# A page, a pattern in it, what comes in its place, and what then is found.
WRONG = [
    ("testing", "</main>", '<a href="tested.html">a link</a></main>', "tested.html"),
    ("01-numbers", "</main>", '<a href="functions.html#nothing">it</a></main>', "#nothing"),
    ("gpt", "</main>", '<a href="/testing.html">it</a></main>', "/testing.html"),
    ("04-embedding", "</main>", "<pre><code>dx_i = 1</code></pre></main>", "dx_i = 1"),
    ("05-feed-forward", "</main>", '<pre><span id="L7"></span></pre></main>', "L7"),
    ("course", "</main>", "<p>::: tutorial</p></main>", "::: tutorial"),
    ("gpt", "</main>", "<p>has query weights</p></main>", "has query weights"),
    ("lesson", "</main>", '<script src="https://a.b/c.js"></script></main>', "a.b/c.js"),
    ("06-residual", "<mo>∑</mo>", "<mo>⨊</mo>", "⨊"),
    ("11-training", 'stroke="none"|fill="none"', 'stroke="red"', "red"),
    ("02-attention", "(?m)^<mtr>.*<mo>∑.*\n", "", "these blocks are"),
    ("13-looking", "</code></pre>", ";</code></pre>", "transformer.c without its prose"),
    ("03-multi-head", '<span id="([a-z])', r'<span id="other_\1', "multi_head_forward"),
    ("12-decoding", '<a href="[^"]*#extend_cache"[^>]*>(extend_cache)</a><span', r"\1<span",
     "12-decoding.html: extend_cache"),
]


def failures(pages, book):
    """What the checks of pages say of these."""
    found = []
    test_pages.claim = lambda holds, text, why="": holds or found.append(f"{text}: {why}")
    test_pages.none = lambda wrong, text: test_pages.claim(not wrong, text, wrong)
    test_pages.check_pages_of(book, pages)
    return found


def test_checks():
    book = Book()
    sound = {p.name: test_pages.Page(p) for p in sorted(DOCS.glob("*.html"))
             if p.name != test_pages.LIVE}
    found = failures(sound, book)
    claim(not found, "the checks find nothing wrong in the pages", found)
    for name, pattern, text, wanted in WRONG:
        page = sound[f"{name}.html"]
        other = re.sub(pattern, text, page.html)
        found = failures({**sound, page.path.name: test_pages.Page(page.path, other)}, book)
        claim(other != page.html and any(wanted in why for why in found),
              f"found: {wanted} in {name}", found)


# ------------------------------------------------------------- what changes what

def changed(before, after):
    """{name: how many lines, removed and added}"""
    found = {}
    for name, text in after.items():
        lines = list(difflib.unified_diff(before[name].split("\n"), text.split("\n"),
                                          lineterm="", n=0))
        if lines:
            found[name] = sum(line[0] in "+-" for line in lines) - 2
    return found


def put(files, name):
    folder = WORK / name
    folder.mkdir()
    for file, text in files.items():
        (folder / file).write_text(text, encoding="utf-8")
    return folder


STUB = """#!/bin/sh
[ "$1" != --version ] || { echo pandoc 9.9; exit; }
%s "$@" | sed 's|<p>|<p >|; s|<ul>|<ul class="tight">|'
"""


def test_changes():
    # The page that a line changes is woven by this machine's pandoc before, too.
    begin = woven(Book(), folder=put({p.name: p.read_text(encoding="utf-8") for p in DOCS.glob(
        "*.html") if p.name != "03-multi-head.html"}, "committed"))
    folder = put(begin, "pages")
    for what, pattern, line in (
            ("the prose of chapter 3", r"//@ chapter multi_head\n.*\n//\n", "// One more.\n"),
            ("a function", r"^\w.*\bmulti_head_forward\([^{;]*\{\n", "    // One more.\n")):
        there = woven(Book(planted(pattern, r"\g<0>" + line)), folder=folder)
        now = changed(begin, there)
        pages = [name for name in now if name not in ("names.js", "texts.js")]
        claim("03-multi-head.html" in now and len(pages) <= 2 and sum(now.values()) <= 12,
              f"one more line in {what} changes few lines", now)
    bin_folder, pandoc = WORK / "bin", shutil.which("pandoc")
    bin_folder.mkdir()
    (bin_folder / "pandoc").write_text(STUB % pandoc)
    (bin_folder / "pandoc").chmod(0o755)
    typo = planted(r"(//@ chapter residual\n.*\n//\n// )\w+", r"\1Tpyo")
    path = os.environ["PATH"]
    project.ENVIRONMENT["PATH"] = f"{bin_folder}:{path}"
    there = woven(Book(typo), folder=folder)
    project.ENVIRONMENT["PATH"] = path
    now = changed(begin, there)
    claim("<p >" in there["06-residual.html"] and set(now) <= {
        "06-residual.html", "texts.js"},
        "another pandoc weaves anew the page of a typo, and no other", now)
    here = woven(Book(typo), folder=put(there, "theirs"))
    claim(here == there, "and this one finds all of them up to date", changed(there, here))


def main():
    shutil.rmtree(WORK, ignore_errors=True)
    test_refusals()
    test_checks()
    test_changes()
    end()


if __name__ == "__main__":
    main()

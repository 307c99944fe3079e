#!/usr/bin/env python3
"""Checks the woven pages, docs/*.html, against transformer.c and each other.
website.py checks the links of its pages by check_links().

    python3 docs/book/test/test_pages.py        the last line is "N passed, N failed"
"""

import html
import json
import re
import sys
from collections import Counter
from fractions import Fraction
from html.parser import HTMLParser
from os.path import normpath
from pathlib import Path
from urllib.parse import unquote

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "weave"))

from project import DOCS, ROOT

import c_code
import drawing
import formula
from book import Book, unmarked
from directives import BLANK, blank_parts
from harness import claim, end, none
from pages import exercises
from source_file import plain

ASSETS = DOCS / "assets"
STYLE = (ASSETS / "style.css").read_text(encoding="utf-8")
VOID = {"meta", "link", "br", "hr", "img", "input"}
SHARED = {f"assets/{name}" for name in ("icon.svg", "script.js", "serif.woff2", "style.css")}
LATER = ["names.js", "texts.js", "assets/minisearch.js"]  # the script loads them when needed
CONTRACTS = {  # of five functions, what their cards say
    "sum": "the sum Σⱼ x[j]", "min_int": "The smaller of two numbers.",
    "checked_product": "a · b; fails if it is too large", "matmul_add":
    "c += a b; the threads share the work",
    "softmax_row": "x[j] = softmax over the visible x, n numbers, in place"}
NEVER = {"no TeX is left in the text": r"\\[A-Za-z]{3,}|\$\$",
         "weights are those of attention, and what is trained are parameters":
         r"(?i)(query|key|value|output|embedding|initial)\s+weights|weights\s+and\s+biases"}
LIVE = "live.html"  # has a script and a test of its own


class Page(HTMLParser):
    """What the checks ask about one page."""

    def __init__(self, path, text=None):
        super().__init__()
        self.path = path
        self.ids, self.links, self.tags = [], [], []
        self.listings = []      # the program's text
        self.names = []         # names in each that are links
        self.anchors = {}       # id -> its listing, and its line there
        self.words = []         # text that a reader sees
        self.math_text = ""     # what of it is in formulas, without words
        self.loaded, self.unnamed, self.math = [], [], 0
        self.open = []          # tags that are open
        self.depth = None       # of the listing that is open
        self.html = text or path.read_text(encoding="utf-8")
        self.feed(self.html)
        self.close()

    def handle_starttag(self, tag, attributes):
        a = dict(attributes)
        self.tags.append(tag)
        if "id" in a:
            self.ids.append(a["id"])
        if tag == "a" and "href" in a:
            self.links.append(a["href"])
            if self.depth is not None:
                self.names[-1].add(a["href"].partition("#")[2])
        elif "src" in a or tag in ("link", "object"):
            file = a.get("src") or a.get("href") or a.get("data") or ""
            if not file.startswith("data:"):
                self.loaded.append(file)
        if a.get("role") == "img" and len(a.get("aria-label", "")) <= 40 \
                or tag == "svg" and a.get("aria-hidden") != "true":
            self.unnamed.append(str(a))
        self.math += tag == "math" and a.get("display") == "block"
        if tag == "pre" and "program" in a.get("class", "").split():
            self.depth = len(self.open)
            self.listings.append("")
            self.names.append(set())
        elif self.depth is not None and "id" in a:
            self.anchors[a["id"]] = (len(self.listings) - 1,
                                     self.listings[-1].count("\n"))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag in VOID:
            return
        self.open.pop()
        if len(self.open) == self.depth:
            self.depth = None

    def handle_data(self, data):
        if self.depth is not None:
            self.listings[-1] += data
        elif not {"style", "annotation", "pre", "code"} & set(self.open):
            self.words.append(data)
            if "math" in self.open and "mtext" not in self.open:
                self.math_text += data


def check_coverage(pages, book):
    """Every line of code is shown once, in order, byte for byte; the rest is prose."""
    shown = [text for c in book.chapters
             for text in pages[f"{c.page}.html"].listings]
    first = book.source.index("//@ chapter ")
    pieces = map(unmarked, re.split(r"^(?://.*\n)+", book.source[first:], flags=re.MULTILINE))
    code = [piece.strip("\n") for piece in pieces if piece.strip("\n")]
    claim(len(code) > 300 and shown == code,
          f"the {len(shown)} listings of the chapters are transformer.c without "
          "its prose and marks, each line once, in the file's order",
          [f"{a[:60]!r} is not {b[:60]!r}" for a, b in zip(shown, code)
           if a != b])


def check_sitting(pages, _):
    """Every line of tiny.c stands once on the page for one sitting, in short pieces."""
    code = (ROOT / "notebook" / "programs" / "tiny.c").read_text(encoding="utf-8").splitlines()
    pieces = [(int(first), html.unescape(re.sub("<[^>]+>", "", piece)).split("\n"))
              for piece, first in re.findall(r'<pre [^>]*class="sourceCode c tiny">(.*?)</pre>.*?'
                                             r'data-lines="(\d+)', pages["tiny.html"].html, re.DOTALL)]
    shown = [numbered for first, piece in pieces for numbered in enumerate(piece, first)]
    wrong = Counter(enumerate(code, 1))
    wrong.subtract(shown)
    claim(len(pieces) > 40, f"tiny.c stands in the {len(pieces)} pieces of its page")
    none([line for line, n in wrong.items() if n and line[1]],
         f"each of its {len(code)} lines stands once, under its number")
    none([piece[0] for _, piece in pieces if len(piece) > 20], "none has more than 20 lines")


def check_anchors(pages, book):
    """A name's address leads to the line that says the name."""
    lost = []
    for name, (chapter, _, lines, _) in book.defined.items():
        page = pages[f"{chapter.page}.html"]
        listing, line = page.anchors.get(name, (None, 0))
        if listing is None or \
                not page.listings[listing].split("\n", line)[line].startswith(
                    unmarked("\n".join(lines))):
            lost.append(f"{page.path.name}#{name}")
    none(lost, f"the addresses of {len(book.defined)} functions, types and so on "
         "lead to them")
    none([f"{p.path.name}: {m}" for p in pages.values() for m in
          re.findall(r"(?:id=\"|#)(?:L|cb)?\d+(?:-\d+)?\"", p.html)],
         "no address is the number of a line")


def check_functions(pages, book):
    """Each function has its place in the book, and none is long."""
    functions = {its.name: its for its in c_code.definitions(ROOT / "transformer.c")
                 if its.kind == "function"}
    known = {n for n, d in book.defined.items() if d[1] == "function"}
    claim(len(functions) > 200, f"transformer.c has {len(functions)} functions")
    none(sorted(set(functions) - known), "each of them is in the index of functions")
    none(sorted(n for n in known if len(" ".join(book.defined[n][3]).split()) < 3),
         "each has a contract above it")
    said = {n: " ".join(d[3]) for n, d in book.defined.items() if d[1] == "function"}
    none([f"{n}: {text}" for n, text in said.items()
          if list(said.values()).count(text) > 1], "no two functions share a contract")
    none([f"{n}: {said[n]}" for n, text in CONTRACTS.items() if said[n] != text],
         f"{len(CONTRACTS)} contracts are those that touch their functions")
    text = pages["functions.html"].html
    none(sorted(n for n in known if f"<code>{n}</code>" not in text),
         "each is on the page of functions")
    none([f"{n}: {len(f.lines)} lines, {c_code.parameters(f)} parameters"
          for n, f in functions.items()
          if len(f.lines) > 40 or c_code.parameters(f) > 6],
         "none has more than 40 lines or six parameters")
    none([n for n, f in functions.items() if len(f.lines) > 35
          and not any("//" in line for line in f.lines)],
         "none of more than 35 lines is without a comment")
    passes = [n for n in functions if re.search("(?<!transformer)_(for|back)ward$", n)]
    none([n for n, after in zip(passes, [*passes[1:], ""])
          if n.endswith("_forward") and after != n[:-len("forward")] + "backward"],
         f"each x_forward is followed by its x_backward ({len(passes)})")


def check_calls(pages, book):
    """Calls in listings, except those in macros, lead to the function, unless it
    stands in the same listing."""
    functions = {n for n, d in book.defined.items() if d[1] == "function"}
    calls, lost = 0, []
    for page in (pages[f"{c.page}.html"] for c in book.chapters):
        for code, names in zip(page.listings, page.names):
            called = functions & set(re.findall(r"(\w+)\(", plain(code)))
            here = {name for name, (listing, _) in page.anchors.items()
                    if page.listings[listing] == code}
            calls += len(called)
            lost += [f"{page.path.name}: {name}" for name in called - names - here]
    none(lost, f"{calls} calls in the listings are links")


def tree_of_calls(book):
    """(caller or None, name, the chapters that stand after it) of each name in the tree
    of chapter 11: to the right of a dash stands what the line's first name calls."""
    text = re.search(r"^// ## Who calls whom\n//\n((?://     .*\n)+)", book.source, re.M)
    above = []
    for line in text[1].splitlines():
        indent, said, numbers = re.fullmatch(r"//([^a-z]*)(.*?) +([\d, ]+)", line).groups()
        above = [(column, name) for column, name in above if column < len(indent)]
        first, *rest = said.partition(":")[0].split(" ─ ")
        names = first.split(", ")
        found = [(above[-1][1] if above else None, name) for name in names]
        found += [(names[0], name) for part in rest for name in part.split(", ")]
        above.append((len(indent), names[0]))
        yield from ((caller, name, numbers.split(", ")) for caller, name in found
                    if re.fullmatch(r"[a-z_\d]+", name))


def check_tree(book):
    """Each name is a function of a chapter whose number follows it, and is called by the
    name before it, or by one that this calls."""
    users, wrong, count = book.users(), [], 0

    def reaches(caller, name, seen):
        new = set(users.get(name, ())) - seen
        return caller in new or any(reaches(caller, user, seen | new) for user in new)

    for caller, name, numbers in tree_of_calls(book):
        count += 1
        if name not in book.defined or str(book.defined[name][0].number) not in numbers:
            wrong.append(f"{name} is no function of chapter {', '.join(numbers)}")
        elif caller and not reaches(caller, name, set()):
            wrong.append(f"{caller} does not call {name}")
    claim(count > 19 and not wrong, f"who calls whom is as the manual says ({count} names)",
          wrong)


def check_links(pages):
    """Links and what is loaded, for pages by their resolved path."""
    dead, ids = [], {path: set(page.ids) for path, page in pages.items()}
    for path, page in pages.items():
        for link in page.links + page.loaded:
            if link in page.links and re.match("(https?|mailto):", link):
                continue
            target, _, anchor = unquote(link).partition("#")
            file = Path(normpath(path.parent / target)) if target else path
            if link.startswith("/") or not file.is_file() \
                    or anchor and file.name != LIVE \
                    and anchor not in ids.get(file, ()):
                dead.append(f"{path.name}: {link}")
    count = sum(len(page.links) for page in pages.values())
    none(dead, f"each of {count} links leads somewhere, by a relative path")


def check_reached(pages):
    reached = {link.partition("#")[0] for p in pages.values() for link in p.links}
    none(sorted(set(pages) - reached), "each page is linked from another")


def check_pages(pages, _):
    none([f"{n}: {file}" for n, p in pages.items() for file in p.loaded
          if file not in SHARED], f"pages load {' and '.join(sorted(SHARED))} and nothing else")
    none([file for file in re.findall(r"url\([\"']?(.*?)[\"']?\)", STYLE)
          if not (ASSETS / file).is_file()] + re.findall("@import.*", STYLE),
         "the style loads fonts beside it, and nothing from elsewhere")
    claim((ASSETS / "script.js").stat().st_size < 50_000, "the script has at most 50 kB")
    sizes = set(re.findall(r"font-size: (?!inherit|0)([^;}]+)", STYLE.split("@page")[0]))
    none(sorted(size for size in sizes if len(sizes) > 8 or not size.startswith("var(--")),
         "letters have the eight sizes that are named at the top")
    none([f"{n}: {u[:60]}" for n, p in pages.items() for u in p.unnamed],
         "each figure has a text alternative")
    none([name for name in drawing.COLORS if STYLE.count(f" --{name}: #") < 2],
         "each color of the figures has a value for light and one for dark")
    none([f"{n}: {color}" for n, p in pages.items() for color in
          re.findall(r'\b(?:fill|stroke)="([^"]*)"', p.html)
          if not re.match(r"var\(--|(currentColor|none)$", color)],
         "figures have no other colors")
    none([n for n, p in pages.items() if p.tags.count("main") != 1
          or 'lang="en"' not in p.html or p.tags.count("h1") != 1],
         "each page has a language, one main, one title")
    none([f"{n}: {words.strip()[:60]}" for n, p in pages.items()
          for words in p.words if re.search(r"(^|\s):::", words)],
         "no box is left open, none is closed twice")


def read_rows(name):
    """The rows of a script of docs/ that begins with a list."""
    return json.loads(re.match(r".*?= (\[\n.*?\n\])[;.]", (DOCS / name).read_text(
        encoding="utf-8"), re.DOTALL)[1])


def check_script(pages, book):
    """What the search and the pop-up know is in the book."""
    found, texts = map(read_rows, LATER[:2])
    code = (ASSETS / "script.js").read_text(encoding="utf-8")
    places = {f"{name}#{anchor}" for name, page in pages.items()
              for anchor in page.ids} | set(pages)
    none([place for place in [row[1] for row in found] + [row[0] for row in texts]
          if place not in places and ("#" in place or not (DOCS / place).is_file())],
         f"each of the {len(found)} things that can be found leads somewhere, and "
         f"so do {len(texts)} texts")
    none(sorted(set(pages) - {row[0].partition("#")[0] for row in texts}
                - {"functions.html", "terms.html"}), "the text of each page can be found")
    none(sorted(set(book.defined) - {row[2] for row in found if row[5]}),
         "the pop-up knows all that is defined")
    terms = {row[2] for row in found if row[0] == "term"}
    none([name for name in sorted(terms) if f"<dt>{html.escape(name)}" not in
          pages["terms.html"].html and f">{html.escape(name)}</span></dt>"
          not in pages["terms.html"].html], f"the index has all {len(terms)} terms")
    none([row[2] for row in found if row[0] == "function" and row[2] in CONTRACTS
          and html.unescape(re.sub("<[^>]*>", "", row[4])).split() != CONTRACTS[row[2]].split()],
         "and says what the contract says")
    loads = r"\bfetch\(|\bimport\(|XMLHttpRequest|\bsrc = `?\w+|\.js\"|\w+\.html"
    claim(set(re.findall(loads, code)) <= {"src = BASE", "src = `$", '.js"', LIVE}
          and all(f'"{name}"' in code for name in LATER),
          f"the script loads {', '.join(LATER)} and {LIVE} beside it and nothing else",
          re.findall(loads, code))


def check_math(pages, book):
    for what, sign in NEVER.items():
        none([f"{n}: {' '.join(w.split())[:60]}" for n, p in pages.items()
              for w in p.words if re.search(sign, w)], what)
    shown = sum(pages[f"{c.page}.html"].math for c in book.chapters)
    blocks = [block.splitlines() for block in
              re.findall(r"(?:^//     .*\n)+", book.source, re.MULTILINE)]
    blocks = [block for block in blocks if formula.is_formula(block)]
    claim(shown >= len(blocks) > 30, f"the {len(blocks)} blocks of formulas are MathML "
          f"({shown} with those of boxes and questions)")
    lines = sum(map(len, blocks))
    rows = sum(pages[f"{c.page}.html"].tags.count("mtr") for c in book.chapters)
    claim(rows == lines > 40, f"the {lines} lines of these blocks are {rows} "
          "rows")
    none([f"{c.page}: {text[:60]!r}" for c in book.chapters for text in
          re.findall(r"<pre[^>]*><code>(.*?)</code></pre>",
                     pages[f"{c.page}.html"].html, re.DOTALL)
          if formula.is_formula(html.unescape(text).splitlines())],
         "no block of a chapter that is a formula is shown as it was typed")


def check_font(pages):
    """The font in the style sheet has what formulas are made of."""
    codes = re.findall(r"U\+(\w+)(?:-(\w+))?", re.search("unicode-range: (.*);", STYLE)[1])
    has = {chr(code) for first, last in codes
           for code in range(int(first, 16), int(last or first, 16) + 1)}
    none([f"{n}: {sorted(missing)}" for n, p in pages.items()
          if (missing := set(p.math_text) - has - {"\n"})],
         f"the font has all signs of the formulas, {len(has)} in all")


def check_markers(book):
    lines = book.source.split("\n")
    markers = sum(l.lstrip().startswith("//@") for l in lines)
    claim(markers < 0.04 * len(lines), f"markers are {markers} of {len(lines)} lines, "
          "less than 4 %", "remove another marker, or prose says what this one says")


def check_blanks():
    """Numbers to type, and what is said of wrong ones."""
    known = {f"{e.name}: {say}" for e in exercises()
             for say in re.findall(r"^[=~] (.+)$", e.mistakes, re.MULTILINE)}
    found = [(path.stem, [answer, *(wrong for wrong, *_ in usual)], usual)
             for path in sorted((DOCS / "book" / "text").glob("*.md"))
             for text in BLANK.findall(path.read_text(encoding="utf-8"))
             for answer, usual in [blank_parts(text)]]
    none([f"{page}: {number}" for page, numbers, _ in found for number in numbers
          if not re.fullmatch(r"-?\d+(\.\d+|/\d+)?", number)],
         f"the {len(found)} blanks want numbers")
    none([f"{page}: {numbers[0]}" for page, numbers, _ in found
          if len(set(map(Fraction, numbers))) < len(numbers)],
         "no wrong number is named twice or right")
    none([f"{page}: {region}: {sentence}" for page, _, usual in found
          for _, region, sentence in usual
          if region and f"{region}: {sentence}" not in known],
         "what they quote is what the exercises' grader says")


def check_claims():
    """Where a text quotes claims of a test, `tests/…`: "…", the test makes them."""
    quotes = re.compile(r'`tests/([\w./-]+)`:((?:,?\s+"[^"]+")+)')
    found = [(path.name, file, " ".join(words.split()))
             for path in sorted((DOCS / "book" / "text").glob("*.md"))
             for file, said in quotes.findall(path.read_text(encoding="utf-8"))
             for words in re.findall('"([^"]+)"', said)]
    wrong = [f"{page}: {file}: {words}" for page, file, words in found
             if not claims(ROOT / "tests" / file, words)]
    claim(len(found) > 50 and not wrong,
          f"the {len(found)} claims that are quoted are made by the tests", wrong)


# Names in texts that are those of other programs, or stand for any name.
OTHERS = set("""bench_torch create_causal_mask create_padding_mask keep_default_na
    make_model max_score no_scale norm_first run_autograder run_epoch seq_len subsequent_mask
    surname_transformer train_gpt2 transformer_base_v1 transformer_base_v2 zero_grad""".split())


def check_names():
    """No text quotes a name that the code no longer has."""
    files = [path for folder in ("docs", "notebook", "tests", "data")
             for path in (ROOT / folder).rglob("*")]
    code = [ROOT / "transformer.c", *(path for path in files if path.suffix in (".c", ".h"))]
    known = OTHERS | {e.name for e in exercises()} | {path.stem for path in files} | {
        name for path in code for name in re.findall(r"\w+", path.read_text("utf-8"))}
    texts = [*ROOT.glob("*.md"), *(path for folder in ("book/text", "exercises", "")
                                   for path in (DOCS / folder).glob("*.md"))]
    quoted = [(path.name, name) for path in texts if path.name != "CHANGELOG.md"
              for said in re.findall("`([^`\n]+)`", path.read_text("utf-8"))
              for name in re.findall(r"\b[a-z][a-z\d]*(?:_[a-z\d]+)+\b", said)]
    none([f"{text}: {name}" for text, name in quoted if name not in known],
         f"{len(quoted)} names that texts quote are in the code")


def claims(test, words):
    """Does the test make a claim of these words, or one that begins with them? The test's
    words may have places for numbers and names."""
    if not test.is_file():
        return False
    strings = re.sub(r'"\s*"', "", test.read_text(encoding="utf-8"))
    return any(words in text or "%" in text and re.match(
        re.sub("%[\\\\.0-9]*[a-z]+", ".+", re.escape(text)), words)
        for text in re.findall(r'"((?:[^"\\]|\\.)+)"', strings))


def check_picture(book):
    """The small picture of attention is everywhere that of the same run."""
    run = (DOCS / "book" / "records" / "red-car.txt").read_text(encoding="utf-8")
    picture = run[run.rindex("heads\n\n"):].rstrip().split("\n")[2:]
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    claim(len(picture) > 8 and run.split("\n")[0] in readme
          and "\n".join(picture) in re.sub(r"(\|.*\|) .*", r"\1", readme)  # notes beside it
          and "".join(f"//     {line}\n" for line in picture) in book.source,
          f"README.md and chapter 13 show the {len(picture)} lines of the picture "
          "in docs/book/records/red-car.txt")


def check_pages_of(book, pages):
    """All that is checked of the pages, {name: Page}."""
    for one in (check_coverage, check_sitting, check_anchors, check_functions, check_calls,
                check_pages, check_script, check_math):
        one(pages, book)
    check_links({page.path: page for page in pages.values()})
    check_reached(pages)
    check_font(pages)


def main():
    book = Book()
    check_tree(book)
    check_picture(book)
    check_blanks()
    check_claims()
    check_names()
    check_markers(book)
    check_pages_of(book, {p.name: Page(p) for p in sorted(DOCS.glob("*.html"))
                          if p.name != LIVE})
    end()


if __name__ == "__main__":
    main()

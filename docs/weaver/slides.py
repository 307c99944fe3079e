#!/usr/bin/env python3
"""Makes build/slides/, a lecture for each chapter, woven from the book: there is no
second text.

    python3 docs/weaver/slides.py               after `make docs`
    python3 docs/weaver/slides.py 02-attention  only this chapter
    HIDE=1 python3 docs/weaver/slides.py        without what the exercises ask for

A chapter's slides are its short edition: what each section begins with, its formulas,
figures and tables, the code of the core under its contract, and what examples print. The
rest of the prose is in the speaker's notes (key S). What is to be worked out by hand
follows, each number shown by a key. Each file is one HTML page that needs no network:
pandoc puts reveal.js into it, which npm installs.

The last line is "N passed, N failed".
"""

import html
import os
import re
import shutil
import sys

import blanks
import check
import source_file
from book import Book
from common import ROOT, check_programs, command, emptied, fail, read
from course import promises
from directives import output
from figures import figure
from finish import MARKDOWN
from folds import is_heading, of_edition
from prose import contract, contract_of, set_formulas

SLIDES = ROOT / "build" / "slides"
PARTS = ROOT / "build" / "slides-parts"  # what they are made with
REVEAL = "reveal.js@4.6.1"  # the last that this pandoc knows
SHOWN, MOST = 28, 26  # lines of output, and of code, on one slide
ROWS = 20  # of a table in C, which only begins on a slide
STYLE = ("math", ".math", "mtext", ".panels", "figure svg", "figure .panels", ".kw",
         ".dv", ".co,", ".co ", ".diff")


def style():
    """Of the book's style, its colours and what formulas, figures and code look
    like; and what slides have of their own."""
    book = read("source/style.css")
    rules = re.findall(r"^:root \{.*?^\}\n", book, re.S | re.M)
    rules += [line for line in book.split("\n") if line.startswith(STYLE)]
    return "\n".join(rules) + read("source/font.css") + read("source/slides.css")


# ---------------------------------------------------------------- slides

class Chapter:
    """A chapter's slides, while they are made."""

    def __init__(self, chapter):
        self.chapter, self.section, self.slides = chapter, chapter.title, []

    def add(self, text, title=None):
        self.slides.append([title or self.section, text, []])

    def note(self, text):
        if text.strip() and self.slides:
            self.slides[-1][2].append(text)

    def markdown(self, promise):
        out = [f"## {self.chapter.label} {{.first}}\n\nAfter this chapter you can {promise}."]
        for title, text, notes in self.slides:
            out.append(f"## {title}\n\n{text}")
            if notes:
                out.append("::: notes\n" + "\n\n".join(notes) + "\n:::")
        return "\n\n".join(out) + "\n"


def is_shown(paragraph):
    """Formulas, tables and drawings stand on a slide of their own."""
    return paragraph.startswith(("    ", "\n~~~", "~~~"))


def last_sentence(paragraph):
    """That which leads to what is shown below it."""
    text = " ".join(paragraph.split())
    return re.split(r"(?<=[.?!]) (?=[A-Z*`])", text)[-1]


def add_prose(made, block, below):
    lines = block.lines[is_heading(block):]
    if is_heading(block):
        level, _, title = block.lines[0].partition(" ")
        made.section = made.chapter.title if level == "#" else title
    if below and below.kind == "code" and below.touches:
        lines = lines[:len(lines) - len(contract_of(block.lines))]
    text = "\n".join(set_formulas(lines, block.line)).strip("\n")
    paragraphs = [p for p in re.split(r"\n\n+(?!~)", text) if p.strip()]
    above = None
    for paragraph in paragraphs:
        first = is_heading(block) and paragraph is paragraphs[0]
        if is_shown(paragraph) and above == "first":
            made.slides[-1][1] += "\n\n" + paragraph
        elif is_shown(paragraph):
            said = last_sentence(above) if above not in (None, "shown") else ""
            made.add(f"{said}\n\n{paragraph}")
        elif first:
            made.add(paragraph)
        else:
            made.note(paragraph)
        above = "shown" if is_shown(paragraph) else "first" if first else paragraph


def in_parts(lines, room):
    """Code cut for slides with that much room, the first of which has less: before a
    comment or after a blank line, if there is one in the second half."""
    parts = []
    while len(lines) > room:
        ends = [n for n in range(room // 2, room + 1) if not lines[n - 1].strip()
                or lines[n].lstrip().startswith("//")]
        end = ends[-1] if ends else room
        parts.append(lines[:end])
        lines, room = lines[end:], MOST
    return [*parts, lines]


def add_code(made, block, above):
    said, its = "", contract_of(above.lines) if above and above.kind == "prose" else []
    if its and block.touches and not (is_heading(above) and len(its) == len(above.lines)):
        said = "::: contract\n" + "\n".join(
            set_formulas(contract(its).split("\n"), above.line)) + "\n:::\n\n"
    lines = "\n".join(line for line in block.lines if "//@" not in line).strip("\n").split("\n")
    if len(lines) > 2 * MOST:  # a table: how it begins
        lines = lines[:ROWS] + ["    …"]
    title = ", ".join(f"`{name}`" for name in [*block.defined][:3]) or made.section
    parts = in_parts(lines, MOST - said.count("\n") if said else MOST)
    for n, part in enumerate(parts, 1):
        code = "\n".join(part).strip("\n")
        made.add(f"{said}``` {{.c}}\n{code}\n```",
                 f"{title} ({n} of {len(parts)})" if len(parts) > 1 else title)
        said = ""


def add_figure(book, made, block):
    """A figure; what stands below it in the book is said."""
    picture = figure(book, block.text(), f"transformer.c:{block.line}")
    made.add(picture)
    made.note(" ".join(re.findall(r"<figcaption>(.*?)</figcaption>", picture, re.S)))


def add_run(made, block):
    text = output(block.text(), f"transformer.c:{block.line}")
    if text.count("\n") <= SHOWN:
        made.add(text)


def hidden_numbers(text):
    """Blanks as numbers that a key shows, one after the other."""
    def number(found):
        answer = html.escape(blanks.parts(found[1])[0])
        return f'`<span class="fragment answer">{answer}</span>`{{=html}}'
    return blanks.BLANK.sub(number, text)


def add_by_hand(made, page):
    """What is worked out by hand: a slide for each paragraph that has numbers."""
    found = re.search(r"^@byhand\n(.*?)(?=^@|\Z)", read(f"source/{page}.md"), re.S | re.M)
    made.section = "By hand"
    for paragraph in found[1].split("\n\n") if found else ():
        if "{{" in paragraph:
            made.add(hidden_numbers(paragraph))


def slides_of(book, chapter, promise):
    made = Chapter(chapter)
    book.figures_used.clear()  # so that each has its address here
    shown = of_edition(chapter, "short")
    for above, block, below in zip([None, *shown], shown, [*shown[1:], None]):
        if block.kind == "prose":
            add_prose(made, block, below)
        elif block.kind == "code":
            add_code(made, block, above)
        elif block.kind == "figure":
            add_figure(book, made, block)
        elif block.kind == "run":
            add_run(made, block)
    add_by_hand(made, chapter.page)
    return made.markdown(promise)


# ---------------------------------------------------------------- pages

def reveal():
    """The folder of reveal.js."""
    PARTS.mkdir(parents=True, exist_ok=True)
    folder = PARTS / "package"
    if not folder.exists():
        command(["npm", "pack", "--silent", REVEAL], cwd=PARTS)
        command(["tar", "xzf", f"{REVEAL.replace('@', '-')}.tgz"], cwd=PARTS)
    return folder


def put(chapter, markdown, folder):
    (PARTS / f"{chapter.page}.md").write_text(markdown, encoding="utf-8")
    command(["pandoc", "-f", MARKDOWN, "-t", "revealjs", "-s", "--self-contained",
             "--slide-level=2", "--fail-if-warnings", "-V",
             f"revealjs-url={folder}", "-V", "theme=serif", "-V", "center=false", "-V",
             "transition=none", "-V", "hash=true", "-V", "width=1100", "-V",
             "height=720", "--metadata", f"pagetitle={chapter.label}", "--metadata",
             "lang=en", "-H", "head.html", "-o",
             str(SLIDES / f"{chapter.page}.html"), f"{chapter.page}.md"], cwd=PARTS)


def put_index(chapters):
    items = "".join(f'<li><a href="{c.page}.html">{html.escape(c.label)}</a></li>\n'
                    for c in chapters)
    (SLIDES / "index.html").write_text(
        '<!DOCTYPE html>\n<html lang="en">\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width">\n<title>transformer.c: '
        "slides</title>\n<h1>transformer.c: slides</h1>\n<p>Space goes on, S opens the "
        f"notes, Esc shows all slides.</p>\n<ul>\n{items}</ul>\n</html>\n", encoding="utf-8")


# ---------------------------------------------------------------- checks

def check_slides(chapters):
    texts = {c.page: (SLIDES / f"{c.page}.html").read_text(encoding="utf-8")
             for c in chapters}
    bodies = {page: text[text.index('<div class="slides">'):]
              for page, text in texts.items()}
    outside = [f"{page}: {link}" for page, text in texts.items()
               for link in re.findall(r'<(?:script|link|img)[^>]* (?:src|href)="([^"+]+)"',
                                      text) if not link.startswith("data:")]
    check.none(outside, f"{len(texts)} lectures need no file but themselves")
    lost = [f"{c.page}: {name}" for c in chapters for b in of_edition(c, "short")
            for name, its in b.defined.items()
            if its.kind == "function" and not re.search(rf"\b{name}\b", bodies[c.page])]
    check.none(lost, "every function of the core is on a slide")
    figures = [(c.page, b.text()) for c in chapters for b in of_edition(c, "short")
               if b.kind == "figure"]
    check.none([f"{page}: {name}" for page, name in figures
                if f'id="figure-{name}"' not in bodies[page]],
               f"and so are its {len(figures)} figures")
    numbers = {c.page: len(blanks.BLANK.findall(read(f"source/{c.page}.md")))
               for c in chapters}
    check.none([page for page, count in numbers.items()
                if bodies[page].count('class="fragment answer"') != count],
               f"{sum(numbers.values())} numbers by hand are shown one after the other")
    empty = [f"{page}: {slide[:60]}" for page, body in bodies.items()
             for slide in re.findall(r"<section[^>]*>\s*<h\d[^>]*>.*?</h\d>\s*</section>",
                                     body)]
    check.none(empty, "no slide is empty but for its title")
    if os.environ.get("HIDE"):
        source = "\n".join(line for c in source_file.chapters(
            (ROOT / "transformer.c").read_text("utf-8"), "transformer.c")
            if c.name in {c.name for c in chapters} for line in c.lines)
        shown = html.unescape(re.sub(r"<[^>]+>", "", "".join(bodies.values())))
        answers = source_file.regions(source, "transformer.c")
        check.none([name for name, region in answers.items()
                    if all(line in shown for line in region.body)],
                   f"none shows what one of {len(answers)} exercises asks for")


def with_holes():
    """The file without what the exercises ask for, as students have it."""
    path = PARTS / "transformer.c"
    path.write_text(source_file.with_holes(
        (ROOT / "transformer.c").read_text("utf-8")), "utf-8")
    return path


def main():
    check_programs()
    if not shutil.which("npm"):
        fail("npm not found: apt-get install npm (Debian), brew install node (macOS)")
    said, folder = promises(), reveal()
    book = Book(with_holes()) if os.environ.get("HIDE") else Book()
    chapters = [c for c in book.chapters if c.page in sys.argv[1:] or not sys.argv[1:]]
    if len(chapters) < len(sys.argv[1:]):
        fail(f"there is no such chapter; there are {' '.join(c.page for c in book.chapters)}")
    emptied(SLIDES)
    (PARTS / "head.html").write_text(f"<style>\n{style()}</style>\n"
                                     + read("source/slides.html"), encoding="utf-8")
    for chapter in chapters:
        put(chapter, slides_of(book, chapter, said[chapter.page]), folder)
    put_index(chapters)
    check_slides(chapters)
    check.end()


if __name__ == "__main__":
    main()

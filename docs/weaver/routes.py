"""How long it takes to read a chapter, and ways through the book."""

import html

from blanks import BLANK
from common import fail, raw, read
from cut import definitions

WORDS, LINES = 150, 10  # read in a minute: words of prose, lines of code


def minutes(blocks):
    """How long it takes to read blocks of a chapter."""
    words = sum(len(b.text().split()) for b in blocks
                if b.kind in ("prose", "deviation"))
    lines = sum(bool(l) for b in blocks if b.kind == "code" for l in b.lines)
    return words / WORDS + lines / LINES


def chapter_minutes(chapter):
    """The same of a chapter with its boxes, blanks and questions."""
    more = BLANK.sub("number", read(f"source/{chapter.page}.md")).split()
    return minutes(chapter.blocks) + len(more) / WORDS


def to_five(duration):
    """Minutes, rounded to five."""
    return 5 * max(1, round(duration / 5))


def section_blocks(chapter, anchor):
    """The blocks of a section, without those of the sections within it."""
    headings, here, found = iter(chapter.headings), None, []
    for block in chapter.blocks:
        if block.kind == "prose" and block.lines[0].startswith("#"):
            here = next(headings)[2]
        if here == anchor:
            found.append(block)
    if not found:
        fail(f"source/index.md: {chapter.page} has no section {anchor}")
    return found


def forward_only(blocks):
    """Blocks without the backward passes and what derives them: the prose
    between the code before and such a function, in one section."""
    kept, backward = [], False
    for block in reversed(blocks):
        heading = block.kind == "prose" and block.lines[0].startswith("#")
        if block.kind == "code":
            backward = any(name.endswith("_backward")
                           for name, *_ in definitions(block))
        if not backward or heading:
            kept.append(block)
        backward = backward and not heading
    return kept


def route(book, kind, places):
    """A way through the book: how long it takes, and a link to each chapter on
    it. A place is PAGE or PAGE#SECTION; without any, it is the whole book.
    "forward" leaves out backward passes, boxes and questions; "all" does not."""
    chapters, total, stops = {c.page: c for c in book.chapters}, 0, {}
    for place in places.split() or chapters:
        page, _, section = place.partition("#")
        if page not in chapters:
            fail(f"source/index.md: there is no chapter {page}")
        chapter = chapters[page]
        blocks = section_blocks(chapter, section) if section else chapter.blocks
        if kind == "forward":
            total += minutes(forward_only(blocks))
        else:
            total += minutes(blocks) if section else chapter_minutes(chapter)
        to = f"{page}.html" + (f"#{section}" if section else "")
        name = "+" if chapter.number is None else chapter.number
        stops.setdefault(page, f'<a href="{to}" aria-label="'
                         f'{html.escape(chapter.label)}">{name}</a>')
    hours = f"{round(total / 60)} hours" if total > 90 else \
        f"{to_five(total)} minutes"
    return raw(f'<p class="stops"><span class="minutes">{hours}</span>\n'
               + "\n".join(stops.values()) + "</p>")

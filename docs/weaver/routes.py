"""How long it takes to read a chapter, and ways through the book."""

import html
import math
import re

from blanks import BLANK
from common import fail, raw, read
from folds import is_heading, of_edition

WORDS, LINES = 150, 10  # read in a minute: words of prose, lines of code


def minutes(blocks):
    """How long it takes to read blocks of a chapter; a picture is a third of a minute."""
    words = sum(len(b.text().split()) for b in blocks
                if b.kind in ("prose", "deviation"))
    lines = sum(bool(l) for b in blocks if b.kind == "code" for l in b.lines)
    pictures = sum(b.kind in ("figure", "panel") for b in blocks)
    return words / WORDS + lines / LINES + pictures / 3


def chapter_minutes(chapter, edition="full"):
    """The same of a chapter with its blanks and questions and, in the full edition,
    its boxes."""
    more = BLANK.sub("number", read(f"source/{chapter.page}.md"))
    if edition != "full":
        more = re.sub(r"^(:+) \w+\n.*?^\1$", "", more, flags=re.DOTALL | re.MULTILINE)
    return minutes(of_edition(chapter, edition)) + len(more.split()) / WORDS


def to_five(duration):
    """Minutes, rounded to five."""
    return 5 * max(1, round(duration / 5))


def section_blocks(chapter, anchor, blocks):
    """Those of the blocks that stand in a section, without the sections within it."""
    headings, here, found = iter(chapter.headings), None, []
    for block in chapter.blocks:
        if is_heading(block):
            here = next(headings)[2]
        if here == anchor:
            found.append(block)
    if not found:
        fail(f"source/index.md: {chapter.page} has no section {anchor}")
    return [block for block in found if block in blocks]


def place_minutes(book, place, edition):
    """How long PAGE, PAGE#SECTION or PAGE#figure-NAME takes in an edition. A picture
    takes a minute, a section up to its picture, PAGE#SECTION..figure-NAME, two, and a
    page that is not a chapter eight."""
    page, _, anchor = place.partition("#")
    if ".." in anchor:
        return 2
    chapter = {c.page: c for c in book.chapters}.get(page)
    if not chapter or anchor.startswith("figure-"):
        return 1 if chapter else 8
    if not anchor and edition != "forward":
        return chapter_minutes(chapter, edition)
    blocks = of_edition(chapter, edition)
    return minutes(section_blocks(chapter, anchor, blocks) if anchor else blocks)


def address(book, place, edition):
    page, _, anchor = place.partition("..")[0].partition("#")
    begins = {c.page: c.anchor for c in book.chapters}.get(page)
    return f"{page}.html?{edition}#{anchor or begins}" if begins else f"{page}.html#{anchor}"


def stops_of(book, edition, text):
    """(minute, title, address, where it ends) of the stops of a route, and how long
    it takes. Each line of the text is a stop: "PLACE…: title"."""
    stops, total = [], 0
    for line in text.strip().splitlines():
        places, _, title = line.strip().partition(": ")
        places = places.split()
        stops.append((math.ceil(total), title, address(book, places[0], edition),
                      ["", *re.split(r"#|\.\.", places[-1])[1:]][-1]))
        total += sum(place_minutes(book, place, edition) for place in places)
    return stops, total


def route(book, edition, text):
    """A way through the book in an edition: how long it takes, and its stops, each
    with the minute at which it is reached. Without stops it is the whole book."""
    stops, total = stops_of(book, edition, text)
    if not stops:
        total = sum(chapter_minutes(c, edition) for c in book.chapters)
    whole = f"{round(total / 60)} hours" if total > 90 else f"{round(total)} minutes"
    items = [f'<li><a href="{html.escape(to)}">{html.escape(title)}</a> '
             f'<span class="minutes">{at // 60}:{at % 60:02}</span></li>'
             for at, title, to, _ in stops]
    return raw(f'<p class="minutes">{whole}</p>\n' + (
        '<ol class="stops">\n' + "\n".join(items) + "\n</ol>" if items else ""))

"""The page docs/source/course.md. In it "@objectives" is a table: what a student can do
after each chapter, as the start page says it, and what checks that.
"""

import re

import blanks
import concept
from common import fail, read
from cut import LAST


def promises():
    """{page: what can be done after it}, the learning objectives of the start page."""
    rows = re.search(r"^@contents\n((?:.+: .+\n)+)", read("source/index.md"), re.M)[1]
    return dict(row.split(": ", 1) for row in rows.splitlines())


def objectives(book, exercises):
    """The table."""
    chapters = {c.page: (c.label, c.number) for c in book.chapters}
    chapters[LAST[0]] = (LAST[1], None)
    asked = concept.of_chapter()
    out = ["| chapter | after it, a student can | checked by |", "|:---|:------|:------|"]
    for page, promise in promises().items():
        label, number = chapters[page]
        count = len(blanks.BLANK.findall(read(f"source/{page}.md")))
        links = [f"[{e.number}](exercises.html#exercise-{e.slug})" for e in exercises
                 if number is not None and e.chapter == str(number)]
        ways = [f"{count} numbers by hand"] * (count > 0)
        ways += ["exercises " + ", ".join(links)] * bool(links)
        ways += ["concept test " + ", ".join(
            f"[{n}](concept-test.html#concept-{n})" for n in asked.get(page, ()))] \
            * (page in asked)
        out.append(f"| [{label}]({page}.html) | {promise} | "
                   + "; ".join(ways or ["its questions"]) + " |")
    return "\n".join(out)


def page(book, exercises):
    """The page, as Markdown."""
    before, mark, after = read("source/course.md").partition("\n@objectives\n")
    if not mark:
        fail("source/course.md: it has no @objectives")
    rows = "".join(re.findall(r"^\| +\d.*", after, re.M))
    unknown = set(re.findall(r"`(\w+)`", rows)) - {e.name for e in exercises}
    if unknown or not rows:
        fail(f"source/course.md: there are no exercises {sorted(unknown)}")
    return "\n\n".join([book.prose(before), objectives(book, exercises),
                        book.prose(after)])

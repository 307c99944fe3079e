"""The pages for a course: the concept test, docs/book/text/concept-test.md, which is also
a file in the GIFT format for learning platforms; and docs/book/text/course.md.

The questions come after "@test". Each begins with a line "? PAGE TITLE", where PAGE is a
chapter's; then come its text and the answers, one a line: "= RIGHT | WHY", and
"~ WRONG | REGION: SENTENCE", what the exercises' grader says of that mistake.
"@objectives" in course.md stands for a table: what a student can do after each chapter, as
the start page says it, and what checks that.
"""

import html
import random
import re
from collections import namedtuple
from dataclasses import dataclass, field
from functools import lru_cache

from project import DOCS, fail, read

from book import LAST, raw
from directives import BLANK

SOURCE = "book/text/concept-test.md"

Answer = namedtuple("Answer", "text is_right said")  # said: WHY, or REGION: SENTENCE


@dataclass
class Question:
    page: str
    title: str
    text: str = ""
    answers: list = field(default_factory=list)

    def mixed(self):
        """The answers, the right one in another place each time."""
        answers = self.answers[:]
        random.Random(self.title).shuffle(answers)
        return answers


@lru_cache(maxsize=None)
def questions():
    """All of them. Stops if one does not fit."""
    found = []
    for line in read(SOURCE).partition("\n@test\n")[2].splitlines():
        if line.startswith("? "):
            found.append(Question(*line[2:].split(" ", 1)))
        elif line[:2] in ("= ", "~ "):
            text, _, said = line[2:].partition(" | ")
            found[-1].answers.append(Answer(text, line[0] == "=", said))
        elif line:
            found[-1].text += line + "\n"
    mistakes = {f"{path.stem}: {say}" for path in (DOCS / "exercises").glob("pages/*.md")
                for say in re.findall(r"^= (.+)$", path.read_text(encoding="utf-8"), re.M)}
    for q in found:
        right = [a for a in q.answers if a.is_right]
        texts = {a.text for a in q.answers}
        if len(right) != 1 or len(texts) != 4 or not right[0].said or not q.text:
            fail(f"{SOURCE}: {q.title}: a question has a text, one right answer and "
                 "three wrong ones")
        for a in q.answers:
            if not a.is_right and a.said not in mistakes:
                fail(f"{SOURCE}: {q.title}: the grader does not say: {a.said}")
    return found


def function_of(book, region):
    """The function that has the region of an exercise."""
    names = [name for name, (_, _, lines, _) in book.defined.items()
             if any(line.strip() == f"//@ exercise {region}" for line in lines)]
    if len(names) != 1:
        fail(f"{SOURCE}: there is no exercise {region}")
    return names[0]


def said_of(book, answer):
    """What is said of an answer, as Markdown."""
    if answer.is_right:
        return f"**Right.** {answer.said}"
    region, _, sentence = answer.said.partition(": ")
    name = function_of(book, region)
    where = book.defined[name][0].reference
    return f"**No:** {sentence}. To read: {where}, `{name}`."


def concept_test(book):
    """The page, as Markdown."""
    out = [book.prose(read(SOURCE).partition("\n@test\n")[0])]
    for number, q in enumerate(questions(), 1):
        out += [f"## {number}. {q.title} {{#concept-{number}}}", q.text]
        for letter, a in zip("ABCD", q.mixed()):
            out += [raw(f"<details><summary>{letter}. {html.escape(a.text)}</summary>"),
                    book.prose(said_of(book, a)), raw("</details>")]
    return "\n\n".join(out)


def escaped(text):
    return re.sub(r"([~=#{}:\\])", r"\\\1", " ".join(text.split()))


def gift(book):
    """The test in the GIFT format. The category of each question is its chapter."""
    out = ["// SPDX-License-Identifier: MIT OR CC-BY-4.0",
           "// Written by docs/book/weave from docs/book/text/concept-test.md."]
    for number, q in enumerate(questions(), 1):
        answers = "".join(
            f"  {'=' if a.is_right else '~'}{escaped(a.text)}"
            f"#{escaped(re.sub('[*`]', '', said_of(book, a)))}\n" for a in q.mixed())
        out.append(f"\n$CATEGORY: transformer.c/{q.page}\n\n"
                   f"::{number:02}. {escaped(q.title)}::{escaped(q.text)} {{\n{answers}}}")
    return "\n".join(out) + "\n"


def promises():
    """{page: what can be done after it}, the learning objectives of the start page."""
    rows = re.search(r"^@contents\n((?:.+: .+\n)+)", read("book/text/index.md"), re.M)[1]
    return dict(row.split(": ", 1) for row in rows.splitlines())


def objectives(book, exercises):
    """The table."""
    chapters = {c.page: (c.label, c.number) for c in book.chapters}
    chapters[LAST[0]] = (LAST[1], None)
    out = ["| chapter | after it, a student can | checked by |", "|:---|:------|:------|"]
    for page, promise in promises().items():
        label, number = chapters[page]
        asked = [n for n, q in enumerate(questions(), 1) if q.page == page]
        count = len(BLANK.findall(read(f"book/text/{page}.md")))
        links = [f"[{e.number}](exercises.html#exercise-{e.slug})" for e in exercises
                 if number is not None and e.chapter == str(number)]
        ways = [f"{count} numbers by hand"] * (count > 0)
        ways += ["exercises " + ", ".join(links)] * bool(links)
        ways += ["concept test " + ", ".join(
            f"[{n}](concept-test.html#concept-{n})" for n in asked)] * bool(asked)
        out.append(f"| [{label}]({page}.html) | {promise} | "
                   + "; ".join(ways or ["its questions"]) + " |")
    return "\n".join(out)


def course(book, exercises):
    """The page, as Markdown."""
    before, mark, after = read("book/text/course.md").partition("\n@objectives\n")
    if not mark:
        fail("book/text/course.md: it has no @objectives")
    rows = "".join(re.findall(r"^\| +\d.*", after, re.M))
    unknown = set(re.findall(r"`(\w+)`", rows)) - {e.name for e in exercises}
    if unknown or not rows:
        fail(f"book/text/course.md: there are no exercises {sorted(unknown)}")
    return "\n\n".join([book.prose(before), objectives(book, exercises),
                        book.prose(after)])

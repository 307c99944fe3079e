"""A chapter as Markdown: its blocks, and what docs/source/ adds to it."""

import re

from blanks import with_blanks
from common import DOCS, fail, read
from cut import LAST
from directives import DIRECTIVES, directives, run
from figures import figure
from prose import anchor_of, contract, contract_of, set_formulas


def boxes(book, chapter):
    """The parts of the chapter's file in docs/source/: figures and
    boxes that stand below the first prose of a section, or follow it, what is to
    be worked out by hand, sections that end the chapter, and questions."""
    path = DOCS / "source" / f"{chapter.page}.md"
    parts = re.split(rf"^@(?!(?:{DIRECTIVES}) )(.+)\n",
                     path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    if parts[0].strip() or "questions" not in parts[1::2]:
        fail(f"{path}: parts begin with @with or @after HEADING, @byhand, "
             "@end or @questions")
    heads = [f"{word} {title}" for _, title, _ in chapter.headings
             for word in ("with", "after")]
    found = {}
    for head, text in zip(parts[1::2], parts[2::2]):
        head = head.strip()
        if head not in heads + ["byhand", "end", "questions"]:
            fail(f"{path}: {head!r} is no heading of the chapter")
        found[head] = found.get(head, "") + "\n" + directives(book, text)
    return found


def chapter_markdown(book, chapter):
    added = boxes(book, chapter)
    headings, section, out = iter(chapter.headings), None, []
    following = chapter.blocks[1:] + [None]
    for block, below in zip(chapter.blocks, following):
        where = f"transformer.c:{block.line}"
        if block.kind == "prose":
            lines = block.lines[:]
            if lines[0].startswith("#"):
                out.append(book.prose(added.get(f"after {section}", "")))
                _, section, anchor = next(headings)
                out.append(f"{lines[0]} {{#{anchor}}}")
                lines[0] = ""
            last = []
            if lines and below and below.kind == "code" and below.touches:
                last = contract_of(block.lines)
                lines = lines[:len(lines) - len(last)]
            out.append(book.prose("\n".join(set_formulas(lines, block.line))))
            if block.lines[0].startswith("#"):
                out.append(book.prose(added.get(f"with {section}", "")))
            if last:
                out.append("::: contract\n" + book.prose("\n".join(
                    set_formulas(contract(last).split("\n"),
                                 block.line + len(lines)))) + "\n:::")
        elif block.kind == "deviation":
            out.append("::: deviation\n" + book.link(block.text()) + "\n:::")
        elif block.kind == "figure":
            out.append(figure(book, block.text(), where))
        elif block.kind == "run":
            out.append(run(book, block.text(), where))
        else:
            out.append(book.listing(block))
    out.append(book.prose(added.get(f"after {section}", "")))
    if "byhand" in added:
        out.append(f"## By hand {{#{anchor_of(chapter, 'By hand')}}}\n"
                   + book.prose(with_blanks(added["byhand"])))
    out.append(book.prose(added.get("end", "")))
    out.append(f"## Questions {{#{anchor_of(chapter, 'Questions')}}}\n"
               + book.prose(added["questions"]))
    return "\n\n".join(out)


def last_chapter(book, figures=True):
    """The chapter behind those of the file; to count its words, without figures."""
    text = read(f"source/{LAST[0]}.md")
    if not figures:
        text = re.sub("^@figure .*", "", text, flags=re.MULTILINE)
    return book.link(directives(book, text))

"""Cuts transformer.c into chapters, and chapters into blocks: prose (lines that
begin with "//"), code (all other lines), and what markers bring in ("//@ ...").
"""

import re

import source_file
from c_code import definitions
from common import fail
from formula import is_formula


class Block:
    """Lines of one kind: prose, code, deviation, figure, panel or run; or a mark, plumbing
    or core, which says what the lines behind it are."""

    def __init__(self, kind, line, text=None):
        self.kind, self.line, self.lines = kind, line, [text] if text else []
        self.defined = {}  # of code: {name: Definition}

    def text(self):
        return "\n".join(self.lines)


INTERLUDE = ("engine_room", "fast")  # the chapter without a number, and its page
LAST = ("gpt", "From here to GPT")  # the last chapter, which is not in the file


class Chapter:
    """A chapter: what source_file.py found, cut into blocks."""

    def __init__(self, found):
        self.name, self.number = found.name, found.number
        self.label, self.title = found.label, found.title
        self.anchor = "chapter-" + self.name.replace("_", "-")
        self.headings = []  # (level, title, anchor)
        self.blocks = read_blocks(found)
        if self.number is not None:
            self.page = f"{self.number:02}-{self.name.replace('_', '-')}"
            self.reference = f"chapter {self.number}"
        elif self.name == INTERLUDE[0]:
            self.page, self.reference = INTERLUDE[1], "the interlude"
        else:
            fail(f"the interlude {self.name} has no page")
        trim_code(self)
        drop_twins(self)


def read_chapters(path):
    """The chapters; the lines before the first are left out."""
    text = path.read_text(encoding="utf-8").rstrip("\n")
    source_file.regions(text, "transformer.c")  # stops if one is broken
    found = [Chapter(chapter)
             for chapter in source_file.chapters(text, "transformer.c")]
    add_definitions([b for c in found for b in c.blocks if b.kind == "code"], path)
    return found


def add_definitions(blocks, path):
    """To code blocks what they define, of each name the first."""
    at = {number: block for block in blocks
          for number in range(block.line, block.line + len(block.lines))}
    for its in definitions(path):
        if its.first in at:
            at[its.first].defined.setdefault(its.name, its)


def read_blocks(found):
    """The lines of a chapter, cut where their kind changes."""
    blocks, block = [], None
    for number, line in enumerate(found.lines, found.start + 1):
        def begin(kind, text=None):
            blocks.append(Block(kind, number, text))
            return blocks[-1]

        kind, argument = source_file.marker(line, f"transformer.c:{number}")
        if kind in ("figure", "panel", "run", "deviation", "plumbing", "core"):
            block = begin(kind, "core" if kind == "core" else argument)
            block = block if kind == "deviation" else None
        elif line.startswith("//"):
            if not re.match("// |//$", line):
                fail(f"transformer.c:{number}: prose begins with '// '")
            prose = line[3:]
            if block and block.kind == "deviation" and not prose:
                block = None  # a deviation is one paragraph
            if not block or block.kind == "code" or prose.startswith("#"):
                block = begin("prose")
            block.lines.append(prose)
        else:
            if not block or block.kind != "code":
                block = begin("code")
            block.lines.append(line)
    return blocks


def trim_code(chapter):
    """Blank lines around code separate it; they are not shown."""
    for block in chapter.blocks:
        if block.kind == "code":
            block.touches = block.lines[0] != ""  # prose above is its contract
            while block.lines and not block.lines[0]:
                block.lines.pop(0)
                block.line += 1
            while block.lines and not block.lines[-1]:
                block.lines.pop()
    chapter.blocks = [b for b in chapter.blocks if b.lines]


def drop_twins(chapter):
    """"figure NAME instead" stands below a drawing in plain characters, which is
    for those who read the file; the page has the figure. A formula above it stays."""
    for block, figure in zip(chapter.blocks, chapter.blocks[1:]):
        name, _, instead = figure.text().partition(" ")
        if figure.kind != "figure" or not instead:
            continue
        figure.lines = [name]
        lines = block.lines
        while lines and not lines[-1]:
            lines.pop()
        if block.kind != "prose" or not "".join(lines[-1:]).startswith("    "):
            fail(f"transformer.c:{figure.line}: there is no drawing above")
        while lines and (not lines[-1] or lines[-1].startswith("    ")
                         and not is_formula(lines[-1:])):
            lines.pop()

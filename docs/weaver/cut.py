"""Cuts transformer.c into chapters, and chapters into blocks: prose (lines that
begin with "//"), code (all other lines), and what markers bring in ("//@ ...").
"""

import re

import source_file
from common import fail


class Block:
    """Lines of one kind: prose, code, deviation, figure, panel or run; or a mark, plumbing
    or core, which says what the lines behind it are."""

    def __init__(self, kind, line, text=None):
        self.kind, self.line, self.lines = kind, line, [text] if text else []

    def text(self):
        return "\n".join(self.lines)


INTERLUDES = {"fast_product": "fast"}  # chapters without a number: their pages
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
        elif self.name in INTERLUDES:
            self.page, self.reference = INTERLUDES[self.name], "the interlude"
        else:
            fail(f"the interlude {self.name} has no page")
        trim_code(self)
        drop_twins(self)


def read_chapters(text):
    """The chapters; the lines before the first are left out."""
    source_file.regions(text, "transformer.c")  # stops if one is broken
    return [Chapter(found)
            for found in source_file.chapters(text, "transformer.c")]


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
    for those who read the file; the page has the figure."""
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
        while lines and (not lines[-1] or lines[-1].startswith("    ")):
            lines.pop()


FUNCTION = re.compile(r"(?!typedef|enum|struct|static const)"
                      r"[A-Za-z_][\w ]*?[ *]+(\w+)\(")

TYPE = re.compile(r"\} (\w+);|typedef .*?(\w+)(?: __attribute__.*|;|\(.*)$")

TABLE = re.compile(r"(?:static )?const [\w *]+?(\w+)\[.*\] = \{")


def definitions(block):
    """(name, kind, first line, last line) of what a code block defines, once
    each; its lines are counted from 0. A prototype counts, too."""
    found = {}
    for i, line in enumerate(block.lines):
        end = i
        if function := FUNCTION.match(line):
            while block.lines[end][-1:] not in ("{", ";"):
                end += 1
            prototype = block.lines[end][-1] == ";"
            while not prototype and block.lines[end] != "}":
                end += 1
            found[function[1]] = ("prototype" if prototype else "function",
                                  i, end)
        elif defined := TYPE.match(line):
            while line[0] == "}" and not block.lines[i].startswith("typedef"):
                i -= 1
            found.setdefault(defined[1] or defined[2], ("type", i, end))
        elif table := TABLE.match(line):
            while not block.lines[end].endswith("};"):
                end += 1
            found[table[1]] = ("table", i, end)
        elif line.startswith("enum {"):
            while "}" not in block.lines[end]:
                end += 1
            text = re.sub("//.*", "", "\n".join(block.lines[i:end + 1]))
            for name in re.findall(r"[{,]\s*([A-Z]\w+)", text):
                found.setdefault(name, ("constant", i, end))
        elif macro := re.match(r"#define (\w+)", line):
            found.setdefault(macro[1], ("macro", i, i))
    return [(name, *place) for name, place in found.items()]

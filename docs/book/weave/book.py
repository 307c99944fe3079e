"""The parts of transformer.c. It is cut into chapters, and chapters into blocks: prose
(lines that begin with "//"), code (all other lines), and what markers bring in
("//@ ..."). A book knows these, what they define, and how to link to it.
"""

import itertools
import re

from project import ROOT, fail, labs

import formula
import source_file
from c_code import definitions

RAW = "\n~~~~~~~~~~"  # begins what is HTML already


def raw(text):
    return f"{RAW}{{=html}}\n{text}{RAW}\n"


# ------------------------------------------------------------------ chapters

class Block:
    """Lines of one kind: prose, code, deviation, figure, panel or run; or a mark, plumbing
    or core, which says what the lines after it are."""

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
    """Gives code blocks what they define; for each name the first definition."""
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
                         and not formula.is_formula(lines[-1:])):
            lines.pop()


# ---------------------------------------------------------------- its names

def anchor_of(chapter, title):
    words = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")
    return f"{chapter.name}-{words}".replace("_", "-")


def unmarked(code):
    """Code without the lines that are marks."""
    return re.sub(r"^ *//@.*\n", "", code, flags=re.MULTILINE)


def is_heading(block):
    return block.kind == "prose" and block.lines[0].startswith("#")


def contract_of(lines):
    """The part of a prose block that is the contract of the code below it."""
    last = max((i + 1 for i, l in enumerate(lines) if not l), default=0)
    whole = not lines[0].startswith("#") and len(lines) <= 16
    return lines if whole else lines[last:]


class Book:
    def __init__(self, path=ROOT / "transformer.c"):
        self.source = path.read_text(encoding="utf-8")
        self.chapters = read_chapters(path)
        self.defined = {}  # name -> (chapter, kind, lines, contract)
        self.declared = {}  # name -> the comment of its prototype
        self.deviations = []
        self.figures_used = set()
        self.labs = labs()
        for chapter in self.chapters:
            self.scan(chapter)
        self.numbered = [c for c in self.chapters if c.number is not None]

    def scan(self, chapter):
        """Headings, definitions and deviations of a chapter."""
        prose = []
        for block in chapter.blocks:
            if block.kind == "prose":
                heading = re.match(r"(#+) (.+)", block.lines[0])
                if heading:
                    self.add_heading(chapter, len(heading[1]), heading[2])
            if block.kind == "deviation":
                self.deviations.append((chapter, block.text()))
            if block.kind == "code":
                touching = contract_of(prose) if block.touches and prose else []
                for name, its in block.defined.items():
                    own = touching if its.first == block.line else []
                    if its.kind == "prototype":
                        beside = re.findall("// (.*)", "\n".join(its.lines))
                        self.declared[name] = beside or own
                        continue
                    self.defined[name] = (chapter, its.kind, its.lines,
                                          own or self.declared.get(name, []))
            prose = block.lines if block.kind == "prose" else []

    def add_heading(self, chapter, level, title):
        anchor = anchor_of(chapter, title)
        if level == 1:
            anchor = chapter.anchor
        if any(a == anchor for _, _, a in chapter.headings):
            fail(f"chapter {chapter.name}: two sections named {title!r}")
        chapter.headings.append((level, title, anchor))

    def link(self, text):
        """Prose with links to the chapters, labs and functions that it names."""
        def to_chapter(m):
            number = int(m[2])
            if number >= len(self.numbered):
                fail(f"there is no chapter {number}: {text[:60]!r}")
            return f"[{m[1]}\u00a0{m[2]}]({self.numbered[number].page}.html)"

        def to_definition(m):
            if m[1] not in self.defined:
                return m[0]
            return f"[{m[0]}]({self.place(m[1])})"

        def to_lab(m):
            if m[1] not in self.labs:
                fail(f"there is no lab {m[1]}: {text[:60]!r}")
            return f"[{m[0]}]({self.labs[m[1]][0]})"

        def to_section(m):
            chapter = self.numbered[int(m[2])]
            return f"[{m[0]}]({chapter.page}.html#{anchor_of(chapter, m[1])})"

        text = re.sub(r"(?<!\S)->(?!\S)", "→", text)
        text = re.sub(r"(?<=\w)'(?=\()", "′", text)  # of a derivative, f'(x)
        text = re.sub(r'"([^"]+)",\schapter (\d+)', to_section, text)
        text = re.sub(r"\b([Cc]hapter)\s(\d+)\b(?![^\[]*\]\()", to_chapter, text)
        text = re.sub(r"\b[Ll]ab\s(\d+)\b(?![^\[]*\]\()", to_lab, text)
        text = re.sub(r"\binterlude\b(?![^\[]*\]\()", f"[\\g<0>]({INTERLUDE[1]}.html)", text)
        return re.sub(r"(?<!\[)`(\w+)`(?!\])", to_definition, text)

    def prose(self, text):
        """Paragraphs with links; what is indented is left alone."""
        return "\n\n".join(p if p.startswith(("    ", RAW)) else self.link(p)
                           for p in text.split("\n\n"))

    def place(self, name):
        """The address of what a name stands for."""
        return f"{self.defined[name][0].page}.html#{name}"

    def options(self):
        """(name, line in the table, what its help says) of each option."""
        text = "\n".join(self.defined["options"][2])
        found = []
        for row in re.finditer(r'^    \{"(.*?)".*?\},?$', text,
                               re.MULTILINE | re.DOTALL):
            strings = re.findall(r'"([^"]*)"', row[0])
            found.append((row[1], text.count("\n", 0, row.start()), strings[-1]))
        if len(found) < 20:
            fail("transformer.c: the table of options cannot be read")
        return found

    def option_place(self, name):
        return f"{self.defined['options'][0].page}.html#option-{name}"

    def users(self):
        """For each function, those that use it, in the file's order."""
        found = {}
        for user, (_, kind, lines, _) in self.defined.items():
            if kind != "function":
                continue
            code = source_file.plain("\n".join(lines))
            for name, call in re.findall(r"(?<![.>\w])([A-Za-z_]\w*)(\()?", code):
                its = found.setdefault(name, [])
                if (call or "_" in name) and user not in (name, *its):
                    its.append(user)
        return found

    def caption(self, name, kind):
        """A name above a listing leads to its definition."""
        link = f'<a href="{self.place(name)}"><code>{name}</code></a>'
        where = self.defined[name][0].reference
        return f"{link} (defined in {where})" if kind == "prototype" else link

    def listing(self, block, contract):
        """A code block without marks, under the names that it defines and their contract.
        finish() turns "names" into an anchor at the line of each."""
        captions = ", ".join(self.caption(its.name, its.kind)
                             for its in block.defined.values())
        captions += "".join(
            f'\n<a class="write" href="exercises.html#exercise-{name.replace("_", "-")}">'
            f"write it: {name}</a>" for name in re.findall("//@ exercise (.+)", block.text()))
        anchors = [(its.name, its.first - block.line) for its in block.defined.values()
                   if its.kind != "prototype"]
        if "options" in block.defined:
            anchors += [(f"option-{option}", dict(anchors)["options"] + line)
                        for option, line, _ in self.options()]
        above = list(itertools.accumulate(int("//@" not in line) for line in block.lines))
        names = " ".join(f"{name}:{above[line]}" for name, line in anchors)
        return "\n".join([
            "", ":::: listing", raw(f'<p class="where">{captions}</p>') if captions else "",
            f"::: contract\n{contract}\n:::\n" if contract else "",
            f'``` {{.c .program names="{names}"}}', unmarked(block.text()), "```", "::::", ""])

"""What transformer.c has: its chapters and what they define; and how prose and
listings lead there.
"""

import re

import finding
from common import RAW, ROOT, fail, labs, raw
from cut import INTERLUDE, read_chapters
from prose import anchor_of, contract_of


class Book:
    def __init__(self, path=ROOT / "transformer.c"):
        self.source = path.read_text(encoding="utf-8")
        self.chapters = read_chapters(path)
        self.defined = {}  # name -> (chapter, kind, lines, contract)
        self.declared = {}  # name -> contract of its prototype
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
                prose = block.lines
                heading = re.match(r"(#+) (.+)", block.lines[0])
                if heading:
                    self.add_heading(chapter, len(heading[1]), heading[2])
            if block.kind == "deviation":
                self.deviations.append((chapter, block.text()))
            if block.kind == "code":
                text, above = "\n".join(contract_of(prose)), None
                for name, its in block.defined.items():
                    if its.kind == "prototype":
                        self.declared[name] = text
                        continue
                    if its.kind == "function" and above:
                        text = f"Stands below `{above}`, without a contract of its own."
                    above = name if its.kind == "function" else above
                    self.defined[name] = (chapter, its.kind, its.lines,
                                          self.declared.get(name, text).split("\n"))

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

    def caption(self, name, kind):
        """A name above a listing leads to its definition."""
        link = f'<a href="{self.place(name)}"><code>{name}</code></a>'
        where = self.defined[name][0].reference
        return f"{link} (defined in {where})" if kind == "prototype" else link

    def listing(self, block):
        """A code block under the names that it defines. finish() turns
        "names" into an anchor at the line of each."""
        captions = ", ".join(self.caption(its.name, its.kind)
                             for its in block.defined.values())
        anchors = [(its.name, its.first - block.line) for its in block.defined.values()
                   if its.kind != "prototype"]
        if "options" in block.defined:
            anchors += [(f"option-{option}", dict(anchors)["options"] + line)
                        for option, line, _ in finding.options(self)]
        names = " ".join(f"{name}:{line + 1}" for name, line in anchors)
        return (raw(f'<p class="where">{captions}</p>') if captions else "") \
            + f'\n``` {{.c .program names="{names}"}}\n' + block.text() \
            + "\n```\n"

#!/usr/bin/env python3
"""Weaves the walkthrough from transformer.c.

    python3 docs/weave.py        writes docs/*.html and docs/script.js;
                                 `make docs` prepares it

transformer.c is cut into chapters; each chapter is prose (lines that begin
with "//"), code (all other lines) and markers ("//@ ..."). Prose becomes
Markdown, code becomes listings, markers bring in figures and the output of
commands. docs/source/ adds boxes and questions to each chapter and has the
pages that are not chapters. formula.py sets the formulas that the prose writes
in plain characters; pandoc turns Markdown, TeX and C into HTML; what it makes is
put into docs/page.tmpl. Below a drawing in plain characters, "//@ figure NAME
instead" puts the figure in its place. finding.py links the names in listings and
makes the index of terms and docs/script.js. The Markdown of every page is left in
build/docs/.

Places have names, never numbers of lines: a section has its heading's, a
function its own. So a page changes only if what stands on it changes.

Whatever does not fit (an unknown marker, a command that fails, a figure that
nobody uses, a formula that cannot be set) stops it with a message.
"""

import csv
import hashlib
import html
import inspect
import itertools
import os
import re
import shutil
import string
import subprocess
import sys
from pathlib import Path

import breaking
import drawing
import finding
import formula
import plots
import records
import source_file

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
BUILD = ROOT / "build" / "docs"  # `make docs` has built the programs in here
OFF = ("smart raw_html citations subscript superscript fancy_lists "
       "example_lists line_blocks implicit_figures").split()
MARKDOWN = "-".join(["markdown"] + OFF)
ENVIRONMENT = dict(os.environ, LC_ALL="C.UTF-8", NO_COLOR="1", COLUMNS="80",
                   FONTCONFIG_FILE=str(DOCS / "figures" / "fonts.conf"))


TITLE = "transformer.c"
PACKAGES = {"pandoc": "pandoc", "dot": "graphviz"}  # program: its package


def fail(message):
    sys.exit(f"weave.py: {message}")


def check_programs():
    missing = [program for program in PACKAGES if not shutil.which(program)]
    if missing:
        packages = " ".join(PACKAGES[program] for program in missing)
        fail(f"{' and '.join(missing)} not found: apt-get install {packages} "
             f"(Debian), brew install {packages} (macOS)")


def read(path):
    return (DOCS / path).read_text(encoding="utf-8")


def command(argv, text=None, cwd=BUILD):
    """The output of a program; its failure is ours."""
    done = subprocess.run(argv, input=text, capture_output=True, text=True,
                          cwd=cwd, env=ENVIRONMENT)
    if done.returncode:
        fail(f"{' '.join(argv)}: status {done.returncode}\n{done.stderr}")
    return done.stdout


# ------------------------------------------------------------ transformer.c

class Block:
    """Lines of one kind: prose, code, deviation, figure or run."""

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
        if kind in ("figure", "run", "deviation"):
            block = begin(kind, argument)
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


# ----------------------------------------------------------------- Markdown

def anchor_of(chapter, title):
    words = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")
    return f"{chapter.name}-{words}".replace("_", "-")


RAW = "\n~~~~~~~~~~"  # begins what is HTML already


def raw(text):
    return f"{RAW}{{=html}}\n{text}{RAW}\n"


def contract_of(lines):
    """The part of a prose block that is the contract of the code below it."""
    last = max((i + 1 for i, l in enumerate(lines) if not l), default=0)
    whole = not lines[0].startswith("#") and len(lines) <= 16
    return lines if whole else lines[last:]


def contract(lines):
    """A contract as Markdown. A line that ends early ends on purpose."""
    out = []
    for line, after in zip(lines, lines[1:] + [""]):
        short = len("// " + line) + 1 + len(after.split(" ")[0]) <= 66
        if line.startswith("    ") or not line or not after:
            out.append(line)
        else:
            out.append(line + ("\\" if short or line.endswith("]") else ""))
    return "\n".join(l if l.startswith("    ") else re.sub(r" {2,}", "\u2003", l)
                     for l in out)


def kind_of(numbered):
    """What a line of prose belongs to."""
    _, line = numbered
    return "block" if line.startswith("    ") else \
        "text" if line and not line.startswith("$$") else ""


def set_formulas(lines, first):
    """Lines of prose, which begin at line `first` of the file, with formulas in
    MathML: blocks, and what stands in a sentence."""
    out = []
    for kind, part in itertools.groupby(enumerate(lines, first), kind_of):
        numbers, text = zip(*part)
        try:
            if kind == "block" and formula.is_formula(text):
                out.append(raw(formula.mathml(text)))
            elif kind == "text":
                out.append(formula.sentence("\n".join(text)))
            else:
                out += text
        except formula.Wrong as wrong:
            *row, why = wrong.args
            fail(f"transformer.c:{numbers[sum(row)]}: a formula: {why}")
    return out


class Book:
    def __init__(self):
        self.source = (ROOT / "transformer.c").read_text(encoding="utf-8")
        self.chapters = read_chapters(self.source.rstrip("\n"))
        self.defined = {}  # name -> (chapter, kind, lines, contract)
        self.declared = {}  # name -> contract of its prototype
        self.deviations = []
        self.figures_used = set()
        self.outputs = {}  # of commands
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
                text = "\n".join(contract_of(prose))
                for name, kind, first, last in definitions(block):
                    if kind == "prototype":
                        self.declared[name] = text
                        continue
                    self.defined[name] = (
                        chapter, kind, block.lines[first:last + 1],
                        self.declared.get(name, text).split("\n"))

    def add_heading(self, chapter, level, title):
        anchor = anchor_of(chapter, title)
        if level == 1:
            anchor = chapter.anchor
        if any(a == anchor for _, _, a in chapter.headings):
            fail(f"chapter {chapter.name}: two sections named {title!r}")
        chapter.headings.append((level, title, anchor))

    def link(self, text):
        """Prose with links to the chapters and functions that it names."""
        def to_chapter(m):
            number = int(m[2])
            if number >= len(self.numbered):
                fail(f"there is no chapter {number}: {text[:60]!r}")
            return f"[{m[1]}\u00a0{m[2]}]({self.numbered[number].page}.html)"

        def to_definition(m):
            if m[1] not in self.defined:
                return m[0]
            return f"[{m[0]}]({self.place(m[1])})"

        def to_interlude(m):
            pages = [c.page for c in self.chapters if c.number is None]
            if len(pages) != 1:
                fail(f"there is not one interlude: {text[:60]!r}")
            return f"[{m[0]}]({pages[0]}.html)"

        text = text.replace(" -> ", " → ")
        text = re.sub(r"\b([Cc]hapter)\s(\d+)\b(?![^\[]*\]\()", to_chapter, text)
        text = re.sub(r"\binterlude\b(?![^\[]*\]\()", to_interlude, text)
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
        defined = definitions(block)
        captions = ", ".join(self.caption(name, kind)
                             for name, kind, *_ in defined)
        anchors = [(name, first) for name, kind, first, _ in defined
                   if kind != "prototype"]
        for name, first in anchors[:]:
            if name == "options":
                anchors += [(f"option-{option}", first + line) for option, line, _
                            in finding.options(self)]
        names = " ".join(f"{name}:{line + 1}" for name, line in anchors)
        return (raw(f'<p class="where">{captions}</p>') if defined else "") \
            + f'\n``` {{.c .program names="{names}"}}\n' + block.text() \
            + "\n```\n"

    def figure(self, name, where):
        dot = DOCS / "figures" / f"{name}.dot"
        if dot.exists():
            title, description, svg = graph(dot)
        elif name in plots.PLOTS:
            title, description, svg = plot(name)
        else:
            fail(f"{where}: there is no figure {name}")
        anchor = "" if name in self.figures_used else f' id="figure-{name}"'
        self.figures_used.add(name)
        picture = f'<div class="panels" role="img" aria-label="' \
            f'{html.escape(description)}">\n{panels(svg)}\n</div>'
        return raw(f'<figure{anchor} tabindex="0">\n{picture}\n'
                   f"<figcaption>{html.escape(title)}</figcaption>\n</figure>")

    def output(self, line, where):
        """A command and its output."""
        if line not in self.outputs:
            print(f"$ {line}", flush=True)
            self.outputs[line] = command(["sh", "-c", line]).rstrip("\n")
        output = self.outputs[line]
        if not output:
            fail(f"{where}: the command prints nothing: {line}")
        return printed(line, output)

    def run(self, line, where):
        """The same; for an example, with the lines that print it."""
        out = self.output(line, where)
        example = re.fullmatch(r"build/examples (\w+)", line)
        if example:
            name = "example_" + example[1]
            out += raw("<details>\n<summary>The function that prints this: "
                       f"<code>{name}</code></summary>") \
                + f"\n``` c\n{function_text(name)}\n```\n" + raw("</details>")
        return out

    def boxes(self, chapter):
        """The parts of the chapter's file in docs/source/: boxes that follow
        a section, sections that end the chapter, and questions."""
        path = DOCS / "source" / f"{chapter.page}.md"
        parts = re.split(rf"^@(?!(?:{DIRECTIVES}) )(.+)\n",
                         path.read_text(encoding="utf-8"), flags=re.MULTILINE)
        if parts[0].strip() or "questions" not in parts[1::2]:
            fail(f"{path}: parts begin with @after HEADING, @end or @questions")
        heads = [f"after {title}" for _, title, _ in chapter.headings]
        found = {}
        for head, text in zip(parts[1::2], parts[2::2]):
            head = head.strip()
            if head not in heads + ["end", "questions"]:
                fail(f"{path}: {head!r} is no heading of the chapter")
            found[head] = found.get(head, "") + "\n" + directives(self, text)
        return found

    def chapter_markdown(self, chapter):
        boxes = self.boxes(chapter)
        headings, section, out = iter(chapter.headings), None, []
        following = chapter.blocks[1:] + [None]
        for block, below in zip(chapter.blocks, following):
            where = f"transformer.c:{block.line}"
            if block.kind == "prose":
                lines = block.lines[:]
                if lines[0].startswith("#"):
                    out.append(self.prose(boxes.get(f"after {section}", "")))
                    _, section, anchor = next(headings)
                    out.append(f"{lines[0]} {{#{anchor}}}")
                    lines[0] = ""
                last = []
                if lines and below and below.kind == "code" and below.touches:
                    last = contract_of(block.lines)
                    lines = lines[:len(lines) - len(last)]
                out.append(self.prose("\n".join(
                    set_formulas(lines, block.line))))
                if last:
                    out.append("::: contract\n" + self.prose("\n".join(
                        set_formulas(contract(last).split("\n"),
                                     block.line + len(lines)))) + "\n:::")
            elif block.kind == "deviation":
                out.append("::: deviation\n" + self.link(block.text())
                           + "\n:::")
            elif block.kind == "figure":
                out.append(self.figure(block.text(), where))
            elif block.kind == "run":
                out.append(self.run(block.text(), where))
            else:
                out.append(self.listing(block))
        out += [self.prose(boxes.get(f"after {section}", "")),
                self.prose(boxes.get("end", ""))]
        anchor = anchor_of(chapter, "Questions")
        out.append(f"## Questions {{#{anchor}}}\n"
                   + self.prose(boxes["questions"]))
        return "\n\n".join(out)


def function_text(name, path="docs/examples.c"):
    """A function of another C file, with the comment above it."""
    lines = (ROOT / path).read_text(encoding="utf-8").split("\n")
    heads = [i for i, l in enumerate(lines)
             if re.match(rf"[A-Za-z][\w ]* {name}\(.*[^;]$", l)]
    if len(heads) != 1:
        fail(f"{path} has no function {name}")
    first = last = heads[0]
    while lines[first - 1].startswith("//"):
        first -= 1
    while lines[last] != "}":
        last += 1
    return "\n".join(lines[first:last + 1])


def printed(line, output, note=""):
    """A command above what it has printed."""
    return raw('<figure class="run">\n<figcaption><code>$ '
               f"{html.escape(line)}</code>{note}</figcaption>\n"
               f"<pre><samp>{html.escape(output)}</samp></pre>\n</figure>")


def broken_lines(name):
    """What docs/breaking.py breaks, by function: lines as they are, and broken."""
    functions = itertools.groupby(breaking.plant(name), lambda m: m.function)
    return "\n\n".join(
        f"In `{function}`:\n\n``` diff\n" + "\n".join(
            line for m in mutants for line in breaking.difference(m)) + "\n```"
        for function, mutants in functions)


def outcome(name):
    """What was written down when they had been broken."""
    return "".join(printed(line, output.rstrip("\n"), " with the line broken")
                   for line, output in breaking.recorded(name))


# ------------------------------------------------------------------ figures

def panels(picture):
    """The SVGs of a picture, for a page: side by side if there is room, and then
    a little larger. The figure describes them."""
    found = re.findall("<svg.*?</svg>", picture, re.DOTALL)
    widths = [float(re.search(r'viewBox="\S+ \S+ (\S+) ', svg)[1])
              for svg in found]
    scale = min(1.3, max(1, 700 / sum(widths)))
    out = []
    for svg, width in zip(found, widths):
        tag = re.sub(r' (width|height|role)="[^"]*"', "",
                     re.match("<svg[^>]*", svg)[0])
        out.append(f'{tag} aria-hidden="true" style="--width:{width:.0f}px;'
                   f'--scale:{scale:.2f}"' + svg[svg.index(">"):])
    return "\n".join(out)


def graph(path):
    """Title, description and SVG of a Graphviz file."""
    text = path.read_text(encoding="utf-8")
    notes = dict(re.findall(r"^// (title|description): (.+)$", text,
                            re.MULTILINE))
    if len(notes) != 2:
        fail(f"{path}: title and description are missing")
    svg = command(["dot", "-Tsvg"], text)
    svg = svg[svg.index("<svg"):]
    svg = re.sub(r"<!--.*?-->\n?|<title>.*?</title>\n?", "", svg,
                 flags=re.DOTALL)
    svg = re.sub(r' (id|xlink:\w+|xmlns:xlink)="[^"]*"', "", svg)
    svg = re.sub(r"</?a>\n?", "", svg)
    svg = re.sub(r'(fill|stroke)="(black|#000000)"', r'\1="currentColor"', svg)
    for name, colour in drawing.COLOURS.items():
        for drawn, style in (
                (f'fill="{colour}" stroke="{colour}"', "fill:{0};stroke:{0}"),
                (f'fill="{colour}"', f"fill:{{0}};fill-opacity:{drawing.TINT}"),
                (f'stroke="{colour}"', "stroke:{0}")):
            style = style.format(f"var(--{name})")
            svg = svg.replace(drawn, f'style="{style}"')
    left = set(re.findall(r'"(#[0-9a-f]{6})"', svg))
    if left:
        fail(f"{path}: colours without a dark counterpart: {left}")
    svg = svg.replace('font-family="DejaVu Sans"',
                      'font-family="DejaVu Sans,Verdana,sans-serif"')
    return notes["title"], notes["description"], svg.rstrip()


def plot(name):
    """The same of a picture made from data."""
    title, _, description = inspect.getdoc(plots.PLOTS[name]).partition("\n\n")
    return (" ".join(title.split()), " ".join(description.split()),
            plots.PLOTS[name]().strip())


# --------------------------------------------------------------------- HTML

def pandoc(markdown, name, book):
    """Markdown as HTML. What pandoc has made of the same text is made only once."""
    (BUILD / f"{name}.md").write_text(markdown, encoding="utf-8")
    argv = ["pandoc", "-f", MARKDOWN, "-t", "html5", "--mathml",
            "--section-divs", "--wrap=preserve", "--fail-if-warnings",
            f"{name}.md"]
    key = hashlib.sha256("\n".join(argv + [markdown]).encode()).hexdigest()
    made = BUILD / f"{name}.body"
    old = made.read_text(encoding="utf-8") if made.exists() else ""
    if not old.startswith(key + "\n"):
        made.write_text(f"{key}\n{command(argv)}", encoding="utf-8")
    body = made.read_text(encoding="utf-8").partition("\n")[2]
    if '<span class="math' in body:
        fail(f"{name}: a formula was not converted")
    return finish(body, book)


BOXES = {"tutorial": '<a href="articles.html">Where a tutorial differs</a>',
         "elsewhere": "Where other programs differ",
         "deviation": '<a href="deviations.html">Different from the paper</a>'}


def finish_listing(found, book):
    """A listing without pandoc's numbers of lines; what it defines has an
    anchor at its line, and what it uses is a link."""
    names = {}
    for definition in (found[1] or "").split():
        name, line = definition.split(":")
        names.setdefault(line, []).append(name)

    def line(m):
        first, *others = names.get(m[1], [""])
        return (f'<span id="{first}">' if first else "<span>") + "".join(
            f'<span id="{name}"></span>' for name in others)

    code = re.sub(r'<span id="cb\d+-(\d+)"><a href="#[^"]*"[^>]*></a>', line,
                  found[2])
    if book:
        code = finding.link_names(code, book, sum(names.values(), []))
    return f'<div class="sourceCode">{code}</div>'


DRAWN = re.compile("[\u2500-\u259f\u2571\u2572]")
TYPED = re.compile(r"\./|--|[#$] |(make|cc|cut|head|mkdir|docker|msgunfmt) |"
                   r"from \w+ import |.*\);$", re.MULTILINE)


def finish_block(found):
    """A block that is no listing: a drawing, something to type, or data."""
    text = html.unescape(found[1])
    kind = "drawing" if DRAWN.search(text) else \
        "typed" if TYPED.match(text) else "data"
    return f'<pre class="{kind}"><code>{found[1]}</code></pre>'


def permalink(found):
    """A heading that is a link to itself."""
    section, level, title = found[1], found[2], found[3]
    if "<a " in title:
        return found[0]
    return found[0].replace(f">{title}</h{level}>",
                            f'><a href="#{section}">{title}</a></h{level}>')


def finish(body, book=None):
    """What pandoc leaves to us: anchors, boxes, folded answers."""
    body = re.sub(r'<div class="sourceCode" id="cb\d+"'
                  r'(?: data-names="([^"]*)")?>(.*?)</div>',
                  lambda found: finish_listing(found, book), body,
                  flags=re.DOTALL)
    body = re.sub("<pre><code>(.*?)</code></pre>", finish_block, body,
                  flags=re.DOTALL)
    body = re.sub(r'<section id="([^"]+)"[^>]*>\s*<h([2-6])[^>]*>(.*?)</h\2>',
                  permalink, body, flags=re.DOTALL)
    body = re.sub('<math display="block".*?</math>', '<span class="math" role='
                  r'"group" aria-label="Formula" tabindex="0">\g<0></span>', body,
                  flags=re.DOTALL)
    body = re.sub(r"<pre(?=[\s>])", '<pre tabindex="0"', body)
    body = re.sub(r"//@ exercise (\w+)",
                  lambda m: '<a href="exercises.html#exercise-'
                  f'{m[1].replace("_", "-")}">{m[0]}</a>'
                  if list((DOCS / "exercises").glob(
                      f"??-{m[1].replace('_', '-')}.md")) else m[0], body)
    for name, label in BOXES.items():
        body = body.replace(f'<div class="{name}">',
                            f'<div class="box {name}" role="note">'
                            f'<p class="label">{label}</p>')
    body = re.sub(r'<div class="answer">(.*?)</div>\s*</li>',
                  r"<details><summary>Answer</summary>\1</details></li>",
                  body, flags=re.DOTALL)
    body = re.sub(r"<(br|col|hr|img)\b([^>]*?) ?/>", r"<\1\2>", body)
    # an option such as --tie stays on one line
    body = re.sub("<code>[^<]*</code>", lambda code: re.sub(
        r"(?<![\w-])--?[a-z][\w-]*", r'<span class="whole">\g<0></span>',
        code[0]), body)
    return re.sub("<table[^>]*>", '<div class="table" role="group" '
                  'aria-label="Table" tabindex="0"><table>', body) \
        .replace("</table>", "</table></div>")


def contents(headings, top):
    """A nested list of links to the headings of levels top and top + 1."""
    items = [h for h in headings if top <= h[0] <= top + 1]
    out = ["<ul>"]
    for (level, title, anchor), after in zip(items, items[1:] + [(top, "", "")]):
        out.append(f'<li><a href="#{anchor}">{html.escape(title)}</a>')
        out.append("<ul>" if after[0] > level
                   else "</li>" + "</ul></li>" * (level - after[0]))
    return "\n".join(out + ["</ul>"])


def headings_of(body):
    """(level, title, anchor) of the sections pandoc has made."""
    return [(int(level), html.unescape(re.sub("<[^>]+>", "", title)), anchor)
            for anchor, level, title in re.findall(
                r'<section id="([^"]+)"[^>]*>\s*<h(\d)[^>]*>(.*?)</h\2>', body,
                re.DOTALL)]


START, BESIDE = "index", "articles"  # the first page; the first that is no chapter
WOVEN = ('Woven from <a href="../transformer.c">transformer.c</a> by '
         "<code>make docs</code>.\nAll output shown here is from a run made with "
         "the page,\nor, where a line is broken, by <code>make docs-runs</code>.")


def navigation(name, names, sections):
    """All pages, and the sections of this one. Below a width it is folded."""
    def item(to, title):
        if to == name:
            return f'<li><a href="{to}.html" aria-current="page">' \
                f"{html.escape(title)}</a>{sections}</li>"
        return f'<li><a href="{to}.html">{html.escape(title)}</a></li>'

    items = [item(*page) for page in names]
    if items:
        beside = [to for to, _ in names].index(BESIDE)
        items.insert(beside, "</ul>\n<ul>")
    return ('<nav class="contents" aria-label="Contents">\n<details>\n'
            '<summary>Contents<span class="here"></span></summary>\n'
            + ("<ul>\n" + "\n".join(items) + "\n</ul>" if items else sections)
            + "\n</details>\n</nav>")


def steps(name, names, label):
    """Links to the pages before and after this one."""
    at = [to for to, _ in names].index(name) if names else 0
    links = [f'<a rel="{rel}" href="{to}.html"><span>{word}</span> '
             f"{html.escape(title)}</a>"
             for rel, word, (to, title) in
             [("prev", "Previous:", names[at - 1] if at else (None, None)),
              ("next", "Next:", (*names[at + 1:], (None, None))[0])] if to]
    return f'<nav class="steps" aria-label="{label}">\n' + "\n".join(links) \
        + "\n</nav>" if links else ""


def page(title, body, *, name, top, names=(), base="", footer=WOVEN):
    """The text of an HTML file. top: highest level of heading in its contents, 0
    for none; names: (page, title) of all pages, in their order, if it is one of
    them; base: where the pages of docs/ are, seen from this one."""
    sections = contents(headings_of(body), top) if top else ""
    beside = sections or names and name != START
    template = read("page.tmpl").replace(
        f'<a href="${{base}}{name}.html">',
        f'<a href="${{base}}{name}.html" aria-current="page">')
    return string.Template(template).substitute(
        title=html.escape(title if title == TITLE else f"{title} · {TITLE}"),
        name=name, base=base, body=body, footer=footer,
        contents=navigation(name, names, sections) if beside else "",
        before=steps(name, names, "Previous and next page") if beside else "",
        after=steps(name, names, "Previous and next page, at the end"))


def text_of(name):
    """What page() was given of a page that is woven."""
    return re.search('<main id="content">\n(.*)\n</main>', read(f"{name}.html"),
                     re.DOTALL)[1]


def functions_page(book):
    """Every function with its contract and those that use it, every type with
    its place."""
    out, users = ["# Functions and types"], finding.users(book)
    for kind, title in finding.KINDS.items():
        out.append(f"## {title}")
        for name in sorted(book.defined, key=str.lower):
            chapter, its, _, text = book.defined[name]
            if its != kind:
                continue
            out.append(f"[`{name}`]({book.place(name)}) {chapter.reference}")
            if kind == "function":
                out.append(":   " + book.link(contract(text))
                           .replace("\n", "\n    "))
                if name in users:
                    out += ["", "    Used by " + book.link(", ".join(
                        f"`{user}`" for user in users[name])) + "."]
            else:
                out.append(":   " + chapter.title)
            out.append("")
    return "\n".join(out)


def deviations_page(book):
    out = ["# Where the program departs from the paper", "",
           "Collected from the chapters, each with its reason.", "",
           "| chapter | what is different, and why |", "|:--|:------------|"]
    for chapter, text in book.deviations:
        cell = book.link(" ".join(text.split()).replace("|", "\\|"))
        out.append(f"| [{chapter.label}]({chapter.page}.html) | {cell} |")
    return "\n".join(out)


KINDS = {"write": "Write it", "bug": "Find the bug",
         "number": "The tutorials' exercises", "train": "Train it"}


def exercises_page(book):
    """All pages of docs/exercises/, with their hints folded."""
    out, kind = [read("source/exercises.md")], ""
    for page in source_file.pages(DOCS / "exercises",
                                  lambda path: path.read_text(encoding="utf-8")):
        if kind != page.kind:
            kind = page.kind
            out.append(f"## {KINDS[kind]}")
        out += [f"### {page.number:02}. {page.title} {{#exercise-{page.slug}}}",
                f"`make exercise N={page.number}`, {page.points} points, "
                f"chapter {page.chapter}", book.prose(page.text)]
        for n, hint in enumerate(page.hints, 1):
            out += [raw(f"<details><summary>Hint {n}</summary>"),
                    book.prose(hint), raw("</details>")]
    return "\n\n".join(out)


def table(name):
    """docs/runs/NAME.csv as a table; numbers stand on the right."""
    with open(DOCS / "runs" / f"{name}.csv", encoding="utf-8", newline="") as f:
        rows = list(csv.reader(f))
    if len(rows) < 2:
        fail(f"docs/runs/{name}.csv has no rows")
    numeric = [all(re.match(r"[\d.,:]+( \S+)?$", row[i]) for row in rows[1:])
               for i in range(len(rows[0]))]
    rows.insert(1, ["--:" if n else ":--" for n in numeric])
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


DIRECTIVES = "figure|function|program|lab|table|file|broken|outcome"


def directives(book, text):
    """What "@figure NAME" and so on in the files of docs/source/ stand for."""
    make = {
        "figure": lambda name: book.figure(name, "docs/source"),
        "function": lambda name: "``` c\n" + function_text(
            name, "tests/bench/product.c") + "\n```",
        "program": lambda name: "``` c\n" + "\n".join(
            line for line in book.defined[name][2] if "//@" not in line)
        + "\n```",
        "lab": lambda name: "``` c\n" + function_text(
            name, "notebook/gpt.h") + "\n```",
        "table": table,
        "file": lambda name: "```\n" + (ROOT / name).read_text(
            encoding="utf-8") + "```",
        "broken": broken_lines,
        "outcome": outcome,
    }
    return re.sub(rf"^@({DIRECTIVES}) (\S+)$", lambda m: make[m[1]](m[2]),
                  text, flags=re.MULTILINE)


# --------------------------------------------------------------- start page

WORDS, LINES = 150, 10  # read in a minute: words of prose, lines of code


def minutes(blocks):
    """How long it takes to read blocks of a chapter."""
    words = sum(len(b.text().split()) for b in blocks
                if b.kind in ("prose", "deviation"))
    lines = sum(bool(l) for b in blocks if b.kind == "code" for l in b.lines)
    return words / WORDS + lines / LINES


def chapter_minutes(chapter):
    """The same of a chapter with its boxes and questions."""
    more = read(f"source/{chapter.page}.md").split()
    return minutes(chapter.blocks) + len(more) / WORDS


def last_chapter(book):
    """The chapter behind those of the file."""
    return book.link(directives(book, read(f"source/{LAST[0]}.md")))


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


def contents_list(book, text):
    """The chapters, each with what it promises and the minutes it takes. The
    text has a line "PAGE: promise" for each."""
    promises = dict(line.split(": ", 1) for line in text.splitlines())
    rows = [("" if c.number is None else c.number, c.page,
             c.label if c.number is None else c.title, chapter_minutes(c))
            for c in book.chapters]
    rows.append(("", *LAST, len(last_chapter(book).split()) / WORDS))
    if list(promises) != [page for _, page, *_ in rows]:
        fail("source/index.md: @contents needs one promise for each chapter, "
             "in the order of the chapters")
    items = [f'<li><span class="number">{number}</span> '
             f'<a href="{name}.html">{html.escape(title)}</a> '
             f'<span class="promise">{html.escape(promises[name])}</span> '
             f'<span class="minutes">{to_five(duration)} min</span></li>'
             for number, name, title, duration in rows]
    return raw('<ul class="chapters">\n' + "\n".join(items) + "\n</ul>")


def translation():
    """What the model of docs/runs/ was given, and what it made of it."""
    _, _, looked = records.cross_attention("red-car")
    written = read("runs/red-car.txt").partition("\n")[0]
    return raw('<dl class="pair">\n<dt>English in</dt> '
               f"<dd>{html.escape(' '.join(looked[:-1]))}</dd>\n"
               '<dt>French out</dt> '
               f'<dd lang="fr">{html.escape(written)}</dd>\n</dl>')


def index_page(book):
    """The first page: what it is, for whom, ways through it, the chapters."""
    make = {
        r"run (.+)": lambda m: book.output(m[1], "source/index.md"),
        r"translation": lambda m: translation(),
        r"route (forward|all)(.*(?:\n +\S.*)*)": lambda m: route(book, m[1], m[2]),
        r"contents\n((?:\d*.+: .+\n)+)": lambda m: contents_list(book, m[1]),
    }
    text = read("source/index.md")
    for pattern, made in make.items():
        text = re.sub(f"^@{pattern}$", made, text, flags=re.MULTILINE)
    return book.link(directives(book, text))


# --------------------------------------------------------------- all pages

def articles_page(book):
    """In the map's tables the first column names what is in the tutorial."""
    return re.sub(r"^(\|[^|]*\|)?(.*)$",
                  lambda m: (m[1] or "") + book.link(m[2]),
                  read("source/articles.md"), flags=re.MULTILINE)


def pages_of(book):
    """(name, title, Markdown) of every page, in their order."""
    pages = [("index", TITLE, index_page(book))]
    pages += [(c.page, c.label, book.chapter_markdown(c))
              for c in book.chapters]
    pages += [(*LAST, last_chapter(book)),
              ("articles", "From your tutorial to the chapters",
               articles_page(book)),
              ("deviations", "Where the program departs from the paper",
               deviations_page(book)),
              ("exercises", "Exercises", exercises_page(book)),
              ("teacher", "For teachers",
               book.prose(read("exercises/teacher.md"))),
              ("lesson", "The live page, in a lesson",
               directives(book, read("source/lesson.md"))),
              ("own-language", "Your own language",
               book.link(directives(book, read("source/own-language.md")))),
              ("testing", "How it is tested",
               book.link(directives(book, read("testing.md")))),
              ("functions", "Functions and types", functions_page(book))]
    unused = ({p.stem for p in (DOCS / "figures").glob("*.dot")}
              | set(plots.PLOTS)) - book.figures_used
    if unused:
        fail(f"figures that nobody uses: {sorted(unused)}")
    return pages


def woven(book):
    """(name, title, body) of every page, in their order, and the script."""
    pages = [(name, title, pandoc(markdown, name, book))
             for name, title, markdown in pages_of(book)]
    sections = [(name, title, *heading) for name, title, body in pages
                for heading in headings_of(body)]
    terms = finding.read_terms(read("source/terms.md"),
                               finding.places(book, sections))
    pages.append(("terms", "Index of terms",
                  pandoc(finding.terms_page(book, terms), "terms", book)))
    sections.append(("terms", "", 1, "Index of terms", ""))
    return pages, finding.script(read("source/script.js"), finding.entries(
        book, terms, sections, contract))


def main():
    check_programs()
    pages, script = woven(Book())
    names = [(name, title) for name, title, _ in pages]
    names[0] = (START, "Start page")
    for name, title, body in pages:
        top = 0 if name in (START, "deviations", "terms") else 2
        (DOCS / f"{name}.html").write_text(
            page(title, body, name=name, top=top, names=names), encoding="utf-8")
    (DOCS / "script.js").write_text(script, encoding="utf-8")


if __name__ == "__main__":
    try:
        main()
    except (source_file.Broken, breaking.Wrong) as wrong:
        fail(wrong)

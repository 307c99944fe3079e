"""What transformer.c and the pages of the exercises are made of, read in one place:
chapters, regions of exercises, and the heads of pages. Whatever does not fit
raises Broken, whose text says where and why. Python 3.8, no packages.
"""

import re
from dataclasses import dataclass, field


class Broken(Exception):
    """A file that does not fit: "FILE:LINE: reason"."""


# ---------------------------------------------------------------- markers

# What follows the kind of a marker, a line "//@ KIND ARGUMENT".
MARKERS = {"chapter": r"\w+", "exercise": r"\w+", "end": "", "figure": r"\S+( instead)?",
           "run": ".+", "deviation": "", "plumbing": ".+", "core": "",
           "panel": r"\S+"}


def marker(line, place):
    """Kind and argument of a marker; (None, "") for any other line."""
    found = "//@" in line and re.fullmatch(r"\s*//@(.*)", line)
    if not found:
        return None, ""
    kind, _, argument = found[1].strip().partition(" ")
    argument = argument.strip()
    if kind not in MARKERS or not re.fullmatch(MARKERS[kind], argument):
        raise Broken(f"{place}: unknown marker: {line.strip()}")
    return kind, argument


def marked_lines(text, label):
    """(number, line, kind, argument) of all lines, counted from 1."""
    for number, line in enumerate(text.split("\n"), 1):
        yield (number, line, *marker(line, f"{label}:{number}"))


# ---------------------------------------------------------------- chapters

@dataclass
class Chapter:
    name: str
    start: int     # number of the line "//@ chapter NAME"
    label: str = ""     # of its heading: "5. Title", or "Interlude. Title"
    title: str = ""
    number: int = None  # an interlude has none
    lines: list = field(default_factory=list)  # those after the marker


def chapters(text, label):
    """The chapters of a file. Each begins with its heading, "// # 5. Title", or
    "// # Interlude. Title" if it is not counted; numbers count from 0."""
    found, count = [], 0
    for number, line, kind, name in marked_lines(text, label):
        if kind == "chapter":
            found.append(Chapter(name, number))
            continue
        if found and not found[-1].lines:
            read_heading(found[-1], line, count, f"{label}:{number}")
            count += found[-1].number is not None
        if found:
            found[-1].lines.append(line)
    return found


def read_heading(chapter, line, count, place):
    """Reads the heading of a chapter that comes after `count` numbered ones."""
    if not line.startswith("// # "):
        raise Broken(f"{place}: chapter {chapter.name} does not begin with its "
                     "heading")
    chapter.label = line[len("// # "):]
    number, dot, chapter.title = chapter.label.partition(". ")
    if not dot or not (number.isdigit() or number == "Interlude"):
        raise Broken(f"{place}: the heading has no number: {chapter.label}")
    if number.isdigit():
        chapter.number = count
        if int(number) != count:
            raise Broken(f"{place}: the chapters are not numbered 0, 1, 2, …: "
                         f"{chapter.label}")


# ---------------------------------------------------------------- regions

# Comments, strings and characters of C.
NOT_CODE = re.compile(r'/\*.*?\*/|//[^\n]*|("(?:\\.|[^"\\\n])*"|'
                      r"'(?:\\.|[^'\\\n])*')", re.S)


def code_of(text, with_strings=False):
    """A text without comments, line for line; without strings they become 0."""
    return NOT_CODE.sub(
        lambda m: m[1] if m[1] and with_strings
        else "0 "[not m[1]] + "\n" * m[0].count("\n"), text)


def plain(code):
    """Code without comments, strings and directives."""
    return re.sub(r"^#(.*\\\n)*.*", "", NOT_CODE.sub(" ", code), flags=re.M)


@dataclass
class Region:
    start: int  # number of the line "//@ exercise NAME"
    body: list = field(default_factory=list)

    @property
    def end(self):  # number of the line "//@ end"
        return self.start + len(self.body) + 1

    def code(self):
        """The body without comments and blanks."""
        return "".join(code_of("\n".join(self.body), True).split())


def read_regions(text, label, known=None):
    """The regions of a file by name, in their order. A broken one is replaced by a text that
    says what is wrong; such a text under "" is about lines of no region. If `known` names
    are given, no others may occur."""
    found, name = {}, None

    def without_end():
        found[name] = f"{label}:{found[name].start}: //@ exercise {name} has no //@ end"

    for number, line in enumerate(text.split("\n"), 1):
        place = f"{label}:{number}"
        try:
            kind, argument = marker(line, place)
        except Broken as broken:
            found.setdefault("", str(broken))
            continue
        if kind not in ("exercise", "end"):
            if name is not None:
                found[name].body.append(line)
            continue
        if kind == "end" and name is None:
            found.setdefault("", f"{place}: //@ end without a //@ exercise before it")
        if kind == "exercise" and name is not None:
            without_end()
        name = None
        if kind == "exercise" and argument in found:
            found[argument] = f"{place}: //@ exercise {argument} is here a second time"
        elif kind == "exercise" and known is not None and argument not in known:
            found.setdefault("", f"{place}: there is no exercise {argument}")
        elif kind == "exercise":
            name, found[argument] = argument, Region(number)
    if name is not None:
        without_end()
    return found


def regions(text, label, known=None):
    """The same for a file in which none is broken; raises Broken if one is."""
    found = read_regions(text, label, known)
    for region in found.values():
        if isinstance(region, str):
            raise Broken(region)
    return found


def stub_body(name, region):
    """What stands in the place of a region in the student's file."""
    count = sum(1 for line in region.body
                if line.strip() and not line.strip().startswith("//"))
    first = next(line for line in region.body if line.strip())
    indent = first[:len(first) - len(first.lstrip())]
    body = [f"/* your code: about {count} line{'s' * (count > 1)} */",
            f'exercise_todo("{name}");']
    return [indent + line for line in body]


def is_stub(name, region):
    """Whether nothing has been written yet."""
    return region.code() == f'exercise_todo("{name}");'


def replace_region(text, region, body):
    lines = text.split("\n")
    return "\n".join(lines[:region.start] + body + lines[region.end - 1:])


def with_bodies(text, bodies, label="transformer.c"):
    """transformer.c, or a student's file, with other {region: lines} in it."""
    lines = text.split("\n")
    # from the end: line numbers stay right
    for name, region in reversed(list(regions(text, label).items())):
        lines[region.start:region.end - 1] = bodies.get(name, region.body)
    return "\n".join(lines)


def with_holes(text):
    """transformer.c without what its exercises ask for."""
    return with_bodies(text, {name: stub_body(name, region) for name, region
                              in regions(text, "transformer.c").items()})


# ---------------------------------------------------------------- exercises

# What the head of a page needs, besides points and kind.
KINDS = {"write": [], "bug": ["chapter", "function", "right", "wrong", "diagnosis"],
         "number": ["chapter", "answers"],
         "train": ["chapter", "file", "data", "options", "seconds", "goal"]}


@dataclass
class Page:
    name: str
    number: int
    header: dict
    title: str
    text: str      # without title, hints and mistakes
    hints: list
    mistakes: str  # lines, or ""

    def __getattr__(self, key):  # kind, chapter, and what else a kind has
        return self.__dict__.get("header", {}).get(key, "")

    @property
    def worth(self):
        return int(self.header["points"])

    @property
    def slug(self):
        return self.name.replace("_", "-")


def page(text, name, number):
    """The page of an exercise: lines "key: value" up to "----", then a title, the
    text, sections "## Hint 1" and so on, and a section "## Mistakes"."""
    head, line, body = text.partition("\n----\n")
    pairs = [entry.partition(":") for entry in head.split("\n") if entry.strip()]
    header = {key.strip(): value.strip() for key, _, value in pairs}
    kind = header.get("kind")
    missing = [key for key in ["points", "kind"] + KINDS.get(kind, [])
               if not header.get(key)]
    if not line or missing:
        raise Broken(f"{name}.md: its head has no {(missing + ['----'])[0]}")
    if kind not in KINDS or not header["points"].isdigit():
        raise Broken(f"{name}.md: a wrong kind, or wrong points")
    body, _, mistakes = body.partition("\n## Mistakes\n")
    text, *hints = re.split(r"^## Hint \d+ *\n", body, flags=re.M)
    title = re.match(r"\s*# (.+)\n", text)
    if not title:
        raise Broken(f"{name}.md: it has no title")
    return Page(name, number, header, title[1], text[title.end():].strip(),
                [hint.strip() for hint in hints], mistakes)


def pages(folder, read, text):
    """All exercises of a folder: first those of the regions of `text`, which is
    transformer.c, in its order, then those that order.txt lists. Each is the page
    pages/NAME.md; its number is its place. `read` gives a file's text."""
    chapter_of, numbers = {}, {c.name: str(c.number)
                               for c in chapters(text, "transformer.c")}
    for _, _, kind, name in marked_lines(text, "transformer.c"):
        if kind == "chapter":
            chapter = name
        elif kind == "exercise":
            chapter_of[name] = chapter
    paths = {path.stem: path for path in folder.glob("pages/*.md")}
    names = [name for name in chapter_of if name in paths] \
        + read(folder / "order.txt").split()
    for name in {*paths} ^ {*names}:
        raise Broken(f"{name}: " + (f"there is no page {name}.md"
                                    if name in names else "it stands neither in "
                                    "transformer.c nor in order.txt"))
    found = [page(read(paths[name]), name, number)
             for number, name in enumerate(names, 1)]
    for e in found:
        chapter = e.header.setdefault("chapter", chapter_of.get(e.name, ""))
        if chapter not in numbers:
            raise Broken(f"{e.name}.md: there is no chapter {chapter}")
        e.header["chapter"] = numbers[chapter]
    return found

"""What helps a reader to find things: the index of terms, and what the search looks
through. It knows all names, and the text of every section, of docs/using.md and of the
labs. Both are scripts of their own, with MiniSearch, which ranks what is found, in the
second. A page loads them when its search is first used, or a name is pointed at.
"""

import functools
import json
import re
from collections import namedtuple
from html.parser import HTMLParser

from project import fail, labs, read

KINDS = {"function": "Functions", "type": "Types", "table": "Tables",
         "constant": "Constants", "macro": "Macros"}
SHOWN = 16  # lines of a type or of a table that the pop-up shows


# -------------------------------------------------------------------- terms

# A row of docs/book/text/terms.md; places: (address, what it is called, where it is).
Term = namedtuple("Term", "name others sentence places")


def places(book, sections):
    """What a term can lead to. sections: (page, its title, level, title, anchor)
    of all pages."""
    found = {name: (book.place(name), f"`{name}`", book.defined[name][0].reference)
             for name in book.defined}
    chapters = {c.page: c for c in book.chapters}
    for page, page_title, _, title, anchor in sections:
        address = f"{page}.html#{anchor}"
        if page in chapters:
            found[anchor] = (address, f'"{title}"', chapters[page].reference)
        else:
            found[f"{page}#{anchor}"] = (address, f'"{title}"', page_title)
    found.update((f"lab-{number}", (address, f"lab {number}", title))
                 for number, (address, title, _) in labs().items())
    return found


def read_terms(text, places):
    found, rows = [], [(number, line) for number, line in enumerate(text.split("\n"), 1)
                       if line.startswith("|")][2:]  # below the head of the table
    for number, line in rows:
        cells = [cell.strip() for cell in line.strip("| ").split(" | ")]
        if len(cells) != 3 or not all(cells):
            fail(f"book/text/terms.md:{number}: term, places and a sentence "
                         "stand between |")
        (name, *others), to = cells[0].split(", "), cells[1].split(", ")
        for place in set(to) - set(places):
            fail(f"book/text/terms.md:{number}: there is no {place}")
        found.append(Term(name, others, cells[2], [places[place] for place in to]))
    names = [name for term in found for name in (term.name, *term.others)]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        fail(f"book/text/terms.md: two rows have {sorted(twice)[0]}")
    return found


def slug(name):
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def letter(name):
    """The heading under which a name stands."""
    return name[0].upper() if re.match("[A-Za-z]", name) else "Signs"


def terms_page(book, terms):
    """The index of terms: each leads to functions and sections."""
    rows = []
    for term in terms:
        to = ", ".join(f"[{name}]({address}) ({where})"
                       for address, name, where in term.places)
        rows.append((term.name, f"[{term.name}]{{#term-{slug(term.name)}}}",
                     f"{book.link(term.sentence)} → {to}"))
        rows += [(other, other, f"see [{term.name}](#term-{slug(term.name)})")
                 for other in term.others]
    rows.sort(key=lambda row: (letter(row[0]) != "Signs", row[0].lower(), row[0]))
    letters = list(dict.fromkeys(letter(row[0]) for row in rows))
    out = ["# Index of terms", "", "The field's words, and what they are called "
           "here. All functions and types stand on [a page of their own]"
           "(functions.html).", "", "::: letters",
           " ".join(f"[{name}](#letter-{name.lower()})" for name in letters)
           + " [Options](#options)", ":::"]
    shown = None
    for name, head, text in rows:
        if letter(name) != shown:
            shown = letter(name)
            out += ["", f"## {shown} {{#letter-{shown.lower()}}}"]
        out += ["", head, f":   {text}"]
    out += ["", "## Options {#options}"]
    for name, _, said in book.options():
        out += ["", f"[`--{name}`]({book.option_place(name)})", f":   {said}"]
    return "\n".join(out)


# ------------------------------------------------------------------- search

def contracts(functions_page):
    """{name: HTML} of what the page of functions says of each."""
    return {name: " ".join(text.split()) for name, text in re.findall(
        r'<dt><a href="[^"#]*#(\w+)"><code>.*?</dt>\s*<dd>(.*?)(?:<p>Used by.*?)?</dd>',
        functions_page, re.DOTALL)}


def shown_code(kind, lines):
    """What the pop-up shows of a definition: a function's head, else all."""
    if kind == "function":
        end = next(i for i, line in enumerate(lines) if line.endswith("{"))
        return "\n".join(lines[:end + 1])[:-1].rstrip()
    return "\n".join(lines[:SHOWN] + ["…"] * (len(lines) > SHOWN))


def entries(book, terms, sections, said):
    """[kind, address, name, where, text, code] of all that can be found; the text of a
    function, in HTML, is what is said of it."""
    found = []
    for term in terms:
        address, name, where = term.places[0]
        where = f"{name.strip('`')}, {where}"
        text = term.sentence.replace("`", "")
        found.append(["term", address, term.name, where, text, ""])
        found += [["term", address, other, where, text, ""]
                  for other in term.others]
    found += [["option", book.option_place(name), f"--{name}", "the options",
               text, ""] for name, _, text in book.options()]
    for name, (chapter, kind, lines, _) in book.defined.items():
        found.append([kind, book.place(name), name, chapter.reference,
                      said[name] if kind == "function" else "", shown_code(kind, lines)])
    for page, page_title, level, title, anchor in sections:
        found.append(["page", f"{page}.html", title, "", "", ""] if level == 1
                     else ["section", f"{page}.html#{anchor}", title, page_title,
                           "", ""])
    return found


def names(found):
    """The script of all names, a line each."""
    lines = ",\n".join(json.dumps(row, ensure_ascii=False) for row in found)
    return f"// Written by docs/book/weave: what can be found.\nconst FOUND = [\n{lines}\n];\n"


# -------------------------------------------------------------------- texts

ELSEWHERE = {"functions", "terms"}  # pages whose lines are found by their names
LEFT_OUT = {"pre", "math", "svg", "script", "summary"}
GAPS = {"p": "\n", "dt": "\n", "div": "\n", "br": " ", "figcaption": "\n",
        "li": "\n · ", "dd": " · ", "td": " · ", "th": " · ", "tr": "\n"}


class Sections(HTMLParser):
    """The sections of a page: [anchor, heading, text] of each."""

    def __init__(self, body):
        super().__init__()
        self.found, self.heading, self.skipped = [], False, 0
        self.feed(body)
        self.close()

    def handle_starttag(self, tag, attributes):
        if tag == "section":
            self.found.append([dict(attributes)["id"], "", ""])
        self.heading |= bool(re.fullmatch("h[1-6]", tag))
        self.skipped += tag in LEFT_OUT
        self.handle_data(GAPS.get(tag, ""))

    def handle_endtag(self, tag):
        self.heading &= not re.fullmatch("h[1-6]", tag)
        self.skipped -= tag in LEFT_OUT

    def handle_data(self, data):
        if self.found and not self.skipped:
            self.found[-1][1 if self.heading else 2] += data


def one_line(text):
    return " ".join(text.split())


def lines_of(text):
    """The lines of a text that are not empty."""
    return [one_line(line) for line in text.split("\n") if line.strip()]


@functools.lru_cache(maxsize=None)
def of_page(name, title, body):
    """[address, heading, where, lines of its text ...] of each section of a page."""
    body = re.sub(r"(?<!>)\n(?!<)", " ", body)  # a paragraph has many lines
    return [[f"{name}.html#{anchor}", one_line(heading), title, *lines_of(text)]
            for anchor, heading, text in Sections(body).found if text.strip()]


def of_markdown(address, where, text):
    """The same for a file, as one section, without its code."""
    text = re.sub(r"\A---\n.*?^---\n|^(```|~~~).*?^\1$|^\|[-:|]+\|$", "", text,
                  flags=re.DOTALL | re.MULTILINE)
    title = re.search(r"^# (.+)", text, re.MULTILINE)[1]
    text = re.sub(r"!?\[(.*?)\]\(.*?\)", r"\1", text)
    text = re.sub(r"^#+ .*|[`*]", "", text, flags=re.MULTILINE)
    text = re.sub(r"(?<!\n)\n(?![\n|-])", " ", text)
    return [address, title, where, *lines_of(text.replace("|", " · "))]


def texts(pages):
    """The script, from (name, title, body) of all pages, and of what else there is."""
    rows = [row for name, title, body in pages if name not in ELSEWHERE
            for row in of_page(name, title, body)]
    rows.append(of_markdown("using.md", "docs", read("using.md")))
    rows += [of_markdown(address, "a lab", path.read_text(encoding="utf-8"))
             for address, _, path in labs().values()]
    lines = ",\n".join(json.dumps(row[:3], ensure_ascii=False)[:-1] + "".join(
        ",\n" + json.dumps(line, ensure_ascii=False) for line in row[3:]) + "]"
        for row in rows)
    return ("// Written by docs/book/weave: the text that can be searched, a paragraph a line.\n"
            f"const TEXTS = [\n{lines}\n].map(([address, title, where, ...lines]) =>\n"
            '    [address, title, where, lines.join(" ")]);\n')

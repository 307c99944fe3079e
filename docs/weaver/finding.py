"""What helps a reader to find things: the index of terms, and what the search
looks through. What does not fit raises source_file.Broken.
"""

import json
import re
from collections import namedtuple

from common import labs
from source_file import Broken

KINDS = {"function": "Functions", "type": "Types", "table": "Tables",
         "constant": "Constants", "macro": "Macros"}
SHOWN = 16  # lines of a type or of a table that the pop-up shows


# ------------------------------------------------------------------ options

def options(book):
    """(name, line in the table, what its help says) of each option."""
    text = "\n".join(book.defined["options"][2])
    found = []
    for row in re.finditer(r'^    \{"(.*?)".*?\},?$', text,
                           re.MULTILINE | re.DOTALL):
        strings = re.findall(r'"([^"]*)"', row[0])
        found.append((row[1], text.count("\n", 0, row.start()), strings[-1]))
    if len(found) < 20:
        raise Broken("transformer.c: the table of options cannot be read")
    return found


def option_place(book, name):
    return f"{book.defined['options'][0].page}.html#option-{name}"


# -------------------------------------------------------------------- terms

# A row of docs/source/terms.md; places: (address, what it is called, where it is).
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
            raise Broken(f"source/terms.md:{number}: term, places and a sentence "
                         "stand between |")
        (name, *others), to = cells[0].split(", "), cells[1].split(", ")
        for place in set(to) - set(places):
            raise Broken(f"source/terms.md:{number}: there is no {place}")
        found.append(Term(name, others, cells[2], [places[place] for place in to]))
    names = [name for term in found for name in (term.name, *term.others)]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise Broken(f"source/terms.md: two rows have {sorted(twice)[0]}")
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
    for name, _, said in options(book):
        out += ["", f"[`--{name}`]({option_place(book, name)})", f":   {said}"]
    return "\n".join(out)


# ------------------------------------------------------------------- search

def plain(contract):
    """A contract in Markdown as text; a line that ends early stays a line."""
    text = re.sub(r"(?<![\\\n])\n(?! {4}|\n)", " ", contract)
    return text.replace("\\\n", "\n").replace("`", "")


def shown_code(kind, lines):
    """What the pop-up shows of a definition: a function's head, else all."""
    if kind == "function":
        end = next(i for i, line in enumerate(lines) if line.endswith("{"))
        return "\n".join(lines[:end + 1])[:-1].rstrip()
    return "\n".join(lines[:SHOWN] + ["…"] * (len(lines) > SHOWN))


def entries(book, terms, sections, contract):
    """[kind, address, name, where, text, code] of all that can be found."""
    found = []
    for term in terms:
        address, name, where = term.places[0]
        where = f"{name.strip('`')}, {where}"
        text = term.sentence.replace("`", "")
        found.append(["term", address, term.name, where, text, ""])
        found += [["term", address, other, where, text, ""]
                  for other in term.others]
    found += [["option", option_place(book, name), f"--{name}", "the options",
               text, ""] for name, _, text in options(book)]
    for name, (chapter, kind, lines, text) in book.defined.items():
        found.append([kind, book.place(name), name, chapter.reference,
                      plain(contract(text)) if kind == "function" else "",
                      shown_code(kind, lines)])
    for page, page_title, level, title, anchor in sections:
        found.append(["page", f"{page}.html", title, "", "", ""] if level == 1
                     else ["section", f"{page}.html#{anchor}", title, page_title,
                           "", ""])
    return found


def script(source, found):
    """The script of all pages: what can be found, a line each, then the code."""
    lines = ",\n".join(json.dumps(row, ensure_ascii=False) for row in found)
    return ("// Written by docs/weaver: what can be found, and below it "
            f"docs/source/script.js.\nconst FOUND = [\n{lines}\n];\n\n" + source)

"""All pages that are not chapters, and the order of all."""

import hashlib
import re

import concept
import course
import finding
import link
import source_file
import texts
from chapters import chapter_markdown, last_chapter
from common import BUILD, DOCS, ROOT, fail, raw, read
from cut import LAST
from directives import directives
from figures import check_used
from finish import headings_of, pandoc
from page import START, TITLE, body_of, full_page
from prose import contract
from start import all_stops, index_page


POINTS_UP = re.compile(r"(The same|Both|Its)\b|.*\. Both\b")


def points_up(book, name, text):
    """What a contract speaks of that begins with "The same": the one above it."""
    names = [other for other, its in book.defined.items() if its[1] == "function"]
    if not POINTS_UP.match(" ".join(text)):
        return []
    above = names[names.index(name) - 1]
    return ["", f"    (Above it: [`{above}`]({book.place(above)}). "
            + book.link(contract(book.defined[above][3])).replace("\n", "\n    ")
            + ")"]


def functions_page(book):
    """Every function with its contract and those that use it, every type with
    its place."""
    out, users = ["# Functions and types"], link.users(book)
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
                out += points_up(book, name, text)
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
         "number": "Compute it", "train": "Train it"}


def exercises():
    return source_file.pages(DOCS / "exercises", lambda path: path.read_text(encoding="utf-8"),
                             read("../transformer.c"))


def exercises_page(book):
    """All pages of docs/exercises/, with their hints folded."""
    out, kind = [read("source/exercises.md")], ""
    for page in exercises():
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


NUMBERED = "| lab | exercise |"  # ends the head of a table


def articles_page(book):
    """In the map's tables the first column names what is in the tutorial; the numbers
    of labs and the names of exercises, in columns of their own, are links."""
    page_of = {page.name: page for page in exercises()}

    def to_exercise(m):
        if m[1] not in page_of:
            fail(f"source/articles.md: there is no exercise {m[1]}")
        return f"[{page_of[m[1]].number}](exercises.html#exercise-{page_of[m[1]].slug})"

    links = {2: (r"\d+", lambda m: f"[{m[0]}]({book.labs[m[0]][0]})"),
             3: (r"`(\w+)`", to_exercise)}
    out, numbered = [], False
    for line in read("source/articles.md").split("\n"):
        numbered = line.endswith(NUMBERED) or numbered and line.startswith("|")
        first, *cells = line[1:-1].split("|") if line.startswith("|") else [line]
        cells = [re.sub(*links[i], cell) if numbered and i in links
                 else book.link(cell) for i, cell in enumerate(cells, 1)]
        out.append("|".join(["", first, *cells, ""]) if cells else book.link(line))
    return "\n".join(out)


def tiny_page(book):
    """notebook/programs/tiny.c, part by part, and beside each what tiny.md says of it."""
    code = (ROOT / "notebook" / "programs" / "tiny.c").read_text(encoding="utf-8")
    parts = re.split("^(?=// ---- )", code, flags=re.M)
    out, *texts = re.split("^(?=## )", book.link(read("source/tiny.md")), flags=re.M)
    if len(texts) != len(parts):
        fail(f"tiny.c has {len(parts)} parts, and tiny.md speaks of {len(texts)}")
    for part, text in zip(parts, texts):
        heading, text = text.split("\n", 1)
        out += f"{heading}\n\n::: beside\n{text}\n:::\n\n``` c\n{part}```\n\n"
    return out


def pages_of(book):
    """(name, title, Markdown) of every page, in their order."""
    pages = [("index", TITLE, index_page(book))]
    pages += [(c.page, c.label, chapter_markdown(book, c))
              for c in book.chapters]
    pages += [(*LAST, last_chapter(book)),
              ("articles", "From your tutorial to the chapters",
               articles_page(book)),
              ("tiny", "All of it, on ten screens", tiny_page(book)),
              ("deviations", "Where the program departs from the paper",
               deviations_page(book)),
              ("exercises", "Exercises", exercises_page(book)),
              ("teacher", "For teachers",
               book.prose(read("exercises/teacher.md"))),
              ("course", "A course with this book", course.page(book, exercises())),
              ("concept-test", "A concept test", concept.page(book)),
              ("lesson", "The live page, in a lesson",
               directives(book, read("source/lesson.md"))),
              ("own-language", "Your own language",
               book.link(directives(book, read("source/own-language.md")))),
              ("testing", "How it is tested",
               book.link(directives(book, read("source/testing.md")))),
              ("functions", "Functions and types", functions_page(book))]
    check_used(book)
    return pages


def sections_of(pages):
    """(page, title, level, heading, anchor) of all sections."""
    return [(name, title, *heading) for name, title, page in pages
            for heading in headings_of(body_of(page))]


def woven(book, anew=False, folder=DOCS, left_out=(), change=lambda name, page: page):
    """{name: text} of every page and of the other files. A page that is up to date
    stays as it is, unless all are to be made anew. Pages may be `left_out`: no other lists
    them then, and the search finds nothing that stands elsewhere."""
    made = pages_of(book)
    names = [(START, "Start page"), *((name, title) for name, title, _ in made[1:]),
             ("terms", "Index of terms")]

    def kept(rows, at=0):
        return [row for row in rows if re.split("[.#]", row[at])[0] not in left_out]

    def weave(name, title, markdown):
        return page_of(name, title, markdown, names if name in left_out else kept(names),
                       book, not anew and folder)

    pages = [(name, title, weave(name, title, markdown)) for name, title, markdown in made]
    terms = finding.read_terms(read("source/terms.md"),
                               finding.places(book, sections_of(pages)))
    pages = [(name, title, change(name, page)) for name, title, page in kept(pages)]
    sections = [*sections_of(pages), ("terms", "", 1, "Index of terms", "")]
    bodies = [(name, title, body_of(page)) for name, title, page in pages]
    pages.append((*names[-1], weave(*names[-1], finding.terms_page(book, terms))))
    return {**{f"{name}.html": page for name, _, page in pages},
            "script.js": finding.script(read("source/script.js"), kept(finding.entries(
                book, terms, sections, contract), 1), kept(all_stops(book), 3)),
            "texts.js": texts.script(bodies, alone=bool(left_out)),
            "concept-test.gift": concept.gift(book)}


# What makes HTML of Markdown.
MAKERS = [DOCS / "source" / "page.tmpl", *(DOCS / "weaver" / name for name in (
    "finish.py", "link.py", "page.py"))]


def page_of(name, title, markdown, names, book, folder):
    """A page from its Markdown, or the one in a folder that was made of the same."""
    what = [markdown, title, *map(str, names), *(
        path.read_text(encoding="utf-8") for path in MAKERS)]
    mark = "<!-- woven from " + hashlib.sha256(
        "\n".join(what).encode()).hexdigest()[:16] + " -->\n"
    (BUILD / f"{name}.md").write_text(markdown, encoding="utf-8")
    path = folder and folder / f"{name}.html"
    if path and path.exists() and (old := path.read_text(encoding="utf-8")).endswith(mark):
        return old
    top = 0 if name in (START, "deviations", "terms") else 2
    return full_page(title, pandoc(name, book), name=name, top=top, names=names) + mark

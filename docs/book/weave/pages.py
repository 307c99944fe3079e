"""All pages, as Markdown, in their order: the start page, docs/book/text/index.md; the
chapters; and what stands beside them.
"""

import html
import re

from project import DOCS, fail, read

import source_file
from book import LAST, raw
from chapters import chapter_markdown, contract, set_formulas
from directives import check_used, directives
from records import attention
from search import KINDS
from sitting import sitting
from teaching import concept_test, course, promises
from to_html import TITLE


# ------------------------------------------------------------ the start page

def contents_list(book, said):
    """The chapters, each with what it promises: `said` has that of each page."""
    rows = [("" if c.number is None else c.number, c.page,
             c.label if c.number is None else c.title) for c in book.chapters]
    rows.append(("", *LAST))
    if list(said) != [page for _, page, _ in rows]:
        fail("book/text/index.md: @contents needs one promise for each chapter, "
             "in the order of the chapters")
    items = [f'<li><span class="number">{number}</span> '
             f'<a href="{name}.html">{html.escape(title)}</a> '
             f'<span class="promise">{html.escape(said[name])}</span></li>'
             for number, name, title in rows]
    return raw('<ul class="chapters">\n' + "\n".join(items) + "\n</ul>")


def translation():
    """What the model of docs/book/records/ was given, and what it made of it."""
    _, _, looked = attention("red-car")
    written = read("book/records/red-car.txt").partition("\n")[0]
    return raw('<dl class="pair">\n<dt>English in</dt> '
               f"<dd>{html.escape(' '.join(looked[:-1]))}</dd>\n"
               '<dt>French out</dt> '
               f'<dd lang="fr">{html.escape(written)}</dd>\n</dl>')


def index_page(book):
    """The first page: what it is, for whom, the chapters."""
    text = re.sub(r"^@contents\n(.+: .+\n)+", lambda _: contents_list(book, promises()),
                  read("book/text/index.md").replace("@translation\n", translation()), flags=re.M)
    return book.link(directives(book, text))


# ---------------------------------------------------------------- the others

def functions_page(book):
    """Every function with its contract and those that use it, every type with
    its place."""
    out, users = ["# Functions and types"], book.users()
    for kind, title in KINDS.items():
        out.append(f"## {title}")
        for name in sorted(book.defined, key=str.lower):
            chapter, its, _, text = book.defined[name]
            if its != kind:
                continue
            out.append(f"[`{name}`]({book.place(name)}) {chapter.reference}")
            if kind == "function":
                said = book.prose("\n".join(set_formulas(contract(text).split("\n"), 0)))
                out.append(":   " + said.replace("\n", "\n    "))
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


ASKED = {"write": "Write it", "bug": "Find the bug",
         "number": "Compute it", "train": "Train it"}


def exercises():
    return source_file.pages(DOCS / "exercises", lambda path: path.read_text(encoding="utf-8"),
                             read("../transformer.c"))


def exercises_page(book):
    """All pages of docs/exercises/, with their hints folded."""
    out, kind = [read("book/text/exercises.md")], ""
    for page in exercises():
        if kind != page.kind:
            kind = page.kind
            out.append(f"## {ASKED[kind]}")
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
            fail(f"book/text/articles.md: there is no exercise {m[1]}")
        return f"[{page_of[m[1]].number}](exercises.html#exercise-{page_of[m[1]].slug})"

    links = {2: (r"\d+", lambda m: f"[{m[0]}]({book.labs[m[0]][0]})"),
             3: (r"`(\w+)`", to_exercise)}
    out, numbered = [], False
    for line in read("book/text/articles.md").split("\n"):
        numbered = line.endswith(NUMBERED) or numbered and line.startswith("|")
        first, *cells = line[1:-1].split("|") if line.startswith("|") else [line]
        cells = [re.sub(*links[i], cell) if numbered and i in links
                 else book.link(cell) for i, cell in enumerate(cells, 1)]
        out.append("|".join(["", first, *cells, ""]) if cells else book.link(line))
    return "\n".join(out)


def pages_of(book):
    """(name, title, Markdown) of every page, in their order."""
    pages = [("index", TITLE, index_page(book))]
    pages += [(c.page, c.label, chapter_markdown(book, c))
              for c in book.chapters]
    pages += [(*LAST, book.link(directives(book, read(f"book/text/{LAST[0]}.md")))),
              ("articles", "From your tutorial to the chapters",
               articles_page(book)),
              ("deviations", "Where the program departs from the paper",
               deviations_page(book)),
              ("exercises", "Exercises", exercises_page(book)),
              ("teacher", "For teachers",
               book.prose(read("exercises/teacher.md"))),
              ("course", "A course with this book", course(book, exercises())),
              ("concept-test", "A concept test", concept_test(book)),
              ("lesson", "The live page, in a lesson",
               directives(book, read("book/text/lesson.md"))),
              ("own-language", "Your own language",
               book.link(directives(book, read("book/text/own-language.md")))),
              ("testing", "How it is tested",
               book.link(directives(book, read("book/text/testing.md")))),
              ("functions", "Functions and types", functions_page(book))]
    pages.insert(1, ("tiny", "One sitting: the whole Transformer", sitting(book)))
    check_used(book)
    return pages

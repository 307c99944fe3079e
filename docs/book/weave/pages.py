"""All pages, as Markdown, in their order: the start page, docs/book/text/index.md; the
chapters; and what stands beside them.
"""

import html
import json
import re

from project import DOCS, fail, read

import source_file
from book import LAST, raw
from chapters import chapter_markdown, contract, set_formulas
from directives import check_used, directives
from drawing import decimals
from records import attention, mean_of_heads
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


# Records of sentences, and what they are called. Their weights are means of the heads.
SENTENCES = {"red-car": "the red car", "houses": "old houses", "girl": "the girl"}

# The lines that make the map: of which function, the part that is looked for (from one line
# to another), whether a line makes a cell, a row or all, and what it does.
LINES = [
    ("attention_forward", "a.q, transposed(a.k)", "cell",
     "A score in each cell: the query of the French word, times the key of the English one."),
    ("attention_forward", "a.scale", "all", "Each score is divided by √K."),
    ("attention_forward", "softmax_forward", "all", "Each row becomes shares of 1, as below."),
    ("softmax_row", "max(x, n)", "row", "The row’s largest score: it is subtracted, so that "
     "no exponential is too large."),
    ("softmax_row", "for exponential", "row", "Each score becomes its exponential."),
    ("softmax_row", "1 / sum", "row", "What makes the row sum to 1 …"),
    ("softmax_row", "for share", "cell", "… multiplies each number of the row: these are the "
     "weights."),
    ("attention_forward", "a.dropped, a.v", "row", "Then the values of the English words are "
     "mixed in these shares.")]


def lines_of(book, function, part):
    """The line of a function that has this part, without its comment; "for PART" has the
    loop above it, too."""
    lines = book.defined[function][2]
    loop, part = part.startswith("for "), part.replace("for ", "", 1)
    found = [i for i, line in enumerate(lines) if part in line
             and (not loop or "for (" in lines[i - 1])]
    if len(found) != 1:
        fail(f"the start page: {function} has {len(found)} lines with {part}, not one")
    return [line[4:].partition(" //")[0].rstrip() for line in lines[found[0] - loop:found[0] + 1]]


def known_words():
    """The English words of the training data, and the sign that ends a question."""
    pairs = read("../data/eng-fra.train.tsv").splitlines()
    return sorted({word for pair in pairs
                   for word in pair.partition("\t")[0].replace("?", " ?").split()})


def table_of(looked, wrote, weights):
    """The map of one sentence; the script draws those of others in the same way."""
    upright = ' class="upright"' * (max(map(len, looked)) > 5)
    head = "".join(f'<th scope="col"><span>{html.escape(word)}</span></th>' for word in looked)
    rows = "\n".join(
        f'<tr><th scope="row" lang="fr">{html.escape(word)}</th>' + "".join(
            f'<td style="--share:{weight:.4f}">{decimals(weight)}</td>' for weight in row)
        + "</tr>" for word, row in zip(wrote, weights))
    return f'<thead{upright}><tr><td></td>{head}</tr></thead>\n<tbody lang="en">\n{rows}\n</tbody>'


def start_map(book, below):
    """Where the model looks and what stands below, beside the lines that compute it."""
    found = []
    for run in SENTENCES:
        _, wrote, looked = attention(run)
        found.append({"looked": looked, "wrote": wrote, "weights": [
            [round(weight, 4) for weight in row] for row in mean_of_heads(run, "1")]})
    first, code, lines = found[0], [], []
    for function, part, makes, said in LINES:
        new = lines_of(book, function, part)
        if not lines or lines[-1]["of"] != function:
            code += [f"// {function}"]
            lines.append({"of": function})
        code += new
        lines += [{"of": function, "makes": makes, "said": said}] * len(new)
    buttons = "".join(f'<button type="button" aria-pressed="{str(not i).lower()}">{name}'
                      "</button>" for i, name in enumerate(SENTENCES.values()))
    data = json.dumps({"sentences": found, "words": known_words(), "lines": lines},
                      ensure_ascii=False).replace("</", "<\\/")
    return "\n".join([
        ":::: demo", "::: looks", raw(
            f'<form><p class="choose">{buttons}</p>\n<label>A sentence to translate\n<input '
            f'list="words" autocomplete="off" spellcheck="false" value="'
            f'{" ".join(first["looked"][:-1])}"></label><datalist id="words"></datalist>\n'
            f'<p class="written" lang="fr" role="status">{" ".join(first["wrote"][:-1])}</p>'
            f'</form>\n<div class="grid"><table class="map" aria-label="Where the model looks" tabindex="0">\n'
            f'{table_of(**first)}\n</table></div>\n<p class="said" role="status">A row shows where '
            "the model looks before it writes that word; it sums to 1. Point at a number, or at a "
            "line.</p>"),
        below, ":::", "::: lines", "The lines that compute it, in `attention_forward` and `softmax_row`:",
        "", "``` c", *code, "```", ":::",
        raw(f'<script type="application/json" id="map">{data}</script>'), "::::", ""])


def index_page(book):
    """The first page: what the model does, the doors, for whom it is, the chapters."""
    text = re.sub(r"^@contents\n(.+: .+\n)+", lambda _: contents_list(book, promises()),
                  read("book/text/index.md"), flags=re.M)
    return book.prose(re.sub("^@map\n(.+)", lambda m: start_map(book, m[1]), text, flags=re.M))


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
              ("what-is-wrong", "What is wrong?", book.link(directives(
                  book, read("book/text/what-is-wrong.md") + read("book/text/which-mistake.md")))),
              ("testing", "How it is tested",
               book.link(directives(book, read("book/text/testing.md")))),
              ("functions", "Functions and types", functions_page(book))]
    pages.insert(1, ("tiny", "One sitting: the whole Transformer", sitting(book)))
    check_used(book)
    return pages

"""What the search looks through besides names: the text of every section, of
docs/using.md and of the labs. It and MiniSearch, which ranks it, are a script of
their own, which a page loads when its search is first used.
"""

import functools
import json
import re
from html.parser import HTMLParser

from common import labs, read

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
    """Its lines that are not empty."""
    return [one_line(line) for line in text.split("\n") if line.strip()]


@functools.lru_cache(maxsize=None)
def of_page(name, title, body):
    """[address, heading, where, lines of its text ...] of each section of a page."""
    body = re.sub(r"(?<!>)\n(?!<)", " ", body)  # a paragraph has many lines
    return [[f"{name}.html#{anchor}", one_line(heading), title, *lines_of(text)]
            for anchor, heading, text in Sections(body).found if text.strip()]


def of_markdown(address, where, text):
    """The same of a file, as one section, without its code."""
    text = re.sub(r"\A---\n.*?^---\n|^(```|~~~).*?^\1$|^\|[-:|]+\|$", "", text,
                  flags=re.DOTALL | re.MULTILINE)
    title = re.search(r"^# (.+)", text, re.MULTILINE)[1]
    text = re.sub(r"!?\[(.*?)\]\(.*?\)", r"\1", text)
    text = re.sub(r"^#+ .*|[`*]", "", text, flags=re.MULTILINE)
    text = re.sub(r"(?<!\n)\n(?![\n|-])", " ", text)
    return [address, title, where, *lines_of(text.replace("|", " · "))]


def script(pages, alone=False):
    """The script, from (name, title, body) of all pages, and of what else there is."""
    rows = [row for name, title, body in pages if name not in ELSEWHERE
            for row in of_page(name, title, body)]
    others = [] if alone else [("using.md", "docs", read("using.md")), *(
        (address, "a lab", path.read_text(encoding="utf-8"))
        for address, _, path in labs().values())]
    rows += [of_markdown(*other) for other in others]
    lines = ",\n".join(json.dumps(row[:3], ensure_ascii=False)[:-1] + "".join(
        ",\n" + json.dumps(line, ensure_ascii=False) for line in row[3:]) + "]"
        for row in rows)
    return ("// Written by docs/weaver: the text that can be searched, a paragraph a line, and"
            " below it\n// MiniSearch, docs/source/minisearch.js.\n"
            f"const TEXTS = [\n{lines}\n].map(([address, title, where, ...lines]) =>\n"
            '    [address, title, where, lines.join(" ")]);\n\n'
            + read("source/minisearch.js"))

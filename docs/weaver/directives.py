"""What "@figure NAME" and so on in the files of docs/source/ stand for, and
"//@ run COMMAND" in transformer.c.
"""

import csv
import functools
import html
import itertools
import re

import breaking
from c_code import definitions, with_comment
from common import DOCS, ROOT, command, fail, raw
from figures import figure

EXAMPLES = DOCS / "source" / "examples.c"


@functools.lru_cache(maxsize=None)
def said(line):
    print(f"$ {line}", flush=True)
    return command(["sh", "-c", line]).rstrip("\n")


def output(line, where):
    """A command and its output."""
    if not said(line):
        fail(f"{where}: the command prints nothing: {line}")
    return printed(line, said(line))


def run(line, where):
    """The same; for an example, with the lines that print it."""
    out = output(line, where)
    example = re.fullmatch(r"build/examples (\w+)", line)
    if example:
        name = "example_" + example[1]
        out += raw("<details>\n<summary>The function that prints this: "
                   f"<code>{name}</code></summary>") \
            + f"\n``` c\n{with_comment(EXAMPLES, name)}\n```\n" + raw("</details>")
    return out


def printed(line, output, note=""):
    """A command above what it has printed."""
    return raw('<figure class="run">\n<figcaption><code>$ '
               f"{html.escape(line)}</code>{note}</figcaption>\n"
               f"<pre><samp>{html.escape(output)}</samp></pre>\n</figure>")


def shown_lines(book, mutant):
    """A line as it is, and broken; not if it is one that a file with holes lacks."""
    lines, source = breaking.difference(mutant), "".join(book.source.split())
    if all("".join(line[1:].split()) in source for line in lines if line[0] == "-"):
        return lines
    return ["  " + breaking.HIDDEN]


def broken_lines(book, name):
    """What breaking.py breaks, by function: lines as they are, and broken."""
    functions = itertools.groupby(breaking.plant(name), lambda m: m.function)
    return "\n\n".join(
        f"In `{function}`:\n\n``` diff\n" + "\n".join(
            line for m in mutants for line in shown_lines(book, m)) + "\n```"
        for function, mutants in functions)


def outcome(name):
    """What was written down when they had been broken."""
    return "".join(printed(line, output.rstrip("\n"), " with the line broken")
                   for line, output in breaking.recorded(name))


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


def lab_function(name):
    """A function of the labs' models."""
    files = [ROOT / "notebook" / "lib" / file for file in ("gpt.h", "modern.h")]
    return with_comment(next(file for file in files if name in {
        its.name for its in definitions(file)} or file is files[-1]), name)


DIRECTIVES = "figure|function|program|lab|table|file|broken|outcome"


def directives(book, text):
    """What "@figure NAME" and so on in the files of docs/source/ stand for."""
    make = {
        "figure": lambda name: figure(book, name, "docs/source"),
        "function": lambda name: "``` c\n" + with_comment(
            ROOT / "tests" / "bench" / "product.c", name) + "\n```",
        "program": lambda name: "``` c\n" + "\n".join(
            line for line in book.defined[name][2] if "//@" not in line)
        + "\n```",
        "lab": lambda name: f"::: {{#{name}}}\n``` c\n{lab_function(name)}\n```\n:::",
        "table": table,
        "file": lambda name: "```\n" + (ROOT / name).read_text(
            encoding="utf-8") + "```",
        "broken": lambda name: broken_lines(book, name),
        "outcome": outcome,
    }
    return re.sub(rf"^@({DIRECTIVES}) (\S+)$", lambda m: make[m[1]](m[2]),
                  text, flags=re.MULTILINE)

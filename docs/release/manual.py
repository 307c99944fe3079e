"""The manual page transformer.1, in mdoc(7): commands and options are those of the
program's own tables, and what a status means is the table of chapter 15.
"""

import re
import subprocess
import textwrap
from datetime import date
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
BUILD = ROOT / "build" / "release-parts"

HEAD = """\
.\\" SPDX-License-Identifier: MIT
.Dd {date}
.Dt TRANSFORMER 1
.Os
.Sh NAME
.Nm transformer
.Nd train the Transformer of \\(lqAttention Is All You Need\\(rq, and translate with it
.Sh SYNOPSIS
"""
DESCRIPTION = """\
.Sh DESCRIPTION
.Nm
is the encoder-decoder transformer in one C file.
It learns from pairs of sentences in UTF-8, one pair a line:
source, tab, target.
A model is a file in the safetensors format; with it the program translates, and
shows which words it looks at.
Data goes to standard output, messages go to standard error.
.Pp
The commands:
"""
OPTIONS = """\
.Sh OPTIONS
An option is written
.Fl -name Ar value
or
.Fl -name Ns = Ns Ar value ,
before or after the operands.
If an option is given twice, the later one counts.
The default is in brackets.
The commands that take it are in parentheses.
"""
EXAMPLES = """\
.Sh EXAMPLES
Train a model, see how good it is on other pairs, and translate:
.Bd -literal -offset indent
transformer train pairs.tsv \\-\\-valid held-out.tsv \\-\\-lowercase
transformer evaluate model.safetensors test.tsv
transformer translate model.safetensors < sentences.txt
.Ed
.Pp
Go on with a run that was stopped by Ctrl-C:
.Bd -literal -offset indent
transformer train pairs.tsv \\-\\-valid held-out.tsv \\-\\-lowercase \\-\\-resume
.Ed
"""


def tables():
    """The rows of commands and of options."""
    BUILD.mkdir(parents=True, exist_ok=True)
    program = BUILD / "tables"
    subprocess.run(["cc", "-std=c11", "-O0", str(HERE / "tables.c"), "-o",
                    str(program), "-lm"], check=True)
    rows = [line.split("\t") for line in subprocess.run(
        [str(program)], stdout=subprocess.PIPE, text=True,
        check=True).stdout.splitlines()]
    return [[row[1:] for row in rows if row[0] == kind]
            for kind in ("command", "option")]


def statuses():
    """(status, what it means) of chapter 15."""
    text = (ROOT / "transformer.c").read_text(encoding="utf-8")
    table = re.search(r"^//     0    done\n(//     .*\n)+", text, re.M)[0]
    rows = []
    for line in table.splitlines():
        number, more = re.fullmatch(r"//     (\d*) *(.*)", line).groups()
        if number:
            rows.append((number, more))
        else:
            rows[-1] = (rows[-1][0], f"{rows[-1][1]} {more}")
    return rows


def escaped(text):
    """Text in which mdoc finds nothing of its own, in short lines."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    lines = textwrap.wrap(text, 70, break_on_hyphens=False, break_long_words=False)
    return re.sub(r"^([.'])", r"\\&\1", "\n".join(lines), flags=re.M)


def listed(rows, of):
    """A list: of each row the line of its name, and its text."""
    return ".Bl -tag -width Ds\n" + "".join(of(*row) for row in rows) + ".El\n"


def operands(text):
    """[MODEL] DATA.tsv as arguments, some of which may be left out."""
    return "\n".join(f".Op Ar {word[1:-1]}" if word[0] == "[" else f".Ar {word}"
                     for word in text.split())


def command(name, its, text):
    return f".It Cm {name}\n{escaped(text[0].upper() + text[1:])}.\n"


def option(name, value, initial, text, takers):
    head = f".It Fl \\-{escaped(name)}" + (f" Ar {escaped(value)}" if value else "")
    default = f" [{escaped(initial)}]" if initial else ""
    names = ", ".join(takers.split())
    return f"{head}\n{escaped(text[0].upper() + text[1:])}{default}.\n" \
        f".Pq {names}\n"


def page(day):
    """The whole page; day: a date, YYYY-MM-DD."""
    commands, options = tables()
    day = date.fromisoformat(day)
    synopsis = "".join(
        f".Nm\n.Cm {name}\n{operands(its)}\n.Op Ar options\n"
        for name, its, _ in commands) + ".Nm\n.Fl -version\n"
    return HEAD.format(date=f"{day:%B} {day.day}, {day.year}") + synopsis \
        + DESCRIPTION + listed(commands, command) + OPTIONS \
        + listed(options, option) + ".Sh EXIT STATUS\n" \
        + listed(statuses(), lambda number, text:
                 f".It {number}\n{escaped(text)}\n") + EXAMPLES

"""The manual page transformer.1, in mdoc(7): commands and options are those of the
program's own help, and what a status means is the table of chapter 15.
"""

import re
import subprocess
import textwrap
from datetime import date
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PROGRAM = ROOT / "build" / "docs" / "transformer"

PAGE = """\
.\\" SPDX-License-Identifier: MIT
.Dd {date}
.Dt TRANSFORMER 1
.Os
.Sh NAME
.Nm transformer
.Nd train the Transformer of \\(lqAttention Is All You Need\\(rq, and translate with it
.Sh SYNOPSIS
{synopsis}.Nm
.Fl -version
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
{commands}.Sh OPTIONS
An option is written
.Fl -name Ar value
or
.Fl -name Ns = Ns Ar value ,
before or after the operands.
If an option is given twice, the later one counts.
The default is in brackets.
The commands that take it are in parentheses.
{options}.Sh EXIT STATUS
{statuses}.Sh EXAMPLES
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


def help_of(*command):
    return subprocess.run([PROGRAM, *command, "--help"], stdout=subprocess.PIPE, text=True,
                          check=True).stdout


def tables():
    """{command: (operands, what it does)}, and {option: (value, text, its commands)}."""
    commands = {name: (operands, text) for name, operands, text in re.findall(
        r"^  (\w+) +(\S.*?)  +(.+)$", help_of(), re.M)}
    options = {}
    for command in commands:
        for name, value, text in re.findall(r"^  --(\S+) (.*?)  +(.+)$", help_of(command), re.M):
            options.setdefault(name, (value, text, []))[2].append(command)
    return commands, options


def statuses():
    """(status, what it means) of chapter 15."""
    text = (ROOT / "transformer.c").read_text(encoding="utf-8")
    table = re.search(r"^//     0    done\n(//     .*\n)+", text, re.M)[0]
    return re.findall(r"^ {5}(\d+) +(.+(?:\n {6}.+)*)", table.replace("//", ""), re.M)


def escaped(text):
    """A text as mdoc has it: with a capital, on short lines."""
    lines = textwrap.wrap(text[0].upper() + text[1:], 70, break_on_hyphens=False)
    return "\n".join(lines).replace("-", "\\-")


def listed(rows):
    """A list: of each row the line of its name, and its text."""
    return ".Bl -tag -width Ds\n" + "".join(
        f".It {name}\n{escaped(text)}\n" for name, text in rows) + ".El\n"


def synopsis(name, operands):
    """A command and its operands, some of which may be left out."""
    return f".Nm\n.Cm {name}\n" + "".join(
        f".Op Ar {word[1:-1]}\n" if word[0] == "[" else f".Ar {word}\n"
        for word in operands.split()) + ".Op Ar options\n"


def option(name, value, text, takers):
    return ("Fl " + f"-{name}".replace("-", "\\-") + (f" Ar {value}" if value else ""),
            f"{text}. ({', '.join(takers)})")


def page(day):
    """The whole page; day: a date, YYYY-MM-DD."""
    commands, options = tables()
    day = date.fromisoformat(day)
    return PAGE.format(
        date=f"{day:%B} {day.day}, {day.year}",
        synopsis="".join(synopsis(name, its) for name, (its, _) in commands.items()),
        commands=listed((f"Cm {name}", f"{text}.") for name, (_, text) in commands.items()),
        options=listed(option(name, *its) for name, its in options.items()),
        statuses=listed(statuses()))

#!/usr/bin/env python3
"""A program that includes transformer.c can rely on what docs/using.md promises.

    python3 docs/release/test_using.py        after `make docs`; the last line is
                                              "N passed, N failed"
"""

import re

from build import PROGRAM, ROOT, run
from harness import claim, end

WORK = ROOT / "build" / "using"
STRICT = "cc -std=c11 -O1 -Wall -Wextra -Wpedantic -Wshadow -Werror -I.".split()


def ran(*command, **how):
    """The status of a program, and all that it prints."""
    return run(*command, allowed=(), together=True, cwd=ROOT, **how)[:2]


def compiled(name, text, *options):
    (WORK / name).write_text(text, encoding="utf-8")
    return ran(*STRICT, WORK / name, *options)


def main():
    WORK.mkdir(parents=True, exist_ok=True)
    using = (ROOT / "docs" / "using.md").read_text(encoding="utf-8")
    program, names = re.findall(r"^ *```c\n(.*?)^ *```", using, re.S | re.M)
    status, said = compiled("program.c", program, "-o", WORK / "program", "-lm")
    claim(status == 0, "the program of docs/using.md compiles without a warning", said)
    model, sentence = WORK / "model.safetensors", "the red car is fast"
    ran(PROGRAM, "train", ROOT / "data" / "eng-fra.valid.tsv", "--steps", "60", "--layers",
        "1", "--d-model", "32", "--warmup", "20", "--model", model)
    _, wanted = ran(PROGRAM, "translate", model, given=sentence + "\n")
    status, said = ran(WORK / "program", model, sentence)
    claim(status == 0 and said == wanted.partition("\n")[0] + "\n" != "\n",
          "it translates as transformer does", said + wanted)
    claim(ran(WORK / "program", WORK / "none", sentence)[0] == 1,
          "without a model it ends with status 1")
    include = '#include "transformer.c"\n'
    status, said = compiled("names.c", include + names, "-fsyntax-only")
    claim(status == 0 and names.count(";") >= 9,
          "the functions that it promises have these parameters", said)
    claim(compiled("wrong.c", include + names.replace("bool training", "int training"),
                   "-fsyntax-only")[0], "another parameter would be noticed")
    end()


if __name__ == "__main__":
    main()

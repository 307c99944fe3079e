"""What C files define, and where. Universal Ctags reads them: whoever needs to know
where a function begins and ends asks here.
"""

import functools
import json
import re
import shutil
from collections import namedtuple

from command import Failed, run

# The first and last line, counted from 1, and the lines themselves. Of a type whose
# body has no name, the body belongs to it; of a constant, its whole enum.
Definition = namedtuple("Definition", "name kind first last lines signature")

KINDS = {"function": "function", "prototype": "prototype", "typedef": "type",
         "variable": "table", "enumerator": "constant", "macro": "macro"}
CTAGS = "ctags --quiet --options=NONE --language-force=C --kinds-C=+p --sort=no " \
    "--fields=+neS --output-format=json -o -"


def tags(path):
    if not shutil.which("ctags"):
        raise Failed("ctags not found: apt-get install universal-ctags (Debian), brew "
                     "install universal-ctags (macOS)")
    return [json.loads(line) for line in run(*CTAGS.split(), path).out.splitlines()]


@functools.lru_cache(maxsize=None)
def definitions(path):
    """All of a C file, in its order: functions, prototypes, types, tables (arrays with
    values), constants of enums, and macros."""
    lines = path.read_text(encoding="utf-8").split("\n")
    its, found = tags(path), []
    bodies = {tag["end"]: tag["line"] for tag in its
              if tag["kind"] in ("struct", "union", "enum") and "end" in tag}
    enums = {tag["name"]: tag for tag in its if tag["kind"] == "enum"
             and "scope" not in tag}
    for tag in its:
        kind, first, last = KINDS.get(tag["kind"]), tag["line"], tag.get("end")
        if kind == "constant":
            enum = enums.get(tag["scope"])
            kind = kind if enum else None
            first, last = (enum["line"], enum["end"]) if enum else (0, 0)
        elif kind == "type":
            first, last = bodies.get(first, first), first
        elif kind == "table" and not lines[first - 1].endswith("{"):
            kind = None
        elif kind == "prototype":
            last = next(n for n in range(first, len(lines)) if ";" in lines[n - 1])
        elif kind == "macro":
            last = first
        if kind and ("scope" not in tag or kind == "constant"):
            found.append(Definition(tag["name"], kind, first, last,
                                    lines[first - 1:last], tag.get("signature", "")))
    return found


def function(path, name):
    """The one function of this name in a C file."""
    found = [d for d in definitions(path) if (d.name, d.kind) == (name, "function")]
    if len(found) != 1:
        raise Failed(f"{path.name} has {len(found)} functions {name}, not one")
    return found[0]


def body(definition):
    """The lines between a function's head and its last brace."""
    head = next(n for n, line in enumerate(definition.lines) if line.endswith("{"))
    return definition.lines[head + 1:-1]


def with_comment(path, name):
    """A function as text, with the comment that touches it."""
    its, lines = function(path, name), path.read_text(encoding="utf-8").split("\n")
    first = its.first - 1
    while lines[first - 1].startswith("//"):
        first -= 1
    return "\n".join(lines[first:its.last])


def parameters(definition):
    """How many a function has, or 1."""
    return re.sub(r"\([^()]*\)", "", definition.signature[1:-1]).count(",") + 1

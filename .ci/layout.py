"""How long chapters and folders may be, and who may use whom."""

import re
import subprocess
import sys
from collections import Counter, defaultdict
from os.path import dirname, join, normpath
from pathlib import Path

# Each may use those before it, and the program and its data; but nobody uses tests.
PARTS = """tests/lib notebook/lib tests notebook docs/assets docs/exercises docs/live
    docs/book docs/write docs/release""".split()
ALLOWED = [  # the book shows a benchmark, and quotes what tests claim
    ("docs/book/weave/directives.py", "tests")]
CODE = r"\./(.*\.(c|h|py|js|mjs|sh|css|awk|lua)$|Makefile$|\.ci/)"
OTHER = r"\./(transformer\.c$|docs/[a-z]*\.(js|css)$|.*(minisearch|unicode\.h$)|build/|out/|exercises/)"
CAPS = [line.split() for line in Path(".ci/caps.txt").read_text().splitlines()]


def chapters():
    """Lines that are only marks or shapes do not count."""
    code, prose, name = Counter(), Counter(), None
    for line in Path("transformer.c").read_text("utf-8").splitlines():
        mark = re.match(r"//@ chapter (\w+)", line)
        name = mark[1] if mark else name
        if not re.match(r"\s*$|\s*SHAPE\(.*\);$|\s*//@", line):
            (prose if re.match(r"\s*//", line) else code)[name] += 1
    caps = {row[0]: tuple(map(int, row[1:])) for row in CAPS if len(row) == 3}
    for name in code:
        if code[name] > caps[name][0] or prose[name] > caps[name][1]:
            yield (f"chapter {name}: {code[name]} lines of code and {prose[name]} of prose; "
                   f"at most {caps[name]} are allowed: move it to a lab, or shorten something")


def files():
    found = subprocess.run(["find", ".", "-type", "f"], stdout=subprocess.PIPE, text=True).stdout
    return [path[2:] for path in found.split("\n")
            if re.match(CODE, path) and not re.match(OTHER, path)]


def folders():
    """Lines of code of each folder; "rest" is what lies in none of them."""
    caps, lines = {row[0]: int(row[1]) for row in CAPS if len(row) == 2}, Counter()
    for path in files():
        name = next((name for name in caps if path.startswith(f"{name}/")), "rest")
        lines[name] += Path(path).read_bytes().count(b"\n")
    return [f"{name}: {lines[name]} lines of code, at most {caps[name]} are allowed"
            for name in caps if lines[name] > caps[name]]


def part(path):
    """The part that a path is in; None for what any part may use, such as tests/list."""
    return next((name for name in PARTS if f"{path}/".startswith(f"{name}/")
                 and path != "tests/list"), None)


def uses():
    """Imports, and paths that begin a string or, in a script, a word."""
    modules = defaultdict(set)
    for path in files():
        modules[path.endswith(".py") and Path(path).stem].add(part(path))
    for path in filter(part, files()):
        text = re.sub(r"(?m)(^|\s)(//|# ).*", "", Path(path).read_text("utf-8")).replace('" / "', "/")
        before = r"[\s\"'`]" if path.endswith(".sh") else r"[\"'`]"
        used = [{part(normpath(join(dirname(path), to) if to[0] == "." else to))} for to in
                re.findall(before + r"((?:\.\./|tests/|notebook/|docs/)[\w./-]+)", text)]
        for name in re.findall(r"(?m)^\s*(?:from|import) (\w+)", text):
            used += [modules[name]] if path.endswith(".py") and name in modules else []
        mine = part(path)
        for its in used:
            if not any(to in (None, mine) or (path, to) in ALLOWED or to != "tests" and PARTS.index(to) < PARTS.index(mine)
                       for to in its):
                yield f"{path} may not use {' or '.join(its)}"


wrong = [*chapters(), *folders(), *uses()]
print("\n".join(wrong))
sys.exit(bool(wrong))

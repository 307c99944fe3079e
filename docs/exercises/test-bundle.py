#!/usr/bin/env python3
"""Tests what students get, which `make bundle` makes: unpacked elsewhere, used in the
terminal and, in chromium, in its page.

    python3 docs/exercises/test-bundle.py          after `make bundle`

The last line is "N passed, N failed".
"""

import base64
import gzip
import html
import io
import json
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import bundle
import tool

sys.path[:0] = [str(tool.ROOT / name) for name in (
    "tests/lib", "docs/weaver", "docs/live")]
from browser import Browser
from harness import claim, end
from source_file import with_bodies
from website import LINK

REFERENCE = tool.read_text(tool.REFERENCE)
REGIONS = tool.reference_regions()
POINTS = sum(e.worth for e in tool.load_exercises() if e.kind == "write")
SHORT = 16  # so long a line, without blanks, is no chance


def without_blanks(text):
    return re.sub(r"\s+", "", text)


def asked_lines():
    """{line, without blanks: its region} of what the exercises ask for."""
    given = without_blanks(tool.code_of(tool.source_file.with_holes(REFERENCE), True))
    lines = {without_blanks(line): name for name, region in REGIONS.items()
             for line in tool.code_of("\n".join(region.body), True).split("\n")}
    return {line: name for line, name in lines.items()
            if len(line) >= SHORT and line not in given}


def files_in(name, data):
    """(name, bytes) of a file and of all that is packed in it."""
    yield name, data
    if data[:2] == b"PK":
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for entry in archive.namelist():
                yield from files_in(f"{name}/{entry}", archive.read(entry))
    for found in re.finditer(rb'<script type="application/gzip" id="([^"]*)">([^<]*)', data):
        yield from files_in(f"{name}/{found[1].decode()}",
                            gzip.decompress(base64.b64decode(found[2])))


def leaks(data, asked):
    """The asked lines that stand in a file, be it C, a page, JSON or a compiled one."""
    text = data.decode("utf-8", "replace")
    seen = without_blanks(text.replace("\\n", "\n").replace('\\"', '"'))
    plain = without_blanks(html.unescape(re.sub(r"<[^>]+>", "", text)))
    return [line for line in asked if line in seen or line in plain]


def test_secrets(packed):
    asked, files = asked_lines(), list(files_in("zip", packed))
    claim(len(asked) > 100 and leaks(REFERENCE.encode(), asked) == [*asked]
          and leaks((tool.ROOT / "docs" / "02-attention.html").read_bytes(), asked),
          f"{len(asked)} lines of solutions are found where they stand")
    found = [f"{name}: {line}" for name, data in files[1:] for line in leaks(data, asked)]
    claim(not found, f"none is in the zip file, in any of the {len(files)} files in it", found)
    names = {name.rpartition("/")[2] for name, _ in files}
    wanted = {"AGENTS.md", "README.md", "write.html", "reference.o", "grade.wasm", "project.zip"}
    claim(wanted <= names and not {"grade.c", "tiny.html", "live.html"} & names,
          "it has the grader, compiled, but not its source", sorted(wanted - names))


def test_links(folder):
    dead = [f"{page.name}: {link[2]}" for page in folder.rglob("*.html")
            for link in LINK.finditer(re.sub("<script.*?</script>", "", page.read_text("utf-8"),
                                             flags=re.S))
            if not (page.parent / link[2].partition("?")[0]).is_file()]
    claim(not dead, "no link leads to what is not there", dead)


# ---------------------------------------------------------------- in the terminal

def grader(folder, *words):
    done = subprocess.run([sys.executable, "docs/exercises/tool.py", *words], cwd=folder,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.stdout, done.returncode


def named_mistakes():
    """{region: its first mistake that is known by its results}"""
    found = {}
    for e in tool.load_exercises():
        if e.kind == "write":
            found[e.name] = next(m for m in tool.load_mistakes(
                e, REGIONS[e.name].body) if m.kind == "=")
    return found


def test_terminal(folder):
    path = folder / "exercises" / "transformer.c"
    empty = path.read_text(encoding="utf-8")
    said, status = grader(folder, "grade")
    claim(f"\nscore: 0/{POINTS}\n" in said and status == 1 and said.count("\ntodo ") == len(REGIONS) - 1,
          "an untouched file gets nothing", said)
    path.write_text(with_bodies(empty, {name: ["    ; // mine", *region.body]
                                        for name, region in REGIONS.items()}), encoding="utf-8")
    said, status = grader(folder, "grade")
    claim(f"score: {POINTS}/{POINTS}" in said and status == 0, "the right bodies get full marks", said)
    wrong = named_mistakes()
    path.write_text(with_bodies(empty, {name: m.body for name, m in wrong.items()}),
                    encoding="utf-8")
    said, _ = grader(folder, "grade")
    missing = [f"{name}: {m.say}" for name, m in wrong.items() if m.say not in said]
    claim(f"score: 0/{POINTS}" in said and not missing,
          f"{len(wrong)} wrong bodies get nothing, and each is told its cause",
          "\n".join([*missing, said]))
    first = next(iter(REGIONS))
    body = ["    int *nothing = NULL;", "    *nothing = 1;"]
    path.write_text(with_bodies(empty, {first: body}), encoding="utf-8")
    line = tool.regions(path.read_text("utf-8"), "")[first].start + 2
    said, _ = grader(folder, "grade", f"N={first}")
    claim(f"nothing is a null pointer, in line {line}" in said,
          "a null pointer is named with its line", said)
    path.write_text(with_bodies(empty, {first: ["    for (;;", "    }"]}), encoding="utf-8")
    said, _ = grader(folder, "grade", f"N={first}")
    claim(f"exercises/transformer.c:{line}" in said and "object" not in said,
          "what does not compile is shown with its line in the student's file", said)
    said, status = grader(folder, "solution", f"N={first}", "SHOW=1")
    claim(status == 2 and said == "error: this folder has no solutions\n",
          "nobody is shown a solution", said)
    path.write_text(empty, encoding="utf-8")
    said = subprocess.run(["make", "exercise", f"N={first}"], cwd=folder, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout
    claim("edit   exercises/transformer.c, line " in said, "`make exercise` shows a task", said)


# ---------------------------------------------------------------- in the page

def test_page(folder):
    with Browser() as browser:
        page = browser.open("about:blank")
        page.go((folder / "write.html").as_uri())
        claim(page.until("document.querySelector('#loading')?.dataset.ready === 'yes'", 300),
              "the page opens from its file, elsewhere")

        def said(name, body):
            text = json.dumps("\n".join(body))
            return page.run("page.grader.done({do: 'grade', name: " + json.dumps(name)
                            + f", text: {text}}})")

        mistakes = named_mistakes()
        answers = {name: said(name, m.body) for name, m in mistakes.items()}
        wrong = [f"{name}: {m.say}: {answers[name]}" for name, m in mistakes.items()
                 if m.say not in answers[name]["word"]]
        claim(all(answer["state"] == "wrong" for answer in answers.values()),
              f"{len(answers)} wrong bodies get nothing", answers)
        # one body reads what nobody has written, which is something else on each machine
        claim(len(wrong) <= 1, f"{len(answers) - len(wrong)} of them are told their causes", wrong)
        wrong = [f"{name}: {answer}" for name, region in REGIONS.items()
                 for answer in [said(name, ["    ; // mine", *region.body])]
                 if answer["state"] != "right"]
        claim(not wrong, "the right bodies are right", wrong)
        seen = page.run("document.body.innerText")
        claim("Your own transformer.c" not in seen and page.run(
            "document.querySelector('#solution') === null"), "it has no solutions", seen)


def main():
    path = bundle.FOLDER.with_suffix(".zip")
    if not path.exists():
        sys.exit(f"there is no {tool.shown(path)}: make bundle")
    work = Path(tempfile.mkdtemp(prefix="students-"))
    try:
        test_secrets(path.read_bytes())
        with zipfile.ZipFile(path) as archive:
            archive.extractall(work)
        test_links(work / bundle.NAME)
        test_terminal(work / bundle.NAME)
        test_page(work / bundle.NAME)
    finally:
        shutil.rmtree(work)
    end()


if __name__ == "__main__":
    main()

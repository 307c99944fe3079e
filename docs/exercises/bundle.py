#!/usr/bin/env python3
"""Packs what students get who are not to see the solutions, build/transformer-students.zip.

    python3 docs/exercises/bundle.py    `make bundle` does it: some minutes the first time

In it transformer.c has holes where an exercise says "write": so have its listings in the
book, which is woven anew from the file with holes. What the grader compares with is an
object, for machines like this one. What it says of wrong results is sealed with these
results; the wrong bodies are left out. write.html grades on all other machines. The
exercises of other kinds show the whole program, or need it: they are not in it.
"""

import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import known
import tool

NAME = "transformer-students"
FOLDER = tool.ROOT / "build" / NAME
TEXTS = tool.HERE / "bundle"  # what only students get
# Pages for teachers, and those that show other programs with the same lines.
LEFT_OUT = {"concept-test", "course", "fast", "gpt", "live", "lesson",
            "own-language", "teacher", "testing", "tiny"}


def put(name, text):
    tool.write_text(FOLDER / name, text)


# ---------------------------------------------------------------- the grader

def without_bodies(page):
    """An exercise's page without its wrong bodies: what is said of a case is left."""
    text, line, mistakes = page.partition("\n## Mistakes\n")
    return text + line + "".join(re.findall(r"^[*!] .*\n(?:(?![=~*!] ).*\n)*", mistakes, re.M))


def line_of(made, exercise):
    """The exercise's line of known.txt, which takes some seconds if it is new."""
    made_of = [tool.digest_of_code(tool.read_text(path)) for path in (
        tool.REFERENCE, *tool.GRADER)] + [tool.read_text(path) for path in (
            tool.HERE / "neighbors.py", tool.HERE / "pages" / f"{exercise.name}.md")]
    kept = tool.BUILD.with_name("sealed") / tool.digest(*made_of)
    if not kept.exists():
        tool.write_text(kept, known.of_exercise(made, exercise, seal=True))
    return tool.read_text(kept)


def put_grader(made, exercises):
    for path in [*tool.SCRIPTS, tool.CONFINE]:
        put(path.relative_to(tool.ROOT), tool.read_text(path))
    put("docs/exercises/order.txt", "")
    for e in exercises:
        page = f"docs/exercises/pages/{e.name}.md"
        put(page, without_bodies(tool.read_text(tool.ROOT / page)))
    holes = tool.source_file.with_holes(tool.read_text(tool.REFERENCE))
    put("transformer.c", holes)
    put("exercises/transformer.c", tool.make_stub())
    with ThreadPoolExecutor(os.cpu_count()) as jobs:
        lines = list(jobs.map(lambda e: line_of(made, e), exercises))
    put("docs/exercises/known.txt", "\n".join(
        [f"transformer.c {tool.digest_of_code(holes)}", *lines, ""]))
    if not (made / tool.OBJECT).exists():
        raise tool.Trouble("this linker puts no function in the place of another")
    shutil.copy(made / tool.OBJECT, FOLDER / "docs" / "exercises")


def platform():
    """The machine and compiler for which the object is."""
    words = [*tool.compiler(), "-dumpmachine"], ["uname", "-s"]
    machine, system = (tool.run(one, tool.CHECK_SECONDS).output.strip() for one in words)
    return f"{system}, {machine}"


def put_texts(exercises):
    for path in [*sorted(TEXTS.iterdir()), tool.ROOT / "LICENSE"]:
        put(path.name, tool.read_text(path).replace("{count}", str(len(exercises)))
            .replace("{platform}", platform()))


# ---------------------------------------------------------------- the book

def without_dead_links(text, folder):
    """A page's links to what is not in this folder become text."""
    def kept(link):
        address, _, place = link[1].partition("#")
        file = folder / address.partition("?")[0]
        there = link[1][0] == "#" or file.is_file() and (not place or re.search(
            rf'id="{re.escape(place)}"', file.read_text("utf-8")) or "figure-" in place)
        return link[0] if there or ":" in address else link[2]

    return re.sub(r'<a\b[^>]*href="([^"]+)"[^>]*>(.*?)</a>', kept, text, flags=re.S)


def shortened(name, page):
    """Of the exercises those that students write, and nothing on where solutions are."""
    if name != "exercises":
        return page
    first, last = page.index('<section id="find-the-bug"'), page.rindex("</section>")
    return re.sub(r"^make solution .*\n|^<p>The chapters print[^<]*</p>\n", "",
                  page[:first] + page[last:], flags=re.M)


def put_book():
    from book import Book  # these need pandoc
    from project import read
    from weave import woven
    folder = FOLDER / "docs"
    files = woven(Book(FOLDER / "transformer.c"), True, folder, LEFT_OUT, shortened)
    files.pop("concept-test.gift")
    files["style.css"] = read("source/style.css") + read("source/font.css")
    for name, text in files.items():
        put(f"docs/{name}", text)
    for page in folder.glob("*.html"):
        page.write_text(without_dead_links(page.read_text("utf-8"), folder), "utf-8")


def main():
    exercises = [e for e in tool.load_exercises() if e.kind == "write"]
    made = tool.reference()
    shutil.rmtree(FOLDER, ignore_errors=True)
    put_grader(made, exercises)
    put_texts(exercises)
    put_book()
    subprocess.run([sys.executable, tool.HERE.parent / "write" / "build.py", FOLDER], check=True)
    target = FOLDER.with_suffix(".zip")
    tool.pack(target, {f"{NAME}/{path.relative_to(FOLDER)}": path.read_bytes()
                       for path in sorted(FOLDER.rglob("*")) if path.is_file()})
    print(f"{tool.shown(target)}: {len(exercises)} exercises, for {platform()}")


if __name__ == "__main__":
    try:
        main()
    except tool.Broken as trouble:
        sys.exit(f"error: {trouble}")

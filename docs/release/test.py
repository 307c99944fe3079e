#!/usr/bin/env python3
"""Tests what makes a release, without making one: archives, the version, what programs
and parsers find, the manual page. `make site` has been made.

    python3 docs/release/test.py

The last line is "N passed, N failed".
"""

import html
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile

import build
import manual
from build import ROOT

sys.path.append(str(ROOT / "docs" / "weaver"))
import source_file
from claims import claim, end

WORK = ROOT / "build" / "release-parts" / "test"


def run(*argv, cwd=None):
    done = subprocess.run(argv, cwd=cwd, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    return done.returncode, done.stdout


# ---------------------------------------------------------------- archives

def a_repository():
    """The project's texts, committed; what is built stays out by .gitignore."""
    first = WORK / "first"
    shutil.copytree(ROOT, first, ignore=lambda folder, names: [
        name for name in names if name in (".git", "build", "out", "exercises")
        and folder == str(ROOT)])
    git = ["git", "-c", "user.name=x", "-c", "user.email=x@example.org"]
    for argv in (["git", "init", "-q", "."], ["git", "add", "-A"],
                 [*git, "commit", "-qm", "all"]):
        status, said = run(*argv, cwd=first)
        if status:
            sys.exit(said)
    return first


def clones(first):
    """Two of them, as different as users are: another mask, another setting of Git."""
    before = os.umask(0o022)
    run("git", "clone", "-q", str(first), str(WORK / "one"))
    os.umask(0o077)
    run("git", "clone", "-q", "-c", "core.autocrlf=true", "-c", "core.eol=crlf",
        "-c", "tar.umask=0077", str(first), str(WORK / "two"))
    os.umask(before)
    return WORK / "one", WORK / "two"


def archives():
    made = []
    for number, clone in enumerate(clones(a_repository())):
        made.append(WORK / f"{number}.tar.gz")
        build.tarball(clone, "transformer.c-X", made[-1])
    claim(made[0].read_bytes() == made[1].read_bytes(),
          "two clones make the same tarball, byte for byte")
    with tarfile.open(made[0]) as tar:
        files = {entry.name: entry for entry in tar if entry.isfile()}
        text = tar.extractfile("transformer.c-X/transformer.c").read()
    claim(text == (ROOT / "transformer.c").read_bytes(), "transformer.c is in it as it is")
    listed = run("git", "ls-files", cwd=WORK / "one")[1].split("\n")[:-1]
    claim(sorted(files) == sorted(f"transformer.c-X/{name}" for name in listed),
          "it has what is committed, and nothing else", set(files) ^ set(listed))
    claim({entry.uid for entry in files.values()} == {0}
          and all(entry.mode & 0o022 == 0 for entry in files.values()),
          "nobody's name is in it, and no file that others may write")

    folder = WORK / "folder"
    (folder / "b").mkdir(parents=True)
    for name in ("z", "b/a", "a"):
        (folder / name).write_text(name)
    build.zipped(folder, "it", WORK / "one.zip")
    (folder / "a").unlink()
    (folder / "a").write_text("a")
    os.utime(folder / "z", (1e9, 1e9))
    (folder / "b" / "a").chmod(0o600)
    build.zipped(folder, "it", WORK / "two.zip")
    claim((WORK / "one.zip").read_bytes() == (WORK / "two.zip").read_bytes(),
          "a zip has neither times nor owners: files written anew make the same one")
    with zipfile.ZipFile(WORK / "one.zip") as archive:
        claim(archive.namelist() == ["it/a", "it/b/a", "it/z"] and not archive.testzip(),
              "its files are sorted, and whole", archive.namelist())


# ---------------------------------------------------------------- the version

def the_version():
    good = ["transformer 2.0\n", "# Changes\n\n## 2.0, 1 May\n\n## 1.0\n",
            'version: "2.0"\n']
    claim(build.disagreement("v2.0", build.versions(*good)) == "",
          "tag, --version, CHANGELOG.md and CITATION.cff agree: it may be published")
    for at, name, other in ((0, "--version", "transformer 1.9\n"),
                            (1, "CHANGELOG.md", "## 2.1\n\n## 2.0\n"),
                            (1, "CHANGELOG.md", "## 2.0, in progress\n\n## 1.0\n"),
                            (2, "CITATION.cff", 'version: "1.0"\n')):
        texts = good[:at] + [other] + good[at + 1:]
        said = build.disagreement("v2.0", build.versions(*texts))
        claim(name in said and said.count("says") == 1,
              f"{name} with {other.strip()!r} is named", said)
    found = build.versions(*good)
    claim(all(name in build.disagreement("v2.1", found) for name in found),
          "a tag that none of them has: all are named")
    claim(set(build.here()) == set(found) and "nothing" not in build.here().values(),
          "the project's own three are found", build.here())


# ---------------------------------------------------------------- for programs

STRICT = "-std=c11 -O1 -Wall -Wextra -Wpedantic -Wshadow -Werror -I.".split()


def for_programs():
    """What docs/using.md promises to a program that includes transformer.c."""
    text = (ROOT / "docs" / "using.md").read_text(encoding="utf-8")
    program, names = re.findall(r"^ *```c\n(.*?)^ *```", text, re.S | re.M)
    (WORK / "program.c").write_text(program)
    status, said = run("cc", *STRICT, str(WORK / "program.c"), "-o",
                       str(WORK / "program"), "-lm", cwd=ROOT)
    claim(status == 0, "the program of docs/using.md compiles without a warning", said)
    model, data = str(WORK / "model"), str(ROOT / "data" / "eng-fra.valid.tsv")
    run(str(build.PROGRAM), "train", data, "--steps", "60", "--layers", "1", "--d-model",
        "32", "--warmup", "20", "--model", model)
    sentence = "the red car is fast"
    wanted = subprocess.run([str(build.PROGRAM), "translate", model], text=True,
                            input=sentence + "\n", stdout=subprocess.PIPE).stdout
    status, said = run(str(WORK / "program"), model, sentence)
    claim(status == 0 and said == wanted != "\n", "it translates as transformer does",
          f"{said}{wanted}")
    claim(run(str(WORK / "program"), model + "-", sentence)[0] == 1,
          "without a model it ends with status 1")
    (WORK / "names.c").write_text("#include \"transformer.c\"\n" + names)
    status, said = run("cc", *STRICT, "-fsyntax-only", str(WORK / "names.c"), cwd=ROOT)
    claim(status == 0 and names.count(";") >= 9,
          "the functions that it promises have these parameters", said)
    (WORK / "wrong.c").write_text("#include \"transformer.c\"\n"
                                  + names.replace("bool training", "int training"))
    claim(run("cc", *STRICT, "-fsyntax-only", str(WORK / "wrong.c"), cwd=ROOT)[0],
          "another parameter would be noticed")


# ---------------------------------------------------------------- by other programs

PACKAGES = ["gift-pegjs@1.0.2", "@citation-js/core@0.9.0", "@citation-js/plugin-cff@0.7.3"]
PARSE = """
const fs = require("fs"), {Cite} = require("@citation-js/core");
require("@citation-js/plugin-cff");
const read = name => fs.readFileSync(name, "utf8");
const [gift, cff] = process.argv.slice(2);
const work = new Cite(read(cff)).data[0];
console.log(JSON.stringify({questions: require("gift-pegjs").parse(read(gift)), work}));
"""


def parsed(*files):
    """What the parsers of npm make of a GIFT and of a CFF file, or what they say."""
    done = subprocess.run(["node", "-e", PARSE, "x", *map(str, files)], cwd=WORK.parent,
                          text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return json.loads(done.stdout) if done.returncode == 0 else done.stderr


def for_other_programs():
    run("npm", "install", "--silent", "--no-audit", "--no-fund", "--no-save", "--prefix",
        str(WORK.parent), *PACKAGES)
    gift, cff = ROOT / "docs" / "concept-test.gift", ROOT / "CITATION.cff"
    said = parsed(gift, cff)
    if isinstance(said, str):
        return claim(False, "the concept test and CITATION.cff are read", said)
    questions = [q for q in said["questions"] if q["type"] == "MC"]
    claim(len(questions) == 24, "a parser of GIFT finds 24 questions in the concept test",
          len(questions))
    claim(all(len(q["choices"]) == 4 and sum(c["isCorrect"] for c in q["choices"]) == 1
              and all(c["feedback"]["text"] for c in q["choices"]) for q in questions),
          "each has four answers, one of them right, and something is said of all")
    page = html.unescape(re.sub("<[^>]+>", "", (ROOT / "docs" / "concept-test.html")
                                .read_text(encoding="utf-8")))
    shown = [choice["text"]["text"] for q in questions for choice in q["choices"]]
    claim(not [text for text in shown if text not in page],
          "the answers are those of the page", [t for t in shown if t not in page])
    places = [[c["isCorrect"] for c in q["choices"]].index(True) for q in questions]
    claim(set(places) == {0, 1, 2, 3} and max(map(places.count, places)) < 12,
          "the right one stands in different places", places)
    claim(said["work"]["title"].startswith("transformer.c")
          and said["work"]["version"] == build.here()["CITATION.cff"]
          and said["work"]["author"], "a parser of CITATION.cff finds the work", said["work"])
    (WORK / "wrong.gift").write_text(gift.read_text(encoding="utf-8").replace("}", "", 1))
    claim(isinstance(parsed(WORK / "wrong.gift", cff), str),
          "a question that has no end would be noticed")


def the_paper():
    """docs/paper, for the Journal of Open Source Education."""
    paper = ROOT / "docs" / "paper"
    text, bib = ((paper / name).read_text(encoding="utf-8")
                 for name in ("paper.md", "paper.bib"))
    status, said = run("pandoc", "--citeproc", "--fail-if-warnings", "-t", "plain",
                       "paper.md", cwd=paper)
    claim(status == 0, "pandoc sets the paper and finds each of its references", said)
    entries = dict(re.findall(r"^@\w+\{(\w+),\n(.*?)^\}", bib, re.S | re.M))
    cited = set(re.findall(r"@([a-z]+\d*)\b", text))
    claim(cited == set(entries) and len(cited) > 5, "it cites all of them, and no other",
          cited ^ set(entries))
    claim(not [key for key, entry in entries.items()
               if " doi = {10." not in entry and "DOI" not in entry],
          "each has its DOI, or says why it has none")
    begin = said.find("Statement of need") if status == 0 else 0
    heads = re.findall(r"^# (.+)$", text, re.M)
    claim(begin > 0 and heads == ["Summary", "Statement of need", "Learning objectives",
                                  "Content", "How it can be used", "Story", "References"],
          "it has the parts that the journal asks for", heads)
    counted = len(source_file.pages(ROOT / "docs" / "exercises", lambda path:
                                    path.read_text(encoding="utf-8")))
    labs = len(list((ROOT / "notebook").glob("[0-9][0-9]-*.md")))
    claim(f"{counted} exercises" in text and f"{labs} labs" in text,
          f"it counts {counted} exercises and {labs} labs")


# ---------------------------------------------------------------- pages

def the_manual():
    text = manual.page("2026-05-01")
    path = WORK / "transformer.1"
    path.write_text(text, encoding="utf-8")
    status, said = run("mandoc", "-Tlint", str(path))
    claim(status == 0 and not said, "mandoc -Tlint finds nothing in the manual page", said)
    path.with_name("planted.1").write_text(text.replace(".El\n", "", 1))
    status, said = run("mandoc", "-Tlint", str(path.with_name("planted.1")))
    claim(status != 0, "it finds a list that has no end")
    shown = run("sh", "-c", f"mandoc -Tutf8 {path} | col -b")[1]
    commands, options = manual.tables()
    claim(len(commands) == 5 and all(f"\n     {name} " in shown or f"\n     {name}\n" in
                                     shown for name, *_ in commands),
          "it has every command", shown)
    claim(len(options) > 30 and all(f"\n     --{name}" in shown for name, *_ in options),
          "and every option", shown)
    claim([number for number, _ in manual.statuses()] == ["0", "1", "2", "130"],
          "and every status of chapter 15", manual.statuses())


def the_book():
    page = (build.SITE / "docs" / "book.html").read_text(encoding="utf-8")
    text = build.alone(page, "p { color: red }", "9.9")
    claim("<script" not in text and "<link rel=\"stylesheet\"" not in text
          and "p { color: red }" in text, "the book by itself has its style, and no script")
    outside = [link for link in re.findall(r'(?:href|src)="([^"]+)"', text)
               if not link.startswith(("#", "https://", "data:"))]
    claim(not outside and text.count('href="#') > 1000,
          "its links lead to itself, or to the web", outside)
    claim("Version 9.9" in text and "Break it here" not in text
          and "(the map)" in page and "(the map)" not in text,
          "it begins with its version, and offers nothing that is not there")
    prints = [b"/ID (node%08d) /K (node%08d)\n/CreationDate (D:2026%s+00'00')" % parts
              for parts in ((7, 9, b"0102030405"), (8, 12, b"0607080910"))]
    one, two = (build.the_same(text, "2026-05-01") for text in prints)
    claim(one == two and b"D:20260501000000+" in one and len(one) == len(prints[0])
          and b"(node00000000) /K (node00000001)" in one,
          "two printings of it become the same PDF", one)


def main():
    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir(parents=True)
    archives()
    the_version()
    for_programs()
    for_other_programs()
    the_paper()
    the_manual()
    the_book()
    end()


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Looks at build/release, which `make release` has made.

    python3 docs/release/test_release.py

The last line is "N passed, N failed".
"""

import hashlib
import html
import json
import os
import re
import shutil
import tarfile
import tempfile
import zipfile
from pathlib import Path

import build
from build import RELEASE, ROOT, run
from harness import claim, end

VERSION = build.here()["--version"]
NAME = f"transformer.c-{VERSION}"


def the_files():
    wanted = ["SHA256SUMS", "book.html", "book.pdf", f"{NAME}-site.zip", f"{NAME}.tar.gz",
              "transformer.c", "write.html"]
    there = sorted(path.name for path in RELEASE.iterdir())
    claim(there == sorted(wanted), "build/release has seven files", there)
    sums = dict(reversed(line.split("  ")) for line in
                (RELEASE / "SHA256SUMS").read_text().splitlines())
    claim(sums == {name: hashlib.sha256((RELEASE / name).read_bytes()).hexdigest()
                   for name in there if name != "SHA256SUMS"}, "SHA256SUMS is right for all")
    claim((RELEASE / "transformer.c").read_bytes() == (ROOT / "transformer.c").read_bytes(),
          "transformer.c is that of the project")


def the_tarball(work):
    path = RELEASE / f"{NAME}.tar.gz"
    with tarfile.open(path) as tar:
        files = [entry for entry in tar if entry.isfile()]
    listed = run("git", "ls-files", cwd=ROOT).out.splitlines()
    claim(sorted(f.name for f in files) == sorted(f"{NAME}/{name}" for name in listed),
          "the tarball has what is committed, and nothing else", len(files))
    claim(all(f.uid == 0 and f.mode & 0o022 == 0 for f in files),
          "nobody's name is in it, and no file that others may write")
    umask = os.umask(0o077)
    run("git", "clone", "-q", "-c", "core.autocrlf=true", "-c", "tar.umask=0077", ROOT,
        work / "clone")
    os.umask(umask)
    build.tarball(work / "clone", NAME, work / "tar.gz")
    claim((work / "tar.gz").read_bytes() == path.read_bytes(),
          "a clone with other settings makes the same bytes")


def the_site():
    with zipfile.ZipFile(RELEASE / f"{NAME}-site.zip") as archive:
        entries = archive.infolist()
        names = [e.filename.split("/") for e in entries]
        claim(names == sorted(names)
              and not archive.testzip() and {e.date_time[0] for e in entries} == {2020},
              f"the site's {len(entries)} files are sorted, whole and without times")
        claim(f"{NAME}-site/docs/index.html" in archive.namelist(), "its book is in it")


def the_version():
    good = ["transformer 2.0\n", "## 2.0, 1 May\n\n## 1.0\n", 'version: "2.0"\n']
    claim(not build.disagreement("v2.0", build.versions(*good)),
          "tag, --version, CHANGELOG.md and CITATION.cff agree: it may be published")
    for at, name, other in ((0, "--version", "transformer 1.9\n"),
                            (1, "CHANGELOG.md", "## 2.0, in progress\n\n## 1.0\n"),
                            (2, "CITATION.cff", 'version: "1.0"\n')):
        said = build.disagreement("v2.0", build.versions(*good[:at], other, *good[at + 1:]))
        claim(name in said and said.count("says") == 1, f"another {name} is named", said)
    claim(len(set(build.here().values())) == 1, "the project's own three agree", build.here())


def the_book():
    text = (RELEASE / "book.html").read_text(encoding="utf-8")
    outside = [link for link in re.findall(r'(?:href|src)="([^"]+)"', text)
               if not link.startswith(("#", "https://", "data:"))]
    claim("<script" not in text and "<style" in text and not outside
          and text.count('href="#') > 1000, "the book needs no other file", outside)
    claim(f"Version {VERSION}" in text and "(the map)" not in text,
          "it begins with its version, and offers nothing that is not there")


def the_print():
    path = RELEASE / "book.pdf"
    pdf = path.read_bytes()
    said = run("pdfinfo", path).out
    pages = int(re.search(r"Pages: +(\d+)", said)[1])
    claim(pages > 200 and re.search("Page size: +612 x 792", said),
          f"{path.name} has hundreds of pages of its size", said)
    day = run("git", "log", "-1", "--format=%cs", cwd=ROOT).out.strip()
    times = set(re.findall(rb"/(?:Creation|Mod)Date \(D:(\d{14})", pdf))
    claim(times == {day.replace("-", "").encode() + b"000000"},
          "its time is the day of the commit", times)
    texts = run("pdftotext", "-layout", path, "-").out.split("\f")
    listed = re.findall(r"\b(\d+\. [A-Z](?:[\w,-]| (?! ))+) +(\d+)\b",
                        "\n".join(texts[1:4]))
    wrong = [line for line in listed
             if line[0] not in " ".join(texts[int(line[1]) - 1].split())]
    claim(len(listed) > 8 and not wrong and "000" not in "".join(texts[1:4]),
          "its contents say on which page a chapter begins", [len(listed), *wrong])
    over = [number for number, page in enumerate(texts, 1)
            if number > 4 and sum(title in page for title, _ in listed) > len(listed) / 2]
    claim(not over, "they lie over no other page", over)


PACKAGES = ["gift-pegjs@1.0.2", "@citation-js/core@0.9.0", "@citation-js/plugin-cff@0.7.3"]
PARSE = """
const fs = require("fs"), {Cite} = require("@citation-js/core");
require("@citation-js/plugin-cff");
const read = name => fs.readFileSync(name, "utf8");
const [gift, cff] = process.argv.slice(2);
const work = new Cite(read(cff)).data[0];
console.log(JSON.stringify({questions: require("gift-pegjs").parse(read(gift)), work}));
"""


def for_other_programs(work):
    """What parsers from npm make of the concept test and of CITATION.cff."""
    run("npm", "install", "--silent", "--no-audit", "--no-fund", "--no-save", "--prefix",
        work, *PACKAGES)
    found = json.loads(run("node", "-e", PARSE, "x", ROOT / "docs" / "concept-test.gift",
                           ROOT / "CITATION.cff", cwd=work).out)
    questions = [q["choices"] for q in found["questions"] if q["type"] == "MC"]
    claim(len(questions) == 24 and all(
        len(choices) == 4 and sum(c["isCorrect"] for c in choices) == 1
        and all(c["feedback"]["text"] for c in choices) for choices in questions),
        "24 questions have four answers, one of them right, and something is said of all")
    page = html.unescape(re.sub("<[^>]+>", "", (ROOT / "docs" / "concept-test.html")
                                .read_text(encoding="utf-8")))
    lost = [c["text"]["text"] for choices in questions for c in choices
            if c["text"]["text"] not in page]
    claim(not lost, "the answers are those of the page", lost)
    claim(found["work"]["title"].startswith("transformer.c")
          and found["work"]["version"] == build.here()["CITATION.cff"],
          "a parser of CITATION.cff finds the work", found["work"])


def main():
    work = Path(tempfile.mkdtemp(dir=ROOT / "build"))
    the_files()
    the_tarball(work)
    the_site()
    the_version()
    the_book()
    the_print()
    for_other_programs(work)
    shutil.rmtree(work)
    end()


if __name__ == "__main__":
    main()

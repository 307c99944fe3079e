#!/usr/bin/env python3
"""Makes build/release/, what is published of a version:

    python3 docs/release/build.py [TAG]           `make release` prepares it
    python3 docs/release/build.py --check [TAG]   only: may it be published?

The same commit makes the same bytes. With a tag, vX.Y, what the program, CHANGELOG.md
and CITATION.cff say must be version X.Y. What is published is what is committed.
"""

import base64
import gzip
import hashlib
import html
import re
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PROGRAM = ROOT / "build" / "docs" / "transformer"
SITE = ROOT / "build" / "site"
RELEASE = ROOT / "build" / "release"
sys.path += [str(ROOT / name) for name in ("docs/live", "docs/exercises/grader", "tests/lib")]

import files  # noqa: E402
from browser import Browser  # noqa: E402
from command import run  # noqa: E402


def fail(message):
    sys.exit(f"release: {message}")


# ---------------------------------------------------------------- the version

def versions(said, changelog, citation):
    """{where: version} of all that name one; `said`: what --version prints."""
    places = {"--version": (r"transformer (\S+)", said),
              "CHANGELOG.md": (r"^## (.*?)(?:, \d.*)?$", changelog),
              "CITATION.cff": (r"^version: \"?([^\n\"]+)", citation)}
    return {name: (re.findall(pattern, text, re.M) + ["nothing"])[0].strip()
            for name, (pattern, text) in places.items()}


def here():
    """The same for this project."""
    def text(name):
        return (ROOT / name).read_text(encoding="utf-8")
    return versions(run(PROGRAM, "--version").out, text("CHANGELOG.md"),
                    text("CITATION.cff"))


def disagreement(tag, found):
    """Why a tag does not fit; "" if it does."""
    wrong = [f"{name} says {version}" for name, version in found.items()
             if f"v{version}" != tag]
    return f"the tag is {tag}, but " + ", ".join(wrong) if wrong else ""


def all_committed(why):
    changed = run("git", "status", "--porcelain", cwd=ROOT).out.splitlines()
    if changed:
        fail(f"{why}: {changed[0][3:]}"
             + (f", and {len(changed) - 1} more" if changed[1:] else ""))


def check(tag):
    """`make docs` accepts a page of the right digest; here all pages are woven anew."""
    all_committed("not committed")
    wrong = tag and disagreement(tag, here())
    if wrong:
        fail(wrong)
    for page in (ROOT / "docs").glob("*.html"):
        if page.name != "live.html":
            page.unlink()
    run(sys.executable, "docs/book/weave/weave.py", cwd=ROOT)
    all_committed("woven anew, it is another page")


# ---------------------------------------------------------------- archives

def tarball(root, name, to):
    """What is committed, in a folder of that name; the times are the commit's."""
    tar = run("git", "-c", "tar.umask=0022", "-c", "core.autocrlf=false", "archive",
              f"--prefix={name}/", "HEAD", cwd=root, encoding=None).out
    to.write_bytes(gzip.compress(tar, mtime=0))


def zipped(folder, name, to):
    """All files of a folder, sorted, without times and owners."""
    to.write_bytes(files.zipped({
        f"{name}/{path.relative_to(folder).as_posix()}": path.read_bytes()
        for path in sorted(folder.rglob("*")) if path.is_file()}))


# ---------------------------------------------------------------- the book

COVER = """<div class="cover">
<h1>transformer.c</h1>
<p>The Transformer of “Attention Is All You Need” in one C file, every gradient
by hand</p>
<p>Version {version}</p>
<p><small>{license}</small></p>
</div>
"""
LICENSE = "The code: MIT license. Text and figures: MIT license or CC BY 4.0, as you like."
# What only refers to another page: "(the map)", and links to write.html.
HERE_ONLY = r'\n?<p><a href="[^"]*write\.html#break=.*?</p>| <a href="[^"#]+">\(.*?\)</a>'


def alone(page, style, version):
    """The site's book on one page without the site: its style is in it, links lead
    only to what is there."""
    page = re.sub(rf"<header>.*?</header>\n|<script.*?</script>\n|<link rel=.(icon|preload).*?>"
                  rf"|{HERE_ONLY}", "", page, flags=re.S)
    page = re.sub(r'<link rel="stylesheet"[^>]*>', lambda _: f"<style>\n{style}</style>",
                  page)
    page = re.sub(r"<title>.*?</title>", "<title>transformer.c " + html.escape(version)
                  + "</title>", page)
    page = re.sub(r'<a (?:[^>]*? )?href="(?!#|https?:)[^"]*"[^>]*>(.*?)</a>', r"\1", page,
                  flags=re.S)
    return re.sub("(<body[^>]*>\n)", lambda body: body[0] + COVER.format(
        version=html.escape(version), license=LICENSE), page)


def the_same(pdf, day):
    """A PDF without what differs from one printing to the next: the time becomes the
    day of the commit, and chromium's numbers of nodes are counted from 0."""
    node = rb"\(node\d{8}\)"
    number = {its: b"(node%08d)" % i for i, its in enumerate(sorted(set(re.findall(node, pdf))))}
    pdf = re.sub(node, lambda m: number[m[0]], pdf)
    time = day.replace("-", "").encode() + b"000000"
    return re.sub(rb"(/(?:Creation|Mod)Date \(D:)\d{14}", lambda m: m[1] + time, pdf)


def print_page(page, to):
    """A page as PDF. chromium-headless-shell breaks some lines in other places."""
    with Browser("chromium") as browser:
        tab = browser.open(page.as_uri())
        if not tab.until("document.readyState === 'complete' && document.fonts.status "
                         "=== 'loaded' && document.querySelector('main') !== null"):
            fail(f"chromium does not finish loading {page.name}")
        to.write_bytes(base64.b64decode(tab.send(
            "Page.printToPDF", printBackground=True, preferCSSPageSize=True,
            generateDocumentOutline=True, generateTaggedPDF=True)["data"]))


def numbered(text, pages):
    """The book, with the page of each section in its contents."""
    begin = text.index('<nav class="contents"')
    end = text.index("</nav>", begin)
    contents = re.sub(r'<a href="#([^"]*)"', lambda m: f"{m[0]} data-page=\""
                      f'{pages.get(m[1], "000")}"', text[begin:end])
    return text[:begin] + contents + text[end:]


def print_book(text, to, day):
    """The book as PDF: printed once to see on which pages its sections are."""
    page = ROOT / "build" / "printed.html"
    pages = {}
    for _ in range(2):
        page.write_text(numbered(text, pages), encoding="utf-8")
        print_page(page, to)
        listed = run("pdfinfo", "-dests", to).out
        pages = {name: number for number, name in
                 re.findall(r'^ *(\d+) \[.*\] "(.*)"$', listed, re.M)}
    to.write_bytes(the_same(to.read_bytes(), day))


# ---------------------------------------------------------------- all of it

def sums(folder):
    """A line for each file, as sha256sum writes and reads it."""
    return "".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n"
                   for path in sorted(folder.iterdir()) if path.name != "SHA256SUMS")


def build():
    version = here()["--version"]
    day = run("git", "log", "-1", "--format=%cs", cwd=ROOT).out.strip()
    name = f"transformer.c-{version}"
    shutil.rmtree(RELEASE, ignore_errors=True)
    RELEASE.mkdir(parents=True)
    tarball(ROOT, name, RELEASE / f"{name}.tar.gz")
    zipped(SITE, f"{name}-site", RELEASE / f"{name}-site.zip")
    shutil.copy(ROOT / "transformer.c", RELEASE)
    shutil.copy(SITE / "write.html", RELEASE)
    assets = SITE / "docs" / "assets"
    style = re.sub(r'url\("(.*?)"\)', lambda file: 'url("data:font/woff2;base64,'
                   f'{base64.b64encode((assets / file[1]).read_bytes()).decode()}")', "".join(
                       path.read_text(encoding="utf-8") for path in (
                           assets / "style.css", Path(__file__).with_name("book.css"))))
    book = alone((SITE / "docs" / "book.html").read_text(encoding="utf-8"), style, version)
    (RELEASE / "book.html").write_text(book, encoding="utf-8")
    print_book(book, RELEASE / "book.pdf", day)
    (RELEASE / "SHA256SUMS").write_text(sums(RELEASE))
    for path in sorted(RELEASE.iterdir()):
        print(f"{path.stat().st_size / 1e6:8.2f} MB  build/release/{path.name}")


def main():
    options = [option for option in sys.argv[1:] if option != "--check"]
    check("".join(options))
    if "--check" not in sys.argv:
        build()


if __name__ == "__main__":
    main()

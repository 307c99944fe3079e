#!/usr/bin/env python3
"""Builds write.html, the page in which the exercises are written, compiled and
graded without a compiler of one's own: one file, which needs no network.

    python3 docs/write/build_write.py    build/write/write.html, and build/site/write.html

package-lock.json pins what comes from npm, with its checksums: Clang for
WebAssembly, Python for WebAssembly, the editor, and esbuild, which puts scripts
together. What is built on the way is in build/write, and made again only if what
it is made of has changed. Needs npm, Node and pandoc.
"""

import hashlib
import html
import io
import json
import os
import re
import shutil
import sys
import tarfile
from pathlib import Path

WRITE = Path(__file__).resolve().parent
DOCS = WRITE.parent
ROOT = DOCS.parent
BUILD = ROOT / "build" / "write"
MODULES = BUILD / "node_modules"
GRADER = DOCS / "exercises" / "grader"
TINY_C = ROOT / "notebook" / "programs" / "tiny.c"
PAGE = BUILD / "write.html"
sys.path[:0] = [str(folder) for folder in (
    DOCS / "exercises", DOCS / "book" / "weave", DOCS / "live", ROOT / "tests" / "lib", WRITE)]
sys.dont_write_bytecode = True

import breaking
import build as live
from book import Book, anchor_of
import bridge  # noqa: F401: it puts the folders of the next ones on the path
import compiling
import cutting
import grading
from command import run
from files import REFERENCE, read_text, zipped
from source_file import regions
from tool import project_files

WASI = ["--target=wasm32-wasip1", "-D_WASI_EMULATED_SIGNAL"]
# In WebAssembly the use of a null pointer is no crash by itself; the sanitizer makes it
# one, and calls null.c.
STUDENT = """-std=c11 -O0 -ffp-contract=off -fsanitize=null -fno-sanitize-recover=null
    -lm -lwasi-emulated-signal -Wl,--stack-first,-z,stack-size=1048576,-z,muldefs
    """.split() + [f"-Wl,--max-memory={compiling.MEMORY << 10}"]
TINY = "-std=c11 -O2 -msimd128 -ffp-contract=off -lm -Wl,-z,stack-size=1048576".split()


def digest(*parts):
    whole = hashlib.sha256()
    for part in parts:
        whole.update(part if isinstance(part, bytes) else str(part).encode())
    return whole.hexdigest()


def once(mark, key, make):
    """Makes something, unless it was last made with this key."""
    path = BUILD / f"{mark}.key"
    if not path.exists() or path.read_text() != key:
        make()
        path.write_text(key)


# ---------------------------------------------------------------- packages

def install():
    for name in ("package.json", "package-lock.json"):
        shutil.copy(WRITE / name, BUILD / name)
    run("npm", "ci", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", cwd=BUILD)


def bundled(name, platform="browser"):
    """A script of this folder with all that it imports, as one."""
    to = BUILD / "out" / name
    run(MODULES / ".bin" / "esbuild", WRITE / name, "--bundle", "--minify",
        "--log-level=warning", "--charset=utf8", f"--platform={platform}",
        "--global-name=page", "--define:import.meta.url=\"file:///\"" if platform == "browser"
        else "--external:@yowasp/clang",
        "--external:node:*", "--external:ws",
        f"--alias:live={BUILD / 'in' / 'live.js'}",
        "--format=" + ("iife" if platform == "browser" else "esm"), f"--outfile={to}",
        env=dict(os.environ, NODE_PATH=str(MODULES)))
    return to.read_text(encoding="utf-8")


# ---------------------------------------------------------------- compiled parts

def live_commands():
    """The live page's flags, for this compiler."""
    flags = [flag for flag in live.FLAGS if not re.match(r"--target|--sysroot|-W", flag)]
    return WASI + flags + live.LINK + ["-Wl,-z,muldefs", "-Wno-unused-command-line-argument"]


def jobs(folder):
    """Writes the sources for make.js, and what to do with them."""
    live_files = {path.name: read_text(path) for path in (DOCS / "live").glob("*.c")}
    texts = {**live_files, "transformer.c": read_text(REFERENCE),
             "weak.h": compiling.outlines().weak(),
             "tiny.c": read_text(TINY_C), "grade.h": read_text(GRADER / "grade.h"),
             "grade.c": read_text(GRADER / "grade.c") + read_text(WRITE / "null.c")}
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    weak = ["-O1", "-include", "weak.h"]
    (folder / "jobs.json").write_text(json.dumps({
        "commands": {"grade": WASI + compiling.DEFINES + STUDENT,
                     "live": live_commands(), "tiny": WASI + TINY},
        "files": ["transformer.c", "grade.h", "weak.h", *live_files],
        "objects": [{"name": "grade", "source": "grade.c",
                     "flags": ["-DSOURCE=\"transformer.c\"", *weak]},
                    {"name": "live", "source": "live.c", "flags": weak[1:]}]}))
    return digest(*(t for t in texts.values()), (folder / "jobs.json").read_text())


def compile_parts():
    out = BUILD / "out"
    out.mkdir(exist_ok=True)
    key = jobs(BUILD / "in") + digest(
        *(read_text(WRITE / name) for name in ("make.js", "toolchain.js")),
        (WRITE / "package-lock.json").read_text())
    script = BUILD / "make.mjs"
    script.write_text(bundled("make.js", "node"), encoding="utf-8")
    once("parts", key, lambda: run("node", script, BUILD / "in", out))


# ---------------------------------------------------------------- the exercises

def to_html(texts):
    """Pages of Markdown, all by one pandoc; their links lead into the site."""
    mark = "<!-- next -->"
    made = run("pandoc", "-f", "markdown-smart", "-t", "html5", "--mathml", "--wrap=none",
               given=f"\n\n{mark}\n\n".join(texts)).out
    shown = re.sub(r'<a href="([^"#][^"]*)"', lambda link: '<a target="_blank" href="'
                   f'{in_the_site(link[1])}"', made)
    shown = re.sub("<code>[^<]*</code>", lambda code: re.sub(  # an option is not broken
        r"(?<![\w-])--[a-z][\w-]*", r'<span class="whole">\g<0></span>', code[0]), shown)
    parts = re.sub(r'(<h\d) id="[^"]*"', r"\1", shown).split(mark)
    return [re.sub(r"<pre\b[^>]*>", '<pre tabindex="0">', part.strip()) for part in parts]


def linked(text, book, name):
    """Prose with links to the book, except to the function that is to be written; what
    is fenced is left alone."""
    parts = re.split(r"(^```\n.*?^```$)", text, flags=re.M | re.S)
    return "".join(part if part.startswith("```") else re.sub(
        rf"\[(`{name}`)\]\(.*?\)", r"\1", book.link(part)) for part in parts)


def in_the_site(address):
    """An address in docs/, seen from the site's first folder."""
    path = os.path.normpath(f"docs/{address}")
    return re.sub(r"\.(ipynb|md)(?=#|$)", ".html", path)


def region_of(exercise, stub):
    """The function around a region, as the student sees it at first."""
    lines, region = stub.split("\n"), regions(stub, "the stub")[exercise.name]
    head, end = cutting.around(lines, region)
    while lines[head - 1].startswith("//"):
        head -= 1
    return {"first": head + 1, "stub": "\n".join(region.body),
            "head": "".join(line + "\n" for line in lines[head:region.start]),
            "tail": "".join("\n" + line for line in lines[region.end - 1:end])}


def bug_of(exercise, reference):
    """The lines that a bug changes, in the file without the exercises' marks."""
    right = cutting.without_marks(reference).split("\n")
    wrong = cutting.plant_bug(exercise).split("\n")
    at = next(i for i, (a, b) in enumerate(zip(right, wrong)) if a != b)
    count = len(exercise.right.split(" ⏎ "))
    more = len(wrong) - len(right)
    return {"at": at, "count": count, "lines": wrong[at:at + count + more]}


def place_of(exercise, book):
    """Where the book tells of an exercise: its chapter, or the section of a region."""
    chapter = book.numbered[int(exercise.chapter)]
    found = {"book": f"docs/{chapter.page}.html", "section": ""}
    if exercise.kind == "write":
        line = cutting.reference_regions()[exercise.name].start
        titles = [block.lines[0].lstrip("# ") for block in chapter.blocks
                  if block.line < line and block.lines[0].startswith("##")]
        if titles:
            found = {"book": f"{found['book']}#{anchor_of(chapter, titles[-1])}",
                     "section": titles[-1]}
    return found


def exercise_pages(reference):
    stub, book = cutting.make_stub(), Book(REFERENCE)
    pages = [e for e in cutting.load_exercises() if not e.source]  # of transformer.c alone
    shown = iter(to_html([text for page in pages for text in (page.title, *(
        linked(text, book, page.name) for text in (page.text, *page.hints)))]))
    found = []
    for e in pages:
        more = {"heading": re.sub("</?p>", "", next(shown)), "text": next(shown),
                "hints": [next(shown) for _ in e.hints]}
        if e.kind == "write":
            more.update(region_of(e, stub), file="exercises/transformer.c")
        elif e.kind == "bug":
            more.update(bug=bug_of(e, reference), function=e.function,
                        file=f"exercises/bugs/{e.slug}.c", stub="")
        elif e.kind == "number":
            more.update(file=f"exercises/{e.slug}.c", stub="".join(
                f"{name} =\n" for name in grading.wanted_answers(e)).rstrip("\n"))
        found.append({"name": e.name, "number": e.number, "title": e.title,
                      "chapter": e.chapter, "points": e.worth, "kind": e.kind,
                      **place_of(e, book), **more})
    return {"version": digest(reference)[:16], "pages": found}


def broken_lines(reference):
    """What the book breaks: the changes, and how it trains then."""
    found = {}
    for name, (runs, _) in breaking.BROKEN.items():
        training = next((r for r in runs if isinstance(r, breaking.Training)), None)
        found[name] = {"edits": sorted([m.first, m.end, m.new]
                                       for m in breaking.plant(name)),
                       "task": training and training.task,
                       "options": training and training.options}
    names = re.findall(r'^  "([\w-]+)": \{\n    name: "([^"]*)"',
                       (DOCS / "live" / "train.js").read_text(encoding="utf-8"), re.M)
    return {"version": digest(reference, read_text(TINY_C))[:16], "breaks": found,
            "tasks": {task: name for task, name in names
                      if f"{task}.train.tsv" in live.DATA},
            "options": breaking.REVERSE.options}


# ---------------------------------------------------------------- the page

# Of the C library and Clang's own headers, what a C program needs.
C_FILES = re.compile(r"include/(std\w*|__std\w*|__float\w*|float|limits|inttypes|iso646|"
                     r"tgmath|wasm_simd128)\.h|include/wasm32-wasip1/(?!c\+\+).*"
                     r"|lib/wasm32-(wasip1|unknown-wasip1)/(crt1-command\.o|crt1-reactor\.o"
                     r"|libc\.a|libm\.a|libwasi-emulated-signal\.a|libclang_rt\.builtins\.a)")


class Folder(tarfile.TarInfo):
    """An entry whose name does not end in a slash, as the compiler's reader wants."""

    def get_info(self):
        return {**super().get_info(), "name": self.name}


def resources():
    """Those files as a tar, with all their folders."""
    to, made = io.BytesIO(), set()
    source = MODULES / "@yowasp" / "clang" / "gen" / "llvm-resources.tar"
    with tarfile.open(source) as tar, tarfile.open(
            fileobj=to, mode="w", format=tarfile.USTAR_FORMAT) as new:
        for entry in tar:
            if not entry.isfile() or not C_FILES.fullmatch(entry.name):
                continue
            for folder in reversed(Path(entry.name).parents[:-1]):
                if folder not in made:
                    made.add(folder)
                    at = Folder(str(folder))
                    at.type = tarfile.DIRTYPE
                    new.addfile(at)
            new.addfile(entry, tar.extractfile(entry))
    return to.getvalue()


def project():
    """The files that the grader reads."""
    return zipped({
        **{str(path.relative_to(ROOT)): read_text(path) for path in project_files()},
        "docs/write/bridge.py": read_text(WRITE / "bridge.py"),
        "build/exercises/made/transformer.c": read_text(REFERENCE)})


# Licenses whose text other packages have, or whoever builds the page; and the packages
# that have none of their own: LICENSES.txt says which of these is theirs.
WHOLE = [("The Apache License", MODULES / "@bjorn3" / "browser_wasi_shim" / "LICENSE-APACHE"),
         ("The Mozilla Public License", MODULES / "axe-core" / "LICENSE"),
         ("Python's license", Path(os.__file__).with_name("LICENSE.txt")),
         ("The C library", DOCS / "live" / "LICENSE.txt")]
WITHOUT = ["@yowasp/clang", "pyodide"]


def licenses():
    """The licenses of all that is in the page, in full."""
    found = [(title, path.read_text(encoding="utf-8")) for title, path in
             [("What is compiled in it", WRITE / "LICENSES.txt"), *WHOLE]]
    lock = json.loads((WRITE / "package-lock.json").read_text())
    for name, package in sorted(lock["packages"].items()):
        if name and not package.get("dev") and not package.get("optional"):
            folder = BUILD / name
            texts = [path.read_text(encoding="utf-8") for path in sorted(folder.iterdir())
                     if path.name.upper().startswith(("LICENSE", "LICENCE"))]
            name = name.removeprefix("node_modules/")
            if not texts and name not in WITHOUT:
                sys.exit(f"{name} comes without the text of its license: see WITHOUT")
            found.append((f"{name} {package['version']}: {package.get('license', '')}",
                          "\n".join(texts)))
    line = "=" * 72
    return "\n\n".join(f"{line}\n{title}\n{line}\n\n{text}".strip() for title, text in found)


def in_script(text):
    """A text for a script element, which no tag in it can end."""
    return text.replace("</script", "<\\/script").replace("<!--", "<\\!--")


def as_json(value):
    return json.dumps(value, ensure_ascii=False).replace("<", "\\u003c")


def packed_files():
    clang, python = MODULES / "@yowasp" / "clang" / "gen", MODULES / "pyodide"
    out = BUILD / "out"
    files = {path.name: path.read_bytes()
             for path in [*sorted(clang.glob("*.wasm")), python / "pyodide.asm.wasm",
                          python / "python_stdlib.zip", out / "commands.json",
                          out / "grade.o", out / "live.o", out / "grade.wasm"]}
    files.update({"llvm-resources.tar": resources(), "project.zip": project(),
                  **whole_files(out)})
    return "\n".join(packed(name, content) for name, content in files.items())


def whole_files(out):
    """What shows, or trains, the whole program."""
    sources = {name: read_text(BUILD / "in" / name)
               for name in json.loads((BUILD / "in" / "jobs.json").read_text())["files"]}
    sources.update({"live": sources["live.c"],
                    "grade": read_text(BUILD / "in" / "grade.c"),
                    "outline.c": compiling.outlines().outline(read_text(REFERENCE))})
    return {"tiny.wasm": (out / "tiny.wasm").read_bytes(),
            "sources.json": json.dumps(sources).encode(),
            "live.html": (DOCS / "live.html").read_bytes()}


def packed(name, content):
    """As in the live page; what is large is compressed once."""
    kept = BUILD / "packed" / digest(content)
    if not kept.exists():
        kept.parent.mkdir(exist_ok=True)
        kept.write_text(live.packed("NAME", content))
    return kept.read_text().replace("NAME", name, 1)


def scripts():
    script = live.text_of(*live.SHARED)
    names = re.findall(r"^(?:const|class|(?:async )?function) ([$\w]+)", script, re.M)
    (BUILD / "in" / "live.js").write_text(f"{script}\nexport {{{', '.join(names)}}};\n")
    workers = {f"{name}-worker": bundled(f"{name}-worker.js")
               for name in ("clang", "python", "run")}
    workers["worker"] = live.text_of("wasi.js", "worker.js")
    return bundled("main.js"), "\n".join(
        f'<script type="text/plain" id="{name}">\n{in_script(text)}\n</script>'
        for name, text in workers.items())


def main():
    BUILD.mkdir(parents=True, exist_ok=True)
    once("packages", digest((WRITE / "package-lock.json").read_text()), install)
    compile_parts()
    reference = read_text(REFERENCE)
    script, workers = scripts()
    parts = {"style": live.colours() + live.text_of("live.css")
             + (WRITE / "write.css").read_text(encoding="utf-8"),
             "script": in_script(script), "workers": workers,
             "exercises": as_json(exercise_pages(reference)),
             "broken": as_json(broken_lines(reference)),
             "texts": packed("transformer.c", reference.encode())
             + packed("tiny.c", TINY_C.read_bytes()), "files": packed_files(),
             "licenses": html.escape(licenses(), quote=False)}
    page = re.sub(r"\{\{(\w+)\}\}", lambda part: parts[part[1]],
                  read_text(WRITE / "page.html"))
    PAGE.write_text(page, encoding="utf-8")
    print(f"{PAGE}: {len(page.encode()) / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
    run(sys.executable, WRITE / "site_pages.py")

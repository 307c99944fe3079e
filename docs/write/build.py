#!/usr/bin/env python3
"""Builds write.html, the page in which the exercises are written, compiled and
graded without a compiler of one's own: one file, which asks no network.

    python3 docs/write/build.py     build/write/write.html, and build/site/write.html

package-lock.json pins what comes from npm, with its checksums: Clang for
WebAssembly, Python for WebAssembly, the editor, and esbuild, which puts scripts
together. What is built on the way is in build/write, and made again only if what
it is made of has changed. Needs npm, Node and pandoc.
"""

import base64
import gzip
import hashlib
import html
import importlib.util
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

WRITE = Path(__file__).resolve().parent
DOCS = WRITE.parent
ROOT = DOCS.parent
BUILD = ROOT / "build" / "write"
MODULES = BUILD / "node_modules"
EXERCISES = DOCS / "exercises"
PAGE = BUILD / "write.html"
MADE = BUILD / "made"  # what tool.py reads beside the pages
sys.path[:0] = [str(DOCS / "weaver"), str(DOCS / "live"), str(WRITE)]
sys.dont_write_bytecode = True

import breaking
import desk
from desk import tool

# The live page's way to compile: its flags, but for the place of the C library.
LIVE = importlib.util.spec_from_file_location("live", DOCS / "live" / "build.py")
live = importlib.util.module_from_spec(LIVE)
LIVE.loader.exec_module(live)

WASI = ["--target=wasm32-wasip1", "-D_WASI_EMULATED_SIGNAL"]
# A null pointer is no crash by itself in WebAssembly; the sanitizer makes it one.
STUDENT = """-std=c11 -O0 -ffp-contract=off -fsanitize=null -fsanitize-trap=null
    -lm -lwasi-emulated-signal -Wl,--stack-first,-z,stack-size=1048576,-z,muldefs
    """.split() + [f"-Wl,--max-memory={tool.MEMORY << 10}"]
# Functions with a region, or a mistake, come from the student's own object: no
# other may have them inlined, or know what they do.
WEAK = "".join(f"#pragma weak {name}\n" for name in desk.reference().functions
               if name != "main")


def run(*command, **more):
    if subprocess.run([str(word) for word in command], **more).returncode:
        sys.exit(1)


def digest(*parts):
    whole = hashlib.sha256()
    for part in parts:
        whole.update(part if isinstance(part, bytes) else str(part).encode())
    return whole.hexdigest()


def once(mark, key, make):
    """Does what is to be done unless it has been done with this key."""
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
        f"--alias:live-engine={BUILD / 'in' / 'engine.js'}",
        "--format=" + ("iife" if platform == "browser" else "esm"), f"--outfile={to}",
        env=dict(os.environ, NODE_PATH=str(MODULES)))
    return to.read_text(encoding="utf-8")


# ---------------------------------------------------------------- compiled parts

def defines():
    """How grade.c sets up transformer.c before it includes it."""
    return [f"-D{name}" for name in re.findall(
        r"^#define (TRANSFORMER_\w+)$", tool.read_text(EXERCISES / "grade.c"), re.M)]


def live_commands():
    """The live page's flags, for this compiler."""
    flags = [flag for flag in live.FLAGS if not re.match(r"--target|--sysroot|-W", flag)]
    return WASI + flags + live.LINK + ["-Wl,-z,muldefs", "-Wno-unused-command-line-argument"]


def dispatcher(text):
    """What tool.py writes to choose one of many wrong bodies is a macro, which
    reaches the callers below it; the linker reaches all of them."""
    found = re.search(r"^#define (\w+)\(\.\.\.\) \((.*)\)\(__VA_ARGS__\)$", text, re.M)
    head = desk.functions(text)[found[1]][0]
    given = head[head.index("(") + 1:head.rindex(")")].split(",")
    names = ", ".join(re.search(r"(\w+)$", part)[1] for part in given)
    return text.replace(found[0], f"{head} {{\n    return ({found[2]})({names});\n}}")


def jobs(folder):
    """Writes the sources for make.js, and what to do with them."""
    MADE.mkdir(exist_ok=True)
    for path in (tool.REFERENCE, *tool.GRADER, tool.MISTAKES):
        (MADE / path.name).write_text(tool.read_text(path), encoding="utf-8")
    reference = tool.read_text(tool.REFERENCE)
    live_files = {path.name: tool.read_text(path)
                  for path in (DOCS / "live").glob("*.c")}
    texts = {"transformer.c": reference, "weak.h": WEAK, **live_files,
             **{path.name: tool.read_text(path) for path in tool.GRADER}}
    mistakes = []
    for name, region in tool.reference_regions().items():
        bodies = [m.body for m in tool.load_mistakes(MADE)
                  if (m.kind, m.region) == ("=", name)]
        text = dispatcher(tool.with_mistakes(reference, region, bodies))
        mistakes.append({"name": name, "source": f"mistakes-{name}.c",
                         "count": len(bodies)})
        texts[f"mistakes-{name}.c"] = "#include <stdlib.h>\n" \
            + desk.reference().outline(text)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    weak = ["-O1", "-include", "weak.h"]
    (folder / "jobs.json").write_text(json.dumps({
        "commands": {"grade": WASI + defines() + STUDENT, "live": live_commands()},
        "files": ["transformer.c", "grade.h", "weak.h", *live_files],
        "objects": [{"name": "grade", "source": "grade.c",
                     "flags": ["-DSOURCE=\"transformer.c\"", *weak]},
                    {"name": "live", "source": "live.c", "flags": weak[1:]}],
        "mistakes": mistakes}))
    return digest(*(t for t in texts.values()), (folder / "jobs.json").read_text())


def compile_parts():
    out = BUILD / "out"
    out.mkdir(exist_ok=True)
    key = jobs(BUILD / "in") + digest(
        *(tool.read_text(WRITE / name) for name in ("make.js", "toolchain.js",
                                                     "command.js")),
        (WRITE / "package-lock.json").read_text())
    bundle = bundled("make.js", "node")
    script = BUILD / "make.mjs"
    script.write_text(bundle, encoding="utf-8")
    once("parts", key, lambda: run("node", script, BUILD / "in", out))


# ---------------------------------------------------------------- the exercises

def to_html(texts):
    """Pages of Markdown, all by one pandoc."""
    mark = "<!-- next -->"
    done = subprocess.run(["pandoc", "-f", "markdown-smart", "-t", "html5", "--wrap=none"],
                          input=f"\n\n{mark}\n\n".join(texts), text=True,
                          stdout=subprocess.PIPE, check=True)
    parts = re.sub(r'(<h\d) id="[^"]*"', r"\1", done.stdout).split(mark)
    return [re.sub(r"<pre\b[^>]*>", '<pre tabindex="0">', part.strip()) for part in parts]


def for_the_page(text):
    """What a page says of the terminal, for a reader who has none."""
    return re.sub(r"`make grade N=\w+`", "*Check*", text)


def region_of(exercise, stub):
    """The function around a region, as the student sees it at first."""
    lines, region = stub.split("\n"), tool.regions(stub, "the stub")[exercise.name]
    head = max(i for i in range(region.start)
               if re.match(r"[A-Za-z].*\w\(", lines[i]))
    while lines[head - 1].startswith("//"):
        head -= 1
    end = lines.index("}", region.end) + 1
    return {"first": head + 1, "stub": "\n".join(region.body),
            "head": "".join(line + "\n" for line in lines[head:region.start]),
            "tail": "".join("\n" + line for line in lines[region.end - 1:end])}


def bug_of(exercise, reference):
    """The lines that a bug changes, in the file without the exercises' marks."""
    marks = [line for number, line in enumerate(reference.split("\n"))
             if tool.source_file.marker(line, number)[0] not in ("exercise", "end")]
    wrong = tool.plant_bug(exercise).split("\n")
    at = next(i for i, (a, b) in enumerate(zip(marks, wrong)) if a != b)
    count = len(exercise.right.split(" ⏎ "))
    more = len(wrong) - len(marks)
    return {"at": at, "count": count, "lines": wrong[at:at + count + more]}


def exercise_pages(reference):
    stub, pages = tool.make_stub(), tool.load_exercises()
    shown = iter(to_html([for_the_page(text) for page in pages
                          for text in (page.title, page.text, *page.hints)]))
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
                f"{name} =\n" for name in tool.wanted_answers(e)).rstrip("\n"))
        found.append({"name": e.name, "number": e.number, "title": e.title,
                      "chapter": e.chapter, "points": e.worth, "kind": e.kind, **more})
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
    return {"version": digest(reference)[:16], "breaks": found,
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


def project(reference):
    """The files that the grader reads."""
    to = io.BytesIO()
    files = [tool.REFERENCE, *tool.GRADER, tool.MISTAKES, EXERCISES / "tool.py",
             DOCS / "weaver" / "source_file.py", WRITE / "desk.py",
             *sorted(EXERCISES.glob("[0-9][0-9]-*.md"))]
    with zipfile.ZipFile(to, "w", zipfile.ZIP_DEFLATED) as archive:
        def add(name, text):
            archive.writestr(zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0)), text,
                             zipfile.ZIP_DEFLATED)
        for path in files:
            add(str(path.relative_to(ROOT)), tool.read_text(path))
        for path in MADE.iterdir():
            add(f"build/exercises/made/{path.name}", tool.read_text(path))
    return to.getvalue()


def licences():
    """The licences of all that is in the page, by package."""
    found = [("What is compiled in it", (WRITE / "LICENSES.txt").read_text(encoding="utf-8")),
             ("The C library", (DOCS / "live" / "LICENSE.txt").read_text(encoding="utf-8"))]
    lock = json.loads((WRITE / "package-lock.json").read_text())
    for name, package in sorted(lock["packages"].items()):
        if name and not package.get("dev") and not package.get("optional"):
            folder = BUILD / name
            texts = [path.read_text(encoding="utf-8") for path in sorted(folder.iterdir())
                     if path.name.upper().startswith(("LICENSE", "LICENCE"))]
            found.append((f"{name.removeprefix('node_modules/')} "
                          f"{package['version']}: {package.get('license', '')}",
                          "\n".join(texts)))
    return "\n\n".join(f"{title}\n\n{text}".strip() for title, text in found)


def in_script(text):
    """A text that no tag in it can end."""
    return text.replace("</script", "<\\/script").replace("<!--", "<\\!--")


def as_json(value):
    return json.dumps(value, ensure_ascii=False).replace("<", "\\u003c")


def packed_files(reference):
    clang, python = MODULES / "@yowasp" / "clang" / "gen", MODULES / "pyodide"
    out = BUILD / "out"
    sources = {name: tool.read_text(BUILD / "in" / name)
               for name in json.loads((BUILD / "in" / "jobs.json").read_text())["files"]}
    sources.update({"live": sources["live.c"],
                    "grade": tool.read_text(BUILD / "in" / "grade.c"),
                    "outline.c": desk.reference().outline(reference)})
    files = {path.name: path.read_bytes()
             for path in [*sorted(clang.glob("*.wasm")), python / "pyodide.asm.wasm",
                          python / "python_stdlib.zip", out / "commands.json",
                          out / "grade.o", out / "live.o", out / "grade.wasm",
                          *sorted(out.glob("mistakes-*.o"))]}
    files.update({"llvm-resources.tar": resources(), "project.zip": project(reference),
                  "sources.json": json.dumps(sources).encode(),
                  "transformer.c": reference.encode(),
                  "live.html": (DOCS / "live.html").read_bytes()})
    return "\n".join(packed(name, content) for name, content in files.items())


def packed(name, content):
    """As in the live page; what is large is compressed once."""
    kept = BUILD / "packed" / digest(content)
    if not kept.exists():
        kept.parent.mkdir(exist_ok=True)
        kept.write_text(live.packed("NAME", content))
    return kept.read_text().replace("NAME", name, 1)


def scripts():
    for name in ("engine.js",):
        (BUILD / "in" / name).write_text(live.text_of(name) + "\nexport {Engine};\n")
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
    reference = tool.read_text(tool.REFERENCE)
    script, workers = scripts()
    parts = {"style": live.colours() + live.text_of("live.css")
             + (WRITE / "write.css").read_text(encoding="utf-8"),
             "script": in_script(script), "workers": workers,
             "exercises": as_json(exercise_pages(reference)),
             "broken": as_json(broken_lines(reference)),
             "files": packed_files(reference),
             "licences": html.escape(licences(), quote=False)}
    page = re.sub(r"\{\{(\w+)\}\}", lambda part: parts[part[1]],
                  (WRITE / "page.html").read_text(encoding="utf-8"))
    PAGE.write_text(page, encoding="utf-8")
    print(f"{PAGE}: {len(page.encode()) / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
    run(sys.executable, WRITE / "site_pages.py")

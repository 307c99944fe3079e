#!/usr/bin/env python3
"""Builds docs/live.html, the page that trains transformer.c in a browser.

    python3 docs/live/build.py [PAGE]

clang compiles live.c for WebAssembly, in single and in double precision; a native build of
numbers.c says what is shown before these are loaded; and all is put into one file: the same
bytes on every machine that has the same clang and the same C library (Debian 12 has them).
What is built on the way is in build/live.
"""

import base64
import gzip
import html
import json
import re
import subprocess
import sys
from pathlib import Path

LIVE = Path(__file__).resolve().parent
ROOT = LIVE.parent.parent
sys.path += [str(ROOT / "tests" / "lib"), str(ROOT / "docs" / "exercises" / "grader")]

import c_code  # noqa: E402
import source_file  # noqa: E402

BUILD = ROOT / "build" / "live"
PAGE = ROOT / "docs" / "live.html"
PROGRAM = ROOT / "transformer.c"
MODEL = ROOT / "data" / "models" / "eng-fra.safetensors"
FLAGS = """--target=wasm32-wasi --sysroot=/usr -mexec-model=reactor -std=c11 -O3
    -msimd128 -ffp-contract=off -DNDEBUG -D_WASI_EMULATED_SIGNAL
    -fvisibility=hidden -Wall -Wextra -Wpedantic -Wshadow -Werror""".split()
LINK = """-lm -lwasi-emulated-signal -Wl,--strip-all,--export-dynamic
    -Wl,--export=malloc,--export=free,--export=finish_output
    -Wl,-z,stack-size=1048576,--stack-first""".split()
SHARED = ["tools.js", "engine.js", "chart.js"]    # with write.html
SCRIPTS = [*SHARED, "train.js", "curve.js", "model.js", "stages.js", "flow.js",
           "picture.js", "play.js", "matrices.js", "made.js", "pane.js", "decoding.js",
           "number.js", "learns.js", "main.js"]
DATA = [f"{task}.{part}.tsv" for task in ("reverse", "dates", "eng-fra")
        for part in ("train", "valid")]


def run(*command):
    if subprocess.run([str(word) for word in command], cwd=ROOT).returncode:
        sys.exit(1)


def compiled(source, wasm, *flags):
    """A program that includes transformer.c."""
    run("clang", *FLAGS, *flags, source, "-o", wasm, *LINK)
    return wasm.read_bytes()


def recorded(model):
    """What the page shows of its first sentence before the program is there, in three digits:
    the numbers of the way forward, and those of the first step back."""
    run("cc", "-std=c11", "-O1", "-ffp-contract=off", "-DTRANSFORMER_DOUBLE",
        LIVE / "numbers.c", "-lm", "-o", BUILD / "numbers")
    words = re.search(r"FIRST_SENTENCE = (\[.*\]);", text_of("flow.js"))[1]
    attention = [f"encoder.{layer}.self" for layer in range(2)] \
        + [f"decoder.{layer}.{which}" for layer in range(2) for which in ("self", "cross")]
    names = [f"{side}.{kind}" for side in ("source", "target")
             for kind in ("token", "embedding", "encoding", "positions")] \
        + [f"{path}_attention.{kind}" for path in attention for kind in ("scaled", "mask", "weights")] \
        + [f"output.{kind}" for kind in ("logits", "probabilities", "loss")]
    said = subprocess.run([BUILD / "numbers", model, *json.loads(words), *names], check=True,
                          stdout=subprocess.PIPE, encoding="utf-8").stdout.splitlines()
    info, facts, computed, *matrices = (json.loads(line, parse_float=lambda x: float(f"{float(x):.3g}"))
                                        for line in said)
    for name, matrix in zip(names, matrices):
        if name != "output.logits":
            matrix["gradient"] = None
    known = (ROOT / "data" / "README.md").read_text(encoding="utf-8")
    checksums = re.search(r"checksum `(\w+)`, after 300 steps `(\w+)`", known).groups()
    return json.dumps({"info": info, "checksums": checksums, "facts": facts, "computed": computed,
                       "matrices": dict(zip(names, matrices))}, separators=(",", ":"))


def packed(name, content, more=""):
    """A file in the page: gzipped, and in base64."""
    text = base64.b64encode(gzip.compress(content, mtime=0)).decode()
    return f'<script type="application/gzip" id="{name}"{more}>{text}</script>'


def packed_numbers(name, content):
    """A file of four-byte numbers: all first bytes, all second bytes, … compress better."""
    content += bytes(-len(content) % 4)
    return packed(name, b"".join(content[k::4] for k in range(4)), ' data-planes="4"')


def colours():
    """The variables of the book's style sheet, light and dark, and its header."""
    css = (ROOT / "docs" / "assets" / "style.css").read_text(encoding="utf-8")
    rules = re.findall(r"^(?:@media[^{]*dark\) \{\n  )?:root \{.*?^\}", css,
                       re.M | re.S) + re.findall(r"^header (?:\w+ )*(?:a[\w:-]* )?\{.*\}$", css, re.M)
    return "\n".join(rules) + "\n"


def quoted(wanted):
    """A line of the program, without its comment: the only one in the function that
    contains the text. {{line attention_forward: a.q, transposed(a.k)}}"""
    name, part = wanted[1].split(": ", 1)
    found = [line for line in c_code.body(c_code.function(PROGRAM, name)) if part in line]
    if len(found) != 1:
        sys.exit(f"{LIVE}: {len(found)} lines of {name} contain \"{part}\", wanted 1")
    return json.dumps(found[0].split("//")[0].strip())[1:-1]


def linked(wanted):
    """Where the book has a function. {{link attention_forward}}"""
    its, page = c_code.function(PROGRAM, wanted[1]), ""
    for chapter in source_file.chapters(PROGRAM.read_text(encoding="utf-8"), PROGRAM.name):
        if chapter.start < its.first:
            page = "fast" if chapter.number is None \
                else f"{chapter.number:02}-{chapter.name.replace('_', '-')}"
    return f"{page}.html#{wanted[1]}"


def text_of(*names):
    return "\n".join((LIVE / name).read_text(encoding="utf-8")
                     for name in names)


def script():
    text = re.sub(r"(?m)^ *//.*\n", "", text_of(*SCRIPTS))
    text = re.sub(r"\{\{line (.*?)\}\}", quoted, text)
    text = re.sub(r"\{\{link (\w+)\}\}", linked, text)
    if "{{" in text:
        line = next(line for line in text.split("\n") if "{{" in line)
        sys.exit(f"{LIVE}: what does this ask for? {line.strip()}")
    return text


def main(to):
    BUILD.mkdir(parents=True, exist_ok=True)
    files = [packed("double.wasm", compiled(LIVE / "live.c", BUILD / "double.wasm",
                                            "-DTRANSFORMER_DOUBLE")),
             packed_numbers(MODEL.name, MODEL.read_bytes()),
             packed("live.wasm", compiled(LIVE / "live.c", BUILD / "live.wasm"))]
    files += [packed(name, (ROOT / "data" / name).read_bytes()) for name in DATA]
    parts = {"style": colours() + text_of("live.css"),
             "worker": text_of("wasi.js", "worker.js"),
             "script": script(),
             "recorded": recorded(MODEL),
             "files": "\n".join(files),
             "license": html.escape(text_of("LICENSE.txt"), quote=False)}
    page = re.sub(r"\{\{(\w+)\}\}", lambda part: parts[part[1]],
                  text_of("page.html"))
    to.write_text(page, encoding="utf-8")
    print(f"{to}: {len(page.encode()) / 1e3:.0f} kB")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else PAGE)

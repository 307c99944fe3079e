#!/usr/bin/env python3
"""Makes the notebooks.

    python3 notebook/make.py [--check] [NN ...]

Each notebook/NN-name.md becomes a notebook by pandoc, is executed by nbclient
and written to notebook/NN-name.ipynb, with a small copy of its first picture in
notebook/thumbnails/. With --check the committed notebooks stay as they are; the
numbers that the new ones print as "name: value (± tolerance)" are held against
them; of those printed as "name: value (a time, not checked)" only that they are
there. The last line is "N passed, N failed".
"""
import base64
import glob
import io
import os
import re
import subprocess
import sys
import time

import matplotlib.image
import nbclient
import nbformat

os.environ["PYDEVD_DISABLE_FILE_VALIDATION"] = "1"  # else the kernel warns
HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.path.join(os.path.dirname(HERE), "build", "notebook")
NUMBER = re.compile(r"^(.+): (\S+) \((?:± (\S+)|a time, not checked)\)$", re.M)


def convert(source):
    """Markdown -> notebook; its code blocks are the cells."""
    text = subprocess.run(["pandoc", source, "--to", "ipynb", "--wrap=preserve"],
                          check=True, capture_output=True, text=True).stdout
    return nbformat.reads(text, as_version=4)


def execute(notebook):
    client = nbclient.NotebookClient(
        notebook, timeout=3600, startup_timeout=600, iopub_timeout=60,
        kernel_name="python3", record_timing=False,
        resources={"metadata": {"path": HERE}})
    client.execute()
    notebook.metadata.language_info = {"name": "python"}


def outputs(notebook):
    return [output for cell in notebook.cells for output in cell.get("outputs", [])]


def numbers(notebook):
    """The checked numbers -> {name: (value, tolerance)}; of a time it is inf."""
    text = "".join(output.get("text", "") for output in outputs(notebook))
    return {name: (float(value), float(within or "inf"))
            for name, value, within in NUMBER.findall(text)}


def thumbnail(notebook, file):
    pictures = [output.data["image/png"] for output in outputs(notebook)
                if "image/png" in output.get("data", {})]
    matplotlib.image.thumbnail(io.BytesIO(base64.b64decode(pictures[0])), file,
                               scale=0.35)


def differences(old, new):
    """What a new run did not reach again, a line each."""
    for name in sorted(old.keys() | new.keys()):
        if name not in old or name not in new:
            yield f"{name}: only in the {'new' if name in new else 'old'} run"
        else:
            (was, within), (now, _) = old[name], new[name]
            if not abs(was - now) <= within:
                yield f"{name}: was {was:g} (± {within:g}), is {now:g}"


def main():
    check = "--check" in sys.argv[1:]
    wanted = [word for word in sys.argv[1:] if word != "--check"] or [""]
    sources = sorted(source for word in wanted
                     for source in glob.glob(f"{HERE}/{word}*.md")
                     if re.match(r"\d\d-", os.path.basename(source)))
    if not sources:
        sys.exit(f"make.py: there is no notebook {' '.join(wanted)}")
    os.makedirs(BUILD, exist_ok=True)
    passed = failed = 0
    for source in sources:
        name = os.path.basename(source)[:-len(".md")]
        started, wrong = time.monotonic(), []
        notebook = convert(source)
        try:
            execute(notebook)
        except (nbclient.exceptions.CellExecutionError,
                nbclient.exceptions.CellTimeoutError) as error:
            wrong = [str(error).strip()]
        committed = f"{HERE}/{name}.ipynb"
        if check and not wrong:
            old = numbers(nbformat.read(committed, as_version=4))
            wrong = list(differences(old, numbers(notebook)))
        if not check and not wrong:
            thumbnail(notebook, f"{HERE}/thumbnails/{name}.png")
        folder = BUILD if check or wrong else HERE
        nbformat.write(notebook, f"{folder}/{name}.ipynb")
        passed += not wrong
        failed += bool(wrong)
        print(f"{'FAIL' if wrong else 'ok  '} {name}: {len(numbers(notebook))} "
              f"numbers, {time.monotonic() - started:.0f} s", flush=True)
        for line in wrong:
            print(f"     {line}")
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Makes the labs.

    python3 notebook/make.py [--check [--short]] [N ...]

N are numbers of labs, such as 3 or 1-5,8; without any, all are made. Their
programs are compiled first. Then each notebook/NN-name.md becomes a Jupyter
notebook by pandoc, is executed by nbclient and written to notebook/NN-
name.ipynb, with a small copy of its first picture in notebook/thumbnails/.

With --check the committed labs stay as they are. The numbers that the new run
prints are compared with the committed ones:

    NAME: VALUE (± TOLERANCE)             exact: compared
    NAME: VALUE (learned, ± TOLERANCE)    compared, but not with --short
    NAME: VALUE (a time, not checked)     must only be there

A lab in which nothing is compared fails. With --short every cell runs, but
trainings are cut down to a few steps (LAB_SHORT=1, see lab.py). The last line
is "N passed, N failed".
"""
import asyncio
import base64
import glob
import io
import os
import re
import shutil
import sys
import time

try:
    import ipykernel  # noqa: F401, what nbclient runs the cells in
    import matplotlib.image
    import nbclient
    import nbformat
    from jupyter_client import AsyncKernelManager
except ImportError as missing:
    sys.exit(f"make.py: the labs need {missing.name}, which is not installed: "
             f"apt-get install python3-{missing.name} (or pip install "
             f"{missing.name})")

os.environ["PYDEVD_DISABLE_FILE_VALIDATION"] = "1"  # else the kernel warns
os.environ["PYTHONWARNINGS"] = "ignore:IProgress not found"  # else PyTorch does
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
sys.path.append(f"{ROOT}/tests/lib")
from command import run  # noqa: E402
BUILD = os.path.join(ROOT, "build", "notebook")
NUMBER = re.compile(
    r"^(.+): (\S+) \((?:(learned, )?± (\S+)|a time, not checked)\)$", re.M)
EXACT, LEARNED, TIME = "exact", "learned", "a time"


def misuse(reason):
    print(f"make.py: {reason}", file=sys.stderr)
    sys.exit(2)


def sources(numbers):
    """The numbers of labs, such as "3" or "1-5,8" -> their sources; without any,
    those of all labs."""
    labs = {int(os.path.basename(path)[:2]): path
            for path in sorted(glob.glob(f"{HERE}/[0-9][0-9]-*.md"))}
    chosen = set()
    for part in re.split(r"[,\s]+", " ".join(numbers)) if numbers else []:
        span = re.fullmatch(r"(\d{1,3})(?:-(\d{1,3}))?", part)
        some = range(int(span[1]), int(span[2] or span[1]) + 1) if span else []
        if not some or not labs.keys() >= set(some):
            misuse(f"there is no lab {part}: N is a number from {min(labs)} "
                   f"to {max(labs)}, or several such as 1-3,5")
        chosen.update(some)
    return [labs[n] for n in sorted(chosen or labs)]


def build(labs):
    """The programs of the labs and ./transformer, which most of them run."""
    programs = [os.path.basename(path)[:-len(".c")] for lab in labs
                for path in glob.glob(f"{HERE}/{os.path.basename(lab)[:3]}*.c")]
    made = run("make", "-s", f"-j{os.cpu_count()}", "transformer",
               *(f"build/notebook/{name}" for name in sorted(programs)),
               allowed=(), cwd=ROOT)
    if made.status != 0:
        sys.exit(f"{made.err}make.py: the programs of the labs do not compile")


def convert(source):
    """Markdown -> a Jupyter notebook; its code blocks are the cells."""
    return nbformat.reads(run("pandoc", source, "--to", "ipynb",
                              "--wrap=preserve").out, as_version=4)


def execute(lab, kernel=None):
    """Runs all cells, in a kernel of their own if none is given -> what went
    wrong, a list of lines."""
    client = nbclient.NotebookClient(
        lab, timeout=3600, startup_timeout=600, iopub_timeout=60, km=kernel,
        kernel_name="python3", record_timing=False,
        resources={"metadata": {"path": HERE}})
    try:
        client.execute()
    except nbclient.exceptions.CellExecutionError as error:
        return [f"{error.ename}: {error.evalue}"]
    except (nbclient.exceptions.CellTimeoutError,
            nbclient.exceptions.DeadKernelError) as error:
        return [str(error).strip().splitlines()[0]]
    lab.metadata.language_info = {"name": "python"}
    return []


def outputs(lab):
    return [output for cell in lab.cells for output in cell.get("outputs", [])]


def numbers(lab):
    """The checked numbers -> {name: (kind, value, tolerance)}."""
    text = "".join(output.get("text", "") for output in outputs(lab))
    return {name: (TIME if not within else LEARNED if learned else EXACT,
                   float(value), float(within or "inf"))
            for name, value, learned, within in NUMBER.findall(text)}


def differences(old, new, compared):
    """A line for each number that a new run did not reach again, of the kinds
    that are compared."""
    for name in sorted(old.keys() | new.keys()):
        if name not in old or name not in new:
            yield f"{name}: only in the {'new' if name in new else 'old'} run"
            continue
        (kind, was, within), (new_kind, now, _) = old[name], new[name]
        if kind != new_kind:
            yield f"{name}: was {kind}, is {new_kind}"
        elif kind in compared and not abs(was - now) <= within:
            yield f"{name}: was {was:g} (± {within:g}), is {now:g}"
    if not any(kind in compared for kind, _, _ in new.values()):
        yield "nothing is compared: print a number with lab.exact"


def thumbnail(lab, file):
    pictures = [output.data["image/png"] for output in outputs(lab)
                if "image/png" in output.get("data", {})]
    matplotlib.image.thumbnail(io.BytesIO(base64.b64decode(pictures[0])), file,
                               scale=0.35)


def make(source, check, compared, kernel):
    """Makes one lab -> whether all went well. Checks share a kernel, in which
    nothing is left of the previous lab but what Python has imported."""
    name = os.path.basename(source)[:-len(".md")]
    started, lab = time.monotonic(), convert(source)
    if check:
        lab.cells.insert(0, nbformat.from_dict(
            {"cell_type": "code", "source": "%reset -f", "metadata": {},
             "outputs": [], "execution_count": None}))
    wrong = execute(lab, kernel)
    found = numbers(lab)
    if check and not wrong:
        committed = nbformat.read(f"{HERE}/{name}.ipynb", as_version=4)
        wrong = list(differences(numbers(committed), found, compared))
    if not check and not wrong:
        thumbnail(lab, f"{HERE}/thumbnails/{name}.png")
    nbformat.write(lab, f"{BUILD if check or wrong else HERE}/{name}.ipynb")
    kinds = [kind for kind, _, _ in found.values()]
    print(f"{'FAIL' if wrong else 'ok  '} {name}: {kinds.count(EXACT)} exact, "
          f"{kinds.count(LEARNED)} learned, {time.monotonic() - started:.0f} s",
          flush=True)
    for line in wrong:
        print(f"     {line}")
    if wrong:
        print(f"     the lab as it ran: build/notebook/{name}.ipynb")
    return not wrong


def main():
    options = [word for word in sys.argv[1:] if word.startswith("--")]
    labs = sources([word for word in sys.argv[1:] if word not in options])
    check, short = "--check" in options, "--short" in options
    if set(options) - {"--check", "--short"} or short and not check:
        misuse("[--check [--short]] [N ...]; the short form is only for checks "
               "(make notebooks-check SHORT=1)")
    if not shutil.which("pandoc"):
        sys.exit("make.py: the labs need pandoc, which is not installed: "
                 "apt-get install pandoc")
    os.environ["LAB_SHORT"] = "1" if short else "0"
    os.makedirs(BUILD, exist_ok=True)
    build(labs)
    compared = {EXACT} if short else {EXACT, LEARNED}
    kernel = AsyncKernelManager(kernel_name="python3") if check else None
    passed = [make(source, check, compared, kernel)
              for source in labs].count(True)
    if check:
        asyncio.run(kernel.shutdown_kernel(now=True))
    print(f"{passed} passed, {len(labs) - passed} failed")
    sys.exit(passed < len(labs))


if __name__ == "__main__":
    main()

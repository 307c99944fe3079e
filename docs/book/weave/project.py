"""Where things are in the project, and how the weaver reads and runs them. A module
that needs one of another folder imports this one first.
"""

import os
import re
import shutil
import sys
from pathlib import Path

DOCS = Path(__file__).resolve().parent.parent.parent
ROOT = DOCS.parent
BUILD = ROOT / "build" / "docs"  # `make docs` has built the programs in here
ENVIRONMENT = dict(os.environ, LC_ALL="C.UTF-8", NO_COLOR="1", COLUMNS="80")
sys.path += [str(ROOT / name) for name in ("tests/lib", "docs/exercises/grader",
                                           "docs/book/figures",
                                           "docs/book/test")]

from command import run


def fail(message):
    sys.exit(f"weaver: {message}")


def check_programs():
    if not shutil.which("pandoc"):
        fail("pandoc not found: apt-get install pandoc (Debian), brew install "
             "pandoc (macOS)")


def labs():
    """{number: (address, title, path of the source)} of the labs."""
    found = {}
    for path in sorted((ROOT / "notebook").glob("[0-9][0-9]-*.md")):
        number, title = re.search(r"^# Lab (\d+)\. (.+)$", path.read_text(
            encoding="utf-8"), re.MULTILINE).groups()
        found[number] = (f"../notebook/{path.stem}.ipynb", title, path)
    return found


def emptied(folder):
    """A folder to put things in, which is made anew."""
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        fail(f"{folder.relative_to(ROOT)} is not a folder: it is left as it is")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)


def read(path):
    """A file of docs/."""
    return (DOCS / path).read_text(encoding="utf-8")


def command(argv, text=None, cwd=BUILD, allowed=(0,)):
    """The output of a program; if it fails, so does the weaver."""
    return run(*argv, given=text, cwd=cwd, allowed=allowed, env=ENVIRONMENT).out

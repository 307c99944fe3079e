"""Files: where they are, how they are read, and how they are written: never half of one,
and nothing that is the project's."""

import codecs
import contextlib
import hashlib
import io
import os
import secrets
import zipfile
from pathlib import Path

from source_file import Broken

GRADER = Path(__file__).resolve().parent
EXERCISES = GRADER.parent
ROOT = EXERCISES.parent.parent
REFERENCE = ROOT / "transformer.c"
PROJECT = [ROOT / name for name in (".ci", ".git", "data", "docs", "notebook", "tests")]
SETTINGS = {}  # what the command line says, by name: N, SRC, FOLDER, ...


class Trouble(Broken):
    """What ends the tool with one line and exit status 2."""


class Unfit(Trouble):
    """What was handed in cannot be graded; any other trouble is the grader's."""


def read_text(path):
    """The text of a file."""
    try:
        text = decoded(Path(path).read_bytes())
    except OSError as error:
        raise Trouble(f"cannot read {shown(path)}: {error.strerror}")
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise Trouble(f"{shown(path)}:{line}: this is not text")
    return text


codecs.register_error("as Latin-1", lambda error: (
    error.object[error.start:error.end].decode("latin-1"), error.end))


def decoded(data):
    """A text with plain line ends, from UTF-8, or from UTF-16 that is marked as such. What is
    not UTF-8 in it, such as a letter in a comment, is taken for Latin-1."""
    is_wide = data[:2] in (b"\xff\xfe", b"\xfe\xff")
    text = data.decode("utf-16" if is_wide else "utf-8-sig", "as Latin-1")
    return text.replace("\r\n", "\n") if "\n" in text else text.replace("\r", "\n")


def writable(path):
    """The file that a path leads to, if it may be replaced."""
    path = Path(os.path.realpath(path))
    if path.exists() and not path.is_file():
        raise Trouble(f"{shown(path)} is not a file")
    if any(folder in path.parents for folder in PROJECT) \
            or (path.exists() and path.samefile(REFERENCE)):
        raise Trouble(f"{shown(path)} is the project's: it is not replaced")
    return path


def write_file(path, content):
    """Write a text, or bytes, beside its place and rename it: never half a file."""
    path = writable(path)
    beside = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        beside.write_bytes(content.encode() if isinstance(content, str) else content)
        os.replace(beside, path)
    except OSError as error:
        raise Trouble(f"cannot write {shown(path)}: {error.strerror}")
    finally:
        with contextlib.suppress(OSError):
            beside.unlink()


def shown(path):
    """A path as messages show it: relative to the folder in which files were found, or to
    the project, where it lies in one of them."""
    path = Path(path).absolute()
    base = student_folder() if "NOTES" in SETTINGS else ROOT
    base = base if base in path.parents else ROOT
    return str(path.relative_to(base) if base in path.parents else path)


def student_folder():
    return Path(SETTINGS.get("FOLDER") or ROOT / "exercises").absolute()


def digest(*texts):
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]


def zipped(files, programs=()):
    """{name: text or bytes} as the bytes of a zip file."""
    to = io.BytesIO()
    with zipfile.ZipFile(to, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o100755 if name in programs else 0o100644) << 16
            archive.writestr(entry, content)
    return to.getvalue()

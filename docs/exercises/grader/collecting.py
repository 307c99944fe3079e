"""What was handed in is found: at any depth, in folders and in archives, whatever the names'
case. What operating systems add is left out, and what is refused is named. No archive is
unpacked to a disk: its paths, links and modes can do no harm.
"""

import bz2
import functools
import gzip
import io
import itertools
import lzma
import os
import re
import stat
import tarfile
import unicodedata
import zipfile
from collections import namedtuple
from pathlib import PurePosixPath

from cutting import load_exercises, reference_regions
from files import Unfit, decoded
from source_file import is_stub, read_regions

# A file, or what was refused: its data are None then, and `why` has the reason.
Item = namedtuple("Item", "path data why")

MOST_BYTES = 1 << 28   # of all that is read of what one student has handed in
MOST_FILES = 20000
MOST_SOURCE = 1 << 22  # of a file that is no archive
DEEPEST = 6            # archives within archives
NOT_HANDED_IN = re.compile(
    r"\..*|.*~|~\$.*|#.*#|__MACOSX|Icon\r|Thumbs\.db|desktop\.ini|\$RECYCLE\.BIN|@eaDir|"
    r"System Volume Information|node_modules|.*\.dSYM", re.I)
PACKED = re.compile(r".*\.(zip|tar|tgz|tbz2?|txz|gz|bz2|xz|7z|rar|zst|Z|lzh|arj|dmg|iso)", re.I)
STARTS = {b"PK\3\4": "zip", b"PK\5\6": "zip", b"\x1f\x8b": "gz", b"BZh": "bz2",
          b"\xfd7zXZ": "xz", b"7z\xbc\xaf": "7z", b"Rar!": "rar", b"\x28\xb5\x2f\xfd": "zst"}
OPENED = {"gz": lambda data: gzip.GzipFile(fileobj=io.BytesIO(data)),
          "bz2": lambda data: bz2.BZ2File(io.BytesIO(data)),
          "xz": lambda data: lzma.LZMAFile(io.BytesIO(data))}
WITH_REGIONS = re.compile(r"[^.]+|.*\.(c|h|cc|cpp|c\.txt)|transformer.*\.txt", re.I)
REGION = re.compile(rb"^[ \t]*//@ exercise (\w+)", re.M)


def kind_of(data):
    """What archive this is, by its first bytes; or ""."""
    found = next((kind for start, kind in STARTS.items() if data.startswith(start)), "")
    return found or "tar" * (data[257:262] == b"ustar")


def holds_files(path):
    """Whether this is a folder or an archive."""
    if not path.is_file():
        return path.is_dir()
    with open(path, "rb") as file:
        return bool(kind_of(file.read(300)) or PACKED.fullmatch(path.name))


def members(kind, data, name):
    """(name, whether it is a file, how it is opened) of what is in an archive."""
    if kind == "zip":
        archive = zipfile.ZipFile(io.BytesIO(data))
        for entry in archive.infolist():
            if not entry.is_dir():
                mode = stat.S_IFMT(entry.external_attr >> 16)
                yield (entry.filename.replace("\\", "/"), mode in (0, stat.S_IFREG),
                       lambda entry=entry: archive.open(entry))
    elif kind == "tar":
        archive = tarfile.open(fileobj=io.BytesIO(data))
        for entry in archive:
            if not entry.isdir():
                yield entry.name, entry.isreg(), lambda entry=entry: archive.extractfile(entry)
    else:
        yield PurePosixPath(name).stem, True, lambda: OPENED[kind](data)


def readable(path):
    """The name of a file, whatever its bytes are."""
    return os.fsencode(path.name).decode(errors="backslashreplace")


def or_none(name, items):
    """The items, or that there are none."""
    first = next(items, Item(name, None, "nothing is in it"))
    yield first
    yield from items


class Walk:
    """All files of a folder or an archive, with what is refused; within limits, for this many
    students. The data of files that nobody asks for are not kept."""

    def __init__(self, names, students=1):
        self.names = names
        self.bytes, self.files = students * MOST_BYTES, students * MOST_FILES

    def read(self, file):
        """As much of a file as is needed."""
        self.files -= 1
        data = file.read(MOST_SOURCE + 1)
        if len(data) > MOST_SOURCE and kind_of(data):
            data += file.read(max(self.bytes - len(data), 0) + 1)
        self.bytes -= len(data)
        return data

    def below(self, path, name=""):
        """The items of a file or a folder of the disk."""
        try:
            if path.is_symlink():
                yield Item(name, None, "links are not followed")
            elif path.is_dir():
                yield from or_none(name, itertools.chain.from_iterable(
                    self.below(inner, f"{name}/{readable(inner)}".strip("/"))
                    for inner in sorted(path.iterdir())
                    if not NOT_HANDED_IN.fullmatch(inner.name)))
            elif path.is_file():
                with open(path, "rb") as file:
                    yield from self.inside(name, self.read(file), 0)
            else:
                yield Item(name, None, "this is not a file")
        except OSError as error:
            yield Item(name, None, error.strerror)

    def inside(self, name, data, depth):
        """The items of a file, which may be an archive."""
        kind, why = kind_of(data) or "tar" * name.lower().endswith(".tar"), ""
        if self.bytes < 0 or self.files < 0:
            why = f"more than {MOST_BYTES >> 20} MB, or {MOST_FILES} files, are not read"
        elif kind and kind not in ("zip", "tar", *OPENED):
            why = f"{kind} is not unpacked here: a zip or tar file is"
        elif depth == DEEPEST:
            why = f"an archive in {DEEPEST} others is not unpacked"
        elif not kind and PACKED.fullmatch(name):
            why = "this is not an archive, or a damaged one"
        elif len(data) > MOST_SOURCE and not kind and WITH_REGIONS.fullmatch(
                PurePosixPath(name).name):
            why = f"it has more than {MOST_SOURCE >> 20} MB"
        if why or not kind:
            yield Item(name, None, why) if why else self.text(name, data)
            return
        try:
            yield from or_none(name, itertools.chain.from_iterable(
                self.member(name, *inner, depth) for inner in members(kind, data, name)))
        except Exception as error:  # whatever a damaged or a locked one raises
            yield Item(name, None, f"it cannot be unpacked: {error}")

    def text(self, name, data):
        """The item of a file that is no archive."""
        wanted, why = split_name(PurePosixPath(name).name, self.names)[1], ""
        data = decoded(data).encode()
        if not wanted and not has_regions(name, data):
            return Item(name, b"", "")
        if b"\0" in data:
            why = "this is not text"
        elif wanted == self.names[0] and not has_regions(name, data):
            why = "it has no line //@ exercise NAME" if data.strip() else "it is empty"
        return Item(name, None if why else data, why)

    def member(self, name, inner, is_file, opened, depth):
        """The items of what has this name in an archive."""
        path, parts = f"{name}/{inner}".strip("/"), PurePosixPath(inner).parts
        if any(NOT_HANDED_IN.fullmatch(part) for part in parts if part != ".."):
            return
        if inner.startswith("/") or ".." in parts:
            yield Item(path, None, "its path leads out of the archive")
        elif not is_file:
            yield Item(path, None, "links are not followed")
        elif self.bytes >= 0 and self.files >= 0:
            try:
                with opened() as file:
                    data = self.read(file)
            except Exception as error:
                yield Item(path, None, f"it cannot be unpacked: {error}")
                return
            yield from self.inside(path, data, depth + 1)


# ---------------------------------------------------------------- which is which

def names_asked_for():
    """The names under which a student's files are graded, transformer.c first."""
    return ["transformer.c", "answers.txt"] + [
        e.file if e.kind == "train" else f"bugs/{e.slug}.c"
        for e in load_exercises() if e.kind in ("train", "bug")]


def split_name(name, names):
    """(what stands before it, the name that is asked for) of a file's name: platforms put
    something before a name, and number a second copy after it."""
    name = unicodedata.normalize("NFC", name)
    plain = re.sub(r"(\.(?:c|txt|options))\.(txt|c)$", r"\1", name.lower())
    plain = re.sub(r"([ _-]*\(\d+\)|[ _-]*(copy|kopie|copie|copia)[ \d]*|[ _-]\d+)+(?=\.\w+$)",
                   "", plain)
    for wanted in names:
        found = re.fullmatch(rf"(?:(.*)[ _.-])?{re.escape(PurePosixPath(wanted).name)}", plain)
        if found:
            return name[:len(found[1] or "")], wanted
    return name, ""


@functools.lru_cache(maxsize=None)
def region_names():
    return {name.encode() for name in reference_regions()}


def has_regions(path, data):
    """Whether this is a file with exercises in it, whatever its name."""
    return (WITH_REGIONS.fullmatch(PurePosixPath(path).name) is not None
            and not region_names().isdisjoint(REGION.findall(data)))


def which(items, names):
    """{name that is asked for: [items]}"""
    found = {}
    for item in items:
        name = split_name(PurePosixPath(item.path).name, names)[1] \
            or names[0] * has_regions(item.path, item.data or b"")
        if name and item.data is not None:
            found.setdefault(name, []).append(item)
    return found


def is_reference(name, region):
    """Whether it differs from the reference's in blanks and comments alone."""
    return region.code() == reference_regions()[name].code()


def has_only(is_so, item):
    """Whether a file has all regions, and `is_so` holds for each of them."""
    found = read_regions(item.data.decode(), item.path)
    return found.keys() == reference_regions().keys() and not any(
        isinstance(region, str) or not is_so(name, region) for name, region in found.items())


def only_one(name, items):
    """The item that counts; if several differ, Unfit is raised. What everybody has does not
    count beside another: the reference, the stub, and a copy to break."""
    different = {item.data.strip(): item for item in items}
    for is_given in (functools.partial(has_only, is_reference),
                     functools.partial(has_only, is_stub),
                     lambda item: item.path.endswith("broken.c")):
        for text, item in [*different.items()]:
            if len(different) > 1 and is_given(item):
                del different[text]
    if len(different) > 1:
        raise Unfit(f"{len(different)} files could be {name}, and only one counts: "
                    + ", ".join(sorted(item.path for item in different.values())))
    return next(iter(different.values())).data


def chosen(items, names):
    """{name that is asked for: data} of what one student has handed in."""
    found = {name: only_one(name, some) for name, some in which(items, names).items()}
    if not found:
        raise Unfit("; ".join(refused(items)) or "no file in it is asked for: there is " + (
            ", ".join(item.path for item in items[:9]) or "none"))
    return found


def refused(items):
    return [": ".join(filter(None, [item.path, item.why])) for item in items if item.why]


def not_asked_for(items, names):
    """What is said of the files that are not used; nothing, if they are a whole repository."""
    used = [item.path for some in which(items, names).values() for item in some]
    rest = [item.path for item in items if not item.why and item.path not in used]
    return [f"not asked for: {path}" for path in rest] if len(rest) < 10 else []


def put(folder, files):
    """Writes a student's files to the folder in which they are graded."""
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)

#!/usr/bin/env python3
"""Exercises cut from transformer.c: writes them, shows them, grades them.

    python3 docs/exercises/tool.py COMMAND [NAME=VALUE ...]

    exercises [FORCE=1]          write exercises/transformer.c and answers.txt
    exercise [N=5]               show exercise 5; without N list all
    grade [N=5] [SRC=mine.c] [JSON=results.json]
    hint N=5                     one more hint each time
    solution N=5 [SHOW=1]        the answer, once the exercise has passed
    reset N=5                    exercise 5 as it was in the beginning
    watch [N=5]                  grade again whenever a file changes
    gradescope [N=1-30]          write build/gradescope.zip

STUDENT=anna with exercise and grade: numbers of Anna's own, graded for marks.
`make` has these commands as targets. N is a number, a name, or a list of them
("1-5,8"). FOLDER is the student's folder (exercises), CC the compiler (cc).
Exit status: 0 done, or full marks; 1 not; 2 misused, or a file is broken. Needs
Python 3.8, a C compiler, and Linux, macOS or WSL.

An exercise is one file, pages/NAME.md: lines "key: value" up to "----", then Markdown,
then "## Hint 1" and so on, and "## Mistakes" at the end. Its number is its place: first
come the regions of transformer.c, then what order.txt lists. Keys of every page: points,
kind, and but for regions chapter, a name. The kinds, and what else their pages say:

write   A region between "//@ exercise NAME" and "//@ end" of transformer.c. It
        is taken out of the student's file and set into the reference, which is
        compiled with grade.c: no exercise depends on another one. `refuse:
        NAME ... -> why` may give names that must not stand in it, unless its
        own declarations do. Its mistakes are wrong bodies (see below).
bug     A mistake planted in the whole file. `function:` has the line `right:`,
        in whose place the student sees `wrong:` (several lines are joined by
        " ⏎ "). `checks:` names the checks of grade.c that fail with it,
        `diagnosis:` is a part of what the first of them says. All checks must
        pass, and those are run first. No more than a few lines of the file may
        differ from those of transformer.c. If there is `source:`, the whole file is
        that program instead, and it is run like it, on some of the pairs that `data:`
        names: all that both print must be the same.
number  `answers: name = value ± tolerance; ...`, written by the student into
        answers.txt. `own: PHRASE; ...` has phrases of the text that end with a
        number: with STUDENT=NAME each of these is larger, and numbers.c computes the
        answers. Its mistakes are lines "name = value -> what it is"
        (`*`: any wrong one; `name < value`: any that is nearer to 0).
train   The student writes options for `transformer train` into the file that
        `file:` names. `data:` is the training data, a path and if need be the
        number of first lines to take; `test:` what to evaluate on (absent: the
        training data); `fixed:` are options that the tool sets, `options:` are
        those the student may set, `seconds:` is the time limit of the training,
        `goal:` is "key < value" or "key >= value" with a key of
        `transformer evaluate`; `example:` are options that reach it. If there
        is `most:`, the model may not have more parameters. If there is
        `seeds:`, it is trained with each of them, and each must reach the goal.
        If there is `before:`, a path and fixed options, the student may write a
        word --from: what is before it are options of a first training on that
        text, what is behind it of the training on the data, which begins with
        its model. Its mistakes are lines "PATTERN -> what it is" on options
        in which the pattern is found.

The mistakes of a region are what students write, and what the grader says of it. Each
begins with a line "MARK TEXT"; the lines after it are a wrong body. The marks:

=   TEXT is said of everybody whose results are the same as those of this body: up to
    rounding, and at least up to the first case that is wrong. So TEXT must hold for all
    that give these numbers. Several bodies may have the same TEXT.
~   The grader says TEXT by itself, among other things.
*   The line after it names a case. TEXT is said of everybody for whom this is the first
    wrong case, if nothing else is known.
!   The same for everybody whose program crashes in this case; or the line names what has
    a wrong shape, as in "multi_head_backward: d->memory", where the program ends with that.

{A -> B} is the reference's body with B in the place of A, which stands in it once; there
may be several such lines. A line "&" is the reference's body. test.py tests them all, also
that no two with different texts give the same results.
"""

import os
import sys

if sys.version_info < (3, 8):
    sys.exit("tool.py needs Python 3.8 or newer; this is Python %d.%d"
             % sys.version_info[:2])
if os.name == "nt":
    sys.exit("tool.py does not run on Windows itself: use WSL "
             "(https://learn.microsoft.com/windows/wsl/install)")

import contextlib
import difflib
import fcntl
import functools
import hashlib
import io
import itertools
import json
import math
import re
import secrets
import shlex
import shutil
import signal
import struct
import subprocess
import tempfile
import threading
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
import neighbors
import parts
import source_file
from source_file import Broken, is_stub, regions, replace_region, stub_body

ROOT = HERE.parent.parent
REFERENCE = ROOT / "transformer.c"
GRADER = [HERE / "grade.c", HERE / "grade.h"]
CONFINE = HERE / "confine.c"
EXAM = HERE / "exam.c"  # not in Gradescope's zip file
KNOWN = HERE / "known.txt"
SCRIPTS = [HERE / "tool.py", HERE / "neighbors.py", HERE / "parts.py",
           HERE / "source_file.py"]
OBJECT = "reference.o"  # transformer.c and grade.c, whose functions give way to others
PROJECT = [ROOT / name for name in (".ci", ".git", "data", "docs", "notebook",
                                    "tests")]
BUILD = ROOT / "build" / "exercises"
FLAGS = ("-std=c11 -Og -ffp-contract=off -Wall -Wno-unused-function -Wfloat-conversion "
         "-Wno-unused-const-variable -Werror=implicit-function-declaration").split()
DEFINES = ["-DTRANSFORMER_NO_MAIN", "-DTRANSFORMER_DOUBLE", "-DTRANSFORMER_POISON"]
SANITIZE = ["-g", "-fsanitize=address,undefined", "-DTRANSFORMER_MALLOC"]
STRICT = ["-std=c11", "-O2", "-ffp-contract=off"]  # programs that are run as they are
CHECK_SECONDS = 10       # what one check may take
COMPILE_SECONDS = 60
MEMORY = 1 << 20         # kilobytes of address space of a check
KEPT_OUTPUT = 1 << 15    # bytes kept of the beginning, and of the end
MOST_OUTPUT = 10 << 20   # bytes after which a program is stopped
WRITTEN = "written"      # the file that a check may use
FEW_LINES = 12           # so many statements may differ in a file with a bug
NOBODY = 65534           # the user that confine.c becomes
UNCONFINED = "EXERCISES_UNCONFINED" in os.environ  # which only the test sets
STOP = threading.Event() # set when the tool itself is interrupted


class Trouble(Broken):
    """What ends the tool with one line and exit status 2."""


# ---------------------------------------------------------------- files

def read_text(path):
    """The text of a file, with plain line ends."""
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise Trouble(f"cannot read {shown(path)}: {error.strerror}")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise Trouble(f"{shown(path)}:{line}: this is not UTF-8 text")
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise Trouble(f"{shown(path)}:{line}: this is not text")
    return text.replace("\r\n", "\n")


def handed_in(path):
    """The text of a student's file. No link is followed, neither the file's nor a
    folder's in the student's: it could lead to any file of the machine."""
    path, folder = Path(path).absolute(), student_folder()
    above = folder if folder in path.parents else path.parent
    place = Path(os.path.realpath(above)) / path.relative_to(above)
    if os.path.realpath(path) != str(place):
        raise Trouble(f"{shown(path)}: a link leads there, and links are not followed")
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise Trouble(f"{shown(path)} is not a file")
    return read_text(path)


def writable(path):
    """The file that a path leads to, if it may be replaced."""
    path = Path(os.path.realpath(path))
    if path.exists() and not path.is_file():
        raise Trouble(f"{shown(path)} is not a file")
    if any(folder in path.parents for folder in PROJECT) \
            or (path.exists() and path.samefile(REFERENCE)):
        raise Trouble(f"{shown(path)} is the project's: it is not replaced")
    return path


def write_text(path, text):
    """Write a file beside its place and rename it: never half a file."""
    path = writable(path)
    beside = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            beside.write_bytes(text.encode("utf-8"))
            os.replace(beside, path)
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                beside.unlink()
            raise
    except OSError as error:
        raise Trouble(f"cannot write {shown(path)}: {error.strerror}")


def back_up(path):
    """Copy a student's file to backup/ before it is changed."""
    writable(path)
    stamp = time.strftime("%Y%m%d-%H%M%S")
    folder = student_folder() / "backup"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for count in range(1000):
            copy = folder / f"{path.name}.{stamp}-{count}"
            if not copy.exists():
                shutil.copyfile(path, copy)
                break
    except OSError as error:
        raise Trouble(f"cannot keep a copy of {shown(path)}: {error.strerror}")
    print(f"the file as it was is kept as {shown(copy)}")


def shown(path):
    """A path as messages show it: relative to the project where it lies in it."""
    path = Path(path).absolute()
    return str(path.relative_to(ROOT) if ROOT in path.parents else path)


def student_folder():
    return Path(SETTINGS.get("FOLDER") or ROOT / "exercises").absolute()


# What the tool remembers of the student, in the file .hints, each by name: how
# many hints were seen, a digest of what has passed, and of the files written, and
# the wrong numbers that were tried.
KINDS_OF_NOTES = {"hints": int, "passed": str, "written": str, "tries": str}


def read_notes():
    """What the file .hints says; None if it is broken."""
    path = student_folder() / ".hints"
    if path.is_symlink():
        raise Trouble(f"{shown(path)} is a link: links are not followed")
    if not path.is_file():
        return {}
    try:
        memory = json.loads(path.read_bytes())
        whole = all(isinstance(value, type_of_value)
                    for kind, type_of_value in KINDS_OF_NOTES.items()
                    for value in memory.get(kind, {}).values())
    except (OSError, ValueError, AttributeError, RecursionError):
        return None
    return memory if whole else None


def notes(kind):
    return (read_notes() or {}).get(kind, {})


def remember(kind, name, value):
    folder = student_folder()
    with locked(folder):
        memory = read_notes()
        if memory is None:
            print(f"{shown(folder / '.hints')} is broken: it begins anew")
            back_up(folder / ".hints")
            memory = {}
        if memory.setdefault(kind, {}).get(name) != value:
            memory[kind][name] = value
            write_text(folder / ".hints", json.dumps(memory, indent=1))


@contextlib.contextmanager
def locked(folder):
    """No other thread and no other tool is in here for this folder."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        opened = os.open(folder, os.O_RDONLY)
    except OSError as error:
        raise Trouble(f"cannot write to {shown(folder)}: {error.strerror}")
    try:
        with contextlib.suppress(OSError):  # a file system without locks
            fcntl.flock(opened, fcntl.LOCK_EX)
        yield
    finally:
        os.close(opened)


def digest(*parts):
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


# ---------------------------------------------------------------- pages

def reference_regions():
    return regions(read_text(REFERENCE), "transformer.c")


def load_exercises():
    """All exercises, by number."""
    exercises = source_file.pages(HERE, read_text, read_text(REFERENCE))
    pages = {e.name for e in exercises if e.kind == "write"}
    for name in {*reference_regions()} ^ pages:
        raise Trouble(f"the region {name} of transformer.c has no page of its kind"
                      if name not in pages else f"{name}.md: there is no such region")
    return exercises


def choose(exercises, wanted):
    """The exercises of a list such as "1-5,8", or of names."""
    chosen = []
    for part in re.split(r"[,\s]+", wanted.strip()):
        span = re.fullmatch(r"(\d{1,3})(?:-(\d{1,3}))?", part)
        first = int(span[1]) if span else 0
        last = int(span[2] or span[1]) if span else 0
        found = [e for e in exercises
                 if first <= e.number <= last or part == e.name]
        if not found or (span and len(found) != last - first + 1):
            raise Trouble(f"there is no exercise {part}; "
                          "`make exercise` lists them")
        chosen += [e for e in found if e not in chosen]
    return chosen


def the_one(exercises):
    """The exercise that N names, for commands that need exactly one."""
    if not SETTINGS.get("N"):
        raise Trouble("which exercise? Say for example N=5")
    chosen = choose(exercises, SETTINGS["N"])
    if len(chosen) != 1:
        raise Trouble("one exercise at a time")
    return chosen[0]


# ---------------------------------------------------------------- regions

def around(lines, region):
    """The function that a region is in: its first line, and the one after its last;
    counted from 0."""
    first = max(i for i in range(region.start)
                if re.match(r"[A-Za-z].*\w\(", lines[i]))
    return first, lines.index("}", region.end - 1) + 1


PREAMBLE = """
// What is not written yet ends the program here. (Made by `make exercises`: only
// what you write between the lines "//@ exercise NAME" and "//@ end" is graded.)
_Noreturn void exercise_todo(const char *name) {
    fprintf(stderr, "exercise: %s is not written yet\\n", name);
    exit(3);
}
#if defined __GNUC__ && !defined __TINYC__ // nor does it use everything yet
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wunused-variable"
#pragma GCC diagnostic ignored "-Wunused-but-set-variable"
#endif
"""


def with_preamble(text, extra=()):
    """The preamble, set behind the block of #include lines with <stdio.h>."""
    lines = text.split("\n")
    if "#include <stdio.h>" not in lines:
        return text
    place = lines.index("#include <stdio.h>")
    while lines[place].startswith("#include"):
        place += 1
    extra = [line.replace("NEXT", str(place + 1)) for line in extra]
    return "\n".join(lines[:place] + PREAMBLE.rstrip().split("\n") + extra
                     + lines[place:])


def make_stub():
    return with_preamble(source_file.with_holes(read_text(REFERENCE)))


def student_file():
    """The student's file: SRC, or transformer.c of the student's folder; in what
    was handed in, it may have another name."""
    if SETTINGS.get("SRC"):
        return Path(SETTINGS["SRC"]).absolute()
    path = student_folder() / "transformer.c"
    others = list(student_folder().glob("*.c")) if SETTINGS.get("FOLDER") else []
    return others[0] if not path.exists() and len(others) == 1 else path


def student_regions(path):
    """The regions of the student's file, each for itself: in the place of one that is
    broken stands what is wrong, a text; so does, under "", what belongs to none."""
    if not path.exists():
        how = "" if SETTINGS.get("SRC") else "; `make exercises` makes it"
        raise Trouble(f"there is no {shown(path)}{how}")
    found, name, known, label = {}, None, reference_regions(), shown(path)

    def without_end():
        found[name] = f"{label}:{found[name].start}: //@ exercise {name} has no //@ end"

    for number, line in enumerate(handed_in(path).split("\n"), 1):
        place = f"{label}:{number}"
        try:
            kind, argument = source_file.marker(line, place)
        except Broken as broken:
            found.setdefault("", str(broken))
            continue
        if kind == "end" and name is None:
            found.setdefault("", f"{place}: //@ end without a //@ exercise before it")
        elif kind is None and name is not None:
            found[name].body.append(line)
        if kind == "exercise" and name is not None:
            without_end()
        if kind in ("exercise", "end"):
            name = None
        if kind == "exercise" and argument in found:
            found[argument] = f"{place}: //@ exercise {argument} stands here again"
        elif kind == "exercise" and argument not in known:
            found.setdefault("", f"{place}: there is no exercise {argument}")
        elif kind == "exercise":
            name, found[argument] = argument, source_file.Region(number)
    if name is not None:
        without_end()
    return found


def region_of(exercise, path, student):
    """An exercise's region of those in the student's file, or what is wrong, a text."""
    return student.get(exercise.name) or "; ".join(filter(None, [
        f"{shown(path)} has no line //@ exercise {exercise.name}", student.get("", "")]))


# ---------------------------------------------------------------- bugs

def bug_file(exercise):
    name = f"{exercise.slug}.c"
    flat = student_folder() / name
    return flat if flat.exists() else student_folder() / "bugs" / name


def source_of(exercise):
    """The file in which a bug is planted."""
    return ROOT / exercise.source if exercise.source else REFERENCE


def plant_bug(exercise):
    """The whole file with the wrong lines in the place of the right ones."""
    where = f"exercise {exercise.number}"
    lines = read_text(source_of(exercise)).split("\n")
    heads = [i for i, line in enumerate(lines)  # but not of declarations
             if re.match(rf"[A-Za-z].*\b{re.escape(exercise.function)}\(", line)
             and re.match(r"[^;{]*\{", "\n".join(lines[i:i + 6]))]
    if len(heads) != 1:
        raise Trouble(f"{where}: no function {exercise.function} in "
                      f"{shown(source_of(exercise))}")
    end = lines.index("}", heads[0])
    right, wrong = exercise.right.split(" ⏎ "), exercise.wrong.split(" ⏎ ")
    found = [i for i in range(heads[0], end)
             if [line.strip() for line in lines[i:i + len(right)]] == right]
    if len(found) != 1:
        raise Trouble(f"{where}: the right line stands {len(found)} times in "
                      f"{exercise.function}, not once")
    i = found[0]
    indent = lines[i][:len(lines[i]) - len(lines[i].lstrip())]
    lines[i:i + len(right)] = [indent + line for line in wrong]
    return "\n".join(line for line in lines  # the markers would tell too much
                     if source_file.marker(line, where)[0]
                     not in ("exercise", "end"))


# ---------------------------------------------------------------- running

@dataclass
class Ended:
    status: int      # exit status; below 0 the number of a signal
    output: str      # both streams
    stopped: str     # why the tool stopped it, or ""


# Limits of a program, set by a shell: no core file, seconds of computing, size
# of files, address space. A limit that cannot be set is left out.
LIMITS = """limit() { (ulimit "$@") 2> /dev/null && ulimit "$@"; }
limit -c 0; limit -t "$1"; limit -f 65536; [ "$2" = 0 ] || limit -v "$2"
shift 2; exec "$@" """


def run(command, seconds, memory=MEMORY, folder=ROOT, given=""):
    """Run a program that may do anything: in a session of its own, with limits;
    `given` is a line on its standard input. In the end the session is killed."""
    with tempfile.TemporaryFile() as output:
        try:
            process = subprocess.Popen(
                ["sh", "-c", LIMITS, "sh", str(2 * seconds), str(memory)]
                + [str(word) for word in command],
                stdin=subprocess.PIPE, stdout=output, stderr=subprocess.STDOUT,
                cwd=folder, start_new_session=True,
                env=dict(os.environ, LC_ALL="C.UTF-8", OMP_NUM_THREADS="1",
                         NO_COLOR="1"))
        except OSError as error:
            raise Trouble(f"cannot run {command[0]}: {error.strerror}")
        try:
            with contextlib.suppress(BrokenPipeError):  # it has ended already
                process.stdin.write(given.encode())
                process.stdin.close()
            stopped = wait(process, seconds, output)
        finally:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        return Ended(process.returncode, kept_of(output), stopped)


def wait(process, seconds, output):
    """Wait for a program's end; or why it is to be stopped before, else ""."""
    deadline = time.monotonic() + seconds
    while True:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(0.05)
        if os.fstat(output.fileno()).st_size > MOST_OUTPUT:
            return f"stopped: it prints more than {MOST_OUTPUT >> 20} MB"
        if process.returncode is not None:
            return ""
        if STOP.is_set() or time.monotonic() > deadline:
            return f"stopped after {seconds} seconds"


def kept_of(output):
    """What a program has printed, or the beginning and the end of it."""
    size = output.seek(0, os.SEEK_END)
    output.seek(0)
    data = output.read(2 * KEPT_OUTPUT)
    if size > 2 * KEPT_OUTPUT:
        output.seek(-KEPT_OUTPUT, os.SEEK_END)
        data = data[:KEPT_OUTPUT] + b"\n... (the middle is left out) ...\n" + output.read()
    text = data.decode("utf-8", "replace").replace("\r", "\n")
    return "".join(c if c in "\n\t" or c.isprintable() else "?" for c in text)


def compiler():
    """The compiler and its first arguments."""
    words = shlex.split(SETTINGS.get("CC") or os.environ.get("CC") or "cc")
    if not shutil.which(words[0]):
        raise Trouble(f"no C compiler: install gcc (there is no {words[0]})")
    return words


def confined_compiler(made, folder):
    """The compiler as it is run on what a student wrote: it reads what belongs to it,
    what is in `made`, and, to show lines of it, what was handed in; it writes into
    this folder alone."""
    cc, *words = compiler()
    if not (made / "confined").exists():
        return [cc, *words]
    cc = shutil.which(cc)
    own = Path(os.path.realpath(cc)).parent.parent
    owns = [own] if own != Path("/") and own not in ROOT.parents else []
    return ["env", f"TMPDIR={folder}", "CCACHE_DISABLE=1", made / "confine", "compile",
            folder, made, student_folder(), student_file(), *owns, "--",
            os.path.abspath(cc), *words]


@functools.lru_cache(maxsize=None)
def outlines():
    return parts.Reference(read_text(REFERENCE))


def compile_grader(made, source, program, more=(), grader="grade.c"):
    """Compile a source with the grader, or of the source what the grader's object lacks.
    Returns the compiler's exit status and what it said, without where a file was included
    from."""
    what = ["-fwhole-program", f'-DSOURCE="{source}"', made / grader]
    if (made / OBJECT).exists() and grader == "grade.c":
        text, is_all = outlines().part_to_compile(read_text(source))
        if not (is_all or more) or not (made / grader).exists():
            part = program.with_name("part.c")
            part.write_text(text, encoding="utf-8")
            what = [*DEFINES, "-Wl,-z,muldefs", part, made / OBJECT]
    ended = run([*confined_compiler(made, program.parent), *FLAGS, *more, *what, "-o",
                 program, "-lm"], COMPILE_SECONDS, memory=4 * MEMORY)
    said = "\n".join(line for line in ended.output.splitlines() if not re.match(
        r"In file included from|\s+from \S+:\d|cc1: some warnings|"
        r"clang: warning: optimization flag", line))
    ours = re.search(rf"\n{re.escape(str(made))}/grade\.[ch]:", said)
    return (ended.status or bool(ended.stopped),  # cut what follows from errors
            said[:ours.start() if ours else None] + ended.stopped)


def reference():
    """The folder with copies of transformer.c and the grader's files, and the
    grader compiled from them; made when the files or the compiler are other ones."""
    texts = {path.name: read_text(path)
             for path in (REFERENCE, *GRADER, CONFINE, EXAM) if path.exists()}
    own = HERE / OBJECT  # where students have no more
    compiled = own.read_bytes() if own.exists() else b""
    version = run(compiler() + ["--version"], COMPILE_SECONDS).output
    key = digest(*texts.values(), read_text(__file__), str(compiler()), version,
                 str(UNCONFINED), compiled.hex())
    folder = BUILD / f"reference-{key}"
    if folder.exists():
        return folder
    BUILD.mkdir(parents=True, exist_ok=True)
    for old in BUILD.iterdir():
        if time.time() - old.stat().st_mtime > 86400:
            shutil.rmtree(old, ignore_errors=True)
    with tempfile.TemporaryDirectory(dir=BUILD) as beside:
        made = Path(beside) / "made"
        for name, text in texts.items():
            write_text(made / name, text)
        if compiled:
            (made / OBJECT).write_bytes(compiled)
        compile_reference(made)
        with contextlib.suppress(OSError):  # somebody else was faster
            made.rename(folder)
    return folder


def compile_reference(made):
    """The grader, by the confined compiler if it can be; `made` is new."""
    if sys.platform == "linux" and not UNCONFINED:  # without Landlock's header: none
        run(compiler() + ["-std=c11", "-O1", made / "confine.c", "-o",
                          made / "confine"], COMPILE_SECONDS, 4 * MEMORY)
    for mark in ["confined"] * (made / "confine").exists() + [""]:
        if mark:
            (made / mark).touch()
        if (made / "grade.c").exists():  # else the object is there
            compile_object(made)
        status, said = compile_grader(made, made / "transformer.c", made / "grade")
        if not status:
            (made / "grade").chmod(0o755)
            return
        (made / "confined").unlink(missing_ok=True)  # this compiler does not run so
    raise Trouble("the reference does not compile with grade.c:\n" + said)


def weak():
    """Lines by which a student's function takes the place of the one that is compiled, and
    no other knows what stands in it."""
    return "".join(f"#pragma weak {name}\n" for name in outlines().functions
                   if name != "main")


def compile_object(made):
    """The reference and its checks, once for all: what a student has written is linked in
    the place of ours. Where a linker does not do so, all is compiled each time."""
    write_text(made / "weak.h", weak())
    cc = [*confined_compiler(made, made), *FLAGS]
    run([*cc, "-w", "-c", "-include", made / "weak.h",
         f'-DSOURCE="{made / "transformer.c"}"', made / "grade.c", "-o", made / OBJECT],
        COMPILE_SECONDS, memory=4 * MEMORY)
    if run([*cc, "-Wl,-z,muldefs", made / OBJECT, "-o", made / "grade", "-lm"],
           COMPILE_SECONDS).status:
        (made / OBJECT).unlink(missing_ok=True)


# ---------------------------------------------------------------- usual mistakes
#
# Each wrong body of a region has been run on the cases of the check, by known.py. If a
# student's results are the same, so is the cause.

@dataclass
class Mistake:
    kind: str    # the mark at the beginning of its line
    region: str
    say: str
    body: list


def load_mistakes(exercise, body):
    """The mistakes of a region whose right body this is, written out."""
    found = []
    for line in exercise.mistakes.split("\n"):
        head = re.fullmatch(r"([=~*!]) (.*)", line)
        if head:
            found.append(Mistake(head[1], exercise.name, head[2], []))
        elif found:
            found[-1].body.append(line)
    for mistake in found:
        if mistake.body[0].startswith("{"):
            mistake.body = changed(body, mistake)
        elif "&" in mistake.body:
            place = mistake.body.index("&")
            mistake.body[place:place + 1] = body
    return found


def changed(body, mistake):
    """The reference's body with the changes {A -> B} of a mistake."""
    text = "\n".join(body)
    for change in filter(None, mistake.body):
        old, _, new = change[1:-1].partition(" -> ")
        if text.count(old) != 1:
            page = HERE / "pages" / f"{mistake.region}.md"
            line = read_text(page).split("\n").index(change) + 1
            raise Trouble(f"{shown(page)}:{line}: {change}: the lines of the region in "
                          f"transformer.c hold \"{old}\" {text.count(old)} times, not once: "
                          "change what stands before the arrow")
        text = text.replace(old, new)
    return text.split("\n")


RESULT = re.compile(r"^result (.*\n-?\d+ -?\d+)((?: [0-9a-f]{1,16})*)\n|^case\n",
                    re.M)


def read_results(path):
    """What a check has written: for each case a list of (name and shape, numbers).
    Whatever else the student's code may have written there is left out."""
    cases = [[]]
    for found in RESULT.finditer(path.read_text(errors="replace")):
        if found[1]:
            numbers = [struct.unpack(">d", bytes.fromhex(bits.zfill(16)))[0]
                       for bits in found[2].split()]
            cases[-1].append((found[1], numbers))
        else:
            cases.append([])
    return cases if cases[-1] else cases[:-1]


def are_same(x, y):
    """Two numbers, up to rounding, as grade.h has it."""
    most = max(abs(x), abs(y))
    return (x == y or (math.isnan(x) and math.isnan(y))
            or (most < math.inf and abs(x - y) <= 1e-9 + 1e-7 * most))


def same_case(ours, theirs):
    """Whether all results of a case are the same."""
    return len(ours) == len(theirs) and all(
        name == other and len(x) == len(y) and all(map(are_same, x, y))
        for (name, x), (other, y) in zip(ours, theirs))


def agreement(given, theirs):
    """How many of the first cases are the same."""
    pairs = enumerate(itertools.zip_longest(given, theirs, fillvalue=[]))
    return next((i for i, (ours, other) in pairs if not same_case(ours, other)),
                max(len(given), len(theirs)))


def rounded(x):
    text = f"{x:.8f}" if abs(x) < 0.01 else f"{x:.6e}"
    return text.replace("-0.00000000", "0.00000000").replace("-nan", "nan")


def fingerprint(cases):
    """A digest of results, which rounding leaves as it is (but once in a thousand). How
    many bytes there are depends on the machine: in WebAssembly pointers are short."""
    return hashlib.sha256("\n".join(
        " ".join([name, *map(rounded, numbers)]) if name else "case"
        for case in cases for name, numbers in [*case, ("", [])]
        if not name.startswith("bytes ")).encode()).hexdigest()


def digest_of(cases):
    return fingerprint(cases)[:6]


def sealed(data, cases):
    """Bytes that only whoever has these results can read; the same opens them."""
    pad = hashlib.shake_256(fingerprint(cases).encode()).digest(len(data))
    return bytes(x ^ y for x, y in zip(data, pad))


def wrong_bodies(exercise, text):
    """Each with `say` and `body`, of a region of `text`, which is transformer.c: those of
    its page, then the neighbors of its right body. None if it has holes."""
    region = regions(text, "transformer.c")[exercise.name]
    if is_stub(exercise.name, region):
        return []
    return [m for m in load_mistakes(exercise, region.body) if m.kind == "="] \
        + neighbors.neighbors(region.body)


def key_of(bodies):
    return digest(*("\n".join(wrong.body) for wrong in bodies))


def digest_of_code(text):
    return digest(" ".join(code_of(text, True).split()))


def if_changed():
    """What to say if transformer.c is not the one of known.txt, else ""."""
    if read_known().get("transformer.c", ["", ""])[1] == digest_of_code(read_text(REFERENCE)):
        return ""
    return ("transformer.c is changed: what is right may fail now, and what is wrong may pass. "
            "A copy to change: make break")


def read_known():
    """{name: [name, key, NUMBER:FIRST:ALL, ...]} of known.txt; of transformer.c a digest."""
    lines = read_text(KNOWN).splitlines() if KNOWN.exists() else []
    return {line.split(" ")[0]: line.split(" ") for line in lines}


FEW = 8  # so many different numbers are not the same by chance


def alike(given, right, known):
    """The numbers of those known bodies, {number: (digest, digest)}, to which the results
    of a student are the same: in all cases, or else up to the first that is wrong if
    that has more than a few different numbers. Of neighbors the likeliest alone."""
    first = agreement(given, right)
    if first >= len(given):
        return []
    wrong = {str(x) for (_, ours), (_, theirs) in zip(given[first], right[first])
             for x, y in zip(ours, theirs) if not are_same(x, y)}
    whole, begin = digest_of(given), digest_of(given[:first + 1])
    found = [k for k, digests in known.items() if digests[1] == whole]
    if not found and len(wrong) >= FEW:
        found = [k for k, digests in known.items() if digests[0] == begin]
    return found


def named(exercise, bodies, given, right):
    """What is said of results that are not right, of its wrong bodies: of the page's
    mistakes with the same all, or else of the likeliest neighbor; and whether it is the
    page's. Where there are no bodies, known.txt has it, sealed with their results."""
    _, key, *entries = read_known().get(exercise.name, ["", ""])
    if key != key_of(bodies):
        return [], False
    known = {int(k): rest for k, *rest in (entry.split(":") for entry in entries)}

    def say(k):
        if bodies:
            return bodies[k].say
        is_all = known[k][1] == digest_of(given)
        return sealed(bytes.fromhex(known[k][2 + is_all]), given if is_all else
                      given[:agreement(given, right) + 1]).decode("utf-8", "replace")

    said = list(dict.fromkeys(map(say, alike(given, right, known))))
    own = [text for text in said if not text.startswith(neighbors.SAY)]
    return own or ([] if is_constant(given, right) else said[:1]), bool(own)


def is_constant(given, right):
    """Whether a wrong result of the first wrong case is one number everywhere, which is
    too little to tell a neighbor by."""
    first = agreement(given, right)
    return any(len({*ours}) == 1 < len({*theirs}) for one, other in
               zip(given[first:first + 1], right[first:])
               for (_, ours), (_, theirs) in zip(one, other))


def usual_mistake(made, exercise, path, case):
    """What to say of a student's results, of which this case is the first wrong one:
    what is known of the numbers, or of the case; or else ""."""
    text = read_text(made / "transformer.c")
    said, is_own = named(exercise, wrong_bodies(exercise, text), read_results(path),
                         right_results(made, exercise.name, path.parent))
    mistakes = load_mistakes(exercise, regions(text, "transformer.c")[exercise.name].body)
    said = (not is_own and said_of_case("*", mistakes, case)) or said
    return ", or: ".join(said) + f" ({place(made, exercise.name)})" if said else ""


def said_of_case(kind, mistakes, case):
    """What there is to say where this case is the first wrong one, or crashes, or this
    has a wrong shape."""
    return [m.say for m in mistakes if m.kind == kind and case in m.body]


def right_results(made, name, folder):
    path = folder / "right"
    write_text(path, "")
    run([made / "grade", name, "make", path], CHECK_SECONDS, given="\n")
    return read_results(path)


def place(made, name):
    """Where the text tells of a region: its chapter, and the heading above it."""
    text = read_text(made / "transformer.c")
    line = regions(text, "transformer.c")[name].start
    chapter = [c for c in source_file.chapters(text, "transformer.c")
               if c.start < line][-1]
    headings = [m[1] for m in (re.match("// ##+ (.*)", text)
                               for text in chapter.lines[:line - chapter.start]) if m]
    return ", ".join([f"chapter {chapter.number}"]
                     + [f"“{heading}”" for heading in headings[-1:]])


# ---------------------------------------------------------------- grading

@dataclass
class Result:
    exercise: source_file.Page
    state: str        # right, wrong, todo (not written yet)
    word: str = ""    # in a line
    detail: str = ""

    @property
    def score(self):
        return self.exercise.worth if self.state == "right" else 0


SIGNALS = {signal.SIGSEGV: "it uses memory that is not there, or calls itself "
                           "for ever",
           signal.SIGBUS: "it uses memory that is not there",
           signal.SIGFPE: "division of a whole number by zero",
           signal.SIGABRT: "abort: memory was overwritten or freed twice",
           signal.SIGILL: "the end of a function without its return, or a trap",
           signal.SIGKILL: "killed: too much time or memory",
           signal.SIGXCPU: "it computes too long",
           signal.SIGXFSZ: "it writes too much into a file"}


AT_A_PLACE = list(SIGNALS)[:5]  # of the program's lines


def signal_in_words(number):
    return SIGNALS.get(number) or signal.strsignal(number) or "an unknown signal"


def judge(ended, compared):
    """State and word of a check: of the student's program that ended, and of the
    reference's that compared its results. Only the latter can say that all is
    right, and there is nothing of the student's in it."""
    if compared.status == 0 and not compared.stopped:
        return "right", compared.output.rstrip().rpartition("\n")[2]
    if ended.status == 3 and "is not written yet" in ended.output:
        return "todo", "the line exercise_todo(...) is still there: take it out"
    if compared.status == 1:
        cause = re.search(r"^looks like: (.*)", compared.output, re.M) \
            or re.search(r"^wrong: (.*)", compared.output, re.M)
        return "wrong", "wrong: " + (cause[1] if cause else "see the details")
    if compared.output.startswith("usage:"):
        raise Trouble("grade.c has no check of this exercise: add a row to its table")
    if compared.status != 4 or compared.stopped:
        raise Trouble(f"the grader itself fails: {compared.output}")
    if ended.stopped.startswith("stopped after"):
        return "wrong", ended.stopped + ": a loop without end?"
    if ended.stopped:
        return "wrong", ended.stopped
    if ended.status < 0:
        return "wrong", "crashes: " + signal_in_words(-ended.status)
    if ended.status == 1 and re.search(r"^transformer: ", ended.output, re.M):
        return "wrong", re.findall(r"^transformer: .*", ended.output, re.M)[-1]
    return "wrong", f"your code ended the program itself (status {ended.status})"


@functools.lru_cache(maxsize=None)
def confinement(made):
    """0: a student's program reaches nothing but what is its own; 1: it is confined
    in part, for the system does not offer all of it; else it is not, or the
    compiler's programs do not run so."""
    command = [made / "confine", "--", made / "grade", "list"]
    if UNCONFINED or run(command, CHECK_SECONDS).status:
        return 2
    return run([made / "confine"], CHECK_SECONDS).status


def make_results(made, program, arguments, folder, data=b"", environment=(), **limits):
    """Run a student's program, which has no environment but this, and no file but one
    with these data, WRITTEN: how it ended, and what it has written behind them."""
    command, written = [program, *arguments], folder / WRITTEN
    with open(written, "w+b") as file:
        file.write(data)
        file.flush()
        if program.parent == folder and confinement(made) < 2:
            command = [made / "confine", WRITTEN, "--"] + command
            if os.geteuid() == 0:
                with contextlib.suppress(OSError):  # there may be root alone
                    os.chown(written, NOBODY, NOBODY)
                folder.chmod(0o711)
                program.chmod(0o755)
        ended = run(["env", "-i", *environment, *command], CHECK_SECONDS, folder=folder,
                    **limits)
        return ended, file.read()  # of this file, whatever has its name by now


def run_check(made, program, name, folder):
    """Run a check with a student's program, and compare its results."""
    results, token = folder / "results", secrets.token_hex(16) + "\n"
    with watched(made) as restore:
        ended, written = make_results(made, program, [name, "make", WRITTEN], folder,
                                      given=token)
        results.write_bytes(written)
        if restore():
            return ended, Ended(1, "wrong: your code changes the grader's files", "")
        compared = run([made / "grade", name, "compare", results], CHECK_SECONDS,
                       folder=folder, given=token)
    return ended, compared


ONE_AT_A_TIME = threading.Lock()


@contextlib.contextmanager
def watched(made):
    """Where a student's program is not confined, no other runs meanwhile; and what
    it changes of the grader's files is seen, and restored, by what this gives."""
    if confinement(made) == 0:
        yield lambda: False
        return
    with ONE_AT_A_TIME:
        files = {path: path.read_bytes() for path in made.rglob("*")
                 if path.is_file()}
        yield lambda: [path for path in files if is_restored(path, files[path])]


def is_restored(path, data):
    """Whether a file had to be made what it was."""
    if path.is_file() and not path.is_symlink() and path.read_bytes() == data:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    beside.write_bytes(data)
    beside.chmod(0o755)
    os.replace(beside, path)
    return True


def find_crash(made, source, label, name, folder):
    """Where a crash is: the check once more under the address sanitizer, if the
    compiler has one."""
    if compile_grader(made, source, folder / "sanitized",
                      [*SANITIZE, f"-DCHECK={name}"])[0]:
        return ""
    said = make_results(made, folder / "sanitized", [name, "make", WRITTEN], folder,
                        memory=0, given="\n", environment=[
                            "ASAN_OPTIONS=detect_leaks=0:handle_segv=2:handle_abort=2:"
                            "handle_sigfpe=2:hard_rss_limit_mb=1024"])[0].output
    said += names_of_frames(said, folder / "sanitized")
    kind = re.search(r"ERROR: AddressSanitizer:? (.+?) on ", said)
    access = re.search(r"^(READ|WRITE) of size", said, re.M)
    place = re.search(r" in (\w+) \S*" + re.escape(label) + r":(\d+)", said)
    lines = re.findall(r"^\S*" + re.escape(label) + r":\d+:.*runtime error: .*",
                       said, re.M)[:3]
    if kind and place:
        lines.append(f"{label}:{place[2]}: {kind[1]}"
                     + (f" ({access[1].lower()})" if access else "")
                     + f" in {place[1]}")
    return "".join(f"the sanitizer says: {line}\n" for line in lines)


def names_of_frames(said, program):
    """" in FUNCTION FILE:LINE" for the places in a program that clang's sanitizer
    gives as numbers: it would start another program to name them."""
    places = re.findall(rf"\({re.escape(str(program))}\+(0x[0-9a-f]+)\)", said)[:8]
    if not places or not shutil.which("addr2line"):
        return ""
    lines = run(["addr2line", "-f", "-e", program, *places], CHECK_SECONDS).output
    return re.sub(r"(.*)\n(.*)\n", r" in \1 \2\n", lines)


# A pointer through which a line reads or writes: p[...], p->..., *p.
POINTER = re.compile(r"(?=(?<![\w.>])((?:\w+(?:\.|->))*\w+)(?:\[|->))"
                     r"|(?:^|[=(,;{&|+-])\s*\*\s*(\w+\b\(?)")


def null_pointer(said, label):
    """What to say of a null pointer that the sanitizer has found in a student's file:
    the line, and the name if only one pointer is used there; or else ""."""
    found = re.search(re.escape(label) + r":(\d+):\d+: runtime error: .*\bnull pointer",
                      said)
    if not found:
        return ""
    line = code_of(read_text(ROOT / label).split("\n")[int(found[1]) - 1], True).strip()
    names = {m[1] or m[2] for m in POINTER.finditer(line)}
    name = names.pop() if len(names) == 1 else "("
    what = "a null pointer is used" if name.endswith("(") else f"{name} is a null pointer"
    return f"{what}, in line {found[1]}: {line}"


def open_braces(text):
    """A word on braces that do not match, which compilers notice far too late."""
    def balance(code):
        return code.count("{") - code.count("}")

    extra = balance(text) - balance(read_text(REFERENCE))
    if extra == 0:
        return ""
    return ("the braces { } of what you wrote do not match: "
            f"there are {abs(extra)} too many {'{' if extra > 0 else '}'}\n")


def likely_cause(made, exercise, folder, word, compared, said):
    """The word of a check that is wrong, or a better one: that of a usual mistake,
    whose guesses are then taken out, or of what the compiler said."""
    case = re.search("^case: ([^;\n]*)", compared.output, re.M)
    early = re.match(r"crashes: |transformer: (.*) is \(", word)
    if early and case:
        return "; ".join([word] + said_of_case("!", load_mistakes(
            exercise, reference_regions()[exercise.name].body), early[1] or case[1]))
    if compared.status == 1 and case:
        usual = usual_mistake(made, exercise, folder / "results", case[1])
        untouched = re.search("^looks like: .*(never written|unchanged)", compared.output,
                              re.M)  # many neighbors do nothing
        if usual and not (untouched and usual.startswith(neighbors.SAY)):
            compared.output = re.sub("^looks like: .*\n", "", compared.output,
                                     flags=re.M)
            return f"wrong: {usual}"
    if "[-Wreturn-type]" in said:
        return "wrong: not every way through the function ends with a return"
    return word


def grade_source(exercise, text, label, names, made):
    """Compile a text with grade.c and run checks, up to the first that fails."""
    with tempfile.TemporaryDirectory(dir=BUILD, prefix=f"run-{os.getpid()}-") as folder:
        folder = Path(folder)
        if text is None:  # the reference itself
            program, said = made / "grade", ""
        else:
            source, program = folder / "source.c", folder / "grade"
            source.write_bytes(text.encode("utf-8"))
            status, said = compile_grader(made, source, program)
            if status:
                return Result(exercise, "wrong", "does not compile",
                              open_braces(text) + said)
            said = "\n".join(re.findall(
                rf"^{re.escape(label)}:.*warning:.*|.*\[-Wreturn-type\]", said, re.M))
        word = ""
        for name in names:
            ended, compared = run_check(made, program, name, folder)
            state, word = judge(ended, compared)
            if state != "right":
                if exercise.kind == "write" and state == "wrong":
                    word = likely_cause(made, exercise, folder, word, compared, said)
                told = {word, word.replace("wrong: ", "looks like: ", 1)}
                lines = (ended.output.rstrip("\n").split("\n")
                         + compared.output.split("\n"))
                detail = "".join(line + "\n" for line in lines
                                 if line and line not in told)
                if -ended.status in AT_A_PLACE and not ended.stopped and text is not None:
                    detail += find_crash(made, source, label, name, folder)
                    null = null_pointer(detail, label)
                    if null:
                        word = "; ".join([f"crashes: {null}"] + word.split("; ")[1:])
                if said:
                    detail += f"the compiler says:\n{said}\n"
                return Result(exercise, state, word, detail)
        return Result(exercise, "right", "", word)


# What has no place in an exercise: what reaches out of its function, or of the
# language; names that are the compiler's or the library's own; processes; files.
OUTSIDE = re.compile(r"""
    \# | %: | <% | %> | <: | :> | \[\s*\[ | \\ |
    \b(?:(?!_Exit\b|_(?:Alignas|Alignof|Atomic|Bool|Complex|Generic|Noreturn|
            Static_assert|Thread_local)\b|__func__\b|__LINE__\b)_[_A-Z]\w* |
        asm | PRAGMA |
        v?fork | clone3? | system | popen | posix_spawnp? | f?exec[lv]p?e? | execveat |
        wordexp | syscall | dlm?open | dlv?sym | getppid | (?:t|tg|pthread_)?kill |
        killpg | sigqueue | ptrace | daemon | setsid | setpg(?:id|rp) | socket |
        f(?:re|d)?open(?:64)? | open(?:at)?(?:64)?(?=\)?\s*\() | openat | creat(?:64)? |
        remove | rename(?:at2?)? | unlink(?:at)? | rmdir | (?:sym)?link(?:at)? |
        f?truncate(?:64)? | [fl]?ch(?:mod|own)(?:at)? | ch(?:dir|root) | fchdir |
        tmpfile(?:64)? | mk(?:d|s|os)temps? | mkdir(?:at)? | mkfifo(?:at)? |
        mknod(?:at)? | f?utim\w+)\b""", re.X)
# What makes a compiler see other lines than source_file.NOT_CODE does: trigraphs and
# lines that go on. Whatever else can be read in two ways is refused, too; then the
# reader needs no compiler, whose tokens come after macros have been replaced.
OTHER_LINES = re.compile(r"\?\?[=/'()!<>-]|\\\s*$|[\0-\x08\x0b-\x1f\x7f]|"
                         r"^\s*#.*/\*(?!.*\*/)")
OPEN = re.compile(rf"{source_file.NOT_CODE.pattern}|(?P<open>[\"']|/\*)", re.S)


def code_of(text, with_strings=False):
    """A text without comments, line for line; without strings they become 0."""
    return source_file.NOT_CODE.sub(
        lambda m: m[1] if m[1] and with_strings
        else "0 "[not m[1]] + "\n" * m[0].count("\n"), text)


def left_open(text):
    """(line counted from 0, what is wrong) of the first quotation mark or comment that
    has no end, behind which compilers read other tokens than we do; or None."""
    for found in OPEN.finditer(text):
        if found["open"]:
            return text.count("\n", 0, found.start()), (
                "a comment has no end" if found["open"] == "/*" else
                f"a quotation mark stays open: {found['open']}")
    return None


def outside(raw, code):
    """What in a line is not allowed, or ""."""
    odd = OTHER_LINES.search(raw) or OUTSIDE.search(code)
    if not odd:
        return ""
    what = odd[0].strip()
    return what if what.isprintable() and what else "a control character"


def refusal(region, label):
    """Why a region may not be compiled: it would reach out of its function."""
    depth, text = 0, "\n".join(region.body)
    if left_open(text):
        line, what = left_open(text)
        return f"{label}:{region.start + 1 + line}: {what}"
    code = code_of(text).split("\n")
    for number, (raw, line) in enumerate(zip(region.body, code), region.start + 1):
        odd = outside(raw, line)
        if odd:
            return f"{label}:{number}: {odd} is not allowed in an exercise"
        for brace in re.findall("[{}]", line):
            depth += 1 if brace == "{" else -1
            if depth < 0:
                return (f"{label}:{number}: the braces {{ }} do not match: this }} "
                        "ends the function")
    return ""


FUNCTION = re.compile(r"\b(?!else\b|return\b)\w+[\s*]+(?!(?:if|for|while|switch)\b)(\w+)"
                      r"\s*\([^;{}()]*\)\s*\{")


def function_inside(code):
    """What to say of a function within a region, which compilers may let pass unused."""
    found = FUNCTION.search(code)
    return found and (f"{found[1]} is a function of its own here: write what stands "
                      "between its braces, without its head")


NAME = r"((?:\w+(?:\.|->))*([A-Za-z_]\w*))(?![\w.(\[]|\s*->)"
FIRST = r"(?:return|[^\s\w.)*/](?<![eE][-+]))\s*"  # then no cast, nor a later factor
RECIPROCAL = re.compile(FIRST + r"1\s*/\s*" + NAME)
QUOTIENT = re.compile(FIRST + r"(?=[1-9])(\d+)\s*/\s*(\d+)(?![\w.])")
CUT = re.compile(r"\((?:int|long)\)\s*" + NAME)
UNSET = re.compile(r":(\d+):\d+: warning: (?:variable )?['‘](\w+)['’] .*uninitialized\]")


def of_own_lines(code, function, result):
    """What to say of a division of whole numbers, of a fraction in an int, or of what is
    used without a value, or "": their numbers are those of whoever has left something out."""
    for what, name in RECIPROCAL.findall(code):
        if name in ("rows", "cols") or re.search(rf"\bint\b[^;(){{}}]*\b{name}\b", function):
            return (f"1 / {what} is a division of whole numbers, and 0 if {what} is more "
                    f"than 1: write 1.0 / {what}")
    for a, b in QUOTIENT.findall(code):
        if int(b) and int(a) % int(b):
            return (f"{a} / {b} is a division of whole numbers, and {int(a) // int(b)}: write "
                    f"{a}.0 / {b}")
    for what, name in CUT.findall(code):
        if name == "rate" or re.search(rf"\b(?:real|double)\s+(?:\w+,\s*)*{name}\b", function):
            return f"an int loses the fraction of {what}: leave the (int) out"
    lost = re.search(r":(\d+):\d+: warning: .* to ['‘](?:int|long|char)\b.*"
                     r"\[-Wfloat-conversion\]", result.detail)
    if lost:
        return f"an int loses its fraction in line {lost[1]}: it must be a real"
    unset = "(chapter " not in result.word and UNSET.search(result.detail)
    return f"{unset[2]} may have no value yet, in line {unset[1]}" if unset else ""


def refused_name(exercise, code):
    """What to say of a name that the page refuses, but not for a number that the code
    declares itself."""
    names, _, why = exercise.refuse.partition(" -> ")
    return next((f'wrong: "{name}": {why}' for name in names.split()
                 if re.search(rf"\b{name}\b", code) and not re.search(
                     r"\b(?:real|double|float|int|long|size_t|int64_t)\s+"
                     rf"(?:[^;()]*,\s*)?{name}\s*[=;,\[]", code)), "")


def grade_write(exercise, student, path, made):
    label = shown(path).replace("\\", "\\\\").replace('"', '\\"')
    region = region_of(exercise, path, student)
    if isinstance(region, str):
        return Result(exercise, "wrong", region)
    if is_stub(exercise.name, region):
        return Result(exercise, "todo", f"not written yet: replace the line "
                      f'exercise_todo("{exercise.name}");')
    code = code_of("\n".join(region.body))
    why_not = refusal(region, label) or function_inside(code) or refused_name(exercise, code)
    if why_not:
        return Result(exercise, "wrong", why_not)
    result = grade_body(exercise, region, label, made)
    if result.state == "wrong" and result.word.startswith("wrong: "):
        lines, ours = read_text(REFERENCE).split("\n"), reference_regions()[exercise.name]
        first, _ = around(lines, ours)
        better = of_own_lines(code, "\n".join(lines[first:ours.start]) + code, result)
        if better and " int" not in result.word:
            result.detail = f"{result.word}\n{result.detail}"
            result.word = f"wrong: {better}"
    if result.state == "right":
        remember_passed(exercise, region.code())
    elif result.word == "does not compile":
        others = replace_region(handed_in(path), region, [])
        result.word += elsewhere(result.detail, others)
    return result


def grade_body(exercise, region, label, made):
    """The verdict on a body that is not refused."""
    text = read_text(made / "transformer.c")
    ours = regions(text, "transformer.c")[exercise.name]
    if region.body == ours.body:
        text = None
    else:
        checked, unchecked = check_shapes(region.code())
        text = in_its_function(text, exercise.name, ours, region, label, checked,
                               unchecked)
        text = with_preamble(text, ['#line NEXT "transformer.c"'])
    return grade_source(exercise, text, label, [exercise.name], made)


def in_its_function(text, name, ours, region, label, before, behind):
    """The reference with the student's region, between lines of ours. In all of its
    function the compiler gives the student's file and its lines."""
    lines = text.split("\n")
    first, end = around(lines, ours)
    return "\n".join([
        *lines[:first],
        f'#line {first + 1 + region.start - ours.start} "{label}"',
        *lines[first:ours.start], *before, "{",
        f'#line {region.start + 1} "{label}"', *region.body,
        f"    //@ end of {name}", "}", *behind,
        f'#line {region.end} "{label}"', *lines[ours.end - 1:end],
        f'#line {end + 1} "transformer.c"', *lines[end:]])


def elsewhere(said, others):
    """A word on a name that the compiler does not know where it is used, but which
    stands somewhere else; `others` is the student's file without the region."""
    ours = set(read_text(REFERENCE).split("\n"))
    own = [line for line in others.split("\n") if line not in ours]
    for name in re.findall(r"(?:implicit declaration of function|undeclared function|"
                           r"undeclared identifier) ['‘](\w+)|"
                           r"['‘](\w+)['’] undeclared", said):
        name = name[0] or name[1]
        if re.search(rf"^(?!//)\S.*\b{name}\b", "\n".join(own), re.M):
            return (f": {name} stands outside of the region, and only what is between "
                    "its markers is taken")
        if re.search(rf"^[A-Za-z].*\b{name}\(", read_text(REFERENCE), re.M):
            return f": {name} stands further down in transformer.c"
    return ""


PRODUCT = ("void watched_product(const char *, int, void (*)(Mat, Mat, Mat), Mat, "
           "Mat, Mat);", 'watched_product("NAME", __LINE__, NAME, __VA_ARGS__)')
CHECKED = {
    "matmul_add": PRODUCT, "small_matmul": PRODUCT, "small_matmul_add": PRODUCT,
    "matmul_from": ("void watched_matmul_from(int, Mat, Mat, Mat, Mat);",
                    "watched_matmul_from(__LINE__, __VA_ARGS__)"),
    "linear_backward": ("void watched_linear_backward(int, Mat, Linear *, Mat, Mat, "
                        "const Linear *);",
                        "watched_linear_backward(__LINE__, __VA_ARGS__)")}


def check_shapes(code):
    """Lines before and behind a region with which grade.c sees the shapes that the
    helpers called in it are given."""
    used = [name for name in CHECKED if re.search(rf"\b{name}\(", code)]
    before = []
    for name in used:
        declaration, call = CHECKED[name]
        before += [declaration,
                   f"#define {name}(...) " + call.replace("NAME", name)]
    return before, [f"#undef {name}" for name in used]


@functools.lru_cache(maxsize=8)
def statements(text):
    """[(first line, last line, code)] of all that ends with ; { or }, and of lines that
    begin with #. Where a line breaks, and what stands between tokens, is of no matter."""
    found, words, start = [], [], 0

    def end(number):
        if words:
            found.append((start, number, " ".join(words)))
            words.clear()

    for number, line in enumerate(code_of(text, True).split("\n"), 1):
        directive = line.lstrip().startswith("#")
        if directive:
            end(number)
        for token in neighbors.tokens(line):
            start = start if words else number
            words.append(token.text)
            if token.text in (";", "{", "}") and not directive:
                end(number)
        if directive:
            end(number)
    end(number)
    return found


def codes(text):
    return [code for *_, code in statements(text)]


def changed_lines(text, source):
    """How many statements are not as in a source, and the numbers of the lines of
    those that are the student's."""
    ours, theirs, count, numbers = codes(source), statements(text), 0, set()
    for what, i, j, k, l in difflib.SequenceMatcher(
            None, ours, codes(text)).get_opcodes():
        if what != "equal":
            count += max(j - i, l - k)
            numbers.update(n for first, last, _ in theirs[k:l]
                           for n in range(first, last + 1))
    return count, numbers


def refusal_of_bug(text, label, source):
    """Why a file with a bug is no answer; and whether it is the code of its source."""
    if left_open(text):
        line, what = left_open(text)
        return f"{label}:{line + 1}: {what}", False
    count, changed = changed_lines(text, source)
    if count > FEW_LINES:
        return (f"{count} statements are not as you were given them; a mistake is "
                f"fixed by one or two, and {FEW_LINES} may differ"), False
    lines, code = text.split("\n"), code_of(text).split("\n")
    known = {" ".join(line.split()) for line in source.split("\n")}
    for number, raw in enumerate(lines, 1):
        odd = outside("" if " ".join(raw.split()) in known else raw,
                      code[number - 1] if number in changed else "")
        if odd:
            return f"{label}:{number}: {odd} is not allowed in an exercise", False
    return "", not count


SMALL = ["-O1", "-w", "-DWIDTH=16", "-DHEADS=2", "-DLAYERS=2"]  # of a bug's `source:`
PAIRS, STEPS = 200, "40"


def grade_program(exercise, text, made):
    """Whether a program prints what its source prints, of pairs drawn by chance, so that
    nobody knows it before."""
    with tempfile.TemporaryDirectory(dir=BUILD, prefix=f"run-{os.getpid()}-") as folder:
        folder = Path(folder)
        source, program = folder / "source.c", folder / "program"
        pairs = read_text(ROOT / exercise.data).splitlines(keepends=True)
        drawn = "".join(secrets.SystemRandom().sample(pairs, PAIRS)).encode()
        source.write_bytes(text.encode("utf-8"))
        ended = run([*confined_compiler(made, folder), *STRICT, *SMALL, source, "-o", program,
                     "-lm"], COMPILE_SECONDS, 4 * MEMORY)
        if ended.status or ended.stopped:
            return Result(exercise, "wrong", "does not compile", ended.output + ended.stopped)
        right, _ = make_results(made, program_of(made, source_of(exercise), *SMALL),
                                [WRITTEN, STEPS], folder, drawn)
        with watched(made) as restore:
            ended, _ = make_results(made, program, [WRITTEN, STEPS], folder, drawn)
            if restore():
                return Result(exercise, "wrong", "wrong: your code changes the grader's files")
    ours, given = next(filter(lambda lines: lines[0] != lines[1], itertools.zip_longest(
        right.output.splitlines(), ended.output.splitlines(), fillvalue="")), ("", ""))
    if ours == given:
        return Result(exercise, "right", "", f"right: after {STEPS} steps the same bits")
    if ended.status < 0 or ended.stopped:
        return Result(exercise, "wrong", ended.stopped or "crashes: "
                      + signal_in_words(-ended.status))
    if ours.startswith("checksum"):
        return Result(exercise, "wrong", "wrong: the losses are right, but not every bit of "
                      "the parameters: another order of a sum?")
    return Result(exercise, "wrong", f'wrong: it prints "{given}" where {exercise.source} '
                  f'prints "{ours}"')


def check_bug(exercise, text, made):
    """The verdict on a bug's file, with all checks."""
    if exercise.source:
        return grade_program(exercise, text, made)
    names = exercise.checks.replace(",", " ").split()
    every = list(reference_regions())
    if not set(names) <= set(every):
        raise Trouble(f"exercise {exercise.number}: grade.c has no check {names[0]}")
    names += [name for name in every if name not in names]
    result = grade_source(exercise, text, shown(bug_file(exercise)), names, made)
    if result.state == "right":
        result.detail = f"right: {len(names)} checks"
    return result


def grade_bug(exercise, student, path, made):
    path = bug_file(exercise)
    if not path.exists():
        return Result(exercise, "todo",
                      f"not begun: make exercise N={exercise.number}")
    label, text, source = shown(path), handed_in(path), source_of(exercise)
    why_not, is_reference = refusal_of_bug(text, label, read_text(source))
    if why_not:
        return Result(exercise, "wrong", why_not)
    result = Result(exercise, "right", "", f"right: the code of {shown(source)}") \
        if is_reference else check_bug(exercise, f'#line 1 "{label}"\n{text}', made)
    if codes(text) == codes(plant_bug(exercise)):
        return Result(exercise, "todo", "nothing changed yet",
                      f"{result.word}\n{result.detail}")
    if result.state == "right":
        remember_passed(exercise, digest(text))
    return result


def own_number(student):
    """What a student's own numbers are larger by."""
    return 1 + int(digest(student), 16) % 9999


def has_own(exercise):
    """Whether its numbers are STUDENT's own."""
    return exercise.own and SETTINGS.get("STUDENT")


def own_text(exercise):
    """The page's text, with STUDENT's numbers in it."""
    text = exercise.text
    for phrase in exercise.own.split("; ") if has_own(exercise) else ():
        head, number = re.fullmatch(r"(.*?)(\d[\d,]*)", phrase).groups()
        own = int(number.replace(",", "")) + own_number(SETTINGS["STUDENT"])
        if phrase not in text:
            raise Trouble(f"{exercise.name}.md: its text does not hold {phrase}")
        text = text.replace(phrase, head + (f"{own:,}" if "," in number else str(own)))
    return text


NUMBERS = ["-Og", "-DTRANSFORMER_DOUBLE"]


@functools.lru_cache(maxsize=None)
def own_answers(number):
    """{name: value} of the pages whose numbers are STUDENT's own, by numbers.c."""
    program = program_of(reference(), HERE / "numbers.c", *NUMBERS)
    ended = run([program, number], COMPILE_SECONDS)
    return {name: float(value) for name, value in re.findall(r"(\w+) = (\S+)", ended.output)}


def wanted_answers(exercise):
    """{name: (value, tolerance)} of a page with numbers."""
    answers = {}
    for part in exercise.answers.split(";"):
        name, _, value = part.partition("=")
        value, _, tolerance = value.partition("±")
        try:
            answers[name.strip()] = float(value), float(tolerance or 0)
        except ValueError:
            raise Trouble(f"exercise {exercise.number}: a wrong answer: {part}")
    if has_own(exercise):
        own = own_answers(own_number(SETTINGS["STUDENT"]))
        return {name: (own[name], tolerance) for name, (_, tolerance) in answers.items()}
    return answers


def all_answers():
    """The names of the answers to all pages with numbers."""
    return {name for e in load_exercises() if e.kind == "number"
            for name in wanted_answers(e)}


def given_answers():
    """{name: number} of the student's answers.txt, and [(name, what is wrong)]."""
    path, given, first, broken = student_folder() / "answers.txt", {}, {}, []
    if not path.exists():
        return given, broken
    for number, line in enumerate(handed_in(path).split("\n"), 1):
        name, equals, value = line.partition("#")[0].partition("=")
        name, value, place = name.strip(), value.strip(), f"{shown(path)}:{number}"
        what = ""
        if not name + equals or (equals and not value):
            continue
        if not equals or not re.fullmatch(r"\w+", name):
            what, name = "expected: name = value", (name.split() or [""])[0]
        elif name in given:
            what = f"{name} stands here again; the first is in line {first[name]}"
        elif not re.fullmatch(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", value):
            what = f"\"{value}\" is not a number like 1234 or 0.5"
        else:
            given[name], first[name] = float(value), number
        if what:
            broken.append((name, f"{place}: {what}"))
    return given, broken


def how_far(given, value):
    """How far off an answer is, without giving the right one away."""
    if value == 0 or given * value <= 0:
        return "too large" if given > value else "too small"
    factor = max(abs(given / value), abs(value / given))
    far = next((text for most, text in [(1.01, "by less than 1 %"),
                                        (1.1, "by less than 10 %"),
                                        (2, "by less than a factor of 2"),
                                        (10, "by a factor of 2 to 10")]
                if factor < most), "by more than a factor of 10")
    return ("too large, " if given > value else "too small, ") + far


def known_mistake(exercise, name, number):
    """What a wrong answer is, if the page knows, and whether that is said of any."""
    for part in filter(None, exercise.mistakes.split("\n")):
        answer, _, say = part.partition(" -> ")
        its_name, relation, value = answer.split(" ")
        if name == its_name and (value == "*" or (
                abs(number) < float(value) if relation == "<"
                else math.isclose(number, float(value), rel_tol=1e-4))):
            return say, value == "*" or relation == "<"
    return "", False


FREE_TRIES = 3  # so many wrong numbers, and then it is said how far off they are


def wrong_number(exercise, name, number, value):
    """What to say of a wrong answer. How far off it is would lead to the right one by
    halving: only whoever made a known mistake, or has tried before, is told, and nobody
    who is given marks."""
    if SETTINGS.get("STUDENT"):
        return "wrong"
    say, of_any = known_mistake(exercise, name, number)
    tried = notes("tries").get(name, "").split()
    if repr(number) not in tried and len(tried) < FREE_TRIES:
        tried.append(repr(number))
        remember_quietly("tries", name, " ".join(tried))
    if of_any:
        return say
    far = how_far(number, value) if say or len(tried) == FREE_TRIES else "wrong"
    return f"{far}: {say}" if say else far


def grade_number(exercise, student, path, made):
    wanted, (given, broken) = wanted_answers(exercise), given_answers()
    missing = [name for name in wanted if name not in given]
    others = all_answers() - wanted.keys() if broken and missing else set()
    said = [what for name, what in broken  # of this page, or of none
            if name in wanted or (missing and name not in others)]
    if len(missing) == len(wanted) and not said:
        return Result(exercise, "todo", "no answer yet")
    said += [f"{name}: {wrong_number(exercise, name, given[name], value)}"
             for name, (value, tolerance) in wanted.items() if name in given
             and not math.isclose(given[name], value, rel_tol=1e-12,
                                  abs_tol=tolerance)]
    said += [f"{name}: no answer yet" for name in missing]
    if said:
        return Result(exercise, "wrong", said[0], "\n".join(said[1:]))
    remember_passed(exercise, "")
    return Result(exercise, "right", "", ", ".join(wanted) + ": right")


def given_options(exercise, path):
    """The options for `transformer train` that a student wrote into a file."""
    allowed, words = exercise.options.replace(",", " ").split(), []
    for number, line in enumerate(handed_in(path).split("\n"), 1):
        place = f"{shown(path)}:{number}"
        try:
            words += [(place, word) for word in shlex.split(line, comments=True)]
        except ValueError:
            raise Trouble(f"{place}: a quotation mark is not closed")
    for k, (place, word) in enumerate(words):
        is_option = word.startswith("--")
        if is_option and word not in allowed:
            raise Trouble(f"{place}: {word} may not be set here; these may: "
                          + " ".join(allowed))
        if word == "--from" and word in [w for _, w in words[:k]]:
            raise Trouble(f"{place}: --from stands here again: there are two "
                          "trainings, on the text and on the pairs")
        if not is_option and (k == 0 or not words[k - 1][1].startswith("--")):
            raise Trouble(f"{place}: what is \"{word}\"? Options begin with --")
        if not is_option and words[k - 1][1] == "--from":
            raise Trouble(f"{place}: --from stands alone: the model is the one that "
                          "the text has trained")
    return [word for _, word in words]


def program_of(made, source, *flags):
    """A program of ours, compiled where it is not there yet, or is another one."""
    files = [source, *sorted(ROOT.glob("notebook/lib/*.h"))]  # which numbers.c includes
    program = made / f"{source.stem}-{digest(*flags, *map(read_text, files))}"
    if not program.exists():
        beside = made / f"{source.stem}.{os.getpid()}"
        ended = run([*compiler(), *STRICT, *flags, source, "-o", beside, "-lm"],
                    COMPILE_SECONDS, memory=0)
        if ended.status or ended.stopped:
            raise Trouble(f"{source.name} does not compile:\n{ended.output}")
        beside.rename(program)
    return program


def trainings_of(exercise, options, training, folder, seed):
    """The commands that train the model, the last of which is the one to evaluate,
    without the program's name. Without a seed, it is the student's."""
    model = Path(folder) / "model.safetensors"
    on_data = ["train", training, "--model", model] + exercise.fixed.split()
    on_data += ["--seed", seed] if seed else []
    if "--from" not in options:
        return [on_data + options]
    place, text = options.index("--from"), exercise.before.split()
    before = Path(folder) / "text.safetensors"
    return [["train", ROOT / text[0], "--model", before] + text[1:] + options[:place],
            on_data + options[place:place + 1] + [before] + options[place + 1:]]


def known_options(exercise, options):
    """What is wrong with options that do not reach the goal, if the page knows."""
    for part in filter(None, exercise.mistakes.split("\n")):
        pattern, _, say = part.partition(" -> ")
        if re.search(pattern, " ".join(options)):
            return f": {say}"
    return ""


def grade_train(exercise, student, path, made):
    path = student_folder() / exercise.file
    if not path.exists() or not given_options(exercise, path):
        return Result(exercise, "todo", f"no options in {shown(path)} yet")
    options = given_options(exercise, path)
    data, _, count = exercise.data.partition(" ")
    key, relation, goal = exercise.goal.split()
    seconds, reached = int(exercise.seconds), []
    program = program_of(made, made / "transformer.c")
    with tempfile.TemporaryDirectory(dir=BUILD, prefix=f"run-{os.getpid()}-") as folder:
        lines = read_text(ROOT / data).splitlines(keepends=True)
        training = Path(folder) / "train.tsv"
        write_text(training, "".join(lines[:int(count or len(lines))]))
        model = Path(folder) / "model.safetensors"
        begin = time.monotonic()
        for seed in exercise.seeds.split() or [None]:
            for command in trainings_of(exercise, options, training, folder, seed):
                ended = run([program] + command, seconds, 4 * MEMORY, folder)
                if ended.stopped.startswith("stopped after"):
                    return Result(exercise, "wrong", f"the training takes longer than "
                                  f"{seconds} seconds", ended.output)
                if ended.status:
                    return Result(exercise, "wrong", "the training fails", ended.output)
            size = run([program, "info", model], seconds, 4 * MEMORY, folder)
            test = ROOT / exercise.test if exercise.test else training
            ended = run([program, "evaluate", model, test, "--threads", "1"],
                        seconds, 4 * MEMORY, folder)
            value = re.search(rf"^{key} (\S+)$", ended.output, re.M)
            has = re.search(r"^parameters +([\d,]+)$", size.output, re.M)
            if ended.status or not value or size.status or not has:
                return Result(exercise, "wrong", "the model cannot be evaluated",
                              size.output + ended.output)
            reached.append(value[1])
        took = time.monotonic() - begin
    right = all(float(value) < float(goal) if relation == "<"
                else float(value) >= float(goal) for value in reached)
    word = f"{key} {' and '.join(reached)} (goal: {relation} {goal}), trained in " \
           f"{took:.0f} s"
    if exercise.most:
        right = right and int(has[1].replace(",", "")) <= int(exercise.most)
        word += f", {has[1]} parameters (at most {int(exercise.most):,})"
    if not right:
        return Result(exercise, "wrong", word + known_options(exercise, options),
                      ended.output)
    remember_passed(exercise, " ".join(options))
    return Result(exercise, "right", "", word)


GRADE = {"write": grade_write, "bug": grade_bug, "number": grade_number,
         "train": grade_train}


def remember_quietly(kind, name, value):
    with contextlib.suppress(Trouble):  # a folder that cannot be written to is graded
        remember(kind, name, value)     # all the same


def remember_passed(exercise, what):
    remember_quietly("passed", exercise.name, digest(what))


def grade_one(exercise, student, path, made):
    """Whatever breaks here costs this exercise alone."""
    try:
        return GRADE[exercise.kind](exercise, student, path, made)
    except Broken as trouble:
        return Result(exercise, "wrong", str(trouble))
    except Exception as trouble:
        return Result(exercise, "wrong", f"the grader fails: {trouble!r}")


def grade_all(chosen):
    """Grade exercises, several at a time; gives the results in order."""
    path, student = student_file(), {}
    if any(exercise.kind == "write" for exercise in chosen):
        try:
            student = student_regions(path)
        except Broken as trouble:  # what is in other files counts all the same
            student = {exercise.name: str(trouble) for exercise in chosen}
            if all(exercise.kind == "write" for exercise in chosen):
                raise
    made = reference()
    jobs = ThreadPoolExecutor(max(1, min(4, os.cpu_count() or 1)))
    results = [jobs.submit(grade_one, e, student, path, made) for e in chosen]
    try:
        for result in results:
            yield result.result()
    except BaseException:
        STOP.set()  # running programs are stopped
        for result in results:
            result.cancel()
        raise
    finally:
        jobs.shutdown()


def excerpt(text, most=60):
    lines = text.strip("\n").split("\n")
    if len(lines) > most:
        lines = lines[:most // 2] + ["..."] + lines[-most // 2:]
    return "".join(f"      {line[:300]}\n" for line in lines if line)


def print_result(result, in_detail):
    e = result.exercise
    mark = {"right": "ok  ", "wrong": "FAIL", "todo": "todo"}[result.state]
    print(f"{mark} {e.number:2} {e.name:<28} {result.score:2}/{e.worth:<2} "
          f"{result.word}".rstrip())
    if in_detail:
        print(excerpt(result.detail), end="")
        if result.state == "wrong" and e.hints:
            print(f"      a hint: make hint N={e.number}")
        elif result.state == "todo":
            print(f"      the task: make exercise N={e.number}")
    sys.stdout.flush()


def check_json(path):
    """JSON=FILE may name a new file, or one with the results of a grading."""
    if writable(path).suffix != ".json":
        raise Trouble(f"JSON={path} does not end in .json, as in JSON=results.json")
    text = read_text(path) if os.path.exists(path) else ""
    try:
        whole = not text or "tests" in dict(json.loads(text))
    except (ValueError, TypeError, RecursionError):
        whole = False
    if not whole:
        raise Trouble(f"JSON={path} has no results in it: it is not replaced")


def from_reference():
    """For staff: how much of what is written is the reference, but for blanks and
    comments."""
    try:
        student, ours = student_regions(student_file()), reference_regions()
    except Broken as trouble:
        return str(trouble)
    written = [name for name, region in student.items() if not isinstance(region, str)
               and not is_stub(name, region)]
    if any(is_stub(name, ours[name]) for name in written):
        return "what is the reference's cannot be seen here"
    same = sum(student[name].code() == ours[name].code() for name in written)
    return f"{same} of {len(written)} regions are the reference's"


def write_json(path, results, message):
    """Gradescope's results.json. What is hidden there is for staff alone."""
    tests = [{"name": f"{r.exercise.number} {r.exercise.name}: {r.exercise.title}",
              "number": str(r.exercise.number), "score": r.score,
              "max_score": r.exercise.worth,
              "status": "passed" if r.state == "right" else "failed",
              "output": "\n".join(filter(None, [r.word, r.detail.rstrip()])),
              "visibility": "visible"} for r in results]
    tests.append({"name": "for staff", "number": "", "score": 0, "max_score": 0,
                  "status": "passed", "output": from_reference(), "visibility": "hidden"})
    write_text(path, json.dumps({"output": message, "output_format": "text",
                                 "tests": tests}, indent=1, ensure_ascii=False)
               + "\n")


# ---------------------------------------------------------------- commands

def chosen_exercises(exercises):
    """Those of N; without it all, or with SRC those that SRC can hold."""
    if SETTINGS.get("N"):
        return choose(exercises, SETTINGS["N"])
    return [e for e in exercises if e.kind == "write" or not SETTINGS.get("SRC")]


def grade(exercises):
    chosen = chosen_exercises(exercises)
    results, message, failed, changed = [], "", False, if_changed()
    if changed:
        print(changed)
    try:
        for result in grade_all(chosen):
            results.append(result)
            failing = result.state == "wrong" and not failed
            failed = failed or failing
            print_result(result, failing or len(chosen) == 1)
        points = sum(r.score for r in results)
        total = sum(e.worth for e in chosen)
        full = points == total
        print(f"score: {points}/{total}")
        message = "\n".join(filter(None, [f"score: {points}/{total}", changed]))
        return 0 if full else 1
    except Broken as trouble:
        message = str(trouble)
        results += [Result(e, "wrong", message) for e in chosen[len(results):]]
        raise
    finally:
        if SETTINGS.get("JSON") and message:
            write_json(SETTINGS["JSON"], results, message)


ANSWERS = """# Answers to the exercises with numbers, a line each: name = value
# `make exercise N={first}` shows the first of them.
"""


def make_exercises(exercises):
    folder, kept = student_folder(), False
    numbers = [e for e in exercises if e.kind == "number"]
    answers = "".join(f"\n# exercise {e.number}: {e.title}\n"
                      + "".join(f"{name} =\n" for name in wanted_answers(e))
                      for e in numbers)
    if numbers:
        answers = ANSWERS.format(first=numbers[0].number) + answers
    written = notes("written")
    for name, text in [("transformer.c", make_stub()), ("answers.txt", answers)]:
        if not text:
            continue
        path = folder / name
        if path.exists() and path.is_file():
            old = read_text(path)
            if old != text and digest(old) != written.get(name):
                if not SETTINGS.get("FORCE"):
                    kept = kept or name == "transformer.c"
                    print(f"{shown(path)} has been changed: it is kept. FORCE=1 "
                          "begins anew")
                    continue
                back_up(path)
        write_text(path, text)
        remember("written", name, digest(text))
        print(f"{shown(path)} is written")
    return 1 if kept else 0


def state_of(exercise, student):
    """A word for the list of exercises."""
    passed = notes("passed").get(exercise.name)
    if exercise.kind == "write" and exercise.name in student:
        if isinstance(student[exercise.name], str):
            return "broken"
        code = student[exercise.name].code()
        if is_stub(exercise.name, student[exercise.name]):
            return ""
        if passed:
            return "passed" if passed == digest(code) else "changed since it passed"
        return "begun"
    return "passed" if passed else ""


def exercise(exercises):
    path = student_file()
    if not SETTINGS.get("N"):
        student = student_regions(path) if path.exists() else {}
        for e in exercises:
            print(f"{e.number:2}  chapter {e.chapter:<2}  {e.worth:2} points  "
                  f"{e.name:<28}  {state_of(e, student)}".rstrip())
        print("\nmake exercise N=1 shows the first")
        return 0
    e = the_one(exercises)
    if e.kind in ("write", "number") and not path.exists():
        make_exercises(exercises)
    print(f"Exercise {e.number}: {e.name} (chapter {e.chapter}, {e.worth} points)")
    print(f"\n# {e.title}\n\n{own_text(e)}\n")
    if e.kind == "write":
        region = region_of(e, path, student_regions(path))
        if isinstance(region, str):
            raise Trouble(region)
        print(f"edit   {shown(path)}, line {region.start + 1}")
    elif e.kind == "bug":
        if not bug_file(e).exists():
            write_text(bug_file(e), plant_bug(e))
        print(f"edit   {shown(bug_file(e))}; a check fails until it is fixed")
    elif e.kind == "number":
        print(f"edit   {shown(student_folder() / 'answers.txt')}: "
              + ", ".join(f"{name} = ..." for name in wanted_answers(e)))
    else:
        options = student_folder() / e.file
        if not options.exists():
            write_text(options, "# Options for `transformer train`. You may set:\n"
                       f"# {e.options}\n")
        print(f"edit   {shown(options)}")
    print(f"then   make grade N={e.number}\nstuck? make hint N={e.number}")
    return 0


def hint(exercises):
    e = the_one(exercises)
    seen = min(notes("hints").get(e.name, 0) + 1, len(e.hints))
    for k in range(seen):
        print(f"Hint {k + 1} of {len(e.hints)}\n\n{e.hints[k]}\n")
    if seen < len(e.hints):
        print(f"one more: make hint N={e.number}")
    else:
        print("no more hints" + has_solution(e)
              * f"; make solution N={e.number} SHOW=1 shows the answer")
    remember("hints", e.name, seen)
    return 0


def has_solution(exercise):
    return exercise.kind != "write" or not is_stub(
        exercise.name, reference_regions()[exercise.name])


def solution(exercises):
    e = the_one(exercises)
    if not has_solution(e):
        raise Trouble("this folder has no solutions")
    if not SETTINGS.get("SHOW") and e.name not in notes("passed"):
        print(f"exercise {e.number} has not passed yet (make grade N={e.number}); "
              "SHOW=1 shows its solution all the same")
        return 1
    if e.kind == "write":
        region = reference_regions()[e.name]
        print("\n".join(region.body))
    elif e.kind == "bug":
        print(f"in {e.function}\n\nwrong: " + e.wrong.replace(" ⏎ ", "\n       ")
              + "\nright: " + e.right.replace(" ⏎ ", "\n       "))
    elif e.kind == "number":
        print("\n".join(f"{name} = {value:.9g} ± {tolerance:g}"
                        for name, (value, tolerance) in wanted_answers(e).items()))
    else:
        print(e.example or "any options that reach the goal")
    return 0


def with_stub(path, exercise):
    """The student's text without what was written for an exercise; if its region has no
    end, the rest of its function is as in transformer.c."""
    region = region_of(exercise, path, student_regions(path))
    ours = reference_regions()[exercise.name]
    stub, lines = stub_body(exercise.name, ours), handed_in(path).split("\n")
    if not isinstance(region, str):
        return replace_region("\n".join(lines), region, stub)
    starts = [i for i, line in enumerate(lines)
              if line.split() == ["//@", "exercise", exercise.name]]
    if len(starts) != 1 or "}" not in lines[starts[0]:]:
        raise Trouble(region)
    reference = read_text(REFERENCE).split("\n")
    rest = reference[ours.end - 1:around(reference, ours)[1]]
    return "\n".join(lines[:starts[0] + 1] + stub + rest
                     + lines[lines.index("}", starts[0]) + 1:])


def reset(exercises):
    e = the_one(exercises)
    if e.kind == "write":
        path = student_file()
        text = with_stub(path, e)
    elif e.kind == "bug":
        path, text = bug_file(e), plant_bug(e)
    else:
        raise Trouble(f"exercise {e.number} has nothing to reset: edit your file")
    if path.exists():
        back_up(path)
    write_text(path, text)
    print(f"exercise {e.number} is as it was in the beginning")
    return 0


def watch(exercises):
    """Grade now and whenever a file of the student changes. Ctrl-C ends it."""
    def state():
        files = [student_file(), student_folder() / "answers.txt",
                 *student_folder().glob("*.options"),
                 *student_folder().glob("bugs/*.c")]
        return {f: f.stat().st_mtime_ns for f in files if f.exists()}
    seen = None
    while True:
        now = state()
        if now != seen:
            seen = now
            print(time.strftime("---- %H:%M:%S"))
            try:
                grade(exercises)
            except Broken as trouble:
                print(trouble)
            print("watching; Ctrl-C ends it", flush=True)
        time.sleep(1)


def gradescope(exercises):
    """Everything an autograder needs, in a zip file."""
    chosen = [e for e in exercises if e.kind == "write"]
    if SETTINGS.get("N"):
        chosen = choose(exercises, SETTINGS["N"])
    numbers = ",".join(str(e.number) for e in chosen)
    data = {name for e in exercises
            for name in (e.data.split(" ")[0], e.before.split(" ")[0], e.test, e.source)
            if name}
    files = {name: read_text(HERE / "gradescope" / name)
             for name in ("setup.sh", "run_autograder")}
    files["exercises"] = numbers + "\n"
    for path in [REFERENCE, *GRADER, CONFINE, KNOWN, *SCRIPTS, HERE / "order.txt",
                 *sorted(HERE.glob("pages/*.md")), *sorted(ROOT / name for name in data)]:
        files[str(path.relative_to(ROOT))] = read_text(path)
    target = ROOT / "build" / "gradescope.zip"
    pack(target, files, ("setup.sh", "run_autograder"))
    print(f"{shown(target)}: exercises {numbers}, "
          f"{sum(e.worth for e in chosen)} points")
    return 0


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


def pack(target, files, programs=()):
    """Writes that zip file."""
    target.parent.mkdir(exist_ok=True)
    beside = target.with_suffix(f".{os.getpid()}")
    beside.write_bytes(zipped(files, programs))
    beside.replace(target)


COMMANDS = {"exercises": make_exercises, "exercise": exercise, "grade": grade,
            "hint": hint, "solution": solution, "reset": reset, "watch": watch,
            "gradescope": gradescope}
NAMES = ("N", "SRC", "JSON", "FORCE", "SHOW", "FOLDER", "CC", "STUDENT")
SETTINGS = {}


def main(arguments):
    command, *rest = arguments or [""]
    if command not in COMMANDS:
        sys.stderr.write(f"tool.py: what shall I do? {', '.join(COMMANDS)}\n")
        return 2
    for word in rest:
        key, equals, value = word.partition("=")
        if key not in NAMES or not equals:
            sys.stderr.write(f"tool.py: what is \"{word}\"? "
                             f"Known are {', '.join(NAMES)}: for example N=5\n")
            return 2
        SETTINGS[key] = "" if key in ("FORCE", "SHOW") and value == "0" else value
    try:
        if SETTINGS.get("JSON"):
            check_json(SETTINGS["JSON"])
        return COMMANDS[command](load_exercises())
    except Broken as trouble:
        sys.stdout.flush()
        sys.stderr.write(f"error: {trouble}\n")
        return 2
    except (KeyboardInterrupt, BrokenPipeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 130
    except OSError as error:
        sys.stdout.flush()
        where = f"{shown(error.filename)}: " if error.filename else ""
        sys.stderr.write(f"error: {where}{error.strerror}\n")
        return 2


def interrupted(number, frame):
    raise KeyboardInterrupt


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, interrupted)
    sys.stdout.reconfigure(errors="replace")
    sys.exit(main(sys.argv[1:]))

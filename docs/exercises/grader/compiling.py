"""Compiling and running what a student has written, confined as far as the system offers
it; and the reference, which is compiled once."""

import atexit
import contextlib
import functools
import os
import re
import secrets
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import linking
from files import (GRADER, REFERENCE, ROOT, SETTINGS, Trouble, digest, read_text,
                   student_folder, write_file)
from hand_ins import student_file

FILES = [GRADER / name for name in ("grade.c", "grade.h", "confine.c")]
OBJECT = "reference.o"  # transformer.c and grade.c, whose functions give way to others
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
NOBODY = 65534           # the user that confine.c becomes
STOP = threading.Event() # set when the tool itself is interrupted


def build_folder():
    """build/exercises; or where that is somebody else's, a folder that is removed at the end."""
    folder = ROOT / "build" / "exercises"
    with contextlib.suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
    if not os.access(folder, os.W_OK):
        folder = Path(tempfile.mkdtemp(prefix="exercises-"))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


BUILD = build_folder()


class Wrong(Exception):
    """Ends the grading of an exercise: a word, and details."""

    def __init__(self, word, detail=""):
        super().__init__(word)
        self.word, self.detail = word, detail


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
    """Wait for a program's end. Returns why it is to be stopped before that, or ""."""
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
    return linking.Reference(read_text(REFERENCE))


def compile_grader(made, source, program, more=()):
    """Compile a source with the grader, or only what the grader's object lacks of it.
    Returns the compiler's exit status and what it said, without where a file was included
    from."""
    what = ["-fwhole-program", f'-DSOURCE="{source}"', made / "grade.c"]
    if (made / OBJECT).exists():
        text, is_all = outlines().part_to_compile(read_text(source))
        if not (is_all or more):
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
    grader compiled from them; made anew when the files or the compiler have changed."""
    texts = {path.name: read_text(path) for path in (REFERENCE, *FILES)}
    version = run(compiler() + ["--version"], COMPILE_SECONDS).output
    key = digest(*texts.values(), read_text(__file__), str(compiler()), version)
    folder = BUILD / f"reference-{key}"
    if folder.exists():
        return folder
    for old in BUILD.iterdir():
        if time.time() - old.stat().st_mtime > 86400:
            shutil.rmtree(old, ignore_errors=True)
    with tempfile.TemporaryDirectory(dir=BUILD) as beside:
        made = Path(beside) / "made"
        for name, text in texts.items():
            write_file(made / name, text)
        compile_reference(made)
        with contextlib.suppress(OSError):  # somebody else was faster
            made.rename(folder)
    return folder


def compile_reference(made):
    """The grader, by the confined compiler if it can be; `made` is new."""
    if sys.platform == "linux":  # without Landlock's header: none
        run(compiler() + ["-std=c11", "-O1", made / "confine.c", "-o",
                          made / "confine"], COMPILE_SECONDS, 4 * MEMORY)
    for mark in ["confined"] * (made / "confine").exists() + [""]:
        if mark:
            (made / mark).touch()
        compile_object(made)
        status, said = compile_grader(made, made / "transformer.c", made / "grade")
        if not status:
            (made / "grade").chmod(0o755)
            return
        (made / "confined").unlink(missing_ok=True)  # this compiler does not run confined
    raise Trouble("the reference does not compile with grade.c:\n" + said)


def compile_object(made):
    """The reference and its checks, once for all: what a student has written is linked in
    place of ours. Where the linker does not allow this, all is compiled each time."""
    write_file(made / "weak.h", outlines().weak())
    cc = [*confined_compiler(made, made), *FLAGS]
    run([*cc, "-w", "-c", "-include", made / "weak.h",
         f'-DSOURCE="{made / "transformer.c"}"', made / "grade.c", "-o", made / OBJECT],
        COMPILE_SECONDS, memory=4 * MEMORY)
    if run([*cc, "-Wl,-z,muldefs", made / OBJECT, "-o", made / "grade", "-lm"],
           COMPILE_SECONDS).status:
        (made / OBJECT).unlink(missing_ok=True)


@functools.lru_cache(maxsize=None)
def confinement(made):
    """0: a student's program reaches nothing but what is its own; 1: it is confined
    in part, for the system does not offer all of it; else it is not confined, or the
    compiler's programs do not run confined."""
    command = [made / "confine", "--", made / "grade"]
    if run(command, CHECK_SECONDS).status != 2:  # it says how it is used
        return 2
    return run([made / "confine"], CHECK_SECONDS).status


@contextlib.contextmanager
def run_folder():
    """A folder for one program, which is removed after it."""
    with tempfile.TemporaryDirectory(dir=BUILD, prefix=f"run-{os.getpid()}-") as folder:
        yield Path(folder)


def make_results(made, program, arguments, folder, data=b"", environment=(), **limits):
    """Run a student's program, which has no environment but this, and no file but one
    with these data, WRITTEN: how it ended, and what it has written after them."""
    command, written = [program, *arguments], folder / WRITTEN
    with open(written, "w+b") as file:
        file.write(data)
        file.flush()
        if program.parent == folder and confinement(made) < 2:
            command = [made / "confine", WRITTEN, "--"] + command
            if os.geteuid() == 0:
                with contextlib.suppress(OSError):  # root may be the only user
                    os.chown(written, NOBODY, NOBODY)
                folder.chmod(0o711)
                program.chmod(0o755)
        ended = run(["env", "-i", *environment, *command], CHECK_SECONDS, folder=folder,
                    **limits)
        return ended, file.read()  # of this file, whatever has its name by now


def run_check(made, program, name, folder):
    """Run a check: how it ended, what it has written, and the token that must stand at
    the end of it."""
    token = secrets.token_hex(16)
    ended, written = make_results(made, program, [name, WRITTEN], folder, given=f"{token}\n")
    return ended, written.decode("utf-8", "replace"), token


def program_of(made, source, *flags):
    """A program of ours, compiled if it is not there yet, or has changed."""
    program = made / f"{source.stem}-{digest(*flags, read_text(source))}"
    if not program.exists():
        beside = made / f"{source.stem}.{os.getpid()}"
        ended = run([*compiler(), *STRICT, *flags, source, "-o", beside, "-lm"],
                    COMPILE_SECONDS, memory=0)
        if ended.status or ended.stopped:
            raise Trouble(f"{source.name} does not compile:\n{ended.output}")
        beside.rename(program)
    return program

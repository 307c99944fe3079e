"""The bridge to the terminal's grader, docs/exercises/tool.py and what it is made of, where
there is no terminal: in the page, and when the page is built.

The grader runs programs: the compiler, the checks. A browser can run them too, but
not while Python waits. So whatever the grader wants to run is a question:

    answer({"do": "grade", "name": "softmax_row", "text": ...}, {})

gives {"need": question}, or {"result": ...}. Whoever asked finds the answer, puts it
to the others under the question's key, and asks again. The grader then begins anew, and
gets further. The questions, by their "ask":

compile   the source, and flags: {"status", "said"}
check     names: {name: {"ended", "results", "token"}}, of the first check, and of those
          after it up to the first whose program does not end well
make      a name: the reference's own results
"""

import base64
import contextlib
import io
import json
import re
import shutil
import signal
import sys
import zipfile
import zlib
from pathlib import Path

EXERCISES = Path(__file__).resolve().parent.parent / "exercises"
sys.path.append(str(EXERCISES))

import tool  # which puts the folder of the next ones on the path
import compiling
import cutting
import grading
import hand_ins
import linking
from compiling import Ended
from files import SETTINGS, read_text, shown, student_folder, write_file, zipped
from hand_ins import student_file
from source_file import Broken, regions, with_bodies

MADE = compiling.BUILD / "made"  # the grader's folder with copies of the files, and results


class Needed(BaseException):
    """A question that has no answer yet. It is not an error: the grader does not catch it."""


answers = {}


def ask(what, name="", **more):
    key = f"{what} {name}"
    if key not in answers:
        raise Needed({"key": key, "ask": what, "name": name, **more})
    return answers[key]


# ------------------------------------------------------- in the place of programs

def run(command, seconds, memory=0, folder=None, given=""):
    """Instead of compiling.run: the compiler, or the reference's own results."""
    words = [str(word) for word in command]
    if words[0] == "clang":
        if any("sanitize" in word for word in words):
            return Ended(1, "", "")
        source = next(word for word in words if word.startswith("-DSOURCE="))[9:-1]
        part, whole = compiling.outlines().part_to_compile(
            Path(source.strip('"')).read_text())
        answer = ask("compile", source=part, whole=whole,
                     flags=[w for w in words if re.match("-(W|w$)", w)])
        return Ended(answer["status"], answer["said"], "")
    program, name, path = words
    assert program == str(MADE / "grade")
    Path(path).write_text(ask("make", name))
    return Ended(0, "", "")


class Checks:
    """The checks that one program has come through, each made once."""

    def __init__(self, names):
        self.names, self.done = names, {}

    def run_check(self, made, program, name, folder):
        if name not in self.done:
            rest = [n for n in self.names if n != name and n not in self.done]
            self.done.update(ask("check", name, names=[name] + rest,
                                 reference=Path(program) == MADE / "grade"))
        check = self.done[name]
        return ended(*check["ended"]), check["results"], check["token"]


def ended(status, output, stopped):
    """How a program ended; a signal's name becomes a negative status, as in a system."""
    if isinstance(status, str):
        status = -signal.Signals[status]
    text = "".join(c if c in "\n\t" or c.isprintable() else "?"
                   for c in output.replace("\r", "\n"))
    return Ended(int(status), text, stopped)


compiling.run = run
compiling.compiler = lambda: ["clang"]
compiling.reference = lambda: MADE


# ------------------------------------------------------------------- the student

exercises = {}


def begin(folder):
    """The student's folder, which is empty; and the limits of a program."""
    SETTINGS["FOLDER"] = folder
    exercises.update((e.name, e) for e in cutting.load_exercises() if not e.source)
    compiling.outlines()
    return json.dumps({"seconds": compiling.CHECK_SECONDS, "output": compiling.MOST_OUTPUT,
                       "kept": compiling.KEPT_OUTPUT})


def put(name, text):
    """What the student has written: the body of a region, the whole file of a bug,
    or the lines of answers.txt."""
    e = exercises[name]
    if e.kind == "write":
        put_bodies({name: text})
    elif e.kind == "bug":
        write_file(student_folder() / "bugs" / f"{e.slug}.c", text)
    else:
        path = student_folder() / "answers.txt"
        names = "|".join(grading.wanted_answers(e))
        kept = re.sub(rf"^ *({names}) *=.*\n", "", read_text(path), flags=re.M)
        write_file(path, kept + text.rstrip("\n") + "\n")


def put_bodies(texts):
    """The bodies of regions, all at once."""
    path, bodies = student_file(), {name: text.split("\n") for name, text in texts.items()}
    write_file(path, with_bodies(read_text(path), bodies, shown(path)))


def fill(work):
    """Fills the student's folder with this work; all else is as in the beginning."""
    folder = student_folder()
    shutil.rmtree(folder / "bugs", ignore_errors=True)
    for name in ("transformer.c", "answers.txt"):
        (folder / name).unlink(missing_ok=True)
    with contextlib.redirect_stdout(io.StringIO()):
        tool.make_exercises(list(exercises.values()))
    put_bodies(work)
    for name, text in work.items():
        if exercises[name].kind != "write":
            put(name, text)


def status():
    """The word for each exercise, as `make exercise` lists it, and the notes."""
    student = hand_ins.student_regions(student_file())
    return {"states": {name: tool.state_of(e, student)
                       for name, e in exercises.items()},
            "notes": {"hints": {}, **(hand_ins.read_notes() or {})}}


# ------------------------------------------------------------------------- tasks

def restore(work, notes):
    """Puts back what was kept: the texts of exercises, and the notes."""
    fill(work)
    if notes:
        write_file(student_folder() / ".hints", json.dumps(notes, indent=1))
    return status()


@contextlib.contextmanager
def answers_alone(e, text):
    """Answers are graded without those to other exercises, so that a message names the
    line in which they stand in the page."""
    path = student_folder() / "answers.txt"
    if e.kind != "number":
        yield
        return
    whole = read_text(path)
    write_file(path, text)
    try:
        yield
    finally:
        write_file(path, whole)


def grade(name, text, others={}):
    """The verdict on an exercise. The `others`, bodies of regions, stand in the same
    file, so that a message names the line that the page shows."""
    e = exercises[name]
    every = list(cutting.reference_regions()) if e.kind == "bug" else []
    compiling.run_check = Checks(every).run_check
    put_bodies(others)
    put(name, text)
    path = student_file()
    student = hand_ins.student_regions(path) if e.kind == "write" else {}
    with answers_alone(e, text):
        result = grading.grade_one(e, student, path, MADE)
    return {"state": result.state, "word": result.word, "detail": result.detail,
            **status()}


def seen(name, count):
    """Notes that this many hints have been read."""
    hand_ins.remember("hints", name, count)
    return status()


def solution(name):
    SETTINGS.update(N=name, SHOW="1")
    with contextlib.redirect_stdout(io.StringIO()) as said:
        tool.solution(list(exercises.values()))
    return said.getvalue()


def packed(work):
    """The folder exercises/ of the terminal, as a zip file in base64."""
    fill(work)
    folder = student_folder()
    return base64.b64encode(zipped({
        f"exercises/{path.relative_to(folder)}": path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "backup" not in path.parts})).decode()


def file(work):
    """The student's transformer.c, in base64."""
    fill(work)
    return base64.b64encode(student_file().read_bytes()).decode()


def opened(name, content):
    """The work in a file: transformer.c, or what packed() made."""
    files = {"exercises/transformer.c": base64.b64decode(content)}
    if name.endswith(".zip"):
        try:
            with zipfile.ZipFile(io.BytesIO(base64.b64decode(content))) as archive:
                files = {entry: archive.read(entry) for entry in archive.namelist()}
        except (zipfile.BadZipFile, zlib.error):
            raise Broken(f"{name}: this is not a zip file, or it is damaged")
    folder = Path("/opened")
    shutil.rmtree(folder, ignore_errors=True)
    for entry, data in files.items():
        found = re.fullmatch(r"(?:.*/)?(transformer\.c|answers\.txt|\.hints|bugs/[\w-]+\.c)",
                             entry)
        if found:
            (folder / found[1]).parent.mkdir(parents=True, exist_ok=True)
            (folder / found[1]).write_bytes(data)
    return read_work(folder, name)


def read_work(folder, name):
    """The texts of exercises in a student's folder, and the notes."""
    work, source = {}, folder / "transformer.c"
    if not source.exists():
        raise Broken(f"{name}: there is no transformer.c in it")
    found = regions(read_text(source), name, cutting.reference_regions())
    if not found:
        raise Broken(f"{name}: it has no exercises: no line begins with //@ exercise")
    for e in exercises.values():
        bug = folder / "bugs" / f"{e.slug}.c"
        if e.kind == "write" and e.name in found:
            work[e.name] = "\n".join(found[e.name].body)
        elif e.kind == "bug" and bug.exists():
            work[e.name] = read_text(bug)
        elif e.kind == "number" and (folder / "answers.txt").exists():
            names = "|".join(grading.wanted_answers(e))
            lines = re.findall(rf"^ *(?:{names}) *=.*$",
                               read_text(folder / "answers.txt"), re.M)
            work[e.name] = "\n".join(lines)
    try:
        notes = json.loads((folder / ".hints").read_text())
    except (OSError, ValueError):
        notes = None
    return {"work": work, "notes": notes}


def half_changed(text):
    """[[forward, backward]] of functions of which only the first has changed."""
    ours, changed = compiling.outlines().functions, []
    linking.replaced(text, lambda name, head, body: changed.append(name)
             if name in ours and ours[name] != (head, body) else None)
    pairs = [[name, re.sub("_forward$", "", name) + "_backward"] for name in changed]
    return [pair for pair in pairs if pair[1] in ours and pair[1] not in changed]


def patch(text):
    """What of an edited transformer.c is to be compiled; and for which functions the
    backward pass is still that of the function as it was."""
    source, whole = compiling.outlines().part_to_compile(text)
    return {"source": source, "whole": whole, "half": half_changed(text)}


TASKS = {f.__name__: f for f in (restore, grade, seen, solution, packed, file, opened,
                                patch)}


def answer(request, given):
    """The result of a task, or what it needs to know. JSON, both ways."""
    global answers
    answers, task = json.loads(given), json.loads(request)
    try:
        return json.dumps({"result": TASKS[task.pop("do")](**task)})
    except Needed as needed:
        return json.dumps({"need": needed.args[0]})
    except Broken as trouble:
        return json.dumps({"trouble": str(trouble)})

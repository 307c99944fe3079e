"""What a student hands in, and what is remembered of it: transformer.c, the files with bugs,
answers.txt, options, and the notes in .hints."""

import contextlib
import json
import re
import secrets
import shlex
import threading
import time
from pathlib import Path

from cutting import reference_regions
from files import (SETTINGS, Trouble, Unfit, digest, read_text, shown, student_folder,
                   writable, write_file)
from source_file import read_regions


def handed_in(path):
    """The text of a student's file."""
    if Path(path).exists() and not Path(path).is_file():
        raise Unfit(f"{shown(path)} is not a file")
    try:
        return read_text(path)
    except Trouble as trouble:
        raise Unfit(str(trouble))


def back_up(path):
    """Copy a student's file to backup/ before it is changed."""
    stamp = time.strftime("%Y%m%d-%H%M%S-") + secrets.token_hex(2)
    copy = notes_folder() / "backup" / f"{writable(path).name}.{stamp}"
    write_file(copy, path.read_bytes())
    print(f"the file as it was is kept as {shown(copy)}")


# What the tool remembers of the student, in the file .hints, each by name: how
# many hints were seen, a digest of what has passed, and of the files written.
KINDS_OF_NOTES = {"hints": int, "passed": str, "written": str}
WRITING = threading.Lock()  # exercises are graded at the same time


def notes_folder():
    """Where .hints is: beside what was handed in, not where it is graded."""
    return Path(SETTINGS.get("NOTES") or student_folder())


def read_notes():
    """What the file .hints says; None if it is broken."""
    path = notes_folder() / ".hints"
    if path.is_symlink():
        raise Unfit(f"{shown(path)} is a link: links are not followed")
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
    folder = notes_folder()
    with WRITING:
        memory = read_notes()
        if memory is None:
            print(f"{shown(folder / '.hints')} is damaged: a new one is begun")
            back_up(folder / ".hints")
            memory = {}
        if memory.setdefault(kind, {}).get(name) != value:
            memory[kind][name] = value
            write_file(folder / ".hints", json.dumps(memory, indent=1))


def student_file():
    """The student's file: SRC, or transformer.c of the student's folder."""
    return Path(SETTINGS.get("SRC") or student_folder() / "transformer.c").absolute()


def student_regions(path):
    """The regions of the student's file, each by itself. A broken one is replaced by a text
    that says what is wrong; such a text under "" is about lines of no region."""
    if not path.exists():
        how = "" if SETTINGS.get("SRC") or "NOTES" in SETTINGS else "; `make exercises` makes it"
        raise Unfit(f"there is no {shown(path)}{how}")
    return read_regions(handed_in(path), shown(path), reference_regions())


def region_of(exercise, path, student):
    """An exercise's region in the student's file, or a text that says what is wrong."""
    return student.get(exercise.name) or "; ".join(filter(None, [
        f"{shown(path)} has no line //@ exercise {exercise.name}", student.get("", "")]))


def bug_file(exercise):
    return student_folder() / "bugs" / f"{exercise.slug}.c"


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
            what = f"{name} is here a second time; the first is in line {first[name]}"
        elif not re.fullmatch(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", value):
            what = f"\"{value}\" is not a number like 1234 or 0.5"
        else:
            given[name], first[name] = float(value), number
        if what:
            broken.append((name, f"{place}: {what}"))
    return given, broken


def given_options(exercise, path):
    """The options for `transformer train` that a student wrote into a file."""
    allowed, words = exercise.options.replace(",", " ").split(), []
    for number, line in enumerate(handed_in(path).split("\n"), 1):
        place = f"{shown(path)}:{number}"
        try:
            words += [(place, word) for word in shlex.split(line, comments=True)]
        except ValueError:
            raise Unfit(f"{place}: a quotation mark is not closed")
    for k, (place, word) in enumerate(words):
        is_option = word.startswith("--")
        if is_option and word not in allowed:
            raise Unfit(f"{place}: {word} may not be set here; these may: "
                          + " ".join(allowed))
        if word == "--from" and word in [w for _, w in words[:k]]:
            raise Unfit(f"{place}: --from is here a second time: there are two "
                          "trainings, on the text and on the pairs")
        if not is_option and (k == 0 or not words[k - 1][1].startswith("--")):
            raise Unfit(f"{place}: what is \"{word}\"? Options begin with --")
        if not is_option and words[k - 1][1] == "--from":
            raise Unfit(f"{place}: --from stands alone: the model is the one that "
                          "the text has trained")
    return [word for _, word in words]


def remember_passed(exercise, what):
    with contextlib.suppress(Trouble):  # a folder that cannot be written to is graded, too
        remember("passed", exercise.name, digest(what))

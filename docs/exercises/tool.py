#!/usr/bin/env python3
"""Exercises cut from transformer.c: writes them, shows them, grades them.

    python3 docs/exercises/tool.py COMMAND [NAME=VALUE ...]

    exercises [FORCE=1]          write exercises/transformer.c and answers.txt
    exercise [N=5]               show exercise 5; without N list all
    grade [N=5] [SRC=mine.c] [JSON=results.json]
    hint N=5                     one more hint each time
    solution N=5 [SHOW=1]        the answer, once the exercise has passed
    reset N=5                    exercise 5 as it was in the beginning
    gradescope [N=1-30]          write build/gradescope.zip

`make` has these commands as targets. N is a number, a name, or a list of them
("1-5,8"). FOLDER is the student's folder (exercises); to `grade` it may be whatever was
handed in, in which the files are found; SRC, too. CC is the compiler (cc).
Exit status: 0 done, or full marks; 1 not; 2 misused, nothing that can be graded, or the
grader fails: then there are no marks. Needs
Python 3.8, a C compiler, and Linux, macOS or WSL. CONTRIBUTING.md, "Add an exercise", says
what an exercise is made of.
"""

import os
import sys

if os.name == "nt":
    sys.exit("tool.py does not run on Windows itself: use WSL "
             "(https://learn.microsoft.com/windows/wsl/install)")

import contextlib
import json
import re
import signal
from pathlib import Path

DOCS = Path(__file__).resolve().parent.parent
sys.path.append(str(DOCS / "exercises" / "grader"))
import collecting
from compiling import FILES, run_folder
from cutting import load_exercises, make_stub, plant_bug, reference_regions
from files import (EXERCISES, GRADER, REFERENCE, ROOT, SETTINGS, Trouble, Unfit, digest,
                   read_text, shown, student_folder, writable, write_file, zipped)
from grading import grade_all, wanted_answers
from hand_ins import (back_up, bug_file, handed_in, notes, region_of, remember, student_file,
                      student_regions)
from source_file import Broken, is_stub, replace_region, stub_body
from wrong_bodies import KNOWN, if_changed


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


def from_reference(exercises):
    """For staff: how many of the regions written for these are the reference's, apart from
    blanks and comments."""
    try:
        student = student_regions(student_file())
    except Broken as trouble:
        return str(trouble)
    written = [name for name, region in student.items() if not isinstance(region, str)
               and not is_stub(name, region) and name in [e.name for e in exercises]]
    same = sum(collecting.is_reference(name, student[name]) for name in written)
    return f"{same} of {len(written)} regions are the reference's"


def write_json(path, results, message):
    """Gradescope's results.json. What is hidden there is for staff alone."""
    tests = [{"name": f"{r.exercise.number} {r.exercise.name}: {r.exercise.title}",
              "number": str(r.exercise.number), "score": r.score,
              "max_score": r.exercise.worth,
              "status": "passed" if r.state == "right" else "failed",
              "output": "\n".join(filter(None, [r.word, r.detail.rstrip()])),
              "visibility": "visible"} for r in results]
    if results:
        tests.append({"name": "for staff", "number": "", "score": 0, "max_score": 0,
                      "status": "passed", "output": from_reference([r.exercise for r in results]),
                      "visibility": "hidden"})
    write_file(path, json.dumps({"output": message, "output_format": "text",
                                 "tests": tests}, indent=1, ensure_ascii=False)
               + "\n")


@contextlib.contextmanager
def handed_in_files():
    """Finds the files in a FOLDER that was handed in, or in a SRC that is a folder or an
    archive, so that they are graded in another folder."""
    source = SETTINGS.get("SRC")
    handed = source or SETTINGS.get("FOLDER")
    if not handed or source and not collecting.holds_files(Path(source)):
        yield
        return
    names = collecting.names_asked_for()
    items = [*collecting.Walk(names).below(Path(handed).absolute())]
    found = collecting.chosen(items, names)
    print("".join(f"left out: {line}\n" for line in collecting.refused(items)), end="")
    with run_folder() as place:
        collecting.put(place, found)
        SETTINGS.update(FOLDER=str(place), SRC="", NOTES=str(student_folder()))
        yield


def grade(exercises):
    chosen = choose(exercises, SETTINGS["N"]) if SETTINGS.get("N") else [
        e for e in exercises if e.kind == "write" or not SETTINGS.get("SRC")]
    path = SETTINGS.get("JSON")
    try:
        with handed_in_files():
            results, message = graded(chosen)
            if path:
                write_json(path, results, message)
            return 0 if all(result.state == "right" for result in results) else 1
    except Unfit as unfit:
        if path:
            write_json(path, [], f"not graded: {unfit}")
        raise
    except Exception:
        if path and os.path.exists(path):
            os.remove(path)  # no marks, not even those of an earlier run
        raise


def graded(chosen):
    """The results, as they are printed, and a message."""
    results, changed = [], if_changed()
    if changed:
        print(changed)
    for result in grade_all(chosen):
        first = result.state == "wrong" and all(r.state != "wrong" for r in results)
        results.append(result)
        print_result(result, first or len(chosen) == 1)
    score = f"score: {sum(r.score for r in results)}/{sum(e.worth for e in chosen)}"
    print(score)
    return results, "\n".join(filter(None, [score, changed]))


ANSWERS = """# Answers to the exercises with numbers, a line each: name = value
# `make exercise N={first}` shows the first of them.
"""


def make_exercises(exercises):
    folder, kept = student_folder(), False
    numbers = [e for e in exercises if e.kind == "number"]
    answers = ANSWERS.format(first=numbers[0].number) + "".join(
        f"\n# exercise {e.number}: {e.title}\n"
        + "".join(f"{name} =\n" for name in wanted_answers(e)) for e in numbers)
    written = notes("written")
    for name, text in [("transformer.c", make_stub()), ("answers.txt", answers)]:
        path = folder / name
        old = read_text(path) if path.is_file() else text
        if old != text and digest(old) != written.get(name):
            if not SETTINGS.get("FORCE"):
                kept = kept or name == "transformer.c"
                print(f"{shown(path)} has been changed: it is kept. FORCE=1 starts over")
                continue
            back_up(path)
        write_file(path, text)
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
    print(f"\n# {e.title}\n\n{e.text}\n")
    if e.kind == "write":
        region = region_of(e, path, student_regions(path))
        if isinstance(region, str):
            raise Trouble(region)
        print(f"edit   {shown(path)}, line {region.start + 1}")
    elif e.kind == "bug":
        if not bug_file(e).exists():
            write_file(bug_file(e), plant_bug(e))
        print(f"edit   {shown(bug_file(e))}; a check fails until it is fixed")
    elif e.kind == "number":
        print(f"edit   {shown(student_folder() / 'answers.txt')}: "
              + ", ".join(f"{name} = ..." for name in wanted_answers(e)))
    else:
        options = student_folder() / e.file
        if not options.exists():
            write_file(options, "# Options for `transformer train`. You may set:\n"
                       f"# {e.options}\n")
        print(f"edit   {shown(options)}")
    print(f"then   make grade N={e.number}\nstuck? make hint N={e.number}")
    return 0


def hint(exercises):
    e = the_one(exercises)
    seen = min(notes("hints").get(e.name, 0) + 1, len(e.hints))
    for k in range(seen):
        print(f"Hint {k + 1} of {len(e.hints)}\n\n{e.hints[k]}\n")
    print(f"one more: make hint N={e.number}" if seen < len(e.hints) else
          f"no more hints; make solution N={e.number} SHOW=1 shows the answer")
    remember("hints", e.name, seen)
    return 0


def solution(exercises):
    e = the_one(exercises)
    if not SETTINGS.get("SHOW") and e.name not in notes("passed"):
        print(f"exercise {e.number} has not passed yet (make grade N={e.number}); "
              "SHOW=1 shows its solution all the same")
        return 1
    if e.kind == "write":
        print("\n".join(reference_regions()[e.name].body))
    elif e.kind == "bug":
        print(f"in {e.function}\n\nwrong: {e.wrong}\nright: {e.right}".replace(
            " ⏎ ", "\n       "))
    elif e.kind == "number":
        print("\n".join(f"{name} = {value:.9g} ± {tolerance:g}"
                        for name, (value, tolerance) in wanted_answers(e).items()))
    else:
        print(e.example or "any options that reach the goal")
    return 0


def reset(exercises):
    e = the_one(exercises)
    if e.kind == "write":
        path = student_file()
        region = region_of(e, path, student_regions(path))
        if isinstance(region, str):
            raise Trouble(region)
        text = replace_region(handed_in(path), region,
                              stub_body(e.name, reference_regions()[e.name]))
    elif e.kind == "bug":
        path, text = bug_file(e), plant_bug(e)
    else:
        raise Trouble(f"exercise {e.number} has nothing to reset: edit your file")
    if path.exists():
        back_up(path)
    write_file(path, text)
    print(f"exercise {e.number} is as it was in the beginning")
    return 0


def project_files():
    """The project's files that this program needs, except those that are compiled."""
    return [REFERENCE, KNOWN, EXERCISES / "order.txt", Path(__file__).resolve(),
            *sorted(GRADER.glob("*.py")), *sorted(EXERCISES.glob("pages/*.md"))]


def gradescope(exercises):
    """Everything an autograder needs, in a zip file."""
    chosen = choose(exercises, SETTINGS["N"]) if SETTINGS.get("N") else [
        e for e in exercises if e.kind == "write"]
    numbers = ",".join(str(e.number) for e in chosen)
    data = {name for e in exercises
            for name in (e.data.split(" ")[0], e.before.split(" ")[0], e.test, e.source)
            if name}
    files = {name: read_text(EXERCISES / "gradescope" / name)
             for name in ("setup.sh", "run_autograder")}
    files["exercises"] = numbers + "\n"
    for path in [*project_files(), *FILES, *sorted(ROOT / name for name in data)]:
        files[str(path.relative_to(ROOT))] = read_text(path)
    target = ROOT / "build" / "gradescope.zip"
    write_file(target, zipped(files, ("setup.sh", "run_autograder")))
    print(f"{shown(target)}: exercises {numbers}, "
          f"{sum(e.worth for e in chosen)} points")
    return 0


COMMANDS = {"exercises": make_exercises, "exercise": exercise, "grade": grade,
            "hint": hint, "solution": solution, "reset": reset,
            "gradescope": gradescope}
NAMES = ("N", "SRC", "JSON", "FORCE", "SHOW", "FOLDER", "CC")


def main(arguments):
    command, *rest = arguments or [""]
    if command not in COMMANDS:
        sys.stderr.write(f"tool.py: what shall I do? {', '.join(COMMANDS)}\n")
        return 2
    for word in rest:
        key, equals, value = word.partition("=")
        if key not in NAMES or not equals:
            sys.stderr.write(f"tool.py: what is \"{word}\"? "
                             f"Settings are {', '.join(NAMES)}: for example N=5\n")
            return 2
        SETTINGS[key] = "" if key in ("FORCE", "SHOW") and value == "0" else value
    try:
        path = SETTINGS.get("JSON")
        if path and writable(path).suffix != ".json":
            raise Trouble(f"JSON={path} does not end in .json, as in JSON=results.json")
        return COMMANDS[command](load_exercises())
    except Broken as trouble:
        sys.stdout.flush()
        sys.stderr.write(f"error: {trouble}\n")
        return 2
    except (KeyboardInterrupt, BrokenPipeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 130
    except Exception as fault:
        sys.stderr.write(f"error: the grader fails: {fault!r}\n")
        return 2


def interrupted(number, frame):
    raise KeyboardInterrupt


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, interrupted)
    sys.stdout.reconfigure(errors="replace")
    sys.exit(main(sys.argv[1:]))

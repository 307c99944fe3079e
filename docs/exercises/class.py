#!/usr/bin/env python3
"""Grades a class: what a learning platform exports of an assignment, or a folder.

    python3 docs/exercises/class.py SUBMISSIONS MARKS.csv [N]

`make class DIR=submissions CSV=marks.csv` does it. SUBMISSIONS is a folder, or the platform's
archive: in it is a folder, an archive or files of each student, in which collecting.py finds
what is asked for. MARKS.csv has a row for each: points, of how many, how many regions are
the reference's, seconds, points by exercise, and what is wrong.
Whoever cannot be graded has no points there, but a reason. The file is written after each
submission; if it is there already, only submissions that are new or have changed are graded.
Nothing in SUBMISSIONS is changed. It is graded as by tool.py, with all its limits.
Exit status: 0; 1 if somebody could not be graded, 2 if the grader has failed, or is misused.
"""

import csv
import hashlib
import io
import re
import sys
import time
from pathlib import Path, PurePosixPath

import tool  # which puts the folder of the next ones on the path
import collecting
import compiling
import cutting
from files import SETTINGS, Trouble, Unfit, read_text, student_folder, write_file
from grading import grade_all
from source_file import Broken

NOT_DONE = "not done: "
HEAD = ["submission", "digest", "points", "of", "reference", "seconds"]
# What learning platforms make of a student's name and a file's, or of a folder's.
PLATFORMS = {
    "Moodle": r"(.+_\d+)_assignsubmission_(?:file|onlinetext)_?(.*)",
    "Blackboard": r"(.+)_\w+_\d{4}(?:-\d\d){5}(?:_(.+)|\.txt)",
    "Canvas": r"(.+?_\d{2,}|(?:LATE_)?anon_\w+?)_\d{3,}_(.+\.\w+)",
    "Brightspace": r"\d+-\d+ ?- (.+?) ?- \w+ \d\d?, \d{4} \d{3,4} ?[AP]M(?: ?- ?(.+))?"}
FORMULA = tuple("=+-@\t\r")  # what a spreadsheet would compute begins with one of these
# What platforms add for the teacher.
LISTS = re.compile(r"(grades|marks)\.(csv|xlsx?)|index\.html|submission_metadata\.yml", re.I)


def platform_of(name):
    """The student, and the name of the file, in a name that a platform has made; or None."""
    return next(filter(None, (re.fullmatch(pattern, name) for pattern in PLATFORMS.values())),
                None)


def student_of(path, names):
    """(the student, the path within what that student has handed in) of a path. A file with
    nothing but the name that is asked for names no student: None."""
    top, _, rest = path.partition("/")
    found = platform_of(top)
    if found:
        return found[1], "/".join(filter(None, [found[2], rest])) or top
    before, wanted = collecting.split_name(top, names)
    if wanted and not rest:
        return before or None, path
    if rest or collecting.PACKED.fullmatch(top):
        return (None if top == "bugs" else top), rest or top
    return PurePosixPath(top).stem, top


def by_student(items, names):
    """{student: [items]}; if all is in one folder or archive, of the students within it."""
    students = {}
    for item in items:
        student, path = student_of(item.path, names)
        if not (LISTS.fullmatch(item.path)
                or collecting.NOT_HANDED_IN.fullmatch(PurePosixPath(path).name)):
            students.setdefault(student, []).append(item._replace(path=path))
    below = [item for its in students.values() for item in its if "/" in item.path]
    if len(students) == 1 and below and None not in students:
        inner = by_student(*students.values(), names)
        with_file = [s for s in inner if names[0] in collecting.which(inner[s], names)]
        if None not in inner and (len(with_file) > 1 or any(map(platform_of, {
                item.path.partition("/")[0] for item in below}))):
            return inner
    return students


def students_in(folder, names, table):
    """{student: [items]} of what the teacher has; the table of marks may lie there, too."""
    if folder.is_dir():
        items = [item for entry in sorted(folder.iterdir())
                 if entry != table and not collecting.NOT_HANDED_IN.fullmatch(entry.name)
                 for item in collecting.Walk(names).below(entry, collecting.readable(entry))]
    else:
        items = [*collecting.Walk(names, 64).below(folder)]
    if not items or items[0].path == "":
        raise Trouble(f"DIR={folder}: {items[0].why if items else 'nothing is in it'}")
    students = by_student(items, names)
    if None in students:
        students[folder.stem] = students.pop(None)
    return {"'" * name.startswith(FORMULA) + name: its for name, its in sorted(students.items())}


def causes(results):
    """What is wrong, with the compiler's first error; and what is not done."""
    for result in results:
        if result.state == "wrong":
            error = re.search(r"^(.+:\d+):\d+: (?:fatal )?error: (.+)", result.detail, re.M)
            more = error.groups() if error and result.word == "does not compile" else ()
            yield ": ".join([result.exercise.name, result.word, *more])
    undone = [result.exercise.name for result in results if result.state == "todo"]
    if undone:
        yield f"{NOT_DONE}{', '.join(undone)}"


def graded(found, chosen, row):
    """The row of a student, which stays as it is if nothing has changed."""
    digest = hashlib.sha256(repr((sorted(found.items()), [e.name for e in chosen],
                                  compiling.reference().name)).encode()).hexdigest()[:12]
    if row.get("digest") == digest:
        return row
    begun = time.monotonic()
    results = [*grade_all(chosen)]
    return {"digest": digest, "points": sum(r.score for r in results),
            "of": sum(e.worth for e in chosen), "reference": tool.from_reference(chosen),
            "seconds": round(time.monotonic() - begun),
            **{r.exercise.name: r.score for r in results},
            "causes": "; ".join(causes(results))}


def read_rows(path):
    """The rows that are there, by submission."""
    if not path.exists():
        return {}
    rows = list(csv.DictReader(io.StringIO(read_text(path))))
    if any("submission" not in row or "digest" not in row for row in rows):
        raise Trouble(f"CSV={path} has no marks in it: it is not replaced")
    return {row["submission"]: row for row in rows}


def write_rows(path, rows, names):
    text = io.StringIO()
    writer = csv.DictWriter(text, [*HEAD, *names, "causes"], restval="", lineterminator="\n",
                            extrasaction="ignore")
    writer.writeheader()
    writer.writerows(rows)
    write_file(path, text.getvalue())


def row_or_reason(items, names, chosen, row):
    """The row of a student, and the exit status; without marks if there can be none."""
    try:
        found = collecting.chosen(items, names)
        collecting.put(student_folder(), found)
        return graded(found, chosen, row), 0
    except Unfit as unfit:
        return {"causes": f"not graded: {unfit}"}, 1
    except Exception as fault:
        why = fault if isinstance(fault, Broken) else f"the grader fails: {fault!r}"
        return {"causes": f"not graded: {why}"}, 2


def grade_class(students, names, path, chosen):
    rows, done, status = read_rows(path), {}, 0
    with compiling.run_folder() as work:
        for k, (student, items) in enumerate(students.items()):
            SETTINGS.update(FOLDER=str(work / str(k)), NOTES="", SRC="")
            row, failed = row_or_reason(items, names, chosen, rows.get(student, {}))
            status = max(status, failed)
            more = [f"left out: {line}" for line in collecting.refused(items)
                    if line not in row["causes"]]
            if NOT_DONE in row["causes"]:
                more += [line for line in collecting.not_asked_for(items, names)
                         if line not in row["causes"]]
            said = f"{row['points']}/{row['of']}" if not failed else row["causes"]
            print("\n  ".join("".join(c if c.isprintable() else "?" for c in line)
                              for line in [f"{student}: {said}", *more]), flush=True)
            done[student] = {**row, "submission": student,
                             "causes": "; ".join(filter(None, [row["causes"], *more]))}
            write_rows(path, done.values(), [e.name for e in chosen])
    return status


def main(arguments):
    if len(arguments) not in (2, 3) or not all(arguments[:2]):
        sys.stderr.write("class.py: which? make class DIR=submissions CSV=marks.csv\n")
        return 2
    sys.stdout.reconfigure(errors="replace")
    folder, path = (Path(name).absolute() for name in arguments[:2])
    try:
        if path.suffix != ".csv":
            raise Trouble(f"CSV={path} does not end in .csv, as in CSV=marks.csv")
        if not folder.exists():
            raise Trouble(f"DIR={folder}: there is no such folder")
        names = collecting.names_asked_for()
        exercises = cutting.load_exercises()
        chosen = tool.choose(exercises, arguments[2]) if arguments[2:3] > [""] else exercises
        return grade_class(students_in(folder, names, path), names, path, chosen)
    except Exception as trouble:
        sys.stderr.write(f"error: {trouble if isinstance(trouble, Broken) else repr(trouble)}\n")
        return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

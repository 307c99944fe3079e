#!/usr/bin/env python3
"""Grades a class: a folder with a folder or a zip file for each student.

    python3 docs/exercises/class.py SUBMISSIONS MARKS.csv [N]

`make class DIR=submissions CSV=marks.csv` does it. MARKS.csv has a row for each: points, of
how many, how many regions are the reference's, who wrote the same lines, seconds, points
by exercise, and what is wrong. It is written after each submission; if it is there, only
submissions that are new or have changed are graded. Nothing in SUBMISSIONS is changed. It
is tool.py that grades, with all its limits, a copy of one submission at a time.
"""

import csv
import hashlib
import io
import itertools
import json
import shutil
import sys
import tempfile
import time
import zipfile
from pathlib import Path
from subprocess import TimeoutExpired

import tool  # which knows where the next ones are
import compiling
import cutting
import hand_ins
import neighbors
from files import ROOT, SETTINGS, Trouble, read_text, write_file
from refusing import code_of
from source_file import Broken

sys.path.append(str(ROOT / "tests" / "lib"))
from command import run

HEAD = ["submission", "digest", "points", "of", "reference", "alike", "seconds"]
LONG = 40             # tokens of a region that two do not write in the same way by chance
ALIKE = 2             # so many such regions are told
SECONDS = 3600        # of a submission
MOST_BYTES = 1 << 28  # of one that is packed


def unpacked(submission, folder):
    """A copy of what was handed in; the folder in it that has the student's files."""
    if submission.is_dir():
        shutil.copytree(submission, folder, symlinks=True)
    else:
        folder.mkdir()
        try:
            with zipfile.ZipFile(submission) as archive:
                if sum(entry.file_size for entry in archive.infolist()) < MOST_BYTES:
                    archive.extractall(folder)
        except (zipfile.BadZipFile, OSError, RuntimeError, ValueError):
            pass  # what is not there gets nothing
    inside = [path for path in folder.iterdir() if path.is_dir() and not path.is_symlink()]
    files = [path for path in folder.iterdir() if path.is_file()]
    return inside[0] if len(inside) == 1 and not files else folder


def digest_of(folder, wanted):
    """A digest of what was handed in, and of how it is graded."""
    found = hashlib.sha256(f"{wanted}\n{compiling.reference().name}".encode())
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.name != ".hints":
            found.update(f"\0{path.relative_to(folder)}\0".encode() + path.read_bytes())
    return found.hexdigest()[:12]


def shape(region):
    """The tokens of a region, with its names numbered."""
    numbers, code = {}, code_of("\n".join(region.body), True)
    return tuple(numbers.setdefault(token.text, len(numbers)) if token.kind == "name"
                 else token.text for token in neighbors.tokens(code))


def shapes_of(folder, ours):
    """{region: its shape} of long regions that are not the reference's."""
    SETTINGS.update(FOLDER=str(folder), SRC="")
    try:
        student = hand_ins.student_regions(hand_ins.student_file())
    except Broken:
        return {}
    found = {name: shape(region) for name, region in student.items()
             if not isinstance(region, str)}
    return {name: tokens for name, tokens in found.items()
            if len(tokens) >= LONG and tokens != ours[name]}


def pairs_alike(shapes):
    """{submission: [what is said of it]}"""
    found = {name: [] for name in shapes}
    for one, other in itertools.combinations(shapes, 2):
        same = sum(shapes[other].get(name) == tokens for name, tokens in shapes[one].items())
        for name, partner in ((one, other), (other, one)) if same >= ALIKE else ():
            found[name].append(f"{same} regions as {partner}")
    return found


def graded(folder, wanted, work):
    """tool.py's results.json of one submission, and its seconds."""
    result, begun = work / "results.json", time.monotonic()
    result.unlink(missing_ok=True)
    try:
        said = run(sys.executable, tool.__file__, "grade", f"FOLDER={folder}", f"JSON={result}",
                   f"N={wanted}", allowed=(), together=True, timeout=SECONDS).out
    except TimeoutExpired:
        said = f"stopped after {SECONDS} seconds"
    top = json.loads(result.read_text(encoding="utf-8")) if result.exists() \
        else {"output": said.strip(), "tests": []}
    return top, round(time.monotonic() - begun)


def row_of(top, seconds):
    """The row of a submission, but for its name and digest."""
    tests = {test["name"].partition(":")[0].split(" ")[-1]: test for test in top["tests"]
             if test["visibility"] == "visible"}
    hidden = [test["output"] for test in top["tests"] if test["visibility"] == "hidden"]
    causes = [f"{name}: {test['output'].partition(chr(10))[0]}" for name, test in tests.items()
              if test["status"] == "failed" and "not written yet" not in test["output"]]
    return {"points": sum(test["score"] for test in tests.values()),
            "of": sum(test["max_score"] for test in tests.values()),
            "reference": "".join(hidden), "seconds": seconds,
            **{name: test["score"] for name, test in tests.items()},
            "causes": "; ".join(causes or ([] if tests else [top["output"]]))}


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


def grade_class(submissions, path, wanted):
    every = cutting.load_exercises()
    names = [e.name for e in (tool.choose(every, wanted) if wanted else every)]
    rows, work = read_rows(path), Path(tempfile.mkdtemp(dir=compiling.BUILD))
    try:
        folders = {s.name: unpacked(s, work / f"copy-{k}") for k, s in enumerate(submissions)}
        ours = {name: shape(region) for name, region in cutting.reference_regions().items()}
        alike = pairs_alike({name: shapes_of(folder, ours)
                             for name, folder in folders.items()})
        for name, folder in folders.items():
            row, digest = rows.get(name, {}), digest_of(folder, wanted)
            if row.get("digest") != digest:
                row = {"submission": name, "digest": digest,
                       **row_of(*graded(folder, wanted, work))}
            rows[name] = {**row, "alike": ", ".join(alike[name])}
            write_rows(path, [rows[other] for other in folders if other in rows], names)
            print(f"{name}: {row['points']}/{row['of']}", flush=True)
    finally:
        shutil.rmtree(work)
    return 0


def main(arguments):
    if len(arguments) not in (2, 3) or not all(arguments[:2]):
        sys.stderr.write("class.py: which? make class DIR=submissions CSV=marks.csv\n")
        return 2
    folder, path = Path(arguments[0]), Path(arguments[1]).absolute()
    try:
        if path.suffix != ".csv":
            raise Trouble(f"CSV={path} does not end in .csv, as in CSV=marks.csv")
        if not folder.is_dir():
            raise Trouble(f"DIR={folder}: there is no such folder")
        compiling.reference()  # the grader, and the folder that copies are made in
        return grade_class(sorted(s for s in folder.iterdir() if s.name[0] != "." and (
            s.suffix == ".zip" or (s.is_dir() and not s.is_symlink()))), path,
            "".join(arguments[2:]))
    except Broken as trouble:
        sys.stderr.write(f"error: {trouble}\n")
        return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

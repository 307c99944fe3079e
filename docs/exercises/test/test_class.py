"""Gradescope, and a class."""

import csv
import io
import json
import os
import re
import shutil
import sys
import tarfile
import zipfile
from pathlib import PurePath

from groups import ONE, PAGES, REFERENCE, ROOT, of_kind, project, ran, student
import grading
from collecting import put

# Another way to write two bodies, both right; nothing else is written yet.
OTHER_STYLE = {ONE: """\
    double top = -INFINITY;
    for (int k = 0; k < n; ++k)
        if ((visible == NULL || visible[k] == 1) && x[k] > top)
            top = x[k];
    double total = 0;
    for (int k = 0; k < n; ++k) {
        int seen = visible == NULL || visible[k];
        x[k] = seen ? exp(x[k] - top) : 0;
        total += x[k];
    }
    for (int k = 0; k < n; ++k)
        if (total > 0)
            x[k] /= total;
""", "softmax_backward": """\
    for (int r = 0; r < w.rows; ++r) {
        double s = 0;
        for (int c = 0; c < w.cols; ++c)
            s += *at(w, r, c) * *at(dw, r, c);
        for (int c = 0; c < w.cols; ++c)
            *at(dw, r, c) = *at(w, r, c) * (*at(dw, r, c) - s);
    }
""", "*": '    exercise_todo("NAME");\n'}


def _right(g):
    """{name: data} of a student who has all of three exercises right."""
    counts = next(page for page in of_kind("number") if page.name == "parameter_counts")
    student(g.folder / "mine.c", OTHER_STYLE)
    return {"transformer.c": (g.folder / "mine.c").read_bytes(),
            "answers.txt": "".join(f"{name} = {value!r}\n" for name, (value, _) in
                                   grading.wanted_answers(counts).items()).encode(),
            "bugs/too-good.c": REFERENCE.encode()}


THREE = f"{ONE},parameter_counts,too_good"
POINTS = sum(page.worth for page in PAGES if page.name in THREE.split(","))


def _zip(files, mode=0o100644, locked=False):
    to = io.BytesIO()
    with zipfile.ZipFile(to, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            entry = zipfile.ZipInfo(name)
            entry.external_attr, entry.compress_type = mode << 16, zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)
    data = to.getvalue()
    return data.replace(b"PK\1\2\x14\3\x14\0\0", b"PK\1\2\x14\3\x14\0\1") if locked else data


def _tar(files, mode, link=None):
    to = io.BytesIO()
    with tarfile.open(fileobj=to, mode=mode) as archive:
        for name, data in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
        if link:
            entry = tarfile.TarInfo(link)
            entry.type, entry.linkname = tarfile.SYMTYPE, "/etc/passwd"
            archive.addfile(entry)
    return to.getvalue()


def gradescope(g):
    names = [ONE, "head", "clip_factor", "training_and_use",
             "overfit_one_batch"]
    pages = [page for page in PAGES if page.name in names]
    wanted = [str(page.number) for page in pages]
    g.says("python3 docs/exercises/tool.py gradescope packs what an autograder needs", 0,
           "exercises " + ",".join(wanted), "gradescope", "N=" + ",".join(names))
    root = g.folder / "autograder"
    zipfile.ZipFile(ROOT / "build" / "gradescope.zip").extractall(root / "source")
    (root / "source" / "run_autograder").rename(root / "run_autograder")

    def graded(files, points):
        """Whether it gives this sum of points, run elsewhere; None: it gives no marks."""
        shutil.rmtree(root / "submission", ignore_errors=True)
        (root / "submission").mkdir()  # Gradescope moves it there
        put(root / "submission", files)
        done = ran("sh", root / "run_autograder", cwd="/", AUTOGRADER=str(root))
        result = root / "results" / "results.json"
        g.output = done.out + result.read_text(encoding="utf-8")
        tests = json.loads(result.read_text(encoding="utf-8"))["tests"]
        if points is None:
            return done.status == 0 and tests == []
        g.staff = tests.pop()
        return (done.status == 0 and sum(test["score"] for test in tests) == points
                and [test["number"] for test in tests] == wanted)

    full = {"my-transformer.c": REFERENCE.encode(), ".hints": b"[1]",
            "training-and-use.c": REFERENCE.encode(),
            "overfit.options": b"--dropout 0 --lr 3e-3 --warmup 20\n"}
    g.holds("the zip file, unpacked in an empty folder, gives a good submission its "
            "points", graded(full, sum(page.worth for page in pages)))
    g.holds("staff alone are told how much of it is the reference",
            g.staff["visibility"] == "hidden" and g.staff["output"]
            == "3 of 3 regions are the reference's", str(g.staff))
    for claim, files, say in (
            ("an empty submission", {}, "nothing is in it"),
            ("a submission with two files that could be it", {
                name: full["my-transformer.c"].replace(b"? clip / norm", b"? clip / (norm)")
                + name.encode() for name in ("a.c", "b.c")},
             "only one counts")):
        g.holds(f"{claim} has no marks, and results.json says why",
                graded(files, None) and f'"not graded: ' in g.output and say in g.output)
    g.holds("a mistake costs only its own points, in a folder of a folder, too", graded(
        {"a/b/transformer.c": REFERENCE.replace("? clip / norm", "? norm / clip").encode()},
        15))
    g.holds("a usual mistake is named", "the quotient is inverted: factor · norm "
            "is clip (chapter 11, “Clipping”)" in g.output)


def _graded(g, handed, marks, wanted):
    """{student: row of marks}"""
    g.done = ran("make", "-s", "class", f"DIR={handed}", f"CSV={marks}", f"N={wanted}")
    g.output = g.done.out
    with open(marks, encoding="utf-8") as file:
        return {row["submission"]: row for row in csv.DictReader(file)}


def _of_platforms(right):
    """{student: {path: data}}, as learning platforms and computers name things."""
    flat = {PurePath(name).name: data for name, data in right.items()}
    finder = _zip({**{f"hand-in/{name}": data for name, data in right.items()},
                   **{f"__MACOSX/hand-in/._{name}": b"\0\5\26\7" for name in right}})

    def each(before, files):
        return {before + name: data for name, data in files.items()}

    return {
        "Ada Lovelace_657737": each("Ada Lovelace_657737_assignsubmission_file_/", right),
        "Grace Hopper_657768": {
            "Grace Hopper_657768_assignsubmission_file_/work.zip": finder,
            "Grace Hopper_657768_assignsubmission_onlinetext_/onlinetext.html": b"<p>"},
        "Karen Jones_657772": each("Karen Jones_657772_assignsubmission_file_", flat),
        "smithbob_340934": {f"smithbob_340934_{208490284 + k}_{name}": data
                            for k, (name, data) in enumerate(flat.items())},
        "doejane_LATE_340935": {"doejane_LATE_340935_208490290_Work-1.ZIP": _zip(
            each("a/B/", {"inner.zip": _zip({name.upper(): data
                                             for name, data in right.items()})}))},
        "anon_Xy3Zq": each("anon_Xy3Zq_20849_", flat),
        "Homework 3_turing": {**each("Homework 3_turing_attempt_2026-11-20-23-58-01_", flat),
                              "Homework 3_turing_attempt_2026-11-20-23-58-01.txt": b"Name:"},
        "Homework 3_church": {"Homework 3_church_attempt_2026-11-20-23-59-59_my work.tgz":
                              _tar(each("./hand-in/", right), "w:gz")},
        "submission_147802433": each("submission_147802433/exercises/", right),
        "Alan Kay": each("816-4711 - Alan Kay - Nov 20, 2026 1158 PM/", {
            name: data.replace(b"\n", b"\r") for name, data in flat.items()}),
        "Wirth, Niklaus(nw1)": {
            **each("Wirth, Niklaus(nw1)/Submission attachment(s)/", flat),
            "Wirth, Niklaus(nw1)/timestamp.txt": b"20261120"},
        "surname_123": each("surname_123_", {
            name: data.decode().encode("utf-16") for name, data in flat.items()})}


def class_of_twelve(g):
    """Right answers, in every shape that platforms' documentation names."""
    handed, marks = g.folder / "it's a class", g.folder / "O'Brien's marks.csv"
    every = _of_platforms(_right(g))
    put(handed, {path: data for files in every.values() for path, data in files.items()})
    put(handed, {name: b"?" for name in ("grades.csv", "index.html", "submission_metadata.yml",
                                          ".DS_Store", "Thumbs.db", "__MACOSX/._x.c")})
    rows = _graded(g, handed, marks, THREE)
    for name in every:
        g.holds(f"{name} has all points", rows.get(name, {}).get("points") == str(POINTS))
    g.holds("and nobody else has a row", {*rows} == {*every} and g.done.status == 0)
    packed = g.folder / "class.zip"
    packed.write_bytes(_zip({f"assignment_9100_export/{path.relative_to(handed)}":
                             path.read_bytes() for path in handed.rglob("*") if path.is_file()}))
    again = _graded(g, packed, marks, THREE)
    g.holds("the platform's archive, not unpacked, has the same students with the same files",
            again == rows and g.done.status == 0, str(again))


def not_graded(g):
    """What cannot be graded is named with its reason, and has no marks."""
    handed, mine = g.folder / "handed", _right(g)["transformer.c"]
    one = {"transformer.c": mine}
    nested = _zip(one)
    for _ in range(9):
        nested = _zip({"inner.zip": nested})
    shapes = {
        "two": ({"two/a.c": mine, "two/b.c": mine + b"//"},
                "2 files could be transformer.c, and only one counts: a.c, b.c"),
        "copies": ({"copies/transformer.c": mine, "copies/transformer (1).c": mine + b"//"},
                   "only one counts"),
        "report": ({"report/report.pdf": b"%PDF"},
                   "no file in it is asked for: there is report.pdf"),
        "'=1+1": ({"=1+1/report.pdf": b"%PDF"}, "there is report.pdf"),  # no formula
        "damaged.zip": ({"damaged.zip": _zip(one)[:900]}, "damaged.zip: it cannot be unpacked"),
        "no.zip": ({"no.zip": b"PK no"}, "no.zip: this is not an archive"),
        "locked.zip": ({"locked.zip": _zip(one, locked=True)}, "is encrypted"),
        "seven.7z": ({"seven.7z": b"7z\xbc\xaf\x27\x1c"}, "7z is not unpacked here"),
        "link.zip": ({"link.zip": _zip({"transformer.c": b"/etc/passwd"}, 0o120777)},
                     "transformer.c: links are not followed"),
        "outside.zip": ({"outside.zip": _zip({"../../transformer.c": mine})},
                        "its path leads out of the archive"),
        "large": ({"large/big.zip": _zip({"a.tar": bytes(257) + b"ustar" + bytes(290 << 20)})},
                  "more than 256 MB"),
        "many.zip": ({"many.zip": _zip({str(k): b"" for k in range(20100)})}, "20000 files"),
        "deep.zip": ({"deep.zip": nested}, "an archive in 6 others is not unpacked"),
        "word": ({"word/transformer.c": b"\320\317\21\340" + bytes(99)}, "this is not text"),
        "empty": ({"empty/transformer.c": b""}, "transformer.c: it is empty"),
        "bare": ({"bare/transformer.c": b"int x;"}, "it has no line //@ exercise NAME"),
        "nothing": ({"nothing/.DS_Store": b"?"}, "nothing is in it")}
    put(handed, {path: data for files, _ in shapes.values() for path, data in files.items()})
    (handed / "secret").mkdir()
    (handed / "secret" / "transformer.c").symlink_to(ROOT / "transformer.c")
    shapes["secret"] = {}, "transformer.c: links are not followed"
    put(handed, {"in part.tar": _tar({**one, "../../out.c": mine}, "w", "pass\33wd.c")})
    rows = _graded(g, handed, g.folder / "marks.csv", ONE)
    for name, (_, why) in shapes.items():
        row = rows.get(name, {"points": "none"})
        g.holds(f"{name}: {why}", row["points"] == row[ONE] == "" and why in row["causes"]
                and f"{name}: {row['causes']}\n" in g.output, str(row))
    row = rows["in part.tar"]
    g.holds("what can be graded is; what was left out is named beside it", row["points"] == "10"
            and "../../out.c: its path leads out" in row["causes"]
            and "left out: pass?wd.c: links are not followed" in g.output, str(row))
    g.holds("make says that somebody could not be graded; and nothing else is written", "Error 1"
            in g.output and not [*g.folder.parent.glob("out.c"), *g.folder.glob("out.c")])


def as_handed_in(g):
    """What the table says of a repository of another version with a student's file in it,
    and of a file with one mistake and another beside it."""
    handed, right = g.folder / "handed", _right(g)
    student(g.folder / "mine.c", {**OTHER_STYLE, ONE: "    int n_ = 0\n&\n"})
    put(handed, {
        "clone.zip": _zip({"p/exercises/transformer.c": right["transformer.c"],
                           "p/transformer.c": REFERENCE.replace("//@ end", "//@ end\n//"
                                                                ).encode(),
                           "p/tests/x.c": b"int x;"}),
        "ours/transformer.c": REFERENCE.replace("? x[j] :", "? (x[j]) :").encode(),
        "comma/transformer.c": (g.folder / "mine.c").read_bytes(),
        "comma/too-good-fixed.c": b"int x;"})
    rows = _graded(g, handed, g.folder / "marks.csv", f"{ONE},head,too_good")
    g.holds("beside a student's file the project's own does not count, whatever its version",
            rows["clone.zip"]["points"] == "10"
            and "not done: head, too_good" in rows["clone.zip"]["causes"], str(rows))
    g.holds("how much is the reference's is told of the chosen exercises alone",
            rows["ours"]["reference"].startswith("1 of 2 "), str(rows["ours"]))
    g.holds("the compiler's first error is named, and what is not done or not asked for",
            re.fullmatch(rf"{ONE}: does not compile: transformer\.c:\d+: expected .*; not done: "
                         r"head, too_good; not asked for: too-good-fixed\.c",
                         rows["comma"]["causes"]), str(rows["comma"]))


def read_only(g):
    """A course's folder that only its owner may write, used by somebody else."""
    copy = project(g)
    (copy / "build" / "exercises").unlink()
    student(g.folder / "mine.c", OTHER_STYLE)
    no_rights = "setpriv --bounding-set -all --inh-caps -all".split() * (os.geteuid() == 0)
    (copy / "build").chmod(0o555)
    done = ran(*no_rights, sys.executable, "docs/exercises/tool.py", "grade", f"N={ONE}",
               "SRC=../mine.c", cwd=copy)
    (copy / "build").chmod(0o755)
    g.holds("a right answer is right where build/ may not be written", done.status == 0
            and "score: 10/10" in done.out, done.out)


def a_class(g):
    """A class's table of marks."""
    handed, marks = g.folder / "submissions", g.folder / "marks.csv"
    wrong = {**OTHER_STYLE, ONE: "    for (;;)\n        ;\n"}
    for name, bodies in ("own", {}), ("one", OTHER_STYLE), ("loop", wrong):
        (handed / name).mkdir(parents=True)
        student(handed / name / "transformer.c", bodies)
    before = {path: path.read_bytes() for path in handed.rglob("*.c")}
    rows = _graded(g, handed, marks, f"{ONE},softmax_backward")
    g.holds("each has a row of points", {name: row["points"] for name, row in rows.items()} == {
        "own": "20", "one": "20", "loop": "10"}, str(rows))
    g.holds("it says what is the reference's, and what is wrong",
            rows["own"]["reference"].startswith("2 of 2 ")
            and "a loop without end" in rows["loop"]["causes"], str(rows))
    g.holds("no submission is changed", before == {
        path: path.read_bytes() for path in handed.rglob("*") if path.is_file()})
    student(handed / "loop" / "transformer.c", OTHER_STYLE)
    marks.write_text(marks.read_text().replace(rows["one"]["digest"] + ",20",
                                               rows["one"]["digest"] + ",19"))
    again = _graded(g, handed, marks, f"{ONE},softmax_backward")
    g.holds("a second time only what has changed is graded", again["loop"]["points"] == "20"
            and again["one"]["points"] == "19", str(again))

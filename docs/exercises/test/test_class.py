"""Gradescope, and a class."""

import csv
import json
import re
import shutil
import sys
import zipfile

from groups import EXERCISES, ONE, PAGES, REFERENCE, REGIONS, ROOT, ran, student


# Another way to write three bodies, all right; and two bodies that are wrong.
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
""", "clip_factor": "    double f = 1;\n    if (norm > clip)\n        f = clip / norm;\n"
                    "    return f;\n"}


SUBMISSIONS = {
    "full": {"my-transformer.c": REFERENCE, ".hints": "[1]",
             "bugs/training-and-use.c": REFERENCE,
             "overfit.options": "--dropout 0 --lr 3e-3 --warmup 20\n"},
    "none": {},
    "broken": {"transformer.c": REFERENCE.replace("? clip / norm", "? norm / clip")}}


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

    def graded(name, points):
        """It runs somewhere else, and this is the sum."""
        shutil.rmtree(root / "submission", ignore_errors=True)
        (root / "submission").mkdir()  # Gradescope moves it there
        for file, text in SUBMISSIONS[name].items():
            (root / "submission" / file).parent.mkdir(exist_ok=True)
            (root / "submission" / file).write_bytes(text.encode("utf-8"))
        done = ran("sh", root / "run_autograder", cwd="/", AUTOGRADER=str(root))
        result = root / "results" / "results.json"
        g.output = done.out + result.read_text(encoding="utf-8")
        top = json.loads(result.read_text(encoding="utf-8"))
        g.staff = top["tests"].pop()
        return (done.status == 0
                and sum(test["score"] for test in top["tests"]) == points
                and [test["number"] for test in top["tests"]] == wanted)

    g.holds("the zip file, unpacked in an empty folder, gives a good submission its "
            "points", graded("full", sum(page.worth for page in pages)))
    g.holds("staff alone are told how much of it is the reference",
            g.staff["visibility"] == "hidden" and g.staff["output"]
            == f"{len(REGIONS)} of {len(REGIONS)} regions are the reference's", str(g.staff))
    g.holds("an empty submission gets nothing, and results.json says why",
            graded("none", 0))
    g.holds("namely:", "there is no " in g.output)
    g.holds("a mistake costs only its own points", graded("broken", 15))
    g.holds("a usual mistake is named", "the quotient is turned round: factor · norm "
            "is clip (chapter 11, “Clipping”)" in g.output)
    g.holds("setup.sh is a shell script", ran(
        "sh", "-n", root / "source" / "setup.sh").status == 0)


def _hand_in(handed):
    """Six submissions: folders, and two zip files, one of which is none."""
    todo = '    exercise_todo("NAME");\n'
    renamed = {name: re.sub(r"\b(total|seen|s|top)\b", r"my_\1", body)
               for name, body in OTHER_STYLE.items()}
    for name, bodies in (("reference", {}), ("one", {**OTHER_STYLE, "*": todo}),
                         ("two", {**renamed, "*": todo}), ("empty", {"*": todo}),
                         ("loop", {ONE: "    for (;;)\n        ;\n", "*": todo})):
        (handed / name).mkdir(parents=True)
        student(handed / name / "transformer.c", bodies)
    with zipfile.ZipFile(handed / "two.zip", "w") as archive:
        archive.write(handed / "two" / "transformer.c", "exercises/transformer.c")
    shutil.rmtree(handed / "two")
    (handed / "no.zip").write_bytes(b"PK no")


def a_class(g):
    """Six submissions, to a table of marks."""
    handed, marks = g.folder / "submissions", g.folder / "marks.csv"
    _hand_in(handed)
    before = {path: path.read_bytes() for path in handed.rglob("*") if path.is_file()}

    def graded():
        g.output = ran(sys.executable, EXERCISES / "class.py", handed, marks,
                       f"{ONE},softmax_backward").out
        with open(marks, encoding="utf-8") as file:
            return {row["submission"]: row for row in csv.DictReader(file)}

    rows = graded()
    g.holds("each submission, a folder or a zip file, has its row of marks", {
        name: row["points"] for name, row in rows.items()} == {
        "reference": "20", "one": "20", "two.zip": "20", "empty": "0", "loop": "0",
        "no.zip": "0"}, str(rows))
    g.holds("it says what is the reference's, who wrote the same lines with other names, "
            "and what is wrong", rows["reference"]["reference"].startswith(
                f"{len(REGIONS)} of {len(REGIONS)} ")
            and rows["one"]["alike"] == "2 regions as two.zip"
            and not rows["reference"]["alike"] and rows["one"][ONE] == "10"
            and "a loop without end" in rows["loop"]["causes"]
            and "there is no " in rows["no.zip"]["causes"], str(rows))
    g.holds("no submission is changed", before == {
        path: path.read_bytes() for path in handed.rglob("*") if path.is_file()})
    student(handed / "loop" / "transformer.c",
            {ONE: OTHER_STYLE[ONE], "*": '    exercise_todo("NAME");\n'})
    marks.write_text(marks.read_text().replace(rows["one"]["digest"] + ",20",
                                               rows["one"]["digest"] + ",19"))
    again = graded()
    g.holds("a second time only what has changed is graded", again["loop"]["points"] == "10"
            and again["one"]["points"] == "19", str(again))

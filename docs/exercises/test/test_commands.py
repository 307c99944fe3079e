"""The student's commands, one more exercise, and other machines."""

import ast
import re
import shutil
import sys

from groups import (EXERCISES, ONE, PAGES, REFERENCE, ROOT, TOOL, in_copy,
                    of_kind, project, ran, student)
import source_file
import wrong_bodies


def changed_reference(g):
    g.holds("wrong_bodies.txt has transformer.c's digest: python3 "
            "docs/exercises/grader/run_wrong_bodies.py transformer.c",
            not wrong_bodies.if_changed())
    copy = project(g)
    text = REFERENCE + "// A word more.\n"
    for say, text in ((False, text), (True, text.replace("? clip / norm", "? norm / clip"))):
        (copy / "transformer.c").write_bytes(text.encode("utf-8"))
        student(copy / "mine.c", {})
        g.output = in_copy(copy, "grade", "N=clip_factor", "SRC=mine.c").out
        g.holds("changed code of transformer.c itself is reported" if say else
                "changed comments are not", ("transformer.c is changed" in g.output) == say)


def broken_tool(g):
    """A fault of the grader: status 2, one line, and no marks."""
    copy = project(g)
    path = copy / "docs" / "exercises" / "pages" / "head.md"
    path.write_bytes(path.read_bytes() + b"= it does not fit\n{nothing -> m}\n")
    line = path.read_bytes().count(b"\n")
    why = f"exercise 7, head: the grader fails: docs/exercises/pages/head.md:{line}: {{nothing"
    result, handed = g.folder / "broken.json", g.folder / "handed" / "one"
    result.write_text('{"tests": []}')
    handed.mkdir(parents=True)
    student(handed / "mine.c", {"head": "    return m;\n", "clip_factor": "    ;\n&\n"})
    done = in_copy(copy, "grade", "N=clip_factor,head", f"FOLDER={handed}", f"JSON={result}")
    g.holds("what breaks the tool is reported, and there are no marks", done.status == 2
            and f"error: {why}" in done.out and "score" not in done.out
            and not result.exists(), done.out)
    done = ran(sys.executable, "docs/exercises/class.py", handed.parent, g.folder / "marks.csv",
               "clip_factor,head", cwd=copy)
    table = (g.folder / "marks.csv").read_text()
    g.holds("nor are there any in a class", done.status == 2 and "one,,,,,,,," in table
            and f"one: not graded: {why}" in done.out, done.out + table)


def _backed_up(g):
    """The newest of the student's files in backup."""
    return max(g.desk.glob("backup/transformer.c.*"),
               key=lambda path: path.stat().st_mtime_ns).read_bytes()


def files_of_a_student(g):
    desk = g.desk / "transformer.c"
    g.tool("exercises")
    changed = desk.read_bytes() + b"// changed\n"
    desk.write_bytes(changed)
    g.says("a changed file is kept", 1, "has been changed: it is kept", "exercises")
    g.holds("byte for byte", desk.read_bytes() == changed)
    g.says("FORCE=1 starts over", 0, "transformer.c is written", "exercises", "FORCE=1")
    g.holds("and the changed one is in backup",
            desk.read_bytes() != changed and _backed_up(g) == changed)
    g.says("make exercise shows the page", 0, "softmax", "exercise", f"N={ONE}")
    line = desk.read_text(encoding="utf-8").split("\n") \
        .index(f"    //@ exercise {ONE}") + 2
    g.holds("with the file and the line to edit",
            re.search(rf"^edit .*transformer\.c, line {line}$", g.output, re.M))
    g.says("make exercise lists all", 0, ONE, "exercise")
    g.holds("with points", g.output.count(" points  ") == len(PAGES)
            == len(list(EXERCISES.glob("pages/*.md"))))


def hints(g):
    for count in 1, 2, 3:
        g.says(f"hint {count}", 0, f"Hint {count} of 3", "hint", f"N={ONE}")
        g.holds("and none after it", f"Hint {count + 1}" not in g.output)
    g.holds("then there are no more", "no more hints" in g.output)
    (g.desk / ".hints").unlink()
    answer = "exponential(x[j] - most)"
    g.says("no solution before a pass", 1, "has not passed yet", "solution", f"N={ONE}")
    g.says("SHOW=1 shows it all the same", 0, answer, "solution", f"N={ONE}", "SHOW=1")
    g.says("a file of one's own passes", 0, "score: ", "grade", f"N={ONE}",
           student(g.folder / "mine.c", {ONE: "    ;\n&\n"}))
    g.says("then the solution is shown", 0, answer, "solution", f"N={ONE}")


def reset(g):
    desk = g.desk / "transformer.c"
    desk.write_bytes(REFERENCE.encode("utf-8"))
    g.says("reset takes one exercise back", 0, "as it was in the beginning", "reset",
           f"N={ONE}")
    regions = source_file.regions(desk.read_text(encoding="utf-8"), "the file")
    ours = source_file.regions(REFERENCE, "transformer.c")
    g.holds("only that one, and the file as it was is in backup",
            [name for name in ours if ours[name].body != regions[name].body] == [ONE]
            and source_file.is_stub(ONE, regions[ONE])
            and _backed_up(g) == REFERENCE.encode("utf-8"))
    desk.write_bytes(b"// caf\351\n")
    g.says("nothing is taken back in a broken file", 2, "error: ", "reset", f"N={ONE}")
    g.holds("it is not touched", desk.read_bytes() == b"// caf\351\n")


def arguments(g):
    desk, named = g.desk / "transformer.c", g.folder / """O'Brien's "$x" & .c"""
    points = sum(page.worth for page in PAGES[:3])
    g.tool("exercises")
    for status, text, *words in (
            (2, "there is no exercise 99", "grade", "N=99"),
            (2, "there is no exercise 40-99", "grade", "N=40-99"),
            (2, "there is no exercise nothing", "hint", "N=nothing"),
            (2, "which exercise?", "hint"), (2, "what shall I do?", "dance"),
            (2, 'what is "M=5"?', "grade", "M=5"), (1, "score: 0/10\n", "grade", f"N={ONE}"),
            (0, f"score: {points}/{points}\n", "grade", f"N=1-3,2,{ONE},2-3",
             "SRC=transformer.c")):
        g.says(" ".join(words), status, text, *words)
    shutil.copy(desk, named)
    for claim, status, source, *arguments in (
            ("it is no error of make's, whatever the file's name", 0, named, f"N={ONE}"),
            ("but if its status is asked for", 2, desk, f"N={ONE}", "STATUS=1"),
            ("full marks are none", 0, ROOT / "transformer.c", "N=head", "STATUS=1"),
            ("an exercise that does not exist is one", 2, desk, "N=99")):
        done = ran("make", "-s", "grade", *arguments, f"SRC={source}")
        g.holds(claim, done.status == status and ("Error" in done.out) == (status > 0)
                and ("score: " in done.out) == (arguments != ["N=99"]), done.out)


def another_exercise(g):
    """One added in the middle: its page, and a line of order.txt."""
    copy = project(g)
    old = next(page for page in PAGES if page.name == "slow_learner")
    order = copy / "docs" / "exercises" / "order.txt"
    pages = order.with_name("pages")
    shutil.copy(pages / "slow_learner.md", pages / "new_one.md")

    def says(claim, status, text, *arguments):
        done = in_copy(copy, *arguments)
        g.holds(claim, done.status == status and text in done.out, done.out)

    says("a page that no list has is an error", 2, "new_one: it stands neither in", "exercise")
    order.write_text(order.read_text().replace("slow_learner\n", "slow_learner\nnew_one\n"))
    says("an exercise is added in the middle by its page and a line", 0,
         "exercises/bugs/new-one.c; a check fails", "exercise", "N=new_one")
    says("it is graded by its number", 1, f"todo {old.number + 1} new_one", "grade",
         f"N={old.number + 1}")
    (pages / "new_one.md").unlink()
    says("a line without a page is an error", 2, "there is no page new_one.md", "exercise")


def teachers(g):
    """What teacher.md says of the exercises is true."""
    text = (EXERCISES / "teacher.md").read_text(encoding="utf-8")
    wanted = [(str(len(of_kind(kind))), kind, str(sum(p.worth for p in of_kind(kind))))
              for kind in source_file.KINDS]
    found = re.findall(r"^\| +(\d+) \| (\w+) .*\| +(\d+) \|$",
                       text.partition("\n## ")[0], re.M)
    g.holds("it counts them and their points in a table", found == wanted, f"wanted: {wanted}")
    named = set(re.findall(r"`(\w+)`", "".join(re.findall(
        r"^\| +\d.*", text.partition("## Three plans")[2], re.M))))
    g.holds("the exercises of its plans are there", named and named <= {
        page.name for page in PAGES}, str(named))


def other_machines(g):
    for path in TOOL, EXERCISES / "class.py", *(EXERCISES / "grader").glob("*.py"):
        ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 8))
    g.says("a compiler that is not there is named, with what to install", 2,
           "error: no C compiler: install gcc (there is no nocc)", "grade",
           "SRC=transformer.c", f"N={ONE}", "CC=nocc -O1")

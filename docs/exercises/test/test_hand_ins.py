"""What is handed in and what is broken in it; what the tool writes, and where."""

import fcntl
import json
import os
import re
import shutil
import time

from groups import ONE, REFERENCE, REGION, REGIONS, in_copy, of_kind, project, student
import cutting
import files
import hand_ins
import source_file


def broken_regions(g):
    path, result = g.folder / "broken.c", g.folder / "broken.json"

    def broken(claim, what, pattern, new, *costs):
        text = re.sub(pattern, new, REFERENCE, flags=re.M | re.S)
        path.write_bytes(text.encode("utf-8"))
        whole = hand_ins.student_regions(path)
        found = {page.name: hand_ins.region_of(page, path, whole) for page in of_kind("write")}
        g.holds(f"{claim} is told with its line: {what}", text != REFERENCE and re.search(
            rf"broken\.c:\d+: .*{re.escape(what)}", str(found[costs[0]])))
        g.holds(f"and costs no more than {' and '.join(costs)}", {
            name for name, region in found.items() if isinstance(region, str)} == set(costs))

    broken("a nested marker", "has no //@ end", fr"(//@ exercise {ONE}\n)",
           r"\1    //@ exercise softmax_backward\n", ONE, "softmax_backward")
    broken("the last region without its end", "has no //@ end",
           rf"(//@ exercise {REGIONS[-1]}\n.*?)^ *//@ end\n", r"\1", REGIONS[-1])
    broken("an end without a beginning", "//@ end without a //@ exercise",
           fr"^ *//@ exercise {ONE}\n", "", ONE)
    broken("a region that stands twice", "//@ exercise head stands here again",
           f"//@ exercise {ONE}", "//@ exercise head", "head", ONE)
    broken("an unknown exercise", f"there is no exercise {ONE}_",
           f"@ exercise {ONE}", f"@ exercise {ONE}_", ONE)
    broken("an unknown marker", f"unknown marker: //@ exercize {ONE}",
           f"@ exercise {ONE}", f"@ exercize {ONE}", ONE)
    broken("a region without its end", f"{ONE} has no //@ end",
           fr"(//@ exercise {ONE}\n.*?)^ *//@ end\n", r"\1", ONE)
    g.tool("grade", f"SRC={path}", f"JSON={result}", f"N={ONE},head")
    g.holds("and in the marks, too", {name: test["score"] for name, test in
                                      g.graded(result).items()} == {ONE: 0, "head": 5})
    g.says("reset gives it its end again", 0, "as it was", "reset", f"SRC={path}",
           f"N={ONE}")
    student(g.folder / "wanted.c", {ONE: "\n".join(source_file.stub_body(
        ONE, cutting.reference_regions()[ONE])) + "\n"})
    g.holds("and changes nothing else",
            path.read_bytes() == (g.folder / "wanted.c").read_bytes())


def broken_files(g):
    path = g.folder / "broken.c"
    path.write_bytes(re.sub(REGION % ONE, "", REFERENCE,
                            flags=re.S).encode("utf-8"))
    source = f"SRC={path}"
    g.says("a region that lacks is named", 1, f"has no line //@ exercise {ONE}",
           "grade", source, f"N={ONE}")
    g.says("the others are graded", 0, "score: ", "grade", source, "N=head")
    path.write_bytes(REFERENCE.replace("\n", "\r\n").encode("utf-8"))
    g.says("a file with Windows line ends is as good", 0, "score: ", "grade", source)
    path.write_bytes(b"")
    g.says("an empty file gets nothing", 1, "score: 0/", "grade", source)
    g.says("no file is an error", 2, "there is no ", "grade",
           f"SRC={g.folder / 'nothing.c'}")
    g.says("a folder is an error", 2, "cannot read", "grade", f"SRC={g.folder}")
    path.write_bytes(os.urandom(5000))
    g.says("a file that is no text is an error", 2, "broken.c:", "grade", source)
    path.write_bytes(b"// caf\351\n")
    g.says("so is one that is not UTF-8", 2, "broken.c:1: this is not UTF-8",
           "grade", source)


def results_elsewhere(g):
    """JSON= and SRC= replace no file but results, and the student's own one."""
    copy = project(g)
    mine = copy / "exercises" / "transformer.c"
    mine.parent.mkdir()
    student(mine, {ONE: "    ;\n&\n"})
    (copy / "mine.json").write_bytes(mine.read_bytes())
    (copy / "list.json").write_text("[]")
    (copy / "link.json").symlink_to("transformer.c")
    (copy / "link.c").symlink_to("transformer.c")

    def files():
        return {path: path.read_bytes() for path in copy.rglob("*")
                if path.is_file() and "build" not in path.parts}

    def kept(claim, what, *arguments):
        before = files()
        done = in_copy(copy, *arguments)
        g.holds(f"{claim} is refused in one line: {what}", done.status == 2
                and what in done.out and done.out.startswith("error: ")
                and done.out.count("\n") == 1, done.out)
        g.holds("and no file is another one then", files() == before)

    source, suffix = "SRC=exercises/transformer.c", "does not end in .json"
    kept("JSON=, the same file as SRC=,", suffix, "grade", f"N={ONE}", source,
         "JSON=exercises/transformer.c")
    kept("JSON=, the same file as SRC=, whatever its name,", "has no results",
         "grade", f"N={ONE}", "SRC=mine.json", "JSON=mine.json")
    kept("JSON=, the student's file,", suffix, "grade", f"N={ONE}",
         "JSON=exercises/transformer.c")
    for name in "transformer.c", "docs/exercises/grader/grade.c", "link.json":
        kept(f"JSON={name}", "is the project's", "grade", f"N={ONE}", f"JSON={name}")
    kept("JSON=, other JSON,", "has no results", "grade", f"N={ONE}", "JSON=list.json")
    kept("JSON=, a new file among the project's,", "is the project's", "grade",
         f"N={ONE}", "JSON=docs/results.json")
    for name, what in (("transformer.c", "transformer.c is the project's"),
                       ("link.c", "links are not followed")):
        kept(f"reset with SRC={name}", what, "reset", f"N={ONE}", f"SRC={name}")
    kept("the project's folder as the student's", "transformer.c is the project's",
         "exercises", "FOLDER=.", "FORCE=1")


def results_written(g):
    mine = g.folder / "mine.c"
    student(mine, {ONE: "    ;\n&\n"})
    result = g.folder / "results.json"
    for claim in "a new file of results is written", "results are replaced":
        g.says(claim, 0, "score: 10/10", "grade", f"N={ONE}", f"SRC={mine}",
               f"JSON={result}")
        g.holds("and are whole", list(g.graded(result)) == [ONE])
        result.write_text(json.dumps({"tests": []}))


def state(g):
    """The tool's own file, .hints."""
    path = g.desk / ".hints"
    for what, text in (("no UTF-8", b"\377"), ("a list", b"[1]"), ("a number", b"1"),
                       ("nested deeply", b"[" * 200000),
                       ("lists in an object", b'{"hints": [], "passed": []}'),
                       ("text for a number", f'{{"hints": {{"{ONE}": "x"}}}}'.encode()),
                       ("empty", b""), ("no JSON", b"hints")):
        path.write_bytes(text)
        if what == "no JSON":
            g.says(f".hints, {what}: all exercises are listed", 0, ONE, "exercise")
            g.says("none has passed", 1, "has not passed yet", "solution", f"N={ONE}")
            g.holds("it is not touched by that", path.read_bytes() == text)
        shutil.rmtree(g.desk / "backup", ignore_errors=True)
        g.says(f".hints, {what}: hints begin anew", 0, "Hint 1 of 3", "hint", f"N={ONE}")
        g.holds("which is said once, and the broken one is kept",
                g.output.count(".hints is broken: it begins anew\n") == 1
                and [c.read_bytes() for c in g.desk.glob("backup/.hints.*")] == [text])
    g.says("then it is as good as new", 0, "Hint 2 of 3", "hint", f"N={ONE}")
    g.holds("and not spoken of", ".hints" not in g.output)
    shutil.rmtree(g.desk / "backup")
    path.unlink()
    path.mkdir()
    g.says("a folder of this name is an error", 2, ".hints is not a file", "hint",
           f"N={ONE}")
    path.rmdir()

    path.write_text(json.dumps({"hints": {"head": 1}}))
    folder = os.open(g.desk, os.O_RDONLY)
    fcntl.flock(folder, fcntl.LOCK_EX)
    process = g.start("hint", f"N={ONE}")
    time.sleep(3)
    waits = process.poll() is None
    path.write_text(json.dumps({"hints": {"head": 2}}))
    os.close(folder)
    g.output = process.communicate(timeout=60)[0]
    g.holds("the tool waits until another one has written", waits)
    g.holds("and loses nothing of what it wrote", json.loads(path.read_text())
            ["hints"] == {"head": 2, ONE: 1}, path.read_text())
    g.holds("no other file is left", list(g.desk.iterdir()) == [path])


def links(g):
    """No link in what is handed in leads out of it, and nothing but a file is read."""
    secret, mine = g.folder / "secret", g.folder / "mine.c"
    secret.write_text("a key\n")
    student(mine, {})
    bug = next(page for page in of_kind("bug"))
    (g.folder / "key").mkdir()
    fixed_bug = g.folder / "key" / f"{bug.slug}.c"
    fixed_bug.write_bytes(REFERENCE.encode("utf-8"))
    page = of_kind("train")[0]
    for name, target, wanted in (
            ("transformer.c", mine, ONE), ("answers.txt", secret,
                                                     "parameter_counts"),
            ("bugs", g.folder / "key", bug.name),
            (f"{bug.slug}.c", fixed_bug, bug.name), (page.file, secret, page.name)):
        (g.desk / name).symlink_to(target)
        got = g.tool("grade", f"N={wanted}")
        g.holds(f"{name} that is a link gets nothing, and shows nothing", got > 0
                and "links are not followed" in g.output and "a key" not in g.output
                and "score: 10/" not in g.output)
        (g.desk / name).unlink()
    os.mkfifo(g.desk / "answers.txt")
    g.says("nor does what is no file", 1, "answers.txt is not a file", "grade",
           "N=parameter_counts")
    (g.desk / ".hints").symlink_to(secret)
    g.says("the tool's own file is not written through a link", 2,
           "links are not followed", "hint", f"N={ONE}")
    g.holds("and what the link leads to is as before", secret.read_text() == "a key\n")

"""What is handed in and what is broken in it; what the tool writes, and where."""

import os
import re
import shutil

from groups import ONE, REFERENCE, REGION, in_copy, of_kind, project, student
import files
import hand_ins


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
    broken("an end without a beginning", "//@ end without a //@ exercise",
           fr"^ *//@ exercise {ONE}\n", "", ONE)
    broken("a region that stands twice", "//@ exercise head is here a second time",
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


def broken_files(g):
    path = g.folder / "broken.c"
    path.write_bytes(re.sub(REGION % ONE, "", REFERENCE, flags=re.S).encode("utf-8"))
    g.says("a region that is missing is named", 1, f"has no line //@ exercise {ONE}",
           "grade", f"SRC={path}", f"N={ONE}")
    g.says("the others are graded", 0, "score: ", "grade", f"SRC={path}", "N=head")
    for claim, data, status, say in (
            ("a file with Windows line ends is as good",
             REFERENCE.replace("\n", "\r\n").encode("utf-8"), 0, "score: "),
            ("an empty file gets nothing", b"", 1, "score: 0/"),
            ("a comment in another encoding is one, too",
             REFERENCE.replace("// (1)", "// (1) gr\udcf6\udcdfer").encode(
                 "utf-8", "surrogateescape"), 0, "score: 255/255"),
            ("a file that is no text is an error", b"\n\320\317\0", 2,
             "broken.c:2: this is not text")):
        path.write_bytes(data)
        g.says(claim, status, say, "grade", f"SRC={path}")
    g.says("so is no file", 2, "there is no ", "grade", f"SRC={g.folder / 'nothing.c'}")
    (g.folder / "handed").mkdir()
    student(g.folder / "handed" / "mine.c", {ONE: "    ;\n&\n"})
    packed = shutil.make_archive(str(g.folder / "a"), "gztar", str(g.folder / "handed"))
    for source in g.folder / "handed", packed:
        g.says("in a folder, or an archive, the file is found", 0, "score: 10/10", "grade",
               f"SRC={source}", f"N={ONE}")


def results_elsewhere(g):
    """JSON= and SRC= replace no file of the project, and JSON= nothing but a .json file."""
    copy = project(g)
    mine = copy / "exercises" / "transformer.c"
    mine.parent.mkdir()
    student(mine, {ONE: "    ;\n&\n"})
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
        g.holds("and no file has changed", files() == before)

    for name, what in (
            ("exercises/transformer.c", "does not end in .json"),
            ("docs/results.json", "is the project's"), ("link.json", "is the project's")):
        kept(f"JSON={name}", what, "grade", f"N={ONE}", f"JSON={name}")
    for name in "transformer.c", "link.c":
        kept(f"reset with SRC={name}", "transformer.c is the project's", "reset", f"N={ONE}",
             f"SRC={name}")
    kept("the project's folder as the student's", "transformer.c is the project's",
         "exercises", "FOLDER=.", "FORCE=1")


def state(g):
    """The tool's own file, .hints."""
    path = g.desk / ".hints"
    files.SETTINGS["FOLDER"] = str(g.desk)
    for what, text in (("no UTF-8", b"\377"), ("a list", b"[1]"),
                       ("nested deeply", b"[" * 200000), ("lists in it", b'{"hints": []}'),
                       ("text for a number", f'{{"hints": {{"{ONE}": "x"}}}}'.encode()),
                       ("empty", b"")):
        path.write_bytes(text)
        g.holds(f".hints, {what}: it is broken", hand_ins.read_notes() is None)
    del files.SETTINGS["FOLDER"]
    g.says("hints begin anew", 0, "Hint 1 of 3", "hint", f"N={ONE}")
    g.holds("which is said, and the broken one is kept",
            ".hints is damaged: a new one is begun\n" in g.output
            and [c.read_bytes() for c in g.desk.glob("backup/.hints.*")] == [text])
    g.says("then it is as good as new", 0, "Hint 2 of 3", "hint", f"N={ONE}")
    shutil.rmtree(g.desk / "backup")
    g.holds("no other file is left", list(g.desk.iterdir()) == [path])


def links(g):
    """No link in what is handed in leads out of it, and nothing but a file is read."""
    secret = g.folder / "secret"
    secret.write_text("a key\n")
    for name in "answers.txt", "bugs":
        (g.desk / name).symlink_to(g.folder if name == "bugs" else secret)
        g.says(f"{name} that is a link is not read", 2, f"{name}: links are not followed",
               "grade")
        (g.desk / name).unlink()
    os.mkfifo(g.desk / "answers.txt")
    g.says("nor is what is not a file", 2, "answers.txt: this is not a file", "grade")
    (g.desk / ".hints").symlink_to(secret)
    g.says("the tool's own file is not written through a link", 2,
           "links are not followed", "hint", f"N={ONE}")
    g.holds("and what the link leads to is as before", secret.read_text() == "a key\n")

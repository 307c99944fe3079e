#!/usr/bin/env python3
"""What the exercises promise, each a line "ok" or "FAIL".

    python3 docs/exercises/test.py           about two minutes on two cores
    python3 docs/exercises/test.py cheats    this group of claims alone
    FULL=1 python3 docs/exercises/test.py    all regions and trainings, else some

The last line is "N passed, N failed". With CI=true a check that cannot be made
counts as failed. Everything happens in build/test-exercises, in a folder for each
group of claims; two groups run at a time.
"""

import ast
import builtins
import csv
import fcntl
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HERE = ROOT / "docs" / "exercises"
TOOL = HERE / "tool.py"
WORK = ROOT / "build" / "test-exercises"
sys.path[:0] = [str(HERE), str(HERE.parent / "weaver")]
sys.dont_write_bytecode = True
import known
import oral
import source_file
import tool

REFERENCE = (ROOT / "transformer.c").read_text(encoding="utf-8")
PAGES = tool.load_exercises()
REGIONS = [page.name for page in PAGES if page.kind == "write"]
FULL = bool(os.environ.get("FULL"))
TWO = next(page.number for page in PAGES if page.name == "two_answers")
CI = os.environ.get("CI") == "true"
ENVIRONMENT = {key: value for key, value in os.environ.items() if key not in
               ("SRC", "JSON", "N", "FORCE", "SHOW", "AUTOGRADER", "STATUS",
                "PYTHONDONTWRITEBYTECODE")}
ENVIRONMENT.update(LC_ALL="C.UTF-8", PYTHONPYCACHEPREFIX=str(WORK / "pycache"))
NATIVE = "-march=native -ffp-contract=off"  # the same bits, sooner
ONE = next(name for name in REGIONS if "softmax" in name)  # with which most is tried
REGION = r"( *//@ exercise (%s)\n)(.*?)( *//@ end\n)"


def of_kind(kind):
    return [page for page in PAGES if page.kind == kind]


def numbers_of(pages):
    return "N=" + ",".join(str(page.number) for page in pages)


def student(path, bodies):
    """A file like the reference with other bodies: {name or "*" (all): body}. In a
    body, a line "&" is the reference's own one, and NAME the region's name."""
    def body(m):
        new = bodies.get(m[2], bodies.get("*", "&\n"))
        return m[1] + new.replace("&\n", m[3]).replace("NAME", m[2]) + m[4]
    path.write_bytes(re.sub(REGION % r"\w+", body, REFERENCE, flags=re.S).encode())
    return f"SRC={path}"


def ran(*command, cwd=ROOT, **environment):
    """A program that has ended: its status, and in stdout all that it has printed."""
    return subprocess.run([str(word) for word in command], cwd=str(cwd), encoding="utf-8",
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          env={**ENVIRONMENT, **environment})


def in_copy(copy, *arguments):
    """The tool of a copy of the project, run in it."""
    return ran(sys.executable, "docs/exercises/tool.py", *arguments, cwd=copy)


def within(seconds, holds):
    """Whether it holds, now or so much later."""
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            return False
        time.sleep(0.1)
    return True


def running(pid):
    """The programs of students that the tool with this process id has started."""
    lines = ran("ps", "-eo", "stat,args").stdout.splitlines()
    return [line for line in lines if line[0] != "Z" and f"/run-{pid}-" in line]


class Group:
    """A group of claims, with a folder of its own and what it has printed."""

    def __init__(self, run):
        self.folder = WORK / run.__name__
        self.desk = self.folder / "desk"
        self.desk.mkdir(parents=True)
        self.run, self.lines, self.passed, self.failed = run, [], 0, 0
        self.output = ""  # of the tool, the last time
        self.pid = 0

    def holds(self, claim, holds, log=None):
        self.passed, self.failed = self.passed + bool(holds), self.failed + (not holds)
        self.lines.append(("ok   " if holds else "FAIL ") + claim)
        if not holds:
            log = self.output if log is None else log
            self.lines += [f"     | {line[:200]}" for line in log.split("\n")[-14:]]
        return holds

    def start(self, *arguments, environment=None):
        process = subprocess.Popen(
            [sys.executable, str(TOOL), *arguments, f"FOLDER={self.desk}"],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=str(ROOT),
            env=dict(ENVIRONMENT, **(environment or {})), encoding="utf-8")
        self.pid = process.pid
        return process

    def tool(self, *arguments, environment=None):
        """The tool's exit status; self.output is what it printed."""
        process = self.start(*arguments, environment=environment)
        try:
            self.output = process.communicate(timeout=300)[0]
        except subprocess.TimeoutExpired:
            process.kill()
            self.output = "the tool takes longer than 300 seconds"
        return process.returncode

    def says(self, claim, status, text, *arguments, environment=None):
        """The tool ends with this status and prints this text."""
        got = self.tool(*arguments, environment=environment)
        return self.holds(
            f"{claim}; wanted: {text}" if got != status else claim,
            got == status and text in self.output and "Traceback" not in self.output,
            f"{self.output}\nstatus {got}, wanted {status}: {text}")

    def exactly(self, right, wrong, todo):
        """So many lines of each kind in the output."""
        return [len(re.findall(rf"^{word}", self.output, re.M))
                for word in ("ok  ", "FAIL", "todo")] == [right, wrong, todo]

    def graded(self, path):
        """The tests of a results.json, by name."""
        tests = json.loads(path.read_text(encoding="utf-8"))["tests"]
        return {re.match(r"\d+ (\w+):", test["name"])[1]: test for test in tests
                if test["visibility"] == "visible"}


# ------------------------------------------------ the stub and the reference

def stub(g):
    g.says("make exercises writes the stub", 0, "transformer.c is written",
           "exercises")
    path = g.desk / "transformer.c"
    for cc in "gcc", "clang":
        if shutil.which(cc):
            done = ran(cc, *"-std=c11 -Wall -Wextra -Wpedantic -Wshadow -Werror".split(),
                       path, "-o", g.folder / "a.out", "-lm")
            g.holds(f"the stub compiles without a warning with {cc}",
                    done.returncode == 0, done.stdout)
        elif CI:
            g.holds(f"{cc} is installed", False)
        else:
            g.lines.append(f"skip {cc} is not installed")
    g.tool("grade", f"N=1-{len(REGIONS)}")
    g.holds("the untouched stub gets no point", g.exactly(0, 0, len(REGIONS)))
    g.says("and no exercise of the others is begun", 1, "score: 0/", "grade")
    g.holds(f"the {len(REGIONS)} regions set back into the stub give transformer.c, "
            "byte for byte", restored(path.read_bytes().decode("utf-8")))


def restored(text):
    """Whether a text is transformer.c but for its regions, all empty, and the preamble."""
    ours = tool.reference_regions()
    whole = source_file.with_bodies(text, {name: ours[name].body for name in REGIONS})
    extra = re.search(r"\n// What is not written yet.*?\n#endif\n", whole, re.S)
    return whole.replace(extra[0], "") == REFERENCE and all(
        tool.is_stub(*region) for region in tool.regions(text, "the stub").items())


def reference(g):
    g.says("the reference gets full marks", 0, "score: ", "grade",
           "SRC=transformer.c")
    g.holds(f"in all {len(REGIONS)} exercises", g.exactly(len(REGIONS), 0, 0))
    tried = REGIONS if FULL else REGIONS[1::4]
    mine = student(g.folder / "mine.c", {"*": "    ; // mine\n&\n"})
    g.says("so does a file in which every region is another one, compiled one by one",
           0, "score: ", "grade", mine, "N=" + ",".join(tried))
    g.holds(f"in {len(tried)} exercises", g.exactly(len(tried), 0, 0))


def single_stubs(g):
    """As they are, and with a statement before: then they are compiled."""
    tried = REGIONS if FULL else REGIONS[2::8]
    reached = 0
    todo = '    exercise_todo("NAME");\n'
    g.tool("grade", student(g.folder / "single.c", {tried[0]: todo}),
           f"N=1-{len(REGIONS)}")
    g.holds("a single stub fails its own check and no other",
            g.exactly(len(REGIONS) - 1, 0, 1)
            and re.search(f"^todo.* {tried[0]} ", g.output, re.M))
    for name in tried:
        # norm_forward declares what the lines after the region use
        declared = "real mean = 0, scale = 0;" * (name == "norm_forward")
        g.tool("grade", f"N={name}",
               student(g.folder / "single.c", {name: f"    {declared};\n{todo}"}))
        if g.exactly(0, 0, 1) and f"exercise: {name} is not written yet" in g.output:
            reached += 1
        else:
            g.holds(f"the check of {name} calls the function", False)
    g.holds(f"each check comes to the student's code ({reached} of {len(tried)} "
            "tried)", reached == len(tried))


# ------------------------------------------------------- mistakes of students

def mistakes(g):
    """Each is refused, and named by its numbers alone; what the grader says by itself
    is seen in the grading of a student's file. Not in full: of a sixth of them."""
    made, total, every, tried = tool.reference(), 0, [], 0
    for e in of_kind("write"):
        mine = tool.load_mistakes(e, tool.reference_regions()[e.name].body)
        every += mine
        mine = [m for m in mine if m.kind == "="]
        wrong, count = tool.wrong_bodies(e, REFERENCE), len({m.say for m in mine})
        total += count
        g.holds(f"{e.name}: known.txt is of these {len(wrong)} wrong bodies", count >= 4
                and tool.read_known()[e.name][1] == tool.key_of(wrong))
        if not FULL and e.number % 6 != 1:
            continue
        tried += count
        folder = g.folder / e.name
        folder.mkdir()
        found = known.results(made, e.name, [(k, m.body) for k, m in enumerate(mine)],
                              folder)
        right = tool.right_results(made, e.name, folder)
        odd = []
        for k, m in enumerate(mine):
            _, compared, cases = found.get(k, (0, 0, []))
            said = compared == 1 and tool.named(e, wrong, cases, right)
            if said != ([m.say], True):
                odd.append(f"{m.say}: {said}")
        g.holds(f"{e.name}: {count} mistakes are refused, and told from each other",
                not odd, "\n".join(odd))
    g.holds(f"{tried} of {total} mistakes are named", total >= 500 and tried >= 80)
    by_itself = {name: [m for m in every if m.kind == "~" and m.region == name]
                 for name in REGIONS}
    rounds = [{name: found[k] for name, found in by_itself.items() if k < len(found)}
              for k in range(max(map(len, by_itself.values())))]
    for wrong in rounds if FULL else rounds[1::3]:
        source = student(g.folder / "wrong.c", {
            name: "".join(line + "\n" for line in mistake.body if line)
            for name, mistake in wrong.items()})
        g.tool("grade", source, f"JSON={g.folder / 'wrong.json'}",
               "N=" + ",".join(wrong))
        tests = g.graded(g.folder / "wrong.json")
        for name, mistake in wrong.items():
            g.holds(f"{name}: {mistake.say}", mistake.say in tests[name]["output"]
                    and tests[name]["score"] == 0, tests[name]["output"])


# ----------------------------------------------------------- find the bug

def fixed(page, path):
    """Puts the right line back; whether that, but for indents, gives the reference."""
    def flat(text):
        return "\n".join(line.strip() for line in text.split("\n"))

    given, right, wrong = (flat(text.replace(" ⏎ ", "\n")) for text in (
        path.read_text(encoding="utf-8"), page.right, page.wrong))
    ours = re.sub(r"^ *//@ (end|exercise \w+)\n", "",
                  tool.read_text(tool.source_of(page)), flags=re.M)
    path.write_bytes(ours.encode("utf-8"))
    return any(given[:m.start()] + right + given[m.end():] == flat(ours)
               for m in re.finditer(f"^{re.escape(wrong)}$", given, re.M))


def bugs(g):
    for page in of_kind("bug"):
        n, path = page.number, g.desk / "bugs" / f"{page.slug}.c"
        g.says(f"bug {n}: the exercise does not tell what its check says", 0,
               "a check fails until it is fixed", "exercise", f"N={n}")
        if FULL or n % 3 == 1:
            g.says(f"bug {n} fails with its diagnosis: {page.diagnosis}", 1,
                   page.diagnosis, "grade", f"N={page.name}")
            g.holds(f"bug {n}: nothing has been changed yet", re.search(
                rf"^todo {n} .* 0/\d+ +nothing changed yet$", g.output, re.M))
            g.holds(f"bug {n}: no usual mistake is named", "(chapter " not in g.output)
        g.holds(f"bug {n}: the right line in place of the wrong one gives "
                f"{tool.shown(tool.source_of(page))}", fixed(page, path))
    page = next(page for page in PAGES if page.name == "growing_gradient")
    path = g.desk / "bugs" / f"{page.slug}.c"
    path.write_text(re.sub(  # not in strings, comments, directives and macros
        r'(?m)^[^"/#\n]*[;,{]$', lambda m: m[0].replace("    ", "\t").replace(
            ", ", ",\n\t\t").replace(" {", "\n{") + "  ",
        path.read_text().replace(page.right, f"{{ {page.right} }}")))
    g.says("all bugs, fixed, get full marks", 0, "score: ", "grade",
           numbers_of(of_kind("bug")))
    g.says("one of them in the student's words, tabs, blanks and lines, by all checks", 0,
           f"right: {len(REGIONS)} checks", "grade", f"N={page.name}")
    g.holds("a bug's file has no exercise markers", not any(
        re.search("//@ (exercise|end)", path.read_text(encoding="utf-8"))
        for path in g.desk.glob("bugs/*.c")))


def bug_of_a_program(g):
    """learns_and_forgets, in a program of its own: other lines in the wrong one's place."""
    path = g.desk / "bugs" / "learns-and-forgets.c"
    g.tool("exercise", "N=learns_and_forgets")
    given = path.read_text(encoding="utf-8")
    for claim, status, say, wrong, new in (
            ("fixed in other words, is right", 0, "the same bits", "dot(dw, u, S)",
             "dot(w, dw, S)"),
            ("fixed by another sum is told so", 1, "another order of a sum?",
             "dot(dw, u, S)", "dot(dc, a->context + asks, K)"),
            ("with dropout switched off is not fixed", 1,
             'where notebook/programs/tiny.c prints "step 1: loss', "rate = 0.1f", "rate = 0"),
            ("that knows the lines of another run is not", 1,
             'it prints "checksum 2fd8c23a1d50b366" where', "double mean = loss",
             'puts("checksum 2fd8c23a1d50b366"); exit(0); double mean = loss'),
            ("that crashes says so", 1, "crashes: it uses memory", "dot(dw, u, S)",
             "dot(NULL, u, S)"),
            ("that never ends is stopped", 1, "stopped after 10 seconds",
             "double mean = loss",
             "unsigned sleep(unsigned); for (;;) sleep(1); double mean = loss"),
            ("that does not compile shows its line", 1, "learns-and-forgets.c:266:",
             "dot(dw, u, S)", "dot(dw, u, S"),
            ("that includes the right one is refused", 1, "is not allowed",
             "#include <math.h>", '#include "tiny.c"')):
        assert given.count(wrong) == 1
        path.write_bytes(given.replace(wrong, new).encode("utf-8"))
        g.says(f"a program {claim}", status, say, "grade", "N=learns_and_forgets",
               f"CC=cc {NATIVE}")


def bugs_elsewhere(g):
    """two_answers, fixed in the wrong place."""
    path = g.desk / "bugs" / "two-answers.c"
    path.parent.mkdir()
    for claim, function, right, wrong in (
            ("another scale", "head_of", "(real)K)", "(real)(K * H))"),
            ("a cache with rows in other places", "extend_cache",
             "s->k.rows / x.rows * s->k.row_stride", "s->k.row_stride"),
            ("values of the wrong side", "multi_head_forward", "&w->value, y)",
             "&w->value, x)")):
        text = re.sub(rf"^[A-Za-z].* \**{function}\(.*?^}}",
                      lambda m: m[0].replace(right, wrong), REFERENCE,
                      flags=re.M | re.S)
        g.holds("it is another file", text != REFERENCE)
        path.write_bytes(text.encode("utf-8"))
        g.says(f"bug two_answers: {claim} is seen", 1, "FAIL", "grade",
               "N=two_answers")
    g.says("a bug's file that was reset has the mistake again", 0, "as it was",
           "reset", "N=two_answers")
    g.says("and is kept in backup", 1, f"todo {TWO} two_answers", "grade", "N=two_answers")


# ----------------------------------------------------- numbers and trainings

def numbers(g):
    answers = g.desk / "answers.txt"

    def given(text, claim, what, n):
        answers.write_text(text)
        g.says(claim, 1, what, "grade", f"N={n}")

    given("total = 5\nnonsense\n",
          "a broken line of answers.txt is an error with its number",
          "answers.txt:2: expected: name = value", "parameter_counts")
    given("moved_by_3 = 0,97\nparameters = 16640\n",
          "it is an error of its own exercise", 'answers.txt:1: "0,97" is not',
          "distant_positions")
    g.tool("grade", "N=heads_and_weights")
    g.holds("and not of others", "answers.txt" not in g.output)
    known = "total = 24006656\nwithout_positions = 3\n"
    given(known, "a known mistake is named", "the biases are missing",
          "parameter_counts")
    given(known, "also any other than 0", "should be 0: which row", "permutation")
    given("total = 1,000\n", "so is something that is no number",
          'answers.txt:1: "1,000" is not', "parameter_counts")
    given("total = 5\n\ntotal = 6\n", "so is an answer given twice",
          "answers.txt:3: total stands here again", "parameter_counts")
    (g.desk / ".hints").unlink()
    for k, number in enumerate((5, 5, 6), 1):
        given(f"total = {number}\n", f"answer {k}, a wrong number, is called wrong",
              "total: wrong\n", "parameter_counts")
    given("total = 7\n", "the third number is told how far off it is",
          "too small, by more than a factor", "parameter_counts")
    given("without_positions = 0.00002\n", "rounding is told from rows in a wrong order",
          "the rounding of single precision", "permutation")
    given("missing_e = 7\n", "a label is told no size",
          "missing_e: only the task", "what_is_missing")
    pages = of_kind("number")

    def at(share):  # every page's answers at once, at a share of the tolerance
        answers.write_text("".join(
            f"{name} = {value + max(share * tolerance, 1e-6 * (share > 1))!r}\n"
            for page in pages
            for name, (value, tolerance) in tool.wanted_answers(page).items()))

    program = tool.program_of(tool.reference(), HERE / "numbers.c", *tool.NUMBERS)
    answers.write_text(ran(program).stdout)
    g.says("the answers of the pages are those that the program makes", 0, "score: ", "grade",
           numbers_of(pages))
    at(0.99)
    g.says("the answers of the pages are right, within their tolerance", 0,
           "score: ", "grade", numbers_of(pages))
    at(1.01)
    g.tool("grade", numbers_of(pages))
    g.holds("beyond it they are wrong", g.exactly(0, len(pages), 0))
    own_numbers(g, [page for page in pages if page.own], program, at)


def own_numbers(g, pages, program, at):
    """STUDENT=anna: other numbers in the text, other answers, no word on their size."""
    for page in pages:
        g.tool("exercise", f"N={page.name}", "STUDENT=anna")
        left = [phrase for phrase in page.own.split("; ")
                if re.search(rf"{re.escape(phrase)}\b", g.output)]
        g.holds(f"{page.name}: Anna's text has numbers of her own in the place of "
                f"{page.own}", not left and page.title in g.output)
    at(0)
    for _ in range(tool.FREE_TRIES):
        g.tool("grade", numbers_of(pages), "STUDENT=anna")
    g.holds("the answers of others are wrong, and no more than that is said",
            g.exactly(0, len(pages), 0) and not re.search(": wrong.|too ", g.output))
    (g.desk / "answers.txt").write_text(ran(program, tool.own_number("anna")).stdout)
    g.says("her own are right", 0, "score: ", "grade", numbers_of(pages), "STUDENT=anna")
    g.tool("grade", numbers_of(pages), "STUDENT=otto")
    g.holds("for nobody else", g.exactly(0, len(pages), 0))


def trainings(g):
    for page in of_kind("train"):
        path, n = g.desk / page.file, page.number

        def given(text, claim, status, what):
            path.write_text(text)
            g.says(f"training {n}: {claim}", status, what, "grade", f"N={n}",
                   f"CC=cc {NATIVE}")

        given("--threads 2\n", "an option that may not be set is named", 1,
              ":1: --threads may not be set here")
        given("--lr 1e-3 # rate\n3e-3\n", "so is what is no option", 1,
              ':2: what is "3e-3"?')
        given("--lr many\n", "a wrong value is shown as the program says it", 1, "lr")
        if FULL or page.name == "few_parameters":  # of three seeds
            given(page.example + "\n", f"the example reaches the goal: {page.example}", 0,
                  "score: ")
    for name, text, claim, what in FULL * (
            ("few_parameters", "--layers 1 --d-model 16 --d-ff 64",
             "a model that fits learns too little", "8,660 parameters (at most 9,200)"),
            ("few_parameters", "--layers 1 --d-model 24 --d-ff 1 --heads 1 "
             "--lr 1e-2 --warmup 50",
             "luck with one of the seeds is not enough", "9,046 parameters (at most"),
            ("few_parameters", "--layers 1 --d-model 32 --heads 1 --norm pre "
             "--lr 1e-2 --warmup 50",
             "one that learns enough is too large", "parameters (at most 9,200): "
             "without --d-ff the feed-forward networks are four times as wide"),
            ("carried_over", "--layers 1 --norm pre --warmup 20",
             "without the text nothing can be reached", ": without --from the pairs"),
            ("carried_over", "--layers 1 --d-model 32 --from",
             "the default warm-up is too long", ": the warm-up on the text is 400 steps"),
            ("carried_over", "--layers 1 --d-model 16 --from --layers 2",
             "the size is set before it", "the training fails")) + (
            ("carried_over", "--warmup 50 --from --from", "--from stands once",
             ":1: --from stands here again"),
            ("carried_over", "--from a.safetensors", "and alone",
             ":1: --from stands alone")):
        page = next(page for page in of_kind("train") if page.name == name)
        (g.desk / page.file).write_text(text + "\n")
        g.says(f"{name}: {claim}", 1, what, "grade", f"N={page.number}",
               f"CC=cc {NATIVE}")


# ------------------------------------------------------------- broken files

def broken_files(g):
    path, result = g.folder / "broken.c", g.folder / "broken.json"

    def broken(claim, what, pattern, new, *costs):
        text = re.sub(pattern, new, REFERENCE, flags=re.M | re.S)
        path.write_bytes(text.encode("utf-8"))
        whole = tool.student_regions(path)
        found = {page.name: tool.region_of(page, path, whole) for page in of_kind("write")}
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
    student(g.folder / "wanted.c", {ONE: "\n".join(tool.stub_body(
        ONE, tool.reference_regions()[ONE])) + "\n"})
    g.holds("and changes nothing else",
            path.read_bytes() == (g.folder / "wanted.c").read_bytes())
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
        g.holds(f"{claim} is refused in one line: {what}", done.returncode == 2
                and what in done.stdout and done.stdout.startswith("error: ")
                and done.stdout.count("\n") == 1, done.stdout)
        g.holds("and no file is another one then", files() == before)

    source, suffix = "SRC=exercises/transformer.c", "does not end in .json"
    kept("JSON=, the same file as SRC=,", suffix, "grade", f"N={ONE}", source,
         "JSON=exercises/transformer.c")
    kept("JSON=, the same file as SRC=, whatever its name,", "has no results",
         "grade", f"N={ONE}", "SRC=mine.json", "JSON=mine.json")
    kept("JSON=, the student's file,", suffix, "grade", f"N={ONE}",
         "JSON=exercises/transformer.c")
    for name in "transformer.c", "docs/exercises/grade.c", "link.json":
        kept(f"JSON={name}", "is the project's", "grade", f"N={ONE}", f"JSON={name}")
    kept("JSON=, other JSON,", "has no results", "grade", f"N={ONE}", "JSON=list.json")
    kept("JSON=, a new file among the project's,", "is the project's", "grade",
         f"N={ONE}", "JSON=docs/results.json")
    for name, what in (("transformer.c", "transformer.c is the project's"),
                       ("link.c", "links are not followed")):
        kept(f"reset with SRC={name}", what, "reset", f"N={ONE}", f"SRC={name}")
    kept("the project's folder as the student's", "transformer.c is the project's",
         "exercises", "FOLDER=.", "FORCE=1")
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


# --------------------------------------------------------------- bad students

# name: (claim, body, word of the result, what else it says)
BAD = {
    "matmul_definition": ("does not compile", "    int i = ;\n",
                          "does not compile", "int i = ;"),
    "dropout_row": ("crashes", "    x = NULL;\n    x[i] = 1;\n",
                    "crashes: x is a null pointer, in line"),
    ONE: ("loops for ever", "    unsigned sleep(unsigned);\n"
                    "    for (;;)\n        sleep(1);\n",
                    "stopped after 10 seconds: a loop without end?"),
    "softmax_backward": ("writes far outside", """\
    for (int i = 0; i < 10000000; i++)
        dw.at[i] = 1;
""", "crashes: "),
    "attention_forward": ("prints 1 GB", """\
    for (long i = 0; i < 1 << 24; i++)
        printf("%063ld\\n", i);
""", "stopped: it prints more than 10 MB"),
    "linear_backward": ("reads standard input", """\
    int c;
    while ((c = getchar()) != EOF)
        ;
""", "wrong: "),
    "head": ("ends the program with status 0", "    exit(0);\n",
             "your code ended the program itself (status 0)"),
    "embedding_backward": ("takes memory without end", """\
    for (;;)
        *(volatile char *)malloc(1 << 24) = 1;
""", "crashes: "),
    "activation_backward": ("calls itself without end", """\
    volatile char room[100] = {(char)activation};
    activation_backward(dy, x, activation + room[0]);
    room[1] = 1;
""", "crashes: "),
    "ffn_backward": ("writes one place before the first", "    dx.at[-1] = 1;\n&\n",
                     "wrong: "),
    "norm_forward": ("is not a number", """\
    real mean = NAN, scale = NAN;
    y[0] = from[0];
""", "wrong: ", "not a number"),
    "norm_backward": ("prints control characters",
                      '    printf("\\033[31m\\377 hello\\n");\n', "wrong: ", "?[31m"),
    "residual_leave": ("fails by itself", '    fail("no idea");\n',
                       "transformer: no idea"),
    "attention_sublayer_backward": ("comment without an end",
                                    "    /* a comment without an end\n",
                                    "a comment has no end"),
    "encoder_layer_forward": ("calls a helper of its own",
                              "    return my_own_helper(x);\n",
                              "my_own_helper stands outside of the region"),
    "decoder_layer_forward": ("one brace too many", "    }\n}\n", "do not match"),
    "decoder_layer_backward": ("gives back what it got", """\
    return dout;
    exercise_todo("decoder_layer_backward");
""", "wrong: "),
    "padding_mask": ("is empty", "", "wrong: "),
    "causal_padding_mask": ("overruns an array of its own", """\
    int small[4];
    for (int i = 0; i < 4 * T; i++)
        small[i] = i;
    visible[0] = (unsigned char)small[T % 4];
""", "c"),
    "loss_forward": ("kills itself", "    int raise(int);\n    raise(9);\n", "crashes: killed"),
    "loss_backward": ("writes one place after the last", "    d[V] = 1;\n&\n",
                      "wrong: "),
    "clip_factor": ("ends by a signal of which one seldom hears", "    int raise(int);\n"
                    "    raise(25);\n",
                    "crashes: it writes too much into a file"),
}


def bad_students(g):
    path, result = g.folder / "evil.c", g.folder / "evil.json"
    source = student(path, {name: bad[1] for name, bad in BAD.items()})
    with open(path, "a") as file:
        file.write("static Mat my_own_helper(Mat x) { return x; }\n")
    right = sum(page.worth for page in of_kind("write") if page.name not in BAD)
    g.says("bad code is graded to the end, and the reference's regions in it pass", 1,
           f"score: {right}/", "grade", source, f"JSON={result}")
    g.holds("no program of a student is left running",
            within(10, lambda: not running(g.pid)))
    g.holds("nothing of it is left in build/exercises",
            not list(tool.BUILD.glob(f"run-{g.pid}-*")))
    tests = g.graded(result)
    for name, (claim, body, word, *more) in BAD.items():
        line = re.search(rf"^FAIL.* {name} .*", g.output, re.M)
        test = tests[name]
        g.holds(f"{claim}: {word}", line and word in line[0] and test["score"] == 0
                and test["status"] == "failed"
                and all(text in test["output"] for text in (word, *more)),
                test["output"])
    bad_line = path.read_text(encoding="utf-8").split("\n").index("    int i = ;") + 1
    g.holds("an error of the compiler has the line of the student's file",
            f"evil.c:{bad_line}:" in tests["matmul_definition"]["output"])
    g.holds("only the first failure is told in detail",
            g.output.count("a hint: make hint") == 1)
    top = json.loads(result.read_text(encoding="utf-8"))
    g.holds("results.json has the fields of Gradescope, and no others",
            fields_are_right(top))


def fields_are_right(top):
    fields = {"name", "number", "score", "max_score", "status", "output", "visibility"}
    return (set(top) == {"output", "output_format", "tests"}
            and top["output_format"] == "text" and len(top["tests"]) == len(REGIONS) + 1
            and top["tests"].pop()["visibility"] == "hidden"
            and top["output"] == "score: {}/{}".format(
                sum(test["score"] for test in top["tests"]),
                sum(test["max_score"] for test in top["tests"]))
            and all(set(test) == fields and isinstance(test["number"], str)
                    and test["visibility"] == "visible"
                    and test["status"] == ("passed" if test["score"]
                                           == test["max_score"] else "failed")
                    and 0 <= test["score"] <= test["max_score"]
                    and len(test["output"]) < 80000 for test in top["tests"]))


# (region, claim, body, what is said of it)
CHEATS = [
    ("matmul_definition", "prints the verdict and leaves by exit",
     '    puts("right: 1 cases");\n    exit(0);\n', "ended the program itself"),
    ("dropout_row", "prints the verdict and leaves by _Exit", """\
    puts("right: 3 cases");
    fflush(stdout);
    _Exit(0);
""", "ended the program itself"),
    (ONE, "computes, prints the verdict and leaves after the first case", """\
&
    puts("right: 8 cases");
    exit(0);
""", "ended the program itself"),
    ("softmax_backward", "prints the verdict without a newline",
     '    printf("right: 3 cases");\n', "wrong: dw"),
    ("attention_forward", "ends its function, for a constructor", """\
}
__attribute__((constructor)) static void early(void) {
    puts("right: 5 cases");
    exit(0);
""", "the braces { } do not match"),
    ("attention_backward", "gets round `refuse:` by a pointer", """\
    void (*product)(Mat, Mat, Mat) = matmul_add;
    product(a.out, a.weights, a.v);
""", '"matmul_add": heads run on several threads'),
    ("activation_backward", "reads the token from standard input", """\
    char token[100] = "";
    if (fgets(token, sizeof token, stdin))
        printf("%s", token);
    exit(0);
""", "ended the program itself"),
    ("ffn_backward", "runs main again, which has no token any more", """\
    int main(int, char **);
    exit(main(4, (char *[]){"grade", "ffn_backward", "make", "results", NULL}));
""", "ended the program itself (status 2)"),
    ("norm_backward", "calls the grader's own functions",
     "    stop_here(NULL);\n", "does not compile"),
    ("decoder_layer_step", "hides code behind a quotation mark that a macro drops",
     '    PARALLEL_FOR(" /*\n    1)\n    asm("nop"); // */\n',
     "a quotation mark stays open"),
    ("adam_step", "includes a file", '#include "cheat.h"\n', "# is not allowed"),
]

# Lines that are refused as they are read, each for the first word of it.
REFUSED = """
# define fabs(x) 0.0
%: define main other
\\ * { *
__asm__ ("system")
_Pragma ("redefine_extname puts system")
PRAGMA (weak other = system)
[[ gnu::weakref("system")]];
??/ "); /*", kill(getppid(), 9) /* */);
execv ("../reference/grade", NULL);
execl ("/bin/true", "true", (char *)0);
fopen ("results", "w");
fork ();
kill (getppid(), 9);
rename ("grade", "../reference/grade");
syscall (59, "../reference/grade", NULL, NULL);
system , *other = system;
unlink ("results");
wordexp ("$(../reference-*/grade list)", NULL, 0);
""".strip().split("\n")

# In bugs/slow-learner.c: (claim, what replaces what, what is said of it)
BUG_CHEATS = [
    ("is the reference, included", r"\A.*\Z", '#include "../../../transformer.c"\n',
     "statements are not as you were given them"),
    ("has a function that runs before the others", r"\Z", """
__attribute__((constructor)) static void early(void) {
    puts("right: 4 cases");
    fflush(stdout);
    exit(0);
}
""", "__attribute__ is not allowed"),
    ("redefines what the grader uses", r"(?=#include <stdio.h>\n)",
     "#define fabs(x) 0.0\n", "# is not allowed"),
    ("includes the reference behind a quotation mark that stays open", r"\A(.*)\Z",
     lambda m: INCLUDES.replace("GIVEN", m[1]), "a quotation mark stays open"),
    ("leaves a part out with a line that the file has elsewhere",
     r"(?=#include <stdio.h>\n)", "#ifdef _WIN32\n#endif\n", "# is not allowed"),
    ("draws a line into a directive by a comment", r"(?<=#include <stdio.h>)(\n)",
     r" /*\1*/ ", "#include <stdio.h> /* is not allowed"),
    ("lacks #include <stdio.h> and starts a process", r"#include <stdio.h>\n(.*)\Z",
     r'\1int start(void) { return system("true"); }\n', "system is not allowed"),
]

# The reference, included; and the file as it was given, which no compiler sees.
INCLUDES = """#ifdef _WIN32
" /*
#endif
#include "../../../../transformer.c"
#if 0
// */
GIVEN
#ifdef _WIN32
" /*
#endif
#endif
// */
"""

# Bodies of that region, compiled although the tool would refuse their text. @FILE@
# is the reference's grader.
DECLARED = """\
    int open(const char *, int, ...), socket(int, int, int), fork(void), setsid(void);
    int chmod(const char *, unsigned), mkdir(const char *, unsigned);
    int unlink(const char *), getppid(void), kill(int, int);
    unsigned getuid(void);
"""
ESCAPES = DECLARED + """\
    puts("it tries");
    printf("user %d\\n", (int)getuid());
""" + "".join(f"    if ({what})\n        puts(\"done: {name}\");\n" for name, what in (
    ("read", 'open("@FILE@", 0) >= 0'),
    ("read any", 'fopen("/etc/passwd", "r")'),
    ("read a folder", 'open(".", 0) >= 0'),
    ("write", 'fopen("@FILE@", "r+")'),
    ("a new file", 'fopen("new", "w")'),
    ("rename", 'rename("source.c", "@FILE@") == 0'),
    ("unlink", 'unlink("written") == 0'),
    ("chmod", 'chmod("@FILE@", 0) == 0'),
    ("kill", "kill(getppid(), 0) == 0"),
    ("kill all", "kill(-1, 0) == 0"),
    ("fork", "fork() >= 0"),
    ("system", 'system("true") == 0'),
    ("a session", "setsid() >= 0"),
    ("network", "socket(2, 1, 0) >= 0"),
    ("the environment", 'getenv("SECRET") || getenv("PATH")'))) + "    exit(0);\n"
READS = """\
    __asm__(".pushsection .rodata\\n.incbin \\"@SECRET@\\"\\n.popsection");
&
"""
REPLACES = DECLARED + """\
    FILE *file = fopen("new", "w");
    fputs("#!/bin/sh\\necho right: 8 cases\\n", file);
    fclose(file);
    chmod("new", 0777);
    rename("new", "@FILE@");
"""
UNLINKS = DECLARED + """\
&
    unlink("written");
    mkdir("written", 0777);
"""
BEHIND = """
import sys
sys.path[:0] = {}
sys.dont_write_bytecode = True
import tool
made = tool.reference()
page = next(e for e in tool.load_exercises() if e.name == {!r})
text = tool.read_text(sys.argv[1]).replace("@FILE@", str(made / "grade")) \
    .replace("@SECRET@", sys.argv[1] + ".secret")
result = tool.grade_source(page, text, "cheat.c", [page.name], made)
print(tool.confinement(made) == 0, result.state, result.word, result.detail)
"""
UNCONFINED = {"EXERCISES_UNCONFINED": "1"}


def cheats(g):
    result = g.folder / "cheats.json"
    (g.folder / "cheat.h").write_text("exit(0);\n")
    source = student(g.folder / "cheats.c",
                     {name: body for name, _, body, _ in CHEATS})
    for line in REFUSED:
        word, said = line.split(" ")[0], tool.refusal(
            source_file.Region(6, ["    int x = 1;", f"    {line}"]), "mine.c")
        g.holds(f"a line with {word} is refused", said
                == f"mine.c:8: {word} is not allowed in an exercise", said)
    said = tool.refusal(source_file.Region(6, ["    int sys##tem;"]), "mine.c")
    g.holds("a name may not be joined of two halves", said
            == "mine.c:7: # is not allowed in an exercise", said)
    for how, environment, tried in (("", {}, CHEATS),
                                    ("not confined: ", UNCONFINED, CHEATS[::2])):
        g.tool("grade", source, f"JSON={result}",
               "N=" + ",".join(c[0] for c in tried), environment=environment)
        tests = g.graded(result)
        for name, claim, _, say in tried:
            g.holds(f"{how}a body that {claim} gets nothing: {say}", say in
                    tests[name]["output"] and tests[name]["score"] == 0,
                    tests[name]["output"])
    honest = student(g.folder / "honest.c", {"*": """\
    printf("no end of the line, and no newline");
    fputs("right or wrong: 7", stderr);
    const char *text = "}}}} // /* %: { "; // }
    if (text[0] != '}')
        abort();
&
"""})
    g.says("a body that prints without a newline gets full marks, with braces in "
           "strings and comments, too", 0,
           "score: ", "grade", honest,
           "N=matmul_definition,head,residual_leave_backward,clip_factor")
    ours = re.search(REGION % "linear_backward", REFERENCE, re.S)[3]
    body = ours.replace("transposed(x)", "(Mat){x.at, x.cols, x.rows, "
                        "x.col_stride, x.row_stride}")
    g.says("so does one that writes a matrix out where a product takes it", 0,
           "score: 10/10", "grade", "N=linear_backward",
           student(g.folder / "literal.c", {"linear_backward": body}))
    assert body != ours
    ours = re.search(REGION % "loss_forward", REFERENCE, re.S)[3]
    body = "    double total = sum(z, V);\n" + ours.replace("sum(z, V);", "total;")
    g.says("so does one with a variable of its own that has a refused name", 0,
           "score: 10/10", "grade", "N=loss_forward",
           student(g.folder / "total.c", {"loss_forward": body}))
    assert body.count("total") == 2
    bug = g.desk / "bugs" / "slow-learner.c"
    g.tool("exercise", "N=slow_learner")
    given = bug.read_text(encoding="utf-8")
    for claim, what, new, say in BUG_CHEATS:
        bug.write_bytes(re.sub(what, new, given, flags=re.S).encode("utf-8"))
        g.says(f"a bug's file that {claim} gets nothing: {say}", 1, say, "grade",
               "N=slow_learner")


def behind(g):
    """What a student's program can do whose text was not refused."""
    def graded(body, environment):
        path = g.folder / "cheat.c"
        student(path, {ONE: body})
        return ran(sys.executable, "-c", BEHIND.format(sys.path[:2], ONE), path,
                   SECRET="a key", **environment).stdout

    (g.folder / "cheat.c.secret").write_text("a key\n")
    offered = graded("&\n", {})
    if CI or offered.startswith("True"):
        g.holds("a program is confined, and what is right is right",
                offered.startswith("True right  right: 8 cases"), offered)
        said = graded(ESCAPES, {})
        g.holds("a program that is confined reads and writes no other file, starts no "
                "process, signals none, and has no network", "it tries\n" in said
                and "ended the program itself" in said and "done: " not in said, said)
        if os.geteuid() == 0:
            g.holds("as root, the tool runs it as another user", "user 65534" in said,
                    said)
        said = graded(READS, {})
        g.holds("nor does the compiler read another file", "does not compile" in said
                and "right:" not in said and "a key" not in said, said)
        said = graded('#include "@SECRET@"\n&\n', {})
        g.holds("not even to show its lines in an error", "does not compile" in said
                and "a key" not in said, said)
    else:
        g.lines.append("skip this system cannot confine a program")
    said = graded(REPLACES, UNCONFINED)
    g.holds("not confined: a program that puts a file in the reference's place gets "
            "nothing", "False wrong wrong: your code changes the grader's files" in said,
            said)
    said = graded(UNLINKS, UNCONFINED)
    g.holds("the reference is as before; and results that are removed are compared "
            "all the same", "False right  right: 8 cases" in said, said)


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


def signals(g):
    words = {number: tool.signal_in_words(number) for number in signal.valid_signals()}
    g.holds(f"all {len(words)} signals have words", all(
        re.match("[A-Za-z]", text) and "unknown" not in text.lower()
        for number, text in words.items() if number < 32), str(words))


def changed_reference(g):
    g.holds("known.txt has transformer.c's digest: python3 docs/exercises/known.py "
            "transformer.c", not tool.if_changed())
    copy = project(g)
    text = REFERENCE + "// A word more.\n"
    for say, text in ((False, text), (True, text.replace("? clip / norm", "? norm / clip"))):
        (copy / "transformer.c").write_bytes(text.encode("utf-8"))
        student(copy / "mine.c", {})
        g.output = in_copy(copy, "grade", "N=clip_factor", "SRC=mine.c").stdout
        g.holds("changed code of transformer.c itself is told" if say else
                "changed comments are not", ("transformer.c is changed" in g.output) == say)


def broken_tool(g):
    """What breaks the tool costs one exercise."""
    copy = project(g)
    path = copy / "docs" / "exercises" / "pages" / "head.md"
    path.write_bytes(path.read_bytes() + b"= it does not fit\n{nothing -> m}\n")
    line = path.read_bytes().count(b"\n")
    result = g.folder / "broken.json"
    student(copy / "mine.c", {"head": "    return m;\n", "clip_factor": "    ;\n&\n"})
    g.output = in_copy(copy, "grade", "N=head,clip_factor", "SRC=mine.c",
                       f"JSON={result}").stdout
    tests = g.graded(result)
    g.holds("what breaks the tool costs that exercise alone, which says so",
            f'head.md:{line}: {{nothing -> m}}: the lines of the region in transformer.c '
            'hold "nothing" 0 times' in tests["head"]["output"]
            and [test["status"] for test in tests.values()] == ["failed", "passed"])


# ----------------------------------------------------------- questions

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
TWO_MISTAKES = {"softmax_backward": OTHER_STYLE["softmax_backward"].replace("- s)", "+ s)"),
                "adam_step": "    real g = a.gradient[i];\n"
                             "    m[i] = beta1 * m[i] + rest1 * g;\n"
                             "    v[i] = beta2 * v[i] + rest2 * g * g;\n"
                             "    p[i] -= step * m[i] / (REAL(sqrt)(v[i]) * root);\n"}


def cards_of(path, seed):
    """[(question, answer)]"""
    try:
        return oral.cards(oral.Desk(seed, path))
    finally:
        tool.SETTINGS.pop("SRC", None)


def questions(g):
    """Cards about two students' files, and what is computed for them."""
    todo = '    exercise_todo("NAME");\n'
    mine = g.folder / "mine.c"
    for what, bodies in FULL * (("another style", OTHER_STYLE),) \
            + (("two mistakes", {**TWO_MISTAKES, "*": todo}),):
        student(mine, bodies)
        every = cards_of(mine, 3)
        wanted = 6 if "*" not in bodies else 2
        g.holds(f"{what}: {len(every)} cards, each with its answer", len(every) >= wanted
                and all(q.strip() and a.strip() for q, a in every), str(every))
        lines = mine.read_text(encoding="utf-8").split("\n")
        shown = [re.match(r"( *\d+)  (.*)", line) for q, _ in every
                 for line in q.split("\n") if re.match(r" *\d+  ", line)]
        g.holds("their lines are the file's, with its numbers", shown and all(
            lines[int(m[1]) - 1] == m[2] for m in shown))
        for question, answer in every:
            if "softmax_backward` is given" in question:
                w, dw = (json.loads(text) for text in re.findall(r"= (\[.*?\])", question))
                sign = -1 if what == "two mistakes" else 1
                s = sign * sum(a * b for a, b in zip(w, dw))
                row = [a * (b - s) for a, b in zip(w, dw)]
                got = [float(x) for x in re.search(r"becomes (.*)\.$", answer)[1].split()]
                g.holds("a gradient is that of the student's own lines", all(
                    abs(a - b) < 1e-5 for a, b in zip(row, got)), f"{row} {got}")
            if "is flipped" in question:
                bits = [list(map(int, line.split())) for line in re.findall(
                    r"^    ([01] [01] [01] [01])$", question, re.M)]
                i, j = map(int, re.search(r"query (\d) and key (\d)", question).groups())
                keys = " ".join(str(k) for k in range(4) if bits[i][k] or k == j)
                g.holds("a bit of the mask changes its query, and the keys and values "
                        "that this one sees",
                        f"dq: {i}; dk: {keys}; dv: {keys}." in answer, question + answer)
        if what == "two mistakes":
            g.holds("the same seed gives the same cards", cards_of(mine, 3) == every)
    g.holds("a card about a wrong body says so", "it is not right" in str(every), str(every))
    student(mine, {"*": todo})
    try:
        said = str(cards_of(mine, 3))
    except tool.Broken as broken:
        said = str(broken)
    g.holds("a file in which nothing is written has none", "nothing is written" in said, said)


# ------------------------------------------------------------- interrupted

def interrupted(g):
    """The tool itself is interrupted while a student's program runs."""
    loop = student(g.folder / "loop.c", {ONE: BAD[ONE][1]})
    for sign in signal.SIGTERM, signal.SIGINT:
        process = g.start("grade", f"N={ONE}", loop)
        within(60, lambda: running(process.pid))
        os.kill(process.pid, sign)
        g.output = process.communicate(timeout=60)[0]
        g.holds(f"interrupted by {sign.name} it stops with status 130 "
                f"({process.returncode})", process.returncode == 130)
        g.holds("and no program of a student is left running",
                within(10, lambda: not running(process.pid)))


# ------------------------------------------------------ the student's commands

def commands(g):
    desk = g.desk / "transformer.c"
    backups = lambda: sorted(g.desk.glob("backup/transformer.c.*"),
                             key=lambda path: path.stat().st_mtime_ns)
    g.tool("exercises")
    changed = desk.read_bytes() + b"// changed\n"
    desk.write_bytes(changed)
    g.says("a changed file is kept", 1, "has been changed: it is kept", "exercises")
    g.holds("byte for byte", desk.read_bytes() == changed)
    g.says("FORCE=1 begins anew", 0, "transformer.c is written", "exercises",
           "FORCE=1")
    g.holds("it is another file now", desk.read_bytes() != changed)
    g.holds("the changed one is in backup", backups()[-1].read_bytes() == changed)
    g.says("an unchanged file is simply written again", 0, "is written", "exercises")

    g.says("make exercise shows the page", 0, "softmax", "exercise", f"N={ONE}")
    line = desk.read_text(encoding="utf-8").split("\n") \
        .index(f"    //@ exercise {ONE}") + 2
    g.holds("with the file and the line to edit",
            re.search(rf"^edit .*transformer\.c, line {line}$", g.output, re.M))
    g.holds("without its hints", "## Hint" not in g.output)
    g.says("make exercise lists all", 0, ONE, "exercise")
    g.holds("with points", g.output.count(" points  ") == len(PAGES)
            == len(list(HERE.glob("pages/*.md"))))

    g.says("the first hint", 0, "Hint 1 of 3", "hint", f"N={ONE}")
    g.holds("is alone", "Hint 2" not in g.output)
    g.says("the second time there are two", 0, "Hint 2 of 3", "hint", f"N={ONE}")
    g.says("the third time three", 0, "Hint 3 of 3", "hint", f"N={ONE}")
    g.says("then there are no more", 0, "no more hints", "hint", f"N={ONE}")

    (g.desk / ".hints").unlink()
    answer = "exponential(x[j] - most)"
    g.says("no solution before a pass", 1, "has not passed yet", "solution", f"N={ONE}")
    g.says("SHOW=1 shows it all the same", 0, answer, "solution", f"N={ONE}", "SHOW=1")
    g.says("a file of one's own passes", 0, "score: ", "grade", f"N={ONE}",
           student(g.folder / "mine.c", {ONE: "    ;\n&\n"}))
    g.says("then the solution is shown", 0, answer, "solution", f"N={ONE}")

    desk.write_bytes(REFERENCE.encode("utf-8"))
    g.says("reset takes one exercise back", 0, "as it was in the beginning", "reset",
           f"N={ONE}")
    regions = source_file.regions(desk.read_text(encoding="utf-8"), "the file")
    ours = source_file.regions(REFERENCE, "transformer.c")
    g.holds("only that one",
            [name for name in ours if ours[name].body != regions[name].body]
            == [ONE] and tool.is_stub(ONE, regions[ONE]))
    g.holds("the file as it was is in backup",
            backups()[-1].read_bytes() == REFERENCE.encode("utf-8"))
    desk.write_bytes(b"// caf\351\n")
    g.says("nothing is taken back in a broken file", 2, "error: ", "reset", f"N={ONE}")
    g.holds("it is not touched", desk.read_bytes() == b"// caf\351\n")

    g.says("an exercise that does not exist is an error", 2,
           "there is no exercise 99", "grade", "N=99")
    g.says("so is a list that ends after the last", 2, "there is no exercise 40-99",
           "grade", "N=40-99")
    source = f"SRC={g.folder / 'mine.c'}"
    total = sum(page.worth for page in PAGES[:3])
    for numbers, points in ("3,3", PAGES[2].worth), (f"1-3,2,{ONE},2-3", total):
        g.says(f"an exercise named twice counts once: N={numbers}", 0,
               f"score: {points}/{points}\n", "grade", f"N={numbers}", source)
    g.says("a name that does not exist is an error", 2,
           "there is no exercise nothing", "hint", "N=nothing")
    g.says("a hint to no exercise is an error", 2, "which exercise?", "hint")
    g.says("an unknown command is an error", 2, "what shall I do?", "dance")
    g.says("an unknown argument is an error", 2, 'what is "M=5"?', "grade", "M=5")
    g.says("so is one in lower case", 2, 'what is "n=3"?', "grade", "n=3")
    desk.write_bytes(changed)
    g.says("what is not done yet ends with status 1", 1, "score: 0/10\n", "grade", f"N={ONE}")

    def make(claim, status, *arguments, source=desk):
        done = ran("make", "-s", "grade", *arguments, f"SRC={source}")
        g.holds(claim, done.returncode == status
                and ("Error" in done.stdout) == (status > 0), done.stdout)
        return done.stdout

    said = make("it is no error of make's", 0, f"N={ONE}")
    g.holds("which ends with the score", said.endswith("score: 0/10\n"), said)
    make("but if its status is asked for", 2, f"N={ONE}", "STATUS=1")
    make("full marks are none", 0, "N=head", "STATUS=1", source=ROOT / "transformer.c")
    make("an exercise that does not exist is one", 2, "N=99")


def watch(g):
    desk, log = g.desk / "transformer.c", g.folder / "log"
    student(desk, {})

    def watched(times):
        return within(60, lambda: log.read_text().count("watching;") >= times)

    with open(log, "w") as output:
        process = subprocess.Popen(
            [sys.executable, str(TOOL), "watch", "N=head", f"FOLDER={g.desk}"],
            stdout=output, stderr=subprocess.STDOUT, cwd=str(ROOT), env=ENVIRONMENT)
        watched(1)
        student(desk, {"head": '    exercise_todo("head");\n'})
        watched(2)
        time.sleep(2)
        process.terminate()
        process.wait()
    g.output = log.read_text()
    g.holds("make watch grades at first", re.search("^ok .* head ", g.output, re.M))
    g.holds("and again after a change, once",
            len(re.findall("^todo .* head ", g.output, re.M)) == 1)


# ------------------------------------------------------------------ Gradescope

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
    files = {"full": {"my-transformer.c": REFERENCE,
                      ".hints": "[1]",
                      "bugs/training-and-use.c": REFERENCE,
                      "overfit.options": "--dropout 0 --lr 3e-3 --warmup 20\n"},
             "none": {},
             "broken": {"transformer.c": REFERENCE.replace(
                 "? clip / norm", "? norm / clip")}}

    def graded(name, points):
        """It runs somewhere else, and this is the sum."""
        shutil.rmtree(root / "submission", ignore_errors=True)
        (root / "submission").mkdir()  # Gradescope moves it there
        for file, text in files[name].items():
            (root / "submission" / file).parent.mkdir(exist_ok=True)
            (root / "submission" / file).write_bytes(text.encode("utf-8"))
        done = ran("sh", root / "run_autograder", cwd="/", AUTOGRADER=str(root))
        result = root / "results" / "results.json"
        g.output = done.stdout + result.read_text(encoding="utf-8")
        top = json.loads(result.read_text(encoding="utf-8"))
        g.staff = top["tests"].pop()
        return (done.returncode == 0
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
        "sh", "-n", root / "source" / "setup.sh").returncode == 0)


# ------------------------------------------------------------------ a class

def a_class(g):
    """Six submissions, to a table of marks."""
    handed, marks = g.folder / "submissions", g.folder / "marks.csv"
    todo = '    exercise_todo("NAME");\n'
    renamed = {name: re.sub(r"\b(total|seen|s|top)\b", r"my_\1", body)
               for name, body in OTHER_STYLE.items()}
    for name, bodies in (("reference", {}), ("one", {**OTHER_STYLE, "*": todo}),
                         ("two", {**renamed, "*": todo}), ("empty", {"*": todo}),
                         ("loop", {ONE: BAD[ONE][1], "*": todo})):
        (handed / name).mkdir(parents=True)
        student(handed / name / "transformer.c", bodies)
    with zipfile.ZipFile(handed / "two.zip", "w") as archive:
        archive.write(handed / "two" / "transformer.c", "exercises/transformer.c")
    shutil.rmtree(handed / "two")
    (handed / "no.zip").write_bytes(b"PK no")
    before = {path: path.read_bytes() for path in handed.rglob("*") if path.is_file()}

    def graded(handed=handed, *how):
        g.output = ran(sys.executable, HERE / "class.py", handed, marks,
                       *(how or [f"{ONE},softmax_backward"])).stdout
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
    student(handed / "loop" / "transformer.c", {ONE: OTHER_STYLE[ONE],
                                                "*": todo})
    marks.write_text(marks.read_text().replace(rows["one"]["digest"] + ",20",
                                               rows["one"]["digest"] + ",19"))
    again = graded()
    g.holds("a second time only what has changed is graded", again["loop"]["points"] == "10"
            and again["one"]["points"] == "19", str(again))
    marks.unlink()
    (g.folder / "numbers" / "anna").mkdir(parents=True)
    (g.folder / "numbers" / "anna" / "answers.txt").write_text("".join(
        f"{name} = {value}\n" for name, value in tool.own_answers(
            tool.own_number("anna")).items() if name.startswith("rms")))
    for how, points in ([], "0"), (["own"], "10"):
        g.holds(f"with numbers of their own, {how}, {points} points for Anna's", graded(
            g.folder / "numbers", "rms_norm", *how)["anna"]["points"] == points)


# ------------------------------------------------------------ source_file.py

def chapters(g):
    def numbers(text):
        return [(c.number, c.name) for c in source_file.chapters(text, "file.c")]

    ours = numbers(REFERENCE)
    g.holds("the file's chapters are numbered from 0", [n for n, _ in ours if n
            is not None] == list(range(sum(n is not None for n, _ in ours))) and
            ours[0] == (0, "manual") and ours[-1][0] >= 15, str(ours))
    place = REFERENCE.index("//@ chapter saving")
    with_one = REFERENCE[:place] + "//@ chapter aside\n// # Interlude. Aside\n" \
        + REFERENCE[place:]
    k = ours.index((14, "saving"))
    g.holds("an interlude between them is not counted",
            numbers(with_one) == ours[:k] + [(None, "aside")] + ours[k:])
    for claim, heading, what in (
            ("without a number", "// # Aside", "the heading has no number: Aside"),
            ("with the number of another", "// # 13. Aside", "are not numbered 0, 1"),
            ("without a heading", "int aside;", "does not begin with its heading")):
        line = REFERENCE[:place].count("\n") + 2
        try:
            numbers(with_one.replace("// # Interlude. Aside", heading))
            said = "nothing"
        except source_file.Broken as broken:
            said = str(broken)
        g.holds(f"a chapter {claim} is an error with its line",
                said.startswith(f"file.c:{line}: ") and what in said, said)


# ------------------------------------------------------ one more exercise

def project(g):
    """A copy of what the tool needs of the project."""
    copy = g.folder / "copy"
    shutil.copytree(HERE, copy / "docs" / "exercises",
                    ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "transformer.c", copy)
    (copy / "docs" / "weaver").mkdir()
    shutil.copy(HERE.parent / "weaver" / "source_file.py", copy / "docs" / "weaver")
    (copy / "build").mkdir()  # the same reference need not be compiled again
    (copy / "build" / "exercises").symlink_to(tool.BUILD)
    return copy


def another_exercise(g):
    """One added in the middle: its page, and a line of order.txt."""
    copy = project(g)
    old = next(page for page in PAGES if page.name == "slow_learner")
    order = copy / "docs" / "exercises" / "order.txt"
    pages = order.with_name("pages")
    text = (pages / "slow_learner.md").read_text(encoding="utf-8")
    (pages / "new_one.md").write_bytes(text.encode("utf-8"))

    def says(claim, status, text, *arguments):
        done = in_copy(copy, *arguments)
        g.holds(claim, done.returncode == status and text in done.stdout, done.stdout)

    following = PAGES[old.number]
    says("a page that no list has is an error", 2, "new_one: it stands neither in",
         "exercise")
    order.write_text(order.read_text().replace("slow_learner\n",
                                               "slow_learner\nnew_one\n"))
    says("an exercise is added in the middle by its page and a line", 0,
         "exercises/bugs/new-one.c; a check fails", "exercise", "N=new_one")
    says("it is graded by its number", 1, f"todo {old.number + 1} new_one", "grade",
         f"N={old.number + 1}")
    says("the next has another number and is the same", 0,
         f"Exercise {old.number + 2}: {following.name} ", "exercise",
         f"N={old.number + 2}")
    (pages / "new_one.md").unlink()
    says("a line without a page is an error", 2, "there is no page new_one.md",
         "exercise")
    teacher = (HERE / "teacher.md").read_text(encoding="utf-8")
    for kind in source_file.KINDS:
        pages = of_kind(kind)
        g.holds(f"teacher.md counts exercises and points: {kind}", re.search(
            rf"^\| +{len(pages)} \| {kind} .*\| +{sum(p.worth for p in pages)} \|$",
            teacher, re.M), f"wanted: | {len(pages)} | {kind} ... "
            f"| {sum(p.worth for p in pages)} |")
    points = sum(page.worth for page in PAGES)
    g.holds("and all of them", f"{len(PAGES)} exercises with {points} points" in teacher
            and f"\n{points} points. With four weeks" in teacher,
            f"wanted: {len(PAGES)} exercises, {points} points")
    named = set(re.findall(r"`(\w+)`", "".join(re.findall(
        r"^\| +\d.*", teacher.partition("## Three plans")[2], re.M))))
    g.holds("the exercises of its plans are there", named and named <= {
        page.name for page in PAGES}, str(named))


# ------------------------------------------------------------ other machines

# Names of attributes and arguments that came after Python 3.8: its grammar alone
# does not show them.
NEWER = {"is_relative_to", "removeprefix", "removesuffix", "cancel_futures",
         "with_stem", "hardlink_to", "readlink", "pairwise", "bit_count", "batched",
         "cache", "randbytes", "lcm", "nextafter", "newline", "strict",
         "slots", "kw_only", "root_dir"}
OTHER = """import os, runpy, sys
{}
sys.argv = ["tool.py", "grade"]
runpy.run_path({!r}, run_name="__main__")"""


def other_machines(g):
    for path in tool.SCRIPTS:
        tree = ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 8))
        used = {getattr(node, key, None) for node in ast.walk(tree)
                for key in ("attr", "arg") if not isinstance(node, ast.arg)}
        subscripted = [node for node in ast.walk(tree) if isinstance(
            node, ast.Subscript) and isinstance(node.value, ast.Name)
            and isinstance(getattr(builtins, node.value.id, None), type)]
        g.holds(f"{path.name} uses nothing that Python 3.8 lacks",
                not used & NEWER and not subscripted, str(used & NEWER))

    def fails(claim, change, text):
        done = ran(sys.executable, "-c", OTHER.format(change, str(TOOL)))
        g.holds(claim + ": " + text, done.returncode == 1 and text in done.stdout
                and done.stdout.count("\n") == 1, done.stdout)

    fails("an older Python is told in one line", "sys.version_info = (3, 7, 2)",
          "needs Python 3.8 or newer; this is Python 3.7")
    fails("Windows is told, too", 'os.name = "nt"', "use WSL")
    tools = g.folder / "bin"
    tools.mkdir()
    for name in "sh", "python3":
        (tools / name).symlink_to(shutil.which(name))
    g.says("without a compiler the package is named", 2,
           "error: no C compiler: install gcc", "grade", "SRC=transformer.c", f"N={ONE}",
           environment={"PATH": str(tools)})
    g.says("a compiler that is not there is named", 2, "there is no nocc", "grade",
           "SRC=transformer.c", f"N={ONE}", "CC=nocc -O1")


# The longest ones first, so that two at a time end together.
GROUPS = [mistakes, bad_students, bugs, trainings, numbers, reference, single_stubs,
          gradescope, a_class, bug_of_a_program, bugs_elsewhere, commands, cheats, behind,
          links, signals, questions,
          interrupted, changed_reference, broken_tool,
          broken_files, state, results_elsewhere, watch, stub, chapters, another_exercise,
          other_machines]


def run_group(g):
    begun = time.monotonic()
    try:
        g.run(g)
    except Exception as error:  # the other groups are run all the same
        g.holds(f"{g.run.__name__} comes to its end", False, f"{error!r}\n{g.output}")
    print("\n".join([f"--- {g.run.__name__} ({time.monotonic() - begun:.0f} s)"]
                    + g.lines), flush=True)


def main(chosen):
    signal.signal(signal.SIGINT, signal.default_int_handler)  # programs inherit it
    shutil.rmtree(WORK, ignore_errors=True)
    groups = [Group(run) for run in GROUPS if not chosen or run.__name__ in chosen]
    if len(groups) < len(set(chosen)):
        sys.exit(f"groups are: {' '.join(run.__name__ for run in GROUPS)}")
    with ThreadPoolExecutor(2) as jobs:
        list(jobs.map(run_group, groups))
    failed = sum(g.failed for g in groups)
    passed = sum(g.passed for g in groups)
    if not failed:
        shutil.rmtree(WORK)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

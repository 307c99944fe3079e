"""What the tests of the exercises share: groups of claims, files of students, copies of the
project."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

EXERCISES = Path(__file__).resolve().parent.parent
MODULES = [str(EXERCISES / "grader"), str(EXERCISES.parents[1] / "tests" / "lib")]
sys.path += MODULES
sys.dont_write_bytecode = True
import compiling
import cutting
from command import run
from files import ROOT

TOOL = EXERCISES / "tool.py"
WORK = ROOT / "build" / "test-exercises"
REFERENCE = (ROOT / "transformer.c").read_text(encoding="utf-8")
PAGES = cutting.load_exercises()
REGIONS = [page.name for page in PAGES if page.kind == "write"]
FULL = bool(os.environ.get("FULL"))
CI = os.environ.get("CI") == "true"
ENVIRONMENT = {key: value for key, value in os.environ.items() if key not in
               ("SRC", "JSON", "N", "FORCE", "SHOW", "AUTOGRADER", "STATUS",
                "PYTHONDONTWRITEBYTECODE")}
ENVIRONMENT.update(LC_ALL="C.UTF-8", PYTHONPYCACHEPREFIX=str(WORK / "pycache"))
NATIVE = "-march=native -ffp-contract=off"  # the same bits, faster
ONE = next(name for name in REGIONS if "softmax" in name)  # the one that most is tried with
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
    """A program that has ended: its status, and in `out` all that it has printed."""
    return run(*command, allowed=(), together=True, cwd=cwd,
               env={**ENVIRONMENT, **environment})


def in_copy(copy, *arguments):
    """The tool of the project, or of a copy of it, run in its folder."""
    return ran(sys.executable, "docs/exercises/tool.py", *arguments, cwd=copy)


def within(seconds, holds):
    """Whether this holds, now or within so many seconds."""
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            return False
        time.sleep(0.1)
    return True


def running(pid):
    """The programs of students that the tool with this process id has started."""
    lines = ran("ps", "-eo", "stat,args").out.splitlines()
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

    def start(self, *arguments):
        process = subprocess.Popen(
            [sys.executable, str(TOOL), *arguments, f"FOLDER={self.desk}"],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=str(ROOT),
            env=ENVIRONMENT, encoding="utf-8")
        self.pid = process.pid
        return process

    def tool(self, *arguments):
        """The tool's exit status; self.output is what it printed."""
        process = self.start(*arguments)
        try:
            self.output = process.communicate(timeout=300)[0]
        except subprocess.TimeoutExpired:
            process.kill()
            self.output = "the tool takes longer than 300 seconds"
        return process.returncode

    def says(self, claim, status, text, *arguments):
        """The tool ends with this status and prints this text."""
        got = self.tool(*arguments)
        return self.holds(
            f"{claim}; wanted: {text}" if got != status else claim,
            got == status and text in self.output and "Traceback" not in self.output,
            f"{self.output}\nstatus {got}, wanted {status}: {text}")

    def exactly(self, right, wrong, todo):
        """Whether the output has this many lines of each kind."""
        return [len(re.findall(rf"^{word}", self.output, re.M))
                for word in ("ok  ", "FAIL", "todo")] == [right, wrong, todo]

    def graded(self, path):
        """The tests of a results.json, by name."""
        tests = json.loads(path.read_text(encoding="utf-8"))["tests"]
        return {re.match(r"\d+ (\w+):", test["name"])[1]: test for test in tests
                if test["visibility"] == "visible"}


def project(g):
    """A copy of what the tool needs of the project."""
    copy = g.folder / "copy"
    shutil.copytree(EXERCISES, copy / "docs" / "exercises",
                    ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "transformer.c", copy)
    (copy / "build").mkdir()  # the same reference need not be compiled again
    (copy / "build" / "exercises").symlink_to(compiling.BUILD)
    return copy

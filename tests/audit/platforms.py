#!/usr/bin/env python3
"""Builds transformer.c on several platforms and tests it there:

    python3 tests/audit/platforms.py              one build of each compiler for x86-64
    python3 tests/audit/platforms.py all          also other optimizations, 32 bits,
                                            Windows, AArch64, s390x
    python3 tests/audit/platforms.py NAME ...     some of them

On each platform the program and every chapter's test program are built without a
warning and run, and a small model is trained, resumed and used. Models go from one
platform to another: a model that was trained on this machine by gcc translates there
what it translates here, and is the same file when it is saved there again; and the same
training gives the same file there as here.

The last lines are a table and "N passed, N failed". There are fewer claims without
OpenMP, where those about threads are left out, and on Windows, which has neither fork nor
setrlimit. As many platforms are tried at once as there are cores, or JOBS.
"""

import collections
import concurrent.futures
import itertools
import os
import re
import shutil
import sys
from pathlib import Path
from subprocess import TimeoutExpired

ROOT = Path(__file__).resolve().parents[2]
WORK = ROOT / "build" / "platforms"
os.environ.update(LC_ALL="C", OMP_NUM_THREADS="1", OMP_WAIT_POLICY="passive",
                  WINEDEBUG="-all", WINEPREFIX=str(WORK / "wine"))
sys.path.append(str(ROOT / "tests" / "lib"))

from command import Failed, run  # noqa: E402
from harness import claim, end  # noqa: E402
from programs import listed, source_of  # noqa: E402

Platform = collections.namedtuple("Platform", "name what compiler flags runner")

# For each compiler, a build that is not the one of `make test` comes first. s390x is
# big-endian; all others are little-endian.
TABLE = [Platform(*map(str.strip, line.split("|"))) for line in """
gcc-O0   | x86-64 | gcc | -O0 |
clang-O2 | x86-64 | clang | -O2 |
tcc      | x86-64 | tcc | |
musl     | x86-64, musl | musl-gcc | -O2 -static |
gcc-O2   | x86-64 | gcc | -O2 |
gcc-O3   | x86-64 | gcc | -O3 -march=native -fopenmp |
clang-O0 | x86-64 | clang | -O0 |
clang-O3 | x86-64 | clang | -O3 -march=native -fopenmp -Wno-pass-failed |
i686     | 32 bits, x86 | i686-linux-gnu-gcc | -O2 -static |
windows  | Windows, x86-64 | x86_64-w64-mingw32-gcc | -O2 | wine
aarch64  | AArch64 | aarch64-linux-gnu-gcc | -O2 -static | qemu-aarch64-static
s390x    | big-endian s390x | s390x-linux-gnu-gcc | -O2 -static | qemu-s390x-static
""".strip().splitlines()]
FEW = 4
WARN = "-Wall -Wextra -Wpedantic -Wshadow -Werror"


def output(folder, *command, **how):
    """What a command prints, as on Unix."""
    return run(*command, cwd=folder, timeout=1200, **how).out.replace("\r", "")


def passed(folder, *command, **how):
    """How many claims a test program has made; all of them must hold."""
    printed = output(folder, *command, allowed=(0, 1), **how)
    last = re.search(r"([1-9]\d*) passed, 0 failed\n$", printed)
    assert last, "\n".join(re.findall("^FAIL.*", printed, re.M)) or printed[-300:]
    return int(last[1])


class Trial:
    """A platform, and the claims about it: (does it hold?, claim, found)"""

    def __init__(self, platform):
        self.platform, self.said, self.claims = platform, [], 0
        self.here = WORK / platform.name
        self.room = self.here / "room"  # it looks like the project
        (self.room / "build").mkdir(parents=True)
        for name in "data", "docs", "tests":
            (self.room / name).symlink_to(ROOT / name)
        self.own, self.pairs = self.here / "own.safetensors", self.here / "pairs.tsv"
        lines = (ROOT / "data" / "reverse.test.tsv").read_text().splitlines(True)
        self.pairs.write_text("".join(lines[:20]))

    def holds(self, text, step, *arguments):
        found = None
        try:
            step(*arguments)
        except (AssertionError, Failed, OSError, TimeoutExpired) as wrong:
            found = str(wrong)
        self.said.append((found is None, f"{self.platform.name}: {text}", found))

    def build(self, source, made, *flags):
        output(ROOT, self.platform.compiler, *self.platform.flags.split(), "-std=c11",
               *WARN.split(), *flags, source, "-o", self.here / made, "-lm")

    def run(self, program, *arguments, what=output, **how):
        """Runs a program in the platform's way."""
        path = self.here / program
        if not path.exists():
            path = path.with_name(program + ".exe")
        return what(self.room, *self.platform.runner.split(), path, *arguments, **how)

    def test(self, name, *flags):
        self.build(source_of(name), "program", *flags)
        self.claims += self.run("program", what=passed)

    @staticmethod
    def same_files(one, other):
        assert one.read_bytes() == other.read_bytes(), f"{one} is not {other}"

    def train(self):
        """A model is trained, stopped by its number of steps, and resumed."""
        log = self.here / "own.csv"
        for words in "--layers 1 --d-model 16 --heads 2 --steps 30", "--resume --steps 60":
            self.run("transformer", "train", "data/reverse.valid.tsv", "--model", self.own,
                     "--log", log, *words.split())
        assert log.read_text().count(",train,") == 60

    def use(self, model):
        """What the model translates, measures and looks at. Only the first digits of the
        loss, since sums may be rounded differently elsewhere."""
        sources = re.sub("\t.*", "", self.pairs.read_text())
        printed = (self.run("transformer", "translate", model, given=sources)
                   + self.run("transformer", "evaluate", model, self.pairs)
                   + self.run("transformer", "attention", model, "a b c").split("\n")[0] + "\n")
        return re.sub("^perplexity.*\n", "", re.sub(
            "^(loss .....).*", r"\1", printed, flags=re.M), flags=re.M)

    def exchange(self, other):
        """A model trained there does the same here, and is the same file when it is saved
        here again."""
        there, here = other.use(other.own), self.use(other.own)
        assert there == here and here.count("\n") == 27, there + here
        self.run("again", other.own, self.here / "again.safetensors")
        self.same_files(other.own, self.here / "again.safetensors")

    def command_line(self, test):
        """The whole command line, tried by a program of this machine."""
        passed(self.room, WORK / test,
               env={**os.environ, "TRANSFORMER": str(self.here / "transformer")})


def tried(platform, reference):
    """Builds and tries one platform."""
    trial = Trial(platform)
    # in the compiler's own C, as in README: there it may contract multiply-adds
    trial.holds(f"transformer.c is built by {platform.compiler} {platform.flags}",
                trial.build, "transformer.c", "transformer", "-std=gnu11")
    trial.holds("tests/audit/again.c is built", trial.build, source_of("again"), "again")
    for test in listed("double"):
        trial.holds(test, trial.test, test, "-DTRANSFORMER_DOUBLE", "-DTRANSFORMER_POISON")
    for test in listed("float"):
        trial.holds(f"{test} in single precision", trial.test, test)
    trial.holds("a model is trained and resumed", trial.train)
    trial.holds("a model of gcc -O2 is used and saved here as there",
                trial.exchange, reference)
    same = "the same training gives the same bits as gcc -O2"
    if platform.name == "i686":  # a wider type gives other bits
        trial.holds("its model does the same on both", reference.exchange, trial)
    else:
        trial.holds(same, trial.same_files, reference.own, trial.own)
    # by another compiler, with another library, in 32 bits
    if platform.name in ("tcc", "musl", "i686"):
        for test in listed("outside"):
            trial.holds(f"tests/{test}.c", trial.command_line, test)
    return trial


def main(names):
    if names in ([], ["all"]):
        names = [p.name for p in TABLE[:None if names else FEW]]
    chosen = [p for p in TABLE if p.name in names]
    wrong = set(names).difference(p.name for p in chosen) or {
        tool for p in chosen for tool in (p.compiler, p.runner)
        if tool and not shutil.which(tool)}
    if wrong:
        sys.exit(f"platforms.py: there is no {', '.join(sorted(wrong))}")
    shutil.rmtree(WORK, ignore_errors=True)
    reference = Trial(Platform("reference", "", "gcc", "-O2", ""))
    reference.build("transformer.c", "transformer")
    reference.build(source_of("again"), "again")
    reference.train()
    for test in listed("outside"):
        output(ROOT, "gcc", "-std=c11", "-O1", source_of(test), "-o", WORK / test, "-lm")
    jobs = int(os.environ.get("JOBS", os.cpu_count()))
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        trials = list(pool.map(tried, chosen, itertools.repeat(reference)))
    for said in itertools.chain.from_iterable(trial.said for trial in trials):
        claim(*said)
    print("platform | compiler | flags | run by | claims that hold")
    for p, trial in zip(chosen, trials):
        version = output(ROOT, p.compiler, "-dumpversion").strip()
        print(f"{p.what} | {p.compiler} {version} | {p.flags} | {p.runner or 'itself'} |",
              trial.claims)
    end()


if __name__ == "__main__":
    main(sys.argv[1:])

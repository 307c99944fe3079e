"""The functions to write: the stub, the reference, and the mistakes of students."""

import re
import shutil

from groups import CI, FULL, PAGES, REFERENCE, REGIONS, of_kind, ran, student
import comparing
import compiling
import cutting
import run_wrong_bodies
import source_file
import wrong_bodies
from comparing import compare, read_results


def stub(g):
    g.says("make exercises writes the stub", 0, "transformer.c is written",
           "exercises")
    path = g.desk / "transformer.c"
    for cc in "gcc", "clang":
        if shutil.which(cc):
            done = ran(cc, *"-std=c11 -Wall -Wextra -Wpedantic -Wshadow -Werror".split(),
                       path, "-o", g.folder / "a.out", "-lm")
            g.holds(f"the stub compiles without a warning with {cc}",
                    done.status == 0, done.out)
        elif CI:
            g.holds(f"{cc} is installed", False)
        else:
            g.lines.append(f"skip {cc} is not installed")
    g.says("the untouched stub gets no point", 1, "score: 0/", "grade")
    g.holds("and no exercise of the others is begun", g.exactly(0, 0, len(PAGES)))
    g.holds(f"the {len(REGIONS)} regions set back into the stub give transformer.c, "
            "byte for byte", _restored(path.read_bytes().decode("utf-8")))


def _restored(text):
    """Whether a text is transformer.c with all regions empty, and with the preamble."""
    ours = cutting.reference_regions()
    whole = source_file.with_bodies(text, {name: ours[name].body for name in REGIONS})
    extra = re.search(r"\n// What is not written yet.*?\n#endif\n", whole, re.S)
    return whole.replace(extra[0], "") == REFERENCE and all(
        source_file.is_stub(*region) for region in source_file.regions(text, "the stub").items())


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
    """Stubs as they are, and after a statement, which makes the grader compile them."""
    tried = REGIONS if FULL else REGIONS[2::8]
    todo = '    exercise_todo("NAME");\n'
    g.tool("grade", student(g.folder / "single.c", {tried[0]: todo}), f"N=1-{len(REGIONS)}")
    g.holds("a single stub fails its own check and no other",
            g.exactly(len(REGIONS) - 1, 0, 1)
            and re.search(f"^todo.* {tried[0]} ", g.output, re.M))
    for name in tried:
        # norm_forward declares what the lines after the region use
        declared = "real mean = 0, scale = 0;" * (name == "norm_forward")
        g.says(f"the check of {name} comes to the student's code", 1,
               f"exercise: {name} is not written yet", "grade", f"N={name}",
               student(g.folder / "single.c", {name: f"    {declared};\n{todo}"}))


def mistakes(g):
    """Each is refused, and named by its numbers alone. Without FULL, a sixth is tried."""
    made, total, tried = compiling.reference(), 0, 0
    g.holds("wrong_bodies.txt is of this grade.c", wrong_bodies.read_known()["grade.c"][1] ==
            wrong_bodies.digest_of_code(compiling.FILES[0].read_text(encoding="utf-8")))
    for e in of_kind("write"):
        mine = [m for m in wrong_bodies.load_mistakes(
            e, cutting.reference_regions()[e.name].body) if m.kind == "="]
        wrong, count = wrong_bodies.wrong_bodies(e, REFERENCE), len({m.say for m in mine})
        total += count
        g.holds(f"{e.name}: wrong_bodies.txt is of these {len(wrong)} wrong bodies", count >= 4
                and wrong_bodies.read_known()[e.name][1] == wrong_bodies.key_of(wrong))
        if not FULL and e.number % 6 != 1:
            continue
        tried += count
        folder = g.folder / e.name
        folder.mkdir()
        found = run_wrong_bodies.results(made, e.name,
                                         [(k, m.body) for k, m in enumerate(mine)], folder)
        right, odd = wrong_bodies.right_results(made, e.name), []
        for k, m in enumerate(mine):
            _, written = found.get(k, (0, ""))
            said = compare(written, right, "")[0] == "wrong" and wrong_bodies.named(
                e, wrong, read_results(written)[0], right)
            if said != ([m.say], True):
                odd.append(f"{m.say}: {said}")
        g.holds(f"{e.name}: {count} mistakes are refused, and told from each other",
                not odd, "\n".join(odd))
    g.holds(f"{tried} of {total} mistakes are named", total >= 500 and tried >= 80)
    nothing = wrong_bodies.digest_of([comparing.Case("")])
    g.holds("none is known by a case without results", nothing not in re.findall(
        r":(\w+)", wrong_bodies.KNOWN.read_text()))


def said_by_itself(g):
    """What the grader says by itself is seen in the grading of a student's file."""
    by_itself = {e.name: [m for m in wrong_bodies.load_mistakes(
        e, cutting.reference_regions()[e.name].body) if m.kind == "~"]
        for e in of_kind("write")}
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


def patterns(g):
    """What the numbers show of mistakes that nobody has foreseen."""
    def matrix(numbers, name="y", kind="matrix", cols=3):
        m = comparing.Matrix(name, kind, len(numbers) // cols, cols, [],
                             [comparing.PREFILL] * len(numbers))
        m.numbers, m.bits = [*map(float, numbers)], [0] * len(numbers)
        return m

    e = [1.0, 2.0, 3.0, -4.0, 0.0, 6.0, 7.5, 8.0, -9.0, 2.5, 3.0, 5.0]
    dx = [3.0, 1.0, -2.0, 5.0, -7.0, 4.0, 0.5, 1.5, 2.5, -6.0, 8.0, 9.0]
    gain, nan, inf = [2.0, 3.0, -1.0], float("nan"), float("inf")
    case = comparing.Case("a case", [matrix(dx, "dx"), matrix(gain, "gain")])
    for say, y in (("never written, or what was added is 0", [0.5] * 12),
                   ("as before in the last row", e[:9] + [0.5] * 3),
                   ("wrong in the first row", [7.0, 8.0, 9.0] + e[3:]),
                   ("wrong in the last column; there each number is too large by 1",
                    [x + 1 if k % 3 == 2 else x for k, x in enumerate(e)]),
                   ("wrong in the first column; there a constant factor: 2 times what is to be",
                    [x if k % 3 else 2 * x - 0.5 for k, x in enumerate(e)]),
                   ("wrong where dx is negative; there it is 4",
                    [4 if d < 0 else x for x, d in zip(e, dx)]),
                   ("all is one row too late", [4.0, 4.0, 4.0] + e[:9]),
                   ("all is one row too early", e[3:] + [4.0, 4.0, 4.0]),
                   ("the numbers are written column by column",
                    [e[k] for j in range(3) for k in range(j, 12, 3)]),
                   ("the rows stand in another order: row 1 is what row 2", e[:3] + e[6:9]
                    + e[3:6] + e[9:]),
                   ("row 2 is what row 1 should be", e[:6] + e[3:6] + e[9:]),
                   ("right to five digits, not to nine", [x * (1 + 1e-7) for x in e[:1]]
                    + [x + 1e-7 for x in e[1:]]),
                   ("not a number: never written", [nan, 1.0] + e[2:6] + [nan] + e[7:]),
                   ("infinite", [inf, 1.0] + e[2:6] + [inf] + e[7:]),
                   ("all zero", [0.0] * 12),
                   ("a constant factor: 3 times what is expected", [3 * x for x in e]),
                   ("a constant factor: 3 times what is to be added", [3 * x - 1 for x in e]),
                   ("what it held before is lost", [x - 0.5 for x in e]),
                   ("it is 2 times dx +1", [2 * d + 1 for d in dx]),
                   ("dx is added to it, too", [x + d for x, d in zip(e, dx)]),
                   ("2 times dx is missing from it", [x - 2 * d for x, d in zip(e, dx)]),
                   ("gain in each row is added to it", [x + gain[k % 3] for k, x in enumerate(e)]),
                   ("each number is multiplied by gain in each row, too",
                    [0.5 + (x - 0.5) * gain[k % 3] for k, x in enumerate(e)]),
                   ("each row has a factor of its own: 1, 2, 3", [x * (k // 3 + 1) for k, x in
                                                                 enumerate(e)]),
                   ("", [5.0, 1.0, 3.0, 9.0, 2.0, 2.0, 1.0, 6.0, 3.0, 4.0, 2.0, 0.5])):
        said = comparing.cause(matrix(y), matrix(e), case)
        g.holds(f"numbers that nobody has foreseen: {say or 'nothing is guessed'}",
                said.startswith(say) if say else not said, said)
    used, say = matrix(e), "what was there before the call is added to it, too"
    used.before = dx
    g.holds(f"of what is used up: {say}", say == comparing.cause(
        matrix([x + d for x, d in zip(e, dx)]), used, comparing.Case("a case")))
    mask, ids = [1.0, 0, 0, 1, 1, 0, 1, 1, 0], matrix([5, 6, 0], "ids", "tokens", 1)
    for say, y in (("wrong where j > i; there it is 1, not 0", [1.0, 1, 1, 1, 1, 1, 1, 1, 0]),
                   ("wrong where ids of column j is PAD; there it is 1, not 0",
                    [1.0, 0, 1, 1, 1, 1, 1, 1, 1])):
        said = comparing.cause(matrix(y, kind="bytes"), matrix(mask, kind="bytes"),
                               comparing.Case("a case", [ids]))
        g.holds(f"a mask: {say}", said == say, said)


def forged(g):
    """Files of results in which something is missing, or too much."""
    right = "case one\nresult matrix y\n1 2 0 3ff0000000000000\nend\n"
    cases = read_results(right)[0]
    g.holds("the results of the reference are right",
            compare(right + "token\n", cases, "token") == ("right", "right: 1 cases"))
    for claim, text in (
            ("without the token", right), ("with another token", right + "other\n"),
            ("whose last line has no end", right + "token"),
            ("without its numbers", right.replace(" 0 3ff0000000000000", "") + "token\n"),
            ("with one number less", right.replace(" 0 3ff", " 3ff") + "token\n"),
            ("without its result", "case one\nend\ntoken\n"),
            ("with a result twice", right.replace("end\n", "")
             + right.partition("one\n")[2] + "token\n"),
            ("without the end of its case", right.replace("end\n", "") + "token\n"),
            ("with a case more", right + right + "token\n"),
            ("without cases", "token\n"), ("that is empty", "")):
        g.holds(f"a file {claim} is not right", compare(text, cases, "token")[0] == "early")
    said = compare(right.replace("3ff0", "4000") + "token\n", cases, "token")
    g.holds("a wrong number is", said[0] == "wrong" and "y[1] (of 2): yours 2, expected 1"
            in said[1], str(said))

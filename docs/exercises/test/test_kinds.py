"""The other kinds: bugs, numbers, trainings."""

import re

from groups import (EXERCISES, FULL, NATIVE, PAGES, REFERENCE, REGIONS, ROOT, numbers_of,
                    of_kind, ran)
import cutting
import files
import grading


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
        path.write_text(cutting.without_marks(files.read_text(  # the right line is in it
            cutting.source_of(page))), encoding="utf-8")
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
    """learns_and_forgets, in a program of its own: other lines in place of the wrong one."""
    path = g.desk / "bugs" / "learns-and-forgets.c"
    g.tool("exercise", "N=learns_and_forgets")
    source = next(page.source for page in PAGES if page.name == "learns_and_forgets")
    given = path.read_text(encoding="utf-8")
    number = given[:given.index("dot(dw, u, S)")].count("\n") + 1
    for claim, status, say, wrong, new in (
            ("fixed in other words, is right", 0, "the same bits", "dot(dw, u, S)",
             "dot(w, dw, S)"),
            ("fixed by another sum is told so", 1, "another order of a sum?",
             "dot(dw, u, S)", "dot(dc, a->context + asks, K)"),
            ("with dropout switched off is not fixed", 1,
             f'where {source} prints "step 1: loss', "rate = 0.1f", "rate = 0"),
            ("that knows the lines of another run is not", 1,
             'it prints "checksum 2fd8c23a1d50b366" where', "double mean = loss",
             'puts("checksum 2fd8c23a1d50b366"); exit(0); double mean = loss'),
            ("that does not compile shows its line", 1, f"learns-and-forgets.c:{number}:",
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
            ("values of the wrong side", "multi_head_forward", "&w->value, memory)",
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
          "answers.txt:3: total is here a second time", "parameter_counts")
    given("total = 5\n", "any other wrong number is called wrong", "total: wrong\n",
          "parameter_counts")
    given("without_positions = 0.00002\n", "rounding is told from rows in a wrong order",
          "the rounding of single precision", "permutation")
    given("missing_e = 7\n", "so is a wrong label",
          "missing_e: only the task", "what_is_missing")


def _of_missing_parts():
    """what_is_missing: for each row of its table the part without which the results of
    lab 20 are most like that row."""
    parts = ("network", "positions", "residual", "look ahead", "cross-attention", "memory")
    tasks = ("parity", "first", "circle", "long circle", "jump")
    lab = (ROOT / "notebook" / "20-parts.ipynb").read_text(encoding="utf-8")
    without = [[float(re.search(rf"{task}, without {part}: right: ([\d.]+)", lab)[1])
                for task in tasks] for part in parts]
    page = (EXERCISES / "pages" / "what_is_missing.md").read_text(encoding="utf-8")
    for name, row in re.findall(r"^\| ([A-F]) \| (.*) \|$", page, re.M):
        apart = [sum(abs(float(x) - y) for x, y in zip(row.split(" | "), lack))
                 for lack in without]
        yield f"missing_{name.lower()}", apart.index(min(apart)) + 1


def _of_origins():
    """where_from: which change of lab 2 leaves as much the same as each row shows."""
    def same(where):
        return float(re.search(rf",{re.escape(where)},\d+,([\d.]+)", rows)[1])

    rows = (ROOT / "notebook" / "02-whence.csv").read_text(encoding="utf-8")
    changes = ("cross: all weights on the noun", "cross: all weights on the determiner",
               "both: all weights on the noun", "memory: the noun",
               "memory: the determiner", "memory: all words")
    for name, shown in zip("abcdef", (0.0, 24.9, 2.2, 100.0, 21.3, 97.8)):
        yield f"from_{name}", [same(change) for change in changes].index(shown) + 1
    guessed = round(3.57 * same(changes[2]))
    yield "guessed_from", guessed
    yield "spare_way", round(3.57 * same("encoder: all others' weights on the noun")) - guessed


def answers(g):
    """The answers on the pages are those that the program computes."""
    pages, path = of_kind("number"), g.desk / "answers.txt"

    def at(share):  # every page's answers at once, at a share of the tolerance
        path.write_text("".join(
            f"{name} = {value + max(share * tolerance, 1e-6 * (share > 1))!r}\n"
            for page in pages
            for name, (value, tolerance) in grading.wanted_answers(page).items()))

    program = g.folder / "numbers"
    ran("cc", "-std=c11", "-Og", "-ffp-contract=off", "-DTRANSFORMER_DOUBLE",
        EXERCISES / "test" / "numbers.c", "-o", program, "-lm")
    measured = [*_of_missing_parts(), *_of_origins()]
    path.write_text(ran(program).out + "".join(f"{name} = {value}\n"
                                                  for name, value in measured))
    g.says("the answers of the pages are those that the program makes", 0, "score: ", "grade",
           numbers_of(pages))
    at(0.99)
    g.says("the answers of the pages are right, within their tolerance", 0,
           "score: ", "grade", numbers_of(pages))
    at(1.01)
    g.tool("grade", numbers_of(pages))
    g.holds("beyond it they are wrong", g.exactly(0, len(pages), 0))


def trainings(g):
    for page in of_kind("train"):
        path, n = g.desk / page.file, page.number

        def given(text, claim, status, what):
            path.write_text(text)
            g.says(f"training {n}: {claim}", status, what, "grade", f"N={n}",
                   f"CC=cc {NATIVE}")

        given("--threads 2\n", "an option that may not be set is named", 1, ":1: --threads may not")
        given("--lr 1e-3 # rate\n3e-3\n", "so is what is no option", 1,
              ':2: what is "3e-3"?')
        given("--lr many\n", "a wrong value is shown as the program says it", 1, "lr")
        if FULL or page.name == "few_parameters":  # of three seeds
            given(page.example + "\n", f"the example reaches the goal: {page.example}", 0,
                  "score: ")
    for name, text, claim, what in (
            ("few_parameters", "--layers 1 --d-model 32 --heads 1 --norm pre "
             "--lr 1e-2 --warmup 50", "a model that learns enough is too large",
             "parameters (at most 9,200): without --d-ff the feed-forward networks are four"),
            ("carried_over", "--warmup 50 --from --from", "--from stands once",
             ":1: --from is here a second time"),
            ("carried_over", "--from a.safetensors", "and alone", ":1: --from stands alone")):
        page = next(page for page in of_kind("train") if page.name == name)
        (g.desk / page.file).write_text(text + "\n")
        g.says(f"{name}: {claim}", 1, what, "grade", f"N={page.number}",
               f"CC=cc {NATIVE}")

"""Code that is bad, or cheats, or never ends."""

import json
import os
import re
import signal
import sys

from groups import (CI, ONE, REFERENCE, REGION, of_kind, ran, running, student, within,
                    MODULES)
import compiling
import refusing
import source_file


# name: (claim, body, word of the result, what else it says)
BAD = {
    "matmul_definition": ("does not compile", "    int i = ;\n",
                          "does not compile", "int i = ;"),
    "dropout_row": ("crashes", "    x = NULL;\n    x[i] = 1;\n",
                    "crashes: x is a null pointer, in line"),
    ONE: ("loops for ever", "    unsigned sleep(unsigned);\n"
                    "    for (;;)\n        sleep(1);\n",
                    "stopped after 10 seconds: a loop without end?"),
    "attention_forward": ("prints 1 GB", """\
    for (long i = 0; i < 1 << 24; i++)
        printf("%063ld\\n", i);
""", "stopped: it prints more than 10 MB"),
    "embedding_backward": ("takes memory without end", """\
    for (;;)
        *(volatile char *)malloc(1 << 24) = 1;
""", "crashes: "),
    "ffn_backward": ("writes one place before the first", "    dx.at[-1] = 1;\n&\n",
                     "wrong: "),
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
    "decoder_layer_backward": ("one brace too few", "    {\n&\n", "1 of { stay open"),
    "loss_backward": ("writes one place after the last", "    d[V] = 1;\n&\n",
                      "wrong: "),
    "clip_factor": ("ends by a signal that is rare", "    int raise(int);\n"
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
            not list(compiling.BUILD.glob(f"run-{g.pid}-*")))
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
            set(top) == {"output", "output_format", "tests"} and all(
                set(test) == {"name", "number", "score", "max_score", "status", "output",
                              "visibility"} and len(test["output"]) < 80000
                and (test["status"] == "passed") == (test["score"] == test["max_score"])
                for test in top["tests"]) and top["output"] == f"score: {right}/"
            f"{sum(test['max_score'] for test in top['tests'])}")


# (region, claim, body, what is said of it)
CHEATS = [
    ("matmul_definition", "prints the verdict and leaves by exit",
     '    puts("right: 1 cases");\n    exit(0);\n', "ended the program itself"),
    (ONE, "computes, prints the verdict and leaves after the first case", """\
&
    puts("right: 8 cases");
    exit(0);
""", "ended the program itself"),
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
    exit(main(3, (char *[]){"grade", "ffn_backward", "results", NULL}));
""", "ended the program itself (status 2)"),
    ("norm_backward", "calls the grader's own functions",
     "    stop_here(NULL);\n", "does not compile"),
    ("decoder_layer_step", "hides code behind a quotation mark that a macro drops",
     '    PARALLEL_FOR(" /*\n    1)\n    asm("nop"); // */\n',
     "a quotation mark stays open"),
    ("dropout_row", "writes nonsense into the file of the results", """\
    long write(int, const void *, unsigned long);
    for (int file = 3; file < 6; file++)
        write(file, "case a\\nresult matrix b\\n1 1 0\\nbefore zz\\n", 39);
&
""", "ended the program itself"),
    ("embedding_backward", "takes long to be read",
     f"    int a = {'(' * 10000}1{')' * 10000};\n    (void)a;\n&\n", "more than 20000 characters"),
    ("adam_step", "includes a file", '#include "cheat.h"\n', "# is not allowed"),
]
# Lines that are refused when they are read, each for its first word.
REFUSED = """
# define fabs(x) 0.0
%: define main other
\\ * { *
__asm__ ("system")
_Pragma ("redefine_extname puts system")
PRAGMA (weak other = system)
[[ gnu::weakref("system")]];
??/ "); /*", exit(0) /* */);
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
    ("hides what it includes behind a quotation mark that stays open", r"\A",
     '#ifdef _WIN32\n" /*\n#endif\n#include "../../../../transformer.c"\n// */\n',
     "a quotation mark stays open"),
    ("leaves a part out with a line that the file has elsewhere",
     r"(?=#include <stdio.h>\n)", "#ifdef _WIN32\n#endif\n", "# is not allowed"),
    ("draws a line into a directive by a comment", r"(?<=#include <stdio.h>)(\n)",
     r" /*\1*/ ", "#include <stdio.h> /* is not allowed"),
]
# Bodies of the region ONE, compiled although the tool would refuse their text. @FILE@
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
BEHIND = """
import sys
sys.path[:0] = {}
sys.dont_write_bytecode = True
import compiling, cutting, files, grading
made = compiling.reference()
page = next(e for e in cutting.load_exercises() if e.name == {!r})
text = files.read_text(sys.argv[1]).replace("@FILE@", str(made / "grade")) \
    .replace("@SECRET@", sys.argv[1] + ".secret")
try:
    result = grading.grade_source(page, text, "cheat.c", [page.name], made)
except compiling.Wrong as wrong:
    result = grading.Result(page, "wrong", wrong.word, wrong.detail)
print(compiling.confinement(made) == 0, result.state, result.word, result.detail)
"""


def cheats(g):
    result = g.folder / "cheats.json"
    (g.folder / "cheat.h").write_text("exit(0);\n")
    source = student(g.folder / "cheats.c",
                     {name: body for name, _, body, _ in CHEATS})
    for line in REFUSED:
        word, said = line.split(" ")[0], refusing.refusal(
            source_file.Region(6, ["    int x = 1;", f"    {line}"]), "mine.c")
        g.holds(f"a line with {word} is refused", said
                == f"mine.c:8: {word} is not allowed in an exercise", said)
    g.tool("grade", source, f"JSON={result}", "N=" + ",".join(c[0] for c in CHEATS))
    tests = g.graded(result)
    for name, claim, _, say in CHEATS:
        g.holds(f"a body that {claim} gets nothing: {say}", say in tests[name]["output"]
                and tests[name]["score"] == 0, tests[name]["output"])


def honest(g):
    """Bodies that look odd, and are right."""
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
    for name, old, new in (
            ("loss_forward", "each[i].tokens = 1;",
             "Loss total = {.tokens = 1}; each[i].tokens = total.tokens;"),
            ("dropout_row", "x[j] *= scramble32(row_key ^ (uint32_t)j) <",
             "for (uint32_t random = scramble32(row_key ^ (uint32_t)j), k = 0; k < 1; k++) "
             "x[j] *= random <")):
        ours = re.search(REGION % name, REFERENCE, re.S)[3]
        g.says(f"so does one of {name} with a variable of its own that has a refused name", 0,
               "score: ", "grade", f"N={name}",
               student(g.folder / "own.c", {name: ours.replace(old, new)}))
        assert old in ours


def bug_cheats(g):
    bug = g.desk / "bugs" / "slow-learner.c"
    g.tool("exercise", "N=slow_learner")
    given = bug.read_text(encoding="utf-8")
    for claim, what, new, say in BUG_CHEATS:
        bug.write_bytes(re.sub(what, new, given, flags=re.S).encode("utf-8"))
        g.says(f"a bug's file that {claim} gets nothing: {say}", 1, say, "grade",
               "N=slow_learner")


def behind(g):
    """What a student's program can do if its text was not refused."""
    def graded(body):
        path = g.folder / "cheat.c"
        student(path, {ONE: body})
        return ran(sys.executable, "-c", BEHIND.format(MODULES, ONE), path,
                   SECRET="a key").out

    (g.folder / "cheat.c.secret").write_text("a key\n")
    offered = graded("&\n")
    if CI or offered.startswith("True"):
        g.holds("a program is confined, and what is right is right",
                offered.startswith("True right  right: 8 cases"), offered)
        said = graded(ESCAPES)
        g.holds("a program that is confined reads and writes no other file, starts no "
                "process, signals none, and has no network", "it tries\n" in said
                and "ended the program itself" in said and "done: " not in said, said)
        if os.geteuid() == 0:
            g.holds("as root, the tool runs it as another user", "user 65534" in said,
                    said)
        said = graded(READS)
        g.holds("nor does the compiler read another file", "does not compile" in said
                and "right:" not in said and "a key" not in said, said)
        said = graded('#include "@SECRET@"\n&\n')
        g.holds("not even to show its lines in an error", "does not compile" in said
                and "a key" not in said, said)
    else:
        g.lines.append("skip this system cannot confine a program")


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

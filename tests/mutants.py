#!/usr/bin/env python3
"""Are the tests any good? Breaks transformer.c in one place after the other and
expects a test to fail each time.

    python3 tests/mutants.py                    every mutant
    python3 tests/mutants.py --sample 500       some, others every day
    python3 tests/mutants.py --function adam_step --list
    python3 tests/mutants.py --csv FILE         and write the table

A mutant is the file with one change in one of the functions listed below. It is
compiled in double, with fresh memory full of NaN, without OpenMP, and run
against the test of its own chapter, then of later ones, each with a time
limit. It is killed when a claim fails, the program crashes or does not end.
What survives is run under Valgrind. What does not compile is not counted, and
what only several threads run is left alone.

A change that changes nothing cannot be killed. Patterns of those stand in
mutants.txt with the reason why. They are tried, too: one that is killed has a
wrong reason, a pattern of none is out of date, and both are failures.

tcc compiles a mutant in a thirtieth of the time, and is used if it is there.
"""

import argparse
import collections
import concurrent.futures
import datetime
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
PROGRAM = HERE.parent / "transformer.c"
SOURCE = PROGRAM.read_text("utf-8")
sys.path.append(str(HERE.parent / "docs" / "weaver"))

import c_code  # noqa: E402

# What is broken, by chapter: memory, attention, the backward passes, what
# carries masks and dropout, the list of parameters, the batches, the loss, the
# optimizer and the decoder. Not the interlude: most changes there cost only
# time, and which ones depends on the processor's vectors.
FUNCTIONS = {
    "01-numbers": """checked_product scale_by clear arena_push arena_pop
        arena_take arena_mat arena_zeros arena_release arena_free dropout_row
        dropout""",
    "02-attention": """mask_row mask_of_sentence softmax_row softmax_forward
        softmax_backward attention_forward attention_backward""",
    "03-multi-head": """next_dropout linear_forward add_column_sums
        linear_backward head heads_per_key head_of make_keys attend
        multi_head_forward multi_head_backward""",
    "04-embedding": "embedding_backward",
    "05-feed-forward": "normal_below activation_backward ffn_backward",
    "06-residual": """norm_backward residual_leave_backward
        residual_enter_backward""",
    "07-encoder": """attention_sublayer_backward ffn_sublayer_backward
        encoder_layer_backward encoder_backward""",
    "08-decoder": """decoder_layer_backward decoder_backward list_tensor
        place_tensors list_table initialize transformer_backward""",
    "09-masks": """padding_mask causal_mask causal_padding_mask
        transformer_forward""",
    "10-words": """first_piece find_merge merge_word apply_merge apply_merges
        spell count_pairs most_frequent vocab_merge pack make_batch""",
    "11-training": """add_losses tokens_expected arg_max loss_forward
        loss_backward l2_norm clip_factor adam_step learning_rate add_gradient
        update noise_of_step train_step evaluate_loss keep_best total_steps
        next_batch train""",
    "12-decoding": """empty_cache decoder_start extend_cache
        decoder_layer_step decoder_step longest_output tokens_in log_sum_exp
        translate length_penalty best_candidates finish_hypothesis beam_step
        reorder reorder_cache write_best beam_new beam_search
        translate_all""",
    "15-commands": "set_pace time_to_look",
}
CHAPTER = {f: c for c, names in FUNCTIONS.items() for f in names.split()}

# After that of its own chapter those of later ones, the quickest first; earlier
# ones cannot reach it.
LIST = [line.split() for line in (HERE / "list").read_text("utf-8").splitlines()
        if line and not line.startswith("#")]
TESTS = [test for test, *words in LIST if "mutants" in words]
POISON = "-DTRANSFORMER_POISON"

# Names that are taken for one another: each becomes the next of its list.
SIBLINGS = """query key value output, q k v, dq dk dv, inner outer, gain bias,
    weights dropped, rows cols, i j, b h, B T S, H K, x y, dx dy, m v, dout dh,
    source target, source_length target_length, input expected, memory hidden,
    source_embedding target_embedding, source_positions target_positions,
    self_attention cross_attention, self cross, dmemory dhidden,
    encoder decoder,
    self_key cross_key, self_value cross_value, self_mask cross_mask,
    source_mask target_mask, dsource dtarget, dn_mean dnn_mean, mean scale,
    beta1 beta2, rest1 rest2, step root, factor rate, loss cross_entropy,
    length room,
    tokens correct, first last, true false, PAD START END UNKNOWN,
    INIT_XAVIER INIT_ZEROS INIT_ONES, POST_NORM PRE_NORM, RELU GELU,
    SINUSOIDAL LEARNED, NOAM CONSTANT"""
NEXT = {name: names[(i + 1) % len(names)]
        for names in map(str.split, SIBLINGS.split(","))
        for i, name in enumerate(names)}
OTHER = {
    "+": ["-"], "-": ["+"], "*": ["/"], "/": ["*"], "%": ["/"],
    "+=": ["=", "-="], "-=": ["=", "+="], "*=": ["=", "/="], "/=": ["*="],
    "<": ["<=", ">="], "<=": ["<", ">"], ">": [">=", "<="], ">=": [">", "<"],
    "==": ["!="], "!=": ["=="], "&&": ["||"], "||": ["&&"], "++": ["--"],
    "?": ["&& 0 ?", "|| 1 ?"],
}
# Statements that compute nothing: they share a loop, or check a shape.
NOT_BROKEN = {"PARALLEL_FOR", "SHAPE"}
BINARY = {"+", "-", "*", "/", "%"}
LOGICAL = {"<", "<=", ">", ">=", "==", "!=", "&&", "||", "!"}
SYMMETRIC = {"dot", "add_losses", "min_int", "max_int", "fmin", "arena_take",
             "allocate", "checked_product"}  # f(a, b) is f(b, a)
CONSTANT = ["0", "NULL", "true", "false", "PAD"]  # without sign or factor
TOKEN = re.compile(r"""
    (?P<skip> \s+ | //[^\n]* | ^\#ifdef\ _OPENMP(?s:.*?)^\#endif
              | ^[ ]*\#[^\n]* )
    | [A-Za-z_]\w* | \d+\.?\d*(?:[eE][-+]?\d+)?[uUlLfF]*
    | "(?:\\.|[^"\\])*" | '(?:\\.|[^'\\])+'
    | -> | \+\+ | -- | << | >> | && | \|\| | [-+*/%<>=!&|^]= | .""",
                   re.VERBOSE | re.MULTILINE)

# The statement before and after; the place in the file and what comes there.
Mutant = collections.namedtuple("Mutant",
                                "function line before after first end new")


# ------------------------------------------------------------ making mutants

def plain(text):
    """Without comments and line breaks."""
    return " ".join(re.sub(r"//[^\n]*", "", text).split())


class Statement:
    """A statement without its body: an if or for is its header alone."""

    def __init__(self, spans):
        self.spans = spans
        self.text = [SOURCE[a:b] for a, b in spans]
        self.partner, self.depth, opened = {}, [], []
        for i, t in enumerate(self.text):
            if t in ")]}":
                self.partner[opened[-1]] = i
                opened.pop()
            self.depth.append(len(opened))
            if t in "([{":
                opened.append(i)

    def part(self, first, end):
        """The text of tokens first … end - 1."""
        return SOURCE[self.spans[first][0]:self.spans[end - 1][1]]

    def pieces(self, first, end):
        """[(first, end)]: tokens first … end - 1, cut at the commas."""
        cuts = [i for i in range(first, end) if self.text[i] == ","
                and self.depth[i] == self.depth[first]]
        return list(zip([first] + [c + 1 for c in cuts], cuts + [end]))

    def around(self, first, end):
        """What shows a change: the statement, or if long the innermost call."""
        if len(plain(self.part(0, len(self.text)))) > 76:
            for o in sorted(self.partner, reverse=True):
                if 0 < o < first and self.partner[o] >= end:
                    return o - 1, self.partner[o] + 1
        return 0, len(self.text)

    def changes(self):
        """(first, end, text): these tokens become the text."""
        text, n = self.text, len(self.text)
        loop, declares = text[0] == "for", re.match(
            r"(?!return)[A-Za-z_]\w* (\* )?[A-Za-z_]", " ".join(text))
        if text[0] in NOT_BROKEN:
            return
        if text[0] == "if":
            yield 2, n - 1, f"({self.part(2, n - 1)}) && 0"
            yield 2, n - 1, f"({self.part(2, n - 1)}) || 1"
        elif text[0] == "return" and n > 2:
            yield from self.values(1, n - 1)
        elif not loop and not declares:
            yield 0, n, ";"
        for i, t in enumerate(text):
            if declares and "=" not in text[:i + 1]:
                if t.isdigit():
                    yield from self.number(i)
                continue
            operand = i and re.match(r"(?!return)[\w)\]]", text[i - 1])
            if loop and t == "++":
                yield i, i + 1, " += 2"
            elif t not in BINARY or operand:
                for other in OTHER.get(t, []):
                    yield i, i + 1, other
            if t == "-" and not operand or t == "!":
                yield i, i + 1, ""
            if t == "=" and not declares and not loop:
                yield i, i + 1, "+="
            if t in ("=", "+=", "-=") and self.depth[i] == 0 and not (
                    declares and text[i - 2] == "*"):  # no pointer has a sign
                yield from self.values(*self.pieces(i + 1, n - 1)[0])
            if t == "[" and operand:
                inner = self.part(i + 1, self.partner[i])
                yield i + 1, self.partner[i], f"({inner}) + 1"
                yield i + 1, self.partner[i], f"({inner}) - 1"
            if t in NEXT:
                yield i, i + 1, NEXT[t]
            if re.match(r"\d", t):
                yield from self.number(i)
            if t == "{" or t == "(" and re.match(
                    r"(?!(if|for|while|return|sizeof|REAL)$)\w", text[i - 1]):
                yield from self.arguments(text[i - 1], i)

    def number(self, i):
        t = self.text[i]
        if not t.isdigit():
            yield i, i + 1, f"(1.5 * {t})"
            return
        yield i, i + 1, str(int(t) + 1)
        if int(t) > 0:
            yield i, i + 1, str(int(t) - 1)

    def values(self, first, end):
        """Of what is assigned or returned, the sign and a factor."""
        value = self.text[first:end]
        if value[0] not in CONSTANT and not LOGICAL.intersection(value):
            yield first, end, f"-({self.part(first, end)})"
            yield first, end, f"2 * ({self.part(first, end)})"

    def arguments(self, function, opening):
        """Shifted, exchanged, transposed."""
        closing = self.partner[opening]
        pieces = self.pieces(opening + 1, closing)
        memory = re.match(r"arena_(take|mat|zeros)$|allocate$", function)
        if closing == opening + 1:
            return
        if function == "transposed":
            yield opening - 1, closing + 1, self.part(opening + 1, closing)
        for first, end in pieces:
            arg = self.part(first, end)
            if re.match(r"(pass|arena|NULL|\d+)$|[{.\"&]|sizeof", arg):
                continue
            yield first, end, f"({arg}) {'-' if memory else '+'} 1"
            if "matmul" in function and self.text[first] != "transposed":
                yield first, end, f"transposed({arg})"
        for (first, middle), (second, end) in zip(pieces, pieces[1:]):
            a, b = self.part(first, middle), self.part(second, end)
            if a != b and a[0] != "." and function not in SYMMETRIC:
                yield first, end, f"{b}, {a}"


def statements(first, end):
    """The body SOURCE[first:end] of a function, statement by statement."""
    spans, depth = [], 0
    for match in TOKEN.finditer(SOURCE, first, end):
        t = match.group()
        if match["skip"] or not spans and t in ("{", "}", "else"):
            continue
        spans.append(match.span())
        depth += (t in "([{") - (t in ")]}")
        begin = SOURCE[slice(*spans[0])]
        header = begin in ("if", "for", "while", "PARALLEL_FOR")
        if depth == 0 and t == (")" if header else ";"):
            yield Statement(spans)
            spans = []


def body_of(function):
    """Where the body of a function begins, and where it ends."""
    try:
        its = c_code.function(PROGRAM, function)
    except c_code.Broken as wrong:
        sys.exit(f"mutants.py: {wrong}")
    lines = SOURCE.split("\n")
    inside = c_code.body(its)
    end = sum(len(line) + 1 for line in lines[:its.last - 1]) - 1
    return end - len("\n".join(inside)), end


def planted(*mutants):
    """The file with these mutants in it."""
    text = SOURCE
    for m in sorted(mutants, key=lambda m: m.first, reverse=True):
        text = text[:m.first] + m.new + text[m.end:]
    return text


def mutants_of(function):
    seen = collections.Counter()
    for s in statements(*body_of(function)):
        done = set()
        for first, last, new in s.changes():
            a, b = s.spans[first][0], s.spans[last - 1][1]
            if (a, b, new) in done or new == SOURCE[a:b]:
                continue
            done.add((a, b, new))
            left, right = s.around(first, last)
            start, stop = s.spans[left][0], s.spans[right - 1][1]
            before = plain(SOURCE[start:stop])
            after = plain(SOURCE[start:a] + new + SOURCE[b:stop])
            seen[before, after] += 1
            if seen[before, after] > 1:  # the same statement once more
                after += f" // {seen[before, after]}"
            yield Mutant(function, SOURCE.count("\n", 0, a) + 1, before, after,
                         a, b, new)


class Rules:
    """Those of mutants.txt: [(function, pattern, why nothing changes)]"""

    def __init__(self):
        self.rows, self.used = [], set()
        for number, line in enumerate((HERE / "mutants.txt").read_text(
                "utf-8").splitlines(), 1):
            if not line.startswith("#"):
                parts = line.split("\t")
                if len(parts) != 3 or parts[0] not in CHAPTER:
                    sys.exit(f"mutants.txt:{number}: not a function of mutants.py, a "
                             "pattern and a reason, with tabs between them")
                self.rows.append((parts[0], re.compile(parts[1])))

    def has(self, m):
        """Does one of them say that this mutant changes nothing?"""
        its = {row for row in self.rows if row[0] == m.function
               and row[1].search(f"{m.before} -> {m.after}")}
        self.used |= its
        return bool(its)

    def unused(self):
        return [row for row in self.rows if row not in self.used]


# ----------------------------------------------------------- running mutants

class Bench:
    """Compiles and runs tests, for each thread in a folder of its own."""

    def __init__(self, root):
        self.root = root
        self.local = threading.local()
        self.tcc = shutil.which("tcc")
        self.valgrind = shutil.which("valgrind")
        self.running, self.stopped = set(), False
        self.seconds = {}  # of processor time, without a mistake

    def folder(self):
        """build/, data/ and tests/; a program ends at the first false claim."""
        if not hasattr(self.local, "path"):
            path = pathlib.Path(tempfile.mkdtemp(dir=self.root))
            self.local.path = path
            (path / "build").mkdir()
            (path / "data").symlink_to(HERE.parent / "data")
            shutil.copytree(HERE, path / "tests")
            text = (HERE / "claims.h").read_text("utf-8")
            count = "*(holds ? &claims_passed : &claims_failed) += 1;"
            assert count in text
            (path / "tests/claims.h").write_text(
                text.replace(count, count + " if (!holds) exit(1);"), "utf-8")
        return self.local.path

    def call(self, seconds, *command):
        """Whether it succeeds, with limits of processor time and memory."""
        limits = f"ulimit -c 0 && ulimit -t {seconds} && ulimit -v 4000000 && "
        if self.stopped:
            return False
        process = subprocess.Popen(
            ["sh", "-c", limits + 'exec "$@"', "sh", *command],
            cwd=self.folder(), stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.running.add(process)
        try:
            return process.wait(900) == 0
        except subprocess.TimeoutExpired:  # it waits for something
            process.kill()
            return False
        finally:
            self.running.discard(process)

    def stop(self):
        """Whoever runs or is about to run a command ends soon."""
        self.stopped = True
        for process in list(self.running):
            process.kill()

    def compiles(self, test, kind, tcc=True):
        compiler = [self.tcc] if tcc and self.tcc else [
            *os.environ.get("CC", "cc").split(), "-O0", "-pedantic-errors"]
        return self.call(
            100, *compiler, "-std=c11", kind, "-DTRANSFORMER_DOUBLE",
            f"tests/{test}.c", "-o", "mutant", "-lm")

    def measure(self, tests):
        """How long they take, so that one that does not end is stopped."""
        (self.folder() / "transformer.c").write_text(SOURCE, "utf-8")
        for test in tests:
            begin = os.times().children_user
            if not self.compiles(test, POISON) or not self.call(99, "./mutant"):
                sys.exit(f"mutants.py: {test} fails without any change")
            self.seconds[test] = os.times().children_user - begin
        TESTS.sort(key=self.seconds.get)

    def verdict(self, m, listed):
        """What is the matter with it. None: it is no C."""
        (self.folder() / "transformer.c").write_text(planted(m), "utf-8")
        own = CHAPTER[m.function]
        for test in [own] + [t for t in TESTS if t > own]:
            if not self.compiles(test, POISON):
                return None
            if not self.call(int(2 + 5 * self.seconds[test]), "./mutant"):
                return f"is not equivalent: {test}" if listed else "killed"
        if listed:
            return "equivalent"
        # tcc takes what is no C; memory may be too small, or never given back
        test = "11-training" if own == "01-numbers" else own
        if not self.compiles(test, "-DTRANSFORMER_MALLOC", tcc=False):
            return None
        if self.valgrind and not self.call(
                300, "valgrind", "-q", "--leak-check=full",
                "--exit-on-first-error=yes", "--error-exitcode=9",
                "./mutant"):
            return "killed"
        return "survives"


class Progress:
    """On a terminal one line that changes, elsewhere a line each minute."""

    def __init__(self, total):
        self.total, self.begin, self.next = total, time.time(), 60
        self.terminal = sys.stderr.isatty()

    def show(self, done):
        seconds = time.time() - self.begin
        if self.terminal or seconds > self.next or done == self.total:
            self.next = seconds + 60
            print(f"{done} of {self.total}, {seconds / 60:.1f} minutes",
                  file=sys.stderr, end="\r" if self.terminal and
                  done < self.total else "\n", flush=True)


def the_gate_can_fail(bench):
    """Two planted mutants are reported: one that changes nothing, and one that
    is said to change nothing and stops Adam."""
    step = next(m for m in mutants_of("adam_step")
                if m.before.startswith("p[i] -= ") and m.new == ";")
    results = {
        "a mutant that survives is reported":
            bench.verdict(step._replace(end=step.first, new=""), False)
            == "survives",
        "a mutant with a false reason is reported":
            bench.verdict(step, True) not in ("equivalent", "killed"),
    }
    for claim, holds in results.items():
        print("ok  " if holds else "FAIL", claim, flush=True)
    return list(results.values()).count(False)


def report(counts, path):
    """The table, for each function; and as CSV."""
    columns = ["mutants", "killed", "equivalent"]
    counts["total"] = sum(counts.values(), collections.Counter())
    rows = [[f] + [counts[f][c] for c in columns]
            for f in [*CHAPTER, "total"] if f in counts]
    print(f"\n{'function':<28}" + "".join(f"{c:>12}" for c in columns))
    for name, *numbers in rows:
        print(f"{name:<28}" + "".join(f"{n:>12}" for n in numbers))
    if path:
        path.write_text("".join(",".join(map(str, row)) + "\n" for row
                                in [["function", *columns], *rows]), "utf-8")


def run(bench, chosen, rules, jobs):
    """Tries the mutants; returns {function: counts} and how many failed."""
    counts, failed = collections.defaultdict(collections.Counter), 0
    progress = Progress(len(chosen))
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        try:
            verdicts = pool.map(
                lambda m: bench.verdict(m, rules.has(m)), chosen)
            for done, (m, verdict) in enumerate(zip(chosen, verdicts), 1):
                progress.show(done)
                if verdict:
                    counts[m.function].update(["mutants", verdict])
                if verdict not in (None, "killed", "equivalent"):
                    failed += 1
                    print(f"FAIL transformer.c:{m.line} {m.function}: "
                          f"{m.before}  ->  {m.after}  {verdict}", flush=True)
        except KeyboardInterrupt:
            bench.stop()
            pool.shutdown(cancel_futures=True)
            raise
    return counts, failed


class Parser(argparse.ArgumentParser):
    """Says in one line what is wrong."""

    def error(self, message):
        self.exit(2, f"{self.prog}: {message}\n")


def count(text):
    if not re.fullmatch("0*[1-9][0-9]{0,8}", text):
        raise argparse.ArgumentTypeError(f"{text} is not a number from 1")
    return int(text)


def main():
    parser = Parser(description="breaks transformer.c")
    parser.add_argument("--sample", type=count, help="only so many mutants")
    parser.add_argument("--seed", type=int, help="of the sample; else the date",
                        default=int(f"{datetime.date.today():%Y%m%d}"))
    parser.add_argument("--function", choices=CHAPTER, action="append",
                        help="only in this one (and this one …)")
    parser.add_argument("--list", action="store_true", help="run nothing")
    parser.add_argument("--csv", type=pathlib.Path, help="write the table")
    parser.add_argument("--jobs", type=count, default=os.cpu_count())
    options = parser.parse_args()

    every = [m for function in CHAPTER for m in mutants_of(function)]
    rules = Rules()
    for m in every:
        rules.has(m)
    chosen = [m for m in every if m.function in (options.function or CHAPTER)]
    if options.sample and options.sample < len(chosen):
        chosen = random.Random(options.seed).sample(chosen, options.sample)
        print(f"{len(chosen)} mutants of {len(every)}: --sample "
              f"{options.sample} --seed {options.seed}", flush=True)
    if options.list:
        for m in chosen:
            print(f"{m.line}: {m.function}\n- {m.before}\n+ {m.after}")
        return 0

    build = HERE.parent / "build"
    build.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=build, prefix="mutants-") as root:
        bench = Bench(root)
        bench.measure([*FUNCTIONS, *(t for t in TESTS if t not in FUNCTIONS)])
        failed = the_gate_can_fail(bench)
        passed = 2 - failed
        counts, wrong = run(bench, chosen, rules, options.jobs)
    report(counts, options.csv)
    passed += counts["total"]["killed"] + counts["total"]["equivalent"]
    failed += wrong
    for function, pattern in rules.unused():
        print(f"FAIL mutants.txt is out of date: {function}  {pattern.pattern}")
        failed += 1
    if not bench.valgrind:
        print("skip what Valgrind finds: it is not installed")
        failed += os.environ.get("CI") == "true"
    print(f"{passed} passed, {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)

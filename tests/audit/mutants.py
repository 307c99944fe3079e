#!/usr/bin/env python3
"""Are the tests any good? Breaks transformer.c in one place after another and
expects a test to fail each time.

    python3 tests/audit/mutants.py                    every mutant
    python3 tests/audit/mutants.py --sample 500       500 of them, different ones every day
    python3 tests/audit/mutants.py --function adam_step

A mutant is the file with one change in one of the functions listed below. tcc, which is
quick, compiles it in double, with fresh memory full of NaN; the test of its own chapter
runs, then those of later ones, each with a time limit. It is killed when a claim fails, or
the program crashes or does not end. What survives is run under Valgrind. What does not
compile is not counted.

A mutant that computes the same cannot be killed. mutants.txt has patterns of these, with
the reasons. They are tried, too: one that is killed has a wrong reason, a pattern that fits
none is out of date, and both are failures.
"""

import argparse
import collections
import concurrent.futures
import datetime
import itertools
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests" / "lib"))

import c_code  # noqa: E402
from command import run  # noqa: E402
from harness import claim, counts, end, none  # noqa: E402
from programs import listed, source_of  # noqa: E402

SOURCE = (ROOT / "transformer.c").read_text("utf-8")
# Where each line of it begins.
STARTS = [0, *itertools.accumulate(len(line) for line in SOURCE.splitlines(True))]

# What is broken, by the test that should notice: memory, attention, the backward
# passes, what carries masks and dropout, the list of parameters, the batches, the
# loss, the optimizer and the decoder. Not the engine room: most changes there cost
# only time, and which ones depends on the processor's vectors.
FUNCTIONS = {
    "01-numbers": """checked_product scale_by clear arena_push arena_pop arena_take
        arena_mat arena_zeros arena_release arena_free dropout_row dropout""",
    "02-attention": """mask_row mask_of_sentence softmax_row softmax_forward
        softmax_backward attention_forward attention_backward""",
    "03-multi-head": """next_dropout linear_forward add_column_sums linear_backward head
        head_of make_keys attend multi_head_forward multi_head_backward""",
    "04-embedding": "embedding_backward",
    "05-feed-forward": "normal_below activation_backward ffn_backward",
    "06-residual": "norm_backward residual_leave_backward residual_enter_backward",
    "07-encoder": """attention_sublayer_backward ffn_sublayer_backward
        encoder_layer_backward encoder_backward""",
    "08-decoder": """decoder_layer_backward decoder_backward list_tensor place_tensors
        list_table initialize transformer_backward""",
    "09-masks": "padding_mask causal_mask causal_padding_mask transformer_forward",
    "10-batches": "pack make_batch",
    "11-training": """add_losses tokens_expected arg_max loss_forward loss_backward l2_norm
        clip_factor adam_step learning_rate add_gradient update noise_of_step train_step
        evaluate_loss total_steps next_batch train""",
    "12-decoding": """empty_cache decoder_start extend_cache decoder_layer_step decoder_step
        longest_output tokens_in log_sum_exp translate length_penalty best_candidates
        finish_hypothesis beam_step reorder reorder_cache write_best beam_new beam_search
        translate_batch translate_all""",
    "14-text": """lower_letter token_id spell spell_words is_better most_frequent
        join_everywhere""",
    "16-commands": "time_to_look",
}
OWN = {f: test for test, names in FUNCTIONS.items() for f in names.split()}

# Names that are easily confused: each becomes the next one in its list.
SIBLINGS = """query key value output, q k v, inner outer, gain bias, H K, weights dropped,
    rows cols, i j, b h, B T S, x y, dx dy, m v, dout dh, source target, source_length
    target_length, input expected, memory hidden, source_embedding target_embedding,
    source_positions target_positions, self_attention cross_attention, self cross, dmemory
    dhidden, encoder decoder, mean scale, dsource dtarget, dn_mean dnn_mean, beta1 beta2,
    rest1 rest2, step root, factor rate, loss cross_entropy, length room, tokens correct,
    first last, true false, PAD START END UNKNOWN, RELU GELU, INIT_XAVIER INIT_ZEROS
    INIT_ONES, POST_NORM PRE_NORM, SINUSOIDAL LEARNED, NOAM CONSTANT"""
NEXT = {name: names[(i + 1) % len(names)]
        for names in map(str.split, SIBLINGS.split(",")) for i, name in enumerate(names)}
OTHER = {"?": ["&& 0 ?", "|| 1 ?"], **{token: others for token, *others in map(
    str.split, """+ -, - +, * /, / *, % /, += = -=, -= = +=, *= = /=, /= *=, < <= >=, <= < >,
    > >= <=, >= > <, == !=, != ==, && ||, || &&, ++ --""".split(","))}}
NOT_BROKEN = {"PARALLEL_FOR", "SHAPE"}  # it computes nothing
LOGICAL = {"<", "<=", ">", ">=", "==", "!=", "&&", "||", "!"}
SYMMETRIC = {"dot", "add_losses", "min_int", "max_int", "fmin", "arena_take",
             "allocate", "checked_product"}  # f(a, b) is f(b, a)
CONSTANT = ["0", "NULL", "true", "false", "PAD"]  # without sign or factor
TOKEN = re.compile(r"""
    (?P<skip> \s+ | //[^\n]* | ^\#ifdef\ _OPENMP(?s:.*?)^\#endif | ^[ ]*\#[^\n]* )
    | [A-Za-z_]\w* | \d+\.?\d*(?:[eE][-+]?\d+)?[uUlLfF]*
    | "(?:\\.|[^"\\])*" | '(?:\\.|[^'\\])+'
    | -> | \+\+ | -- | << | >> | && | \|\| | [-+*/%<>=!&|^]= | .""",
                   re.VERBOSE | re.MULTILINE)

# The statement before and after; the place in the file and what comes there.
Mutant = collections.namedtuple("Mutant", "function line before after first end new")


class Statement:
    """A statement without its body: an if or for is its header alone."""

    def __init__(self, spans):
        self.spans, self.text = spans, [SOURCE[a:b] for a, b in spans]
        self.partner, self.depth, opened = {}, [], []
        for i, t in enumerate(self.text):
            if t in ")]}":
                self.partner[opened.pop()] = i
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

    def changes(self):
        """(first, end, text): these tokens become the text."""
        text, n = self.text, len(self.text)
        if text[0] in NOT_BROKEN:
            return
        declares = re.match(r"(?!return)[A-Za-z_]\w* (\* )?[A-Za-z_]", " ".join(text))
        if text[0] == "if":
            yield from ((2, n - 1, f"({self.part(2, n - 1)}) {also}")
                        for also in ("&& 0", "|| 1"))
        elif text[0] == "return" and n > 2:
            yield from self.values(1, n - 1)
        elif text[0] != "for" and not declares:
            yield 0, n, ";"
        for i, t in enumerate(text):
            if t.isdigit():
                yield from ((i, i + 1, str(int(t) + by)) for by in (1, -1) if int(t) + by >= 0)
            elif t[0].isdigit() and not (declares and "=" not in text[:i]):
                yield i, i + 1, f"(1.5 * {t})"
            elif not declares or "=" in text[:i + 1]:
                yield from self.changed(i, t, declares)

    def changed(self, i, t, declares):
        """What becomes of a token that is not a number."""
        text, loop = self.text, self.text[0] == "for"
        operand = i and re.match(r"(?!return)[\w)\]]", text[i - 1])
        if loop and t == "++":
            yield i, i + 1, " += 2"
        elif t not in "+-*/%" or operand:
            yield from ((i, i + 1, other) for other in OTHER.get(t, []))
        if t == "-" and not operand or t == "!":
            yield i, i + 1, ""
        if t == "=" and not declares and not loop:
            yield i, i + 1, "+="
        if t in ("=", "+=", "-=") and self.depth[i] == 0 and not (
                declares and text[i - 2] == "*"):  # no pointer has a sign
            yield from self.values(*self.pieces(i + 1, len(text) - 1)[0])
        if t == "[" and operand:
            index = self.part(i + 1, self.partner[i])
            yield from ((i + 1, self.partner[i], f"({index}) {by} 1") for by in "+-")
        if t in NEXT:
            yield i, i + 1, NEXT[t]
        if t == "{" or t == "(" and re.match(r"(?!(if|for|while|return|sizeof|REAL)$)\w",
                                             text[i - 1]):
            yield from self.arguments(text[i - 1], i)

    def values(self, first, end):
        """Changes the sign of what is assigned or returned, or adds a factor."""
        value = self.text[first:end]
        if value[0] not in CONSTANT and not LOGICAL.intersection(value):
            yield first, end, f"-({self.part(first, end)})"
            yield first, end, f"2 * ({self.part(first, end)})"

    def arguments(self, function, opening):
        """Arguments shifted, exchanged or transposed."""
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


def statements(function):
    """The body of a function, statement by statement."""
    its, spans, depth = c_code.function(ROOT / "transformer.c", function), [], 0
    for match in TOKEN.finditer(SOURCE, STARTS[its.last - 1 - len(c_code.body(its))],
                                STARTS[its.last - 1] - 1):
        t = match.group()
        if match["skip"] or not spans and t in ("{", "}", "else"):
            continue
        spans.append(match.span())
        depth += (t in "([{") - (t in ")]}")
        header = SOURCE[slice(*spans[0])] in ("if", "for", "while", "PARALLEL_FOR")
        if depth == 0 and t == (")" if header else ";"):
            yield Statement(spans)
            spans = []


def plain(*parts):
    """The text without comments and line breaks."""
    return " ".join(re.sub(r"//[^\n]*", "", "".join(parts)).split())


def mutants_of(function):
    seen = collections.Counter()
    for s in statements(function):
        start, stop = s.spans[0][0], s.spans[-1][1]
        before = plain(SOURCE[start:stop])
        for a, b, new in dict.fromkeys((s.spans[first][0], s.spans[last - 1][1], new)
                                       for first, last, new in s.changes()):
            if new == SOURCE[a:b]:
                continue
            after = plain(SOURCE[start:a], new, SOURCE[b:stop])
            seen[before, after] += 1
            if seen[before, after] > 1:  # the same statement once more
                after += f" // {seen[before, after]}"
            yield Mutant(function, SOURCE.count("\n", 0, a) + 1, before, after, a, b, new)


# Of mutants.txt: (function, pattern, why nothing changes)
RULES = [tuple(line.split("\t")) for line in pathlib.Path(__file__).with_name(
    "mutants.txt").read_text("utf-8").splitlines() if not line.startswith("#")]


def reasons(m):
    """The rules according to which this mutant changes nothing."""
    return {row for row in RULES if len(row) == 3 and row[0] == m.function
            and re.search(row[1], f"{m.before} -> {m.after}")}


BUILD = ROOT / "build" / "mutants"
VALGRIND = "valgrind -q --leak-check=full --exit-on-first-error=yes --error-exitcode=9"
STRICT = [*os.environ.get("CC", "cc").split(), "-O0", "-pedantic-errors"]
TESTS = listed("mutants")
SECONDS = {}  # of processor time that each test takes without a mistake


def call(folder, seconds, *command):
    """Whether it succeeds, within limits of processor time and memory. A test ends at
    its first false claim."""
    limits = f'ulimit -c 0 && ulimit -t {seconds} && ulimit -v 4000000 && exec "$@"'
    try:
        return run("sh", "-c", limits, "sh", *command, allowed=(), cwd=folder, timeout=900,
                   env={**os.environ, "STOP_AT_FIRST": "1"}).status == 0
    except subprocess.TimeoutExpired:  # it waits for something
        return False


def compiles(folder, test, kind="POISON", compiler=("tcc",)):
    return call(folder, 100, *compiler, "-std=c11", "-DTRANSFORMER_" + kind,
                "-DTRANSFORMER_DOUBLE", source_of(test), "-o", "mutant", "-lm")


def workshop(text):
    """A folder with build/, data/, tests/ and this transformer.c."""
    folder = tempfile.TemporaryDirectory(dir=BUILD)
    path = pathlib.Path(folder.name)
    (path / "build").mkdir()
    (path / "data").symlink_to(ROOT / "data")
    shutil.copytree(ROOT / "tests", path / "tests", copy_function=os.symlink)
    (path / "transformer.c").write_text(text, "utf-8")
    return folder


def measure():
    """Measures how long the tests take, so that one that does not end is stopped, and
    sorts them, the quickest first."""
    with workshop(SOURCE) as folder:
        for test in {*FUNCTIONS, *TESTS}:
            begin = os.times().children_user
            if not compiles(folder, test) or not call(folder, 99, "./mutant"):
                sys.exit(f"mutants.py: {test} fails without any change")
            SECONDS[test] = os.times().children_user - begin
    TESTS.sort(key=SECONDS.get)


def verdict(m, excused):
    """What becomes of a mutant; None if it is not C. Earlier tests cannot reach it."""
    own = OWN[m.function]
    with workshop(SOURCE[:m.first] + m.new + SOURCE[m.end:]) as folder:
        for test in [own] + [t for t in TESTS if t > own]:
            if not compiles(folder, test):
                return None
            if not call(folder, int(2 + 5 * SECONDS[test]), "./mutant"):
                return f"is not equivalent: {test}" if excused else "killed"
        if excused:
            return "equivalent"
        # tcc accepts what is not C; memory may be too small, or never given back
        test = "11-training" if own == "01-numbers" else own
        if not compiles(folder, test, "MALLOC", STRICT):
            return None
        return "survives" if call(folder, 300, *VALGRIND.split(), "./mutant") else "killed"


def report(m, found):
    if found in ("killed", "equivalent"):
        counts[True] += 1
    elif found:
        claim(False, f"transformer.c:{m.line} {m.function}: {m.before}  ->  {m.after}  {found}")


def main():
    parser = argparse.ArgumentParser(description="breaks transformer.c")
    parser.add_argument("--sample", type=int, help="try only this many mutants")
    parser.add_argument("--seed", type=int, help="seed of the sample (the date)",
                        default=int(f"{datetime.date.today():%Y%m%d}"))
    parser.add_argument("--function", choices=OWN, action="append",
                        help="only mutants of this function; may be repeated")
    options = parser.parse_args()
    if not shutil.which("valgrind") or not shutil.which("tcc"):
        sys.exit("mutants.py: Valgrind or tcc is not installed")
    every = [m for function in OWN for m in mutants_of(function)]
    unused = set(RULES).difference(*map(reasons, every))
    chosen = [m for m in every if m.function in (options.function or OWN)]
    if options.sample and options.sample < len(chosen):
        chosen = random.Random(options.seed).sample(chosen, options.sample)
        print(f"{len(chosen)} mutants of {len(every)}: --sample {options.sample} "
              f"--seed {options.seed}", flush=True)
    shutil.rmtree(BUILD, ignore_errors=True)
    BUILD.mkdir(parents=True)
    measure()
    # Planted: one that changes nothing, and one that is excused but loses part of a gradient.
    lost = next(m for m in mutants_of("norm_backward") if m.new == ";")
    claim(verdict(lost._replace(end=lost.first, new=""), False) == "survives",
          "a mutant that survives is reported")
    claim(verdict(lost, True) not in ("equivalent", "killed"),
          "a mutant with a false reason is reported")
    with concurrent.futures.ThreadPoolExecutor(
            int(os.environ.get("JOBS", os.cpu_count()))) as pool:
        for m, found in zip(chosen, pool.map(lambda m: verdict(m, bool(reasons(m))), chosen)):
            report(m, found)
    none(sorted(unused), "each row of mutants.txt is a function, the pattern of a mutant, a "
         "reason, with tabs between them")
    end()


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # it ends at once, as do its programs
    main()

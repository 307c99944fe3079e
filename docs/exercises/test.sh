#!/bin/sh
# What the exercises promise, each a line "ok" or "FAIL":
#
#     sh docs/exercises/test.sh           about four minutes on two cores
#     FULL=1 sh docs/exercises/test.sh    all 30 single stubs, else 6 of them:
#                                         a minute and a half more
#
# The last line is "N passed, N failed". With CI=true a check that cannot be made
# counts as failed. Everything happens in build/test-exercises.
# shellcheck disable=SC2009,SC2012,SC2013,SC2086

cd "$(dirname "$0")/../.." || exit 1
export LC_ALL=C.UTF-8
unset SRC JSON N FORCE SHOW AUTOGRADER
work=$PWD/build/test-exercises
rm -rf "$work"
mkdir -p "$work/desk" || exit 1
trap 'kill $(cat "$work"/*.pid 2> /dev/null) 2> /dev/null; exit 130' INT TERM
passed=0 failed=0
REGIONS=$(sed -n 's|^ *//@ exercise ||p' transformer.c)
COUNT=$(echo "$REGIONS" | wc -l)

ok()
{
    passed=$((passed + 1))
    echo "ok   $1"
}

bad()
{
    failed=$((failed + 1))
    echo "FAIL $1"
    tail -n 12 "$work/log" | cut -c 1-200 | sed 's/^/     | /'
}

# holds CLAIM command...: the command succeeds
holds()
{
    claim=$1
    shift
    if "$@" > "$work/held" 2>&1; then
        ok "$claim"
    else
        cat "$work/held" >> "$work/log"
        bad "$claim"
    fi
}

# tool STATUS COMMAND arguments...: the tool ends with this status
tool()
{
    wanted=$1
    shift
    timeout 300 python3 docs/exercises/tool.py "$@" "FOLDER=$work/desk" \
        > "$work/log" 2>&1
    got=$?
    [ "$got" = "$wanted" ] || { echo "status $got" >> "$work/log"; return 1; }
}

# says CLAIM STATUS TEXT COMMAND arguments...: and prints this text
says()
{
    claim=$1 status=$2 text=$3
    shift 3
    if tool "$status" "$@" && grep -qF -e "$text" "$work/log" \
        && ! grep -q Traceback "$work/log"; then
        ok "$claim"
    else
        bad "$claim; wanted: $text"
    fi
}

# student OUTPUT < BODIES: the reference with other bodies. A line "= NAME" or
# "= *" (all) begins a body; in it, & is the reference's own one.
student()
{
    python3 -c '
import re, sys
text = open("transformer.c", encoding="utf-8").read()
bodies = re.split(r"^= (\S+)\n", sys.stdin.read(), flags=re.M)[1:]
bodies = dict(zip(bodies[::2], bodies[1::2]))
def body(m):
    new = bodies.get(m[2], bodies.get("*", "&\n"))
    new = new.replace("&\n", m[3]).replace("NAME", m[2])
    return m[1] + new + m[4]
text = re.sub(r"( *//@ exercise (\w+)\n)(.*?)( *//@ end\n)", body, text, flags=re.S)
open(sys.argv[1], "w", encoding="utf-8").write(text)' "$1"
}

strict()
{
    "$1" -std=c11 -Wall -Wextra -Wpedantic -Wshadow -Werror "$2" -o "$work/a.out" -lm
}

# exactly OK FAIL TODO: so many lines of each kind in the log
exactly()
{
    [ "$(grep -c '^ok  ' "$work/log")" = "$1" ] \
        && [ "$(grep -c '^FAIL' "$work/log")" = "$2" ] \
        && [ "$(grep -c '^todo' "$work/log")" = "$3" ]
}

# within SECONDS command...: it succeeds, now or so much later
within()
{
    tries=$(($1 * 5))
    shift
    until "$@" > "$work/within.log" 2>&1; do
        tries=$((tries - 1))
        [ $tries -gt 0 ] || { cat "$work/within.log"; return 1; }
        sleep 0.2
    done
}

# The programs of students that are running, if there is one.
somebody()
{
    ps -eo stat,args | grep "^[^Z][^ ]*  *$PWD/build/exercises/run-"
}
nobody()
{
    ! somebody
}

# ------------------------------------------------ the stub and the reference

says "make exercises writes the stub" 0 "transformer.c is written" exercises
for cc in gcc clang; do
    if command -v $cc > /dev/null; then
        holds "the stub compiles without a warning with $cc" \
            strict $cc "$work/desk/transformer.c"
    elif [ "${CI:-}" = true ]; then
        bad "$cc is not installed"
    else
        echo "skip $cc is not installed"
    fi
done
tool 1 grade "N=1-$COUNT"
holds "the untouched stub gets no point" exactly 0 0 "$COUNT"
says "and no exercise of the others is begun" 1 "score: 0/" grade

restored()
{
    python3 -c '
import re, sys
read = lambda path: open(path, encoding="utf-8", newline="").read()
pattern = r"( *//@ exercise %s\n)(.*?)( *//@ end\n)"
reference, stub = read("transformer.c"), read(sys.argv[1])
for name in sys.argv[2:]:
    assert len(re.findall(pattern % name, stub, re.S)) == 1, name
    assert "exercise_todo(\"%s\")" % name in stub, name
    ours = re.search(pattern % name, reference, re.S)
    theirs = re.search(pattern % name, stub, re.S)
    # the single stub, and the region set back into it
    single = reference.replace(ours[0], theirs[0])
    assert single != reference and single.replace(theirs[0], ours[0]) == reference
    stub = stub.replace(theirs[0], ours[0])
extra = re.search(r"\n// What is not written yet.*?\n#endif\n", stub, re.S)
assert stub.replace(extra[0], "") == reference' "$work/desk/transformer.c" $REGIONS
}
holds "the $COUNT regions set back into the stub give transformer.c, byte for byte" \
    restored

says "the reference gets full marks" 0 "score: " grade SRC=transformer.c
holds "in all $COUNT exercises" exactly "$COUNT" 0 0

student "$work/mine.c" << 'END'
= *
    ; // mine
&
END
says "so does a file in which every region is another one, compiled one by one" \
    0 "score: " grade "SRC=$work/mine.c" "N=1-$COUNT"
holds "in all $COUNT exercises" exactly "$COUNT" 0 0

# Single stubs, as they are and with a statement before (then they are compiled).
single()
{
    printf '= %s\n    exercise_todo("NAME");\n' "$1" | student "$work/single.c"
    tool 1 grade "SRC=$work/single.c" "N=1-$COUNT"
    exactly $((COUNT - 1)) 0 1 && grep "^todo.* $1 " "$work/log"
}
reached()
{
    declared= # what the lines behind the region use
    [ "$1" = norm_forward ] && declared="real mean = 0, scale = 0;"
    printf '= %s\n    %s;\n    exercise_todo("NAME");\n' "$1" "$declared" \
        | student "$work/single.c"
    tool 1 grade "SRC=$work/single.c" "N=$1"
    exactly 0 0 1 && grep "exercise: $1 is not written yet" "$work/log"
}
k=0 singles=0 reaches=0 tried=0
for name in $REGIONS; do
    k=$((k + 1))
    [ -n "${FULL:-}" ] || [ $((k % 5)) = 3 ] || continue
    tried=$((tried + 1))
    if single "$name" > "$work/single.log" 2>&1; then
        singles=$((singles + 1))
    else
        bad "the stub of $name alone fails its own check and no other"
    fi
    if reached "$name" > "$work/single.log" 2>&1; then
        reaches=$((reaches + 1))
    else
        bad "the check of $name calls the function"
    fi
done
holds "a single stub fails its own check and no other ($singles of $tried tried)" \
    [ "$singles" = "$tried" ]
holds "each check comes to the student's code ($reaches of $tried tried)" \
    [ "$reaches" = "$tried" ]

# ------------------------------------------------------- mistakes of students

# The k-th mistake of each region goes into one file, which is graded at once.
mistakes()
{
    python3 -c '
import json, os, re, subprocess, sys
work, text = sys.argv[1], open("transformer.c", encoding="utf-8").read()
pattern = r"( *//@ exercise %s\n)(.*?)( *//@ end\n)"
parts = re.split(r"^= (\w+): (.*)\n",
                 open("docs/exercises/mistakes.txt", encoding="utf-8").read(),
                 flags=re.M)[1:]
rounds = []
for name, say, body in zip(parts[::3], parts[1::3], parts[2::3]):
    change = re.fullmatch(r"\{(.*) -> (.*)\}\n", body)
    ours = re.search(pattern % name, text, re.S)[2]
    if change:
        assert ours.count(change[1]) == 1, (name, change[1])
        body = ours.replace(change[1], change[2])
    free = [r for r in rounds if name not in r] or [{}]
    rounds += [] if free[0] else free
    free[0][name] = say, body
for mistakes in rounds:
    source, result = f"{work}/wrong.c", f"{work}/wrong.json"
    changed = text
    for name, (say, body) in mistakes.items():
        changed = re.sub(pattern % name, lambda m: m[1] + body + m[3], changed,
                         flags=re.S)
    open(source, "w", encoding="utf-8").write(changed)
    subprocess.run([sys.executable, "docs/exercises/tool.py", "grade",
                    "SRC=" + source, "JSON=" + result, "CC=cc -O0",
                    "N=" + ",".join(mistakes)],
                   stdout=subprocess.DEVNULL)
    for test in json.load(open(result, encoding="utf-8"))["tests"]:
        name = re.match(r"\d+ (\w+):", test["name"])[1]
        say = mistakes[name][0]
        if say in test["output"] and test["score"] == 0:
            print(f"ok   {name}: {say}")
        else:
            said = test["output"].replace("\n", "\n     | ")
            print(f"FAIL {name}: {say}\n     | {said}")' "$work"
}
mistakes > "$work/mistakes.log" 2>&1 || echo "FAIL mistakes.txt cannot be read" \
    >> "$work/mistakes.log"
cat "$work/mistakes.log"
passed=$((passed + $(grep -c '^ok  ' "$work/mistakes.log")))
failed=$((failed + $(grep -c '^FAIL' "$work/mistakes.log")))

# ----------------------------------------------------------- find the bug

key()
{
    sed -n "s/^$2: //p;/^----/q" "$1"
}

mended()
{
    python3 -c '
import sys
path, right, wrong = sys.argv[1:]
lines = open(path, encoding="utf-8").read().split("\n")
ours = [l for l in open("transformer.c", encoding="utf-8").read().split("\n")
        if not l.strip().startswith(("//@ end", "//@ exercise "))]
right, wrong = right.split(" ⏎ "), wrong.split(" ⏎ ")
for i in range(len(lines)):  # the one place where this gives the reference
    if [l.strip() for l in lines[i:i + len(wrong)]] == wrong:
        indent = lines[i][:len(lines[i]) - len(lines[i].lstrip())]
        new = lines[:i] + [indent + l for l in right] + lines[i + len(wrong):]
        if new == ours:
            open(path, "w", encoding="utf-8").write("\n".join(new))
            sys.exit(0)
sys.exit("not the reference with one mistake")' "$@"
}

bugs=
for page in $(grep -l '^kind: bug' docs/exercises/[0-9]*.md); do
    n=$(basename "$page" | cut -c 1-2)
    file=$work/desk/bugs/$(basename "$page" .md).c
    bugs=$bugs,$n
    says "bug $n: the exercise does not tell what its check says" 0 \
        "a check fails until it is mended" exercise "N=$n"
    says "bug $n fails with its diagnosis: $(key "$page" diagnosis)" 1 \
        "$(key "$page" diagnosis)" grade "N=$n"
    holds "bug $n: the check fails" grep "^FAIL $n .* 0/" "$work/log"
    holds "bug $n: no guess tells where it is" \
        sh -c "! grep -E 'whole numbers|see itself' '$work/log'"
    holds "bug $n: the right line in place of the wrong one gives transformer.c" \
        mended "$file" "$(key "$page" right)" "$(key "$page" wrong)"
done
says "all bugs, mended, get full marks" 0 "score: " grade "N=${bugs#,}"
holds "a bug's file has no exercise markers" \
    sh -c "! grep -E '//@ (exercise|end)' '$work'/desk/bugs/*.c"
# elsewhere CLAIM FUNCTION FROM TO: exercise 32 mended in the wrong place
elsewhere()
{
    sed "/^[A-Za-z].* \\**$2(/,/^}/s/$3/$4/" transformer.c \
        > "$work/desk/bugs/32-two-answers.c"
    holds "it is another file" sh -c "! cmp -s transformer.c \
        '$work/desk/bugs/32-two-answers.c'"
    says "bug 32: $1 is seen" 1 "FAIL 32" grade N=32
}
elsewhere "another scale backward" multi_head_backward '(real)K)' '(real)D)'
elsewhere "another scale in decoding" attend_to_cache '(real)K)' '(real)D)'
elsewhere "values of the wrong side" multi_head_forward 's->v, y,' 's->v, x,'
says "a bug's file that was reset has the mistake again" 0 "as it was" reset N=31
says "and is kept in backup" 1 "FAIL 31" grade N=31

# ----------------------------------------------------- numbers and trainings

answers=$work/desk/answers.txt
printf 'total = 5\nnonsense\n' > "$answers"
says "a broken line of answers.txt is an error with its number" 1 \
    "answers.txt:2: expected: name = value" grade N=41
printf 'moved_by_3 = 0,97\nparameters = 16640\n' > "$answers"
says "it is an error of its own exercise" 1 'answers.txt:1: "0,97" is not' \
    grade N=43
tool 1 grade N=44
holds "and not of others" sh -c "! grep 'answers.txt' '$work/log'"
printf 'total = 24006656\nwithout_positions = 3\n' > "$answers"
says "a known mistake is named" 1 "the biases are missing" grade N=41
says "also any other than 0" 1 "should be 0: which row" grade N=45
echo 'total = 1,000' > "$answers"
says "so is something that is no number" 1 'answers.txt:1: "1,000" is not' \
    grade N=41
printf 'total = 5\n\ntotal = 6\n' > "$answers"
says "so is an answer given twice" 1 "answers.txt:3: total stands here again" \
    grade N=41
echo 'total = 5' > "$answers"
says "a wrong number is told how far off it is" 1 "too small, by more than a factor" \
    grade N=41
# every page's answers at once, at the edge of the tolerance and beyond it
write_answers()
{
    python3 -c '
import sys
sys.path.insert(0, "docs/exercises")
sys.dont_write_bytecode = True
import tool
for e in tool.load_exercises():
    for name, (value, tolerance) in tool.wanted_answers(e).items() \
            if e.kind == "number" else []:
        off = 0.99 * tolerance if sys.argv[2] == "in" else max(1.01 * tolerance, 1e-6)
        open(sys.argv[1], "a").write(f"{name} = {value + off!r}\n")
' "$answers" "$1"
}
numbers=$(grep -l '^kind: number' docs/exercises/[0-9]*.md \
    | sed 's|.*/\(..\)-.*|\1|' | paste -sd, -)
rm -f "$answers"
write_answers in
says "the answers of the pages are right, within their tolerance" 0 "score: " \
    grade "N=$numbers"
rm -f "$answers"
write_answers out
tool 1 grade "N=$numbers"
holds "beyond it they are wrong" exactly 0 "$(echo "$numbers" | tr , ' ' | wc -w)" 0

for page in $(grep -l '^kind: train' docs/exercises/[0-9]*.md); do
    n=$(basename "$page" | cut -c 1-2)
    file=$work/desk/$(key "$page" file)
    echo '--threads 2' > "$file"
    says "training $n: an option that may not be set is named" 1 \
        ":1: --threads may not be set here" \
        grade "N=$n"
    printf -- '--lr 1e-3 # rate\n3e-3\n' > "$file"
    says "training $n: so is what is no option" 1 ':2: what is "3e-3"?' \
        grade "N=$n"
    echo '--lr many' > "$file"
    says "training $n: a wrong value is shown as the program says it" 1 \
        "lr" grade "N=$n"
    key "$page" example > "$file"
    says "training $n: the example reaches the goal: $(key "$page" example)" 0 \
        "score: " grade "N=$n"
done

# ------------------------------------------------------------- broken files

# broken CLAIM TEXT SED-SCRIPT: an error with a line number, also in JSON
broken()
{
    sed "$3" transformer.c > "$work/broken.c"
    says "$1" 2 "$2" grade "SRC=$work/broken.c" "JSON=$work/broken.json"
    holds "with a line number, and in JSON" \
        python3 -c '
import json, re, sys
results = json.load(open(sys.argv[1]))
assert re.search(r"broken\.c:\d+: ", results["output"])
assert results["tests"] and all(t["score"] == 0 for t in results["tests"])' \
        "$work/broken.json"
}
broken "a nested marker is an error" \
    "//@ exercise softmax_backward within //@ exercise softmax_row" \
    '/@ exercise softmax_row/a //@ exercise softmax_backward'
broken "a region without its end is an error" \
    "and has no //@ end yet" '/@ exercise softmax_row/,/@ end/{/@ end/d}'
broken "the last region without its end is an error" \
    "has no //@ end" '/@ exercise translate/,/@ end/{/@ end/d}'
broken "an end without a beginning is an error" \
    "//@ end without a //@ exercise" '/@ exercise softmax_row/d'
broken "a region that stands twice is an error" \
    "//@ exercise head stands here again" \
    's|//@ exercise softmax_row|//@ exercise head|'
broken "an unknown exercise is an error" \
    "there is no exercise softmax_rov" 's|@ exercise softmax_row|@ exercise softmax_rov|'
broken "an unknown marker is an error" \
    "unknown marker: //@ exercize softmax_row" \
    's|@ exercise softmax_row|@ exercize softmax_row|'
sed '/@ exercise softmax_row/,/@ end/d' transformer.c > "$work/broken.c"
says "a region that lacks is named" 1 "has no line //@ exercise softmax_row" \
    grade "SRC=$work/broken.c" N=3
says "the others are graded" 0 "score: " grade "SRC=$work/broken.c" N=2
sed 's/$/\r/' transformer.c > "$work/broken.c"
says "a file with Windows line ends is as good" 0 "score: " \
    grade "SRC=$work/broken.c"
: > "$work/broken.c"
says "an empty file gets nothing" 1 "score: 0/" grade "SRC=$work/broken.c"
says "no file is an error" 2 "there is no " grade "SRC=$work/nothing.c"
says "a folder is an error" 2 "cannot read" grade "SRC=$work"
head -c 5000 /dev/urandom > "$work/broken.c"
says "a file that is no text is an error" 2 "broken.c:" grade "SRC=$work/broken.c"
printf '// caf\351\n' > "$work/broken.c"
says "so is one that is not UTF-8" 2 "broken.c:1: this is not UTF-8" \
    grade "SRC=$work/broken.c"

# --------------------------------------------------------------- bad students

student "$work/evil.c" << 'END'
= matmul_definition
    int i = ;
= dropout_row
    x = NULL;
    x[i] = 1;
= softmax_row
    for (volatile int i = 0;;)
        i++;
= softmax_backward
    for (int i = 0; i < 10000000; i++)
        dw.at[i] = 1;
= attention_forward
    for (long i = 0; i < 1 << 24; i++)
        printf("%063ld\n", i);
= attention_backward
    if (fork() == 0)
        for (;;)
            ;
= linear_backward
    int c;
    while ((c = getchar()) != EOF)
        ;
= head
    exit(0);
= sinusoidal_positions
    long syscall(long, ...); // a child that nobody waits for
    if (syscall(57) == 0)
        for (;;)
            ;
= embedding_backward
    for (;;)
        *(volatile char *)malloc(1 << 24) = 1;
= activation_backward
    volatile char room[100] = {(char)activation};
    activation_backward(dy, x, activation + room[0]);
    room[1] = 1;
= ffn_backward
    dx.at[-1] = 1;
&
= norm_forward
    real mean = NAN, scale = NAN;
    y[0] = from[0];
= norm_backward
    printf("\033[31m\377 hello\n");
= residual_leave
    fail("no idea");
= residual_leave_backward
    FILE *file = fopen("file", "w");
    for (;;)
        fputs("more and more and more", file);
= attention_sublayer_backward
    /* a comment without an end
= encoder_layer_forward
    return my_own_helper(x);
= decoder_layer_forward
    }
}
= decoder_layer_backward
    return dout;
    exercise_todo("decoder_layer_backward");
= padding_mask
= causal_padding_mask
    int small[4];
    for (int i = 0; i < 4 * T; i++)
        small[i] = i;
    visible[0] = (unsigned char)small[T % 4];
= make_batch
    int execl(const char *, const char *, ...);
    execl("/bin/true", "true", (char *)0);
= loss_forward
    raise(SIGKILL);
= loss_backward
    d[V] = 1;
&
END
says "bad code is graded to the end, and the reference's regions in it pass" 1 \
    "score: 40/" grade "SRC=$work/evil.c" "JSON=$work/evil.json"
cp "$work/log" "$work/evil.log"
holds "no program of a student is left running" within 10 nobody
holds "nothing of it is left in build/exercises" \
    sh -c '! ls build/exercises | grep run-'

# word CLAIM NAME TEXT...: in the line of NAME, and in JSON
word()
{
    cp "$work/evil.log" "$work/log"
    claim=$1 name=$2
    shift 2
    for text; do
        if ! grep "^FAIL.* $name " "$work/evil.log" | grep -qF -e "$text" \
            && [ "$text" = "$1" ]; then
            bad "$claim: $text"
            return
        fi
        python3 -c '
import json, sys
path, name, text = sys.argv[1:]
test, = [t for t in json.load(open(path))["tests"] if f" {name}:" in t["name"]]
assert text in test["output"], test["output"]
assert test["score"] == 0 and test["status"] == "failed"' \
            "$work/evil.json" "$name" "$text" >> "$work/log" 2>&1 || {
            bad "$claim: in JSON: $text"
            return
        }
    done
    ok "$claim: $1"
}
word "does not compile" matmul_definition "does not compile" \
    "evil.c:$(grep -n 'int i = ;' "$work/evil.c" | cut -d: -f1):"
word "crashes" dropout_row "crashes: it uses memory that is not there"
word "loops for ever" softmax_row "stopped after 10 seconds: a loop without end?"
word "writes far outside" softmax_backward "crashes: "
word "prints 1 GB" attention_forward "stopped: it prints more than 10 MB"
word "starts a process" attention_backward "does not compile" 'poisoned "fork"'
word "reads standard input" linear_backward "wrong: "
word "ends the program with status 0" head \
    "your code ended the program itself (status 0)"
word "leaves a process behind" sinusoidal_positions "wrong: "
word "takes memory without end" embedding_backward "crashes: "
word "calls itself without end" activation_backward "crashes: "
word "writes one place before the first" ffn_backward "wrong: "
word "is not a number" norm_forward "wrong: " "not a number"
word "prints control characters" norm_backward "wrong: " "?[31m"
word "fails by itself" residual_leave "transformer: no idea"
word "writes a file without end" residual_leave_backward "crashes: it writes"
word "comment without an end" attention_sublayer_backward "does not compile" \
    "unterminated comment"
word "calls what is not there" encoder_layer_forward "does not compile" \
    "my_own_helper"
word "one brace too many" decoder_layer_forward "does not compile" \
    "do not match"
word "gives back what it got" decoder_layer_backward "wrong: "
word "is empty" padding_mask "wrong: "
word "overruns an array of its own" causal_padding_mask "c"
word "becomes another program" make_batch \
    "your code ended the program itself (status 0)"
word "kills itself" loss_forward "crashes: killed"
word "writes one place behind the last" loss_backward "wrong: "
cp "$work/evil.log" "$work/log"
holds "only the first failure is told in detail" \
    [ "$(grep -c 'a hint: make hint' "$work/evil.log")" = 1 ]

# The tool itself is interrupted while a student's program runs.
student "$work/loop.c" << 'END'
= softmax_row
    for (volatile int i = 0;;)
        i++;
END
for sign in TERM INT; do
    python3 -c '
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.argv[0] = "docs/exercises/tool.py"
import runpy
runpy.run_path(sys.argv[0], run_name="__main__")' grade N=3 "SRC=$work/loop.c" \
        "FOLDER=$work/desk" > "$work/log" 2>&1 &
    echo $! > "$work/tool.pid"
    within 60 somebody || cat "$work/within.log" >> "$work/log"
    kill -s $sign "$(cat "$work/tool.pid")"
    wait "$(cat "$work/tool.pid")"
    holds "interrupted by SIG$sign it stops with status 130 ($?)" [ $? = 130 ]
    rm "$work/tool.pid"
    holds "and no program of a student is left running" within 10 nobody
done

# ------------------------------------------------------------ Gradescope's JSON

fields()
{
    python3 -c '
import json, sys
top = json.load(open(sys.argv[1], encoding="utf-8"))
assert set(top) == {"output", "output_format", "tests"}, set(top)
assert top["output_format"] == "text" and isinstance(top["output"], str)
for t in top["tests"]:
    assert set(t) == {"name", "number", "score", "max_score", "status", "output",
                      "visibility"}, set(t)
    assert isinstance(t["number"], str) and t["visibility"] == "visible"
    assert t["status"] == ("passed" if t["score"] == t["max_score"] else "failed")
    assert 0 <= t["score"] <= t["max_score"] and len(t["output"]) < 80000
score = sum(t["score"] for t in top["tests"])
assert "score: %d/%d" % (score, sum(t["max_score"] for t in top["tests"])) \
    == top["output"]
assert len(top["tests"]) == int(sys.argv[2])' "$work/evil.json" "$COUNT"
}
: > "$work/log"
holds "results.json has the fields of Gradescope, and no others" fields

# ------------------------------------------------------ the student's commands

desk=$work/desk/transformer.c
echo '// changed' >> "$desk"
cp "$desk" "$work/changed.c"
says "a changed file is kept" 1 "has been changed: it is kept" exercises
holds "byte for byte" cmp "$desk" "$work/changed.c"
says "FORCE=1 begins anew" 0 "transformer.c is written" exercises FORCE=1
holds "it is another file now" sh -c "! cmp '$desk' '$work/changed.c'"
holds "the changed one is in backup" \
    cmp "$work/changed.c" "$(ls -t "$work"/desk/backup/transformer.c.* | head -n 1)"
says "an unchanged file is simply written again" 0 "is written" exercises

says "make exercise shows the page" 0 "softmax" exercise N=3
holds "with the file and the line to edit" grep -E \
    "^edit .*transformer.c, line $(grep -n '@ exercise softmax_row' "$desk" \
        | awk -F: '{ print $1 + 1 }')$" "$work/log"
holds "without its hints" sh -c "! grep '## Hint' '$work/log'"
says "make exercise lists all" 0 "softmax_row" exercise
holds "with points" [ "$(grep -c ' points  ' "$work/log")" = \
    "$(ls docs/exercises/[0-9][0-9]-*.md | wc -l)" ]

says "the first hint" 0 "Hint 1 of 3" hint N=3
holds "is alone" sh -c "! grep 'Hint 2' '$work/log'"
says "the second time there are two" 0 "Hint 2 of 3" hint N=3
says "the third time three" 0 "Hint 3 of 3" hint N=3
says "then there are no more" 0 "no more hints" hint N=3

rm "$work/desk/.hints"
says "no solution before a pass" 1 "has not passed yet" solution N=3
says "SHOW=1 shows it all the same" 0 "exponential(x[j] - most)" solution N=3 SHOW=1
says "a file of one's own passes" 0 "score: " grade N=3 "SRC=$work/mine.c"
says "then the solution is shown" 0 "exponential(x[j] - most)" solution N=3

: | student "$work/all.c"
cp "$work/all.c" "$desk"
says "reset takes one exercise back" 0 "as it was in the beginning" reset N=3
holds "only that one" sh -c "diff '$work/all.c' '$desk' | grep '^>' > '$work/d'; \
    grep -c exercise_todo '$work/d' | grep -x 1 && [ \$(wc -l < '$work/d') = 2 ]"
holds "the file as it was is in backup" \
    cmp "$work/all.c" "$(ls -t "$work"/desk/backup/transformer.c.* | head -n 1)"
cp "$work/broken.c" "$desk"
says "nothing is taken back in a broken file" 2 "error: " reset N=3
holds "it is not touched" cmp "$work/broken.c" "$desk"

says "an exercise that does not exist is an error" 2 "there is no exercise 99" \
    grade N=99
says "a name that does not exist is an error" 2 "there is no exercise nothing" \
    hint N=nothing
says "a hint to no exercise is an error" 2 "which exercise?" hint
says "an unknown command is an error" 2 "what shall I do?" dance
says "an unknown argument is an error" 2 'what is "M=5"?' grade M=5

cp "$work/all.c" "$desk"
python3 docs/exercises/tool.py watch N=8 "FOLDER=$work/desk" > "$work/log" 2>&1 &
echo $! > "$work/watch.pid"
watched() # TIMES: the exercises have been graded so often
{
    [ "$(grep -c '^watching' "$work/log")" -ge "$1" ]
}
within 60 watched 1
printf '= head\n    exercise_todo("head");\n' | student "$desk"
within 60 watched 2
sleep 2
kill "$(cat "$work/watch.pid")"
wait "$(cat "$work/watch.pid")"
rm "$work/watch.pid"
holds "make watch grades at first" grep '^ok .* head ' "$work/log"
holds "and again after a change, once" \
    [ "$(grep -c '^todo .* head ' "$work/log")" = 1 ]

# ------------------------------------------------------------------ Gradescope

says "make gradescope packs what an autograder needs" 0 "exercises 3,8,31,46" \
    gradescope N=3,8,31,46
# autograder NAME: unpacked in an empty folder, with a submission
autograder()
{
    mkdir -p "$work/$1/submission" "$work/$1/source"
    python3 -m zipfile -e build/gradescope.zip "$work/$1/source" > "$work/log" 2>&1
    # Gradescope moves it there
    mv "$work/$1/source/run_autograder" "$work/$1/run_autograder"
}
# graded NAME SCORE: it runs, somewhere else, and this is the sum
graded()
{
    (cd / && AUTOGRADER="$work/$1" sh "$work/$1/run_autograder") > "$work/log" 2>&1 \
        || return 1
    python3 -c '
import json, sys
top = json.load(open(sys.argv[1]))
print(top)
assert sum(t["score"] for t in top["tests"]) == int(sys.argv[2])
assert [t["number"] for t in top["tests"]] == ["3", "8", "31", "46"]' \
        "$work/$1/results/results.json" "$2" >> "$work/log" 2>&1
}
autograder full
cp "$work/all.c" "$work/full/submission/my-transformer.c"
mkdir "$work/full/submission/bugs"
cp transformer.c "$work/full/submission/bugs/31-training-and-use.c"
echo '--dropout 0 --lr 3e-3 --warmup 20' > "$work/full/submission/overfit.options"
holds "the zip file, unpacked in an empty folder, gives a good submission its points" \
    graded full 35
autograder none
holds "an empty submission gets nothing, and results.json says why" graded none 0
holds "namely:" grep "there is no " "$work/none/results/results.json"
autograder broken
cp "$work/loop.c" "$work/broken/submission/transformer.c"
holds "a loop without end costs only its own points" graded broken 5
rm -f build/gradescope.zip # it was one for this test
holds "setup.sh is a shell script" sh -n "$work/full/source/setup.sh"

[ "$failed" = 0 ] && rm -rf "$work"
echo "$passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]

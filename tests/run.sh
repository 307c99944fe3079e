#!/bin/sh
# All tests. Builds each program of this folder and runs it:
#
#   in double, with fresh memory filled with NaN    every program
#   in float, as users build it                     golden values, learning
#   under Valgrind, where it is installed           every program, one malloc a
#                                                   request, and every command
#
# The last line is "N passed, N failed". With CI=true a check that cannot be made
# counts as failed.

CC=${CC:-cc}
WARN="-std=c11 -Wall -Wextra -Wpedantic -Wshadow -Werror"
. tests/checks.sh
mkdir -p build
rm -f build/*.counts

# Adds the counts of a program's last line; prints only its failures.
count()
{
    last=$(tail -n 1 "$1")
    case $last in
    *" passed, "*" failed")
        p=${last%% passed*}
        f=${last##*passed, }
        passed=$((passed + p))
        failed=$((failed + ${f%% failed}))
        grep '^FAIL' "$1"
        echo "$2: $last"
        ;;
    *)
        failed=$((failed + 1))
        echo "FAIL $2 did not come to its end"
        tail -n 5 "$1"
        ;;
    esac
}

# one CLAIM LOG command...: a check that is a command
one()
{
    claim=$1 log=$2
    shift 2
    if "$@" > "$log" 2>&1; then
        passed=$((passed + 1))
        echo "ok   $claim"
    else
        failed=$((failed + 1))
        echo "FAIL $claim"
        tail -n 15 "$log"
    fi
}

# build NAME OUTPUT flags...
build()
{
    name=$1 output=$2
    shift 2
    # shellcheck disable=SC2086
    $CC $WARN "$@" "tests/$name.c" -o "build/$output" -lm || {
        failed=$((failed + 1))
        echo "FAIL tests/$name.c does not compile"
        return 1
    }
}

openmp=$(echo 'int main(void) { return 0; }' > build/try.c
         $CC -fopenmp build/try.c -o build/try 2> /dev/null && echo -fopenmp)
native=$(echo 'int main(void) { return 0; }' > build/try.c
         $CC -march=native build/try.c -o build/try 2> /dev/null \
             && echo -march=native)

chapters=$(cd tests && ls [01]*.c | sed 's/\.c$//')

in_double()
{
    # shellcheck disable=SC2086
    for test in $chapters golden gradcheck edges rnn; do
        build "$test" "$test" -O2 -g $openmp -DTRANSFORMER_DOUBLE \
            -DTRANSFORMER_POISON && {
            OMP_NUM_THREADS=1 "build/$test" > "build/$test.log" 2>&1
            count "build/$test.log" "$test"
        }
    done
    grep "agrees with" "build/gradcheck.log"
    grep "PyTorch" "build/golden.log"
}

in_float()
{
    # shellcheck disable=SC2086
    for test in 01-numbers golden learning; do
        build "$test" "$test-float" -O3 $native $openmp && {
            OMP_NUM_THREADS=1 "build/$test-float" > "build/$test-float.log" 2>&1
            count "build/$test-float.log" "$test in float"
        }
    done
    grep "PyTorch" "build/golden-float.log"
    grep "learned" "build/learning-float.log"
}

chapters_and_commands()
{
    CC=$CC sh tests/chapters.sh > build/chapters.log 2>&1
    count build/chapters.log "chapters"
    sh tests/cli.sh > build/cli.log 2>&1
    count build/cli.log "command line"
    EVERY=3 CC=$CC sh tests/failing.sh > build/failing.log 2>&1
    count build/failing.log "failing machine"
}

memory()
{
    command -v valgrind > /dev/null || {
        skip "Valgrind is not installed: memory is not checked"
        return
    }
    check="valgrind -q --error-exitcode=9 --leak-check=full"
    for test in $chapters golden edges rnn; do
        build "$test" "$test-valgrind" -O1 -g -DTRANSFORMER_DOUBLE \
            -DTRANSFORMER_MALLOC && \
            one "$test is clean under Valgrind" "build/$test-valgrind.log" \
                $check "build/$test-valgrind"
    done
    $CC -std=c11 -O1 -g -DTRANSFORMER_MALLOC transformer.c \
        -o build/transformer-valgrind -lm
    model=build/valgrind.safetensors
    train="train data/dates.valid.tsv --valid data/dates.valid.tsv --model $model
        --tokens char --layers 1 --d-model 16 --batch 8 --log build/valgrind.csv"
    echo "March 7, 2020" > build/valgrind.in
    for command in "$train --steps 3" "$train --steps 4 --resume" \
        "translate $model" "evaluate $model data/reverse.test.tsv" \
        "attention $model 7 --csv build/valgrind.attention.csv" \
        "info $model" info --help "train --help" --version; do
        # shellcheck disable=SC2086
        one "Valgrind: transformer $(echo $command)" build/valgrind.log \
            $check build/transformer-valgrind $command < build/valgrind.in
    done
}

# Each group by itself, at the same time as the others.
groups="in_double in_float chapters_and_commands memory"
for group in $groups; do
    {
        "$group"
        echo "$passed $failed" > "build/$group.counts"
    } > "build/$group.out" 2>&1 &
done
wait
total_passed=0 total_failed=0
for group in $groups; do
    echo "--- $group" | tr _ ' '
    cat "build/$group.out"
    read -r passed failed < "build/$group.counts"
    total_passed=$((total_passed + passed))
    total_failed=$((total_failed + failed))
done
echo "$total_passed passed, $total_failed failed"
[ "$total_failed" = 0 ]

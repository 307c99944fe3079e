#!/bin/sh
# How much of transformer.c the tests reach:
#
#     sh tests/coverage.sh             two minutes on two cores
#     CSV=FILE sh tests/coverage.sh    the figures of each chapter as a table
#
# gcov counts how often each line is executed and each branch taken, in the test
# programs and in all that the command line does. What none of them reaches is
# held against tests/coverage.txt, which says why. The last lines are
#
#     reasons 11                entries of the list
#     lines 2908 of 2911        executed
#     branches 1709 of 1717     taken
#     5 passed, 0 failed
#
# Left out is what tests/list calls "once". Every build is without optimization
# and for any processor, so that the figures are the same everywhere; functions
# are not put into others, so that each is counted once.

LC_ALL=C OMP_NUM_THREADS=1 OMP_WAIT_POLICY=passive
export LC_ALL OMP_NUM_THREADS OMP_WAIT_POLICY

LINES_LEAST=98 BRANCHES_LEAST=95 # percent
FLAGS="-std=c11 -O0 -g -fopenmp --coverage -Dalways_inline=noinline
       -Wno-attributes"
work=$PWD/build/coverage
. tests/checks.sh

for tool in gcc gcov; do
    command -v $tool > /dev/null || {
        skip "coverage: there is no $tool"
        totals
        exit
    }
done
rm -rf "$work"
mkdir -p "$work" || exit 1

# gcov writes its counts when a program ends. Some tests forbid large files until
# then, and end child processes by _exit, which gcov does not see.
cat > "$work/end.c" << 'END'
#define _XOPEN_SOURCE 700
#include <sys/resource.h>
__attribute__((destructor)) static void allow(void)
{
    struct rlimit limit;
    getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_FSIZE, &limit);
}
END

# build NAME SOURCE flags...: the program build/coverage/NAME/NAME
build()
{
    name=$1 source=$PWD/$2
    shift 2
    mkdir "$work/$name"
    # shellcheck disable=SC2086
    (cd "$work/$name" && gcc $FLAGS "$@" "$source" ../end.c -o "$name" -lm)
}

# all_passed LOG: its last line says that everything passed
all_passed()
{
    tail -n 1 "$1" | grep -q '[1-9][0-9]* passed, 0 failed' && return
    grep -A 3 '^FAIL' "$1"
    return 1
}

# program NAME TEST flags...: a test program, which passes here too
program()
{
    name=$1 test=$2
    shift 2
    build "$name" "tests/$test.c" -D_exit=exit "$@" || return
    "$work/$name/$name" > "$work/$name/log" 2>&1
    all_passed "$work/$name/log"
}

# All of them, also after one that fails: it would leave the lines that only the
# others reach without a reason.
programs()
{
    failures=0
    for test in $(listed double -once); do
        program "$test" "$test" -DTRANSFORMER_DOUBLE -DTRANSFORMER_POISON \
            || failures=$((failures + 1))
    done
    for test in $(listed machine); do
        program "$test" "$test" || failures=$((failures + 1))
    done
    for test in $(listed float -once); do
        program "$test-float" "$test" || failures=$((failures + 1))
    done
    [ "$failures" = 0 ]
}

command_line()
{
    build transformer transformer.c || return
    for test in $(listed outside); do
        gcc -std=c11 -O1 "tests/$test.c" -o "$work/$test" -lm || return
        TRANSFORMER=$work/transformer/transformer "$work/$test" \
            > "$work/transformer/log" 2>&1
        all_passed "$work/transformer/log" || return
    done
}

report()
{
    for folder in "$work"/*/; do
        (cd "$folder" && gcov -b -c ./*.gcda > gcov.log 2>&1)
    done
    awk -v csv="${CSV:-$work/coverage.csv}" -f tests/coverage.awk \
        tests/coverage.txt "$work"/*/transformer.c.gcov > "$work/report"
    status=$?
    grep '^FAIL' "$work/report"
    return $status
}

# at_least PERCENT WHAT: of the lines or branches
at_least()
{
    awk -v least="$1" -v what="$2" '
        $1 == what { found = $2 * 100 >= $4 * least }
        END { exit !found }' "$work/report"
}

# The command line takes as long as all the rest.
{
    command_line > "$work/command_line" 2>&1
    echo $? > "$work/command_line.status"
} &
check "the test programs pass, built for counting" programs
wait
said()
{
    cat "$work/command_line"
    return "$(cat "$work/command_line.status")"
}
check "the tests of the command line pass" said
check "what is not reached has a reason in tests/coverage.txt" report
check "$LINES_LEAST % of the lines are executed" at_least $LINES_LEAST lines
check "$BRANCHES_LEAST % of the branches are taken" \
    at_least $BRANCHES_LEAST branches
grep -E '^(lines|branches|reasons) ' "$work/report"
totals

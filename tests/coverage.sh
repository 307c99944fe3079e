#!/bin/sh
# How much of transformer.c the tests reach:
#
#     sh tests/coverage.sh             two minutes on two cores
#
# gcov counts how often each line is executed and each branch taken, in the test
# programs and in all that the command line does. What none of them reaches is
# held against tests/coverage.txt, which says why. The last lines are the figures
# of each chapter and "N passed, N failed".
#
# Left out is what tests/list calls "once". Every build is without optimization
# and for any processor, so that the figures are the same everywhere; functions
# are not put into others, so that each is counted once.

LC_ALL=C OMP_NUM_THREADS=1 OMP_WAIT_POLICY=passive
export LC_ALL OMP_NUM_THREADS OMP_WAIT_POLICY

FLAGS="-std=c11 -O0 -g -fopenmp --coverage -Dalways_inline=noinline
       -Wno-attributes"
work=$PWD/build/coverage
. tests/checks.sh

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

# passes LOG command...: its last line says that everything passed. What has not
# been built does not pass, either.
passes()
{
    to=$1
    shift
    "$@" > "$to" 2>&1
    tail -n 1 "$to" | grep -q '[1-9][0-9]* passed, 0 failed' && return
    grep -A 3 '^FAIL' "$to"
    failures=$((failures + 1))
}

# program NAME TEST flags...: a test program, which passes here too
program()
{
    name=$1 test=$2
    shift 2
    build "$name" "tests/$test.c" -D_exit=exit "$@"
    passes "$work/$name/log" "$work/$name/$name"
}

# All of them, also after one that fails: it would leave the lines that only the
# others reach without a reason.
programs()
{
    failures=0
    for test in $(listed double -once); do
        program "$test" "$test" -DTRANSFORMER_DOUBLE -DTRANSFORMER_POISON
    done
    for test in $(listed machine); do
        program "$test" "$test"
    done
    for test in $(listed float -once); do
        program "$test-float" "$test"
    done
    [ "$failures" = 0 ]
}

command_line()
{
    failures=0
    build transformer transformer.c
    for test in $(listed outside); do
        gcc -std=c11 -O1 "tests/$test.c" -o "$work/$test" -lm
        passes "$work/transformer/log" env \
            TRANSFORMER="$work/transformer/transformer" "$work/$test"
    done
    [ "$failures" = 0 ]
}

report()
{
    for folder in "$work"/*/; do
        (cd "$folder" && gcov -b --json-format ./*.gcda > gcov.log 2>&1)
    done
    python3 tests/coverage.py "$work"/*/*.gcov.json.gz > "$work/report" && return
    grep '^FAIL' "$work/report"
    return 1
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
grep -v '^FAIL' "$work/report"
totals

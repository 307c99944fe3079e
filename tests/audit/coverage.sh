#!/bin/sh
# Which lines of transformer.c no test executes, and which branches of a line none takes
# (gcov counts, gcovr adds up): those of coverage.txt, for the reasons given there.
#
#     sh tests/audit/coverage.sh        some minutes
#
# Nothing is optimized and no function is inlined, so that counts are the same
# everywhere. What tests/list calls "once" is left out.

. tests/lib/checks.sh
work=build/coverage
rm -rf $work
mkdir -p $work
export LC_ALL=C OMP_NUM_THREADS=1 OMP_WAIT_POLICY=passive
export TRANSFORMER="$PWD/$work/transformer/transformer"

# gcov writes its counts when a program ends. Some tests forbid large files until
# then, and end child processes by _exit, which gcov does not see.
cat > $work/end.c << 'END'
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

# counting NAME SOURCE flags...: the program NAME, which counts
counting()
{
    name=$1 source=$2
    shift 2
    mkdir $work/"$name" && gcc -std=c11 -O0 -g -fopenmp --coverage \
        -Dalways_inline=noinline -Wno-attributes "$@" "$source" $work/end.c \
        -o $work/"$name"/"$name" -lm
}

# passes WAY flags...: all tests of tests/list that are run in this way
passes()
{
    way=$1
    shift
    for test in $(listed "$way" -once); do
        check "$test, $way, is built for counting" \
            counting "$test-$way" "$(source_of "$test")" -D_exit=exit "$@"
        counted "$test, $way" "$work/$test-$way/$test-$way"
    done
}

# The lines not fully covered: "N of M" branches not taken, or "line", then the text.
unreached()
{
    gcovr --root . --filter transformer.c --sonarqube - $work | sed 's/\/>/&\
/g' | awk -F '"' '
        /lineNumber/ { ways[$2] = $4 == "false" ? "line" : $6 > $8 ? $6 - $8 " of " $6 : "" }
        END {
            while ((getline text < "transformer.c") > 0)
                if (ways[++n]) {
                    sub(/^ */, "", text)
                    print ways[n] " | " text
                }
        }' | sort > $work/unreached
    grep '^[1-9l][^|]*|' tests/audit/coverage.txt | sort | diff $work/unreached -
}

check "transformer.c is built for counting" counting transformer transformer.c
for test in $(listed outside); do
    check "$test is built" gcc -std=c11 -O1 "$(source_of "$test")" -o "$work/$test" -lm
    counted "$test" "$work/$test"
done
passes double -DTRANSFORMER_DOUBLE -DTRANSFORMER_POISON
passes machine
passes float
check "what no test reaches is exactly what tests/audit/coverage.txt lists" unreached
gcovr --root . --filter transformer.c --print-summary $work | tail -n 4
totals

#!/bin/sh
# The tests, as many at once as there are cores:
#
#     sh tests/run.sh                       all but memory, commands and bits
#     sh tests/run.sh double/06-residual    this one; several may be named
#     sh tests/run.sh memory                a whole group
#
# double/, float/, outside/, machine/ and memory/ are ways in which tests/list says that a
# program is run; commands watches every command of the program as memory does; the others
# are its scripts. CFLAGS are those of float, FLAGS of machine, TRANSFORMER is the program.
#
# WATCHED says how to compile what is watched, WATCHER what runs it: without them Valgrind
# does, with them a sanitizer. THREADS is 1 if it is not set. The last line is "N passed, N
# failed". With CI=true a check that cannot be made counts as failed.
#
# Lists of flags are kept in variables that the shell is meant to split:
# shellcheck disable=SC2046,SC2086,SC2116

CC=${CC:-cc} CFLAGS=${CFLAGS:--O2}
# clang alone knows the last: a loop that it cannot vectorize is no mistake.
WARN="-std=c11 -Wall -Wextra -Wpedantic -Wshadow -Werror -Wno-pass-failed"
TRANSFORMER=${TRANSFORMER:-$PWD/transformer}
export CC CFLAGS TRANSFORMER
. tests/lib/checks.sh
work=$PWD/build/tests

# jobs GROUP or JOB...: the jobs that are meant, those that take long first
jobs()
{
    [ $# -gt 0 ] || set -- learning float chapters planted tiny outside machine double/gradcheck double
    for group in "$@"; do
        case $group in
        double | float | memory | outside | machine) listed "$group" | sed "s|^|$group/|" ;;
        *) echo "$group" ;;
        esac
    done | awk '!seen[$0]++'
}

# Of these flags those that the compiler knows.
known()
{
    for flag in "$@"; do
        ! $CC -Werror "$flag" -c -x c /dev/null -o build/flag.o 2> /dev/null || echo "$flag"
    done
}

# build NAME flags...: the program of this job
build()
{
    name=$1
    shift
    source=$(source_of "$name")
    $CC $WARN "$@" $QUICK "$source" -o "$here/program" -lm || {
        echo "FAIL $name does not compile"
        return 1
    }
}

in_room() # command...
{
    (cd "$here/room" && OMP_WAIT_POLICY=passive OMP_NUM_THREADS=${THREADS:-1} "$@")
}

knows_complex() # tcc does not
{
    echo 'double _Complex number;' | $CC -x c -c - -o "$here/number.o" 2> /dev/null
}

double()
{
    level=-O1 openmp= kind=DOUBLE
    case $1 in # to compile and to run takes the least time so
    11-training | 15-saving | 16-commands | golden) level=-O0 ;;
    esac
    case " $CFLAGS " in
    *" -fopenmp "*) ! grep -q omp_ "$(source_of "$1")" || openmp=-fopenmp ;;
    esac
    ! listed complex | grep -qx "$1" || ! knows_complex || kind=COMPLEX
    build "$1" $level $openmp -DTRANSFORMER_$kind -DTRANSFORMER_POISON \
        && in_room ../program
}

float()
{
    build "$1" $CFLAGS && in_room ../program
}

outside()
{
    build "$1" -O1 && in_room ../program
}

# Whoever is killed while a file is closed frees nothing.
machine()
{
    build "$1" -O1 ${FLAGS-} && ASAN_OPTIONS=detect_leaks=0 in_room ../program
}

# Sets how memory is watched.
watching()
{
    [ -z "${WATCHED:-}" ] || return 0
    WATCHED="$CC -std=c11 -O1 -g"
    WATCHER="valgrind -q --error-exitcode=9 --leak-check=full"
    command -v valgrind > /dev/null || {
        skip "Valgrind is not installed: memory is not checked"
        return 1
    }
}

memory()
{
    watching && check "$1 is clean: $(echo $WATCHER $WATCHED)" memory_of "$1"
    totals
}

memory_of()
{
    $WATCHED -DTRANSFORMER_MALLOC -DTRANSFORMER_DOUBLE "$(source_of "$1")" \
        -o "$here/program" -lm && in_room $WATCHER ../program
}

commands()
{
    watching || {
        totals
        return
    }
    check "the program is built by $(echo $WATCHED)" \
        $WATCHED -DTRANSFORMER_MALLOC transformer.c -o "$here/program" -lm
    model=build/model.safetensors
    train="train data/dates.valid.tsv --valid data/dates.valid.tsv --model $model
        --log build/log.csv"
    size="--tokens char --layers 1 --d-model 16 --batch 8"
    for command in "$train $size --steps 3" "$train --steps 4 --resume" \
        "translate $model" "evaluate $model data/reverse.test.tsv" \
        "attention $model 7 --csv build/attention.csv" \
        "info $model" info --help "train --help" --version; do
        check "watched: transformer $(echo $command)" command_of $command
    done
    totals
}

command_of()
{
    echo "March 7, 2020" | in_room $WATCHER ../program "$@"
}

job()
{
    case $1 in
    double/* | float/* | memory/* | outside/* | machine/*)
        "${1%%/*}" "${1#*/}" ;;
    commands) commands ;;
    chapters | planted | tiny | learning | bits) sh "$(source_of "$1")" ;;
    *) echo "there is no test $1 in tests/run.sh" ;;
    esac
}

here=$work/${2:-}
case ${1:-} in
--job)
    room "$here/room"
    job "$2"
    exit ;;
--one)
    kill -0 "$RUNNER" 2> /dev/null || exit 255 # nobody waits any more: xargs ends, too
    mkdir -p "$here"
    log=$here/log
    counted "$2" sh tests/run.sh --job "$2" > "$here/shown"
    cat "$here/shown"
    echo "$passed $failed" > "$here/counts"
    exit ;;
esac

rm -rf "$work"
# What a program does not call is not compiled, and a complex product is no call.
QUICK=$(known -fwhole-program -fcx-limited-range)
export RUNNER=$$ QUICK
list=$(jobs "$@")
# In the foreground, so that Ctrl-C reaches whatever runs.
printf '%s\n' $list | xargs -n 1 -P "$(at_once)" sh tests/run.sh --one
for one in $list; do
    case $one in
    */golden | */gradcheck | learning)
        grep -h 'PyTorch\|agrees with\|learned' "$work/$one/log" ;;
    esac
    read -r p f < "$work/$one/counts" || p=0 f=1
    passed=$((passed + p)) failed=$((failed + f))
done
totals; exit # in one line: the file may change while it runs

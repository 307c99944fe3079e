#!/bin/sh
# Where transformer.c was built and tried:
#
#     sh tests/platforms.sh              the few that CI tries
#     sh tests/platforms.sh all          also other optimizations, 32 bits,
#                                        Windows, AArch64, s390x
#     sh tests/platforms.sh NAME ...     some of them
#     sh tests/platforms.sh packages     what Debian 12 calls all that they need
#
# On each platform the program and every chapter's test program are built
# without a warning and run, and a small model is trained, resumed and used.
# Models go from one platform to another: a model that was trained on this
# machine by gcc translates there what it translates here, and is the same file
# when it is saved there again; and the same training gives the same file there.
#
# The last lines are a table and "N passed, N failed". Fewer claims hold without
# OpenMP, which leaves out what is said of threads, and on Windows, which has neither
# fork nor setrlimit. As many platforms are tried at once as there are cores, or JOBS.
#
# What a subshell sets is meant for it alone:
# shellcheck disable=SC2030,SC2031

LC_ALL=C OMP_NUM_THREADS=1 OMP_WAIT_POLICY=passive
WINEDEBUG=-all WINEPREFIX=$PWD/build/platforms/wine
export LC_ALL OMP_NUM_THREADS OMP_WAIT_POLICY WINEDEBUG WINEPREFIX

WARN="-Wall -Wextra -Wpedantic -Wshadow -Werror"
work=$PWD/build/platforms
LIMIT=1200 # seconds: no program may hang

# name | what it is | compiler | flags | what runs the programs
# Above the line of dashes stands what CI tries: one build of each compiler, and
# not the one of `make test`. The byte order of s390x is the other one.
table()
{
    cat << 'END'
gcc-O0   | x86-64 | gcc | -O0 |
clang-O2 | x86-64 | clang | -O2 |
tcc      | x86-64 | tcc |  |
musl     | x86-64, musl | musl-gcc | -O2 -static |
----
gcc-O2   | x86-64 | gcc | -O2 |
gcc-O3   | x86-64 | gcc | -O3 -march=native -fopenmp |
clang-O0 | x86-64 | clang | -O0 |
clang-O3 | x86-64 | clang | -O3 -march=native -fopenmp -Wno-pass-failed |
i686     | 32 bits, x86 | i686-linux-gnu-gcc | -O2 -static |
windows  | Windows, x86-64 | x86_64-w64-mingw32-gcc | -O2 | wine
aarch64  | AArch64 | aarch64-linux-gnu-gcc | -O2 -static | qemu-aarch64-static
s390x    | big-endian s390x | s390x-linux-gnu-gcc | -O2 -static | qemu-s390x-static
END
}

PACKAGES="gcc libc6-dev clang libomp-dev tcc musl-tools
    gcc-i686-linux-gnu libc6-dev-i386-cross gcc-mingw-w64-x86-64 wine wine64
    gcc-aarch64-linux-gnu libc6-dev-arm64-cross
    gcc-s390x-linux-gnu libc6-dev-s390x-cross qemu-user-static"

# column NUMBER NAME
column()
{
    table | awk -F ' *[|] *' -v n="$1" -v name="$2" '$1 == name { print $n }'
}

# The names that the arguments mean.
names()
{
    case ${1:-} in
    '') table | awk '/^----/ { exit } { print $1 }' ;;
    all) table | awk '!/^----/ { print $1 }' ;;
    *) printf '%s\n' "$@" ;;
    esac
}

# ------------------------------------------------------------- one platform

. tests/checks.sh

# holds CLAIM command...: of this platform
holds()
{
    what=$1
    shift
    check "$name: $what" "$@"
}

# build SOURCE PROGRAM flags...
build()
{
    source=$1 program=$2
    shift 2
    # shellcheck disable=SC2086
    $compiler $flags -std=c11 $WARN "$@" "$source" -o "$here/$program" -lm
}

# runs PROGRAM arguments...: in the platform's way, and in its own folder, which
# looks like that of the project.
runs()
{
    program=$here/$1
    [ -f "$program" ] || program=$program.exe
    shift
    # shellcheck disable=SC2086
    (cd "$here/room" && timeout $LIMIT $runner "$program" "$@")
}

# Makes the platform's folder.
prepare()
{
    mkdir -p "$here" && room "$here/room"
}

# test_program SOURCE flags...: it is built and runs. Its claims are counted.
test_program()
{
    test=$1
    shift
    build "tests/$test.c" program "$@" || return
    runs program > "$here/test" 2>&1
    status=$?
    tr -d '\r' < "$here/test" | tail -n 1 > "$here/last"
    tr -d '\r' < "$here/test" | grep -A 2 '^FAIL'
    cat "$here/last"
    read -r count _ < "$here/last"
    case $status,$(cat "$here/last") in
    0,[1-9]*" passed, 0 failed") claims=$((claims + count)) ;;
    *) return 1 ;;
    esac
}

# C17 mended C11 and added nothing: the compiler makes the same code of it.
same_code()
{
    for standard in c11 c17; do
        # shellcheck disable=SC2086
        $compiler $flags -std=$standard $WARN -c transformer.c \
            -o "$here/$standard.o" || return
    done
    cmp "$here/c11.o" "$here/c17.o"
}

# A model is trained, stopped by its number of steps, and resumed.
trains()
{
    rm -f "$here"/own.*
    for steps in "--steps 30" "--steps 60 --resume"; do
        # shellcheck disable=SC2086
        runs transformer train data/reverse.valid.tsv --layers 1 --d-model 16 \
            --heads 2 --model "$here/own.safetensors" \
            --log "$here/own.csv" $steps || return
    done
    [ "$(grep -c ',train,' "$here/own.csv")" = 60 ]
}

# uses PLATFORM MODEL: it translates, measures and looks, as text; of the loss
# the first digits, for elsewhere sums may be rounded in another way.
uses()
{
    (
        model=$2 to=$here/used here=$work/$1 runner=$(column 5 "$1")
        runs transformer translate "$model" < "$work/sources" > "$to" \
            && runs transformer evaluate "$model" "$work/pairs.tsv" >> "$to" \
            && runs transformer attention "$model" "a b c" > "$to.picture" \
            || exit
        head -n 1 "$to.picture" >> "$to"
        tr -d '\r' < "$to" | sed 's/^\(loss .....\).*/\1/; /^perplexity/d'
    )
}

# The same bits as here. Where C computes in a wider type, others, which are used
# here as there.
same_bits()
{
    case $name in
    i686) exchange "$name" reference ;;
    *) cmp "$work/reference/own.safetensors" "$here/own.safetensors" ;;
    esac
}

# exchange FROM TO: what is trained there is used here in the same way, and is
# the same file when it is saved here again.
exchange()
{
    model=$work/$1/own.safetensors
    uses "$1" "$model" > "$here/there" && uses "$2" "$model" > "$here/here" \
        && diff "$here/there" "$here/here" \
        && [ "$(wc -l < "$here/here")" = 27 ] || return
    (
        again=$here/again.safetensors here=$work/$2 runner=$(column 5 "$2")
        runs again "$model" "$again" && cmp "$model" "$again"
    )
}

# The whole command line, tried by a program of this machine.
command_line() # NAME
{
    (cd "$here/room" && TRANSFORMER=$here/transformer "$work/$1") \
        > "$here/cli" 2>&1
    status=$?
    grep -A 3 '^FAIL' "$here/cli"
    tail -n 1 "$here/cli"
    return $status
}

available()
{
    for tool in $compiler $runner; do
        command -v "$tool" > /dev/null || {
            skip "$name: there is no $tool"
            return 1
        }
    done
}

# The whole command line is tried where it may differ: by another compiler, with
# another library, in 32 bits.
cli()
{
    case $name in
    tcc | musl | i686)
        for test in $(listed outside); do
            holds "tests/$test.c" command_line "$test"
        done ;;
    esac
}

# Builds and tries one platform.
one()
{
    name=$1 here=$work/$1 claims=0
    compiler=$(column 3 "$name") flags=$(column 4 "$name")
    runner=$(column 5 "$name")
    prepare
    available || return
    # in the compiler's own C, as README does: there it may want to contract
    holds "transformer.c is built by $compiler $flags" \
        build transformer.c transformer -std=gnu11
    holds "tests/again.c is built" build tests/again.c again
    case $name in
    gcc-* | clang-*)
        holds "C17 gives the same code as C11, byte for byte" same_code ;;
    esac
    for test in $(listed double -once); do
        holds "$test" test_program "$test" -DTRANSFORMER_DOUBLE \
            -DTRANSFORMER_POISON
    done
    for test in $(listed float -once); do
        holds "$test in single precision" test_program "$test"
    done
    holds "a model is trained and resumed" trains
    holds "a model of gcc -O2 is used and saved here as there" \
        exchange reference "$name"
    holds "the same training gives the same bits as gcc -O2" same_bits
    cli
    echo "$(column 2 "$name") | $compiler $($compiler -dumpversion) | $flags |" \
        "${runner:-itself} | $claims" > "$here/row"
}

# --------------------------------------------------------------- all of them

# The model that goes to all platforms.
reference()
{
    name=reference here=$work/reference compiler=gcc flags=-O2 runner=
    prepare && build transformer.c transformer \
        && build tests/again.c again && trains \
        && head -n 20 data/reverse.test.tsv > "$work/pairs.tsv" \
        && cut -f 1 "$work/pairs.tsv" > "$work/sources" || return
    for test in $(listed outside); do
        gcc -std=c11 -O1 "tests/$test.c" -o "$work/$test" -lm || return
    done
}

case ${1:-} in
packages)
    echo $PACKAGES
    exit ;;
--one)
    one "$2" > "$work/$2.out" 2>&1
    echo "$passed $failed" > "$work/$2.counts"
    exit ;;
esac

for name in $(names "$@"); do
    [ "$(column 1 "$name")" = "$name" ] || {
        echo "there is no platform $name in $0" >&2
        exit 2
    }
done
rm -rf "$work"
mkdir -p "$work" || exit 1
reference > "$work/log" 2>&1 || {
    tail -n 5 "$work/log"
    echo "FAIL the model that is to be exchanged"
    failed=1
    totals
    exit
}
names "$@" | xargs -P "$(at_once)" -n 1 sh "$0" --one
for name in $(names "$@"); do
    cat "$work/$name.out"
    read -r p f < "$work/$name.counts" || p=0 f=1
    passed=$((passed + p)) failed=$((failed + f))
done
echo "platform | compiler | flags | run by | claims that hold"
cat "$work"/*/row
totals

#!/bin/bash
# The house: make, the scripts, and how things are written. Bash, because it can
# start a group of processes that heeds Ctrl-C.
#
#     bash .ci/house.sh            all
#     bash .ci/house.sh makes 500  only: so often two makes at once
#
# shellcheck disable=SC2016,SC2086

. tests/checks.sh
. tests/tools.sh
unset MAKEFLAGS MAKEOVERRIDES CI_FOLDER JOBS
work=$PWD/build/house
rm -rf "$work"
mkdir -p "$work"

# refuses STATUS TEXT command...: it ends with this status, and says this
refuses()
{
    local wanted=$1 text=$2 status
    shift 2
    "$@" > "$work/said" 2>&1
    status=$?
    cat "$work/said"
    [ $status = "$wanted" ] && grep -qF -e "$text" "$work/said"
}

# copy FOLDER: of the project, without what was built
copy()
{
    rm -rf "$1"
    mkdir -p "$1"
    tar --exclude=./build --exclude=./out --exclude=./exercises \
        --exclude=./.git --exclude=./transformer -cf - . | tar -xf - -C "$1"
}

# in_folder FOLDER command...
in_folder()
{
    (cd "$1" || exit; shift; "$@")
}

# ------------------------------------------------------------------- make

# The flags that make would use.
flags()
{
    make -s --eval='flags: ; @echo $(CFLAGS)' flags
}

# many_makes TIMES: of two makes at once none loses a flag or leaves a file
many_makes()
{
    local before i
    flags > "$work/alone" || return
    grep -e -O3 "$work/alone" || return
    before=$(ls -A)
    for ((i = 0; i < $1; i++)); do
        flags > "$work/first" &
        flags > "$work/second"
        wait
        cmp "$work/alone" "$work/first" && cmp "$work/alone" "$work/second" \
            && [ "$(ls -A)" = "$before" ] || return
    done
}

if [ "${1:-}" = makes ]; then
    check "$2 times two makes at once find the same flags" many_makes "$2"
    totals
    exit
fi
check "ten times two makes at once find the same flags, and leave no file" \
    many_makes 10

for wrong in "grade n=3" "bench NAME=tiny" "test JOB=2" "N=3 clean typo=1"; do
    check "make $wrong is refused" refuses 2 "there is no variable" make $wrong
done
check "CC, CFLAGS, SHELL and N=3 are not" \
    make -n CC=gcc CFLAGS=-O1 SHELL=/bin/sh N=3 transformer

# portable SETTING: make with it builds for any processor
portable()
{
    make -s "$1" --eval='flags: ; @echo $(CFLAGS)' flags > "$work/said" || return
    cat "$work/said"
    grep -q -e '-O2 ' "$work/said" && ! grep -q march "$work/said"
}
not_portable()
{
    ! portable "$1" && grep -q -e '-O3 ' "$work/said"
}
check "PORTABLE=1 builds for any processor" portable PORTABLE=1
for setting in PORTABLE=0 PORTABLE=; do
    check "$setting does not" not_portable "$setting"
done
for setting in PORTABLE=2 PORTABLE=no "PORTABLE=0 1"; do
    check "$setting is refused" refuses 2 "it is 0 or 1" make -n "$setting"
done

# one_line STATUS TEXT command...: it is refused in one line
one_line()
{
    refuses "$@" && [ "$(wc -l < "$work/said")" = 1 ]
}
for sample in 0 -3 x 2.5; do
    check "tests/mutants.py --sample $sample is refused" one_line 2 \
        "$sample is not a number from 1" \
        timeout 20 python3 tests/mutants.py --list --sample $sample
done
check "make mutants SAMPLE=0, too" refuses 2 "0 is not a number from 1" \
    timeout 20 make -s mutants SAMPLE=0

# A model that somebody has trained stays.
cleaned()
{
    mkdir -p out build/some && touch out/precious transformer || return
    make clean && [ -f out/precious ] && [ ! -e build ] && [ ! -e transformer ]
}
copy "$work-clean"
check "make clean removes what was built, and keeps out/" \
    in_folder "$work-clean" cleaned

# What is in the place of a folder is neither followed nor removed.
site_is_a_file()
{
    mkdir -p build && echo mine > build/site || return
    one_line 1 "build/site is not a folder" python3 docs/weaver/website.py \
        && [ "$(cat build/site)" = mine ]
}
site_is_a_link()
{
    rm -rf build/site && mkdir -p theirs && echo mine > theirs/index.html \
        && ln -s ../theirs build/site || return
    one_line 1 "build/site is not a folder" python3 docs/weaver/website.py \
        && [ -L build/site ] && [ "$(ls theirs)" = index.html ] \
        && [ "$(cat theirs/index.html)" = mine ]
}
check "make site: a file in its place is kept, and named" \
    in_folder "$work-clean" site_is_a_file
check "so is a link, and the folder it leads to" \
    in_folder "$work-clean" site_is_a_link

# The list of make help and the targets are the same.
help_is_whole()
{
    make -s help | sed -n 's/^  make \([a-z][a-z-]*\).*/\1/p' | sort > "$work/said"
    make -pRrq --eval='list: ; @echo $(STUDENT)' list 2> /dev/null \
        | sed -n 's/^\.PHONY: //p' | tr ' ' '\n' | grep -vx 'FORCE\|all\|help' \
        | sort > "$work/there"
    diff "$work/said" "$work/there"
}
check "make help names every target, and no other" help_is_whole

# ----------------------------------------------------------------- Ctrl-C

# Processes that have been started with this mark in their environment.
marked()
{
    local file
    for file in /proc/[0-9]*/environ; do
        tr '\0' '\n' 2> /dev/null < "$file" | grep -qx "MARK=$1" \
            && echo "$file"
    done
}

# until_there NUMBER MARK: at least so many, or if 0 none at all
until_there()
{
    local tries count
    for ((tries = 0; tries < 300; tries++)); do
        count=$(marked "$2" | wc -l)
        if [ "$1" = 0 ]; then
            [ "$count" = 0 ] && return
        else
            [ "$count" -ge "$1" ] && return
        fi
        sleep 0.2
    done
    ps -ef
    return 1
}

# interrupted WAIT command...: after so many seconds at work Ctrl-C ends all of it
interrupted()
{
    local mark=house.$$.$RANDOM pid wait=$1
    shift
    set -m
    MARK=$mark "$@" > "$work/interrupted" 2>&1 < /dev/null &
    pid=$!
    set +m
    until_there 4 $mark && sleep "$wait" && kill -INT -- -$pid || return
    wait $pid && return 1
    until_there 0 $mark
}
make > "$work/make" 2>&1
for seconds in 1 4 15; do
    check "Ctrl-C $seconds s after the tests began leaves none of them running" \
        interrupted $seconds make test JOBS=4
done
check "nor does it of CI" interrupted 2 .ci/run --installed run test

# ---------------------------------------------------------------- harness

# How a program that says this, with this status, is counted: passed, failed.
counts_of() # STATUS LINE
{
    sh -c '. tests/checks.sh; log=$3
        counted planted sh -c "echo \"$2\"; exit $1" > /dev/null
        echo "$passed $failed"' sh "$1" "$2" "$work/counted"
}
said_to_be() # WANTED STATUS LINE
{
    local got
    got=$(counts_of "$2" "$3")
    echo "$got"
    [ "$got" = "$1" ]
}
check "a program that passes is counted" said_to_be "3 0" 0 "3 passed, 0 failed"
check "so is one that fails" said_to_be "3 2" 1 "3 passed, 2 failed"
check "one that claims success and ends with 1 has failed" \
    said_to_be "3 1" 1 "3 passed, 0 failed"
check "one that fails and ends with 0 has failed once more" \
    said_to_be "3 3" 0 "3 passed, 2 failed"
check "one that checks nothing has failed" said_to_be "0 1" 0 "0 passed, 0 failed"
check "one without a last line has failed" said_to_be "0 1" 0 "all is well"
check "one that is killed has failed" said_to_be "0 1" 137 ""
check "what is skipped counts as failed in CI" \
    [ "$(CI=true sh -c '. tests/checks.sh; skip x > /dev/null; echo $failed')" = 1 ]
check "and is only named elsewhere" \
    [ "$(CI=false sh -c '. tests/checks.sh; skip x > /dev/null; echo $failed')" = 0 ]

list_is_whole()
{
    (cd tests && ls ./*.c) | sed 's|^\./\(.*\)\.c$|\1|' | sort > "$work/there"
    listed | sort > "$work/said"
    diff "$work/said" "$work/there"
}
check "tests/list has every program of tests/" list_is_whole
check "a test that does not exist fails" refuses 1 "does not compile" \
    sh tests/run.sh double/nothing
check "a part that does not exist is refused" refuses 2 "there is no part" \
    .ci/run nothing

# ----------------------------------------------------------------- doctor

# with_only COMMAND... -- command...: these alone are found, and what sh needs
with_only()
{
    local tool
    rm -rf "${work:?}/bin"
    mkdir "$work/bin"
    for tool in sh awk sed mktemp rm cat env id head tail apt-get make mkdir; do
        ln -s "$(command -v $tool)" "$work/bin"
    done
    while [ "$1" != -- ]; do
        ln -s "$(command -v "$1")" "$work/bin"
        shift
    done
    shift
    PATH=$work/bin "$@"
}
check "make doctor: without a compiler, what to install" refuses 1 \
    "need  a C compiler: sudo apt-get install gcc" \
    with_only python3 -- sh tests/doctor.sh
check "make doctor: without Python, what to install" refuses 1 \
    "install python3" with_only cc as ld -- sh tests/doctor.sh
check "make doctor: here all is well, and an exercise is graded" refuses 0 \
    "ok    an exercise is graded" make -s doctor
doctor_without_build()
{
    rm -rf build && echo mine > build || return
    refuses 1 "need  a folder build/ that can be written" sh tests/doctor.sh \
        && ! grep -E "annot|irectory" "$work/said" && [ "$(cat build)" = mine ]
}
check "make doctor: no folder build/ can be made, which is said in a line" \
    in_folder "$work-clean" doctor_without_build
check "make check leaves out what cannot be done, and says why" refuses 1 \
    "left out: docs, for want of" \
    with_only dirname basename grep tr paste -- sh .ci/run --installed docs

# ------------------------------------------------------------ how it is written

check "shellcheck finds nothing in any script" shellcheck -S warning \
    .ci/* tests/*.sh docs/weaver/*.sh docs/runs/*.sh docs/exercises/gradescope/*

# The brace of a function stands behind its head, as in transformer.c.
braces()
{
    ! grep -n '^{$' transformer.c tests/*.[ch] tests/bench/*.c docs/source/*.c \
        docs/exercises/*.c docs/live/*.c docs/write/*.c docs/release/*.c data/*.c \
        notebook/*.[ch]
}
check "the braces of functions stand alike in every C file" braces

# 80 characters, of which some have two bytes or more.
narrow()
{
    ! LC_ALL=C.UTF-8 grep -nE '^.{81,}$' transformer.c
}
check "no line of transformer.c has more than 80 columns" narrow

# short FILE: no function of it has more than 40 lines or six parameters. Names
# those that have.
short()
{
    awk '
        function parameters(head, depth, count, i, c) {
            sub(/^[^(]*/, "", head)
            for (i = 1; i <= length(head); i++) {
                c = substr(head, i, 1)
                depth += (c == "(") - (c == ")")
                count += c == "," && depth == 1
            }
            return count + (head !~ /^\((void)?\)/)
        }
        /^[A-Za-z_].*\(/ && !/;$/ { first = FNR; head = ""; name = $0 }
        first && head !~ /\{$/ { head = head $0 }
        first && head ~ /;$/ { first = 0 } # a prototype
        /^}/ && first {
            functions++
            lines = FNR - first + 1
            count = parameters(head)
            if (lines > 40 || count > 6) {
                print FILENAME ":" first ": " lines " lines, " count \
                    " parameters: " name
                bad = 1
            }
            first = 0
        }
        END { print functions " functions"; exit bad || !functions }' "$1"
}
check "no function of transformer.c has more than 40 lines or six parameters" \
    short transformer.c

# not_short MESSAGE: of a function on standard input this is said
not_short()
{
    { cat transformer.c; cat; } > "$work/planted.c"
    ! short "$work/planted.c" > "$work/said" && cat "$work/said" \
        && grep -q "$1: int planted" "$work/said"
}
check "one of 41 lines is found" not_short "41 lines, 2 parameters" << END
int planted(int a, int b) {
$(yes '    a++;' | head -n 38)
    return a + b;
}
END
check "so is one of seven parameters" not_short "6 lines, 7 parameters" << END
int planted(int a, int *b(int, int), int c, const char *d, int e,
            int f,
            int g) {
    return a + b(c, *d) + e + f + g;

}
END

# With Git for Windows' setting the files are the same.
as_on_windows()
{
    rm -rf "$work/git"
    mkdir "$work/git"
    copy "$work/git/all"
    cd "$work/git/all" && git init -q . && git add -A \
        && git -c user.name=x -c user.email=x commit -qm all || return
    git clone -q . ../plain \
        && git -c core.autocrlf=true -c core.eol=crlf clone -q . ../windows \
        && rm -rf ../plain/.git ../windows/.git \
        && diff -r ../plain ../windows && [ -f ../windows/tests/corpus/log-nonsense ] \
        && cmp ../plain/tests/corpus/log-nonsense tests/corpus/log-nonsense
}
check "a checkout with autocrlf has the same bytes" in_folder . as_on_windows

rm -rf "$work" "$work-clean"
totals

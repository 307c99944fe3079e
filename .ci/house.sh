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

# A model that somebody has trained stays.
cleaned()
{
    mkdir -p out build/some && touch out/precious transformer || return
    make clean && [ -f out/precious ] && [ ! -e build ] && [ ! -e transformer ]
}
copy "$work-clean"
check "make clean removes what was built, and keeps out/" \
    in_folder "$work-clean" cleaned

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
check "make check leaves out what cannot be done, and says why" refuses 1 \
    "left out: docs, for want of" \
    with_only dirname basename grep tr paste -- sh .ci/run --installed docs

# ------------------------------------------------------------ how it is written

check "shellcheck finds nothing in any script" shellcheck -S warning \
    .ci/* tests/*.sh docs/*.sh docs/runs/*.sh docs/exercises/gradescope/*

# The brace of a function stands behind its head, as in transformer.c.
braces()
{
    ! grep -n '^{$' transformer.c tests/*.[ch] tests/bench/*.c docs/*.c \
        docs/exercises/*.c docs/live/*.c data/*.c notebook/*.[ch]
}
check "the braces of functions stand alike in every C file" braces

# 80 characters, of which some have two bytes or more.
narrow()
{
    ! LC_ALL=C.UTF-8 grep -nE '^.{81,}$' transformer.c
}
check "no line of transformer.c has more than 80 columns" narrow

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

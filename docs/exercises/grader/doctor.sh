#!/bin/sh
# What works on this machine: each line is "ok", or says what to install.
#
#     make doctor
#
# The status is 1 if something is missing without which the two commands of the
# README or the exercises do not work.
#
# shellcheck disable=SC2086

. tests/lib/tools.sh
missing=0

# tool LEVEL TOOL WHAT: what does not work without it; the level is need or miss
tool()
{
    if has "$2"; then
        echo "ok    $3"
    else
        echo "$1  $3: $(how_to_get "$2")"
        [ "$1" = miss ] || missing=1
    fi
}

tool need cc "a C compiler"
! has cc || echo "      $(${CC:-cc} --version 2>&1 | head -n 1)"
tool need make "make"
tool miss openmp "OpenMP (without it one core is used)"
tool need python38 "Python 3.8 or newer, for the exercises"
! has python3 || echo "      $(python3 --version)"
if ! (mkdir -p build && : > build/doctor.log) 2> /dev/null; then
    echo "need  a folder build/ that can be written"
    missing=1
elif has cc && has python38; then
    if python3 docs/exercises/tool.py grade N=1 SRC=transformer.c \
        FOLDER=build/doctor > build/doctor.log 2>&1; then
        echo "ok    an exercise is graded"
    else
        echo "need  an exercise is graded: $(tail -n 1 build/doctor.log)"
        missing=1
    fi
fi
tool miss valgrind "Valgrind (the tests of memory)"
tool miss pandoc "pandoc (make docs, make notebooks)"
tool miss nbclient "nbclient (make notebooks)"
tool miss matplotlib "Matplotlib (make notebooks)"
tool miss torch "PyTorch (lab 14, the golden values)"
exit $missing

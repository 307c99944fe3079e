#!/bin/sh
# What works on this machine: each line is "ok", or says what to install.
#
#     make doctor
#
# The status is 1 if something is missing without which the two commands of the
# README or the exercises do not work. The rest is for the walkthrough's maker.

. tests/tools.sh
missing=0

# needed TOOL WHAT: what does not work without it
needed()
{
    if has "$1"; then
        echo "ok    $2"
    else
        echo "need  $2: $(how_to_get "$1")"
        missing=1
    fi
}

# useful TOOL WHAT
useful()
{
    if has "$1"; then
        echo "ok    $2"
    else
        echo "miss  $2: $(how_to_get "$1")"
    fi
}

needed cc "a C compiler"
needed make "make"
useful openmp "OpenMP (without it one core is used)"
needed python3 "Python, for the exercises"
if has cc && has python3; then
    if python3 docs/exercises/tool.py grade N=1 SRC=transformer.c \
        FOLDER=build/doctor > build/doctor.log 2>&1; then
        echo "ok    an exercise is graded"
    else
        echo "need  an exercise is graded: $(tail -n 1 build/doctor.log)"
        missing=1
    fi
fi
useful valgrind "Valgrind (make test watches memory with it)"
useful nbclient "the notebooks of the labs"
useful matplotlib "their plots"
useful pandoc "pandoc (make docs)"
useful dot "Graphviz (make docs)"
exit $missing

#!/bin/sh
# The same bits: the program trains what strict C trains, whatever it was built with, on
# one thread and on two; and 300 steps are those that data/README.md records.

. tests/lib/checks.sh
program=${TRANSFORMER:-./transformer} work=build/bits
rm -rf $work && mkdir -p $work

trained() # PROGRAM STEPS OPTIONS...: the checksum
{
    with=$1 steps=$2
    shift 2
    "$with" train data/eng-fra.train.tsv --steps "$steps" \
        --model $work/model.safetensors "$@" 2> $work/said || return
    sed -n '$s/.*checksum //p' $work/said
}

strict() # OPTIONS...: both programs, on one thread and on two
{
    expected=$(trained $work/strict "$@") && [ ${#expected} = 16 ] || return
    for threads in 1 2; do
        found=$(trained "$program" "$@" --threads $threads)
        grep "threads 2: this program was built without OpenMP" $work/said && return
        echo "$* --threads $threads: $found, strict C has $expected"
        [ "$found" = "$expected" ] || return
    done
}

told() # what FAST=1 may gain: of a large model, and not of a small one
{
    trained $work/strict 1 --d-model 256 --batch 1 && grep FAST=1 $work/said &&
        trained $work/strict 1 --batch 1 && ! grep FAST=1 $work/said
}

recorded()
{
    found=$(trained "$program" 300)
    echo "$found"
    grep "300 steps.*\`$found\`" data/README.md
}

check "transformer.c is built as strict C" \
    "${CC:-cc}" -std=c11 -O2 -ffp-contract=off transformer.c -lm -o $work/strict
check "the classroom's model has the bits of strict C" strict 10
check "so has a wide one, with everything that can be chosen" strict 2 --batch 16 \
    --d-model 256 --layers 1 --norm pre --activation gelu --positions learned --tie \
    --label-smoothing 0.1
check "who trains a large model is told of FAST=1" told
check "300 steps give the checksum of data/README.md" recorded
totals

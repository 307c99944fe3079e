#!/bin/sh
# Makes attention.csv, vectors.csv and red-car.* anew from the recorded model, which
# docs/live.html holds:
#
#   sh docs/book/records/make.sh          from the root of the repository
#
# README.md beside this file says where the model comes from, and what log.csv and
# learning.csv recorded while it was trained.

set -e
CC=${CC:-cc}
program=build/runs/transformer
model=build/live/model.safetensors
sentence="the small white cat is under the red chair"
short="the red car is fast"

mkdir -p build/runs
python3 docs/live/build.py build/runs/live.html # takes the model out of the page
$CC -O2 transformer.c -lm -o $program
$program evaluate $model data/eng-fra.test.tsv
$program attention $model "$sentence" --csv build/runs/attention.csv
$program attention $model "$short" --csv build/runs/red-car.csv \
    > docs/book/records/red-car.txt

# One head of it, in the last layer.
$CC -O2 docs/book/records/vectors.c -lm -o build/runs/vectors
build/runs/vectors $model "$short" 1 2 > docs/book/records/vectors.csv

# Cross-attention only, and for the short sentence the encoder's, too.
awk -F, 'NR == 1 || $1 == "cross"' build/runs/attention.csv > docs/book/records/attention.csv
awk -F, 'NR == 1 || $1 != "decoder"' build/runs/red-car.csv > docs/book/records/red-car.csv

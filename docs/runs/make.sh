#!/bin/sh
# Makes log.csv, attention.csv and red-car.* anew, in two or three minutes:
#
#   sh docs/runs/make.sh          from the root of the repository
#
# It trains as `make run` does, but with a portable program that uses one
# thread, so that the figures depend on the processor as little as possible.
# README.md beside this file says what the last run was; it is written by hand.

set -e
CC=${CC:-cc}
program=build/runs/transformer
model=build/runs/model.safetensors
sentence="the small white cat is under the red chair"

mkdir -p build/runs
$CC -O2 -ffp-contract=off transformer.c -lm -o $program

$program train data/eng-fra.train.tsv \
    --valid data/eng-fra.valid.tsv --epochs 25 \
    --model $model --log build/runs/log.csv
$program evaluate $model data/eng-fra.test.tsv
$program attention $model "$sentence" --csv build/runs/attention.csv
$program attention $model "the red car is fast" --csv build/runs/red-car.csv \
    > docs/runs/red-car.txt

# Every tenth step and all looks at the validation data, without the speed,
# which is the only column that differs from run to run.
awk -F, 'NR == 1 || $2 == "valid" || $1 % 10 == 0' build/runs/log.csv |
    cut -d , -f 1-6 > docs/runs/log.csv

# Cross-attention only.
for file in attention red-car; do
    awk -F, 'NR == 1 || $1 == "cross"' build/runs/$file.csv > docs/runs/$file.csv
done

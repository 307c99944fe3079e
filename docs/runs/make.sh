#!/bin/sh
# Makes log.csv, learning.csv, attention.csv, vectors.csv, whence.csv and red-car.* anew, in
# five minutes:
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
short="the red car is fast"

mkdir -p build/runs
$CC -O2 -ffp-contract=off transformer.c -lm -o $program

$program train data/eng-fra.train.tsv \
    --valid data/eng-fra.valid.tsv --epochs 25 \
    --model build/runs/run.safetensors --log build/runs/log.csv

# The model that the text quotes: step 2340 of this run.
$program train data/eng-fra.train.tsv --steps 2340 --model $model
$program evaluate $model data/eng-fra.test.tsv
$program attention $model "$sentence" --csv build/runs/attention.csv
$program attention $model "$short" --csv build/runs/red-car.csv \
    > docs/runs/red-car.txt

# One head of it, in the last layer.
$CC -O2 -ffp-contract=off docs/runs/vectors.c -lm -o build/runs/vectors
build/runs/vectors $model "$short" 1 2 > docs/runs/vectors.csv

# Where it knows the gender of a noun from; single heads are lab 2's.
$CC -O2 -ffp-contract=off notebook/02-whence.c -lm -o build/runs/whence
build/runs/whence $model data/eng-fra.test.tsv | grep -v ' head ' \
    > docs/runs/whence.csv

# What the model makes of the sentence on its way. A learning rate of 0 leaves it
# as it was before the first step.
echo step,translation > docs/runs/learning.csv
for step in 0 100 400 2340; do
    of_step=build/runs/$step.safetensors
    case $step in
    0) $program train data/eng-fra.train.tsv --steps 1 --lr 0 --model $of_step ;;
    2340) of_step=$model ;;
    *) $program train data/eng-fra.train.tsv --steps $step --model $of_step ;;
    esac
    echo "$step,$(echo "$short" | $program translate $of_step)"
done >> docs/runs/learning.csv

# Every tenth step and all looks at the validation data, without the speed,
# which is the only column that differs from run to run.
awk -F, 'NR == 1 || $2 == "valid" || $1 % 10 == 0' build/runs/log.csv |
    cut -d , -f 1-6 > docs/runs/log.csv

# Cross-attention only, and for the short sentence the encoder's, too.
awk -F, 'NR == 1 || $1 == "cross"' build/runs/attention.csv > docs/runs/attention.csv
awk -F, 'NR == 1 || $1 != "decoder"' build/runs/red-car.csv > docs/runs/red-car.csv

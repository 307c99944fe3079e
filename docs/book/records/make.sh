#!/bin/sh
# Trains the models of data/models and makes the records of this folder that come from
# them, in some minutes, with the same bytes on every machine:
#
#     make && sh docs/book/records/make.sh       from the root of the repository
#
# README.md beside this file says what is in each. seeds.csv, breaking/ and what measures
# speed have programs of their own.

set -e
CC=${CC:-cc}
work=build/records records=docs/book/records
model=data/models/eng-fra.safetensors
pairs=data/eng-fra.train.tsv
short="the red car is fast"
houses="these old houses are beautiful"
girl="the girl does not like the cats"
long="the small white cat is under the red chair"
mkdir -p $work

# numbers DATA OPTIONS...: loss and accuracy on the way, and the checksum, of 300 steps
numbers()
{
    ./transformer train "$@" --steps 300 --model $work/300.safetensors \
        --log $work/300.csv 2> $work/said
    echo "transformer train $* --steps 300"
    awk -F , '$1 ~ /^(step|1|10|100|300)$/ && $2 != "valid" {
        printf "%8s %12s %10s\n", $1, $3, $4 }' $work/300.csv
    ./transformer info $work/300.safetensors | grep '^checksum'
}

for task in eng-fra reverse hidden lamp; do
    numbers data/$task.train.tsv
done > $records/300-steps.txt
numbers data/dates.train.tsv --tokens char >> $records/300-steps.txt

# What a run makes of a sentence that it has not seen, on its way.
echo "step,translation" > $records/learning.csv
resume=
for step in 1 100 400 1880; do
    ./transformer train $pairs $resume --steps $step --model $work/learning.safetensors
    echo "$step,$(echo "$short" | ./transformer translate $work/learning.safetensors)" \
        >> $records/learning.csv
    resume=--resume
done

./transformer train $pairs --valid data/eng-fra.valid.tsv --model $work/run.safetensors \
    --log $work/log.csv
python3 $records/plain.py $work/run.safetensors $model
awk -F , 'NR == 1 || $1 % 10 == 0 || $2 == "valid"' $work/log.csv \
    | cut -d , -f 1-6 > $records/log.csv

# Cross-attention only, and for the short sentence the encoder's, too.
./transformer attention $model "$long" --csv $work/attention.csv
awk -F , 'NR == 1 || $1 == "cross"' $work/attention.csv > $records/attention.csv
./transformer attention $model "$short" --csv $work/attention.csv > $records/red-car.txt
awk -F , 'NR == 1 || $1 != "decoder"' $work/attention.csv > $records/red-car.csv
./transformer attention $model "$houses" --csv $work/houses.csv > $work/said
./transformer attention $model "$girl" --csv $work/girl.csv > $work/said
for name in houses girl; do
    awk -F , 'NR == 1 || $1 == "cross" && $2 == 1' $work/$name.csv > $records/$name.csv
done

$CC -O2 -ffp-contract=off $records/vectors.c -lm -o $work/vectors
$work/vectors $model "$short" 1 3 > $records/vectors.csv
make -s build/notebook/02-whence build/notebook/gpt
build/notebook/02-whence $model data/eng-fra.test.tsv > notebook/02-whence.csv

# The same model, by the program of one sitting.
$CC -O3 -ffp-contract=off notebook/programs/tiny.c -lm -o $work/tiny
$work/tiny $pairs > $records/tiny.txt

# A small GPT learns the English side.
cut -f 1 $pairs | sed '/?$/!s/$/./' | tr '\n' ' ' > $work/english.txt
build/notebook/gpt train $work/english.txt --tokens bpe --layers 2 --d-model 32 \
    --context 16 --steps 1000 --lr 0.01 --model $work/gpt.safetensors
python3 $records/plain.py $work/gpt.safetensors data/models/gpt.safetensors

#!/bin/sh
# Ten models, alike but for their seed: what do their heads look at, and where do they
# know a determiner's gender from? Ten minutes or so, and the same on every machine.
#
#     make && sh docs/book/records/seeds.sh > docs/book/records/seeds.csv
#
# exact       percent of the test sentences translated exactly
# encoder     the largest weight on "car" of the query "the", in the encoder's last layer
# cross       that of cross-attention in the last layer, when "la" is to be written
# zero        percent of determiners that stay as they are without any weight on the noun
# patch       percent that change with the vector of the determiner from a sentence whose
#             noun has the other gender (notebook/02-whence.c)

set -e
work=build/seeds
mkdir -p $work
make -s build/notebook/02-whence >&2

largest() # KIND: of the first query's weights on key 2, in layer 1
{
    awk -F, -v kind="$1" '$1 == kind && $2 == 1 && $4 == 0 && $5 == 2 && $6 > most {
        most = $6 } END { printf "%.2f", most }' $work/attention.csv
}

percent() # COLUMN CHANGE
{
    awk -F, -v column="$1" -v change="$2" '$1 "," $2 == change { print $column }' \
        $work/whence.csv
}

echo "seed,checksum,exact,encoder,cross,zero,patch"
for seed in 1 2 3 4 5 6 7 8 9 10; do
    model=$work/$seed.safetensors
    ./transformer train data/eng-fra.train.tsv --seed $seed --model $model > $work/log 2>&1
    ./transformer evaluate $model data/eng-fra.test.tsv > $work/said
    ./transformer attention $model "the red car is fast" --csv $work/attention.csv > /dev/null
    build/notebook/02-whence $model data/eng-fra.test.tsv > $work/whence.csv
    echo "$seed,$(./transformer info $model | sed -n 's/^checksum //p'),$(
        sed -n 's/^exact_match //p' $work/said),$(largest encoder),$(largest cross),$(
        percent 4 'zero,cross: all weights on the noun'),$(
        percent 5 'patch,memory: the determiner')"
done

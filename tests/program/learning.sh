#!/bin/sh
# Learning: the program, used as a user would use it, translates sentences that it
# has never seen.

. tests/lib/checks.sh
program=${TRANSFORMER:-./transformer} work=build/learning
rm -rf $work
mkdir -p $work

# learned DATA PERCENT OPTIONS...: so many translations of test are exact
learned()
{
    data=data/$1 least=$2 model=$work/$1.safetensors
    shift 2
    "$program" train "$data.train.tsv" --model "$model" --log "$work/log.csv" \
        --d-model 64 --d-ff 128 --dropout 0.05 --lr 0.003 --warmup 100 --batch 32 \
        --threads 1 "$@" \
        && "$program" evaluate "$model" "$data.test.tsv" --threads 1 > "$work/found" \
        && awk -v least="$least" '
            $1 == "exact_match" { print; exact = $2 }
            END { exit !(exact >= least) }' "$work/found"
}

check "reversal of sequences is learned: all unseen ones are exact" \
    learned reverse 100 --layers 1 --steps 1800
check "English-French grammar is learned: 95 % of unseen sentences are exact" \
    learned eng-fra 95 --layers 2 --steps 700
totals

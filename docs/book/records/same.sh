#!/bin/sh
# The numbers of the book: loss and accuracy on the way, and the checksum at the
# end, of 300 steps with each data set. The strict build, PROGRAM, gives them
# with every compiler and on every processor.
#
#     sh docs/book/records/same.sh PROGRAM                        are they the same here?
#     sh docs/book/records/same.sh PROGRAM all > docs/book/records/same.txt    all of them anew

work=build/same log=docs/book/records/same.txt
mkdir -p "$work"

# numbers PROGRAM options...: what one run gives
numbers()
{
    program=$1
    shift
    "$program" train "$@" --steps 300 --model "$work/model.safetensors" \
        --log "$work/log.csv" > "$work/said" 2>&1 || {
        tail -n 1 "$work/said" >&2
        exit 1
    }
    echo "transformer train $* --steps 300"
    awk -F , '$1 ~ /^(step|1|10|100|300)$/ && $2 != "valid" {
        printf "%8s %12s %10s\n", $1, $3, $4 }' "$work/log.csv"
    "$program" info "$work/model.safetensors" | grep '^checksum'
}

if [ "${2:-}" = all ]; then
    for name in eng-fra reverse hidden lamp; do
        numbers "$1" data/$name.train.tsv
    done
    numbers "$1" data/dates.train.tsv --tokens char
    exit
fi

numbers "$1" data/eng-fra.train.tsv > "$work/here" || exit
cat "$work/here"
if head -n "$(wc -l < "$work/here")" "$log" | cmp -s - "$work/here"; then
    echo "These are the numbers of the book."
else
    echo "These are not the numbers of the book ($log)." >&2
    exit 1
fi

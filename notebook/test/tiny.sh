#!/bin/sh
# notebook/programs/tiny.c, built by CC and run by RUN, and transformer.c, built by HOST with
# strict flags, have the same parameters after STEPS=2 steps; wrong files are refused in
# one line.
#
# shellcheck disable=SC2086

CC=${CC:-cc} STEPS=${STEPS:-2} RUN=${RUN:-}
STRICT="-std=c11 -O2 -ffp-contract=off"
. tests/lib/checks.sh
room=build/tiny
rm -rf $room
mkdir -p $room

# same STEPS DATA OPTIONS...: both print the same checksum of their parameters
same()
{
    steps=$1 data=$2
    shift 2
    $room/transformer train "$data" --steps "$steps" \
        --model $room/model.safetensors "$@" 2> $room/messages
    expected=$(sed -n '$s/.*checksum //p' $room/messages)
    found=$($RUN $room/program "$data" "$steps" | sed -n '$s/^checksum //p')
    echo "transformer $expected, tiny $found"
    [ ${#found} = 16 ] && [ "$found" = "$expected" ]
}

# refuses PATTERN DATA [STEPS]: status 1, and one line that matches PATTERN
refuses()
{
    pattern=$1
    shift
    $RUN $room/program "$@" > $room/out 2> $room/messages
    [ $? = 1 ] && cat $room/messages && [ ! -s $room/out ] &&
        [ "$(wc -l < $room/messages)" = 1 ] && grep -q "^tiny: $pattern$" $room/messages
}

refused_heads()
{
    ! $CC $STRICT -DWIDTH=32 -DHEADS=5 -DLAYERS=1 notebook/programs/tiny.c -o $room/none -lm \
        2> $room/messages && grep -q "HEADS must divide WIDTH" $room/messages
}

check "tiny.c has at most 500 lines" test "$(wc -l < notebook/programs/tiny.c)" -le 500
check "transformer.c compiles" ${HOST:-$CC} $STRICT -O1 transformer.c -o $room/transformer -lm
check "tiny.c compiles" $CC $STRICT notebook/programs/tiny.c -o $room/program -lm
for n in $STEPS; do
    check "tiny.c and transformer.c have the same parameters after $n steps" \
        same "$n" data/eng-fra.train.tsv
done
printf 'a b\n' > $room/tab
printf 'a\tb\n\tb\n' > $room/empty
: > $room/nothing
yes word | head -n 65 | tr '\n' ' ' > $room/long
check "a line without a tab is refused" refuses "$room/tab:1: expected .*" $room/tab
check "so is an empty column" refuses "$room/empty:2: expected .*" $room/empty
check "an empty file," refuses "$room/nothing:0: cannot open .*" $room/nothing
check "one that is not there," refuses "$room/none:0: cannot open .*" $room/none
check "and 65 words" refuses "$room/long:1: more than 64 words.*" $room/long
check "heads that do not divide the width do not compile" refused_heads
check "a small tiny.c compiles" $CC $STRICT -DWIDTH=32 -DHEADS=2 -DLAYERS=1 \
    notebook/programs/tiny.c -o $room/program -lm
check "the small ones are the same after two epochs and a half" \
    same 10 data/reverse.valid.tsv --d-model 32 --heads 2 --layers 1
totals

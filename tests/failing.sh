#!/bin/sh
# A machine that fails: each request for memory and each access to the disk in
# turn, a disk that is full or gone from then on, reads cut short, signals and
# power cuts at every one of them, and at random moments. tests/faults.c says how
# it is done.
#
#     sh tests/failing.sh          with cc; about half a minute
#     EVERY=7 sh tests/failing.sh  only every seventh place
#     FLAGS="-g -fsanitize=address,undefined" sh tests/failing.sh
#
# What must hold: a run ends as it should, or says in one line what went wrong
# and ends with status 1; and the same command with --resume, when the machine
# is well again, ends in the bytes of a training to which nothing happened.
#
# Lists of options are kept in variables that the shell is meant to split:
# shellcheck disable=SC2086,SC2254

LC_ALL=C
ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 # fail() frees nothing
export LC_ALL ASAN_OPTIONS

EVERY=${EVERY:-1}
. tests/checks.sh
mkdir -p build
${CC:-cc} -std=c11 -O1 ${FLAGS-} tests/faults.c -o build/faults -lm || exit 1
program=$(pwd)/build/faults
big=/dev/shm # files in memory, where there are such: some ten thousand are made
[ -w $big ] || big=${TMPDIR:-/tmp}
folder=$big/transformer-failing.$$
mkdir -m 700 "$folder" || exit 1
trap 'rm -rf "$folder"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
cd "$folder" || exit 1
ulimit -c 0

# CLAIM COMPLAINTS: it holds if there are none
holds()
{
    if [ -z "$2" ]; then
        ok "$1"
    else
        bad "$1"
        printf '%s' "$2" | cut -c 1-200 | sed -n '1,5s/^/       /p'
    fi
}

printf 'a b\tc d\na\tc\nb "a"\td, c\n' > pairs.tsv
model='--layers 1 --d-model 2 --heads 1 --d-ff 2 --max-len 6 --batch 2 --lr .05
       --warmup 1'
train="train pairs.tsv --valid pairs.tsv $model --threads 1 --model m.safetensors
       --log l.csv"

columns() # FILE: of a log, without the speed
{
    cut -d , -f 1-6 "$1"
}

# base: two steps; whole: the same and three more
mkdir base whole now
"$program" $train --steps 2 2> /dev/null && mv ./*.safetensors l.csv base
"$program" $train --steps 5 2> /dev/null && mv ./*.safetensors l.csv whole
columns whole/l.csv > whole/columns
[ -s whole/m.safetensors ] || exit 1
cp pairs.tsv now
cd now || exit 1

begin() # puts the files of the base into place, and nothing else
{
    rm -f ./*.new
    cp ../base/* .
}

# COMMAND…: runs it with the fault $fault; leaves $status and $last, the last
# line of stderr.
run()
{
    FAULT=$fault "$program" "$@" < ../in > ../out 2> ../err
    status=$?
    last=
    while IFS= read -r line; do
        last=$line
    done < ../err
    grep -q 'Sanitizer\|runtime error' ../err && status=crash
} 2> /dev/null

none_new() # whether no temporary file is left
{
    for left in ./*.new; do
        [ ! -e "$left" ] || return 1
    done
}

complain() # WHAT
{
    complaints="$complaints$fault: status $status, $last: $1
"
}

# Whether the run before was right: done, or refused with this MESSAGE.
right_or() # MESSAGE
{
    case "$status $last" in
    '0 '*) ;;
    "1 transformer: "$1) ;;
    *) complain 'no clear end' ;;
    esac
}

# Resumes when the machine is well, and compares with what should come out.
heal() # LOG: yes if the log must be whole, too
{
    "$program" $train --resume --steps 5 2> ../err ||
        complain "cannot be resumed: $(tail -n 1 ../err)"
    cmp -s m.safetensors ../whole/m.safetensors ||
        complain 'resumed it ends in other bytes'
    [ "$1" = no ] || [ "$(columns l.csv)" = "$(cat ../whole/columns)" ] ||
        complain 'the log lacks something'
}

# How often memory and disk are asked in a run that nothing happens to.
count() # COMMAND…
{
    : > ../in
    begin
    COUNTS=../counts "$program" "$@" > ../good 2> ../err || return 1
    read -r memory disk < ../counts
}

again="$train --resume --steps 5"
: > ../in

# ------------------------------------------------------------------- training

complaints=
count $again || complaints='the training fails without a fault'
cmp -s m.safetensors ../whole/m.safetensors ||
    complaints="$complaints the training ends in other bytes without a fault"
holds "a training: memory is asked $memory times, the disk $disk times" \
    "$complaints"

# THING KIND LOG CLAIM: the fault at each place in turn
train_through()
{
    eval "most=\$$1"
    n=1 complaints=
    while [ "$n" -le "$most" ]; do
        fault="$1 $n $2"
        begin
        run $again
        case "$2 $status $last" in
        'kill 137 '* | 'power 137 '*) ;;
        'int 130 '* | 'int 0 '*) ;;
        "fail 1 transformer: out of memory: "* | 'short 0 '*) ;;
        'fail 0 '* | 'full 0 '* | 'gone 0 '*)
            [ "$1" = disk ] && cmp -s m.safetensors ../whole/m.safetensors ||
                complain 'it was not done' ;;
        'fail 1 transformer: cannot '* | 'full 1 transformer: cannot '* | \
            'gone 1 transformer: cannot '*)
            [ "$1" = disk ] || complain 'another message' ;;
        *) complain 'no clear end' ;;
        esac
        [ "$status" = 137 ] || [ "$2" = gone ] || none_new ||
            [ "$last" = "${last#*cannot write}" ] ||
            complain 'half a file is left'
        # a row that could not be written, which was said, is not there
        case $last in *'cannot write l.csv: '*' is saved in '*) heal no ;;
        *) heal "$3" ;; esac
        n=$((n + EVERY))
    done
    holds "$4 ($most places)" "$complaints"
}
train_through memory fail yes \
    'each request for memory refused: it says so; resumed it loses nothing'
train_through disk fail yes \
    'each access to the disk fails: done or said; resumed it loses nothing'
train_through disk full yes \
    'the disk is full from each place on: done or said; nothing is lost'
train_through disk gone yes \
    'the disk is gone from each place on: done or said; resumed it loses nothing'
train_through disk short yes 'each read cut short: no difference'
train_through memory int yes \
    'Ctrl-C at each request for memory: resumed it loses nothing'
train_through disk int yes 'Ctrl-C at each access to the disk: the same'
train_through memory kill yes \
    'killed at each request for memory: resumed it loses nothing'
train_through disk kill yes 'killed at each access to the disk: the same'
train_through disk power no \
    'the power fails at each access to the disk: the model is whole'

# Between two looks, which are five steps apart, memory runs out: what was
# reported is saved. (While a model is measured and saved, the checkpoint before
# it stays: the step is done, but the log does not know of it.)
complaints=
again="$train --resume --steps 100"
count $again || complaints='the training fails without a fault'
n=$((memory / 10))
while [ "$n" -lt "$memory" ]; do
    fault="memory $n fail"
    begin
    run $again
    case "$status $last" in
    "1 transformer: out of memory: "* | "1 transformer: a batch of "*) ;;
    *) complain 'no clear end' ;;
    esac
    trained=$("$program" info m.safetensors | sed -n 's/^steps trained //p')
    logged=$(tail -n 1 l.csv | cut -d , -f 1)
    [ "$trained" = "$logged" ] || [ $(((logged + 1) % 5)) -le 1 ] ||
        complain "step $trained is saved, step $logged was done"
    n=$((n + memory / 61))
done
holds 'memory runs out between two checkpoints: the steps that were done are saved' \
    "$complaints"
again="$train --resume --steps 5"
count $again

# The power cut is at work: without fsync the models would be lost.
lost=0 n=1
while [ "$n" -le "$disk" ]; do
    fault="disk $n power-late"
    begin
    run $again
    [ -s m.safetensors ] || lost=$((lost + 1))
    n=$((n + 1))
done
complaints=
[ "$lost" -gt 0 ] || complaints='nothing is lost
'
holds "the test is at work: without fsync power cuts lose models, $lost times" \
    "$complaints"

# At moments of the clock, which are as random as the seed of awk is fixed.
random_moments() # SIGNAL
{
    complaints=
    for delay in $(awk -v s="$1" 'BEGIN {
        srand(length(s))
        for (i = 0; i < 25; i++)
            printf "%.4f ", 0.001 + 0.06 * rand()
    }'); do
        fault="$1 after $delay s"
        begin
        FAULT= timeout -s "$1" "$delay" "$program" $train --resume --steps 300 \
            2> ../err
        status=$? last=$(tail -n 1 ../err)
        case "$1 $status" in
        'KILL 137' | 'INT 124' | 'INT 130' | 'TERM 124' | 'TERM 143' | *' 0') ;;
        *) complain 'no clear end' ;;
        esac
        "$program" info m.safetensors > /dev/null 2> ../err ||
            complain "does not load: $(cat ../err)"
        "$program" $train --resume --steps 300 2> /dev/null
        cmp -s m.safetensors ../long/m.safetensors ||
            complain 'resumed it ends in other bytes'
    done
    holds "SIG$1 at 25 random moments: the model loads and goes on, same bytes" \
        "$complaints"
}
unset FAULT
if timeout -s KILL 9.5 true 2> /dev/null; then
    begin
    mkdir ../long
    "$program" $train --resume --steps 300 2> /dev/null &&
        cp ./*.safetensors ../long
    random_moments INT
    random_moments TERM
    random_moments KILL
else
    skip 'signals at random moments: timeout takes no fractions'
fi

# ------------------------------------------------------- the other commands

# NAME INPUT COMMAND…: every fault that can be; nothing may be half done
use_through()
{
    name=$1 input=$2
    shift 2
    complaints=
    count "$@" > /dev/null || complaints="$name fails without a fault
"
    for command in 'memory fail' 'disk fail' 'disk full' 'disk short'; do
        thing=${command% *} kind=${command#* } n=1
        eval "most=\$$thing"
        while [ "$n" -le "$most" ]; do
            fault="$thing $n $kind"
            rm -f ./*.new
            cp ../base/a.csv . 2> /dev/null
            printf "$input" > ../in
            run "$@"
            case "$thing $kind" in
            'memory fail') right_or 'out of memory: *' ;;
            *) right_or 'cannot *' ;;
            esac
            [ "$kind" != short ] || [ "$status" = 0 ] || complain 'not done'
            [ "$status" != 0 ] || cmp -s ../out ../expected ||
                complain 'another output'
            none_new || complain 'half a file is left'
            [ ! -e a.csv ] || cmp -s a.csv ../base/a.csv ||
                cmp -s a.csv ../long.csv || complain 'neither old nor new'
            n=$((n + EVERY))
        done
    done
    cmp -s m.safetensors ../base/m.safetensors || complain 'the model changed'
    holds "$name: memory ($memory), disk ($disk), full disk, short reads" \
        "$complaints"
}
expected() # INPUT COMMAND…
{
    printf "$1" > ../in
    shift
    "$program" "$@" < ../in > ../expected 2> /dev/null
}
begin
"$program" attention m.safetensors 'b a' --csv ../long.csv > /dev/null
echo 'an older file' > ../base/a.csv
begin
for use in 'info m.safetensors' 'evaluate m.safetensors pairs.tsv' \
    'attention m.safetensors b --target d --csv a.csv'; do
    begin
    expected '' $use
    cp a.csv ../long.csv
    use_through "${use%% *}" '' $use
done
begin
expected 'a b\n\nb\n' translate m.safetensors
use_through translate 'a b\n\nb\n' translate m.safetensors

# ------------------------------------------------------------- other outputs

complaints= fault='a reader that goes away'
printf 'a\n' > ../in
(trap '' PIPE; "$program" translate m.safetensors < ../in 2> ../err
    echo $? > ../status) | :
read -r status < ../status
last=$(cat ../err)
case "$status $last" in
'0 ' | '1 transformer: cannot write the output: Broken pipe') ;;
*) complain 'no clear end' ;;
esac
holds 'a reader that goes away is said' "$complaints"

complaints= fault='a log that is the model'
begin
"$program" $again --log m.safetensors 2> ../err
status=$? last=$(cat ../err)
case "$status $last" in
"2 transformer: m.safetensors would be overwritten "*) ;;
*) complain 'not refused' ;;
esac
cmp -s m.safetensors ../base/m.safetensors || complain 'it is overwritten'
holds 'a log is not written over a model' "$complaints"

complaints= fault='standard output closed'
"$program" info m.safetensors >&- 2> ../err
status=$? last=$(cat ../err)
case "$status $last" in
'1 transformer: cannot write the output: Bad file descriptor') ;;
*) complain 'no clear end' ;;
esac
holds 'an output that is closed is said' "$complaints"

totals

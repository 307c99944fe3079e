#!/bin/sh
# A long training that is interrupted again and again:
#
#     sh tests/long-run.sh                   an hour of training, twice
#     MINUTES=5 SEED=2 sh tests/long-run.sh  shorter, and at other moments
#
# A model of 1.8 million parameters ("small" of the benchmark) is trained twice
# for the same number of steps: once without a break, and once in many parts. A
# part ends at a random moment by Ctrl-C, by a request to end, or by a kill, as
# when the power fails; the next one resumes. Then both models must be the same
# files, and both logs the same but for the speed. Memory must be flat: it does
# not grow within the training without a break, nor from part to part.
#
# Linux tells of memory in /proc. The program, which make has built, uses one thread.

minutes=${MINUTES:-60} seed=${SEED:-1}
MARGIN=2 # percent, of memory: how many pages are in use is not quite the same

# glibc keeps memory that was freed, more of it or less, unless it is told where
# large pieces begin.
LC_ALL=C OMP_WAIT_POLICY=passive MALLOC_MMAP_THRESHOLD_=131072
export LC_ALL OMP_WAIT_POLICY MALLOC_MMAP_THRESHOLD_
work=build/long-run
rm -rf "$work"
mkdir -p "$work" || exit 1
child=
trap '[ -z "$child" ] || kill -KILL "$child" 2> /dev/null' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

. tests/checks.sh

# ---------------------------------------------------------------- training

# pairs NUMBER SEED: sentences of 8 to 23 words out of 996, and the same words
# backwards
pairs()
{
    awk -v pairs="$1" -v seed="$2" '
    function word() { return "w" int(996 * rand()) }
    BEGIN {
        srand(seed)
        while (pairs-- > 0) {
            source = target = word()
            for (more = 7 + int(16 * rand()); more > 0; more--) {
                next_word = word()
                source = source " " next_word
                target = next_word " " target
            }
            print source "\t" target
        }
    }'
}

# start NAME options...: a training in the background, $child. The shell would have
# it ignore Ctrl-C.
start()
{
    name=$1 err=$work/$1.err
    : > "$err"
    shift
    env --default-signal=INT ./transformer train "$work/train.tsv" --valid "$work/valid.tsv" \
        --layers 3 --d-model 128 --heads 4 --lr 0.001 --threads 1 \
        --model "$work/$name.safetensors" --log "$work/$name.csv" "$@" \
        2> "$err" &
    child=$!
}

# watch SECONDS: until it ends by itself or the time since its begin is over.
# Writes down the largest memory that it has had meanwhile, in kB.
watch()
{
    : > "$work/peaks"
    while kill -0 "$child" 2> /dev/null && ! grep -q '^training:' "$err"; do
        sleep 0.2
    done
    until=$(($(date +%s) + $1))
    while kill -0 "$child" 2> /dev/null && [ "$(date +%s)" -lt "$until" ]; do
        awk '/^VmHWM:/ { print $2 }' "/proc/$child/status" 2> /dev/null >> "$work/peaks"
        sleep 0.2
    done
}

# finish: the status of the child
finish()
{
    wait "$child" 2> /dev/null
    status=$?
    child=
}

steps_of() # a log
{
    grep -c ',train,' "$work/$1.csv"
}

# How many steps there are in so many minutes, judged by a thirtieth of them.
count_steps()
{
    start speed --steps 1000000
    watch $((minutes * 2))
    kill -s INT "$child"
    finish
    steps=$(($(steps_of speed) * 30))
    [ "$status" = 130 ] && [ "$steps" -ge 100 ]
}

# The model is the one that is meant.
is_small()
{
    ./transformer info "$work/speed.safetensors" > "$work/info" &&
        grep -q '^source vocabulary 1000$' "$work/info" &&
        grep -q '^target vocabulary 1000$' "$work/info" &&
        grep -q '^parameters  *1,773,544$' "$work/info"
}

# The early peak is that after a fifth of the time.
without_a_break()
{
    before=$(date +%s)
    start whole --steps "$steps"
    watch $((minutes * 600))
    finish
    seconds=$(($(date +%s) - before))
    whole_peak=$(tail -n 1 "$work/peaks")
    early_peak=$(awk '{ a[NR] = $1 } END { print a[int((NR + 4) / 5)] }' \
        "$work/peaks")
    [ "$status" = 0 ] && [ "$(steps_of whole)" = "$steps" ]
}

# ---------------------------------------------------------------- in parts

# moments: the seconds until each part ends, and how it does
moments()
{
    awk -v seed="$seed" -v most=$((seconds / 12 + 1)) 'BEGIN {
        srand(seed)
        split("INT TERM KILL", signal)
        for (i = 0; i < 1000; i++)
            print 1 + int(most * rand()), signal[1 + i % 3]
    }'
}

# part SECONDS SIGNAL. Where none has come as far as a checkpoint, it begins.
part()
{
    resume=
    [ ! -f "$work/parts.safetensors" ] || resume=--resume
    # shellcheck disable=SC2086
    start parts --steps "$steps" $resume
    watch "$1"
    kill -s "$2" "$child" 2> /dev/null
    finish
    tail -n 1 "$work/peaks" >> "$work/part.peaks"
    echo "     after $1 s $2: status $status, step $(steps_of parts)"
}

# Until a part comes to the end. The others end as they were told to.
in_parts()
{
    parts=1 stopped=0 asked=0 killed=0
    moments > "$work/moments"
    while read -r after signal; do
        part "$after" "$signal"
        case $signal$status in
        *[A-Z]0) return ;;
        INT130) stopped=$((stopped + 1)) ;;
        TERM143) asked=$((asked + 1)) ;;
        KILL137) killed=$((killed + 1)) ;;
        *)
            tail -n 3 "$err"
            return 1 ;;
        esac
        parts=$((parts + 1))
    done < "$work/moments"
    return 1
}

# The log without its last column, which is the speed.
same_log()
{
    for name in whole parts; do
        sed 's/,[^,]*$//' "$work/$name.csv" > "$work/$name.rows"
    done
    cmp "$work/whole.rows" "$work/parts.rows"
}

# at_most A B: A is no more than B, but for the margin
at_most()
{
    echo "     $1 kB, $2 kB"
    [ $(($1 * 100)) -le $(($2 * (100 + MARGIN))) ]
}

# half HEAD_OR_TAIL: the most that one of the first or of the later parts took
half()
{
    "$1" -n $(((parts + 1) / 2)) "$work/part.peaks" | sort -n | tail -n 1
}

# -------------------------------------------------------------------- all

pairs 4000 "$seed" > "$work/train.tsv"
pairs 200 $((seed + 1)) > "$work/valid.tsv"
check "there is time for 100 steps, judged by $((minutes * 2)) seconds" \
    count_steps
[ "$failed" = 0 ] || {
    totals
    exit
}
check "its model is the benchmark's small" is_small
check "$steps steps without a break" without_a_break
echo "     $seconds seconds"
check "the same steps in parts, each stopped and resumed" in_parts
echo "     $parts parts: $stopped stopped, $asked asked to end, $killed killed"
check "there was each kind of interruption" [ "$killed" -ge 1 ]
check "the model, best and newest, is the same file" \
    cmp "$work/whole.safetensors" "$work/parts.safetensors"
check "the log is the same, but for the speed" same_log
first=$(half head) later=$(half tail)
check "memory: no more at the end than after a fifth, within $MARGIN %" \
    at_most "$whole_peak" "$early_peak"
check "memory: later parts take no more than others, within $MARGIN %" \
    at_most "$later" "$first"
check "memory: no part takes more than all at once, within $MARGIN %" \
    at_most "$(sort -n "$work/part.peaks" | tail -n 1)" "$whole_peak"
totals

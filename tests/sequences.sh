#!/bin/sh
# One run is one file: sequences of commands on one or two model files, and
# what must then be in which file.
#
#     sh tests/sequences.sh
#
# A small model of the specification, in this script, says what each command
# does to the file; tests/moments.c makes it end at the moment that is wanted,
# and tests/contents.c reads what is there. The sequences are made by crossing
# the choices: what is there before, how a run begins, how it ends, and what
# follows.
#
# Which file is right? A run is a function of its seed, its data and the number
# of steps, whatever it is measured on. So the parameters of step n are those of
# a run of n steps without validation data, and how good they are is what
# `evaluate` says of them. The rest follows: the file, byte for byte, from the
# seed, the data, the steps asked for, the newest step, the step to use, and
# the data it was measured on. The first file of each such state is read; the
# others are compared with it. Uninterrupted runs come first.
#
# Lists of options are kept in variables that the shell is meant to split:
# shellcheck disable=SC2086

LC_ALL=C
export LC_ALL
. tests/checks.sh
root=$PWD tools=$PWD/build/sequences
mkdir -p "$tools"
for tool in moments contents; do
    ${CC:-cc} -std=c11 -O1 ${FLAGS-} tests/$tool.c -o "$tools/$tool" -lm || exit 1
done
program=$tools/moments
big=/dev/shm # files in memory, where there are such: each save waits for the disk
[ -w $big ] || big=${TMPDIR:-/tmp}
folder=$big/transformer-sequences.$$
mkdir -m 700 "$folder" || exit 1
trap 'rm -rf "$folder"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
cd "$folder" || exit 1
mkdir here states alone

# WORD FIRST COUNT TURN: pairs of one or two words; TURN 1 makes some wrong
pairs()
{
    awk -v w="$1" -v first="$2" -v count="$3" -v turn="$4" 'BEGIN {
        for (k = first; k < first + count; k++) {
            i = k % 6
            to = k % 4 == 3 ? (i + turn) % 6 : i
            if (k % 3)
                print w i "\tt" to
            else
                print w i " " w (k % 2) "\tt" to " t" (k + turn) % 2
        } }'
}
pairs x 0 24 0 > x.tsv # to train on; the first word of a model of these is x0
pairs y 3 24 0 > y.tsv
pairs x 1 12 1 > v.tsv # to measure on: some of these are never learned
pairs x 2 10 0 > w.tsv # and these are
options="--layers 1 --d-model 8 --heads 2 --d-ff 4 --max-len 4 --batch 6
    --warmup 1 --lr 0.1 --threads 1"

# ------------------------------------------------- runs without interruption

# SEED DATA STEP: sets $parameters and $moments to the sums of that state
numbers_of()
{
    key=$1_$2_$3
    eval "parameters=\${parameters_$key-} moments=\${moments_$key-}"
    [ -z "$parameters" ] || return
    "$program" train $2.tsv $options --seed $1 --steps $3 --model alone/$key \
        2> /dev/null
    line=$("$tools/contents" alone/$key | sed -n 2p)
    parameters=${line#parameters } moments=${line#* moments }
    parameters=${parameters%% *}
    eval "parameters_$key=\$parameters moments_$key=\$moments"
}

# MODEL VALID: its token accuracy
share_of()
{
    "$program" evaluate "$1" $2.tsv --threads 1 2> /dev/null |
        sed -n 's/^token_accuracy //p'
}

# SEED DATA STEP VALID: sets $accuracy to the token accuracy of that state, in
# percent; two digits behind the point tell any two shares apart here
accuracy_of()
{
    eval "accuracy=\${accuracy_$1_$2_$3_$4-}"
    [ -z "$accuracy" ] || return
    numbers_of $1 $2 $3
    accuracy=$(share_of alone/$key $4)
    eval "accuracy_$1_$2_$3_$4=\$accuracy"
}

# ---------------------------------------------------------- the specification

# The state of the file m is in $state_m: what it holds, or nothing:
#
#     SEED DATA STEPS STEP BEST VALID
#
# STEPS is what was asked for, STEP the newest. BEST is the step to use and
# VALID what it was measured on, both - if the run has never been measured.

# VALID: a look at the state at $step; of two equal ones the newer is kept
look()
{
    accuracy_of $seed $data $step $1
    if [ $best = - ] || [ ${accuracy%.*}${accuracy#*.} -ge \
        ${record%.*}${record#*.} ]; then
        if [ $best != - ] && [ $accuracy = $record ]; then ties=$((ties + 1)); fi
        best=$step record=$accuracy
    fi
    on=$1
}

saved()
{
    eval "state_$file=\"$seed $data $steps $step $best $on\""
}

# Goes on from $seed, $data, $step, $best, $on up to $steps, or up to where the
# run is meant to end: $end is end, memory, a number of saves (kill3) or of
# steps of this run (int1, term5, hup1). Sets $expected, the status.
goes_on()
{
    every=$((steps / 20)) count=0 saves=0
    [ $every -gt 0 ] || every=1
    case $end in
    end) expected=0 ;;
    memory) expected=1; return ;;
    *) expected=99 ;; # the moment does not come
    esac
    while [ $step -lt $steps ]; do
        step=$((step + 1)) count=$((count + 1))
        if [ $((step % every)) = 0 ]; then
            [ $valid = - ] || look $valid
            saves=$((saves + 1))
            [ $end != kill$saves ] || { expected=137; return; }
            saved
        fi
        case $end in
        "int$count") expected=130 ;;
        "term$count") expected=143 ;;
        "hup$count") expected=129 ;;
        *) continue ;;
        esac
        saved
        return
    done
}

# Takes the state of the file apart.
recall()
{
    eval "state=\$state_$file"
    read -r seed data steps step best on << END
$state
END
}

# What --resume does to the file, with $valid, $end and $more, the new total or =
resumes()
{
    eval "state=\$state_$file" expected=0
    [ -n "$state" ] || { expected=1 data=x; return; }
    recall
    [ $more = = ] || steps=$more
    [ $best = - ] || [ $valid != - ] || { expected=2; return; }
    [ $step -lt $steps ] || { [ $end = end ] || expected=99; return; }
    if [ $valid != - ] && [ $best = - ]; then
        look $valid
    elif [ $valid != - ]; then
        accuracy_of $seed $data $best $valid
        record=$accuracy on=$valid
    fi
    goes_on
}

# -------------------------------------------------------------------- checks

# WHAT EXPECTED GOT: a complaint, if they differ
expect()
{
    [ "$2" = "$3" ] || complaints="$complaints
       $story: $1
       expected: $2
       got:      $3"
}

# What a file in this state must hold, when it is the first.
read_state() # FILE
{
    recall
    used=$best share=- fresh=- measured='' files=$((files + 1))
    [ $best != - ] || used=$step
    numbers_of $seed $data $step
    newest=$parameters newest_moments=$moments
    numbers_of $seed $data $used
    [ $used = $step ] || fresh=$newest
    [ $used = $step ] || behind=$((behind + 1))
    if [ $best != - ]; then
        accuracy_of $seed $data $best $on
        share=$accuracy
        measured="best step $best
best accuracy $share"
        expect 'what evaluate says of it' $share "$(share_of "$1" $on)"
    fi
    expect 'the file' "seed $seed steps $steps step $step best $best accuracy $share word $data
parameters $parameters newest $fresh moments $newest_moments" "$("$tools/contents" "$1")"
    expect info "steps trained $step${measured:+
$measured}" "$("$program" info "$1" 2>&1 |
        grep -E '^(steps trained|best|transformer:)')"
}

# The file is what its state says, and there is no other.
right_file() # FILE
{
    file=$1
    eval "state=\$state_$file"
    [ -n "$state" ] || return
    known=states/$(echo $state | tr ' ' _)
    so_far=$complaints
    if [ ! -f here/$file ]; then
        expect 'the file' 'it is there' 'it is not'
    elif [ -f $known ]; then
        cmp -s here/$file $known ||
            expect 'the file' "the bytes of $state" "$("$tools/contents" here/$file)"
    else
        read_state here/$file
        [ "$complaints" != "$so_far" ] || cp here/$file $known
    fi
}

# ARGUMENTS…: the program; leaves $status. The shell would say "Killed".
run()
{
    "$program" train "$@" --threads 1 --log /dev/null 2> said
    status=$?
} 2> /dev/null

# Runs the program up to $end, and looks at what it leaves.
carry_out() # ARGUMENTS…
{
    case $end in
    end) unset MOMENT ;;
    memory) MOMENT=memory ;;
    int*) MOMENT="step ${end#int} 2" ;;
    term*) MOMENT="step ${end#term} 15" ;;
    hup*) MOMENT="step ${end#hup} 1" ;;
    kill*) MOMENT="save ${end#kill} 9" ;;
    esac
    [ $end = end ] || export MOMENT
    [ $valid = - ] || set -- "$@" --valid $valid.tsv
    run $data.tsv "$@" --model here/$file
    unset MOMENT
    expect 'the status' $expected \
        "$status$([ $status = $expected ] || tail -n 1 said)"
    if [ $expected = 137 ]; then
        for left in "here/$file".*.new; do
            [ ! -f "$left" ] || rm "$left"
        done
    fi
    expect 'the files there' \
        "${state_m:+ here/m}${state_n:+ here/n}" "$(
            for one in here/*; do
                [ ! -e "$one" ] || printf ' %s' "$one"
            done)"
    right_file m
    right_file n
}

# FILE SEED DATA VALID STEPS END: a new run
begin()
{
    file=$1 seed=$2 data=$3 valid=$4 steps=$5 end=$6
    step=0 best=- on=-
    story="$story; train $data.tsv --model $file --seed $seed --steps $steps"
    tell
    goes_on
    carry_out $options --seed $2 --steps $5
}

# FILE VALID STEPS END: --resume; the steps that the model knows, if they are =
resume()
{
    file=$1 valid=$2 more=$3 end=$4
    story="$story; --resume --model $file"
    [ $3 = = ] || story="$story --steps $3"
    tell
    eval "former=\$state_$1"
    resumes
    set -- --resume
    [ $more = = ] || set -- "$@" --steps $more
    carry_out "$@"
    eval "state=\$state_$file"
    case $uninterrupted in
    *"<$state>"*) [ "$state" = "$former" ] || whole=$((whole + 1)) ;;
    esac
}

tell()
{
    [ $valid = - ] || story="$story --valid $valid.tsv"
    [ $end = end ] || story="$story ($end)"
}

# STATE: a folder with m in this state, or with nothing
after()
{
    rm -rf here
    mkdir here
    state_m=$1 state_n='' story='' complaints=''
    [ -n "$1" ] || return
    cp "states/$(echo $1 | tr ' ' _)" here/m 2> /dev/null ||
        complaints=" (no file of this state was right)"
    set -- $1
    story="; after step $4 of $3, seed $1, $2.tsv"
    [ $5 = - ] || story="$story, best $5 on $6.tsv"
}

# The claim of one sequence.
told()
{
    story=${story#; }
    if [ -z "$complaints" ]; then ok "$story"; else bad "$story$complaints"; fi
}

# ------------------------------------------------------------------ the table

uninterrupted='' ties=0 files=0 behind=0 whole=0
for seed_data in '1 x' '2 x' '3 y'; do
    for by in - v w; do
        for total in 10 40 80; do
            after '' ''
            begin m $seed_data $by $total end
            told
            uninterrupted="$uninterrupted<$state_m>"
        done
    done
done

# What is there before × how a run begins × how it ends. What this leaves:
: > left
for before in '' '2 x -' '2 x v' '3 y v'; do
    for by in - v w; do
        for how in end int1 term5 kill1 kill3 memory; do
            after '' ''
            [ -z "$before" ] || begin m $before 10 end
            begin m 1 x $by 40 $how
            told
            grep -qx "$state_m" left || echo "$state_m" >> left
        done
    done
done

# What may follow in each of these states: it goes on, with other data to
# measure on, with more steps …
while read -r was <&3; do
    for by in - v w; do
        for total in = 80; do
            after "$was"
            resume m $by $total end
            told
        done
        after "$was"
        resume m $by 80 int1
        resume m $by = end
        told
    done
    # … until it is stopped again, or killed, or there is no memory …
    for by in - v; do
        for how in hup7 kill1 kill2 memory; do
            after "$was"
            resume m $by 80 $how
            resume m $by = end
            told
        done
        # … or a second run begins in the same file, or in another one.
        for how in end int1 kill2; do
            after "$was"
            begin m 2 x $by 40 $how
            resume m $by 80 end
            told
        done
        for how in term5 memory; do
            after "$was"
            begin n 2 x $by 40 $how
            resume m v 80 end
            resume n $by = end
            told
        done
    done
done 3< left
claim="$files states, $behind of them with two sets of parameters; $ties times \
the newer of two equally good ones was kept; $whole resumed runs ended in the \
bytes of one that was not interrupted"
if [ $behind -gt 9 ] && [ $ties -gt 9 ] && [ $whole -gt 9 ]; then
    ok "$claim"
else
    bad "the table is not at work: $claim"
fi

# ------------------------------------------------- a model and the newest state

# MODEL: all that the commands make of it
uses()
{
    printf 'x0 x1\nx3\nx5\n' |
        "$program" translate "$1" --scores --beam 2 --threads 1
    "$program" evaluate "$1" w.tsv --threads 1
    "$program" attention "$1" 'x0 x1' --threads 1 --csv alone/csv
    cat alone/csv
}

# Whoever uses a file with two states has the one that is kept, as if the run
# had ended there.
complaints='' seen=0
story='translate, evaluate and attention use the parameters that are kept'
for known in states/1_x_40_*; do
    file=m state_m=$(echo "${known#states/}" | tr _ ' ')
    recall
    if [ $best != - ] && [ $best != $step ]; then
        numbers_of $seed $data $best
        numbers_of $seed $data $step
        uses "$known" > said 2>&1
        uses alone/1_x_$best > kept 2>&1
        uses alone/1_x_$step > newest 2>&1
        expect "with $known" "$(cat kept)" "$(cat said)"
        cmp -s kept newest || seen=$((seen + 1))
    fi
done
expect 'files with which it makes a difference, at least 2' 1 $((seen >= 2))
told

# ---------------------------------------------------------------- other files

# CLAIM FILE STATUS ARGUMENTS…: what a training makes of a file that is there
other()
{
    story=$1 complaints='' expected=$3
    cp "$2" here/m
    shift 3
    run "$@" --model here/m
    expect 'the status' $expected "$status"
    expect 'the files there' here/m "$(echo here/*)"
}
after '' ''
other 'a text is no model: it is refused, and left alone' x.tsv 1 \
    y.tsv $options --steps 10
cmp -s here/m x.tsv || expect 'the file' 'as it was' 'another one'
told
: > empty
other 'an empty file is nothing that could be lost' empty 0 \
    x.tsv $options --steps 10 --seed 1
state_m='1 x 10 10 - -'
right_file m
told

# Files of earlier editions. The second kept the newest state in a file of its
# own, whose name had a .last in it; it had trained for 40 steps, the first for
# 600.
for edition in first second; do
    step=40 file=tests/golden/second-edition.last.safetensors
    [ $edition = second ] || step=600 file=tests/golden/first-edition.safetensors
    for by in - v; do
        set -- x.tsv --resume --steps $((step + 2))
        [ $by = - ] || set -- "$@" --valid $by.tsv
        other "a file of the $edition edition goes on, measured on $by" \
            "$root/$file" 0 "$@"
        found=$("$tools/contents" here/m) share=-
        [ $by = - ] || share=$(share_of here/m $by)
        case $found in
        *" step $((step + 2)) best "[$by$step]*" accuracy $share "*) ;;
        *) expect 'the file' "step $((step + 2)), accuracy $share" "$found" ;;
        esac
        told
    done
done
totals

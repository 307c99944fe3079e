#!/bin/sh
# Every option reaches what it names, in every command that takes it.
#
#     sh tests/options.sh                         tests ./transformer
#     TRANSFORMER=build/other sh tests/options.sh tests another program
#
# For each command and each option that its help lists, that is, for each row of
# the program's own tables, there is a claim here about what the option does.
# One without a claim fails. Most models here are trained with a learning rate
# of 0: their numbers are the initial ones, so that what is not the option's
# doing stays the same.
#
# Lists of options are kept in variables that the shell is meant to split:
# shellcheck disable=SC2086

LC_ALL=C
OMP_WAIT_POLICY=passive
export LC_ALL OMP_WAIT_POLICY
. tests/checks.sh
find_program
tools=$PWD/build/options
mkdir -p "$tools"
for tool in contents clock; do
    ${CC:-cc} -std=c11 -O1 ${FLAGS-} tests/$tool.c -o "$tools/$tool" -lm || exit 1
done
folder=${TMPDIR:-/tmp}/transformer-options.$$
mkdir -m 700 "$folder" || exit 1
trap 'rm -rf "$folder"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
cd "$folder" || exit 1

# ------------------------------------------------------------------- helpers

rows= # what has been claimed: " train/layers info/layers train/d-model …"

# COMMANDS OPTION CLAIM EXPECTED GOT: what the option does in these commands
row()
{
    for command in $1; do
        rows="$rows $command/$2"
    done
    same "$1 --$2: $3" "$4" "$5"
}

# CLAIM EXPECTED GOT
same()
{
    if [ "$2" = "$3" ]; then
        ok "$1"
    else
        bad "$1"
        printf '       expected: %s\n       got:      %s\n' "$2" "$3" | cut -c 1-200
    fi
}

# The same or not? For what an option changes, and what it does not.
alike() # TEXT TEXT
{
    if [ "$1" = "$2" ]; then echo alike; else echo other; fi
}

# ARGUMENTS…: without their messages, on one thread
quiet()
{
    "$program" "$@" --threads 1 2> said
}

# NAME OPTIONS…: a model called NAME, of one step that changes nothing in it
made()
{
    name=$1
    shift
    quiet train pairs.tsv $small "$@" --model $name --log $name.csv
}

text_of() # MODEL: its header, and other bytes that may be printed
{
    tr -cd '[:print:]' < $1
    echo
}

has() # MODEL TENSOR…: yes or no, of each
{
    model=$1 found=
    shift
    for tensor in "$@"; do
        case $(text_of $model) in
        *"\"$tensor\":{"*) found="$found yes" ;;
        *) found="$found no" ;;
        esac
    done
    echo $found
}

shape() # MODEL TENSOR
{
    text_of $1 | sed "s/.*\"$2\":{\"dtype\":\"F32\",\"shape\":\[\([0-9,]*\)\].*/\1/"
}

numbers() # MODEL: the sum of its parameters
{
    "$tools/contents" $1 | sed -n 's/^parameters \([^ ]*\) .*/\1/p'
}

says() # MODEL KEY: a line of info
{
    "$program" info $1 | sed -n "s/^$2 //p"
}

logged() # MODEL STEP SPLIT COLUMN
{
    awk -F , -v step=$2 -v split_=$3 -v column=$4 \
        '$1 == step && $2 == split_ { print $column }' $1.csv
}

rows_logged() # MODEL
{
    grep -c ',train,' $1.csv
}

# MODEL DATA: the loss that evaluate finds
measured()
{
    quiet evaluate $1 $2 | sed -n 's/^loss //p'
}

near() # NUMBER NUMBER: yes or no, but for rounding
{
    awk -v a="$1" -v b="$2" 'BEGIN {
        print (a != "" && b != "" && (a - b) ^ 2 < 1e-8 ? "yes" : "no") }'
}

# MODEL: all that the commands make of it
used()
{
    quiet translate $1 --scores < sources
    quiet evaluate $1 pairs.tsv
    quiet attention $1 'a b c d e' --csv used.csv
    cat used.csv
}

# --------------------------------------------------------------------- data

# Nine words and five in capitals in each language; the last pair has nine words.
awk 'BEGIN {
    split("a b c d e f g h i", word, " ")
    for (k = 0; k < 24; k++) {
        s = t = ""
        for (i = 0; i <= k % 5; i++) {
            w = word[1 + (k * 5 + i * i) % 9]
            s = s " " w
            t = t " " w w (w == "a" ? " aa" : "")
        }
        print substr(s, 2) "\t" substr(t, 2)
    }
    for (k = 1; k <= 5; k++)
        print toupper(word[k]) " b\t" toupper(word[k] word[k]) " bb"
    print "a b c d e f g h i\taa bb cc dd ee ff gg hh ii"
}' > pairs.tsv
words=18 # of each language, with the special ones
sed -n '3,9p' pairs.tsv | tr abcd dabc > valid.tsv
awk 'BEGIN { # sentences of two words and of four
    split("a b c d e f g h i", word, " ")
    for (i = 1; i <= 9; i++)
        for (k = 1; k <= 9; k++) {
            print word[i], word[k]
            print word[i], word[k], word[i * k % 9 + 1], word[i]
        }
}' > sources
small="--layers 1 --d-model 8 --heads 2 --d-ff 6 --max-len 8 --batch 100 --dropout 0
    --lr 0 --steps 1"
made plain

# ---------------------------------------------------------------- the model

# OPTION VALUE: info says the same of these options and of a model m that was
# made with them, and something else without the option.
agrees()
{
    given="--layers 1 --d-model 8 --heads 2 --d-ff 6 --max-len 8 --dropout 0
        --batch 100 --vocab $words --length 12"
    "$program" info $given "--$1" ${2-} > computed
    others='tokens|merges|lowercase|min-count|label-smoothing|lr|warmup|schedule|clip'
    "$program" info m --length 12 |
        grep -v -E "^($others|epochs|steps|seed) " > found
    row info $1 'the model that train makes, and not the one without it' \
        'alike other' "$(alike "$(cat found)" "$(cat computed)") $(
        alike "$("$program" info $given)" "$(cat computed)")"
}

made m --layers 3
row train layers 'three in the encoder and three in the decoder' 'yes yes no' \
    "$(has m encoder.2.feed_forward.inner.bias decoder.2.feed_forward.inner.bias \
        encoder.3.feed_forward.inner.bias)"
agrees layers 3
made m --d-model 12
row train d-model 'the width of an embedding' "$words,12" \
    "$(shape m source_embedding.weight)"
agrees d-model 12
made m --heads 4
quiet attention m 'a b' --csv heads.csv > said
row train heads 'the heads of each layer are 0 to 3' '0 1 2 3' \
    "$(sed 1d heads.csv | cut -d , -f 3 | sort -u | paste -s -d ' ' -)"
agrees heads 4
made m --d-ff 5
row train d-ff 'the width of the inner layer' 8,5 \
    "$(shape m encoder.0.feed_forward.inner.weight)"
agrees d-ff 5
made m --norm pre
row train norm 'pre has a last norm, post has none' 'yes no' \
    "$(has m encoder.norm.gain) $(has plain encoder.norm.gain)"
agrees norm pre
made m --positions learned
made none --positions none
row train positions 'learned ones are parameters; none are other than sinusoidal' \
    'yes no no other' \
    "$(for model in m plain none; do has $model source_positions.weight; done |
        paste -s -d ' ' -) $(
    alike "$(measured none pairs.tsv)" "$(measured plain pairs.tsv)")"
agrees positions learned
made m --activation gelu
row train activation 'another one, another loss of the same numbers' 'alike other' \
    "$(alike "$(numbers m)" "$(numbers plain)") $(
    alike "$(measured m pairs.tsv)" "$(measured plain pairs.tsv)")"
agrees activation gelu
made m --tie
row train tie 'there is no matrix of the output layer' 'no yes' \
    "$(has m output.weight) $(has plain output.weight)"
agrees tie
made m --max-len 9
left_out=$(grep -c 'left out' said)
agrees max-len 9
made plain
row train max-len 'with 9 no pair is left out, with 8 one of 9 words' \
    '0 pairs.tsv: left out 1 of 30 pairs, with more than 8 tokens' \
    "$left_out $(grep 'left out' said)"

# ------------------------------------------------------------------- dropout

# Without it the loss of a training step is that of `evaluate`. Each kind alone
# changes it; what is not said follows --dropout.
first() # MODEL: the loss of its first step
{
    logged $1 1 train 3
}
loss=$(measured plain pairs.tsv)
same 'without dropout a training step has the loss that evaluate finds' yes \
    "$(near "$(first plain)" "$loss")"
made m --dropout 0.5
made three --dropout 0.5 --attention-dropout 0.5 --activation-dropout 0.5
made one --dropout 0.5 --attention-dropout 0 --activation-dropout 0
made two --dropout 0.5 --activation-dropout 0
row train dropout 'in all its places, those of the other two, too' 'no yes no no no' \
    "$(near "$(first m)" "$loss") $(near "$(first m)" "$(first three)") $(
    near "$(first m)" "$(first one)") $(near "$(first m)" "$(first two)") $(
    near "$(first one)" "$(first two)")"
agrees dropout 0.5
for kind in attention activation; do
    made m --$kind-dropout 0.5
    row train $kind-dropout 'it changes the loss of a step, not what evaluate finds' \
        'no yes' "$(near "$(first m)" "$loss") $(near "$(measured m pairs.tsv)" "$loss")"
    agrees $kind-dropout 0.5
done

# MODEL TENSOR: sets its numbers to zero
clear()
{
    start=$(od -A n -t u1 -N 8 $1 | awk '{ print 8 + $1 + 256 * ($2 + 256 * $3) }')
    text_of $1 | sed "s/.*\"$2\":{[^}]*offsets\":\[\([0-9]*\),\([0-9]*\).*/\1 \2/" |
        while read -r from to; do
            dd if=/dev/zero of=$1 bs=1 seek=$((start + from)) count=$((to - from)) \
                conv=notrunc 2> /dev/null
        done
}
# Behind an inner layer that nobody reads, what is dropped in it makes no
# difference.
for kind in attention activation; do
    made $kind
    clear $kind encoder.0.feed_forward.outer.weight
    clear $kind decoder.0.feed_forward.outer.weight
    silenced=$(measured $kind pairs.tsv)
    quiet train pairs.tsv --resume --steps 2 --$kind-dropout 0.5 --model $kind \
        --log $kind.csv
    near "$silenced" "$(logged $kind 2 train 3)"
done > changed
same 'without an outer layer --activation-dropout changes nothing, and the other does' \
    'no yes' "$(paste -s -d ' ' changed)"

# ---------------------------------------------------------------- the tokens

vocabularies() # MODEL
{
    echo "$(says $1 'source vocabulary') $(says $1 'target vocabulary')"
}
distinct() # what stands in the columns, one a line: how many, with the special
{
    echo $(($(sort -u | grep -c .) + 4))
}
made m --tokens char --max-len 40
row train tokens 'of characters there are as many as the data have' "$(
    cut -f 1 pairs.tsv | fold -w 1 | distinct) $(
    cut -f 2 pairs.tsv | fold -w 1 | distinct)" "$(vocabularies m)"
made m --tokens bpe --max-len 40 --merges 3
made none --tokens bpe --max-len 40 --merges 0
row train merges 'three more pieces than without' \
    "$(vocabularies none | awk '{ print $1 + 3, $2 + 3 }')" "$(vocabularies m)"
made m --lowercase
row train lowercase 'capitals are the same words' "$(
    cut -f 1 pairs.tsv | tr ABCDE abcde | tr ' ' '\n' | distinct) $(
    cut -f 2 pairs.tsv | tr ABCDE abcde | tr ' ' '\n' | distinct)" "$(vocabularies m)"
made m --min-count 4
often() # COLUMN
{
    cut -f $1 pairs.tsv | tr ' ' '\n' | sort | uniq -c | awk '$1 >= 4 { print $2 }' |
        distinct
}
row train min-count 'words that occur four times' "$(often 1) $(often 2)" \
    "$(vocabularies m)"

# ------------------------------------------------------------------ the recipe

made m --label-smoothing 0.3 --valid valid.tsv
row train label-smoothing 'in the loss of a step; what measures has the plain one' \
    'no yes yes' "$(near "$(first m)" "$loss") $(near "$(measured m pairs.tsv)" "$loss") $(
    near "$(logged m 1 valid 3)" "$(measured m valid.tsv)")"
rates() # MODEL: the learning rates of its steps
{
    sed 1d $1.csv | cut -d , -f 5 | paste -s -d ' ' -
}
made m --lr 0.25 --warmup 1
row train lr 'the peak' 0.25 "$(rates m)"
made m --lr 1 --warmup 4 --steps 4
row train warmup 'four steps to the peak' '0.25 0.5 0.75 1' "$(rates m)"
made m --lr 1 --warmup 1 --steps 4 --schedule constant
made four --lr 1 --warmup 1 --steps 4
row train schedule 'constant stays at the peak, noam falls' \
    '1 1 1 1, 1 0.707107 0.57735 0.5' "$(rates m), $(rates four)"
made m --lr 0.01 --warmup 1 --steps 2 --clip 1e-9
made two --lr 0.01 --warmup 1 --steps 2
row train clip 'a step so short that Adam cannot make up for it; the norm is told' \
    'yes no alike' "$(near "$(logged m 1 train 3)" "$(logged two 1 train 3)") $(
    near "$(logged m 2 train 3)" "$(logged two 2 train 3)") $(
    alike "$(logged m 1 train 6)" "$(logged two 1 train 6)")"
counted="--layers 1 --d-model 8 --heads 2 --d-ff 6 --max-len 8 --dropout 0 --lr 0"
quiet train pairs.tsv $counted --batch 4 --epochs 1 --model m --log m.csv
row train batch '29 pairs in batches of four are eight steps' 8 "$(rows_logged m)"
step_of() # ARGUMENTS…: what it is
{
    "$program" info "$@" --length 12 | sed -n 's/^a training step with //p'
}
row info batch 'a model has its own, unless one is given' \
    '4 sentences of 12 tokens, 7 sentences of 12 tokens, 7 sentences of 12 tokens' \
    "$(step_of m), $(step_of m --batch 7), $(step_of --batch 7)"
quiet train pairs.tsv $counted --batch 4 --epochs 3 --model m --log m.csv
row train epochs 'three are 24 steps' 24 "$(rows_logged m)"
made m --steps 5
row train steps 'five' '5 5' "$(rows_logged m) $(says m 'steps trained')"
made m --seed 2
made two --seed 2 --batch 4 --warmup 7
made three --seed 3
row train seed 'it alone makes the initial numbers' 'other alike other' \
    "$(alike "$(numbers m)" "$(numbers plain)") $(alike "$(numbers m)" "$(numbers two)") $(
    alike "$(numbers m)" "$(numbers three)")"

# -------------------------------------------------------------------- files

rm -f there.safetensors
quiet train pairs.tsv $small --model there.safetensors
row train model 'there it is' alike \
    "$(alike "$(cksum < there.safetensors)" "$(cksum < plain)")"
made m --seed 5
quiet train pairs.tsv --from m --lr 0 --steps 1 --model copy
row train from 'its parameters are where it begins' "$(numbers m)" "$(numbers copy)"
samples() # of the last training: their sources, in which spaces are dots
{
    sed -n 's/^    \(.*\)  →  .*/\1/p' said | tr ' ' . | paste -s -d ' ' -
}
begin() # FILE: its first three sources that are not too long
{
    cut -f 1 $1 | head -n 3 | tr ' ' . | paste -s -d ' ' -
}
made m
same 'without --valid the samples are training data' "$(begin pairs.tsv)" "$(samples)"
made m --valid valid.tsv
row train valid 'samples of these data, and the loss on them' "$(begin valid.tsv) yes" \
    "$(samples) $(near "$(logged m 1 valid 3)" "$(measured m valid.tsv)")"
row train log 'a row for each step, and for each look' '1,train 1,valid' \
    "$(sed 1d m.csv | cut -d , -f 1,2 | paste -s -d ' ' -)"
quiet train pairs.tsv --resume --steps 3 --model plain --log resumed.csv
row train resume 'it goes on where the model stands' '2,train 3,train' \
    "$(sed 1d resumed.csv | cut -d , -f 1,2 | paste -s -d ' ' -)"
made plain

# ------------------------------------------------------- what training alone does

train_noisy() # with $seed
{
    quiet train pairs.tsv --layers 1 --d-model 16 --heads 2 --max-len 8 --batch 8 \
        --dropout 0.2 --label-smoothing 0.1 --lr 0.04 --warmup 10 --steps 300 \
        --seed $seed --model noisy
}
seed=1
train_noisy
cp noisy silent
quiet train pairs.tsv --resume --steps 301 --lr 0 --dropout 0 --attention-dropout 0 \
    --activation-dropout 0 --label-smoothing 0 --model silent
used noisy > noisy.used
used silent > silent.used
same 'with dropout and smoothing in the model, or without: one and the same use of it' \
    'alike alike' "$(alike "$(numbers noisy)" "$(numbers silent)") $(
    alike "$(cat noisy.used)" "$(cat silent.used)")"

# --------------------------------------------------------------- using a model

# What a beam of three finds with a penalty of 2, put in the place of the
# references, is an exact match for an evaluation of this kind, and of no other:
# with the first of some models for which it makes a difference.
translated() # BEAM PENALTY
{
    quiet translate noisy --beam $1 --length-penalty $2 < sources
}
exact() # BEAM PENALTY: all, or some
{
    quiet evaluate noisy found.tsv --beam $1 --length-penalty $2 |
        sed -n 's/^exact_match 100.00$/all/p; s/^exact_match .*/some/p'
}
# BEAM PENALTY…: for each pair of them, what both commands find
finds()
{
    while [ $# -gt 0 ]; do
        echo "$(alike "$(translated $1 $2)" "$(cat found)") $(exact $1 $2)"
        shift 2
    done | paste -s -d ' ' -
}
different='alike all other some other some other some other some'
for seed in 1 2 3 4 5; do
    [ $seed = 1 ] || train_noisy
    translated 3 2 > found
    paste sources found |
        awk -F '\t' '$2 != "" && split($2, word, " ") < 8' > found.tsv
    found=$(finds 3 2 1 2 2 2 4 2 3 0)
    [ "$found" != "$different" ] || break
done
row 'translate evaluate' beam 'both find the same with 3, not so with 1, 2 and 4' \
    "${different% * *}" "${found% * *}"
row 'translate evaluate' length-penalty 'both find the same with 2, not so with 0' \
    "$different" "$found"
quiet translate noisy --scores < sources > scored
row translate scores 'a score and a tab before each line' \
    "$(quiet translate noisy < sources)" "$(cut -f 2 scored)"
quiet translate noisy --scores --length-penalty 1 < sources > longer
same 'a score is the sum of the logarithms, divided by ((5 + length) / 6)^A' 162 "$(
    quiet translate noisy --scores --length-penalty 0 < sources | paste - longer |
        awk -F '\t' '{
            tokens = split($2, word, " ") + 1
            if (tokens > 9) tokens = 9 # it is cut off, and has no end
            good += ($1 - $3 * (5 + tokens) / 6) ^ 2 < 5e-6 ^ 2
        } END { print good }')"

quiet attention noisy 'a b' --target 'cc dd ee' --csv target.csv > said
row attention target 'the words that the decoder reads' '<start> cc dd ee' "$(
    sed -n 's/^decoder,0,0,[0-9]*,0,[^,]*,"\([^"]*\)".*/\1/p' target.csv |
        paste -s -d ' ' -)"
row attention csv 'a row for each weight: 3 kinds, 2 heads, 4 and 3 tokens' 74 \
    "$(($(sed 1d target.csv | wc -l)))"

# -------------------------------------------------------------- info, and help

# One more word: a row of two embeddings, a column of the output, and its bias.
parameters() # OPTIONS…
{
    "$program" info "$@" | sed -n 's/,//g; s/^parameters *//p'
}
row info vocab 'a word more takes 3 d-model + 1 parameters' 25 \
    $(($(parameters --d-model 8 --vocab 51) - $(parameters --d-model 8 --vocab 50)))
row info length 'of options and of a model: the same tokens, the same memory' \
    'alike other' "$("$program" info noisy --length 999 | tail -n 1 > model
    "$program" info --layers 1 --d-model 16 --heads 2 --max-len 8 --batch 8 \
        --vocab $words --length 999 | tail -n 1 > computed
    alike "$(cat model)" "$(cat computed)") $(
    alike "$(cat model)" "$("$program" info noisy --length 99 | tail -n 1)")"
for command in train translate evaluate attention info; do
    row $command help 'is shown, and nothing else done' "transformer $command 0" \
        "$("$program" $command nowhere --help | sed -n '1s/^\([^ ]* [^ ]*\) .*/\1/p') $?"
done

# ------------------------------------------------------------------- threads

# The most threads that worked together. (Each says so when it begins to.)
most() # COMMAND…
{
    OMP_DISPLAY_AFFINITY=true OMP_AFFINITY_FORMAT='%N work' "$program" "$@" \
        < sources 2>&1 | awk '$2 == "work" && $1 > n { n = $1 } END { print n + 0 }'
}
large="--layers 1 --d-model 256 --heads 2 --steps 1 --max-len 8"
quiet train pairs.tsv $large --model large
cores=$(nproc 2> /dev/null || getconf _NPROCESSORS_ONLN)
[ "$cores" -lt 2 ] || cores=2
"$program" translate large --threads 2 < /dev/null 2> said
case $? in
0)
    for use in "train pairs.tsv $large --model threads" 'translate large' \
        'evaluate large pairs.tsv' "attention large 'a b c d e f g h'"; do
        eval "set -- $use"
        row $1 threads 'so many work together' "1 $cores" "$(most "$@" --threads 1 |
            sed 's/0/1/') $(most "$@" --threads 2)"
    done
    ;;
*) row 'train translate evaluate attention' threads 'there are none in this program' \
    'transformer: --threads 2: this program was built without OpenMP' \
    "$(sed 's/ (see.*//' said)" ;;
esac

# ------------------------------------------------------------ the run's figures

# With a clock for which the kth step takes 2k - 1 times as long as the first
# and looks, samples and saving take next to nothing: tokens a second, times 2k - 1,
# are the same in each step.
"$tools/clock" train pairs.tsv --layers 1 --d-model 32 --batch 100 --steps 60 --model m \
    --log ticks.csv --threads 1 2> said
same 'tokens a second are those of the step, not of the run' '60 of 60' "$(
    awk -F , '$2 == "train" {
        figure = $7 * (2 * $1 - 1)
        if (!first) first = figure
        good += (figure / first - 1) ^ 2 < 0.05 ^ 2
    } END { print good " of " NR - 1 }' ticks.csv)"

# --------------------------------------------------------------- no row missing

for command in train translate evaluate attention info; do
    for option in $("$program" $command --help | awk '/^  --/ { print substr($1, 3) }'); do
        case " $rows " in
        *" $command/$option "*) ;;
        *) bad "$command --$option: there is no claim about this option here" ;;
        esac
    done
done
totals

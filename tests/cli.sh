#!/bin/sh
# The command line, from outside: every command, used rightly and wrongly, with
# its exit status and its messages.
#
#     sh tests/cli.sh                         tests ./transformer
#     TRANSFORMER=build/other sh tests/cli.sh tests another program
#
# Needs a POSIX shell and the usual POSIX tools. Works in a folder of its own,
# which it removes. Each line says what is claimed and whether it holds.
#
# Lists of options are kept in variables that the shell is meant to split, texts
# with escapes are formats of printf:
# shellcheck disable=SC2059,SC2086,SC2116,SC2254,SC3045

LC_ALL=C
OMP_WAIT_POLICY=passive # waiting threads sleep: others may need the processor
export LC_ALL OMP_WAIT_POLICY

. tests/checks.sh
find_program
folder=${TMPDIR:-/tmp}/transformer-cli.$$
mkdir -m 700 "$folder" || exit 1
trap 'rm -rf "$folder"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
cp tests/golden/first-edition.safetensors docs/using.md "$folder" || exit 1
cd "$folder" || exit 1
: > in
ulimit -t 100 2> /dev/null || : # seconds of processor time: nothing may hang

# ------------------------------------------------------------------- helpers

holds() # CLAIM
{
    ok "$part: $1"
}

fails_to() # CLAIM EXPECTED GOT
{
    bad "$part: $1"
    printf '%s\n' "$2" | cut -c 1-300 | sed -n '1,9s/^/       expected: /p'
    printf '%s\n' "$3" | cut -c 1-300 | sed -n '1,9s/^/       got:      /p'
}

# CLAIM EXPECTED GOT: two texts are the same
same()
{
    if [ "$2" = "$3" ]; then holds "$1"; else fails_to "$1" "$2" "$3"; fi
}

# CLAIM PATTERN GOT: a text fits a pattern as in file names (* is anything)
fits()
{
    case $3 in
    $2) holds "$1" ;;
    *) fails_to "$1" "$2" "$3" ;;
    esac
}

# whether the program is an ELF file of class 1: it cannot address as much
in_32_bits()
{
    [ "$(od -An -tx1 -N5 "$program" | tr -d ' ')" = 7f454c4601 ]
}

# CLAIM FILE FILE: the same bytes
same_bytes()
{
    if cmp -s "$2" "$3"; then
        holds "$1"
    else
        fails_to "$1" "$2 and $3 are the same" "$(cmp "$2" "$3" 2>&1)"
    fi
}

# CLAIM FILE: it does not exist
absent()
{
    if [ ! -e "$2" ]; then holds "$1"; else fails_to "$1" "no file $2" "it exists"; fi
}

# Runs the program on one thread. The standard input is what `give` has made
# ready, or empty. Leaves $status and the files out and err.
run()
{
    : > out
    case $1 in
    train | translate | evaluate | attention)
        command=$1
        shift
        "$program" "$command" --threads 1 "$@"
        ;;
    *)
        "$program" "$@"
        ;;
    esac < in > "$to" 2> err
    status=$?
    to=out
    : > in
}
to=out # where the standard output of the next run goes

# The standard input of the next run, in the language of printf.
give()
{
    printf "$1" > in
}

# What happened: status, whether it was said in one line, and what was said.
outcome()
{
    lines=$(($(wc -l < err)))
    printf 'status %s' "$status"
    [ "$lines" = 1 ] || printf ', %s lines on stderr' "$lines"
    [ -s out ] && printf ', something on stdout'
    printf ': %s' "$(cat err)"
}

# The same of a run that has already reported progress: status and last line.
last_outcome()
{
    printf 'status %s: %s' "$status" "$(tail -n 1 err)"
}

# CLAIM MESSAGE COMMAND…: the program was misused. It says so in exactly one
# line, with a pointer to the help, prints nothing else and ends with status 2.
wrong()
{
    claim=$1
    message=$2
    shift 2
    run "$@"
    of="$1 "
    case $1 in
    train | translate | evaluate | attention | info) ;;
    *) of= ;;
    esac
    fits "$claim" \
        "status 2: transformer: $message (see: transformer ${of}--help)" \
        "$(outcome)"
}

# CLAIM MESSAGE COMMAND…: it could not be done. One line, status 1.
fails()
{
    claim=$1
    message=$2
    shift 2
    run "$@"
    fits "$claim" "status 1: transformer: $message" "$(outcome)"
}

# CLAIM MESSAGE COMMAND…: the same, but it went wrong after some progress.
fails_late()
{
    claim=$1
    message=$2
    shift 2
    run "$@"
    fits "$claim" "status 1: transformer: $message" "$(last_outcome)"
}

# CLAIM COMMAND…: status 0, and no complaint
works()
{
    claim=$1
    shift
    run "$@"
    if [ "$status" = 0 ] && ! grep -q '^transformer:' err; then
        holds "$claim"
    else
        fails_to "$claim" "status 0" "$(last_outcome)"
    fi
}

# CLAIM EXPECTED COMMAND…: status 0, and this on the standard output
prints()
{
    claim=$1
    expected=$2
    shift 2
    run "$@"
    if [ "$status" = 0 ]; then
        same "$claim" "$expected" "$(cat out)"
    else
        fails_to "$claim" "$expected" "$(last_outcome)"
    fi
}

# NAME: stands before the claims that follow
section()
{
    part=$1
    echo
}

# ------------------------------------------------------------- data for tests

cat > pairs.tsv << 'END'
the cat sees a dog	le chat voit un chien
the dog sees a cat	le chien voit un chat
a cat sleeps	un chat dort
a dog sleeps	un chien dort
the cat sleeps	le chat dort
the dog eats	le chien mange
the dog says "yes, cat"	le chien dit "oui, chat"
END
pairs=7
tokens=37 # of the targets, with an end each
cut -f 1 pairs.tsv > sources
# translations come back as tokens joined by spaces
cut -f 2 pairs.tsv | sed 's/"oui, chat"/" oui , chat "/' > targets

# The smallest model that can learn these, and how it is trained.
tiny='--layers 2 --d-model 16 --heads 2 --max-len 8 --batch 4 --dropout 0
      --lr 0.01 --warmup 10'
# One that learns nothing: for tests of everything but learning.
mini='--layers 1 --d-model 8 --heads 2 --max-len 8 --batch 4'
gone='No such file or directory'

# ------------------------------------------------------------------ the help
section 'help'

for help in --help -h; do
    works "$help ends with status 0" "$help"
    same "$help names all commands" 'train translate evaluate attention info' \
        "$(awk '/^  (train|translate|evaluate|attention|info) / {
               printf "%s%s", n++ ? " " : "", $1 }' out)"
done
prints '--version prints one line' 'transformer 2.0' --version

# COMMAND OPTIONS: its help is on stdout and has exactly these options
explains()
{
    works "$1 --help ends with status 0" "$1" --help
    same "$1 --help lists all its options and no others" \
        "$(printf '%s ' $2)" "$(awk '/^  --/ { printf "%s ", $1 }' out)"
    same "$1 --help prints nothing on stderr" '' "$(cat err)"
}
for help in help 'help train' '--help train' 'train -h' 'train x -h'; do
    works "$help is understood" $help
done
explains train '--layers --d-model --heads --d-ff --dropout
    --attention-dropout --activation-dropout --norm --positions --activation --tie --max-len --tokens --merges --lowercase --min-count
    --label-smoothing --lr --warmup --schedule --clip --batch --epochs --steps
    --seed --model --from --valid --log --resume --threads --help'
explains translate '--beam --length-penalty --scores --threads --help'
explains evaluate '--beam --length-penalty --threads --help'
explains attention '--target --csv --threads --help'
explains info '--layers --d-model --heads --d-ff --dropout
    --attention-dropout --activation-dropout --norm --positions --activation --tie --max-len --batch --vocab --length --help'

# COMMAND DEFAULTS: its help shows these, no others
shows_defaults()
{
    run "$1" --help
    sed -n 's/^  --\([a-z-]*\) .*\[\(.*\)\]$/\1 \2/p' out > shown
    same "$1 --help shows the defaults" "$(echo $2)" "$(paste -s -d ' ' shown)"
}
shows_defaults translate 'beam 1 length-penalty 0.6'
shows_defaults evaluate 'beam 1 length-penalty 0.6'
shows_defaults attention ''
shows_defaults info 'layers 2 d-model 64 heads 4 dropout 0.1 norm post
    positions sinusoidal activation relu max-len 64 batch 64 vocab 10000 length 20'
shows_defaults train 'layers 2 d-model 64 heads 4 dropout 0.1 norm post
    positions sinusoidal activation relu max-len 64 tokens word merges 4000
    min-count 1 label-smoothing 0 warmup 400 schedule noam clip 1 batch 64
    epochs 20 seed 1 model model.safetensors'
works '--help is answered before anything else is done' \
    train nowhere.tsv --model nowhere/x --help

# ----------------------------------------------------------------- wrong use
section 'wrong use'

wrong 'without a command it asks for one' \
    'what shall I do? train, translate, evaluate, attention or info'
wrong 'an unknown command is named' 'there is no command "learn"' learn
wrong 'an empty command is one, too' 'there is no command ""' ''
wrong 'an option is no command' 'there is no command "--tie"' --tie

wrong 'train needs data' 'train needs DATA.tsv' train
wrong 'train takes one file' 'what is "b"? train takes DATA.tsv' train a b
wrong 'translate needs a model' 'translate needs MODEL' translate
wrong 'translate takes one file' 'what is "b"? translate takes MODEL' \
    translate a b
wrong 'evaluate needs a model' 'evaluate needs MODEL DATA.tsv' evaluate
wrong 'evaluate needs data, too' 'evaluate needs MODEL DATA.tsv' evaluate a
wrong 'evaluate takes two files' 'what is "c"? evaluate takes MODEL DATA.tsv' \
    evaluate a b c
wrong 'attention needs a sentence' 'attention needs MODEL SENTENCE' attention a
wrong 'attention: a sentence without quotes is too many arguments' \
    'what is "cat"? attention takes MODEL SENTENCE' attention a the cat
wrong 'info takes one model' 'what is "b"? info takes \[MODEL\]' info a b

wrong 'train: an unknown option is named' 'train has no option --layer' \
    train --layer 2 a
wrong 'the beginning of a name is not enough' 'train has no option --la' \
    train --la 2 a
wrong 'an unknown option with a value is named without it' \
    'train has no option --depth' train --depth=2 a
wrong 'translate does not take the options of train' \
    'translate has no option --layers' translate a --layers 2
wrong 'evaluate does not take them' 'evaluate has no option --batch' \
    evaluate a b --batch 2
wrong 'attention does not take them' 'attention has no option --seed' \
    attention a b --seed 2
wrong 'info does not take --threads' 'info has no option --threads' \
    info --threads 1
wrong 'an option with one dash is not taken for a file' \
    'train has no option -x' train -x pairs.tsv
wrong 'nor is it taken for one with two' \
    'train has no option -steps' train pairs.tsv -steps 2

wrong 'a name that is empty' '--model: the value is empty' train a --model ''
wrong 'so is one behind an equals sign' '--log: the value is empty' train a --log=
wrong 'a last option without its value' \
    '--steps needs a value: a whole number from 1 to 2000000000' train a --steps
wrong 'an option where a value should be' \
    '--layers needs a value: a whole number from 1 to 100' train a --layers --tie
wrong 'a choice without its value' '--norm needs a value: post|pre' \
    train a --norm
wrong 'a file name without its value' '--model needs a value*' train a --model
for option in model valid log; do
    wrong "--$option: an empty name" "--$option*" train a --$option ''
done
wrong 'attention --csv: an empty name' '--csv*' attention a b --csv=

for flag in tie lowercase resume help; do
    wrong "--$flag takes no value" "--$flag takes no value" train a --$flag=yes
done
wrong '--steps and --epochs exclude each other' \
    '--steps and --epochs exclude each other' train pairs.tsv --steps 5 --epochs 5
wrong 'heads must divide d-model' \
    '3 heads cannot share a d-model of 64: it must be a multiple' \
    train pairs.tsv --heads 3
wrong 'info: heads must divide d-model' \
    '5 heads cannot share a d-model of 32: it must be a multiple' \
    info --d-model 32 --heads 5

run info --layers=7 --norm=pre --tie
same '--name=value is understood' 'layers 7,norm pre,tie yes' \
    "$(grep -E '^(layers|norm|tie) ' out | paste -s -d , -)"
fails 'behind -- everything is an operand' "cannot open --tie: $gone" \
    translate -- --tie
fails 'a single - is the name of a file' "cannot open -: $gone" translate -
summer=$(printf '\303\251t\303\251')
long=$(printf '%03000d' 0)
fails 'a long message keeps its end' "cannot open $long: File*name too long" \
    evaluate "$long" in
fails 'a message keeps the letters of any language' "cannot open $summer: $gone" \
    translate "$summer"
wrong 'the model may not replace the data' 'pairs.tsv would be overwritten' \
    train pairs.tsv --model pairs.tsv
wrong 'nor may the log' 'pairs.tsv would be overwritten' \
    train pairs.tsv --log pairs.tsv
wrong 'the log may not replace the model' 'm would be overwritten' \
    train pairs.tsv --model m --log m
wrong 'validation data are not replaced either' 'valid.tsv would be overwritten' \
    train pairs.tsv --valid valid.tsv --log valid.tsv
wrong 'nor is the model that a run begins with' 'm would be overwritten' \
    train pairs.tsv --from m --model m

# A value is accepted if train then misses its data (status 1), and refused if
# it ends with status 2 and the right message. Complaints are collected.
complaints=
refuses() # ALLOWED OPTION VALUE
{
    run train nowhere.tsv "$2" "$3"
    expected="status 2: transformer: $2: \"$3\" is not $1 (see: transformer train --help)"
    [ "$(outcome)" = "$expected" ] ||
        complaints="$complaints$2 '$3' -> $(outcome)
"
}
accepts() # OPTION VALUE [MORE]
{
    run train nowhere.tsv "$@"
    expected="status 1: transformer: cannot open nowhere.tsv: $gone"
    [ "$(outcome)" = "$expected" ] ||
        complaints="$complaints$1 $2 -> $(outcome)
"
}
no_complaints() # CLAIM
{
    same "$1" '' "$complaints"
    complaints=
}

whole() # OPTION LEAST MOST [OPTIONS THAT GO WITH IT]
{
    option=$1 least=$2 most=$3
    shift 3
    for value in "$((least - 1))" "$((most + 1))" 99999999999999999999 -1 1.5 \
        1e2 0x10 +5 '5 ' ' 5' 5x ten nan ''; do
        refuses "a whole number from $least to $most" "$option" "$value"
    done
    accepts "$option" "$least" "$@"
    accepts "$option" "$most" "$@"
    no_complaints "$option takes whole numbers from $least to $most, nothing else"
}
whole --layers 1 100
whole --d-model 1 65536 --heads 1
whole --heads 1 1024 --d-model 1024
whole --d-ff 1 262144
whole --max-len 1 100000
whole --min-count 1 1000000
whole --merges 0 100000 --tokens bpe
whole --warmup 1 10000000
whole --batch 1 1000000
whole --epochs 1 1000000
whole --steps 1 2000000000
whole --seed 0 2147483647
wrong '--threads is at least 1' \
    '--threads: "0" is not a whole number from 1 to 1024' translate a --threads 0
wrong 'info --vocab has room for a word besides the special ones' \
    '--vocab: "4" is not a whole number from 5 to 10000000' info --vocab 4
wrong 'info --length is at least 1' \
    '--length: "0" is not a whole number from 1 to 100000' info --length 0

number() # OPTION LEAST MOST VALUES TO REFUSE…
{
    option=$1 least=$2 most=$3
    shift 3
    for value in "$@" -1 0,5 0.5x 1e999 nan inf -inf half ''; do
        refuses "a number from $least to $most" "$option" "$value"
    done
    accepts "$option" "$least"
    accepts "$option" "$most"
    no_complaints "$option takes numbers from $least to $most, nothing else"
}
number --dropout 0 0.99 1 0.991
number --attention-dropout 0 0.99 1 -0.1
number --activation-dropout 0 0.99 1 nan
number --label-smoothing 0 0.99 1 0.991
number --lr 0 1000 1000.1 1e-400
number --clip 1e-09 1000000000 0 1e-10 2e9

choice() # OPTION CHOICES
{
    for value in x '' "$2" "${2%%|*}|" P; do
        refuses "$2" "$1" "$value"
    done
    for value in $(printf '%s' "$2" | tr '|' ' '); do
        accepts "$1" "$value"
    done
    no_complaints "$1 takes $2, nothing else"
}
choice --norm 'post|pre'
choice --positions 'sinusoidal|learned|none'
choice --activation 'relu|gelu'
choice --tokens 'word|char|bpe'
choice --schedule 'noam|constant'

# --------------------------------------------------------------------- train
section 'train'

works 'a tiny model is trained' \
    train pairs.tsv $tiny --steps 200 --model good.safetensors --log good.csv
same 'progress goes to stderr, nothing to stdout' '' "$(cat out)"
fits 'it counts the pairs' 'data: 7 pairs*' "$(sed -n 1p err)"
same 'it reports twenty times' 20 "$(grep -c '^step [0-9]*/200  loss ' err)"
same 'without a terminal no line is rewritten' 0 "$(tr -d -c '\r' < err | wc -c | tr -d ' ')"
fits 'it says where the model is' \
    'done at step 200 after *s; good.safetensors; peak memory of a step *MB' \
    "$(tail -n 1 err)"
absent 'the temporary file is gone' good.safetensors.1.new
same 'the log has the header' \
    'step,split,loss,accuracy,learning_rate,gradient_norm,tokens_per_second' \
    "$(head -n 1 good.csv)"
same 'the log has one row for each step, of seven numbers' 200 \
    "$(awk -F , 'NR > 1 && NF == 7 && $1 == NR - 1 && $2 == "train" &&
           $3 > 0 && $4 >= 0 && $4 <= 1 && $5 > 0 && $6 > 0 && $7 > 0 { n++ }
       END { print (NR == 201 ? n : NR " lines") }' good.csv)"
same 'the learning rate rises for ten steps, then falls with the root' \
    '0.001 0.005 0.01 0.005 0.0025' \
    "$(awk -F , '$1 == 1 || $1 == 5 || $1 == 10 || $1 == 40 || $1 == 160 {
           printf "%s%s", n++ ? " " : "", $5 }' good.csv)"
same 'the loss falls' yes \
    "$(awk -F , 'NR == 2 { first = $3 } END { print ($3 < first / 10 ? "yes" : $3) }' good.csv)"

# In batches of all pairs every row of the log counts alike. The log rounds to six
# digits, the line to four places.
works 'a training with twenty intervals of three steps' train pairs.tsv $mini \
    --batch $pairs --lr 0.05 --warmup 1 --steps 60 --model w.safetensors --log w.csv
sed -n 's,^step \([0-9]*\)/60  loss \([0-9.]*\)  accuracy \([0-9.]*\) %,\1 \2 \3,p' err |
    sed 's/  lr \([0-9.]*\)  norm \([0-9.]*\)  .*/ \1 \2/' > lines
same 'the progress line shows the mean since the line before' \
    '20 of 20 lines' "$(awk '
    function off(a, b) { return a > b ? a - b : b - a }
    NR == FNR {
        split($0, row, ",")
        loss[row[1]] = row[3]
        good[row[1]] = 100 * row[4]
        next
    }
    {
        mean = (loss[$1] + loss[$1 - 1] + loss[$1 - 2]) / 3
        share = (good[$1] + good[$1 - 1] + good[$1 - 2]) / 3
        right += off($2, mean) < 0.0001 && off($3, share) < 0.06
    }
    END { print right " of " FNR " lines" }' w.csv lines)"
same 'and this step'\''s learning rate and gradient norm' '20 of 20 lines' "$(awk '
    function off(a, b) { return a > b ? a - b : b - a }
    NR == FNR { split($0, row, ","); rate[row[1]] = row[5]; norm[row[1]] = row[6] }
    NR > FNR { right += off($4, rate[$1]) <= 0.051 * $4 && off($5, norm[$1]) < 0.006 }
    END { print right " of " FNR " lines" }' w.csv lines)"
rm w.safetensors w.csv

works 'no --model is needed' train pairs.tsv --steps 1
works 'the model is called model.safetensors' info model.safetensors
same 'without options a model has the defaults that the help shows' '' "$(awk '
    NR == FNR { has[$1] = $2; next }
    $1 != "merges" && $1 != "model" && has[$1] != $2 { print $0 ", not " has[$1] }
    ' out shown)"
same '--d-ff is then 4 d-model, and --lr 1/sqrt(d-model warmup)' \
    'd-ff 256,lr 0.00625' "$(grep -E '^(d-ff|lr) ' out | paste -s -d , -)"
echo 'd-ff 256' >> shown
same 'the table of docs/using.md shows the same defaults, 12 of them' '12, wrong: ' "$(
    sed -n '/^| `--/p' using.md | tr '`' '\n' | awk '
        NR == FNR { default_[$1] = $2; next }
        /^--/ {
            for (i = 1; i < NF; i++)
                if ($i ~ /^--/ && $(i + 1) ~ /^[0-9]/) {
                    count++
                    if (default_[substr($i, 3)] != $(i + 1)) wrong = wrong " " $i
                }
        }
        END { print count ", wrong: " wrong }' shown -)"
run train pairs.tsv $mini --model w.safetensors
fits 'without --epochs and --steps there are 20 epochs, here of two steps' \
    'status 0: done at step 40 after *' "$(last_outcome)"

works 'trained once more, under another name' \
    train pairs.tsv $tiny --steps 200 --model again.safetensors --log again.csv
same_bytes 'trained twice it is the same model, byte for byte' \
    good.safetensors again.safetensors
cut -d , -f 1-6 good.csv > good.columns
cut -d , -f 1-6 again.csv > again.columns
same_bytes 'trained twice it is the same log, but for the speed' \
    good.columns again.columns
works 'with another seed' \
    train pairs.tsv $tiny --steps 200 --seed 2 --model again.safetensors
same 'another seed makes another model' differs \
    "$(cmp -s good.safetensors again.safetensors || echo differs)"

run train pairs.tsv $mini --epochs 3 --model e.safetensors
fits 'three epochs of seven pairs in batches of four are six steps' \
    'status 0: done at step 6 after *' "$(last_outcome)"
run train pairs.tsv $mini --model e.safetensors --steps 3 --schedule constant \
    --lr 0.5 --warmup 2 --log e.csv
same 'a constant schedule warms up, then stays' '0.25 0.5 0.5' \
    "$(awk -F , 'NR > 1 { printf "%s%s", n++ ? " " : "", $5 }' e.csv)"
run train pairs.tsv $mini --model e.safetensors --steps 1 --min-count 3
run info e.safetensors
same \
    '--min-count leaves rare words out (the, cat, a, dog, sleeps; le, chat, un, chien, dort)' \
    'source vocabulary 9,target vocabulary 9' "$(grep vocabulary out | paste -s -d , -)"
fails 'a --min-count that leaves no word is said' 'pairs.tsv: no word occurs 100 times' \
    train pairs.tsv --min-count 100
for option in '--norm pre' '--positions learned' '--positions none' \
    '--activation gelu' --tie '--label-smoothing 0.1' '--d-ff 5' '--batch 1' \
    '--tokens char --max-len 30'; do
    works "train $option" \
        train pairs.tsv $mini $option --steps 2 --model e.safetensors
    cp sources in
    works "translate with a model of $option" translate e.safetensors
done

awk 'BEGIN {
    for (k = 0; k < 16; k++) {
        for (i = 0; i < 20000; i++) { s = s "a "; t = t "b " }
        print s "\t" t
        s = t = ""
    } }' > large.tsv
message='a batch of 16 × 20001 tokens needs more than *'
in_32_bits && message='16 times 4e+08 is more than can be addressed'
fails_late 'a first step for which there is no memory is said with its batch' \
    "out of memory: $message" \
    train large.tsv --max-len 20000 --layers 1 --d-model 8 --heads 8 --d-ff 8 \
    --batch 16 --model e.safetensors
works 'the model that was there is still a model' info e.safetensors
same 'and has lost none of its training' 'steps trained 2' \
    "$(grep '^steps trained' out)"
rm large.tsv

section 'train --valid'

head -n 3 pairs.tsv > valid.tsv
works 'with validation data' train pairs.tsv $tiny --lr 0.05 --steps 40 \
    --valid valid.tsv --model v.safetensors --log v.csv
same 'the log has validation rows, without norm and speed' 20 \
    "$(awk -F , '$2 == "valid" && $1 % 2 == 0 && $3 > 0 && $4 >= 0 && $5 > 0 &&
           $6 == "" && $7 == "" && NF == 7 { n++ } END { print n + 0 }' v.csv)"
absent 'one run is one file' v.last.safetensors
# LOG: the step of the highest accuracy, of equal ones the newest; in percent
most_accurate()
{
    awk -F , '$2 == "valid" && $4 >= best { best = $4; step = $1 }
        END { printf "best step %d,best accuracy %.2f\n", step, 100 * best }' "$1"
}
run info v.safetensors
same 'the model to use is the most accurate, and info says which step that was' \
    "steps trained 40,$(most_accurate v.csv)" \
    "$(grep -E '^(steps trained|best)' out | paste -s -d , -)"
works 'another ending of the name is possible' \
    train pairs.tsv $mini --steps 1 --valid valid.tsv --model plain
works 'and makes no difference' info plain
for steps in 39 59; do
    run train pairs.tsv $mini --steps $steps --valid valid.tsv \
        --model uneven.safetensors --log v.csv
    same "$steps steps are looked at twenty times" "20, the last at $steps" \
        "$(awk -F , '$2 == "valid" { n++; last = $1 }
            END { print n ", the last at " last }' v.csv)"
done
run train pairs.tsv $mini --steps 45 --model uneven.safetensors
works 'steps that are no multiple of twenty' info uneven.safetensors
same 'the last step is saved, too' 'steps trained 45' "$(grep '^steps trained' out)"
fails 'a missing file of validation data is said' "cannot open nowhere: $gone" \
    train pairs.tsv --valid nowhere
printf 'a\tb\nc\n' > short.tsv
fails 'a wrong line in it is said with its name' \
    'short.tsv:2: expected source, tab, target; found no tab' \
    train pairs.tsv --valid short.tsv

# ------------------------------------------------------------------- threads
section 'threads'

# Large enough that the loops are really shared among threads.
awk 'BEGIN {
    x = 1
    for (line = 0; line < 100; line++) {
        source = target = ""
        for (i = 0; i < 20; i++) {
            x = (x * 1103 + 12345) % 65536
            source = source " w" x % 20
            target = "w" x % 20 " " target
        }
        print source "\t" target
    }
}' > many.tsv
run translate nowhere --threads 2
if [ "$status" = 2 ]; then
    wrong 'a program without threads says so' \
        '--threads 2: this program was built without OpenMP' translate nowhere --threads 2
    fails 'a program without threads takes --threads 1' "cannot open nowhere: $gone" \
        translate nowhere --threads 1
else
    for n in 1 2 3; do
        works "trained with --threads $n" \
            train many.tsv --layers 1 --batch 100 \
            --max-len 20 --steps 2 --model threads$n --threads $n
    done
    (ulimit -v 2000000 2> /dev/null
        exec "$program" train many.tsv --layers 1 --batch 100 --max-len 20 \
            --steps 2 --model threads1000 --threads 1000) < in > out 2> err
    fits 'a thousand threads are no more than there are processors' \
        '0, done at step 2 *' "$?, $(tail -n 1 err)"
    same_bytes 'two threads give the same bytes as one' threads1 threads2
    same_bytes 'three threads give the same bytes as one' threads1 threads3
    # Where a folder shows what runs, the threads of a training are counted.
    if [ -d /proc/self/task ]; then
        at_work() # OPTIONS…: how many threads work after two steps
        {
            rm -f threads.csv
            "$program" train many.tsv --layers 1 --batch 100 --max-len 20 \
                --steps 2000000000 --log threads.csv --model threads0 "$@" \
                < in > out 2> err &
            until [ "$(wc -l 2> /dev/null < threads.csv || echo 0)" -ge 3 ] ||
                ! kill -0 $! 2> /dev/null; do :; done
            # shellcheck disable=SC2012
            ls /proc/$!/task | wc -l
            kill $!
            wait $!
        }
        same '--threads 1 works with one thread' 1 "$(at_work --threads 1)"
        same 'without --threads all processors work' "$(nproc)" "$(at_work)"
    fi
fi

# -------------------------------------------------------------------- resume
section 'resume'

# What a shell runs in the background ignores Ctrl-C, and what nohup runs ignores
# SIGHUP, unless env can undo that.
if env --default-signal=INT,HUP true 2> /dev/null; then
    foreground='env --default-signal=INT,HUP' interrupt=INT interrupted=130
else
    foreground='' interrupt=TERM interrupted=143
    skip 'stopped by Ctrl-C: env has no --default-signal'
fi

# Starts a long training and stops it as Ctrl-C does, after it has logged some
# hundred steps. Should it be done before that, it tries again.
interrupt() # OPTIONS…
{
    for _ in 1 2 3; do
        rm -f broken.*
        $foreground "$program" train --threads 1 pairs.tsv "$@" \
            < /dev/null > out 2> err &
        process=$!
        until [ "$(wc -l 2> /dev/null < broken.csv || echo 0)" -ge 500 ] ||
            ! kill -0 $process 2> /dev/null; do :; done
        kill -$interrupt $process 2> /dev/null
        wait $process
        status=$?
        [ "$status" = 0 ] || break
    done 2> /dev/null
}

# Other translations than those learned: the accuracy on them soon begins to
# fall, so the best model and the newest are not the same.
sed 's/chien/x/g; s/chat/chien/g; s/x/chat/g' pairs.tsv > valid.tsv
long="$mini --lr 0.01 --warmup 10 --steps 3000 --valid valid.tsv"
works 'a longer training' \
    train pairs.tsv $long --model whole.safetensors --log whole.csv
best=$(most_accurate whole.csv | sed 's/best step \([0-9]*\),.*/\1/')
same 'on what contradicts the training data the accuracy is highest before the end' \
    yes "$([ "$best" -lt 3000 ] && echo yes || echo "at step $best")"
run info whole.safetensors
same 'the model that is kept is the most accurate' \
    "steps trained 3000,$(most_accurate whole.csv)" \
    "$(grep -E '^(steps trained|best)' out | paste -s -d , -)"
run evaluate whole.safetensors valid.tsv
same 'it is the model that evaluate and the other commands use' \
    "$(awk -F , -v step="$best" '$1 == step && $2 == "valid" {
        printf "%.2f\n", 100 * $4 }' whole.csv)" \
    "$(awk '$1 == "token_accuracy" { printf "%.2f\n", $2 }' out)"
interrupt $long --model broken.safetensors --log broken.csv
fits "stopped by SIG$interrupt it saves, says how to go on and ends with status $interrupted" \
    "status $interrupted: stopped at step *; go on with --resume; broken.safetensors; *" "$(last_outcome)"
absent 'no temporary file is left' broken.safetensors.1.new
same 'the log ends with the step that was saved' \
    "$(sed -n 's/^stopped at step \([0-9]*\) .*/\1/p' err)" \
    "$(tail -n 1 broken.csv | cut -d , -f 1)"
works 'the stopped training is resumed' \
    train pairs.tsv $long --resume --model broken.safetensors --log broken.csv
same_bytes 'stopped and resumed it ends in the same bytes as if not stopped' \
    whole.safetensors broken.safetensors
cut -d , -f 1-6 whole.csv > whole.columns
cut -d , -f 1-6 broken.csv > broken.columns
same_bytes 'the log is the same as if not stopped, but for the speed' \
    whole.columns broken.columns

interrupt $mini --steps 2000000000 --valid valid.tsv --model broken.safetensors \
    --log broken.csv
same 'stopped before the first report it names a file that is there' \
    "status $interrupted, broken.safetensors exists" \
    "status $status, $(sed -n 's/.*--resume; \([^;]*\);.*/\1/p' err |
        while read -r name; do [ -f "$name" ] && echo "$name exists" ||
            echo "$name does not exist"; done)"

works 'two epochs' \
    train pairs.tsv $mini --epochs 2 --model r.safetensors --log r.csv
cp r.safetensors r2.safetensors
cp r.csv r2.csv
works 'two more epochs' \
    train pairs.tsv --resume --epochs 4 --model r.safetensors --log r.csv
works 'four epochs at once' \
    train pairs.tsv $mini --epochs 4 --model f.safetensors --log f.csv
same_bytes 'two and two epochs make the same model as four' \
    f.safetensors r.safetensors
cut -d , -f 1-6 r.csv > r.columns
cut -d , -f 1-6 f.csv > f.columns
same_bytes 'two and two epochs make the same log as four' f.columns r.columns

# as after a power cut: the log is ahead of the model
cp r2.safetensors p.safetensors
{ cat r2.csv; echo '5,train,9,9,9,9,9'; printf '6,train,9'; } > p.csv
works 'the log is ahead of the model, and its last line is broken' \
    train pairs.tsv --resume --epochs 4 --model p.safetensors --log p.csv
cut -d , -f 1-6 p.csv > p.columns
same_bytes 'the log is cut back to where the model stands' f.columns p.columns
cp r2.safetensors p.safetensors
: > p.csv
run train pairs.tsv --resume --epochs 3 --model p.safetensors --log p.csv
fits 'a log that was empty gets its header' 'step,split,*' "$(head -n 1 p.csv)"
cp r2.safetensors p.safetensors
rm p.csv
run train pairs.tsv --resume --epochs 3 --model p.safetensors --log p.csv
fits 'a log that was not there gets its header' 'step,split,*' "$(head -n 1 p.csv)"
cp r2.safetensors p.safetensors
works 'a log into /dev/null is as good as before' \
    train pairs.tsv --resume --epochs 3 --model p.safetensors --log /dev/null

run train pairs.tsv $mini --steps 3 --model s.safetensors
run train pairs.tsv --resume --epochs 4 --model s.safetensors
fits 'a training that counted steps goes on to count epochs' \
    'status 0: done at step 8 *' "$(last_outcome)"
run train pairs.tsv --resume --steps 9 --model s.safetensors
fits 'a training that counted epochs goes on to count steps' \
    'status 0: done at step 9 *' "$(last_outcome)"

cp r.safetensors r4.safetensors
run train pairs.tsv --resume --epochs 4 --model r.safetensors
fits 'if all is done, there is nothing to do' 'status 0: done at step 8*' "$(last_outcome)"
same_bytes 'if all is done, the model stays as it is' r4.safetensors r.safetensors
run train pairs.tsv --resume --epochs 4 --model r.safetensors --log none.csv
absent 'and no log is begun' none.csv
wrong 'another --d-model than the model has is refused' \
    '--d-model 32: the model in r.safetensors has 8' \
    train pairs.tsv --resume --d-model 32 --model r.safetensors
wrong '--tie, which the model has not, is refused' \
    '--tie yes: the model in r.safetensors has no' \
    train pairs.tsv --resume --tie --model r.safetensors
wrong 'other --tokens are refused' \
    '--tokens char: the model in r.safetensors has word' \
    train pairs.tsv --resume --tokens char --model r.safetensors
wrong '--steps and --epochs exclude each other here, too' \
    '--steps and --epochs exclude each other' \
    train pairs.tsv --resume --steps 9 --epochs 9 --model r.safetensors
same_bytes 'the model is not touched by all this' r4.safetensors r.safetensors
works 'the same --d-model is no conflict, another --lr is allowed' \
    train pairs.tsv --resume --d-model 8 --lr 0.5 --epochs 5 --model r.safetensors
run train pairs.tsv --layers 1 --d-model 9 --heads 3 --steps 1 \
    --model h.safetensors
works 'three heads, which the model has, are no conflict' \
    train pairs.tsv --resume --heads 3 --steps 2 --model h.safetensors
# A run that was measured goes on to be measured: else its best would be lost.
cp whole.safetensors best.safetensors
wrong 'resumed without --valid, a run that was measured is refused' \
    'the best model of the run in best.safetensors was found with --valid: give --valid again' \
    train pairs.tsv --resume --steps 4000 --model best.safetensors
same_bytes 'and stays as it is' whole.safetensors best.safetensors
run train pairs.tsv --resume --steps 3000 --valid valid.tsv --model best.safetensors
fits 'nothing to do: the last line names the file' \
    'status 0: done at step 3000 *; best.safetensors; *' "$(last_outcome)"
same_bytes 'which stays as it is, too' whole.safetensors best.safetensors
# Best is what the file holds, measured on the data that are given now.
cp pairs.tsv other.tsv
cp whole.safetensors o.safetensors
run train pairs.tsv --resume --steps 3020 --valid other.tsv --model o.safetensors
fits 'other validation data: the newest model is better on them' \
    '*(best so far)*' "$(cat err)"
run info o.safetensors
fits 'and is kept' 'best step 30[0-9]*' "$(grep '^best step' out)"
# A run may begin to be measured; what another run left in the file is gone.
run train pairs.tsv $mini --seed 2 --steps 4 --model g.safetensors
cp g.safetensors g2.safetensors
works 'a run without --valid goes on with it' \
    train pairs.tsv --resume --steps 5 --valid valid.tsv --model g.safetensors
run info g.safetensors
fits 'and is measured from then on' 'best step [45]' "$(grep '^best step' out)"
cp whole.safetensors g.safetensors
run train pairs.tsv $mini --seed 2 --steps 4 --model g.safetensors
same_bytes 'a new run replaces all of an old one that was measured' \
    g2.safetensors g.safetensors

# A rate that was derived stays derived, one that was given stays given.
rate() # of the model w
{
    run info w.safetensors
    awk '$1 == "lr" { printf "%.6f", $2 }' out
}
run train pairs.tsv $mini --steps 1 --model w.safetensors
same 'the rate is derived from --d-model 8 and --warmup 400' 0.017678 "$(rate)"
run train pairs.tsv --resume --steps 2 --warmup 100 --model w.safetensors
same 'resumed with --warmup 100 it is derived anew' 0.035355 "$(rate)"
run train pairs.tsv --resume --steps 3 --lr 0.5 --model w.safetensors
run train pairs.tsv --resume --steps 4 --warmup 400 --model w.safetensors
same 'a rate that was given stays' 0.500000 "$(rate)"

# The same holds for the two rates of dropout that follow the first.
rates() # of the model w
{
    run info w.safetensors
    awk '/dropout/ { print $2 }' out | paste -s -d ' ' -
}
run train pairs.tsv $mini --steps 1 --dropout 0.2 --model w.safetensors
same 'without the other two, --dropout is all three' '0.2 0.2 0.2' "$(rates)"
run train pairs.tsv --resume --steps 2 --dropout 0.3 --model w.safetensors
same 'also when it changes' '0.3 0.3 0.3' "$(rates)"
run train pairs.tsv --resume --steps 3 --attention-dropout 0 --model w.safetensors
run train pairs.tsv --resume --steps 4 --dropout 0.1 --model w.safetensors
same 'one that was given stays' '0.1 0 0.1' "$(rates)"
run train pairs.tsv --resume --steps 5 --activation-dropout 0.4 --model w.safetensors
run train pairs.tsv --resume --steps 6 --dropout 0.2 --model w.safetensors
same 'so does the other' '0.2 0 0.4' "$(rates)"

# What is changed when a training is resumed is used, too, not only saved: from
# which step on, and in which column, the log differs from the log without it.
run train pairs.tsv $mini --lr 0.01 --warmup 2 --steps 4 --model u.safetensors
cp u.safetensors w.safetensors
run train pairs.tsv --resume --steps 7 --model w.safetensors --log u.csv

# OPTION VALUE STEP COLUMN: the first difference that this option makes
changes()
{
    cp u.safetensors w.safetensors
    rm -f w.csv
    works "resumed with $1 $2" train pairs.tsv --resume --steps 7 "$1" "$2" \
        --model w.safetensors --log w.csv
    same "$1 $2 is used from then on" "$3: $4" "$(awk -F , '
        NR == 1 { split($0, name) }
        NR == FNR { line[FNR] = $0; next }
        { split(line[FNR], old)
          for (i = 3; i < 7; i++) if ($i "" != old[i] "") {
              print $1 ": " name[i]
              exit
          } }' u.csv w.csv)"
}
changes --lr 0.02 5 learning_rate
same 'it is the new peak' 0.0126491 "$(awk -F , '$1 == 5 { print $5 }' w.csv)"
changes --schedule constant 5 learning_rate
same 'the rate stays at the peak' '0.01 0.01 0.01' \
    "$(awk -F , 'NR > 1 { print $5 }' w.csv | paste -s -d ' ' -)"
changes --clip 0.01 6 loss # only what follows the shorter step
changes --batch 2 5 loss
changes --label-smoothing 0.5 5 loss
changes --dropout 0 5 loss
changes --attention-dropout 0 5 loss
changes --activation-dropout 0 5 loss
rm u.csv w.csv

# What --resume would have kept is named before it is replaced.
works 'a model and a log are there already' \
    train pairs.tsv $mini --steps 1 --model w.safetensors --log b.columns
cp b.columns w.csv
works 'without --resume' train pairs.tsv $mini --steps 1 --model w.safetensors --log w.csv
same 'it says in its first lines that they will be replaced' \
    'w.safetensors is there already and will be replaced; --resume would go on with it;w.csv is there already and will be replaced; --resume would go on with it' \
    "$(sed -n 4,5p err | paste -s -d ';' -)"
works 'with --resume' train pairs.tsv --resume --steps 2 --model w.safetensors --log w.csv
same 'they are not' 0 "$(grep -c replaced err)"

rm w.safetensors w.csv

# The log: what is torn is left out, what is whole is kept.
cp r2.safetensors p.safetensors
{ cat r2.csv; printf '5,tra\000\000\000'; } > p.csv
works 'zero bytes at the end of the log, as a power cut leaves them' \
    train pairs.tsv --resume --epochs 4 --model p.safetensors --log p.csv
cut -d , -f 1-6 p.csv > p.columns
same_bytes 'the rows before them are kept' f.columns p.columns
# no_log CLAIM LINE: p.csv is refused as a log, and stays as it is
no_log()
{
    cp r2.safetensors p.safetensors
    cp p.csv list
    fails_late "$1" "$2 of a log" \
        train pairs.tsv --resume --epochs 4 --model p.safetensors --log p.csv
    same_bytes "$1: it stays as it is" list p.csv
}
first='line 1 of p.csv is not the header'
sed 1d r2.csv > p.csv
no_log 'a log without its header' "$first"
printf 'step,split\nmilk\neggs\n' > p.csv
no_log 'a file that is no log' "$first"
printf 'milk' > p.csv
no_log 'a line without an end' "$first"
printf '\377\376m\000i\000l\000k\000\n\000' > p.csv
no_log 'a text in UTF-16' "$first"
printf '\000\000\000\000' > p.csv
no_log 'zeros' "$first"
printf 's\nst\nstep\n' > p.csv
no_log 'lines that are beginnings of the header' "$first"
{ cat r2.csv; echo milk; } > p.csv
no_log 'a log with a line of something else' 'line 6 of p.csv is not a row'
absent 'nothing is left beside it' p.csv.1.new

fails 'without a model there is nothing to resume' \
    "cannot open none.safetensors: $gone" \
    train pairs.tsv --resume --model none.safetensors
fails 'with --valid it is the same' \
    "cannot open none.safetensors: $gone" \
    train pairs.tsv --resume --valid valid.tsv --model none.safetensors

# ---------------------------------------------------------------------- from
section 'from'

# A model of no step that changes anything has the numbers that a new run of the
# same seed begins with: so what begins from it is the same run.
begin="$mini --dropout 0.1 --steps 6 --lr 0.01 --seed 3 --valid valid.tsv"
run train pairs.tsv $mini --steps 2 --lr 0 --seed 3 --model start.safetensors
run train pairs.tsv $begin --model new.safetensors --log new.csv
works 'a run from a model' train pairs.tsv --from start.safetensors --batch 4 \
    --dropout 0.1 --steps 6 --lr 0.01 --seed 3 --valid valid.tsv \
    --model from.safetensors --log from.csv
same_bytes 'from the initial numbers it is the run that makes its own, byte for byte' \
    new.safetensors from.safetensors
same 'so are its loss, rate and norm in each step' "$(cut -d , -f 1-6 new.csv)" \
    "$(cut -d , -f 1-6 from.csv)"
cp from.safetensors kept.safetensors
printf 'zebra a\tq b\n' > strange.tsv
works 'other data' train strange.tsv --from from.safetensors --steps 2 --model on.safetensors
same_bytes 'the model that it began with is not touched' kept.safetensors from.safetensors
run info from.safetensors
grep vocabulary out > words
run info on.safetensors
same 'its vocabularies are that model'"'"'s' "$(cat words)" "$(grep vocabulary out)"
same 'the steps are its own' 'steps trained 2' "$(grep trained out)"
same 'and no best step is handed on' '' "$(grep best out)"
same 'settings of training are defaults again' 'dropout 0.1;batch 64' \
    "$(grep -e '^dropout' -e '^batch' out | paste -s -d ';' -)"
run train pairs.tsv --layers 1 --d-model 16 --heads 2 --max-len 8 --steps 1 --model wide.safetensors
works 'a model of another width than the default' train pairs.tsv --from wide.safetensors \
    --steps 1 --warmup 100 --model on.safetensors
run info on.safetensors
same 'the learning rate follows from its width' 'lr 0.025' "$(grep '^lr' out)"
works 'the same --d-model is no conflict' train pairs.tsv --from wide.safetensors \
    --d-model 16 --steps 1 --model on.safetensors
wrong 'another --d-model is refused' '--d-model 32: the model in wide.safetensors has 16' \
    train pairs.tsv --from wide.safetensors --d-model 32 --model none.safetensors
wrong 'other --tokens are refused here, too' \
    '--tokens char: the model in wide.safetensors has word' \
    train pairs.tsv --from wide.safetensors --tokens char --model none.safetensors
wrong '--resume and --from exclude each other' '--resume and --from exclude each other' \
    train pairs.tsv --resume --from wide.safetensors
fails 'a model that is not there' "cannot open none.safetensors: $gone" \
    train pairs.tsv --from none.safetensors --model none2.safetensors
fails 'data are not a model' 'pairs.tsv: not a model this program can read: no safetensors header, or cut short (byte 0)' \
    train pairs.tsv --from pairs.tsv --model none.safetensors
absent 'nothing has been written' none.safetensors
run train pairs.tsv --resume --steps 9 --valid valid.tsv --model from.safetensors
fits 'such a run is resumed like any other' 'status 0: done at step 9*' "$(last_outcome)"
run train pairs.tsv --resume --steps 9 --valid valid.tsv --model new.safetensors
same_bytes 'and ends in the same bytes' new.safetensors from.safetensors

# ------------------------------------------------------------------ bad data
section 'data'

# MESSAGE TEXT: a file with this text is refused, with its name and this message
bad_data()
{
    printf "$3" > data.tsv
    fails "$1" "data.tsv$2" train data.tsv $mini --model bad.safetensors
}
fails 'a missing file is said' "cannot open nowhere.tsv: $gone" \
    train nowhere.tsv
fails 'a folder is not a file' 'cannot read .: Is a directory' train .
bad_data 'an empty file' ': the file is empty' ''
bad_data 'a file with nothing but a byte order mark' ': the file is empty' \
    '\357\273\277'
bad_data 'a zero byte' ':2: a zero byte: this is not a text file' \
    'a\tb\nc\td\000\n'
bad_data 'an old line end, CR alone' \
    ':2: a carriage return in the middle: lines must end with LF or CR LF' \
    'a\tb\r\nc\td\re\tf\r\n'
bad_data 'no tab in line 3' ':3: expected source, tab, target; found no tab' \
    'a\tb\nc\td\ne f\n'
bad_data 'an empty line' ':2: expected source, tab, target; found no tab' \
    'a\tb\n\nc\td\n'
bad_data 'an empty source' ':1: the source is empty' '\tb\n'
bad_data 'a source of spaces' ':2: the source is empty' \
    'a\tb\n \302\240\342\200\257\tb\n'
bad_data 'an empty target' ':2: the target is empty' 'a\tb\nc\t\n'
bad_data 'an empty target before a third column' ':1: the target is empty' \
    'a\t\tc\n'
bad_data 'bytes that are not UTF-8' ':2: not valid UTF-8' 'a\tb\n\377\td\n'
bad_data 'Latin-1' ':1: not valid UTF-8' '\351t\351\tsummer\n'
bad_data 'a character cut off' ':1: not valid UTF-8' 'a\tb\342\202\n'
bad_data 'an overlong form' ':1: not valid UTF-8' 'a\t\300\257\n'
bad_data 'half a surrogate pair' ':1: not valid UTF-8' 'a\t\355\240\200\n'
absent 'no model is made of bad data' bad.safetensors

run train pairs.tsv $mini --steps 3 --model plain.safetensors
# CLAIM: data.tsv gives the same model as pairs.tsv
good_data()
{
    works "$1 is accepted" \
        train data.tsv $mini --steps 3 --model data.safetensors
    same_bytes "$1 makes no difference" plain.safetensors data.safetensors
}
awk '{ printf "%s\r\n", $0 }' pairs.tsv > data.tsv
good_data 'the line end of Windows'
run train pairs.tsv $mini --max-len 40 --tokens char --steps 3 --model chars
works 'the line end of Windows is accepted when characters are tokens' \
    train data.tsv $mini --max-len 40 --tokens char --steps 3 --model windows
same_bytes 'the line end of Windows is no character' chars windows
{ printf '\357\273\277'; cat pairs.tsv; } > data.tsv
good_data 'a byte order mark'
awk '{ print $0 "\tthird\tfourth" }' pairs.tsv > data.tsv
good_data 'a third column'
awk '{ printf "%s%s", n++ ? "\n" : "", $0 }' pairs.tsv > data.tsv
good_data 'a last line without an end'
sed 's/ /  /g; s/cat/cat /; s/dort/dort /' pairs.tsv > data.tsv
good_data 'more space between words'

rm data.safetensors
cat pairs.tsv | "$program" train /dev/stdin $mini --steps 3 --threads 1 \
    --model data.safetensors 2> err
same_bytes 'data may come through a pipe' plain.safetensors data.safetensors
mkfifo pipe
rm data.safetensors
cat pairs.tsv > pipe &
"$program" train pipe $mini --steps 3 --threads 1 --model data.safetensors 2> err &
process=$!
(sleep 30; kill -9 $process; cat pairs.tsv > pipe) 2> /dev/null &
watch=$!
wait $process
same 'or through a pipe with a name' 0 $?
kill $watch 2> /dev/null
same_bytes 'which is read once' plain.safetensors data.safetensors
rm pipe
printf 'x y\tz\n' > data.tsv
cp plain.safetensors data.safetensors
run train data.tsv --resume --steps 4 --model data.safetensors
same 'that a model knows no word of the data is said' \
    'data.tsv: the model does not know 100 % of the tokens' "$(head -n 1 err)"

{ cat pairs.tsv; echo 'one two three four five six seven eight nine	a'
    echo 'a	one two three four five six seven eight nine'; } > data.tsv
works 'pairs longer than --max-len' \
    train data.tsv $mini --steps 3 --model l.safetensors
same 'pairs longer than --max-len are left out and counted' \
    'data.tsv: left out 2 of 9 pairs, with more than 8 tokens' "$(grep 'left out' err)"
fits 'the pairs that are not too long are there' 'data: 7 pairs*' "$(grep '^data: ' err)"
works 'validation data with pairs that are too long' \
    train pairs.tsv $mini --steps 3 --valid data.tsv --model l.safetensors
same 'they are counted in validation data, too' \
    'data.tsv: left out 2 of 9 pairs, with more than 8 tokens' "$(grep 'left out' err)"
tail -n 2 data.tsv > long.tsv
fails 'if all pairs are too long, that is an error' \
    'long.tsv: every pair has more than 8 tokens' train long.tsv $mini
fails 'if all pairs of the validation data are too long, too' \
    'long.tsv: every pair has more than 8 tokens' \
    train pairs.tsv $mini --valid long.tsv

# ------------------------------------------------------- a loss that explodes
section 'a learning rate that is far too large'

wild='--layers 6 --d-model 4 --heads 2 --max-len 8 --batch 4 --dropout 0 --lr 1000
      --clip 1e9 --schedule constant --warmup 20'
fails_late 'the loss becomes not a number: it says so and stops' \
    'step *: the loss is not a number any more; try a smaller --lr; the last good state is in wild.safetensors' \
    train pairs.tsv $wild --steps 60 --model wild.safetensors
step=$(sed -n 's/^transformer: step \([0-9]*\):.*/\1/p' err)
works 'the model saved before that can be read' info wild.safetensors
same 'the model saved before that is of an earlier step' yes \
    "$(awk -v bad="$step" '/^steps trained/ { print ($3 > 0 && $3 < bad ? "yes" : $3) }' out)"
fails_late 'resumed, it fails again, and says again where the good state is' \
    "step $step: the loss is not a number any more; try a smaller --lr; the last good state is in wild.safetensors" \
    train pairs.tsv --resume --model wild.safetensors
run train pairs.tsv $wild --steps 2000 --model early.safetensors
fits 'it also stops if nothing has been saved yet' \
    'status 1: transformer: step *: the loss is not a number any more;*' "$(last_outcome)"
same 'if nothing has been saved, it does not say that something was' yes \
    "$(if [ -f early.safetensors ] || ! grep -q 'state is in early.safetensors' err
       then echo yes; else tail -n 1 err; fi)"

# ----------------------------------------------------------------- translate
section 'translate'

cp sources in
prints 'what was learned by heart comes out' "$(cat targets)" translate good.safetensors
give ''
prints 'no input, no output' '' translate good.safetensors
same 'no input, not even an empty line' 0 "$(wc -c < out | tr -d ' ')"
give '\n'
run translate good.safetensors
same 'an empty line gives an empty line' 'status 0, 1 byte' \
    "status $status, $(($(wc -c < out))) byte"
give 'a cat sleeps\n\n \t\nthe dog eats\n\n'
run translate good.safetensors
printf 'un chat dort\n\n\nle chien mange\n\n' > expected
same_bytes 'empty lines and lines of spaces stay where they are' expected out
give 'the dog eats'
prints 'a last line without an end counts' 'le chien mange' \
    translate good.safetensors
give 'zebra\nthe zebra sleeps\n<unknown> <pad> <start> <end>\n\360\237\246\223\n'
works 'unknown words do no harm' translate good.safetensors
same 'as many lines come out as go in' 4 "$(($(wc -l < out)))"
same 'how many words are unknown is said once, with the first of them' \
    'the model does not know 7 of the input'\''s words; the first is "zebra"' "$(cat err)"
give 'the cat sleeps\n'
run translate good.safetensors
same 'nothing is said if it knows all words' '' "$(cat err)"
printf '%3000s\n%255s\n' 'the cat sleeps' 'the cat sleeps' > in
prints 'a line may be long, if its words are few' 'le chat dort
le chat dort' translate good.safetensors
give 'the\302\240cat\342\200\257sleeps\302\240\n\t the   cat\tsleeps \n'
prints 'no-break spaces and tabs are spaces' 'le chat dort
le chat dort' translate good.safetensors
give 'the cat sleeps\r\n\r\n'
prints 'line ends of Windows are ends of lines' 'le chat dort' \
    translate good.safetensors
give '\357\273\277the cat sleeps\n'
prints 'a byte order mark is no part of the first word' 'le chat dort' \
    translate good.safetensors
give '\357\273\277a cat sleeps\n'
prints 'a byte order mark is no part of any first word' 'un chat dort' translate good.safetensors

awk '{ line[NR] = $0 } END { for (i = 0; i < 150; i++) print line[i % NR + 1] }' sources > in
awk '{ line[NR] = $0 } END { for (i = 0; i < 150; i++) print line[i % NR + 1] }' targets > expected
run translate good.safetensors
same_bytes '150 lines come out in their order' expected out
: > alone
while IFS= read -r line; do
    printf '%s\n' "$line" > in
    run translate good.safetensors
    cat out >> alone
done < sources
same_bytes 'line by line gives the same as all together' targets alone

give 'a cat sleeps\n1 2 3 4 5 6 7 8\n'
works 'a line of --max-len tokens is translated' translate good.safetensors
give '1 2 3 4 5 6 7 8 9\n'
fails 'a line of more than --max-len tokens is an error' \
    'line 1 of the input has 9 tokens; the model takes at most 8 (train with --max-len 9)' \
    translate good.safetensors
give 'a cat sleeps\n\n1 2 3 4 5 6 7 8 9\na dog sleeps\n'
run translate good.safetensors
same 'an error names the number of the line' \
    'transformer: line 3 of the input has 9 tokens; the model takes at most 8 (train with --max-len 9)' \
    "$(cat err)"
same 'the lines before a wrong one are translated' 'un chat dort' "$(cat out)"
give 'a cat sleeps\n\377\376\n'
run translate good.safetensors
same 'a line that is not UTF-8 is an error' \
    'status 1: transformer: line 2 of the input is not valid UTF-8' "$(last_outcome)"
give 'a cat\rsleeps\n'
fails 'a carriage return in the middle is an error' \
    'line 1 of the input has a carriage return in the middle' translate good.safetensors
give 'a cat sleeps\na cat\rsleeps\n'
run translate good.safetensors
same 'the lines before it are translated all the same' 'un chat dort' "$(cat out)"
give 'a cat\000sleeps\n'
fails 'a zero byte is an error' 'line 1 of the input has a zero byte: this is not text' \
    translate good.safetensors
: > out
"$program" translate good.safetensors --threads 1 < . > out 2> err
status=$?
fits 'a folder as input is an error' \
    'status 1: transformer: cannot read the input: Is a directory' "$(outcome)"

printf 'The CAT\tLE Chat\nSummer\t\303\211T\303\211\nWinter\thiver\n' > upper.tsv
run train upper.tsv $tiny --lowercase --steps 200 --model lower.safetensors
give 'the cat\nTHE CAT\nsUMMER\n'
prints 'a --lowercase model takes any case and writes small letters' \
    "$(printf 'le chat\nle chat\n\303\251t\303\251')" translate lower.safetensors

printf 'ab\tb  a!\nb\303\251\t\303\251 b\nba\tab\n' > chars.tsv
run train chars.tsv $tiny --tokens char --steps 200 --model char.safetensors
give 'ab\nb\303\251\nba'
prints 'a model of characters writes them without spaces between' \
    "$(printf 'b  a!\n\303\251 b\nab')" translate char.safetensors
give 'abababab\r\n'
works 'the line end of Windows is no character: 8 are not too many' \
    translate char.safetensors
give '\303\251\303\251\303\251\303\251\303\251\303\251\303\251\303\251\n'
works 'an é counts once, not for two bytes: 8 are not too many' \
    translate char.safetensors
give 'aaaaaaaaa\n'
fails 'a model of characters counts characters' \
    'line 1 of the input has 9 tokens; the model takes at most 8 (train with --max-len 9)' \
    translate char.safetensors
give 'abz\ny\n'
run translate char.safetensors
same 'and characters that it does not know' \
    'the model does not know 2 of the input'\''s characters; the first is "z"' \
    "$(cat err)"

# A program that waits for each answer gets it; also while it writes a line.
mkfifo questions answers
"$program" translate good.safetensors --threads 1 < questions > answers 2> err &
process=$!
(sleep 30; kill -9 $process) 2> /dev/null &
watch=$!
exec 3> questions 4< answers
printf 'a cat sleeps\n' >&3
read -r answer <&4
same 'who waits for each answer gets it' 'un chat dort' "$answer"
printf 'the cat sleeps\nthe dog ' >&3
read -r answer <&4
same 'also in the middle of the next line' 'le chat dort' "$answer"
printf 'eats\n' >&3
exec 3>&-
read -r answer <&4
same 'which is not cut' 'le chien mange' "$answer"
exec 4<&-
wait $process
same 'and it ends when the input ends' 0 $?
kill $watch 2> /dev/null
rm questions answers
awk 'BEGIN { for (i = 0; i < 200000; i++) printf "a cat "; print "" }' > in
fails 'a line of more than a megabyte is refused' \
    'line 1 of the input has a megabyte or more' translate good.safetensors

cp sources in
run translate good.safetensors
cp out expected
cp sources in
run translate good.safetensors --beam 1
same_bytes '--beam 1 is greedy decoding' expected out
cp sources in
works 'a beam of four, with scores' translate good.safetensors --beam 4 --scores
same 'each line is a score below zero, a tab, and the translation' "$pairs" \
    "$(grep -c "^-[0-9.]*	[^	]*\$" out)"
cut -f 2 out > alone
cp sources in
run translate good.safetensors --beam 4
same_bytes 'the translations are those without --scores' alone out
same_bytes 'of what the model knows by heart, they are the right ones' targets out
give 'zebra\nthe zebra\nzebra sleeps a the\n'
run translate good.safetensors --scores --length-penalty 0
cut -f 1 out > scores
give 'zebra\nthe zebra\nzebra sleeps a the\n'
run translate good.safetensors --scores --length-penalty 1
same 'scores are divided by ((5 + length) / 6)^A' yes "$(paste scores out \
    | awk '{ length_ = NF - 1; d = $1 / $2 - (5 + length_) / 6
             if (d * d > 1e-3 * 1e-3) wrong = $0 }
           END { print (wrong ? wrong : "yes") }')"
give 'zebra\nthe zebra\nzebra sleeps a the\n'
run translate good.safetensors --scores --length-penalty 0.6
mv out expected
give 'zebra\nthe zebra\nzebra sleeps a the\n'
run translate good.safetensors --scores
same_bytes 'without --length-penalty A is 0.6' expected out
give 'the cat sleeps\n\n'
run translate good.safetensors --scores
same 'an empty line has no score' "	" "$(tail -n 1 out)"
wrong 'a beam of none' '--beam: "0" is not a whole number from 1 to 64' \
    translate good.safetensors --beam 0
wrong 'a beam that is too wide' '--beam: "65" is not a whole number from 1 to 64' \
    translate good.safetensors --beam 65
wrong 'a length penalty below zero' \
    '--length-penalty: "-1" is not a number from 0 to 10' \
    translate good.safetensors --length-penalty -1
wrong 'scores of an evaluation' 'evaluate has no option --scores' \
    evaluate good.safetensors pairs.tsv --scores

works 'a model with room for long sentences' train pairs.tsv $mini --max-len 2000 \
    --steps 1 --model long.safetensors
give 'the cat sleeps\n'
works 'it translates' translate long.safetensors
same 'a translation has room for 50 tokens more than its source, and an end' yes \
    "$(awk '{ print (NF <= 3 + 50 + 1 ? "yes" : NF " tokens") }' out)"

# ------------------------------------------------------------------ evaluate
section 'evaluate'

works 'the model is measured on what it has learned by heart' \
    evaluate good.safetensors pairs.tsv
same 'it prints the keys in their order' \
    'sentences tokens loss perplexity token_accuracy exact_match bleu' \
    "$(cut -d ' ' -f 1 out | paste -s -d ' ' -)"
mv out expected
run evaluate good.safetensors pairs.tsv --beam 4
same_bytes 'a beam finds the same, where the model is sure' expected out
same 'a model that knows all by heart is perfect' \
    "sentences $pairs,tokens $tokens,token_accuracy 100.00,exact_match 100.00" \
    "$(grep -v -E '^(loss|perplexity|bleu) ' out | paste -s -d , -)"
same 'and BLEU is what sentences of so few words can have at most' \
    "$(awk '{ for (n = 1; n <= 4; n++) {
            if (NF >= n) matched[n] += NF - n + 1
            runs[n] += NF >= n ? NF - n + 1 : 1 } }
        END { for (n = 1; n <= 4; n++) product += log(matched[n] / runs[n]) / 4
              printf "bleu %.2f\n", 100 * exp(product) }' targets)" "$(grep bleu out)"
same 'the loss is small, and the perplexity its exponential' yes \
    "$(awk '{ value[$1] = $2 } END {
           d = exp(value["loss"]) - value["perplexity"]
           print (value["loss"] < 0.1 && d < 1e-4 && d > -1e-4 ? "yes" : "no") }' out)"
same 'nothing is said on stderr' '' "$(cat err)"
awk 'BEGIN { while (n++ < 100000) printf "é"; print "" }' > in
run translate good.safetensors
fits 'of a word of 200,000 bytes the beginning is shown' \
    'the model does not know 1 of the input'\''s words; the first is "ééé*é…"' "$(cat err)"
same 'which is short' yes "$([ "$(wc -c < err)" -lt 150 ] && echo yes)"
printf 'the cat sleeps\tle zebra dort\n' > unknown.tsv
run evaluate good.safetensors unknown.tsv
same 'an unknown word is never right' 'exact_match 0.00' "$(grep exact_match out)"
printf 'a\tb x\na\tb y\na\tb z\n' > rare.tsv
run train rare.tsv $tiny --min-count 2 --steps 100 --model rare.safetensors
run evaluate rare.safetensors rare.tsv
same 'an unknown word is not right even if the model says unknown' \
    'token_accuracy 66.67,exact_match 0.00' \
    "$(grep -E 'accuracy|exact' out | paste -s -d , -)"
works 'pairs that are too long' evaluate good.safetensors data.tsv
same 'pairs that are too long are left out and counted' \
    'data.tsv: left out 2 of 9 pairs, with more than 8 tokens' "$(cat err)"
same 'pairs that are too long are not measured' "sentences $pairs" "$(head -n 1 out)"
fails 'if all pairs are too long, that is an error' \
    'long.tsv: every pair has more than 8 tokens' evaluate good.safetensors long.tsv
fails 'a missing file of data' "cannot open nowhere: $gone" \
    evaluate good.safetensors nowhere
printf 'a\tb\nc\n' > short.tsv
fails 'a wrong line' 'short.tsv:2: expected source, tab, target; found no tab' \
    evaluate good.safetensors short.tsv

# ---------------------------------------------------------------- byte pairs
section 'byte pairs'

pieces="$tiny --max-len 40 --tokens bpe"
works 'a model of byte pairs is trained' \
    train pairs.tsv $pieces --merges 25 --steps 300 --model bpe.safetensors
run info bpe.safetensors
same 'info tells what its tokens are' 'tokens bpe,merges 25,min-count 1' \
    "$(grep '^tokens\|^merges\|^min-count' out | paste -s -d , -)"
cp sources in
run translate bpe.safetensors
same_bytes 'translations have words and blanks as a model of words has them' \
    targets out
run evaluate bpe.safetensors pairs.tsv
same 'every training pair is learned' 'exact_match 100.00' "$(grep exact out)"
give '\nthe \303\237at eats  zzz\n'
works 'words and characters that are new are no error' translate bpe.safetensors
same 'and an empty line stays empty' '2 lines, the first with 0 characters' \
    "$(($(wc -l < out))) lines, the first with $(($(sed -n 1p out | wc -c) - 1)) characters"
works 'attention of byte pairs' attention bpe.safetensors 'the cat sleeps' \
    --csv bpe.csv
same 'the pieces in its table, put side by side, are the sentence' \
    ' the cat sleeps<end>' \
    "$(sed -n 's/^encoder,0,0,0,[0-9]*,[^,]*,"[^"]*","\(.*\)"$/\1/p' bpe.csv |
        paste -s -d '\0' -)"
for file in bpe good; do
    head -c 4000 $file.safetensors | tr -d '\000' > $file.head
done
fits 'merges are kept in the order in which they were learned' \
    '*"source_merges":" \\ts\\n*"target_merges":"*' "$(cat bpe.head)"
same 'a model of words has none' 0 "$(grep -c source_merges good.head)"

run train pairs.tsv $pieces --merges 25 --steps 300 --model again.safetensors
same_bytes 'the same data give the same file' bpe.safetensors again.safetensors
run train pairs.tsv $pieces --merges 25 --steps 100 --model again.safetensors
works 'it is resumed' \
    train pairs.tsv --resume --steps 300 --model again.safetensors
same_bytes 'and ends in the same bits' bpe.safetensors again.safetensors
cut -f 1 pairs.tsv | sed 's/.*/&\t&/' > sources.tsv
works 'other data, resumed, do not change the pieces' \
    train sources.tsv --resume --steps 301 --model again.safetensors
head -c 4000 again.safetensors | tr -d '\000' > again.head
same 'as the file shows' \
    "$(sed 's/.*"source_vocabulary"//; s/,"source_emb.*//' bpe.head)" \
    "$(sed 's/.*"source_vocabulary"//; s/,"source_emb.*//' again.head)"
works 'the same --merges are no conflict' train pairs.tsv --resume --steps 302 \
    --merges 25 --tokens bpe --model again.safetensors
wrong 'other --merges are refused' \
    '--merges 24: the model in again.safetensors has 25' \
    train pairs.tsv --resume --merges 24 --model again.safetensors
wrong 'so are they with a model of words' \
    '--merges 24: the model in good.safetensors has 0' \
    train pairs.tsv --resume --merges 24 --model good.safetensors
wrong 'and --min-count with a model of byte pairs' \
    '--min-count 2: the model in again.safetensors has 1' \
    train pairs.tsv --resume --min-count 2 --model again.safetensors
wrong '--merges needs byte pairs' '--merges needs --tokens bpe' \
    train pairs.tsv $mini --merges 5
wrong 'characters are not merged either' '--merges needs --tokens bpe' \
    train pairs.tsv $mini --tokens char --merges 5
wrong 'byte pairs have no rare words' \
    '--min-count and --tokens bpe exclude each other' \
    train pairs.tsv $mini --min-count 2 --tokens bpe
works 'without merges, pieces are characters' train pairs.tsv $pieces --merges 0 \
    --steps 1 --model none.safetensors
run info none.safetensors
same 'which are the vocabulary, with the blank and the special tokens' \
    "source vocabulary $(($(fold -w 1 sources | sort -u | grep -c .) + 4))" \
    "$(grep '^source voc' out)"

# Fewer pieces: a smaller model, and longer sentences.
sizes() # MODEL: both vocabularies, and the tokens of the pairs
{
    run info "$1"
    sed -n 's/^[st][a-z]* vocabulary //p' out
    run evaluate "$1" pairs.tsv
    sed -n 's/^tokens //p' out
}
works 'five merges' train pairs.tsv $pieces --merges 5 --steps 1 \
    --model five.safetensors
same '--merges 5 is five pieces more than characters, for each language' '5 5' \
    "$({ sizes none.safetensors; sizes five.safetensors; } | paste -s -d ' ' - |
        awk '{ print $4 - $1, $5 - $2 }')"
same 'and their sentences are longer than with 25, shorter than with none' yes \
    "$({ sizes none.safetensors; sizes five.safetensors; sizes bpe.safetensors; } |
        paste -s -d ' ' - | awk '{ print ($3 > $6 && $6 > $9 ? "yes" : $0) }')"
run evaluate good.safetensors pairs.tsv
grep -E '^(sentences|exact_match|bleu) ' out > expected
run evaluate bpe.safetensors pairs.tsv
grep -E '^(sentences|exact_match|bleu) ' out > alone
same_bytes 'exact matches and BLEU count words, not pieces: they are those of words' \
    expected alone
works 'without --merges' train pairs.tsv $pieces --steps 1 --model most.safetensors
run info most.safetensors
same 'at most 4000 are learned' 'merges 4000' "$(grep '^merges' out)"
give 'tach sleet\n'
works 'new words of known characters' translate bpe.safetensors
same 'are not unknown' '' "$(cat err)"
give 'tach ca\303\237 sleet\n'
run translate bpe.safetensors
same 'a word with a character that the training data lack is' \
    'the model does not know 1 of the input'\''s words; the first is "caß"' "$(cat err)"

give 'the cat sleeps\nqqqqqqqqqqqqqqqqqqqq qqqqqqqqqqqqqqqqqqqq\n'
run translate bpe.safetensors
same 'a line of too many pieces says how many it has' \
    'status 1: transformer: line 2 of the input has 42 tokens; the model takes at most 40 (train with --max-len 42)' \
    "$(last_outcome)"
works 'with that --max-len' train pairs.tsv $pieces --merges 25 --max-len 42 \
    --steps 1 --model long.safetensors
give 'qqqqqqqqqqqqqqqqqqqq qqqqqqqqqqqqqqqqqqqq\n'
works 'it is not' translate long.safetensors
cp pairs.tsv longer.tsv
printf 'qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq\ta\n' >> longer.tsv
run train longer.tsv $pieces --merges 0 --steps 1 --model long.safetensors
same 'pairs that are too long are left out and counted' \
    'longer.tsv: left out 1 of 8 pairs, with more than 40 tokens' "$(sed -n 1p err)"

# The file is what the first edition wrote when it had trained on these pairs,
# and what it made of three sentences, with its mistake.
printf 'a cat sleeps\tun chat dort\na dog sleeps\tun chien dort\n' > first.tsv
printf 'the cat eats\tle chat mange\nthe dog eats\tle chien mange\n' >> first.tsv
give 'the cat sleeps\na dog eats\nthe dog eats\n'
prints 'a model of the first edition translates as it did' \
    "$(printf 'un chat chien mange\nle chien mange\nle chien mange')" \
    translate first-edition.safetensors
run evaluate first-edition.safetensors first.tsv
same 'and is as good as it was' 'loss 0.000129' "$(grep loss out)"
run info first-edition.safetensors
same 'it has no merges' 'tokens word,merges 0' \
    "$(grep '^tokens\|^merges' out | paste -s -d , -)"
works 'it can be resumed' \
    train first.tsv --resume --steps 601 --model first-edition.safetensors

# ----------------------------------------------------------------- attention
section 'attention'

works 'it shows what the model looks at' \
    attention good.safetensors 'the cat sees a dog' --csv a.csv
same 'first the translation, then an empty line' 'le chat voit un chien,' \
    "$(head -n 2 out | paste -s -d , -)"
same 'one picture for each layer' \
    'cross-attention, layer 0, mean of 2 heads;cross-attention, layer 1, mean of 2 heads' \
    "$(grep cross-attention out | paste -s -d ';' -)"
same 'the header of the CSV' \
    'kind,layer,head,query,key,weight,query_token,key_token' \
    "$(head -n 1 a.csv)"
same 'one line for each weight: 3 kinds, 2 layers, 2 heads, 6 by 6 tokens' 433 \
    "$(($(wc -l < a.csv)))"
absent 'the temporary file is gone' a.csv.1.new

# The program's promises about any attention.csv
promises() # CLAIM FILE
{
    same "$1: rows of weights sum to 1, future words have none" '' "$(awk -F , '
        NR > 1 {
            row = $1 " " $2 " " $3 " " $4
            sum[row] += $6
            if ($6 < 0 || $6 > 1) print "weight " $0
            if ($1 == "decoder" && $5 > $4 && $6 != "0") print "future " $0
        }
        END {
            for (row in sum)
                if (sum[row] < 0.99999 || sum[row] > 1.00001) print row, sum[row]
        }' "$2")"
}
promises 'six tokens' a.csv
cp out expected
run attention good.safetensors 'the cat sees a dog' \
    --target 'le chat voit un chien' --csv b.csv
same_bytes 'without --target it is the attention to its own translation' a.csv b.csv
same_bytes 'and the picture of it' expected out
works '--target: attention to another translation' \
    attention good.safetensors 'the cat sees a dog' --target 'le chat dort' --csv b.csv
same 'the --target stands above the picture' 'le chat dort' "$(head -n 1 out)"
same 'in 2 layers and 2 heads: encoder 6 by 6, decoder 4 by 4, cross 4 by 6' \
    'encoder 144,decoder 64,cross 96' \
    "$(awk -F , 'NR > 1 { n[$1]++ } END {
           print "encoder " n["encoder"] ",decoder " n["decoder"] ",cross " n["cross"]
       }' b.csv)"
promises 'another length of target' b.csv
same 'queries of the decoder are its input' '"<start>" "le" "chat" "dort"' \
    "$(grep '^decoder,0,0,.,0,' b.csv | cut -d , -f 7 | paste -s -d ' ' -)"
same 'keys of cross-attention are the source' \
    '"the" "cat" "sees" "a" "dog" "<end>"' \
    "$(grep '^cross,1,1,0,' b.csv | cut -d , -f 8 | paste -s -d ' ' -)"
works 'a sentence with quote marks and commas' \
    attention good.safetensors 'the dog says "yes, cat"' --csv q.csv
same 'tokens are quoted, and quote marks doubled' \
    '"""" "yes" "," "cat" """" "<end>"' \
    "$(sed -n 's/^encoder,0,0,0,[3-8],[^,]*,"the",//p' q.csv | paste -s -d ' ' -)"
promises 'quote marks' q.csv
works 'an unknown word' attention good.safetensors 'the zebra sleeps'
fails 'an empty sentence' 'the sentence is empty' attention good.safetensors ''
fails 'a sentence of spaces' 'the sentence is empty' \
    attention good.safetensors '  '
fails 'a sentence that is too long' \
    'the sentence has 9 tokens; the model takes at most 8 (train with --max-len 9)' \
    attention good.safetensors 'a a a a a a a a a'
fails 'a target that is too long' \
    'the target has 9 tokens; the model takes at most 8 (train with --max-len 9)' \
    attention good.safetensors a --target 'a a a a a a a a a'
fails 'a sentence that is not UTF-8' 'the sentence is not valid UTF-8' \
    attention good.safetensors "$(printf 'a\377')"
fails_late '--csv into a folder that is not there' \
    "cannot write nowhere/a.csv*: $gone" attention good.safetensors a --csv nowhere/a.csv
wrong '--csv onto the model' 'good.safetensors would be overwritten' \
    attention good.safetensors a --csv good.safetensors
fails_late '--csv onto a folder' 'cannot write .: it is not a regular file' \
    attention good.safetensors a --csv .

# ---------------------------------------------------------------------- info
section 'info'

# The numbers behind the first column's names, without commas: "name 123,…"
table() # FIRST LAST: of the part between two lines
{
    sed -n "/^$1/,/^$2/p" out | sed 's/%//; s/,//g' |
        awk 'NF > 1 && $NF ~ /^[0-9.]+$/ { n = $NF ~ /\./ ? NF - 1 : NF
             name = $1; for (i = 2; i < n; i++) name = name " " $i
             printf "%s%s %s", k++ ? "," : "", name, $n }'
}
works 'the model of the article' \
    info --vocab 10000 --d-model 512 --heads 8 --layers 6 --d-ff 2048
same 'the encoder of the article' \
    'embedding 5120000,attention 6303744,feed-forward 12598272,norms 12288,total 24034304' \
    "$(table encoder decoder)"
same 'the decoder of the article' \
    'embedding 5120000,attention 6303744,cross-attention 6303744,feed-forward 12598272,norms 18432,output layer 5130000,total 35474192,parameters 59508496' \
    "$(table decoder parameters)"
same 'large numbers have commas' '24,034,304' "$(awk '$1 == "total" { print $2; exit }' out)"
# 64 sentences of 20 tokens, by the formula of chapter 13; a megabyte is 10^6 bytes
same 'the memory of a step, in megabytes' "$(awk 'BEGIN {
    D = 512; F = 2048; H = 8; L = 6; V = 10000; S = 20; N = 64 * S
    encoder = 8 * N * D + 2 * N * F + 2 * N * H * S
    decoder = 14 * N * D + 2 * N * F + 2 * N * H * 2 * S
    printf "%.1f %.1f", 16 * 59508496 / 1e6,
        4 * (L * (encoder + decoder) + 2 * N * D + N * V) / 1e6 }')" \
    "$(sed -n 's/^  .* \([0-9.]*\) MB$/\1/p' out | paste -s -d ' ' -)"
run info --vocab 10000 --d-model 512 --heads 8 --layers 6 --d-ff 2048 --tie
same '--tie saves the matrix of the output layer' \
    'output layer 10000,total 30354192,parameters 54388496' \
    "$(table 'decoder' parameters | cut -d , -f 6-)"
run info --positions learned --max-len 9 --vocab 100
same 'learned positions are parameters, one for each place and the start' 640 \
    "$(awk '$1 == "positions" && NF > 2 { print $2; exit }' out)"
run info --norm pre --layers 3 --d-model 16
same 'before a sub-layer there is one norm more at the end' '224 320' \
    "$(awk '$1 == "norms" { printf "%s%s", n++ ? " " : "", $2 }' out)"
run info
same 'without options it tells the defaults' \
    'layers 2,d-model 64,heads 4,d-ff 256,dropout 0.1,attention-dropout 0.1,activation-dropout 0.1,norm post,positions sinusoidal,activation relu,tie no,max-len 64,batch 64' \
    "$(sed '/vocabulary/,$d' out | paste -s -d , -)"

cp out expected
run info --vocab 10000 --length 20
same_bytes 'which are 10000 words and sentences of 20 tokens, too' expected out
memory() # OPTIONS…: tenths of a megabyte that the forward pass saves
{
    run info "$@"
    sed -n 's/^  saved by the forward pass *\([0-9]*\)\.\([0-9]\) MB/\1\2/p' out
}
same '--vocab is the size of both vocabularies' \
    'source vocabulary 70,target vocabulary 70' \
    "$(run info --vocab 70; grep vocabulary out | paste -s -d , -)"
same 'a step needs more memory for longer sentences, and for more of them' yes \
    "$([ "$(memory --length 40)" -gt "$((2 * $(memory)))" ] &&
        [ "$(memory --batch 128)" -gt "$(($(memory) * 19 / 10))" ] && echo yes)"

works 'of a model file' info good.safetensors
same 'it tells how the model was made' \
    'layers 2,d-model 16,heads 2,d-ff 64,dropout 0,attention-dropout 0,activation-dropout 0,norm post,positions sinusoidal,activation relu,tie no,max-len 8,tokens word,merges 0,lowercase no,min-count 1,label-smoothing 0,lr 0.01,warmup 10,schedule noam,clip 1,batch 4,steps 200,seed 1' \
    "$(sed '/vocabulary/,$d' out | grep -v '^epochs' | paste -s -d , -)"
same 'how many words it has and how long it was trained' \
    'source vocabulary 15,target vocabulary 15,steps trained 200' \
    "$(grep -E 'vocabulary|trained' out | paste -s -d , -)"
fits 'how many parameters it has' '*,parameters 16095' "$(table decoder parameters)"
# What docs/using.md shows in Python opens a model, without a library.
if command -v python3 > /dev/null; then
    mkdir -p python/out
    cp good.safetensors python/out/model.safetensors
    sed -n '/^```python/,/^```/{/^```/d;p;}' using.md > python/open.py
    fits 'Python opens a model as docs/using.md says: its d_model and five numbers' \
        '16 (*, *, *, *, *)' \
        "$(cd python && python3 open.py 2>&1 | paste -s -d ' ' -)"
else
    skip 'opening a model in Python: there is no python3'
fi
works '--length goes with a model, too' info good.safetensors --length 30
step_of() # OPTIONS…: what a training step of the model needs
{
    run info good.safetensors "$@"
    grep '^a training step' out
}
same 'so does --batch' 'a training step with 32 sentences of 20 tokens' \
    "$(step_of --batch 32)"
same 'without it the batch is the model'\''s own' \
    'a training step with 4 sentences of 20 tokens' "$(step_of)"
wrong 'what a model has itself cannot be asked for' \
    '--layers: the model in good.safetensors has its own' info good.safetensors --layers 2
wrong 'not its heads either, although 3 would not divide the default d-model' \
    '--heads: the model in good.safetensors has its own' info good.safetensors --heads 3
wrong 'not its vocabulary either' \
    '--vocab: the model in good.safetensors has its own' info good.safetensors --vocab 50

# ---------------------------------------------------------------- bad models
section 'bad models'

for command in info translate 'evaluate+pairs.tsv' 'attention+word'; do
    name=${command%+*}
    more=${command#"$name"}
    fails "$name: a model that is not there" "cannot open nowhere: $gone" \
        $name nowhere ${more#+}
    fails "$name: a folder" 'cannot read .: Is a directory' $name . ${more#+}
    cp pairs.tsv text
    fails "$name: a text file" 'text: not a model this program can read: *' \
        $name text ${more#+}
done
cat good.safetensors | "$program" info /dev/stdin > out 2> err
status=$?
fits 'a pipe is no file' \
    'status 1: transformer: cannot read /dev/stdin: *seek' "$(outcome)"
cp pairs.tsv text.safetensors
fails 'train --resume: a text file' 'text.safetensors* not a model*' \
    train pairs.tsv --resume --model text.safetensors
fails 'train: a text file is not replaced by a model' \
    'text.safetensors is not a model, and is not replaced by one*' \
    train pairs.tsv $mini --model text.safetensors
same_bytes 'and stays as it is' pairs.tsv text.safetensors
echo note > text.safetensors
fails 'train: nor is one of a few bytes' \
    'text.safetensors is not a model, and is not replaced by one*' \
    train pairs.tsv $mini --model text.safetensors
same 'it stays, too' note "$(cat text.safetensors)"

# CLAIM PATTERN: bad.safetensors is refused, by every way to read a model
refused()
{
    fails "$1" "bad.safetensors: $2" info bad.safetensors
    if [ "$status" = 1 ]; then
        cp err first
        run translate bad.safetensors
        cmp -s err first || fails_to "$1, by translate" "$(cat first)" "$(last_outcome)"
    fi
}
not_a_model='not a model this program can read:'

: > bad.safetensors
refused 'an empty file' "$not_a_model *"

# A model in pieces: the length of its header, the header, the numbers.
if [ ! -s good.safetensors ]; then
    echo 'there is no model to take apart: the tests stop here' >&2
    exit 1
fi
size=$(($(wc -c < good.safetensors)))
header=$(dd if=good.safetensors bs=8 count=1 2> /dev/null | od -A n -t u1 |
    awk '{ print $1 + 256 * ($2 + 256 * $3) }')
dd if=good.safetensors bs=8 skip=1 count=$((header / 8)) of=good.header 2> /dev/null
dd if=good.safetensors bs=8 skip=$((1 + header / 8)) of=good.numbers 2> /dev/null
same 'the header is where it should be' '{"__metadata__":{ }' \
    "$(cut -c 1-17 good.header)$(tr -d ' ' < good.header | sed 's/.*}/ }/')"

length() # N: eight bytes, the lowest first
{
    for shift in 0 8 16 24 32 40 48 56; do
        printf "\\$(printf %o $(($1 >> shift & 255)))"
    done
}
put_together() # HEADER NUMBERS
{
    { length $(($(wc -c < "$1"))); cat "$1" "$2"; } > bad.safetensors
}
# Puts a model together whose header was changed by a command of sed.
edited()
{
    sed "$1" good.header > bad.header
    if cmp -s good.header bad.header; then
        fails_to "the test changes the header: $1" 'a change' 'none'
    fi
    put_together bad.header good.numbers
}
put_together good.header good.numbers
same_bytes 'the pieces make the whole' good.safetensors bad.safetensors

for keep in 1 7 8 9 100 $((header / 2)) $((header + 7)) $((header + 8)) \
    $((header + 9)) $((size / 2)) $((size - 4)) $((size - 1)); do
    dd if=good.safetensors bs="$keep" count=1 of=bad.safetensors 2> /dev/null
    refused "cut after $keep of $size bytes" "$not_a_model *"
done
{ cat good.safetensors; printf x; } > bad.safetensors
refused 'a byte too much at the end' "$not_a_model *"

for start in '\377\377\377\377\377\377\377\377' '\000\000\000\000\000\000\000\200' \
    '\000\000\000\000\001\000\000\000' '\000\000\000\000\000\000\000\000' \
    '\001\000\000\000\000\000\000\000'; do
    { printf "$start"; cat good.header good.numbers; } > bad.safetensors
    refused "a header of a length that cannot be: $start" "$not_a_model *"
done

# Any byte of the header may be damaged. Some make another model (a word spelled
# differently); none may crash the program or leave the user without the name.
complaints=
for byte in '\377' '"' '9'; do
    at=8
    while [ $at -lt $((8 + header)) ]; do
        cp good.safetensors bad.safetensors
        printf "$byte" |
            dd of=bad.safetensors bs=1 seek=$at conv=notrunc 2> /dev/null
        run info bad.safetensors
        case $(outcome) in
        'status 1: transformer: bad.safetensors: '* | 'status 0, 0 lines on stderr,'*) ;;
        *) complaints="$complaints byte $at is $byte: $(outcome)" ;;
        esac
        at=$((at + header / 25))
    done
done
no_complaints 'one damaged byte in the header: refused in one line, or read'

edited 's/"F32"/"F16"/'
refused 'numbers of another type' "$not_a_model the tensor * should have the entry *"
dd if=good.numbers of=bad.numbers bs=$(((size - header - 8) / 2)) count=1 2> /dev/null
put_together bad.header bad.numbers
refused 'half precision, which takes half the bytes' \
    "$not_a_model the tensor * should have the entry *"
edited 's/"shape":\[/&1,1,/'
refused 'a tensor of more dimensions' \
    "$not_a_model the tensor * should have the entry *"
edited 's/"shape":\[[0-9]*,/"shape":[99999999999999999999,/'
refused 'a shape that no machine can hold' \
    "$not_a_model the tensor * should have the entry *"
edited 's/"shape":\[\([0-9]*\)\]/"shape":[\1,]/'
refused 'a comma too much' "$not_a_model the tensor * should have the entry *"
edited 's/"shape":\[[0-9]*,/"shape":[3,/'
refused 'a shape that does not fit the size' \
    "$not_a_model the tensor * should have the entry *"
edited 's/"shape":\[\([0-9]*\),16\]/"shape":[16,\1]/'
refused 'rows and columns exchanged' \
    "$not_a_model the tensor * should have the entry *"
edited 's/"data_offsets":\[0,/"data_offsets":[4,/'
refused 'a hole at the beginning' \
    "$not_a_model the tensor * should have the entry *"
edited 's/"data_offsets":/"offsets":/'
refused 'an unknown key' "$not_a_model the tensor * should have the entry *"
edited 's/"dtype":"F32",/&&/'
refused 'a key twice' "$not_a_model the tensor * should have the entry *"
edited 's/"decoder\.0\.self_attention\.query\.weight"/"decoder.0.what"/'
refused 'a tensor of another name' \
    "$not_a_model the tensor decoder.0.what does not belong there, or is there twice*"
edited \
    's/"decoder\.0\.cross_attention\.query\.bias"/"decoder.0.self_attention.query.bias"/'
refused 'a tensor twice' \
    "$not_a_model the tensor decoder.0.self_attention.query.bias does not belong there, or is there twice*"
edited 's/,"adam\.v\.[^}]*}//'
refused 'a tensor missing in the header' "$not_a_model *"
edited 's/^{"__metadata__":{[^}]*},/{"__metadata__":{},/'
refused 'no metadata' "$not_a_model *"
edited 's/^{"__metadata__":{[^}]*},/{/'
refused 'no metadata at all' "$not_a_model its header should go on with *__metadata__*"
edited 's/} *$/} x/'
refused 'something behind the header' \
    "$not_a_model something after the end of its header*"
edited 's/} *$//'
refused 'a header that does not end' "$not_a_model *"
printf '{"__meta' > bad.header
put_together bad.header good.numbers
refused 'a header that ends in a word' "$not_a_model *"
length $((101 << 20)) > bad.safetensors
dd if=/dev/null of=bad.safetensors bs=1 seek=$((102 << 20)) 2> /dev/null
refused 'a header of 101 megabytes, which are there' \
    "$not_a_model no safetensors header, or cut short*"
rm bad.safetensors
edited 's/chien/chi\\u0065n/'
refused 'a character written as its number' \
    "$not_a_model a string with an escape by number (\\\\u); write it as UTF-8*"
rm bad.safetensors
{ printf '{'; awk 'BEGIN { for (i = 0; i < 5000; i++) printf "[[[[[[[[[[" }'; } > bad.header
put_together bad.header good.numbers
refused 'nonsense, deeply nested' "$not_a_model *"

keys='format layers d_model heads d_ff dropout norm positions activation tie
    max_len tokens lowercase min_count label_smoothing lr warmup schedule clip
    batch epochs steps seed step source_vocabulary target_vocabulary'
complaints=
for key in $keys; do
    edited "s/\"$key\":/\"x$key\":/"
    run info bad.safetensors
    case $(outcome) in
    "status 1: transformer: bad.safetensors: $not_a_model no metadata for $key "*) ;;
    *) complaints="$complaints$key: $(outcome)
" ;;
    esac
done
no_complaints 'each string of the metadata is missed'
complaints=
for value in layers=0 layers=two d_model=-16 heads=0 d_ff=1.5 dropout=1 norm=both \
    positions=1 activation= tie=1 max_len=0 tokens=bytes lowercase=maybe \
    min_count=0 label_smoothing=nan lr=-1 warmup=0 schedule=x clip=0 batch=0 \
    epochs=0 steps=-1 seed=x step=-1 step=x step=1x step= attention_dropout=1 \
    activation_dropout=x; do
    key=${value%%=*} value=${value#*=}
    edited "s/\"$key\":\"[^\"]*\"/\"$key\":\"$value\"/"
    run info bad.safetensors
    case $(outcome) in
    "status 1: transformer: bad.safetensors: $not_a_model the metadata says $key \"$value\""*) ;;
    *) complaints="$complaints$key=$value: $(outcome)
" ;;
    esac
done
no_complaints 'values of the metadata that are not allowed are refused, with name and value'
edited 's/"heads":"2"/"heads":"3"/'
refused 'heads that do not divide d_model' "$not_a_model 3 heads cannot share a d-model of 16: it must be a multiple*"
edited 's/"layers":"2"/"layers":"3"/'
refused 'settings that ask for more than there is' \
    "$not_a_model the tensor encoder.2.self_attention.query.weight is missing*"
edited 's/"layers":"2"/"layers":"100"/; s/"d_model":"16"/"d_model":"65536"/'
claim='settings that ask for more than any machine has'
if in_32_bits; then
    fails "$claim" 'out of memory: 6.554e+04 times 6.554e+04 is more than *' \
        info bad.safetensors
else
    refused "$claim" \
        "$not_a_model the tensor source_embedding.weight should have the entry *"
fi
edited 's/"format":"[^"]*"/"format":"transformer.c 2"/'
refused 'a later format' \
    "$not_a_model the metadata says format \"transformer.c 2\", which is not allowed*"
edited 's/"format":"[^"]*"/"format":"x\\ny\\r\\b"/'
refused 'whatever the file says, the message is one line' \
    "$not_a_model the metadata says format \"x?y??\", which is not allowed*"
same 'a message has no control characters' 0 "$(($(tr -d -c '\033\r\b' < err | wc -c)))"
edited 's/"seed":"1"/&,&/'
refused 'a metadata name twice' "$not_a_model metadata twice: seed*"
edited 's/\\ncat/\\ndog/'
refused 'a word twice in a vocabulary' \
    "$not_a_model source_vocabulary: token * is not in its place*"
edited 's/\\ncat//'
refused 'a word less than the model has' \
    "$not_a_model the tensor source_embedding.weight should have the entry *"
edited 's/\\ncat/\\n/'
refused 'an empty word' \
    "$not_a_model source_vocabulary: token * is not in its place*"
edited 's/<unknown>/<what>/'
refused 'other special tokens' \
    "$not_a_model source_vocabulary: token 3 is not in its place*"
edited 's/"source_vocabulary":"[^"]*/"source_vocabulary":"<pad>/'
refused 'a vocabulary of one' '*'

# A number that is not one: in the parameters, and in Adam's moments
for at in 0 $((size - header - 12)); do
    for bits in '\000\000\300\177' '\000\000\200\377'; do
        cp good.numbers bad.numbers
        printf "$bits" | dd of=bad.numbers bs=1 seek=$at conv=notrunc 2> /dev/null
        put_together good.header bad.numbers
        claim="not a number at byte $at of the numbers: $bits"
        wrong_value="$not_a_model the tensor * has a value that is not finite*"
        if [ $at = 0 ]; then
            refused "$claim" "$wrong_value"
        else
            works "$claim: to use the model does no harm" info bad.safetensors
        fi
        fails "$claim: it cannot be resumed" "bad.safetensors: $wrong_value" \
            train pairs.tsv --resume --epochs 999 --model bad.safetensors
    done
done

# Numbers that are finite, and so large that no loss comes of them
awk 'BEGIN { for (i = 0; i < 700; i++) printf "\\377\\377\\177\\177" }' > huge
cp good.numbers bad.numbers
printf "$(cat huge)" | dd of=bad.numbers conv=notrunc 2> /dev/null
put_together good.header bad.numbers
fails 'evaluate: a loss that is not a number is said' \
    'bad.safetensors: its loss on pairs.tsv is not a number' \
    evaluate bad.safetensors pairs.tsv

for how in '' '--beam 4' '--beam 4 --scores'; do
    cp sources in
    fails "translate $how: it is said that its numbers are not finite" \
        "*the model's numbers are not finite" translate bad.safetensors $how
done
fails 'attention: so it is' "*the model's numbers are not finite" \
    attention bad.safetensors 'the cat' --csv bad.csv
fails 'also if the translation is given' \
    "*the model's numbers are not finite" \
    attention bad.safetensors 'the cat' --target 'le chat' --csv bad.csv
absent 'no CSV is written of them' bad.csv

# What is harmless is read.
sed 's/":/" :	/g; s/},/} , /g' good.header > bad.header
put_together bad.header good.numbers
cp sources in
prints 'white space between the parts of the header is allowed' "$(cat targets)" \
    translate bad.safetensors
edited 's/"seed":"1"/&,"author":"somebody else"/'
works 'metadata of others is allowed' info bad.safetensors

# As other programs would save it: the parameters alone
sed 's/,"adam\.[^}]*}//g' good.header > bad.header
dd if=good.numbers bs=$(($(wc -c < good.numbers) / 3)) count=1 of=bad.numbers 2> /dev/null
put_together bad.header bad.numbers
cp sources in
prints 'a model without the moments of Adam translates' "$(cat targets)" \
    translate bad.safetensors
fails 'a model without the moments of Adam cannot be resumed' \
    "bad.safetensors: without the optimizer's state it cannot be resumed" \
    train pairs.tsv --resume --epochs 1000 --model bad.safetensors

# ------------------------------------------------------------------- writing
section 'writing'

fails 'a model into a folder that is not there, before training starts' \
    "cannot write nowhere/m*: $gone" train pairs.tsv $mini --model nowhere/m
mkdir folder
fails 'a folder as model' 'cannot write folder: it is not a regular file' \
    train pairs.tsv $mini --model folder
rmdir folder
fails 'a device as model' 'cannot write /dev/null: it is not a regular file' \
    train pairs.tsv $mini --model /dev/null
fails 'a log into a folder that is not there' \
    "cannot write nowhere/log: $gone" \
    train pairs.tsv $mini --log nowhere/log --model w.safetensors
fails_late 'a folder as log' 'cannot write .: *' \
    train pairs.tsv $mini --log . --model w.safetensors
absent 'nothing was trained in all these cases' w.safetensors

if (: > /dev/full) 2> /dev/null && ! (echo > /dev/full) 2> /dev/null; then
    full='No space left on device'
    for command in 'translate good.safetensors' 'evaluate good.safetensors pairs.tsv' \
        'attention good.safetensors cat' 'info good.safetensors' info --help \
        --version 'train --help'; do
        cp sources in
        to=/dev/full
        fails "$command: the output goes to a full disk" \
            "cannot write the output: $full" $command
    done
    fails_late 'the log goes to a full disk: the model is saved all the same' \
        "cannot write /dev/full: $full (step 1 is saved in w.safetensors, but not in the log)" \
        train pairs.tsv $mini --steps 100 --log /dev/full --model w.safetensors
    run info w.safetensors
    same 'the saved model has the step that was trained' 'steps trained 1' "$(grep trained out)"
else
    skip 'output to a full disk: there is no /dev/full'
fi

# A limit on the size of files is like a full disk for the model alone.
limited() # LIMIT COMMAND…: as run does, with a limit in blocks of 512 bytes
{
    limit=$1
    shift
    (
        trap '' XFSZ
        ulimit -S -f "$limit"
        exec "$program" "$@" --threads 1
    ) < /dev/null > out 2> err
    status=$?
}
cp r4.safetensors w.safetensors
limited 16 train pairs.tsv --resume --epochs 1000 --model w.safetensors
fits 'the model does not fit on the disk' \
    'status 1: transformer: cannot write w.safetensors: File too large (what was there before is unchanged)' \
    "$(last_outcome)"
same_bytes 'the model that was there is unchanged' r4.safetensors w.safetensors
absent 'no half a model is left beside it' w.safetensors.1.new
cp b.csv w.csv
limited 16 attention good.safetensors 'the cat sees a dog' --csv w.csv
fits 'the CSV does not fit on the disk' \
    'status 1: transformer: cannot write w.csv: File too large (what was there before is unchanged)' \
    "$(last_outcome)"
same_bytes 'the CSV that was there is unchanged' b.csv w.csv
absent 'no half a CSV is left beside it' w.csv.1.new
same 'no temporary file is left by any test' '' "$(find . -name '*.new')"

# --------------------------------------------------------------------- files
section 'files'

# CLAIM FILE NAME…: none of the names may be written to, however it is spelled,
# and the file stays as it is
protects()
{
    claim=$1 kept=$2 as=$3
    shift 3
    cp "$kept" kept
    wrong "$claim" "$as would be overwritten" "$@"
    same_bytes "$claim: it is not" kept "$kept"
}
cp pairs.tsv d.tsv
mkdir -p sub
ln -sf d.tsv link.tsv
ln -f d.tsv hard.tsv
ln -sfn sub way
protects 'data as model, in another spelling' d.tsv d.tsv train d.tsv $mini --model ./d.tsv
protects 'data as model, through a folder' d.tsv d.tsv train d.tsv $mini --model sub/../d.tsv
protects 'a link to the data as model' d.tsv d.tsv train d.tsv $mini --model link.tsv
protects 'another name of the data as log' d.tsv d.tsv train d.tsv $mini --log hard.tsv
protects 'data through a link, as model' d.tsv link.tsv train link.tsv $mini --model d.tsv
protects 'validation data as log' d.tsv ./d.tsv train pairs.tsv $mini --valid ./d.tsv --log d.tsv
cp good.safetensors c.safetensors
ln -sf c.safetensors c.link
protects 'attention: the model as CSV, through a link' c.safetensors c.link \
    attention c.safetensors a --csv c.link
wrong 'model and log are one file that is not there yet' 'way/x would be overwritten' \
    train pairs.tsv $mini --model sub/x --log way/x
works 'two names in different folders are two files' \
    train pairs.tsv $mini --steps 1 --model x --log sub/x

# A file is written under a name that nobody has.
cp pairs.tsv t.new
works 'data called t.new, a model called t' train t.new $mini --steps 1 --model t
same_bytes 'the data are still there' pairs.tsv t.new
cp pairs.tsv t.1.new
works 'the name t.1.new is taken' train pairs.tsv $mini --steps 1 --model t
same_bytes 'it stays as it is' pairs.tsv t.1.new
run train nowhere.tsv --model t
same_bytes 'also if the training fails' pairs.tsv t.1.new
rm t.1.new
for name in t.new t.1.new; do
    rm -f t.new t.1.new
    ln -s d.tsv $name
    works "$name is a link" train pairs.tsv $mini --steps 1 --model t
    same_bytes "what the link $name points to stays" pairs.tsv d.tsv
    rm -f $name
    mkfifo $name
    "$program" train pairs.tsv $mini --steps 1 --model t > out 2> err < in &
    process=$!
    (sleep 20; kill -9 $process) 2> /dev/null &
    wait $process
    same "$name is a pipe: nobody waits" 0 $?
    kill $! 2> /dev/null
    rm -f $name
done

# Two trainings write to one model: every look finds a whole one.
for n in 1 2; do
    "$program" train pairs.tsv $mini --epochs 600 --seed $n --threads 1 \
        --model both > /dev/null 2> both.$n &
    eval "process$n=\$!"
done
complaints=
until [ -f both ]; do :; done
while kill -0 $process1 2> /dev/null || kill -0 $process2 2> /dev/null; do
    run info both
    [ "$status" = 0 ] || complaints="$complaints$(outcome)
"
done
wait $process1 || complaints="$complaints$(tail -n 1 both.1)"
wait $process2 || complaints="$complaints$(tail -n 1 both.2)"
no_complaints 'two trainings on one model: every look finds a whole one'

mode() # FILE: its permissions, as ls shows them
{
    ls -l "$1" | cut -c 1-10
}
works 'a model that nobody else may read' train pairs.tsv $mini --steps 1 --model secret
chmod 600 secret
works 'is trained on' train pairs.tsv --resume --steps 2 --model secret
same 'still nobody else may read it' '-rw-------' "$(mode secret)"
for bits in 664 646 770; do
    chmod $bits secret
    before=$(mode secret)
    works "a model with the permissions $bits" train pairs.tsv $mini --steps 1 --model secret
    same 'another run does not change them' "$before" "$(mode secret)"
done
chmod 600 secret
cp secret sub/real
cp r2.csv sub/log
ln -sf sub/real far.safetensors
ln -sf sub/log far.csv
works 'model and log are links' train pairs.tsv --resume --steps 3 \
    --model far.safetensors --log far.csv
same 'the links are still links' 'll' "$(mode far.safetensors | cut -c 1)$(mode far.csv | cut -c 1)"
run info sub/real
same 'the model behind the link is the new one' 'steps trained 3' "$(grep trained out)"
same 'so is the log' 3 "$(tail -n 1 sub/log | cut -d , -f 1)"
works 'a CSV through a link' attention good.safetensors a --csv far.csv
same 'the file behind it is the new one' 'kind,layer' "$(head -n 1 sub/log | cut -d , -f 1,2)"
ln -sf sub/none nowhere.safetensors
fails 'a link that leads nowhere is not replaced' \
    'cannot write nowhere.safetensors: it is not a regular file' \
    train pairs.tsv $mini --steps 1 --model nowhere.safetensors
same 'no temporary file is left here either' '' "$(find . -name '*.new')"

# ------------------------------------------------------- signals and streams
section 'signals and streams'

# stopped SIGNAL COMMAND…: sends it to a long training after its first steps
stopped()
{
    signal=$1
    shift
    rm -f broken.*
    $foreground "$@" train pairs.tsv $mini --steps 2000000000 --threads 1 \
        --model broken.safetensors --log broken.csv < in > out 2> err &
    process=$!
    until [ "$(wc -l 2> /dev/null < broken.csv || echo 0)" -ge 100 ] ||
        ! kill -0 $process 2> /dev/null; do :; done
    kill -$signal $process
    [ $signal != HUP ] || [ $# = 1 ] || kill -TERM $process
    wait $process
    status=$?
}
stopped HUP "$program"
fits 'the terminal is closed: it saves' \
    'status 129: stopped at step *; go on with --resume; broken.safetensors; *' \
    "$(last_outcome)"
works 'the model is there' info broken.safetensors
stopped TERM "$program"
fits 'kill: it saves' 'status 143: stopped at step *' "$(last_outcome)"
cat > nohup.sh << END
trap '' HUP
exec "$program" "\$@"
END
stopped HUP sh nohup.sh
fits 'a signal that is ignored when it begins stays ignored' \
    'status 143: stopped at step *' "$(last_outcome)"

# As with `train | tee` after Ctrl-C: whoever reads its messages goes first.
mkfifo said.pipe log.pipe
rm -f broken.*
head -n 1 said.pipe > /dev/null &
"$program" train pairs.tsv $mini --steps 400 --threads 1 \
    --model broken.safetensors < in 2> said.pipe
trained=$?
wait $!
run info broken.safetensors
same 'nobody reads its messages any more: it trains and saves all the same' \
    'status 0, steps trained 400' "status $trained, $(grep '^steps trained' out)"
head -n 3 log.pipe > /dev/null &
"$program" train pairs.tsv $mini --steps 40000 --threads 1 \
    --model broken.safetensors --log log.pipe < in > out 2> err
status=$?
wait $!
fits 'nobody reads its log any more: it saves, and says so' \
    'status 1: transformer: cannot write log.pipe: Broken pipe (step * is saved in broken.safetensors, but not in the log)' \
    "$(last_outcome)"
step=$(sed -n 's/.*(step \([0-9]*\) is saved.*/\1/p' err)
run info broken.safetensors
same 'that step is there' "steps trained $step" "$(grep '^steps trained' out)"
rm said.pipe log.pipe

cp good.safetensors w.safetensors
(ulimit -S -f 16
    exec "$program" train pairs.tsv --resume --epochs 1000 --model w.safetensors \
        --threads 1) < in > out 2> err
status=$?
fits 'a limit on the size of files is said' \
    'status 1: transformer: cannot write w.safetensors: File too large *' "$(last_outcome)"
same_bytes 'the model is unchanged' good.safetensors w.safetensors

"$program" train pairs.tsv $mini --steps 20 --threads 1 --model w.safetensors \
    --log w.csv < in > out 2>&-
same 'with stderr closed it works' 0 $?
same 'the header and twenty rows are in the log' 21 \
    "$(grep -c -E '^([0-9]+,train|step),' w.csv)"
same 'and no other line' 21 "$(($(wc -l < w.csv)))"
"$program" attention good.safetensors a --csv w.csv >&- 2> err
status=$?
fits 'with stdout closed it fails' \
    'status 1: transformer: cannot write the output: *' "$(last_outcome)"
"$program" translate good.safetensors <&- > out 2> err
status=$?
fits 'with stdin closed it fails' \
    'status 1: transformer: cannot read the input: Bad file descriptor' "$(last_outcome)"
rm w.safetensors w.csv

# ------------------------------------------------------------------ terminal
section 'a terminal'

# COMMAND: runs it at a terminal that script(1) of util-linux makes, with what
# `give` has made ready as keys. All that the terminal shows is in the file out.
# The shell is named since others count blocks of another size.
terminal()
{
    SHELL=/bin/sh script -q -e -c "$1" /dev/null < in > out 2> err
    status=$?
    : > in
}
# CLAIM PATTERN: status 0, and the terminal shows it. \r stands for itself.
shows()
{
    if [ "$status" = 0 ] && grep -q "$(printf "$2")" out; then
        holds "$1"
    else
        fails_to "$1" "status 0, and somewhere: $2" "status $status, $(cat out)"
    fi
}

if script --version 2> /dev/null | grep -q util-linux; then
    train="'$program' train pairs.tsv --threads 1"
    terminal "$train $mini --steps 40 --model t.safetensors"
    shows 'the first step is shown at once' 'step 1/40 .* left'
    shows 'the line is rewritten, and never wrapped' \
        'left *\033\[?7h\r\033\[?7lstep [0-9]*/40 '
    terminal "$train $(echo $wild) --steps 2000 --model t2.safetensors"
    same 'a message of failure has a line of its own' \
        'status 1, 1 line' "status $status, $(grep -c '^transformer: step' out) line"
    terminal "trap '' XFSZ; ulimit -S -f 96
        $train $mini --steps 20000 --model t3.safetensors --log t3.csv"
    same 'so has that of a log that does not fit on the disk' \
        'status 1, 1 line' \
        "status $status, $(grep -c '^transformer: cannot write t3.csv' out) line"
    terminal "trap '' XFSZ; ulimit -S -f 48
        $train $mini --steps 20000 --model t4.safetensors --log t4.csv"
    same 'so has that of a model that does not fit there either' \
        'status 1, 1 line' \
        "status $status, $(grep -c '^transformer: cannot write t4.saf' out) line"
    give 'the cat sleeps\na dog sleeps\n'
    terminal "'$program' translate good.safetensors --threads 1"
    shows 'each line is answered' 'un chien dort'
    terminal "'$program' info --layers 3"
    shows 'info is the same there' 'layers 3'
else
    skip 'what is shown at a terminal: there is no script of util-linux'
fi

echo
totals

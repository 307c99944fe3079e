#!/bin/sh
# notebook/mpi.c with Open MPI and MPICH: the same bits with any number of ranks
# and threads, and what happens when something goes wrong.
#
#     sh tests/mpi.sh                       both libraries, 30 steps
#     LIBRARIES=mpich sh tests/mpi.sh       one of them
#     STEPS=500 RANKS="1 2 3 4" THREADS="1 2" sh tests/mpi.sh
#
# CSV=FILE writes the table: library, ranks, threads, digest of the model. The
# libraries are those of Debian: openmpi-bin and libopenmpi-dev, mpich and
# libmpich-dev.
#
# Lists of options are kept in variables that the shell is meant to split:
# shellcheck disable=SC2016,SC2086

LC_ALL=C
export LC_ALL
unset MAKEFLAGS
STEPS=${STEPS:-30}
RANKS=${RANKS:-2 3}
THREADS=${THREADS:-1}
LIBRARIES=${LIBRARIES:-openmpi mpich}
. tests/checks.sh
root=$PWD
folder=$PWD/build/mpi
rm -rf "$folder"
mkdir -p "$folder"
ulimit -c 0
echo library,ranks,threads,sha256 > "${CSV:=$folder/table.csv}"

# make_mpi LIBRARY NAME [VARIABLE...]: builds it, as a program of that name
make_mpi()
{
    library=$1 name=$2
    shift 2
    make -s mpi MPICC="mpicc.$library" "$@" && cp build/notebook/mpi "$folder/$name"
}

# planted LIBRARY: a program whose seventh step goes a little wrong
planted()
{
    mkdir -p "$folder/planted/notebook/lib"
    cp notebook/mpi.c "$folder/planted/notebook"
    cp notebook/lib/lab.h "$folder/planted/notebook/lib"
    sed 's/real f = (real)factor,/real f = (real)(t == 7 ? .99 * factor : factor),/' \
        transformer.c > "$folder/planted/transformer.c"
    ! cmp -s transformer.c "$folder/planted/transformer.c" \
        && mpicc."$1" -std=c11 $flags "$folder/planted/notebook/mpi.c" \
            -o "$folder/planted.$1" -lm
}

# launch LIBRARY ARGUMENT...: its mpirun
launch()
{
    more=
    [ "$1" = mpich ] || more="--allow-run-as-root --oversubscribe --bind-to none"
    launcher=mpirun.$1
    shift
    timeout --foreground 600 "$launcher" $more "$@"
}

sha()
{
    sha256sum "$1" | cut -d ' ' -f 1
}

# one_line TEXT: of all that was said, one line is of the program, and has TEXT
one_line()
{
    cat said
    [ "$(grep -c '^\(rank [0-9]*: \)\{0,1\}transformer: ' said)" = 1 ] \
        && grep '^\(rank [0-9]*: \)\{0,1\}transformer: ' said | grep -qF -e "$1"
}

# refused STATUS TEXT command...: ends so, says so in one line, writes no model
refused()
{
    wanted=$1 text=$2
    shift 2
    rm -f refused.safetensors
    "$@" > said 2>&1
    status=$?
    echo "status $status, wanted $wanted"
    one_line "$text" && [ $status = "$wanted" ] && [ ! -e refused.safetensors ]
}

# -------------------------------------------------------------- the same bits

model="train $root/data/eng-fra.train.tsv --layers 1 --batch 32 --steps $STEPS"

# same LIBRARY RANKS THREADS: the run ends in the bits of the first
same()
{
    rm -f same.safetensors
    OMP_NUM_THREADS=$3 launch "$1" -n "$2" "./mpi.$1" $model --threads "$3" \
        --model same.safetensors || return
    echo "$1,$2,$3,$(sha same.safetensors)" >> "$CSV"
    cmp same.safetensors one.safetensors
}

fast()
{
    rm -f fast.safetensors
    launch "$1" -n 2 "./mpi.$1" $model --fast --model fast.safetensors \
        > said 2>&1 || return
    cat said
    grep -q 'other bits with another number of ranks' said \
        && ! cmp -s fast.safetensors one.safetensors
}

# kept LIBRARY: the number of micro-batches is in the file
kept()
{
    launch "$1" -n 2 "./mpi.$1" $model --micro-batches 4 --model four.safetensors \
        && launch "$1" -n 1 "./mpi.$1" $model --micro-batches 4 --steps 10 \
            --model kept.safetensors \
        && launch "$1" -n 4 "./mpi.$1" $model --resume --model kept.safetensors \
        && cmp four.safetensors kept.safetensors
}

# used PROGRAM: the other program reads the model
used()
{
    echo "the red car is fast" | "$1" translate one.safetensors \
        && "$1" info one.safetensors
}

# plain PROGRAM: one micro-batch is what transformer.c trains
plain()
{
    launch "$1" -n 1 "./mpi.$1" $model --micro-batches 1 --model plain.safetensors \
        && "$root/transformer" $model --model transformer.safetensors \
        && cmp plain.safetensors transformer.safetensors
}

bits()
{
    check "$1: one rank trains" launch "$1" -n 1 "./mpi.$1" $model \
        --model "one.$1.safetensors"
    [ -f one.safetensors ] || cp "one.$1.safetensors" one.safetensors
    for ranks in $RANKS; do
        for threads in $THREADS; do
            check "$1: $ranks ranks with $threads threads each: the same bits" \
                same "$1" "$ranks" "$threads"
        done
    done
    check "$1: with one micro-batch they are those of transformer train" plain "$1"
    check "$1: a resumed run knows how many micro-batches it has" kept "$1"
    check "$1: --fast says that it gives up the bits, and does" fast "$1"
    check "$1: transformer translates with the model, and describes it" \
        used "$root/transformer"
}

# ------------------------------------------------------------ what goes wrong

tiny="--layers 1 --d-model 32 --steps 40 --model refused.safetensors"
long="train $root/data/eng-fra.train.tsv --steps 120 --log l.csv"

wrong_from_the_start()
{
    data=$root/data/eng-fra.valid.tsv other=$root/data/eng-fra.test.tsv
    check "$1: an option that makes no sense is said once" refused 2 \
        '--layers: "x" is not a whole number' launch "$1" -n 2 "./mpi.$1" train \
        "$data" --layers x
    check "$1: so is a number of micro-batches" refused 2 \
        '--micro-batches: "0" is not a whole number' launch "$1" -n 2 "./mpi.$1" \
        train "$data" --micro-batches=0
    check "$1: and too many ranks" refused 2 "3 ranks cannot share 2" \
        launch "$1" -n 3 "./mpi.$1" train "$data" --micro-batches 2
    check "$1: a file that is not there is said once" refused 1 \
        "cannot open nothing.tsv" launch "$1" -n 2 "./mpi.$1" train nothing.tsv
    check "$1: a rank that lacks it says so" refused 1 \
        "rank 1: transformer: cannot open nothing.tsv" launch "$1" \
        -n 1 "./mpi.$1" train "$data" $tiny : -n 1 "./mpi.$1" train nothing.tsv $tiny
    check "$1: other data on a rank" refused 1 \
        "not the same training data as on rank 0: rank 1" launch "$1" \
        -n 1 "./mpi.$1" train "$data" $tiny : -n 1 "./mpi.$1" train "$other" $tiny
    check "$1: other options" refused 1 "not the same options as on rank 0: rank 1" \
        launch "$1" -n 1 "./mpi.$1" train "$data" $tiny \
        : -n 1 "./mpi.$1" train "$data" $tiny --lr 0.1
    check "$1: another build" refused 1 \
        "not the same first gradient (another build or processor?) as on rank 0: rank 2" \
        launch "$1" -n 2 "./mpi.$1" train "$data" $tiny \
        : -n 1 "./portable.$1" train "$data" $tiny
}

# The ranks differ from step 7 on; the looks are at steps 2, 4, 6, 8.
differing()
{
    rm -f l.csv
    refused 1 "not the same parameters after step 8 (which is not saved) as on rank 0: rank 1" \
        launch "$1" -n 1 "./mpi.$1" train "$root/data/eng-fra.valid.tsv" $tiny \
        --model kept.safetensors : -n 1 "./planted.$1" train \
        "$root/data/eng-fra.valid.tsv" $tiny --model kept.safetensors || return
    "$root/transformer" info kept.safetensors | grep -q '^steps trained 6$'
}

# begin LIBRARY RANKS: a run in the background, up to its first look. $run is
# its mpirun; pid.R has the process of rank R.
begin()
{
    rm -f pid.* m.safetensors m.safetensors.* l.csv
    more=
    [ "$1" = mpich ] || more="--allow-run-as-root --oversubscribe --bind-to none"
    mpirun."$1" $more -n "$2" sh -c \
        'echo $$ > pid.${OMPI_COMM_WORLD_RANK:-$PMI_RANK}; exec "$@"' \
        sh "./mpi.$1" $long --model m.safetensors > said 2>&1 &
    run=$!
    tries=0
    while [ ! -f m.safetensors ]; do
        sleep 0.05
        tries=$((tries + 1))
        [ $tries -lt 1200 ] && kill -0 $run || return
    done
}

# ended: the run has ended before its last step. $status is that of mpirun.
ended()
{
    wait $run
    status=$?
    cat said
    echo "status $status"
    ! grep -q '^done at' said
}

# resumed LIBRARY RANKS: the run goes on, and ends as if nothing had happened
resumed()
{
    ls
    "$root/transformer" info m.safetensors | grep '^step' \
        && launch "$1" -n "$2" "./mpi.$1" $long --resume --model m.safetensors \
        && cmp m.safetensors whole.safetensors \
        && cut -d , -f 1-6 l.csv | cmp - whole.csv
}

whole()
{
    rm -f l.csv
    launch "$1" -n 1 "./mpi.$1" $long --model whole.safetensors \
        && cut -d , -f 1-6 l.csv > whole.csv
}

killed()
{
    begin "$1" 3 && kill -9 "$(cat pid.1)" && ended && [ $status != 0 ] \
        && grep -qi "killed\|signal 9\|KILLED BY SIGNAL: 9" said && resumed "$1" 2
}

# Open MPI gives the ranks a second, which may be too short for a step, or leave
# the new file behind; the status of MPICH's mpirun is sometimes that of the
# ranks and sometimes 0.
interrupted()
{
    begin "$1" 2 && kill -INT $run && ended && rm -f m.safetensors.new \
        && { [ "$1" = openmpi ] || grep '^stopped at step' said; } \
        && resumed "$1" 3
}

# A limit on the size of files is like a full disk.
disk_full()
{
    begin "$1" 2 && prlimit --pid "$(cat pid.0)" --fsize=100000 && ended \
        && [ $status != 0 ] \
        && one_line "cannot write m.safetensors: File too large" \
        && [ ! -e m.safetensors.new ] && resumed "$1" 3
}

wrong_on_the_way()
{
    check "$1: ranks that come to differ are named; the file is of the look before" \
        differing "$1"
    check "$1: a whole run, to compare with" whole "$1"
    check "$1: what fails after the last step is said, too" refused 1 \
        "cannot write last.safetensors: File too large" launch "$1" -n 2 \
        prlimit --fsize=4096 "./mpi.$1" train "$root/data/eng-fra.valid.tsv" \
        $tiny --steps 1 --model last.safetensors
    check "$1: kill -9 of rank 1 of 3 ends the run; 2 ranks go on to the same bits" \
        killed "$1"
    check "$1: so does Ctrl-C of mpirun, and 3 go on" interrupted "$1"
    check "$1: a full disk is said once, the file is whole, and 3 go on" \
        disk_full "$1"
}

flags=$(make -s --eval='flags: ; @echo $(CFLAGS)' flags)
check "make transformer" make -s transformer
for library in $LIBRARIES; do
    check "$library: make mpi" make_mpi "$library" "mpi.$library"
    check "$library: make mpi PORTABLE=1" make_mpi "$library" "portable.$library" \
        PORTABLE=1
    check "$library: with a mistake planted" planted "$library"
done
cd "$folder" || exit 1
for library in $LIBRARIES; do
    bits "$library"
    wrong_from_the_start "$library"
    wrong_on_the_way "$library"
done
totals

#!/bin/sh
# notebook/programs/mpi.c with Open MPI and MPICH: the same bits with any number of ranks
# and threads, and what happens when something goes wrong.
#
#     sh notebook/test/mpi.sh                       both libraries, 30 steps
#     LIBRARIES=mpich sh notebook/test/mpi.sh       one of them
#     STEPS=500 RANKS="1 2 3 4" THREADS="1 2" sh notebook/test/mpi.sh
#
# CSV=FILE writes the table: library, ranks, threads, digest of the model. The
# libraries are those of Debian: openmpi-bin and libopenmpi-dev, mpich and
# libmpich-dev.
#
# Lists of options are kept in variables that the shell is meant to split:
# shellcheck disable=SC2016,SC2086

export LC_ALL=C
# Open MPI's mpirun takes more ranks than cores, and root.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none
unset MAKEFLAGS
STEPS=${STEPS:-30}
. tests/lib/checks.sh
root=$PWD
folder=$PWD/build/mpi
rm -rf "$folder"
mkdir -p "$folder"
ulimit -c 0
echo library,ranks,threads,sha256 > "${CSV:=$folder/table.csv}"

holds() # CLAIM command...: check, with the library's name before the claim
{
    what=$1
    shift
    check "$library: $what" "$@"
}

make_mpi()
{
    make -s mpi MPICC="mpicc.$library" && cp build/notebook/mpi "$folder/mpi.$library"
}

# A program whose seventh step is slightly wrong.
planted()
{
    mkdir -p "$folder/planted"
    cp -r notebook "$folder/planted"
    sed 's/real f = (real)factor,/real f = (real)(t == 7 ? .99 * factor : factor),/' \
        transformer.c > "$folder/planted/transformer.c"
    ! cmp -s transformer.c "$folder/planted/transformer.c" \
        && mpicc."$library" -std=c11 $flags "$folder/planted/notebook/programs/mpi.c" \
            -o "$folder/planted.$library" -lm
}

# launch ARGUMENT...: the library's mpirun
launch()
{
    timeout --foreground 600 "mpirun.$library" "$@"
}

# mpi RANKS ARGUMENT...: the program, on RANKS ranks
mpi()
{
    ranks=$1
    shift
    launch -n "$ranks" "./mpi.$library" "$@"
}

# one_line TEXT: only one line of the output is the program's, and it has TEXT
one_line()
{
    cat said
    grep '^transformer: ' said > own
    [ "$(wc -l < own)" = 1 ] && grep -qF -e "$1" own
}

# refused STATUS TEXT command...: it ends with STATUS, prints TEXT, saves no model
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

pairs="train $root/data/eng-fra.train.tsv"
model="$pairs --layers 1 --batch 32 --steps $STEPS"

# same RANKS THREADS: the run ends with the same bits as the first
same()
{
    rm -f same.safetensors
    OMP_NUM_THREADS=$2 mpi "$1" $model --threads "$2" --model same.safetensors || return
    echo "$library,$1,$2,$(sha256sum < same.safetensors | cut -d ' ' -f 1)" >> "$CSV"
    cmp same.safetensors one.safetensors
}

used()
{
    echo "the red car is fast" | "$root/transformer" translate one.safetensors \
        && "$root/transformer" info one.safetensors
}

bits()
{
    holds "one rank trains" mpi 1 $model --model "one.$library.safetensors"
    [ -f one.safetensors ] || cp "one.$library.safetensors" one.safetensors
    for ranks in ${RANKS:-2 3 7}; do
        for threads in ${THREADS:-1}; do
            holds "$ranks ranks with $threads threads each: the same bits" \
                same "$ranks" "$threads"
        done
    done
    holds "transformer translates with the model, and describes it" used
}

# ------------------------------------------------------------ what goes wrong

data=$root/data/eng-fra.valid.tsv other=$root/data/eng-fra.test.tsv
tiny="--layers 1 --d-model 32 --steps 40 --model refused.safetensors"
long="train $root/data/eng-fra.train.tsv --steps 120 --log l.csv"

# apart DATA OPTIONS...: two ranks, of which the second has its own
apart()
{
    launch -n 1 "./mpi.$library" train "$data" $tiny \
        : -n 1 "./mpi.$library" train "$@"
}

wrong_from_the_start()
{
    holds "an option that makes no sense is reported once" refused 2 \
        '--layers: "x" is not a whole number' mpi 2 train "$data" --layers x
    holds "so are too many ranks" refused 1 "9 ranks cannot share 8" \
        mpi 9 train "$data" $tiny
    holds "and another command" refused 2 "mpi only trains" \
        mpi 2 translate one.safetensors
    holds "a file that is not there is reported once" refused 1 \
        "cannot open nothing.tsv" mpi 2 train nothing.tsv
    holds "a rank that lacks the file says so" refused 1 \
        "transformer: cannot open nothing.tsv" apart nothing.tsv $tiny
    holds "other data on a rank" refused 1 \
        "not the same data or model on all ranks" apart "$other" $tiny
    holds "other options" refused 1 \
        "not the same parameters (which are not saved) on all ranks" \
        apart "$data" $tiny --lr 0.1
}

# The ranks differ from step 7 on; they are compared at steps 2, 4, 6, 8.
differing()
{
    rm -f l.csv
    both="train $data $tiny --model kept.safetensors"
    refused 1 "not the same parameters (which are not saved) on all ranks" \
        launch -n 1 "./mpi.$library" $both : -n 1 "./planted.$library" $both || return
    "$root/transformer" info kept.safetensors | grep -q '^steps trained 6$'
}

# begin RANKS: a run in the background, until its model is first saved. $run is its
# mpirun; pid.R has the process of rank R.
begin()
{
    rm -f pid.* m.safetensors m.safetensors.* l.csv
    mpirun."$library" -n "$1" sh -c \
        'echo $$ > pid.${OMPI_COMM_WORLD_RANK:-$PMI_RANK}; exec "$@"' \
        sh "./mpi.$library" $long --model m.safetensors > said 2>&1 &
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

# resumed RANKS: the run goes on, and ends as if nothing had happened
resumed()
{
    "$root/transformer" info m.safetensors | grep '^step' \
        && mpi "$1" $long --resume --model m.safetensors \
        && cmp m.safetensors whole.safetensors \
        && cut -d , -f 1-6 l.csv | awk '!seen[$0]++' | cmp - whole.csv
}

whole()
{
    rm -f l.csv
    mpi 1 $long --model whole.safetensors && cut -d , -f 1-6 l.csv > whole.csv
}

killed()
{
    begin 3 && kill -9 "$(cat pid.1)" && ended && [ $status != 0 ] \
        && grep -qi "killed\|signal 9" said && resumed 2
}

# Open MPI gives the ranks a second, which may be too short for a step, or leave
# m.safetensors.new behind; the status of MPICH's mpirun is sometimes that of the
# ranks and sometimes 0.
interrupted()
{
    begin 2 && kill -INT $run && ended && rm -f m.safetensors.new \
        && { [ "$library" = openmpi ] || grep '^stopped at step' said; } \
        && resumed 3
}

# A limit on the size of files is like a full disk.
disk_full()
{
    begin 2 && prlimit --pid "$(cat pid.0)" --fsize=100000 && ended \
        && [ $status != 0 ] \
        && one_line "cannot write m.safetensors: File too large" \
        && [ ! -e m.safetensors.new ] && resumed 3
}

wrong_on_the_way()
{
    holds "ranks that begin to differ end; the file is the one saved before" \
        differing
    holds "a whole run, to compare with" whole
    ln -sf /dev/full last.safetensors.new
    holds "a failure after the last step is reported, too" refused 1 \
        "cannot write last.safetensors: No space left on device" \
        launch -n 2 "./mpi.$library" train "$data" $tiny --steps 1 --model last.safetensors
    holds "kill -9 of rank 1 of 3 ends the run; 2 ranks go on to the same bits" killed
    holds "so does Ctrl-C on mpirun, and 3 go on" interrupted
    holds "a full disk is reported once, the file is whole, and 3 go on" disk_full
}

flags=$(make -s --eval='flags: ; @echo $(CFLAGS)' flags)
check "make transformer" make -s transformer
for library in ${LIBRARIES:-openmpi mpich}; do
    cd "$root" || exit 1
    holds "make mpi" make_mpi
    holds "with a mistake planted" planted
    cd "$folder" || exit 1
    bits
    wrong_from_the_start
    wrong_on_the_way
done
totals

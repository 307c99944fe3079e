# How every shell script here that checks something counts and reports. Such a
# script starts in the root of the project and ends with: totals.
#
# shellcheck shell=sh

passed=0 failed=0
log=$PWD/build/check.$$.log # what the command of the last check has printed
mkdir -p build

ok() # CLAIM
{
    passed=$((passed + 1))
    printf 'ok   %s\n' "$1" # echo would take a \ for its own
}

bad() # CLAIM
{
    failed=$((failed + 1))
    printf 'FAIL %s\n' "$1"
}

# The end of what was printed, below a line FAIL.
show_log()
{
    tail -n 20 "$log" | cut -c 1-300 | sed 's/^/     | /'
}

# check CLAIM command...: the command succeeds
check()
{
    claim=$1
    shift
    if "$@" > "$log" 2>&1; then
        ok "$claim"
    else
        bad "$claim"
        show_log
    fi
}

# counted NAME command...: a program that reports as this file does. Its counts
# are added; only its failures are shown, and its last line.
counted()
{
    name=$1
    shift
    "$@" > "$log" 2>&1
    status=$?
    counts=$(grep -v '^make' "$log" | tail -n 1)
    p=${counts%% passed, *} f=${counts##* passed, }
    f=${f%% failed*}
    [ "$counts" = "$p passed, $f failed" ] && [ "$p$f" -ge 0 ] 2> /dev/null || {
        bad "$name did not come to its end (status $status)"
        show_log
        return
    }
    awk '/^(FAIL|skip)/ { on = 1; print; next }
         /^ / { if (on) print; next }
         { on = 0 }' "$log"
    passed=$((passed + p)) failed=$((failed + f))
    echo "$name: $counts"
    case $status,$p,$f in
    0,0,0) bad "$name checked nothing" ;;
    0,*,0 | [1-9]*,*,[1-9]*) ;;
    *) bad "$name ends with status $status" ;;
    esac
}

# A check that this machine cannot make: named, and in CI a failure.
skip() # WHAT
{
    echo "skip $1"
    [ "${CI:-}" != true ] || failed=$((failed + 1))
}

# The last line, and the status.
totals()
{
    rm -f "$log"
    echo "$passed passed, $failed failed"
    [ "$failed" = 0 ]
}

# How many things are done at once: JOBS, or as many as there are cores.
at_once()
{
    echo "${JOBS:-$(getconf _NPROCESSORS_ONLN 2> /dev/null || echo 2)}"
}

# listed WORD...: the programs of tests/list with all of these words; with
# -WORD those without it
listed()
{
    names=$(grep -v '^#' tests/list)
    for word in "$@"; do
        case $word in
        -*) names=$(echo "$names" | grep -vw -e "${word#-}") ;;
        *) names=$(echo "$names" | grep -w -e "$word") ;;
        esac
    done
    echo "$names" | awk 'NF { sub(/.*\//, "", $1); sub(/\..*/, "", $1); print $1 }'
}

# source_of NAME: its file, as tests/list has it
source_of()
{
    grep -v '^#' tests/list | awk -v name="$1" '{ n = $1; sub(/.*\//, "", n); sub(/\..*/, "", n) }
        n == name { print $1 }' | grep . || echo "$1 is not in tests/list" >&2
}

# room FOLDER: a fresh folder that looks to a test program like the root of the
# project, so that programs which run at once do not share files
room()
{
    rm -rf "$1"
    mkdir -p "$1/build" && ln -s "$PWD/data" "$PWD/docs" "$PWD/tests" "$1"
}

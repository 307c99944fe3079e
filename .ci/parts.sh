# What .ci/run and .ci/long share. Each names its parts in a table, PARTS:
#
#     name | the tools of tests/tools.sh that it needs | beginnings of paths
#
# (a change of a file with such a path is checked by this part: --changed)
# and has a function for each, part_NAME, which counts with tests/checks.sh. It
# then says: parts "$@". Parts run side by side, each in a copy of the project of
# its own. What they print goes to build/ci/NAME.log, and is shown when the part
# has come to its end.
#
# shellcheck shell=sh disable=SC2034,SC2046,SC2086

AT_ONCE=2      # parts
LONGEST=7200   # seconds: nothing may hang; long sets another one
export LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive
export OMP_WAIT_POLICY=passive # waiting threads sleep: others may need the cores
unset CC CFLAGS MAKEFLAGS MAKEOVERRIDES TRANSFORMER
. tests/checks.sh
. tests/tools.sh
ci=${CI_FOLDER:-$PWD/build/ci} # logs and tables, also those of the copies
export CI_FOLDER="$ci"

SANITIZE="clang -std=c11 -O1 -g -fsanitize=address,undefined
          -fno-sanitize-recover=all -fno-omit-frame-pointer"

# finds MESSAGE compile...: what is planted in the program on the standard input
# is found, with this message, when it has been compiled and runs
finds()
{
    message=$1
    shift
    cat > build/planted.c
    "$@" build/planted.c -o build/planted || return
    ! $fixed build/planted 2> build/planted.log && grep "$message" build/planted.log
}

# tiny_in_wasm STEPS
tiny_in_wasm()
{
    counted "tests/tiny.sh in WebAssembly" env HOST=gcc STEPS="$1" \
        CC="clang --target=wasm32-wasi --sysroot=/usr" \
        RUN="node --no-warnings tests/wasi.mjs" sh tests/tiny.sh
}

# macOS has no timeout.
command -v timeout > /dev/null || timeout()
{
    [ "$1" != --foreground ] || shift
    shift
    "$@"
}

# clang 14's sanitizers do not run where addresses are too random.
fixed=
setarch -R true 2> /dev/null && fixed="setarch -R"

# names: of all parts, in the order in which they are begun: long ones first
names()
{
    echo "$PARTS" | sed -n 's/^\([a-z]*\) *|.*/\1/p'
}

# column NUMBER PART
column()
{
    echo "$PARTS" | awk -F '|' -v n="$1" -v name="$2" '$1 ~ "^" name " *$" { print $n }'
}

# lacking PART: the tools that it needs and that are not here
lacking()
{
    for tool in $(column 2 "$1"); do
        has "$tool" || echo "$tool"
    done
}

# The lines of transformer.c that are no prose; markers stay.
without_prose()
{
    grep -vE '^//([^@]|$)'
}

# changed: the parts that check what is not in origin/main, committed or not. A change
# of nothing but prose in transformer.c has the path "prose".
changed()
{
    base=$(git merge-base HEAD origin/main 2> /dev/null || echo HEAD)
    files=$(git diff --name-only "$base" && git ls-files -o --exclude-standard) || {
        echo "what has changed Git should say, which fails here" >&2
        return 1
    }
    [ "$files" ] || {
        echo "nothing has changed since $base" >&2
        return 1
    }
    [ "$(git show "$base:transformer.c" | without_prose)" != "$(without_prose \
        < transformer.c)" ] || files=$(echo "$files" | sed 's/^transformer\.c$/prose/')
    for part in $(names); do
        for path in $(column 3 "$part"); do
            echo "$files" | grep -q "^$path" && echo "$part" && break
        done
    done
}

# install TOOL...: from Debian
install()
{
    [ "$(id -u)" = 0 ] || {
        echo "not installed, which root may do: $(packages "$@" | paste -sd ' ' -)"
        return 1
    }
    apt-get -qq -o DPkg::Lock::Timeout=300 update \
        && apt-get -qq -y -o DPkg::Lock::Timeout=300 install \
            --no-install-recommends $(packages "$@")
}

# one PART: in this copy of the project
one()
{
    log=$PWD/build/check.log
    "part_$1"
    times > build/times
    totals
}

# copied PART: does it in a copy, and writes build/ci/PART.row
copied()
{
    rm -rf "${ci:?}/$1"
    mkdir -p "$ci/$1"
    tar --exclude=./build --exclude=./out --exclude=./exercises \
        --exclude=./.git --exclude=./transformer -cf - . \
        | tar -xf - -C "$ci/$1" || return
    began=$(date +%s)
    (cd "$ci/$1" && mkdir build \
        && timeout --foreground $LONGEST "$program" --one "$1") \
        > "$ci/$1.log" 2>&1
    ended=$(date +%s)
    counts=$(tail -n 1 "$ci/$1.log" | grep '^[0-9]* passed, [0-9]* failed$') || {
        echo "FAIL part $1 did not come to its end" >> "$ci/$1.log"
        counts="0 passed, 1 failed"
    }
    cat "$ci/$1/build/times" /dev/null 2> /dev/null | awk -v name="$1" \
        -v counts="$counts" -v seconds=$((ended - began)) '
        NR == 2 { split($1 "m" $2, t, /[ms]+/) }
        END {
            split(counts, n, " ")
            printf "%s,%d,%d,%d:%02d,%.2f\n", name, n[1], n[3], seconds / 60,
                seconds % 60, t[1] + t[2] / 60 + t[3] + t[4] / 60
        }' > "$ci/$1.row"
    echo "--- $1"
    cat "$ci/$1.log"
    grep -q '^[a-z]*,[1-9][0-9]*,0,' "$ci/$1.row" && rm -rf "${ci:?}/$1"
    return 0
}

# chosen NAME...: all parts if there is none; unknown ones are refused
chosen()
{
    [ $# -gt 0 ] || set -- $(names)
    for part in "$@"; do
        names | grep -qxF -e "$part" || {
            echo "there is no part $part; there are: $(names | paste -sd ' ' -)" >&2
            return 2
        }
    done
    names | while read -r part; do
        case " $* " in *" $part "*) echo "$part" ;; esac
    done
}

# installed PART...: those that can be done here; the others are named
installed()
{
    for part in "$@"; do
        tools=$(lacking "$part")
        if [ -z "$tools" ]; then
            echo "$part"
        else
            echo "left out: $part, for want of" $tools >&2
        fi
    done
}

# parts [--installed | --changed] [PART...]
parts()
{
    program=.ci/$(basename "$0")
    case ${1:-} in
    --one) one "$2"; exit ;;
    --copied) copied "$2"; exit ;;
    --installed | --changed)
        [ "$1" = --installed ] && shift || set -- $(changed)
        [ $# -gt 0 ] || exit 1
        list=$(chosen "$@") || exit
        list=$(installed $list)
        [ -n "$list" ] || exit 1 ;;
    *)
        list=$(chosen "$@") || exit
        CI=true
        export CI ;;
    esac
    echo "parts:" $list
    rm -rf "$ci"
    mkdir -p "$ci"
    tools=$(for part in $list; do lacking "$part"; done | sort -u)
    [ -z "$tools" ] || check "installed: $(echo $tools)" install $tools
    begun=$(date +%s)
    [ "$(echo "$list" | wc -l)" -gt 1 ] || AT_ONCE=1
    JOBS=$(($(at_once) / AT_ONCE))
    [ $JOBS -gt 0 ] || JOBS=1
    export JOBS
    # In the foreground, so that Ctrl-C reaches whatever runs.
    echo "$list" | xargs -n 1 -P $AT_ONCE "$program" --copied
    echo "part,passed,failed,minutes,processor minutes" > "$ci/parts.csv"
    for part in $list; do
        cat "$ci/$part.row" || echo "$part,0,1,,"
    done >> "$ci/parts.csv"
    passed=$((passed + $(awk -F , '{ n += $2 } END { print n }' "$ci/parts.csv")))
    failed=$((failed + $(awk -F , '{ n += $3 } END { print n }' "$ci/parts.csv")))
    echo "--- all"
    tr , '\t' < "$ci/parts.csv"
    begun=$(($(date +%s) - begun))
    printf 'minutes %d:%02d\n' $((begun / 60)) $((begun % 60))
    totals
}

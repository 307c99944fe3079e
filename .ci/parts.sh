# What .ci/run and .ci/long share. Each has a table of its parts, PARTS,
#
#     name | the tools of tests/lib/tools.sh that it needs
#          | a command that must succeed
#          + one that counts as tests/lib/checks.sh does
#
# and says: parts "$@". Parts run side by side, each in a copy of the project of its own;
# what they print goes to build/ci/NAME.log, and what failed is shown at their end.
#
# shellcheck shell=sh disable=SC2034,SC2046,SC2086

export LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive CI=true
export OMP_WAIT_POLICY=passive # waiting threads sleep: others may need the cores
unset CC CFLAGS MAKEFLAGS MAKEOVERRIDES TRANSFORMER
. tests/lib/checks.sh
. tests/lib/tools.sh
ci=${CI_FOLDER:-$PWD/build/ci} # logs and tables, also those of the copies
export CI_FOLDER="$ci"
AT_ONCE=3 # parts: one of them waits most of its time, for a browser
python=/usr/bin/python3 # Debian's modules belong to it

SANITIZE="clang -std=c11 -O1 -g -fsanitize=address,undefined
          -fno-sanitize-recover=all -fno-omit-frame-pointer"
# clang 14's sanitizers do not run where addresses are too random.
fixed=
setarch -R true 2> /dev/null && fixed="setarch -R"
export WATCHER="$fixed" # of tests/run.sh, where something is WATCHED

# finds MESSAGE STATEMENT compile...: does what looks for mistakes work? A program with
# this statement must be stopped, with this message
finds()
{
    message=$1
    cat > build/planted.c << END
#include <stdlib.h>
int main(void) { volatile char *p = malloc(2); volatile int most = 2147483647; $2 }
END
    shift 2
    "$@" build/planted.c -o build/planted \
        && ! $fixed build/planted 2> build/planted.log && grep "$message" build/planted.log
}

fuzzed() # FLAGS: libFuzzer finds no input that a part of tests/program/fuzz.c treats wrongly
{
    $SANITIZE -fsanitize=fuzzer -DTRANSFORMER_MALLOC tests/program/fuzz.c -lm -o build/fuzz
    for part in model pairs text options hub pieces folder; do
        mkdir -p "build/found-$part"
        find tests/corpus -name "$part*" -printf '%f\n' | xargs -I{} csplit -sz --suppress-matched \
            -f "build/found-$part/{}" "tests/corpus/{}" /^=====$/ '{*}' # some hold many inputs
        PART=$part FUZZ_INPUT=/dev/shm/fuzz.$$ $fixed build/fuzz $1 -artifact_prefix="$ci/" \
            -dict=tests/corpus/words.dict "build/found-$part" || return
    done
    rm -rf /dev/shm/fuzz.$$ /dev/shm/fuzz.$$.folder
}

wasm() # STEPS: tiny.c in WebAssembly
{
    env HOST=gcc STEPS="$1" CC="clang --target=wasm32-wasi --sysroot=/usr" \
        RUN="node --no-warnings --single-threaded notebook/test/wasi.mjs" sh notebook/test/tiny.sh
}

names() # in the order in which they are begun: long ones first
{
    echo "$PARTS" | awk '/^[a-z]/ { print $1 }'
}

# lacking PART...: the tools that they need and that are not here
lacking()
{
    for part in "$@"; do
        echo "$PARTS" | sed -n "s/^$part *|//p" | xargs -n 1
    done | sort -u | while read -r tool; do
        has "$tool" || echo "$tool"
    done
}

install() # TOOL...
{
    apt-get -qq -o DPkg::Lock::Timeout=300 update && apt-get -qq -y \
        -o DPkg::Lock::Timeout=300 install --no-install-recommends $(packages "$@")
}

one() # PART, here
{
    echo "$PARTS" | awk -v part="$1" '/^[a-z]/ { on = $1 == part; next } on && NF' > build/commands
    while read -r kind command <&3; do
        [ "$kind" = + ] && kind=counted || kind=check
        eval "$kind \"\$command\" $command" < /dev/null
    done 3< build/commands
    totals
}

copied() # PART: in a copy; its counts go to build/ci/PART.row
{
    log=$ci/$1.log
    began=$(date +%s)
    mkdir -p "$ci/$1"
    tar --exclude=./build --exclude=./out --exclude=./exercises --exclude=./.git \
        --exclude=./transformer -cf - . | tar -xf - -C "$ci/$1" || return
    cd "$ci/$1" && mkdir build || return
    counted "$1" timeout --foreground $LONGEST "$program" --one "$1" > build/shown 2>&1
    cat build/shown
    took=$(($(date +%s) - began))
    printf '%s\t%d\t%d\t%d:%02d\n' "$1" $passed $failed $((took / 60)) $((took % 60)) \
        > "$ci/$1.row"
    [ $failed != 0 ] || rm -rf "${ci:?}/$1"
}

parts() # [PART...]: all if none is named
{
    program=.ci/$(basename "$0")
    case ${1:-} in
    --one | --copied) "${1#--}" "$2"; exit ;;
    esac
    [ $# -gt 0 ] || set -- $(names)
    ! unknown=$(printf '%s\n' "$@" | grep -vxF -e "$(names)") || {
        echo "there is no part" $unknown"; there are:" $(names) >&2
        exit 2
    }
    [ $# -gt 1 ] || AT_ONCE=1
    JOBS=$((($(at_once) + AT_ONCE - 1) / AT_ONCE))
    export JOBS
    rm -rf "$ci"
    mkdir -p "$ci"
    tools=$(lacking "$@")
    [ -z "$tools" ] || check "installed: $(echo $tools)" install $tools
    # In the foreground, so that Ctrl-C reaches whatever runs.
    names | grep -xF -e "$(printf '%s\n' "$@")" | xargs -n 1 -P $AT_ONCE "$program" --copied
    echo "part, passed, failed, minutes:"
    for part in "$@"; do
        cat "$ci/$part.row" || printf '%s\t0\t1\n' "$part"
    done | tee "$ci/parts.tsv"
    passed=$((passed + $(awk '{ n += $2 } END { print n }' "$ci/parts.tsv")))
    failed=$((failed + $(awk '{ n += $3 } END { print n }' "$ci/parts.tsv")))
    totals
}

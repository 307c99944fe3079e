# What .ci/run and .ci/soak share: how checks are made and counted. Both start
# here, in the root of the project.
#
# shellcheck shell=bash disable=SC2034,SC2086

export CI=true LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive
export OMP_WAIT_POLICY=passive # waiting threads sleep: others may need the cores
unset CC CFLAGS MAKEFLAGS TRANSFORMER

passed=0 failed=0
work=$PWD/build/ci
rm -rf "$work"
mkdir -p "$work" || exit 1

# clang 14's sanitizers do not run where addresses are too random.
fixed=
setarch -R true 2> /dev/null && fixed="setarch -R"

SANITIZE="clang -std=c11 -O1 -g -fsanitize=address,undefined
          -fno-sanitize-recover=all -fno-omit-frame-pointer -DTRANSFORMER_MALLOC"

ok()
{
    passed=$((passed + 1))
    echo "ok   $1"
}

bad()
{
    failed=$((failed + 1))
    echo "FAIL $1"
}

# check CLAIM command...: the command succeeds
check()
{
    local claim=$1
    shift
    if "$@" > "$work/log" 2>&1; then
        ok "$claim"
    else
        bad "$claim"
        tail -n 20 "$work/log" | cut -c 1-300 | sed 's/^/     | /'
    fi
}

# counted NAME SECONDS command...: a program that says ok or FAIL of each of its
# checks, and how many there were in its last line; its counts are added.
counted()
{
    local name=$1 limit=$2 status p f counts
    shift 2
    timeout "$limit" "$@" > "$work/counted.log" 2>&1
    status=$?
    grep -E '^(ok|FAIL|skip|---) ' -A 12 "$work/counted.log" \
        | grep -E '^(ok|FAIL|skip|---|  ) *'
    counts=$(grep -v '^make' "$work/counted.log" | tail -n 1)
    case $counts in
    *" passed, "*" failed")
        p=${counts%% passed*} f=${counts##*passed, } f=${f%% failed}
        passed=$((passed + p)) failed=$((failed + f))
        echo "$name: $counts"
        [ "$status" != 0 ] && [ "$f" = 0 ] && bad "$name ends with $status" ;;
    *)
        bad "$name came to its end"
        tail -n 20 "$work/counted.log" ;;
    esac
}

# part NAME: a heading, with the time since the start. What the part before has
# passed goes to the table of docs/testing.md, build/ci/parts.csv.
part()
{
    [ -n "$title" ] && printf '"%s",%d,%d:%02d\n' "$title" $((passed - before)) \
        $(((SECONDS - began) / 60)) $(((SECONDS - began) % 60)) \
        >> "$work/parts.csv"
    title=$1 before=$passed began=$SECONDS
    printf -- '--- %s (%d:%02d)\n' "$1" $((SECONDS / 60)) $((SECONDS % 60))
}
title=
echo "part,checks passed,minutes" > "$work/parts.csv"

# install PACKAGE...: from Debian, those that are not there
install()
{
    local p missing=
    for p in "$@"; do
        dpkg-query -W -f '${Status}' "$p" 2> /dev/null | grep -q 'ok installed' \
            || missing="$missing $p"
    done
    [ -z "$missing" ] && return
    apt-get -qq -o DPkg::Lock::Timeout=300 update
    apt-get -qq -y -o DPkg::Lock::Timeout=300 install --no-install-recommends \
        $missing
}

# The last line, and the exit status.
end()
{
    part "end"
    echo "$passed passed, $failed failed"
    [ "$failed" = 0 ]
}

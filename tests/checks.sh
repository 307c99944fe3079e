# How the shell scripts of this folder count. They start here, in the root of
# the project, and end with: totals.
#
# shellcheck shell=sh

passed=0 failed=0

# check CLAIM command...: the command succeeds
check()
{
    claim=$1
    shift
    if "$@"; then
        passed=$((passed + 1))
        echo "ok   $claim"
    else
        failed=$((failed + 1))
        echo "FAIL $claim"
    fi
}

# A check that this machine cannot make: named, and in CI a failure.
skip()
{
    echo "skip $1"
    [ "${CI:-}" != true ] || failed=$((failed + 1))
}

# The last line, and the status.
totals()
{
    echo "$passed passed, $failed failed"
    [ "$failed" = 0 ]
}

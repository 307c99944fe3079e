#!/bin/sh
# The weaver stops at whatever does not fit. Each check plants a fault in a copy
# of the project and expects the weaver to name it. `make docs` comes first: the
# copy uses its programs.

root=$(cd "$(dirname "$0")/.." && pwd)
copy=$root/build/weave
passed=0 failed=0

# refused CLAIM MESSAGE: the copy is not woven, and the message says why
refused()
{
    if (cd "$copy" && python3 docs/weave.py > log 2>&1); then
        echo "FAIL $1: it was woven"
        failed=$((failed + 1))
    elif grep -q "^weave.py: " "$copy/log" && grep -q "$2" "$copy/log"; then
        echo "ok   $1"
        passed=$((passed + 1))
    else
        echo "FAIL $1: the message is another one"
        tail -n 3 "$copy/log"
        failed=$((failed + 1))
    fi
}

# A fresh copy.
plant()
{
    rm -rf "$copy"
    mkdir -p "$copy/build"
    cp -r "$root/transformer.c" "$root/docs" "$root/data" "$root/tests" "$copy"
    cp -r "$root/build/docs" "$copy/build"
}

# in_chapter LINE: puts a line, after an empty one, at the end of chapter 2
in_chapter()
{
    plant
    awk -v line="$1" '/^\/\/@ chapter multi_head/ { print line "\n" } { print }' \
        "$root/transformer.c" > "$copy/transformer.c"
}

in_chapter '//@ figur attention'
refused "an unknown marker" "unknown marker: //@ figur attention"
in_chapter '    //@ end'
refused "a marker that ends nothing" "//@ end without a //@ exercise before it"
in_chapter '    //@ exercise lost'
refused "an exercise without an end" "//@ exercise lost, which began in line .* has no //@ end yet"
in_chapter '    //@ exercise softmax_row'
refused "two exercises of one name" "//@ exercise softmax_row stands here again"
in_chapter '//@ figure'
refused "a figure without a name" "unknown marker: //@ figure"
in_chapter '//prose'
refused "prose without a blank behind its slashes" "prose begins with"
in_chapter '//@ figure nothing'
refused "a figure that does not exist" "there is no figure nothing"
in_chapter '//@ run echo out; exit 3'
refused "a command that fails" "status 3"
in_chapter '//@ run true'
refused "a command that prints nothing" "prints nothing"
in_chapter '//@ run build/examples nothing'
refused "an example that does not exist" "there is no example nothing"
in_chapter '// $$ \\\\Bigl( x $$'
refused "a formula that pandoc cannot convert" "Could not convert TeX"
in_chapter '// See chapter 16.'
refused "a chapter that does not exist" "there is no chapter 16"
in_chapter '// ## Softmax'
refused "two sections of one name in a chapter" "two sections named"
plant
cp "$copy/docs/figures/model.dot" "$copy/docs/figures/unused.dot"
refused "a figure that nobody uses" "figures that nobody uses: .'unused'"
plant
sed 's/^@after Softmax$/@after Hardmax/' "$root/docs/source/02-attention.md" \
    > "$copy/docs/source/02-attention.md"
refused "a box at a heading that does not exist" "is no heading"
plant
sed 's/#e5f3e6/#123456/' "$root/docs/figures/model.dot" \
    > "$copy/docs/figures/model.dot"
refused "a colour that has no counterpart in the dark" "#123456"
plant
head -n 1 "$root/docs/runs/tests.csv" > "$copy/docs/runs/tests.csv"
refused "a table without rows" "tests.csv has no rows"

rm -rf "$copy"
echo "$passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]

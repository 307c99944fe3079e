#!/bin/sh
# Every beginning of transformer.c, up to the end of any chapter, is a C program
# that compiles without a warning: nothing is used before it has been explained.
# And flags that would break the arithmetic are refused.
#
# shellcheck disable=SC2086

CC=${CC:-cc}
. tests/lib/checks.sh
rm -rf build/chapters
mkdir -p build/chapters

awk -v folder=build/chapters '
    /^\/\/@ chapter / && seen++ { write() }
    { text = text $0 "\n" }
    END { write() }
    function write() {
        name = sprintf("%s/%02d.c", folder, count++)
        printf "%s", text > name
        close(name)
    }' transformer.c

for file in build/chapters/*.c; do
    check "the text up to chapter $(basename "$file" .c) compiles" \
        $CC -std=c11 -Wall -Wextra -Wpedantic -Wshadow -Werror -fsyntax-only \
        -c "$file" -o build/chapters/prefix.o
done

# refused FLAG: the compiler stops with the reason
refused()
{
    ! $CC -std=c11 "$1" -c transformer.c -o build/chapters/fast.o \
        2> build/chapters/fast && grep -q 'build without' build/chapters/fast
}

for flag in -ffast-math -ffinite-math-only -Ofast; do
    check "with $flag it is not built, and says why" refused $flag
done

# It is not built; or, where the compiler does not tell the program its flags, it refuses
# to run and says so; or it computes what it should.
safe()
{
    flag=-funsafe-math-optimizations folder=build/chapters
    refused $flag && return
    rm -f $folder/unsafe*
    $CC -std=c11 -O1 $flag transformer.c -o $folder/unsafe -lm || return
    $folder/unsafe train data/reverse.valid.tsv --steps 1 --log $folder/unsafe.csv \
        --model $folder/unsafe.safetensors 2> $folder/fast
    grep 'computes wrongly' $folder/fast || grep "^1,train,3.55" $folder/unsafe.csv
}

check "with -funsafe-math-optimizations it is not built, or not run, or computes as it should" safe
totals

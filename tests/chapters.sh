#!/bin/sh
# Every beginning of transformer.c, up to the end of any chapter, is a C program
# that compiles without a warning: nothing is used before it is explained.

CC=${CC:-cc}
mkdir -p build/chapters
rm -f build/chapters/*

awk -v folder=build/chapters '
    /^\/\/@ chapter / && seen++ { write() }
    { text = text $0 "\n" }
    END { write() }
    function write() {
        name = sprintf("%s/%02d.c", folder, count++)
        printf "%s", text > name
        close(name)
    }' transformer.c

# compiles FILE: else the first errors are shown
compiles()
{
    $CC -std=c11 -Wall -Wextra -Wpedantic -Wshadow -Werror -c "$1" \
        -o build/chapters/prefix.o 2> build/chapters/errors \
        || { head -n 5 build/chapters/errors; return 1; }
}

. tests/checks.sh
for file in build/chapters/*.c; do
    check "the text up to chapter $(basename "$file" .c) compiles" \
        compiles "$file"
done
totals

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

passed=0 failed=0
for file in build/chapters/*.c; do
    number=$(basename "$file" .c)
    if $CC -std=c11 -Wall -Wextra -Wpedantic -Wshadow -Werror -c "$file" \
        -o build/chapters/prefix.o 2> build/chapters/errors; then
        echo "ok   the text up to chapter $number compiles"
        passed=$((passed + 1))
    else
        echo "FAIL the text up to chapter $number does not compile"
        head -n 5 build/chapters/errors
        failed=$((failed + 1))
    fi
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]

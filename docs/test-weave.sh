#!/bin/sh
# The weaver stops at whatever does not fit, the checks of its pages find what is
# wrong in them, and a line more in transformer.c changes few lines of the pages.
# Each check plants something in a copy of the project. `make docs` comes first:
# the copy uses its programs and pages.
#
# $0 is awk's:
# shellcheck disable=SC2016

root=$(cd "$(dirname "$0")/.." && pwd)
copy=$root/build/weave
cd "$root" || exit 1
. tests/checks.sh

weave="python3 docs/weave.py" # how the copy is woven

# refused CLAIM MESSAGE: the copy is not woven, and the message says why
refused()
{
    if (cd "$copy" && $weave > log 2>&1); then
        bad "$1: it was woven"
    elif grep -q "^weave.py: " "$copy/log" && grep -q "$2" "$copy/log"; then
        ok "$1"
    else
        bad "$1: the message is another one"
        tail -n 3 "$copy/log"
    fi
}

# found CLAIM CHECK: this check of the copy's pages fails
found()
{
    if (cd "$copy" && ! python3 docs/check.py > log 2>&1) &&
        grep -q "^FAIL .*$2" "$copy/log"; then
        ok "$1"
    else
        bad "$1: not found"
        grep -v '^ok' "$copy/log"
    fi
}

# A fresh copy.
plant()
{
    rm -rf "$copy"
    mkdir -p "$copy/build"
    cp -r "$root/transformer.c" "$root/README.md" "$root/docs" "$root/data" \
        "$root/notebook" "$root/tests" "$copy"
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

# unread WHY LINE: this formula in chapter 2 cannot be read; its number is told
unread()
{
    in_chapter "//     $2"
    line=$(grep -n '^//@ chapter multi_head$' "$root/transformer.c")
    refused "a formula that cannot be read: $2" \
        "transformer.c:${line%%:*}: a formula: $1"
}

unread ") should stand where the end stands" 'dx_i = Σ_j (dy_j'
unread "the end should stand where ) stands" 'dx_i = Σ_j dy_j)'
unread "the end is not expected there" 'dx_i = Σ_j dy_j +'
unread "the end is not expected there" 'dx_i ='
unread "= is not expected there" 'dx_i = dy_j   since j = = i'
unread "there is no sign '%' in formulas" 'dx_i = dy_j % 2'
unread "a reason stands three blanks off: since" 'dx_i = dy_j  since j is i'
unread "a reason stands three blanks off: over all" 'dx_i = dy_j over all j'
unread "'because j is i' is neither shapes.* nor a reason" \
    'dx_i = dy_j   because j is i'
unread "a name, a number or ( should touch _" 'dx_i = dy_ j'
unread "'3 4' is neither" 'dx_i = 1 2   3 4'
unread "'3 4' is neither" 'x = 1 2   3 4\n//     dx_i = 1'
in_chapter '// Raising dx_i = = 2 shifts it.'
refused "a formula in a sentence that cannot be read" \
    "transformer.c:[0-9]*: a formula: the end is not expected there"

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
sed '/^12-decoding: /d' "$root/docs/source/index.md" > "$copy/docs/source/index.md"
refused "a chapter that promises nothing" "one promise for each chapter"
plant
sed 's/#numbers-dropout/#numbers-digits/' "$root/docs/source/index.md" \
    > "$copy/docs/source/index.md"
refused "a route to a section that does not exist" "no section numbers-digits"
plant
head -n 1 "$root/docs/runs/speed.csv" > "$copy/docs/runs/speed.csv"
refused "a table without rows" "speed.csv has no rows"

in_chapter '//@ chapter lost\n// # Lost'
refused "a chapter without a number" "the heading has no number: Lost"
in_chapter '//@ chapter lost\n// # 7. Lost'
refused "chapters out of order" "not numbered 0, 1, 2"
in_chapter '//@ chapter lost\n// Lost'
refused "a chapter without a heading" "lost does not begin with its heading"

# Without pandoc or Graphviz one line says what to install.
plant
python=$(python3 -c 'import sys; print(sys.executable)')
mkdir "$copy/bin"
weave="env PATH=$copy/bin $python docs/weave.py"
refused "neither pandoc nor Graphviz" \
    "^weave.py: pandoc and dot not found: apt-get install pandoc graphviz (Deb"
ln -s "$(command -v pandoc)" "$copy/bin/pandoc"
refused "no Graphviz" "^weave.py: dot not found: apt-get install graphviz (Debian), brew"
if [ "$(wc -l < "$copy/log")" = 1 ]; then
    ok "one line says so"
else
    bad "one line says so"
fi
weave="python3 docs/weave.py"

# in_page PAGE SED: a change in a woven page
in_page()
{
    plant
    sed "$2" "$root/docs/$1" > "$copy/docs/$1"
    ! cmp -s "$root/docs/$1" "$copy/docs/$1" || bad "sed changes $1"
}

plant
if (cd "$copy" && python3 docs/check.py > log 2>&1); then
    ok "all checks hold"
else
    bad "all checks hold"
fi
in_page index.html 's/href="testing.html"/href="tested.html"/'
found "a link to a page that does not exist" "each of .* links leads somewhere"
in_page 02-attention.html '/class="formula"/,/<.math>/d'
found "a formula that is missing" "formulas of the file and its"
in_page 02-attention.html '/^<mtr>.*<mo>∑/d'
found "a line of a formula that is missing" "lines of these blocks are"
in_page 02-attention.html 's|</main>|<pre><code>dx_i = 1</code></pre>&|'
found "a formula that is not set" "shown as it was typed"
in_page 02-attention.html 's|<mo>∑</mo>|<mo>⨊</mo>|'
found "a sign that the font lacks" "the font has all signs"
in_page index.html 's/href="functions.html"/href="functions.html#nothing"/'
found "a link to a place that does not exist" "each of .* links leads somewhere"
in_page index.html 's|href="testing.html"|href="/testing.html"|'
found "a link from the root of the host" "each of .* links leads somewhere"
in_page 02-attention.html 's|</code></pre>|;&|'
found "a listing that is not in the file" "listings of the chapters are"
in_page 02-attention.html 's|<span id="\([a-z]\)|<span id="other_\1|'
found "a function without its address" "lead to them"
in_page 02-attention.html 's|<pre|<span id="L7"></span>&|'
found "the number of a line as an address" "no address is the number"
in_page index.html 's|</head>|<script src="https://a.b/c.js"></script>&|'
found "a script from elsewhere" "pages load"
plant
sed 's/voiture |    @@/voiture |  @@  /' "$root/README.md" > "$copy/README.md"
found "a picture of attention from another run" "show the .* lines of the picture"

# changes CLAIM AWK: the line that awk adds to the file changes at most two pages
# and forty lines, removed and added
changes()
{
    awk "/^\/\/@ chapter/ { here = / multi_head\$/ } $2 { print }" \
        "$root/transformer.c" > "$copy/transformer.c"
    if ! (cd "$copy" && $weave > log 2>&1); then
        bad "$1: it was not woven"
        tail -n 3 "$copy/log"
        return
    fi
    pages=0 lines=0
    for page in "$copy"/docs/*.html; do
        n=$(diff "$copy/before/${page##*/}" "$page" | grep -c '^[<>]')
        [ "$n" = 0 ] || pages=$((pages + 1))
        lines=$((lines + n))
    done
    if grep -q "One line more" "$copy/docs/03-multi-head.html" &&
        [ "$pages" -le 2 ] && [ "$lines" -le 40 ]; then
        ok "$1: it changes $lines lines of $pages pages"
    else
        bad "$1: it changes $lines lines of $pages pages"
    fi
}

plant
mkdir "$copy/before"
cp "$copy"/docs/*.html "$copy/before"
changes "a line more in the prose of chapter 3" \
    'here && /^\/\/ [A-Z]/ && !n++ { print; $0 = "// One line more." }'
changes "a line more in a contract" \
    'here && /^[a-z].*\(.*[^;]$/ && !n++ { print "// One line more." }'
changes "a line more in a function" \
    'n == 1 && n++ { print "    // One line more." }
     here && /^[a-z].*\(.*[^;]$/ && !n { n = 1 }'

rm -rf "$copy"
totals

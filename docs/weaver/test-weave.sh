#!/bin/sh
# The weaver stops at whatever does not fit, the checks of its pages find what is
# wrong in them, and a line more in transformer.c changes few lines of the pages.
# Each check plants something in a copy of the project. `make docs` comes first:
# the copy uses its programs and pages.
#
# $0 is awk's:
# shellcheck disable=SC2016

root=$(cd "$(dirname "$0")/../.." && pwd)
copy=$root/build/weave
cd "$root" || exit 1
. tests/checks.sh

weave="python3 docs/weaver" # how the copy is woven

# refused CLAIM MESSAGE: the copy is not woven, and the message says why
refused()
{
    if (cd "$copy" && $weave > log 2>&1); then
        bad "$1: it was woven"
    elif grep -q "^weaver: " "$copy/log" && grep -q "$2" "$copy/log"; then
        ok "$1"
    else
        bad "$1: the message is another one"
        tail -n 3 "$copy/log"
    fi
}

# found CLAIM CHECK [WHAT]: this check of the copy's pages has failed, and says what
# it has found. checked comes first.
found()
{
    if awk -v check="$2" '/^[^ ]/ { here = /^FAIL / && $0 ~ check } here' \
        "$copy/log" | grep -q -e "${3:-^FAIL}"; then
        ok "$1"
    else
        bad "$1: not found"
        grep -v '^ok' "$copy/log"
    fi
}

# The checks of the copy's pages; their status.
checked()
{
    (cd "$copy" && python3 docs/weaver/check.py > log 2>&1)
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

# in_chapter LINE: puts a line, after an empty one, at the end of chapter 0
in_chapter()
{
    plant
    awk -v line="$1" '/^\/\/@ chapter numbers/ { print line "\n" } { print }' \
        "$root/transformer.c" > "$copy/transformer.c"
}

in_chapter '//@ figur attention'
refused "an unknown marker" "unknown marker: //@ figur attention"
in_chapter '    //@ end'
refused "a marker that ends nothing" "//@ end without a //@ exercise before it"
in_chapter '    //@ exercise lost'
refused "an exercise without an end" "//@ exercise lost, which began in line .* has no //@ end yet"
in_chapter '//@ exercise one\n//@ end\n//@ exercise one\n//@ end'
refused "two exercises of one name" "//@ exercise one stands here again"
in_chapter '//@ figure'
refused "a figure without a name" "unknown marker: //@ figure"
in_chapter '//prose'
refused "prose without a blank behind its slashes" "prose begins with"
in_chapter '//@ figure nothing'
refused "a figure that does not exist" "there is no figure nothing"
in_chapter '// A paragraph.
//@ figure masks instead'
refused "a figure in the place of a drawing, without one" \
    "transformer.c:[0-9]*: there is no drawing above"
in_chapter '//@ run echo out; exit 3'
refused "a command that fails" "status 3"
in_chapter '//@ run true'
refused "a command that prints nothing" "prints nothing"
in_chapter '//@ run build/examples nothing'
refused "an example that does not exist" "there is no example nothing"
in_chapter '// $$ \\\\Bigl( x $$'
refused "a formula that pandoc cannot convert" "Could not convert TeX"

# unread WHY LINE: this formula in chapter 0 cannot be read; its number is told
unread()
{
    in_chapter "//     $2"
    line=$(grep -n '^//@ chapter numbers$' "$root/transformer.c")
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
plant
awk '{ print } /^\/\/ ## Dropout$/ { print "//\n//@ core" }' "$root/transformer.c" \
    > "$copy/transformer.c"
refused "an end of plumbing that has not begun" "where nothing is plumbing"
in_chapter '//@ plumbing'
refused "plumbing that nobody says what it does" "unknown marker: //@ plumbing"
in_chapter '// ## Letters'
refused "two sections of one name in a chapter" "two sections named"
plant
sed 's/^LAYERS = {/&"unused": norms, /' "$root/docs/pictures/layers.py" \
    > "$copy/docs/pictures/layers.py"
refused "a figure that nobody uses" "figures that nobody uses: .'unused'"
plant
sed 's/^@after Softmax$/@after Hardmax/' "$root/docs/source/02-attention.md" \
    > "$copy/docs/source/02-attention.md"
refused "a box at a heading that does not exist" "is no heading"
plant
sed '/^12-decoding: /d' "$root/docs/source/index.md" > "$copy/docs/source/index.md"
refused "a chapter that promises nothing" "one promise for each chapter"
plant
sed 's/#numbers-dropout/#numbers-digits/' "$root/docs/source/index.md" \
    > "$copy/docs/source/index.md"
refused "a route to a section that does not exist" "no section numbers-digits"
plant
echo '| lost word | lost_function | It leads nowhere. |' >> "$copy/docs/source/terms.md"
refused "a term that leads nowhere" "terms.md:[0-9]*: there is no lost_function"
plant
echo '| softmax | softmax_row | It stands there twice. |' >> "$copy/docs/source/terms.md"
refused "a term that stands there twice" "two rows have softmax"
plant
head -n 1 "$root/docs/runs/speed.csv" > "$copy/docs/runs/speed.csv"
refused "a table without rows" "speed.csv has no rows"

plant
sed 's/d\[j\] - common/d[j] - mean/' "$root/transformer.c" > "$copy/transformer.c"
refused "a line to break that is not there" "found 0 times in softmax_backward"
plant
sed 's/(d\[j\] - common)/& + 0 * &/' "$root/transformer.c" > "$copy/transformer.c"
refused "a line to break that is there twice" "found 2 times in softmax_backward"
plant
rm "$copy/docs/runs/breaking/no_sum.txt"
refused "a broken line that nobody has run" "no docs/runs/breaking/no_sum.txt"

in_chapter '//@ chapter lost\n// # Lost'
refused "a chapter without a number" "the heading has no number: Lost"
in_chapter '//@ chapter lost\n// # 7. Lost'
refused "chapters out of order" "not numbered 0, 1, 2"
in_chapter '//@ chapter lost\n// Lost'
refused "a chapter without a heading" "lost does not begin with its heading"

# Without pandoc one line says what to install.
plant
python=$(python3 -c 'import sys; print(sys.executable)')
mkdir "$copy/bin"
weave="env PATH=$copy/bin $python docs/weaver"
refused "no pandoc" "^weaver: pandoc not found: apt-get install pandoc (Debian), brew"
if [ "$(wc -l < "$copy/log")" = 1 ]; then
    ok "one line says so"
else
    bad "one line says so"
fi
weave="python3 docs/weaver"

plant
if checked; then
    ok "all checks hold"
else
    bad "all checks hold"
fi

# in_file FILE SED: a change in a file of the copy
in_file()
{
    sed "$2" "$root/$1" > "$copy/$1"
    ! cmp -s "$root/$1" "$copy/$1" || bad "sed changes $1"
}

# at_end PAGE TEXT: a text at the end of a woven page
at_end()
{
    in_file "docs/$1.html" "s|</main>|$2&|"
}

at_end 00-manual '<a href="tested.html">a link</a>'
at_end 01-numbers '<a href="functions.html#nothing">a link</a>'
at_end 03-multi-head '<a href="/testing.html">a link</a>'
at_end 04-embedding '<pre><code>dx_i = 1</code></pre>'
at_end 05-feed-forward '<pre><span id="L7"></span></pre>'
at_end 07-encoder '<p>::: tutorial</p>'
at_end 08-decoder '<script src="https://a.b/c.js"></script>'
in_file docs/02-attention.html '/class="formula"/,/<.math>/d'
in_file docs/06-residual.html 's|<mo>∑</mo>|<mo>⨊</mo>|'
in_file docs/11-training.html 's|stroke="none"|stroke="red"|;s|fill="none"|fill="red"|'
in_file docs/script.js 's|12-decoding.html#LayerCache|12-decoding.html#Lost|'
in_file docs/texts.js 's|15-commands.html#|15-commands.html#lost-|'
in_file README.md 's/voiture |    @@/voiture |  @@  /'
checked && bad "what is wrong with pages is found"
found "a link to a page that does not exist" "each of .* links" " tested.html"
found "a link to a place that does not exist" "each of .* links" "#nothing"
found "a link from the root of the host" "each of .* links" " /testing.html"
found "a formula that is missing" "formulas of the file and its"
found "a formula that is not set" "shown as it was typed" "dx_i = 1"
found "a sign that the font lacks" "the font has all signs" "⨊"
found "a color that the dark does not know" "no other colors" "red"
found "the number of a line as an address" "no address is the number" 'L7'
found "a box that is left open" "no box is left open" "::: tutorial"
found "a script from elsewhere" "pages load" "https://a.b/c.js"
found "a search that leads nowhere" "things that can be found" "#Lost"
found "a text that is nowhere" "things that can be found" "#lost-"
found "a picture of attention from another run" "show the .* lines of the picture"

plant
in_file docs/02-attention.html '/^<mtr>.*<mo>∑/d'
in_file docs/13-looking.html 's|</code></pre>|;&|'
in_file docs/05-feed-forward.html 's|<span id="\([a-z]\)|<span id="other_\1|'
in_file docs/12-decoding.html 's|<a href="[^"]*#extend_cache">\(extend_cache\)</a><span|\1<span|'
checked && bad "what is wrong with listings is found"
found "a line of a formula that is missing" "lines of these blocks are"
found "a listing that is not in the file" "listings of the chapters are" ";"
found "a function without its address" "lead to them" "#ffn_forward"
found "a call that is no link" "calls in the listings are links" "extend_cache"

# stale CLAIM ENTRY MESSAGE: one check of a broken line fails
stale()
{
    if (cd "$copy" && ! python3 docs/weaver/breaking.py --check "$2" > log 2>&1) &&
        [ "$(grep -c '^FAIL' "$copy/log")" = 1 ] && grep -q "$3" "$copy/log"; then
        ok "$1"
    else
        bad "$1: not found"
        cat "$copy/log"
    fi
}

plant
sed 's/"d\[j\]")/"e[j]")/' "$root/docs/weaver/breaking.py" > "$copy/docs/weaver/breaking.py"
stale "a broken line that is no C" no_sum "error: .e. undeclared"
plant
sed 's/200 *400 *600 *800/200 400 600 801/' \
    "$root/docs/runs/breaking/last_place_only.txt" \
    > "$copy/docs/runs/breaking/last_place_only.txt"
stale "another output of an example" last_place_only "prints something else now"
plant
sed 's/^SMALL = "--layers 1/SMALL = "--layers 2/' "$root/docs/weaver/breaking.py" \
    > "$copy/docs/weaver/breaking.py"
stale "a training with other options" no_sum "other runs have been"
plant
sed '/^@outcome no_sum$/d' "$root/docs/source/02-attention.md" \
    > "$copy/docs/source/02-attention.md"
stale "a broken line without its outcome" no_sum "no page has @broken"

# changes CLAIM AWK: the line that awk adds to the file changes at most two pages
# and forty lines, removed and added, counting those of the scripts
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
    for page in "$copy"/docs/*.html "$copy"/docs/*.js; do
        n=$(diff "$copy/before/${page##*/}" "$page" | grep -c '^[<>]')
        case $n:$page in
        0:* | *.js | *:*/index.html) ;; # its minutes may be rounded up
        *) pages=$((pages + 1)) ;;
        esac
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
cp "$copy"/docs/*.html "$copy"/docs/*.js "$copy/before"
changes "a line more in the prose of chapter 3" \
    'here && /^\/\/ [A-Z]/ && !n++ { print; $0 = "// One line more." }'
changes "a line more in a contract" \
    'here && /^[a-z].*\(.*[^;]$/ && !n++ { print "// One line more." }'
changes "a line more in a function" \
    'n == 1 && n++ { print "    // One line more." }
     here && /^[a-z].*\(.*[^;]$/ && !n { n = 1 }'

rm -rf "$copy"
totals

# Puts together what gcov says of transformer.c for several programs, and holds
# what none of them has reached against a list of reasons.
#
#     awk -v csv=FILE -f tests/coverage.awk REASONS */transformer.c.gcov
#
# In REASONS, paragraphs of prose say why the lines below them are not reached:
#
#     line   FUNCTION | TEXT         the line is never executed
#     N of M FUNCTION | TEXT         N of the M ways the line may branch are
#                                    never taken
#
# Lines are known by their function and text, not by their number. An entry that
# is not needed, and a count that is not right, are failures, so the list stays
# true. The figures of each chapter go to FILE.
#
# gcov -b -c writes a line as "count: number:text", its branches below it as
# "branch N taken C", and before a function "function NAME called ...".

function trimmed(s)
{
    gsub(/^[ \t]+|[ \t]+$/, "", s)
    return s
}

# Reasons: what is expected, by its text.
FILENAME == ARGV[1] {
    if ($0 ~ /^(line  |[0-9]+ of [0-9]+) /) {
        expected[trimmed($0)]++
        reasons++
    }
    next
}

/^function / { name = $2; next }

/^ *[-0-9#=*]+: *[0-9]+:/ {
    split($0, part, ":")
    line = part[2] + 0
    count = trimmed(part[1])
    text_here = substr($0, length(part[1]) + length(part[2]) + 3)
    if (text_here ~ /^\/\/@ chapter /)
        begins[line] = substr(text_here, 13)
    if (line > last)
        last = line
    if (count == "-")
        next
    seen[line] = 1
    if (count ~ /^[0-9]/)
        reached[line] = 1
    text[line] = trimmed(text_here)
    of_line = line
    way = 0
    within[line] = name
    next
}

# A way is taken if it is in any program. gcov's own numbers count calls, too,
# and those may differ; the first way of a line is the first in every program.
/^branch / {
    if (++way > ways[of_line])
        ways[of_line] = way
    if ($3 == "taken" && $4 > 0 && !((of_line, way) in taken)) {
        taken[of_line, way]
        ways_taken[of_line]++
    }
}

function unreached(entry)
{
    if (expected[entry] > 0) {
        expected[entry]--
    } else {
        print "FAIL not reached, and no reason given: " entry
        failures++
    }
}

# A row of the table: counts since the last one, of the chapter that ends.
function row(chapter)
{
    if (lines)
        print chapter "," lines "," lines_reached + 0 "," branches + 0 "," \
            branches_taken + 0 > csv
    all_lines += lines
    all_lines_reached += lines_reached
    all_branches += branches
    all_branches_taken += branches_taken
    lines = lines_reached = branches = branches_taken = 0
}

END {
    print "chapter,lines,executed,branches,taken" > csv
    for (n = 1; n <= last; n++) {
        if (n in begins) {
            row(chapter)
            chapter = chapters++ " " begins[n]
            gsub("_", "-", chapter)
        }
        if (!seen[n])
            continue
        lines++
        lines_reached += reached[n]
        where = within[n] " | " text[n]
        if (!reached[n])
            unreached("line   " where)
        missed = ways[n] - ways_taken[n]
        if (missed && reached[n])
            unreached(missed " of " ways[n] " " where)
        branches += ways[n]
        branches_taken += ways_taken[n]
    }
    row(chapter)
    print "all," all_lines "," all_lines_reached "," all_branches "," \
        all_branches_taken > csv
    for (entry in expected)
        if (expected[entry] > 0) {
            print "FAIL a reason for what is reached: " entry
            failures++
        }
    print "reasons " reasons + 0
    print "lines " all_lines_reached + 0 " of " all_lines + 0
    print "branches " all_branches_taken + 0 " of " all_branches + 0
    exit failures > 0
}

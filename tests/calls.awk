# Is the tree "Who calls whom" of the manual true? Each name in it must be a
# function, of a chapter that stands at the end of the line, and its caller must
# call it, itself or through others.
#
#     awk -f tests/calls.awk transformer.c transformer.c
#
# The file is read twice: first the names of all functions, then their bodies
# and the tree.

function wrong(text) {
    print text
    failed = 1
}

# Adds the functions that a line names to what the function `inside` calls.
function add_calls(line,    word) {
    sub(/\/\/.*/, "", line)
    while (match(line, /[a-z_0-9]+/)) {
        word = substr(line, RSTART, RLENGTH)
        line = substr(line, RSTART + RLENGTH)
        if (word in chapter)
            calls[inside] = calls[inside] word " "
    }
}

function reaches(caller, name,    n, i, next_one) {
    if (caller in seen)
        return 0
    seen[caller] = 1
    if (index(" " calls[caller], " " name " "))
        return 1
    n = split(calls[caller], next_one, " ")
    for (i = 1; i <= n; i++)
        if (reaches(next_one[i], name))
            return 1
    return 0
}

function look_at(name, caller, chapters) {
    count++
    if (!(name in chapter))
        wrong("there is no function " name)
    else if (!index(" " chapters ",", " " chapter[name] ","))
        wrong(name " stands in chapter " chapter[name] ", not " chapters)
    split("", seen)
    if (caller != "" && !reaches(caller, name))
        wrong(caller " does not call " name)
}

# A line of the tree: names, to the right of a dash the functions that the first
# of them calls; or what is no name; and chapters.
function look_at_line(line,    chapters, depth, above, part, parts, name, names,
                      p, i) {
    gsub(/│|├|└|─/, "-", line)
    match(line, /  +[0-9, ]+$/)
    chapters = substr(line, RSTART + 2)
    gsub(/^ +/, "", chapters)
    line = substr(line, 1, RSTART - 1)
    sub(/:.*/, "", line)
    match(line, /[a-z]/)
    depth = RSTART
    for (above = depth - 1; above > 0 && !(above in at); above--);
    for (i in at)
        if (i + 0 > depth)
            delete at[i]
    parts = split(substr(line, depth), part, " - ")
    for (p = 1; p <= parts; p++) {
        names = split(part[p], name, ", ")
        for (i = 1; i <= names; i++)
            if (name[i] ~ /^[a-z_0-9]+$/)
                look_at(name[i], p == 1 ? at[above] : at[depth], chapters)
        if (p == 1)
            at[depth] = name[1]
    }
}

FNR == 1 {
    pass++
    inside = ""
}
/^\/\/ # [0-9]+\. / { number = $3 + 0 }
/^[a-zA-Z].*[ *][a-z_0-9]+\(/ && !/;$/ && !/^typedef/ {
    match($0, /[a-z_0-9]+\(/)
    inside = substr($0, RSTART, RLENGTH - 1)
    if (pass == 1)
        chapter[inside] = number
}
pass == 1 { next }
/^}/ { inside = "" }
inside != "" && /^ / { add_calls($0) }
/^\/\/ ## / { in_tree = /Who calls whom/ }
in_tree && /[0-9]$/ { tree[++lines] = $0 }
END {
    for (l = 1; l <= lines; l++)
        look_at_line(tree[l])
    if (count < 20)
        wrong("a tree of " count + 0 " names")
    exit failed
}

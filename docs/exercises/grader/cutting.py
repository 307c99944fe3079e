"""What is cut out of transformer.c: the file with holes, the files with a bug, and the file
with a student's lines in the place of ours."""

import re

import source_file
from files import EXERCISES, REFERENCE, ROOT, Trouble, read_text, shown
from source_file import regions


def reference_regions():
    return regions(read_text(REFERENCE), "transformer.c")


def load_exercises():
    """All exercises, by number."""
    exercises = source_file.pages(EXERCISES, read_text, read_text(REFERENCE))
    pages = {e.name for e in exercises if e.kind == "write"}
    for name in {*reference_regions()} ^ pages:
        raise Trouble(f"the region {name} of transformer.c has no page of its kind"
                      if name not in pages else f"{name}.md: there is no such region")
    return exercises


def around(lines, region):
    """The function that a region is in: its first line, and the one after its last;
    counted from 0."""
    first = max(i for i in range(region.start)
                if re.match(r"[A-Za-z].*\w\(", lines[i]))
    return first, lines.index("}", region.end - 1) + 1


PREAMBLE = """
// What is not written yet ends the program here. (Made by `make exercises`: only
// what you write between the lines "//@ exercise NAME" and "//@ end" is graded.)
_Noreturn void exercise_todo(const char *name) {
    fprintf(stderr, "exercise: %s is not written yet\\n", name);
    exit(3);
}
#if defined __GNUC__ && !defined __TINYC__ // nor does it use everything yet
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wunused-variable"
#pragma GCC diagnostic ignored "-Wunused-but-set-variable"
#endif
"""


def with_preamble(text, extra=()):
    """The text with the preamble after the block of #include lines that has <stdio.h>."""
    lines = text.split("\n")
    if "#include <stdio.h>" not in lines:
        return text
    place = lines.index("#include <stdio.h>")
    while lines[place].startswith("#include"):
        place += 1
    extra = [line.replace("NEXT", str(place + 1)) for line in extra]
    return "\n".join(lines[:place] + PREAMBLE.rstrip().split("\n") + extra
                     + lines[place:])


def make_stub():
    return with_preamble(source_file.with_holes(read_text(REFERENCE)))


def source_of(exercise):
    """The file in which a bug is planted."""
    return ROOT / exercise.source if exercise.source else REFERENCE


def without_marks(text):
    """A text without the lines between which exercises stand."""
    return re.sub(r"^ *//@ (exercise \w+|end)\n", "", text, flags=re.M)


def plant_bug(exercise):
    """The whole file with the wrong lines in the place of the right ones."""
    where = f"exercise {exercise.number}"
    lines = read_text(source_of(exercise)).split("\n")
    heads = [i for i, line in enumerate(lines)  # but not of declarations
             if re.match(rf"[A-Za-z].*\b{re.escape(exercise.function)}\(", line)
             and re.match(r"[^;{]*\{", "\n".join(lines[i:i + 6]))]
    if len(heads) != 1:
        raise Trouble(f"{where}: no function {exercise.function} in "
                      f"{shown(source_of(exercise))}")
    end = lines.index("}", heads[0])
    right, wrong = exercise.right.split(" ⏎ "), exercise.wrong.split(" ⏎ ")
    found = [i for i in range(heads[0], end)
             if [line.strip() for line in lines[i:i + len(right)]] == right]
    if len(found) != 1:
        raise Trouble(f"{where}: the right line stands {len(found)} times in "
                      f"{exercise.function}, not once")
    i = found[0]
    indent = lines[i][:len(lines[i]) - len(lines[i].lstrip())]
    lines[i:i + len(right)] = [indent + line for line in wrong]
    return without_marks("\n".join(lines))  # the marks would tell too much


def in_its_function(text, name, region, label):
    """The reference with the student's region, between lines of ours. For the whole of its
    function the compiler's messages name the student's file and lines."""
    lines, ours = text.split("\n"), regions(text, "transformer.c")[name]
    first, end = around(lines, ours)
    return "\n".join([
        *lines[:first],
        f'#line {first + 1 + region.start - ours.start} "{label}"',
        *lines[first:ours.start], "{",
        f'#line {region.start + 1} "{label}"', *region.body,
        f"    //@ end of {name}", "}",
        f'#line {region.end} "{label}"', *lines[ours.end - 1:end],
        f'#line {end + 1} "transformer.c"', *lines[end:]])

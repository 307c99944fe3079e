"""What is not compiled: lines that reach out of their function, or of the language, and a
file with a bug in which too much is changed."""

import difflib
import functools
import re

import neighbors
import source_file
from source_file import code_of

LONGEST = 20000  # characters of a region: the time to read it grows with their square
FEW_LINES = 12  # this many statements may differ in a file with a bug

# What has no place in an exercise: what reaches out of its function, or of the
# language, and names that are the compiler's own. What code that is compiled may do to
# the machine is for confine.c to say.
OUTSIDE = re.compile(r"""
    \# | %: | <% | %> | <: | :> | \[\s*\[ | \\ |
    \b(?:(?!_Exit\b|_(?:Alignas|Alignof|Atomic|Bool|Complex|Generic|Noreturn|
            Static_assert|Thread_local)\b|__func__\b|__LINE__\b)_[_A-Z]\w* |
        asm | PRAGMA)\b""", re.X)
# What makes a compiler see other lines than source_file.NOT_CODE does: trigraphs and
# lines that go on. Whatever else can be read in two ways is refused, too; then the
# reader needs no compiler, whose tokens come after macros have been replaced.
OTHER_LINES = re.compile(r"\?\?[=/'()!<>-]|\\\s*$|[\0-\x08\x0b-\x1f\x7f]|"
                         r"^\s*#.*/\*(?!.*\*/)")
OPEN = re.compile(rf"{source_file.NOT_CODE.pattern}|(?P<open>[\"']|/\*)", re.S)


def left_open(text, label, first):
    """What to say of the first quotation mark or comment that has no end, after which
    compilers read other tokens than we do; `first` is the number of the text's first line."""
    found = next((m for m in OPEN.finditer(text) if m["open"]), None)
    return found and f"{label}:{first + text.count(chr(10), 0, found.start())}: " + (
        "a comment has no end" if found["open"] == "/*" else
        f"a quotation mark stays open: {found['open']}")


def outside(raw, code):
    """What in a line is not allowed, or ""."""
    odd = OTHER_LINES.search(raw) or OUTSIDE.search(code)
    if not odd:
        return ""
    what = odd[0].strip()
    return what if what.isprintable() and what else "a control character"


def refusal(region, label):
    """Why a region may not be compiled: it would reach out of its function."""
    depth, text = 0, "\n".join(region.body)
    if len(text) > LONGEST:
        return f"{label}:{region.start}: this region has more than {LONGEST} characters"
    if left_open(text, label, region.start + 1):
        return left_open(text, label, region.start + 1)
    code = code_of(text).split("\n")
    for number, (raw, line) in enumerate(zip(region.body, code), region.start + 1):
        odd = outside(raw, line)
        if odd:
            return f"{label}:{number}: {odd} is not allowed in an exercise"
        for brace in re.findall("[{}]", line):
            depth += 1 if brace == "{" else -1
            if depth < 0:
                return (f"{label}:{number}: the braces {{ }} do not match: this }} "
                        "ends the function")
    return f"{label}:{number}: the braces {{ }} do not match: {depth} of {{ stay open" \
        if depth else ""


FUNCTION = re.compile(r"\b(?!else\b|return\b)\w+[\s*]+(?!(?:if|for|while|switch)\b)(\w+)"
                      r"\s*\([^;{}()]*\)\s*\{")


def function_inside(code):
    """What to say of a function within a region, which compilers may let pass unused."""
    found = FUNCTION.search(code)
    return found and (f"{found[1]} is a function of its own here: write what stands "
                      "between its braces, without its head")


def refused_name(exercise, code):
    """What to say of a name that the page refuses, unless it is a variable that the code
    declares itself, of whatever type; a name that is called is no variable."""
    names, _, why = exercise.refuse.partition(" -> ")
    bare, old = code, ""
    while bare != old:  # without what stands in brackets, where commas declare nothing
        old, bare = bare, re.sub(r"\([^();]*\)|\[[^][]*\]|=\s*\{[^{};]*\}", " 0 ", bare)
    return next((f'wrong: "{name}": {why}' for name in names.split()
                 if re.search(rf"(?<![.>\w]){name}\s*\(", code)
                 or re.search(rf"(?<![.>\w]){name}\b", code) and not re.search(
                     r"(?:^|[;{}(:])\s*(?!(?:return|goto|case|else)\b)(?:\w+\s+)*\w+[\s*]+"
                     rf"(?:\w+[^;(){{}}]*,[\s*]*)?{name}\s*(?:[=;,]|0)", bare)), "")


@functools.lru_cache(maxsize=8)
def statements(text):
    """[(first line, last line, code)] of all that ends with ; { or }, and of lines that
    begin with #. Where a line breaks, and what stands between tokens, does not matter."""
    found, words, start = [], [], 0

    def end(number):
        if words:
            found.append((start, number, " ".join(words)))
            words.clear()

    for number, line in enumerate(code_of(text, True).split("\n"), 1):
        directive = line.lstrip().startswith("#")
        if directive:
            end(number)
        for token in neighbors.tokens(line):
            start = start if words else number
            words.append(token.text)
            if token.text in (";", "{", "}") and not directive:
                end(number)
        if directive:
            end(number)
    end(number)
    return found


def codes(text):
    return [code for *_, code in statements(text)]


def changed_lines(text, source):
    """How many statements are not as in a source, and the numbers of the lines of
    those that are the student's."""
    ours, theirs, count, numbers = codes(source), statements(text), 0, set()
    for what, i, j, k, l in difflib.SequenceMatcher(
            None, ours, codes(text)).get_opcodes():
        if what != "equal":
            count += max(j - i, l - k)
            numbers.update(n for first, last, _ in theirs[k:l]
                           for n in range(first, last + 1))
    return count, numbers


def refusal_of_bug(text, label, source):
    """Why a file with a bug is no answer; and whether it is the code of its source."""
    if left_open(text, label, 1):
        return left_open(text, label, 1), False
    count, changed = changed_lines(text, source)
    if count > FEW_LINES:
        return (f"{count} statements are not as you were given them; a mistake is "
                f"fixed by one or two, and {FEW_LINES} may differ"), False
    lines, code = text.split("\n"), code_of(text).split("\n")
    known = {" ".join(line.split()) for line in source.split("\n")}
    for number, raw in enumerate(lines, 1):
        odd = outside("" if " ".join(raw.split()) in known else raw,
                      code[number - 1] if number in changed else "")
        if odd:
            return f"{label}:{number}: {odd} is not allowed in an exercise", False
    return "", not count

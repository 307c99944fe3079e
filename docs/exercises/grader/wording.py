"""Words for what has happened: how a check ended, what the numbers look like, where a crash
is, and what the lines themselves give away."""

import re
import signal

import neighbors
from comparing import read_results
from compiling import SANITIZE, WRITTEN, compile_grader, make_results
from cutting import reference_regions
from files import REFERENCE, ROOT, read_text
from source_file import chapters, code_of, regions
from wrong_bodies import load_mistakes, named, right_results, wrong_bodies


def usual_mistake(made, exercise, written, case):
    """What to say of a student's results, of which this case is the first wrong one:
    what is known of the numbers, or of the case; or else ""."""
    text = read_text(made / "transformer.c")
    said, is_own = named(exercise, wrong_bodies(exercise, text), read_results(written)[0],
                         right_results(made, exercise.name))
    mistakes = load_mistakes(exercise, regions(text, "transformer.c")[exercise.name].body)
    said = (not is_own and said_of_case("*", mistakes, case)) or said
    return ", or: ".join(said) + f" ({place(made, exercise.name)})" if said else ""


def said_of_case(kind, mistakes, case):
    """What the page says if this case is the first wrong one (*), or crashes (!), or if the
    result of this name has a wrong shape (!)."""
    return [m.say for m in mistakes if m.kind == kind and case in m.body]


def place(made, name):
    """Where the text treats a region: its chapter, and the heading above it."""
    text = read_text(made / "transformer.c")
    line = regions(text, "transformer.c")[name].start
    chapter = [c for c in chapters(text, "transformer.c")
               if c.start < line][-1]
    headings = [m[1] for m in (re.match("// ##+ (.*)", text)
                               for text in chapter.lines[:line - chapter.start]) if m]
    return ", ".join([f"chapter {chapter.number}"]
                     + [f"“{heading}”" for heading in headings[-1:]])


SIGNALS = {signal.SIGSEGV: "it uses memory that is not there, or calls itself "
                           "for ever",
           signal.SIGBUS: "it uses memory that is not there",
           signal.SIGFPE: "division of a whole number by zero",
           signal.SIGABRT: "abort: memory was overwritten or freed twice",
           signal.SIGILL: "the end of a function without its return, or a trap",
           signal.SIGKILL: "killed: too much time or memory",
           signal.SIGXCPU: "it computes too long",
           signal.SIGXFSZ: "it writes too much into a file"}
AT_A_PLACE = list(SIGNALS)[:5]  # of the program's lines


def signal_in_words(number):
    return SIGNALS.get(number) or signal.strsignal(number) or "an unknown signal"


def judge(ended, compared, said):
    """State and word of a check, from how the student's program ended, and from what the
    comparison of its results says: only the comparison can say that all is right."""
    if compared == "right":
        return "right", said
    if ended.status == 3 and "is not written yet" in ended.output:
        return "todo", "the line exercise_todo(...) is still there: take it out"
    if compared == "wrong":
        cause = re.search(r"^looks like: (.*)", said, re.M) \
            or re.search(r"^wrong: (.*)", said, re.M)
        return "wrong", f"wrong: {cause[1]}"
    if ended.stopped.startswith("stopped after"):
        return "wrong", ended.stopped + ": a loop without end?"
    if ended.stopped:
        return "wrong", ended.stopped
    if ended.status < 0:
        return "wrong", "crashes: " + signal_in_words(-ended.status)
    if ended.status == 1 and re.search(r"^transformer: ", ended.output, re.M):
        return "wrong", re.findall(r"^transformer: .*", ended.output, re.M)[-1]
    return "wrong", f"your code ended the program itself (status {ended.status})"


def find_crash(made, source, label, name, folder):
    """Where a crash is: the check once more under the address sanitizer, if the
    compiler has one."""
    if compile_grader(made, source, folder / "sanitized",
                      [*SANITIZE, f"-DCHECK={name}"])[0]:
        return ""
    said = make_results(made, folder / "sanitized", [name, WRITTEN], folder,
                        memory=0, given="\n", environment=[
                            "ASAN_OPTIONS=detect_leaks=0:handle_segv=2:handle_abort=2:"
                            "handle_sigfpe=2:hard_rss_limit_mb=1024"])[0].output
    kind = re.search(r"ERROR: AddressSanitizer:? (.+?) on ", said)
    place = re.search(r" in (\w+) \S*" + re.escape(label) + r":(\d+)", said)
    lines = re.findall(r"^\S*" + re.escape(label) + r":\d+:.*runtime error: .*",
                       said, re.M)[:3]
    if kind and place:
        lines.append(f"{label}:{place[2]}: {kind[1]} in {place[1]}")
    return "".join(f"the sanitizer says: {line}\n" for line in lines)


# A pointer through which a line reads or writes: p[...], p->..., *p.
POINTER = re.compile(r"(?=(?<![\w.>])((?:\w+(?:\.|->))*\w+)(?:\[|->))"
                     r"|(?:^|[=(,;{&|+-])\s*\*\s*(\w+\b\(?)")


def null_pointer(said, label):
    """What to say of a null pointer that the sanitizer has found in a student's file:
    the line, and the name if only one pointer is used there; or else ""."""
    found = re.search(re.escape(label) + r":(\d+):\d+: runtime error: .*\bnull pointer",
                      said)
    if not found:
        return ""
    line = code_of(read_text(ROOT / label).split("\n")[int(found[1]) - 1], True).strip()
    names = {m[1] or m[2] for m in POINTER.finditer(line)}
    name = names.pop() if len(names) == 1 else "("
    what = "a null pointer is used" if name.endswith("(") else f"{name} is a null pointer"
    return f"{what}, in line {found[1]}: {line}"


def likely_cause(made, exercise, word, written, said):
    """The word of a check that is wrong, or a better one, that of a usual mistake; and what
    is said besides, without guesses if there is one."""
    case = re.search("^case: ([^;\n]*)", said, re.M)
    early = re.match(r"crashes: |transformer: (.*) is \(", word)
    if early and case:
        return "; ".join([word] + said_of_case("!", load_mistakes(
            exercise, reference_regions()[exercise.name].body), early[1] or case[1])), said
    if word.startswith("wrong: ") and case:
        usual = usual_mistake(made, exercise, written, case[1])
        untouched = re.search("^looks like: .*(never written|unchanged)", said, re.M)
        if usual and not (untouched and usual.startswith(neighbors.SAY)):
            return f"wrong: {usual}", re.sub("^looks like: .*\n", "", said, flags=re.M)
    return word, said


NAME = r"((?:\w+(?:\.|->))*([A-Za-z_]\w*))(?![\w.(\[]|\s*->)"
FIRST = r"(?:return|[^\s\w.)*/](?<![eE][-+]))\s*"  # so no cast or factor stands before it
RECIPROCAL = re.compile(FIRST + r"1\s*/\s*" + NAME)
QUOTIENT = re.compile(FIRST + r"(?=[1-9])(\d+)\s*/\s*(\d+)(?![\w.])")
CUT = re.compile(r"\((?:int|long)\)\s*" + NAME)
UNSET = re.compile(r":(\d+):\d+: warning: (?:variable )?['‘](\w+)['’] .*uninitialized\]")


def of_own_lines(code, function, result):
    """What to say of a division of whole numbers, of a fraction in an int, or of what is
    used without a value, or "": their numbers look as if something had been left out."""
    for what, name in RECIPROCAL.findall(code):
        if name in ("rows", "cols") or re.search(rf"\bint\b[^;(){{}}]*\b{name}\b", function):
            return (f"1 / {what} is a division of whole numbers, and 0 if {what} is more "
                    f"than 1: write 1.0 / {what}")
    for a, b in QUOTIENT.findall(code):
        if int(b) and int(a) % int(b):
            return (f"{a} / {b} is a division of whole numbers, and {int(a) // int(b)}: write "
                    f"{a}.0 / {b}")
    for what, name in CUT.findall(code):
        if name == "rate" or re.search(rf"\b(?:real|double)\s+(?:\w+,\s*)*{name}\b", function):
            return f"an int loses the fraction of {what}: leave the (int) out"
    lost = re.search(r":(\d+):\d+: warning: .* to ['‘](?:int|long|char)\b.*"
                     r"\[-Wfloat-conversion\]", result.detail)
    if lost:
        return f"an int loses its fraction in line {lost[1]}: it must be a real"
    unset = "(chapter " not in result.word and UNSET.search(result.detail)
    return f"{unset[2]} may have no value yet, in line {unset[1]}" if unset else ""


def elsewhere(said, others):
    """What to say of a name that the compiler does not know where it is used, but which
    stands somewhere else; `others` is the student's file without the region."""
    ours = set(read_text(REFERENCE).split("\n"))
    own = [line for line in others.split("\n") if line not in ours]
    for name in re.findall(r"(?:implicit declaration of function|undeclared function|"
                           r"undeclared identifier) ['‘](\w+)|"
                           r"['‘](\w+)['’] undeclared", said):
        name = name[0] or name[1]
        if re.search(rf"^(?!//)\S.*\b{name}\b", "\n".join(own), re.M):
            return (f": {name} stands outside of the region, and only what is between "
                    "its markers is taken")
        if re.search(rf"^[A-Za-z].*\b{name}\(", read_text(REFERENCE), re.M):
            return f": {name} stands further down in transformer.c"
    return ""

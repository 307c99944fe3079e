"""What of a changed transformer.c must be compiled, if the rest was compiled before: then a
student's functions take the place of ours when all is linked."""

import re

from source_file import code_of

# The head of a function that other files can call: those are compiled beforehand.
HEAD = re.compile(r"^(?!static\b|ALWAYS_INLINE\b|typedef\b)"
                  r"(\w[^;{}=#]*?\b(\w+)\([^;{}]*\)) \{\n", re.M)
END = re.compile(r"^\}$", re.M)


def end_of(text, start):
    """Where the function whose body begins here ends: at the first } that stands alone
    on its line and closes all braces; if there is none, at the first one."""
    ends = [m.end() for m in END.finditer(text, start, start + 20000)]
    for end in ends:
        code = code_of(text[start:end], True)
        if code.count("}") > code.count("{"):
            return end
    return ends[0] if ends else len(text)


def replaced(text, work):
    """The text with work(name, head, body) in the place of each function; None
    leaves it as it is."""
    done, at = [], 0
    while True:
        m = HEAD.search(text, at)
        if not m:
            return "".join(done) + text[at:]
        end = end_of(text, m.end())
        new = work(m[2], m[1], text[m.end():end])
        done += [text[at:m.start()], text[m.start():end] if new is None else new]
        at = end


def skeleton(text):
    """The file without the bodies of its functions, preamble, comments and blanks:
    types, macros, variables, heads."""
    bare = replaced(text, lambda name, head, body:
                    "" if name == "exercise_todo" else head + ";")
    bare = re.sub(r"^#(if defined __GNUC__ && !defined __TINYC__( //.*)?\n"
                  r"(#pragma GCC diagnostic .*\n)+#endif|line .*)$", "", bare,
                  flags=re.M)
    return "".join(code_of(bare, True).split())


class Reference:
    """transformer.c as it is, with which others are compared."""

    def __init__(self, text):
        self.functions = {}  # {name: (head, body)}
        replaced(text, lambda name, *parts: self.functions.update({name: parts}))
        self.skeleton = skeleton(text)

    def weak(self):
        """Lines that let a student's function take the place of the one that is compiled,
        and keep the compiler from using that one's body in others."""
        return "".join(f"#pragma weak {name}\n" for name in self.functions if name != "main")

    def outline(self, text):
        """A text without the bodies of the functions that are as they were, line for
        line."""
        def shortened(name, head, body):
            if self.functions.get(name) == (head, body):
                return head + ";" + "\n" * (body.count("\n") + 1)

        return replaced(text, shortened)

    def part_to_compile(self, text):
        """What of a changed file must be compiled: the functions that are not as they
        were, with the heads of the others; or, if not only functions have changed,
        all of it. And whether it is all."""
        whole = skeleton(text) != self.skeleton
        return text if whole else self.outline(text), whole

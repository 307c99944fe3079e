"""The neighbors of a right body: the same lines with one thing changed, as a student
might have it. A machine makes them from the body's own parts: its signs, factors, calls,
names, brackets, statements.

    for near in neighbors(lines): near.body, near.what, near.shown()

`what` says what was changed, shown() is the place after the change, with a word or two on
either side. What comes first is likelier. Many will not compile; run_wrong_bodies.py sorts
them out.
"""

import re
from dataclasses import dataclass

TOKEN = re.compile(r"""
    (?P<gap>\s+ | //[^\n]* | /\*.*?\*/) |
    (?P<text>"(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*') |
    (?P<number>\.?\d(?:[eEpP][+-]|[\w.])*) |
    (?P<name>[A-Za-z_]\w*) |
    (?P<sign>->|\+\+|--|<<=|>>=|<<|>>|[-+*/%&|^=!<>]=|&&|\|\||.)""", re.X | re.S)
WORDS = set("real double float int long unsigned char bool void const static size_t "
            "uint32_t uint64_t int64_t if else for while do return sizeof break continue "
            "struct NULL true false Mat".split())
CLOSE = {"(": ")", "[": "]", "{": "}"}


@dataclass
class Token:
    kind: str
    text: str
    start: int
    end: int


def tokens(text):
    return [Token(m.lastgroup, m[0], m.start(), m.end()) for m in TOKEN.finditer(text)
            if m.lastgroup != "gap"]


class Body:
    """A body's text and tokens, and which brackets belong together."""

    def __init__(self, lines):
        self.text = "\n".join(lines)
        self.all = tokens(self.text)
        self.pair, opened = {}, []
        for i, token in enumerate(self.all):
            if token.text in CLOSE:
                opened.append(i)
            elif token.text in CLOSE.values() and opened:
                self.pair[i] = opened.pop()
                self.pair[self.pair[i]] = i

    def __getitem__(self, i):
        return self.all[i].text if 0 <= i < len(self.all) else ";"

    def is_value(self, i):
        """Whether an operand ends with this token: then a - after it is binary."""
        token = self.all[i] if 0 <= i < len(self.all) else None
        return token is not None and (token.text in (")", "]") or token.kind == "number" or (
            token.kind == "name" and token.text not in WORDS - {"NULL"}))

    def is_cast(self, i):
        return self[i] == "(" and self[i + 1] in WORDS and self.pair.get(i) == i + 2

    def after(self, i):
        """Where the operand that begins here ends."""
        while self[i] in ("-", "!", "*", "&", "~") or self.is_cast(i):
            i = self.pair[i] + 1 if self[i] == "(" else i + 1
        i = self.pair.get(i, i) + 1
        while self[i] in ("(", "[", ".", "->"):
            i = self.pair.get(i, i + 1) + 1
        return i

    def before(self, i):
        """Where the operand that ends here begins."""
        while True:
            i = self.pair.get(i, i) if self[i] in (")", "]") else i
            if self[i] in ("(", "[") and self.is_value(i - 1):
                i -= 1
            elif self[i - 1] in (".", "->"):
                i -= 2
            else:
                return i

    def next(self, i, signs):
        """The first of these signs from here on that is not within brackets opened since."""
        while i < len(self.all) and self[i] not in signs:
            i = self.pair.get(i, i) + 1 if self[i] in CLOSE else i + 1
        return i

    def term_after(self, i):
        i = self.after(i)
        while self[i] in ("*", "/", "%") and i < len(self.all):
            i = self.after(i + 1)
        return i

    def term_before(self, i):
        i = self.before(i)
        while self[i - 1] in ("*", "/", "%") and self.is_value(i - 2):
            i = self.before(i - 2)
        return i

    def piece(self, i, end):
        """The text of the tokens from i up to end."""
        return self.text[self.all[i].start:self.all[end - 1].end] if i < end else ""

    def start(self, i):
        return self.all[i].start if i < len(self.all) else len(self.text)

    def with_changes(self, changes):
        """The body after [(first token, end, new text)]; where the first is, and how
        long it is then."""
        text, (first, _, shown) = self.text, min(changes)
        for i, end, new in sorted(changes, reverse=True):
            start = self.start(i)
            text = text[:start] + new + text[self.all[end - 1].end if end > i else start:]
        return text, self.start(first), len(shown)


def place(text, start, length):
    """What stands at a place, with two words on either side and whole brackets, within
    its statement."""
    b, ends = Body(text.split("\n")), (";", "{", "}")
    inside = [i for i, t in enumerate(b.all) if t.end > start]
    first = inside[0] if inside else len(b.all) - 1
    last = max([i for i in inside if b.all[i].start < start + length], default=first)

    def grown(i, by):
        return i if b[i + by] in ends or by > 0 and b[i] in ends else i + by

    for more in range(9):
        if more < 2 or b[first] in (".", "->", "["):
            first = grown(first, -1)
        if more < 2 or {b[last], b[last + 1]} & {".", "->", "[", "("}:
            last = grown(last, 1)
        pairs = [b.pair.get(i, i) for i in range(first, last + 1) if b[i] not in "{}"]
        first, last = min([first, *pairs]), max([last, *pairs])
    shown = re.sub(r"\s+", " ", re.sub(r"//[^\n]*", "", b.piece(first, last + 1)))
    return re.sub(r"^([*/,; ]|&+|<(?!=))+|[-+*/,&<=:; ]+$", "", shown).strip(" {}")


# ---------------------------------------------------------------- the changes
#
# Each gives (what, changes).

OTHER_SIGN = {"+": "-", "-": "+", "+=": "-=", "-=": "+="}
OTHERS = {"*": ["/", "+"], "/": ["*"], "<": ["<=", ">"], "<=": ["<", ">="], ">": [">=", "<"],
          ">=": [">", "<="], "==": ["!="], "!=": ["=="], "&&": ["||"], "||": ["&&"],
          "%": ["/"]}


def signs(b):
    for i, token in enumerate(b.all):
        if token.text in OTHER_SIGN and (b.is_value(i - 1) or "=" in token.text):
            yield "a sign reversed", [(i, i + 1, OTHER_SIGN[token.text])]
        elif token.text == "-":
            yield "a minus missing", [(i, i + 1, "")]
        if token.text in ("=", "+=", "return") and b[i + 1] not in (";", "-", "{"):
            yield "one minus too many", [(i + 1, i + 1, "-")]


def accumulation(b):
    added = [i for i, t in enumerate(b.all) if t.text in ("+=", "-=")]
    for i in added:
        yield "= where += belongs", [(i, i + 1, "=")]
    if len(added) > 1:
        yield "= where += belongs, everywhere", [(i, i + 1, "=") for i in added]
    for i, token in enumerate(b.all):
        start = b.before(i - 1)
        if token.text == "=" and b[start - 1] in (";", "{", "}", ")"):
            yield "+= where = belongs", [(i, i + 1, "+=")]
        if token.text == "*=":
            yield "= where *= belongs", [(i, i + 1, "=")]


def terms(b):
    for i, token in enumerate(b.all):
        if token.text in ("+", "-") and b.is_value(i - 1):
            yield "a term missing", [(i, b.term_after(i + 1), "")]
            start = b.term_before(i - 1)
            yield "a term missing", [(start, i + 1, "-" if token.text == "-" else "")]
        if token.text in ("*", "/") and b.is_value(i - 1):
            yield "a factor missing", [(i, b.after(i + 1), "")]
            start = b.before(i - 1)
            yield "a factor missing", [(start, i + 1, "" if token.text == "*" else "1 /")]
            yield "a factor twice", [(i, i, f"{token.text} {b.piece(i + 1, b.after(i + 1))} ")]
            yield "a factor twice", [(start, start, f"{b.piece(start, i)} * ")]


def brackets(b):
    for i, token in enumerate(b.all):
        end = b.pair.get(i, 0)
        if token.text == "(" and not b.is_value(i - 1) and not b.is_cast(i) \
                and b[i - 1] not in ("if", "for", "while"):
            yield "a bracket missing", [(i, i + 1, " "), (end, end + 1, " ")]
            for k in range(i + 1, end):
                if b[k] in ("+", "-") and b.is_value(k - 1) and k - 1 > i:
                    yield "a bracket closed too early", [(k, k, ")"), (end, end + 1, " ")]
        if token.text in ("*", "/") and b.is_value(i - 1) and b[b.after(i + 1)] in ("+", "-"):
            last = b.term_after(b.after(i + 1) + 1)
            yield "a bracket closed too late", [(i + 1, i + 1, "("), (last, last, ")")]


def calls(b):
    for i, token in enumerate(b.all):
        if token.kind != "name" or token.text in WORDS or b[i + 1] != "(":
            continue
        end, edges = b.pair[i + 1], [i + 1]
        while edges[-1] != end:
            edges.append(b.next(edges[-1] + 1, (",", ")")))
        parts = [(a + 1, z) for a, z in zip(edges, edges[1:])]
        if len(parts) == 1 and b[i - 1] not in (";", "{", "}"):
            yield f"{token.text} missing", [(i, i + 1, "")]
            yield f"{token.text} twice", [(i + 1, i + 1, f"({token.text}"), (end, end, ")")]
        for p, q in zip(parts, parts[1:]):
            yield "two arguments exchanged", [(*p, b.piece(*q)), (*q, b.piece(*p))]
        for p in parts:
            if len(parts) > 1 and p[1] - p[0] == 1 and b.all[p[0]].kind == "name":
                yield "a matrix transposed", [(*p, f"transposed({b[p[0]]})")]


def operators(b):
    for i, token in enumerate(b.all):
        for new in OTHERS.get(token.text, []):
            if b.is_value(i - 1):
                yield f"{new} where {token.text} belongs", [(i, i + 1, new)]
        if token.text in ("-", "/") and b.is_value(i - 1):
            left, right = b.term_before(i - 1), b.term_after(i + 1)
            if token.text == "/":
                left, right = b.before(i - 1), b.after(i + 1)
            yield "two sides exchanged", [(left, i, b.piece(i + 1, right) + " "),
                                          (i + 1, right, b.piece(left, i))]


def numbers(b):
    for i, token in enumerate(b.all):
        if token.kind != "number":
            continue
        whole = re.fullmatch(r"\d+", token.text)
        new = {"0": ["1"], "1": ["0", "2"], "2": ["1"]}.get(
            token.text, [str(int(token.text) + 1), str(int(token.text) - 1)] if whole
            else [f"(2 * {token.text})", f"(0.5 * {token.text})", f"(-{token.text})"])
        for number in new:
            yield f"{number} where {token.text} belongs", [(i, i + 1, number)]
    for i, token in enumerate(b.all):
        if token.text in ("<", "<=") and b.is_value(i - 1):
            end = b.term_after(i + 1)
            yield "a limit that is one too small", [(end, end, " - 1")]
        if token.text == "[" and b.pair[i] > i + 1:
            yield "an index one too large", [(b.pair[i], b.pair[i], " + 1")]
            yield "an index one too small", [(b.pair[i], b.pair[i], " - 1")]


def names(b):
    """Each name replaced, once or everywhere, by another one of the body."""
    plain = [i for i, t in enumerate(b.all) if t.kind == "name" and t.text not in WORDS
             and not (b[i - 1] in WORDS and b[i + 1] in ("=", ";", ","))]
    kinds = {i: ("member" if b[i - 1] in (".", "->") else "call" if b[i + 1] == "("
                 else "name") for i in plain}
    others = {i: sorted({b[k] for k in plain if kinds[k] == kinds[i]} - {b[i]})
              for i in plain}
    for i in plain:
        for new in others[i]:
            yield f"{new} where {b[i]} belongs", [(i, i + 1, new)]
    for old in sorted({b[i] for i in plain}):
        places = [i for i in plain if b[i] == old]
        if len(places) > 1 and len({kinds[i] for i in places}) == 1:
            for new in others[places[0]]:
                yield f"{new} where {old} belongs, everywhere", [
                    (i, i + 1, new) for i in places]


def statements(b):
    """Simple statements, each from its first token to its semicolon."""
    found, start, depth = [], 0, 0
    for i, token in enumerate(b.all):
        depth += (token.text in ("(", "[")) - (token.text in (")", "]"))
        if token.text in ("{", "}") and depth == 0:
            start = i + 1
        elif token.text == ";" and depth == 0:
            while b[start] in ("for", "if", "while", "else"):
                start = b.pair[start + 1] + 1 if b[start] != "else" else start + 1
            found.append((start, i + 1))
            start = i + 1
    plain = [(i, end) for i, end in found if b[i] not in WORDS]
    for i, end in plain:
        yield "a statement missing", [(i, end, ";")]
        yield "a statement made twice", [(end, end, " " + b.piece(i, end))]
    for first, second in zip(plain, plain[1:]):
        if first[1] == second[0]:
            yield "two statements exchanged", [(*first, b.piece(*second)),
                                               (*second, b.piece(*first))]
    for place_, (i, end) in enumerate(plain):
        for later in plain[place_ + 2:]:
            between = {b[k] for k in range(end, later[0])}
            if not between & {"{", "}"}:
                yield "a statement too late", [(i, end, ";"), (later[1], later[1],
                                                              " " + b.piece(i, end))]
                yield "a statement too early", [(i, i, b.piece(*later) + " "),
                                                (*later, ";")]


CHANGES = [signs, accumulation, terms, brackets, operators, calls, statements, numbers, names]
SAY = "the numbers are those of the right lines with"
MOST = 700  # of a body, in the order of CHANGES


@dataclass
class Neighbor:
    what: str
    text: str
    start: int   # of the change in the text
    length: int

    @property
    def body(self):
        return self.text.split("\n")

    def shown(self):
        return f"`{place(self.text, self.start, self.length)}`"

    @property
    def say(self):
        return f"{SAY} {self.what}: {self.shown()}"


def neighbors(lines):
    """All of them, each body once."""
    b, found = Body(lines), {}
    for change in CHANGES:
        for what, changes in change(b):
            text, start, length = b.with_changes(changes)
            if text != b.text and text not in found and len(found) < MOST:
                found[text] = Neighbor(what, text, start, length)
    return list(found.values())

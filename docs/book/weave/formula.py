"""Sets the formulas of transformer.c as MathML.

A block of indented lines in its prose is a formula if is_formula() says so;
then all of its lines are set, each as a row of one table. The notation is that
of the section "Formulas" of chapter 0:

    row       [sums] [relation sums {relation sums}]   [shapes]   [reason]
    sums      sum {"," sum}
    sum       [sign] product {sign product}
    product   ratio {["·"] ratio | " / " ratio}
    ratio     scripted {"/" scripted}, without a blank
    scripted  atom {subscript, superscript or, without a blank, arguments}
    atom      number, name, "…", (relations), [relations], √ scripted,
              ∂ scripted, Σ, function scripted

The first relations stand below each other. Three blanks or more set off shapes,
which begin with "(", and a reason, which begins with one of REASONS. What
cannot be read raises Wrong.
"""

import html
import re

REASONS = "since by through with where for in so and".split()
FUNCTIONS = "log ln sin cos max min mod".split()  # need no parentheses
RAISED = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁻ᵀᵗˣⁿʳ", "0123456789-Ttxnr"))
LOWERED = dict(zip("₀₁₂₃₄₅₆₇₈₉", "0123456789"))
PAIRS = {"(": ")", "[": "]"}
GREEK = "Α-ΡΤ-Ωα-ω"  # Σ is for sums
SCRIPTS = {**RAISED, **LOWERED}
TOKEN = re.compile(
    rf"(?P<blank> +)|(?P<number>\d+(?:\.\d+)?)|(?P<name>[A-Za-z]+|[{GREEK}])"
    rf"|(?P<raised>[{''.join(RAISED)}]+)|(?P<lowered>[{''.join(LOWERED)}]+)"
    r"|(?P<relation>[=≈≤≥<>≠←])|(?P<open>[(\[])|(?P<hat>\u0302)|(?P<prime>')"
    r"|(?P<script>[_^])|(?P<prefix>[√∂Σ…])|(?P<sign>[-+])|(?P<mark>[,/·)\]])|(?P<wrong>.)")
SUBSCRIPT = r"[A-Za-z]_([i-z]{1,2}|\d{1,2})(?!\w)"  # letters from i on
MARK = re.compile(rf"{SUBSCRIPT}|[∂Σ{GREEK}{''.join(RAISED)}]|[_^√]\(|[a-z)]\^[A-Z]")


class Wrong(Exception):
    """The number of a line, counted from 0, and why it cannot be set."""


def is_formula(lines):
    """Does a line have a subscript, a Greek letter, ∂, or something raised?"""
    return any(MARK.search(line) for line in lines)


def tag(name, *parts, **attributes):
    given = "".join(f' {key}="{value}"' for key, value in attributes.items())
    return f"<{name}{given}>{''.join(parts)}</{name}>"


def operator(sign, **attributes):
    return tag("mo", html.escape(sign.replace("-", "−")), **attributes)


def name_of(word):
    """A letter slants by itself, the name of a gradient (dx, dnn) is made to slant, and
    words stay upright."""
    if re.fullmatch("d[A-Za-z]{1,2}", word):
        word = "".join(chr(0x1d434 + ord(c) - (71 if c > "Z" else 65))
                       for c in word).replace("\U0001d455", "ℎ")
    return tag("mi", word)


GAP = tag("mspace", width="0.17em")
SUM = operator("∑")


# A node of the tree is (kind, *parts); a leaf is a text in MathML.

def bare(node):
    """What stands in parentheses that a fraction or a root makes needless."""
    return node[1] if node[0] == "(" else node


def only(node):
    """A list of one thing is that thing."""
    return node[1] if len(node) == 2 and node[0] == "list" else tuple(node)


def render(node, inline=False):
    """The node as MathML; inline: fractions have a slash."""
    if isinstance(node, str):
        return node
    kind, *parts = node
    if kind == "/":
        return operator("/", lspace="0", rspace="0").join(
            render(part, True) for part in parts) if inline else tag(
                "mfrac", *(tag("mrow", render(bare(part), True)) for part in parts))
    if kind in PAIRS:
        inner = render(parts[0], inline or kind == "[")
        tall = {} if "mfrac" in inner or SUM in inner else {"stretchy": "false"}
        return tag("mrow", operator(kind, **tall), inner,
                   operator(PAIRS[kind], **tall))
    if kind == "√":
        return tag("msqrt", render(bare(parts[0]), inline))
    if kind == "scripts":
        base, below, above = parts
        names = ("under", "over") if base == SUM else ("sub", "sup")
        scripts = [(n, tag("mrow", render(bare(script), True)))
                   for n, script in zip(names, (below, above)) if script]
        return tag("m" + "".join(n for n, _ in scripts), render(base, inline),
                   *(script for _, script in scripts))
    return "".join(render(part, inline) for part in parts)


class Parser:
    """Makes a tree of one piece of a line."""

    def __init__(self, text):
        if words := re.search(r"\b[A-Za-z]{3,} +[A-Za-z]{3,}\b", text):
            raise Wrong(f"a reason stands three blanks off: {words[0]}")
        self.next, self.tokens = 0, [(m.lastgroup, m[0]) for m in TOKEN.finditer(text)]
        for kind, sign in self.tokens:
            if kind == "wrong":
                raise Wrong(f"there is no sign {sign!r} in formulas")
        self.tokens += [("end", "the end")] * 2

    def peek(self, touching=False):
        """The next token; a blank only if it must touch the one before."""
        self.next += not touching and self.tokens[self.next][0] == "blank"
        return self.tokens[self.next]

    def take(self):
        self.next += 1
        return self.tokens[self.next - 1][1]

    def expect(self, wanted):
        if self.peek()[1] != wanted:
            raise Wrong(f"{wanted} should stand where {self.peek()[1]} stands")
        self.take()

    def row(self):
        """Trees of the left side, of its relation, and of the right side."""
        left = "" if self.peek()[0] in ("relation", "sign") else self.sums()
        relation = operator(self.take()) if self.peek()[0] == "relation" else ""
        right = self.relations() if relation or self.peek()[0] != "end" else ""
        self.expect("the end")
        return left, relation, right

    def between(self, sign, part):
        """Parts with such a sign, or one of such a kind, between them."""
        out = ["list", part()]
        while sign in self.peek():
            out += [operator(self.take()), part()]
        return out

    def relations(self):
        return self.between("relation", self.sums)

    def sums(self):
        return self.between(",", self.sum)

    def sum(self):
        out, form = ["list"], "prefix"
        while form == "prefix" or self.peek()[0] == "sign":
            if self.peek()[0] == "sign":
                out.append(operator(self.take(), form=form))
            out.append(self.product())
            form = "infix"
        return out

    def product(self):
        out = ["list", self.ratio()]
        while self.peek()[0] in ("number", "name", "open", "prefix") \
                or self.peek()[1] in "·/":
            sign = self.peek()[1] in "·/" and self.take()
            if sign == "/":
                out = ["list", ("/", only(out), self.divisor())]
            else:
                out += [operator(sign) if sign else GAP, self.ratio()]
        return out

    def ratio(self):
        out = self.scripted()
        while self.peek(touching=True)[1] == "/":
            self.take()
            out = ("/", out, self.divisor())
        return out

    def divisor(self):
        below = self.scripted()
        if below == SUM or below[1] == SUM:  # and what it sums
            below = ("list", below, self.scripted())
        return below

    def atom(self):
        kind, sign = self.peek()
        self.take()
        if kind == "number":
            joined = self.peek(touching=True)[0] == "name"  # 2h
            return ("list", tag("mn", sign), self.scripted() if joined else "")
        if sign in FUNCTIONS:
            return ("list", tag("mi", sign), GAP, self.scripted())
        if sign in REASONS:
            raise Wrong(f"a reason stands three blanks off: {sign}")
        if kind == "name":
            return name_of(sign)
        if kind == "open":
            inner = self.relations()
            self.expect(PAIRS[sign])
            return (sign, inner)
        if sign == "√":
            return ("√", self.scripted())
        if sign == "∂":
            return ("list", tag("mi", sign, mathvariant="normal"),
                    self.scripted())
        if sign in "Σ…":
            return SUM if sign == "Σ" else tag("mi", sign)
        raise Wrong(f"{sign} is not expected there")

    def script(self):
        """What touches _ or ^."""
        before = self.take()
        kind, sign = self.peek(touching=True)
        if sign == "(":
            return self.atom()
        if kind not in ("name", "number"):
            raise Wrong(f"a name, a number or ( should touch {before}")
        self.take()
        if kind == "number":
            return tag("mn", sign)
        return "".join(tag("mi", name) for name in (
            sign if re.fullmatch("[i-z]{1,2}", sign) else [sign]))

    def scripted(self):
        base, below, above = self.atom(), "", ""
        while True:
            kind, sign = self.peek(touching=True)
            if kind in ("raised", "lowered"):
                script = Parser("".join(SCRIPTS[c] for c in self.take())).sum()
                if sign == "ᵀ":
                    script = tag("mi", "T", mathvariant="normal")
                above, below = (script, below) if kind == "raised" \
                    else (above, script)
            elif kind == "prime":
                self.take()
                base = ("list", base, operator("′", lspace="0", rspace="0"))
            elif sign == "^":
                above = self.script()
            elif sign == "_":
                below = self.script()
            elif kind == "hat":
                self.take()
                base = tag("mover", base, operator("ˆ"), accent="true")
            else:
                break
        out = ("scripts", base, below, above) if below or above else base
        if kind == "open":  # f(x), ids[i], 1[i=j]
            out = ("list", out, self.atom())
        return out


def reason(text, names):
    """Words, with formulas between them. What looks like a word is a name if
    the formulas of its block have it; "a" is a word if one follows."""
    def is_text(word):
        return re.fullmatch("[A-Za-z]{2,}(-[A-Za-z]{2,})*[,;]?", word) \
            and word not in names

    words, out, piece = text.split(), "", ""
    for word, after in zip(words, words[1:] + ["end"]):
        if is_text(word) or word == "a" and is_text(after):
            out += tag("mtext", f"{word}\u00a0")
            continue
        piece += " " + word
        if is_text(after) or word[-1] == ";":
            formula = Parser(piece.strip(" ,;")).row()
            out += render(("list", *formula), True) \
                + tag("mtext", piece[len(piece.rstrip(",;")):] + "\u00a0")
            piece = ""
    return out.replace("</mtext><mtext>", "")


def pieces(line):
    """What three blanks or more separate; those before a relation align it."""
    return re.split(r" {3,}(?![ =≈≤≥<>≠←])", line.strip())


def cells(line, names):
    """The five cells of a row."""
    formula, *rest = pieces(line)
    left = relation = right = shapes = why = ""
    if formula.split()[0] in REASONS:
        rest.insert(0, formula)
    else:
        left, relation, right = map(render, Parser(formula).row())
    for cell in rest:
        if cell.split()[0] in REASONS and not why:
            why = reason(cell, names)
        elif cell[0] == "(" and not shapes + why:
            shapes = "".join(map(render, Parser(cell).row()))
        else:
            raise Wrong(f"{cell!r} is neither shapes, which begin with (, nor "
                        f"a reason, which begins with {', '.join(REASONS)}")
    return left, relation, right, shapes, why


KINDS = "left relation right shapes reason".split()
ATTENTION = {"q": "query", "k": "key", "v": "value", "weights": "weight"}
COLORED = [  # what a block speaks of, the names that then have a color, and which
    ("softmax|scores|d[qk]\\b", "|".join(ATTENTION), lambda name: ATTENTION[name]),
    ("log p_j|p_j - ", "p", lambda name: "weight"),
    ("d", "\U0001d451[^<]+|d(?!ropped|ecoder)[a-z]{2,}", lambda name: "gradient")]


def colored(block, text):
    """A block in MathML in which queries, keys, values, weights and gradients have the
    colors of the figures."""
    for speaks, names, role in COLORED:
        if re.search(speaks, text):
            block = re.sub(f"<mi>({names})</mi>", lambda name: tag(
                "mi", name[1], **{"class": role(name[1])}), block)
    return block


def mathml(lines):
    """The block as one <math>, a row on each line of the text."""
    names = {name for line in lines for name in re.findall(
        "[A-Za-z]{2,}", pieces(line)[0])} - {*REASONS}
    rows = []
    for number, line in enumerate(lines):
        try:
            rows.append(cells(line, names))
        except Wrong as wrong:
            raise Wrong(number, *wrong.args) from None
    if all(row[-1].startswith("<mtext>for") for row in rows):  # a key
        rows = [("".join(row[:3]), "", "", *row[3:]) for row in rows]
    return colored("\n".join(
        ['<math display="block" class="formula"><mtable displaystyle="true">']
        + [tag("mtr", *(tag("mtd", cell, **{"class": kind})
                        for kind, cell, *column in zip(KINDS, row, *rows)
                        if any(column))) for row in rows]
        + ["</mtable></math>"]), "\n".join(lines))


def is_symbol(word):
    """May it stand in a formula within a sentence? Letters side by side must be
    those of a gradient (dx_i) or stand after _ or ∂."""
    rest = re.sub(r"(?<=[_∂])[A-Za-z]+|d[A-Za-z]{1,2}(?=_)", "", word)
    return word not in ("a", "A", "I") and not re.search(
        rf"[A-Za-z]{{2}}|[^-+=≈≤<·/()√Σ∂^_\w{''.join(RAISED)}]", rest)


def sentence(text):
    """Prose in Markdown, in which formulas with a subscript or ∂ have become
    MathML. Such a formula ends at a word or at punctuation."""
    out = run = ""
    for piece in re.split(r"(\s+|[.,;:]+(?=[\s)]|$))", text) + ["end"]:
        if piece != "end" and (
                is_symbol(piece) if piece.strip() else run and piece in " \n"):
            run += piece
        else:
            out += in_sentence(run, piece)
            run = ""
    return out[:-3]


def in_sentence(run, after):
    """A run of symbols, and what ends it. Single parentheses around a formula are
    not its own. A line may end before "=", but not before punctuation."""
    if not re.search(SUBSCRIPT + r"|d[a-z]+_[a-z]|∂\w", run):
        return run + after
    end = len(run.rstrip())
    start = len(run) - len(run.lstrip("=+·/ \n"))
    while run[start:end].count("(") > run[start:end].count(")"):
        start = run.index("(", start) + 1
    while run[start:end].count("(") < run[start:end].count(")"):
        end = run.rindex(")", start, end)
    outside = r"\s+(?=[=≈])(?![^(]*\))"  # blanks that are in no parentheses
    *parts, last = (
        tag("math", render(("list", *Parser(" ".join(part.split())).row()), True))
        for part in re.split(outside, run[start:end]))
    if after[0] in ".,;:":
        last = tag("span", last, run[end:], after, **{"class": "whole"})
        run, after = run[:end], ""
    return f"{run[:start]}`{'<wbr>'.join([*parts, last])}`{{=html}}" \
        + run[end:] + after

"""Writes notebook/lib/unicode.h, the tables that the tokenizers need.

    /usr/bin/python3 notebook/lib/unicode.py > notebook/lib/unicode.h
"""
import sys
import textwrap
import unicodedata

HEAD = """\
// unicode.h, used by lab 18: what Unicode {version} says about characters.
//
// Written by unicode.py from Python's unicodedata; change that, not this.
// Numbers are decimal. A table of ranges has the first and the last number of
// each range, in order.
"""
EVERY = [chr(n) for n in range(sys.maxunicode + 1)]
CATEGORY = [unicodedata.category(c) for c in EVERY]


def ranges(of):
    """[(first, last, value)]: ranges of characters n for which of(n) is the same
    value, not None."""
    found = []
    for n in range(len(EVERY)):
        value = of(n)
        if value is None:
            continue
        if found and found[-1][1] == n - 1 and found[-1][2] == value:
            found[-1][1] = n
        else:
            found.append([n, n, value])
    return found


def table(comment, name, width, rows):
    """A table of rows, each `width` numbers."""
    text = " ".join("{" + ",".join(map(str, row)) + "}," for row in rows)
    print("\n" + textwrap.fill(comment, 80, initial_indent="// ",
                               subsequent_indent="// "))
    print(f"const int {name}[][{width}] = {{")
    print(textwrap.fill(text, 80, initial_indent="    ",
                        subsequent_indent="    ", break_on_hyphens=False))
    print("};")


def of_categories(comment, name, *wanted):
    table(comment, name, 2,
          [(a, b) for a, b, _ in ranges(
              lambda n: True if CATEGORY[n].startswith(wanted) else None)])


def is_space(n):
    return (CATEGORY[n] in ("Zs", "Zl", "Zp") or 9 <= n <= 13
            or n == 0x85) or None


def shift(n):
    """How far its lower-case form is from a character. Only that of İ has two
    characters: the second is a mark, and is dropped."""
    lower = EVERY[n].lower()
    if len(lower) > 1:
        assert unicodedata.category(lower[1]) == "Mn" and len(lower) == 2
    return ord(lower[0]) - n or None


def decompositions():
    """[(number, first, second)]: a canonical decomposition has one character or
    two; those of Hangul are computed in bert.h."""
    for n, c in enumerate(EVERY):
        parts = unicodedata.decomposition(c).split()
        if parts and not parts[0].startswith("<"):
            assert len(parts) <= 2
            yield (n, *(int(part, 16) for part in parts), 0)[:3]


def main():
    print(HEAD.format(version=unicodedata.unidata_version), end="")
    print(f'\n#define UNICODE_VERSION "{unicodedata.unidata_version}"')
    of_categories("Letters.", "letters", "L")
    of_categories("Numbers: digits, and also ½ and Ⅳ.", "numbers", "N")
    table("White space: the property White_Space.", "spaces", 2,
          [(a, b) for a, b, _ in ranges(is_space)])
    of_categories("Punctuation.", "punctuation", "P")
    of_categories("Control, format and private characters.", "controls", "Cc",
                  "Cf", "Co")
    of_categories("Marks that take no place of their own, such as accents.",
                  "marks", "Mn")
    table("Capitals: a range, and how far the lower-case form is.", "capitals",
          3, ranges(shift))
    table("Canonical decompositions: a character, and the one or two that it is "
          "made of.", "decompositions", 3, decompositions())
    table("The combining classes above 0: a range, and its class.", "classes",
          3, ranges(lambda n: unicodedata.combining(EVERY[n]) or None))


if __name__ == "__main__":
    main()

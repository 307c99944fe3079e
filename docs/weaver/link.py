"""Names in listings that lead to what they stand for, and who uses what."""

import re

from source_file import plain

# What is skipped, or else a name, in a listing that pandoc has colored. A
# member of a struct is no name: it comes after "." or "->".
PIECE = re.compile(r'<span class="(?:co|st|ch|pp|im)">.*?</span>|<[^>]*>|&\w+;|'
                   r'(?<!\.</span>)(?<!&gt;</span>)\b([A-Za-z_]\w*)'
                   r'(<span class="op">\()?', re.DOTALL)


def link_names(code, book, own):
    """The names in a listing as links, except its own. The keyboard stops at the
    first of each."""
    seen = set(own)

    def link(m):
        name, call = m[1], m[2] or ""
        if name not in book.defined or name in own:
            return m[0]
        function = book.defined[name][1] == "function"
        if function and not (call or "_" in name):
            return m[0]  # a variable
        more = "" if function else ' class="name"'
        more += ' tabindex="-1"' if name in seen else ""
        seen.add(name)
        return f'<a href="{book.place(name)}"{more}>{name}</a>{call}'

    return PIECE.sub(link, code)


def users(book):
    """Of each function, those that use it, in the file's order."""
    found = {}
    for user, (_, kind, lines, _) in book.defined.items():
        if kind != "function":
            continue
        code = plain("\n".join(lines))
        for name, call in re.findall(r"(?<![.>\w])([A-Za-z_]\w*)(\()?", code):
            its = found.setdefault(name, [])
            if (call or "_" in name) and user not in (name, *its):
                its.append(user)
    return found

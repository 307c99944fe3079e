"""Markdown as an HTML page: pandoc's, whose boxes and folded answers boxes.lua makes, with
the links and anchors that it leaves to us, in docs/book/weave/page.tmpl.
"""

import html
import re
import string

from project import DOCS, command, read

OFF = ("raw_html citations subscript superscript fancy_lists example_lists "
       "line_blocks implicit_figures tex_math_dollars").split()
MARKDOWN = "-".join(["markdown"] + OFF)
BOXES = f"--lua-filter={DOCS}/book/weave/boxes.lua"


def pandoc(name, book):
    """The HTML of a page's Markdown, which is in build/docs/."""
    return finish(command(["pandoc", "-f", MARKDOWN, "-t", "html5", "--section-divs", BOXES,
                           "--wrap=preserve", "--fail-if-warnings", f"{name}.md"]), book)


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


MEMBER = re.compile(r'(?<=\bd)(<span class="op">\.</span>)(q|k|v|weights|out)\b|'
                    r"((?:\.|-&gt;)</span>)(q|k|v|weights|dropped|d[qkv])\b")
ROLES = {"q": "query", "k": "key", "v": "value", "weights": "weight", "dropped": "weight"}


def color_members(code):
    """Members of attention, in the colors of the figures: a.q, a.k, a.v, a.weights; and
    gradients, d.q or a.dq."""
    return MEMBER.sub(lambda m: f'{m[1] or m[3]}<span class="'
                      f'{ROLES.get(m[4], "gradient")}">{m[2] or m[4]}</span>', code)


def finish_listing(found, book):
    """A listing without pandoc's numbers of lines; what it defines has an
    anchor at its line, and what it uses is a link. A line knows how far it is indented."""
    names = {}
    for definition in (found[1] or "").split():
        name, line = definition.split(":")
        names.setdefault(line, []).append(name)

    def line(m):
        first, *others = names.get(m[1], [""])
        name = f' id="{first}"' if first else ""
        indent = f' style="--indent:{len(m[2])}"' if m[2] else ""
        return f"<span{name}{indent}>" + "".join(
            f'<span id="{name}"></span>' for name in others) + m[2]

    code = re.sub(r'<span id="cb\d+-(\d+)"><a href="#[^"]*"[^>]*></a>( *)', line,
                  found[2])
    if book and ' c tiny"' not in code:
        code = link_names(code, book, sum(names.values(), []))
    return f'<div class="sourceCode">{color_members(code)}</div>'


DRAWN = re.compile("[\u2500-\u259f\u2571\u2572]")

TYPED = re.compile(r"\./|--|[#$] |(make|cc|cut|head|mkdir|docker|msgunfmt) |"
                   r"from \w+ import |.*\);$", re.MULTILINE)


def finish_block(found):
    """A block that is no listing: a drawing, something to type, or data."""
    text = html.unescape(found[1])
    kind = "drawing" if DRAWN.search(text) else \
        "typed" if TYPED.match(text) else "data"
    return f'<pre class="{kind}"><code>{found[1]}</code></pre>'


def finish(body, book=None):
    """What pandoc leaves to us."""
    body = re.sub(r'<div class="sourceCode" id="cb\d+"'
                  r'(?: data-names="([^"]*)")?>(.*?)</div>',
                  lambda found: finish_listing(found, book), body,
                  flags=re.DOTALL)
    body = re.sub("<pre><code>(.*?)</code></pre>", finish_block, body,
                  flags=re.DOTALL)
    body = re.sub('<math display="block".*?</math>', '<span class="math" role='
                  r'"group" aria-label="Formula" tabindex="0">\g<0></span>', body,
                  flags=re.DOTALL)
    body = re.sub(r"<pre(?=[\s>])", '<pre tabindex="0"', body)
    body = re.sub(r"<(br|col|hr|img)\b([^>]*?) ?/>", r"<\1\2>", body)
    # an option such as --tie stays on one line
    body = re.sub("<code>[^<]*</code>", lambda code: re.sub(
        r"(?<![\w-])--?[a-z][\w-]*", r'<span class="whole">\g<0></span>',
        code[0]), body)
    return re.sub('<table(?! class="map")[^>]*>(.*?)</table>', '<div class="table" role="group" '
                  r'aria-label="Table" tabindex="0"><table>\1</table></div>', body, flags=re.DOTALL)


def contents(headings, top):
    """A nested list of links to the headings of levels top and top + 1."""
    items = [h for h in headings if top <= h[0] <= top + 1]
    out = ["<ul>"]
    for (level, title, anchor), after in zip(items, items[1:] + [(top, "", "")]):
        out.append(f'<li><a href="#{anchor}">{html.escape(title)}</a>')
        out.append("<ul>" if after[0] > level
                   else "</li>" + "</ul></li>" * (level - after[0]))
    return "\n".join(out + ["</ul>"])


def headings_of(body):
    """(level, title, anchor) of the sections pandoc has made."""
    return [(int(level), html.unescape(re.sub("<[^>]+>", "", title)), anchor)
            for anchor, level, title in re.findall(
                r'<section id="([^"]+)"[^>]*>\s*<h(\d)[^>]*>(.*?)</h\2>', body,
                re.DOTALL)]


# ------------------------------------------------------------------ the page

TITLE = "transformer.c"
START, BESIDE, LIVE = "index", "articles", "live"  # the first page; the first that is not a chapter
WOVEN = ('Woven from <a href="../transformer.c">transformer.c</a> by '
         "<code>make docs</code>.\nAll output shown here is from a run made with "
         "the page,\nor, where a line is broken, by <code>docs/book/weave/breaking.py</code>.")


def navigation(name, names, sections):
    """All pages, and the sections of this one. Below a width a button opens it."""
    def item(to, title):
        if to == name:
            return f'<li><a href="{to}.html" aria-current="page">' \
                f"{html.escape(title)}</a>{sections}</li>"
        return f'<li><a href="{to}.html">{html.escape(title)}</a></li>'

    items = [item(*page) for page in names]
    if items:
        beside = [to for to, _ in names].index(BESIDE)
        items[beside:beside] = ["</ul>\n<ul>", item(LIVE, "The live page")]
    return ('<nav class="contents" aria-label="Contents">\n<details>\n'
            '<summary>Contents</summary>\n<div class="pages">\n'
            + ("<ul>\n" + "\n".join(items) + "\n</ul>" if items else sections)
            + "\n</div>\n</details>\n</nav>")


def steps(name, names, label):
    """Links to the pages before and after this one."""
    names = names if name != START else ()
    at = [to for to, _ in names].index(name) if names else 0
    links = [f'<a rel="{rel}" href="{to}.html"><span>{word}</span> '
             f"{html.escape(title)}</a>"
             for rel, word, (to, title) in
             [("prev", "Previous:", names[at - 1] if at else (None, None)),
              ("next", "Next:", (*names[at + 1:], (None, None))[0])] if to]
    return f'<nav class="steps" aria-label="{label}">\n' + "\n".join(links) \
        + "\n</nav>" if links else ""


EDITIONS = ('<div class="editions" role="group" aria-label="Edition">\n'
            '<button type="button" value="short"><b>Short</b> the model</button>\n'
            '<button type="button" value="full"><b>Full</b> every line</button>\n</div>')


def full_page(title, body, *, name, top, names=(), base="", footer=WOVEN):
    """The text of an HTML file. top: highest level of heading in its contents, 0
    for none; names: (page, title) of all pages, in their order, if it is one of
    them; base: where the pages of docs/ are, seen from this one."""
    sections = contents(headings_of(body), top) if top else ""
    if re.search('class="(fold|box )', body):
        body = body.replace("</h1>", f"</h1>\n{EDITIONS}", 1)
    template = read("book/weave/page.tmpl").replace(
        f'<a href="${{base}}{name}.html">',
        f'<a href="${{base}}{name}.html" aria-current="page">')
    return string.Template(template).substitute(
        title=html.escape(title if title == TITLE else f"{title} · {TITLE}"),
        name=name, base=base, body=body, footer=footer,
        contents=navigation(name, names, sections) if sections or names else "",
        before=steps(name, names, "Previous and next page"),
        after=steps(name, names, "Previous and next page, at the end"))


def body_of(page):
    """What full_page() was given of a page."""
    return re.search('<main id="content">\n(.*)\n</main>', page, re.DOTALL)[1]

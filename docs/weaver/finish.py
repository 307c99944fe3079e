"""Markdown as HTML: pandoc's, with the anchors, boxes and folded answers that it
leaves to us.
"""

import html
import re

import link
from common import DOCS, command

OFF = ("smart raw_html citations subscript superscript fancy_lists example_lists "
       "line_blocks implicit_figures tex_math_dollars").split()
MARKDOWN = "-".join(["markdown"] + OFF)


def pandoc(name, book):
    """The HTML of a page's Markdown, which is in build/docs/."""
    return finish(command(["pandoc", "-f", MARKDOWN, "-t", "html5", "--section-divs",
                           "--wrap=preserve", "--fail-if-warnings", f"{name}.md"]), book)


BOXES = {"tutorial": ("Where a tutorial differs", "articles.html", "the map"),
         "elsewhere": ("Where other programs differ", "", ""),
         "deviation": ("Different from the paper", "deviations.html",
                       "all departures")}

def finish_listing(found, book):
    """A listing without pandoc's numbers of lines; what it defines has an
    anchor at its line, and what it uses is a link."""
    names = {}
    for definition in (found[1] or "").split():
        name, line = definition.split(":")
        names.setdefault(line, []).append(name)

    def line(m):
        first, *others = names.get(m[1], [""])
        return (f'<span id="{first}">' if first else "<span>") + "".join(
            f'<span id="{name}"></span>' for name in others)

    code = re.sub(r'<span id="cb\d+-(\d+)"><a href="#[^"]*"[^>]*></a>', line,
                  found[2])
    if book:
        code = link.link_names(code, book, sum(names.values(), []))
    return f'<div class="sourceCode">{code}</div>'


DRAWN = re.compile("[\u2500-\u259f\u2571\u2572]")

TYPED = re.compile(r"\./|--|[#$] |(make|cc|cut|head|mkdir|docker|msgunfmt) |"
                   r"from \w+ import |.*\);$", re.MULTILINE)


def finish_block(found):
    """A block that is no listing: a drawing, something to type, or data."""
    text = html.unescape(found[1])
    kind = "drawing" if DRAWN.search(text) else \
        "typed" if TYPED.match(text) else "data"
    return f'<pre class="{kind}"><code>{found[1]}</code></pre>'


def permalink(found):
    """A heading that is a link to itself."""
    section, level, title = found[1], found[2], found[3]
    if "<a " in title:
        return found[0]
    return found[0].replace(f">{title}</h{level}>",
                            f'><a href="#{section}">{title}</a></h{level}>')


def boxes(body, name):
    """The divs of that class as boxes that can be folded."""
    label, to, more = BOXES[name]
    link = f' <a href="{to}">({more})</a>' if to else ""
    begin = f'<div class="{name}">'
    while begin in body:
        before, _, rest = body.partition(begin)
        depth, end = 1, 0
        while depth:
            tag = re.compile("<(/?)div").search(rest, end)
            depth += -1 if tag[1] else 1
            end = tag.end()
        inside, after = rest[:tag.start()], rest[tag.end() + 1:]
        inside = re.sub("</p>\\s*$", f"{link}</p>\n", inside) if link else inside
        strong = re.match(r"\s*<p><strong>(.*?)\.?</strong> *", inside)
        title = f"{label}: {strong[1]}" if strong else label
        inside = inside.replace(strong[0], "<p>", 1) if strong else inside
        body = f'{before}<details class="box {name}" open><summary>{title}' \
            f"</summary>\n{inside}</details>{after}"
    return body


def finish(body, book=None):
    """What pandoc leaves to us: anchors, boxes, folded answers."""
    body = re.sub(r'<div class="sourceCode" id="cb\d+"'
                  r'(?: data-names="([^"]*)")?>(.*?)</div>',
                  lambda found: finish_listing(found, book), body,
                  flags=re.DOTALL)
    body = re.sub("<pre><code>(.*?)</code></pre>", finish_block, body,
                  flags=re.DOTALL)
    body = re.sub(r'<section id="([^"]+)"[^>]*>\s*<h([2-6])[^>]*>(.*?)</h\2>',
                  permalink, body, flags=re.DOTALL)
    body = re.sub('<math display="block".*?</math>', '<span class="math" role='
                  r'"group" aria-label="Formula" tabindex="0">\g<0></span>', body,
                  flags=re.DOTALL)
    body = re.sub(r"<pre(?=[\s>])", '<pre tabindex="0"', body)
    body = re.sub(r"//@ exercise (\w+)",
                  lambda m: '<a href="exercises.html#exercise-'
                  f'{m[1].replace("_", "-")}">{m[0]}</a>'
                  if (DOCS / "exercises" / "pages" / f"{m[1]}.md").exists() else m[0],
                  body)
    for name in BOXES:
        body = boxes(body, name)
    body = re.sub(r'<div class="answer">(.*?)</div>\s*</li>',
                  r"<details><summary>Answer</summary>\1</details></li>",
                  body, flags=re.DOTALL)
    body = re.sub(r'<div class="claimed">(.*?)</div>', "<details><summary>The answers, "
                  r"as the tests claim them</summary>\1</details>", body,
                  flags=re.DOTALL)
    body = re.sub(r"<(br|col|hr|img)\b([^>]*?) ?/>", r"<\1\2>", body)
    # an option such as --tie stays on one line
    body = re.sub("<code>[^<]*</code>", lambda code: re.sub(
        r"(?<![\w-])--?[a-z][\w-]*", r'<span class="whole">\g<0></span>',
        code[0]), body)
    return re.sub("<table[^>]*>", '<div class="table" role="group" '
                  'aria-label="Table" tabindex="0"><table>', body) \
        .replace("</table>", "</table></div>")


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

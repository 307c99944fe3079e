"""Figures: what docs/pictures/ draws, put into a page."""

import html
import inspect
import re
import sys

from common import DOCS, fail, raw

sys.path.append(str(DOCS / "pictures"))

# check.py and start.py take the first two from here.
import drawing  # noqa: E402, F401
import records  # noqa: E402, F401
from gallery import GALLERY  # noqa: E402


def figure(book, name, where):
    """The figure with its caption; its description is for screen readers."""
    if name not in GALLERY:
        fail(f"{where}: there is no figure {name}")
    title, _, description = (" ".join(part.split()) for part in inspect.getdoc(
        GALLERY[name]).partition("\n\n"))
    svg = GALLERY[name]().strip()
    anchor = "" if name in book.figures_used else f' id="figure-{name}"'
    book.figures_used.add(name)
    picture = f'<div class="panels" role="img" aria-label="' \
        f'{html.escape(description)}">\n{panels(svg)}\n</div>'
    return raw(f'<figure{anchor} tabindex="0">\n{picture}\n'
               f"<figcaption>{html.escape(title)}</figcaption>\n</figure>")


def panel(state):
    """A step of the live page, which the script puts here when the place comes into
    sight; without it, and on paper, there is nothing."""
    return raw(f'<div class="panel" data-state="{html.escape(state)}"></div>')


def panels(picture):
    """The SVGs of a picture, for a page: side by side if there is room, and then
    a little larger. The figure describes them."""
    found = re.findall("<svg.*?</svg>", picture, re.DOTALL)
    widths = [float(re.search(r'viewBox="\S+ \S+ (\S+) ', svg)[1])
              for svg in found]
    scale = min(1.3, max(1, 700 / sum(widths)))
    out = []
    for svg, width in zip(found, widths):
        tag = re.sub(r' (width|height|role)="[^"]*"', "",
                     re.match("<svg[^>]*", svg)[0])
        out.append(f'{tag} aria-hidden="true" style="--width:{width:.0f}px;'
                   f'--scale:{scale:.2f}"' + svg[svg.index(">"):])
    return "\n".join(out)


def check_used(book):
    """Every figure stands on a page."""
    unused = set(GALLERY) - book.figures_used
    if unused:
        fail(f"figures that nobody uses: {sorted(unused)}")

"""What the short edition of a chapter folds away besides boxes: plumbing, which
"//@ plumbing WHAT IT DOES" begins and "//@ core" or the next heading ends.
"""

import html
from collections import namedtuple

from common import fail, raw


class Fold(namedtuple("Fold", "summary")):
    """Blocks that are folded together, and the line that stands for them."""

    def begin(self):
        return raw('<details class="fold" open>\n'
                   f"<summary>{html.escape(self.summary)}</summary>")


END = raw("</details>")


def is_heading(block):
    return block.kind == "prose" and block.lines[0].startswith("#")


def folds(blocks):
    """The fold of each block, or None, as the marks say."""
    found, fold, marked = [], None, False
    for block in blocks:
        if block.kind == "plumbing":
            fold = Fold(block.text())
        elif block.kind == "core" and not fold:
            fail(f"transformer.c:{block.line}: //@ core, where nothing is plumbing")
        elif block.kind == "core" or is_heading(block) and not marked:
            fold = None
        marked = block.kind == "plumbing"
        found.append(None if marked else fold)
    return found

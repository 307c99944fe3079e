"""What the shorter editions of a chapter fold away: plumbing, which
"//@ plumbing WHAT IT DOES" begins and "//@ core" or the next heading ends; backward
passes, with what derives them; and what is kept for them. What stands within a listing
or a paragraph and is not for the edition without gradients has the class "beyond", which
its style hides.
"""

import html
import re
from collections import namedtuple

from common import fail, raw


class Fold(namedtuple("Fold", "kind summary")):
    """Blocks that are folded together, and the line that stands for them."""

    def begin(self):
        return raw(f'<details class="fold {self.kind}" open>\n'
                   f"<summary>{self.summary}</summary>")


END = raw("</details>")


def is_heading(block):
    return block.kind == "prose" and block.lines[0].startswith("#")


def plumbing(blocks):
    """The fold of each block, or None, as the marks say."""
    found, fold, marked = [], None, False
    for block in blocks:
        if block.kind == "plumbing":
            fold = Fold("plumbing", html.escape(block.text()))
        elif block.kind == "core" and not fold:
            fail(f"transformer.c:{block.line}: //@ core, where nothing is plumbing")
        elif block.kind == "core" or is_heading(block) and not marked:
            fold = None
        marked = block.kind == "plumbing"
        found.append(None if marked else fold)
    return found


def backward_names(block):
    return [name for name, its in block.defined.items()
            if its.kind == "function" and name.endswith("_backward")]


def shows_gradient(block):
    return block.kind == "run" and block.text().endswith("_gradient")


def add_backward(blocks, found):
    """Adds the folds of backward passes: such a function, what stands between it and
    the code before it in its section, and the check of its gradient."""
    for at, block in enumerate(blocks):
        names = backward_names(block)
        if not names or found[at]:
            continue
        first = last = at
        while not is_heading(blocks[first]) and first and not found[first - 1] \
                and blocks[first - 1].kind not in ("code", "core", "plumbing"):
            first -= 1
        while blocks[first].kind in ("figure", "panel", "run"):
            first += 1  # belongs to the code before
        behind = at + 1
        while behind < len(blocks) and blocks[behind].kind != "code" \
                and not is_heading(blocks[behind]):
            last = behind if shows_gradient(blocks[behind]) else last
            behind += 1
        fold = Fold("backward", "The backward pass: " + ", ".join(
            f"<code>{name}</code>" for name in names))
        found[first:last + 1] = [fold] * (last + 1 - first)


def add_kept(blocks, found):
    """Adds the folds of listings that only define what is kept for a backward pass, or
    only declare what a later chapter defines, with their contracts."""
    for at, block in enumerate(blocks):
        names = ", ".join(f"<code>{name}</code>" for name in block.defined)
        if not names or found[at]:
            continue
        kept = all(name.endswith("Saved") for name in block.defined)
        if kept or all(its.kind == "prototype" for its in block.defined.values()):
            first = at - (block.touches and not is_heading(blocks[at - 1]))
            found[first:at + 1] = [Fold("kept", ("Kept for the backward pass: " if kept
                                                 else "Defined later: ") + names)] \
                * (at + 1 - first)


def folds(chapter):
    """The fold of each block of a chapter, or None."""
    found = plumbing(chapter.blocks)
    add_backward(chapter.blocks, found)
    add_kept(chapter.blocks, found)
    return found


# Paragraphs that are beyond the edition without gradients.
PARAGRAPHS = re.compile(r"The backward pass|A gradient is named|The pages in|"
                        r"\(Seen as a matrix|.*`--", re.DOTALL)


def of_edition(chapter, edition):
    """The blocks that an edition of a chapter shows: "forward" has neither plumbing
    nor backward passes nor boxes, "short" no plumbing and no boxes, "full" all."""
    hidden = {"forward": ("plumbing", "backward", "kept"), "short": ("plumbing",),
              "full": ()}[edition]
    return [block for block, fold in zip(chapter.blocks, folds(chapter))
            if not (fold and fold.kind in hidden)
            and not (hidden and block.kind == "deviation")]

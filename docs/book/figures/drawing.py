"""What the pictures of the walkthrough are drawn with, as SVG.

A picture is one panel or several; a panel is 360 units wide, so that its text is
legible on a phone, and a page sets panels side by side where there is room. One
color has one meaning in all of them. Colors are CSS variables of the page;
lines and text have the color of the page's text.

    query, key, value   in attention
    weight              what softmax makes: weights, probabilities
    gradient            gradients, and where they flow
    part                any other part, and the residual path; in charts, a second line
    heat, cold          positive and negative numbers
    faint, paper        what is removed or missing; the page itself
"""
import math
from html import escape

WIDTH = 360
TINT = "var(--tint,0.18)"  # how strong a color is behind words
COLORS = {  # name: what it is on white paper, for a picture outside a page
    "query": "#1f5fa8", "key": "#a3540f", "value": "#23713a",
    "weight": "#7a3fa0", "gradient": "#b82440", "part": "#5d6b7a",
    "faint": "#5d636b", "paper": "#fdfdfb", "heat": "#12707c", "cold": "#8a5a3c"}


def color(name):
    return f"var(--{name},{COLORS[name]})" if name in COLORS else name


def number(x):
    """Two decimals at most, and no minus before a zero."""
    return f"{round(x, 2) + 0.0:.2f}".rstrip("0").rstrip(".")


def decimals(x, places=2):
    """How a computed number is written."""
    return f"{round(x, places) + 0.0:.{places}f}".replace("-", "−")


def strength(weight):
    """The opacity of a weight's color, on which the text remains legible."""
    return weight / 2


def svg(height, parts, width=WIDTH, top=0):
    view = f"0 {number(top)} {number(width)} {number(height)}"
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{view}" role="img" '
            'font-family="sans-serif" font-size="12" fill="currentColor">\n'
            + "\n".join(part for part in parts if part) + "\n</svg>\n")


def text(x, y, words, anchor="middle", size=None, fill=None, bold=False,
         more=""):
    more += f' font-size="{size}"' if size else ""
    more += ' font-weight="bold"' if bold else ""
    more += f' style="fill:{color(fill)}"' if fill else ""
    return (f'<text x="{number(x)}" y="{number(y)}" text-anchor="{anchor}"'
            f'{more}>{escape(str(words))}</text>')


def upright(x, y, words, anchor="middle", **how):
    turn = f' transform="rotate(-90 {number(x)} {number(y)})"'
    return text(x, y, words, anchor, more=turn, **how)


def box(x, y, w, h, fill="none", opacity=1, stroke=None, dashes=None, radius=0, width=1):
    """A rectangle. A stroke of None draws no line."""
    look = f'fill="{color(fill)}"'
    if opacity != 1:
        strong = opacity if opacity == TINT else number(opacity)
        look += f' fill-opacity="{strong}"'
    if stroke:
        look += f' stroke="{color(stroke)}" stroke-width="{number(width)}"'
    look += f' stroke-dasharray="{dashes}"' if dashes else ""
    look += f' rx="{radius}"' if radius else ""
    size = f'width="{number(w)}" height="{number(h)}"'
    return f'<rect x="{number(x)}" y="{number(y)}" {size} {look}/>'


def cell(x, y, w, h, fill=None, opacity=TINT, dashes=None):
    """A cell of a table, with a tint or empty."""
    return box(x, y, w, h, fill or "none", opacity if fill else 1, "faint", dashes,
               width=0.75)


def texts(x, y, lines, step=14, size=11):
    """Lines of text, the first of which begins at (x, y)."""
    return [text(x, y + step * i, words, "start", size) for i, words in enumerate(lines)]


def frame(x, y, w, h):
    """A thin line around a drawing."""
    return (f'<rect x="{number(x)}" y="{number(y)}" width="{number(w)}" '
            f'height="{number(h)}" fill="none" stroke="currentColor" '
            'stroke-opacity="0.4"/>')


def line(points, stroke="currentColor", width=1.25, dashes=None, opacity=1):
    """Straight lines from point to point."""
    path = " ".join(f"{number(x)},{number(y)}" for x, y in points)
    more = f' stroke-dasharray="{dashes}"' if dashes else ""
    more += f' stroke-opacity="{number(opacity)}"' if opacity != 1 else ""
    return (f'<polyline points="{path}" fill="none" stroke="{color(stroke)}" '
            f'stroke-width="{number(width)}" stroke-linejoin="round"{more}/>')


def arrow(points, stroke="currentColor", width=1.25, dashes=None, head=5):
    """The same, with a head at the last point."""
    (x0, y0), (x, y) = points[-2:]
    long = math.hypot(x - x0, y - y0)
    a, b = (x - x0) / long * head, (y - y0) / long * head
    tip = (f"M{number(x)} {number(y)}L{number(x - 1.4 * a - .7 * b)} "
           f"{number(y - 1.4 * b + .7 * a)}L{number(x - 1.4 * a + .7 * b)} "
           f"{number(y - 1.4 * b - .7 * a)}z")
    shaft = points[:-1] + [(x - a, y - b)]
    return (line(shaft, stroke, width, dashes)
            + f'<path d="{tip}" fill="{color(stroke)}"/>')


def label(x, y, w, h, words, fill="part", dashes=None, size=None):
    """Words in a box of a tint; a list of them is several lines."""
    lines = [words] if isinstance(words, str) else words
    top = y + h / 2 + 4 - 7 * (len(lines) - 1)
    tint = TINT if fill != "none" else 1
    return (box(x, y, w, h, fill, tint, fill if fill != "none" else "part", dashes,
                radius=3)
            + "".join(text(x + w / 2, top + 14 * i, words, size=size)
                      for i, words in enumerate(lines)))


def joint(x, y, stroke="gradient"):
    """A circle with a plus: here two things are added."""
    return (f'<circle cx="{number(x)}" cy="{number(y)}" r="7" '
            f'fill="{color("paper")}" stroke="{color(stroke)}" '
            'stroke-width="1.5"/>'
            + line([(x - 4, y), (x + 4, y)], stroke, 1.5)
            + line([(x, y - 4), (x, y + 4)], stroke, 1.5))


def legend(y, items, x=8):
    """Swatches with their meaning, from (x, y) on, in lines of a panel's width. An item is
    a function that draws its swatch in a place (x, y, width, height), or a color, and its
    words. Returns the parts and the height."""
    parts, left, top = [], x, y
    for swatch, words in items:
        wide = 20 + 6.5 * len(words)
        if left > x and left + wide > WIDTH:
            left, top = x, top + 18
        parts.append(swatch(left, top, 14, 10) if callable(swatch) else
                     box(left, top, 14, 10, swatch, TINT, swatch))
        parts.append(text(left + 19, top + 9, words, "start", 11))
        left += wide + 12
    return parts, top + 18 - y


def grid(x, y, size, rows, fill=lambda i, j: None):
    """Numbers in square cells. fill(i, j) is the tint of a cell, or None."""
    parts = []
    for i, row in enumerate(rows):
        for j, value in enumerate(row):
            parts += [cell(x + j * size, y + i * size, size, size, fill(i, j)),
                      text(x + (j + 0.5) * size, y + (i + 0.5) * size + 4, value)]
    return parts


def heat_map(x, y, w, h, rows, fill="heat"):
    """A grid of numbers from -1 to 1, with cells w × h: opacity is size.

    It goes in steps of 0.05. Equal neighbors in a row are one piece, and all
    pieces of one shade are one path, which keeps the file small.
    """
    shades = {}
    for i, values in enumerate(rows):
        steps = [round(20 * v) for v in values]
        first = 0
        for j in range(1, len(steps) + 1):
            if j == len(steps) or steps[j] != steps[first]:
                across = number((j - first) * w)
                shades.setdefault(steps[first], []).append(
                    f"M{number(x + first * w)} {number(y + i * h)}"
                    f"h{across}v{number(h)}h-{across}z")
                first = j
    paths = [f'<path fill="{color(fill if step > 0 else "cold")}" '
             f'fill-opacity="{number(abs(step) / 20)}" '
             f'shape-rendering="crispEdges" d="{"".join(pieces)}"/>'
             for step, pieces in sorted(shades.items()) if step]
    return paths + [frame(x, y, len(rows[0]) * w, len(rows) * h)]


def key(x, y, low, fill="heat"):
    """The shades of a heat map, from low (a whole number) to 1."""
    tenths = range(10 * low, 11)
    w = 198 / len(tenths)
    return heat_map(x, y, w, 12, [[k / 10 for k in tenths]], fill) + [
        text(x + (k - tenths[0] + 0.5) * w, y + 26, str(k // 10), size=11)
        for k in tenths if k % 10 == 0]


def bars(x, y, values, fill, w, unit):
    """A bar for each number, up or down from y; unit: the height of 1."""
    parts = [line([(x, y), (x + w * len(values), y)], "faint", 0.75)]
    for j, value in enumerate(values):
        high = abs(value) * unit
        parts.append(box(x + j * w + 0.5, y - high if value > 0 else y, w - 1,
                         high, fill))
    return parts

#!/usr/bin/env python3
"""Makes docs/source/font.css, the font of the formulas.

    /usr/bin/python3 docs/weaver/font.py

The font is TeX Gyre Pagella Math (Debian: fonts-texgyre-math), reduced to the
characters that formulas may need, with the larger parentheses, roots and so on
that belong to them. Debian's python3-fonttools and python3-brotli do the work.
The same versions give the same bytes, and nothing else needs them: this is run
only when check.py misses a character.
"""

import base64
import io
from pathlib import Path

from fontTools import subset

STYLE = Path(__file__).resolve().parent.parent / "source" / "font.css"
FONT = "/usr/share/texmf/fonts/opentype/public/tex-gyre-math/" \
    "texgyrepagella-math.otf"
CHARACTERS = "20-7E,A0,B7,D7,2C6,391-3A9,3B1-3C9,3D5,3F5,2026,2032,210E,2190," \
    "2192,2202,2208,2211,2212,221A,221E,2248,2260,2264,2265,22C5,1D434-1D467," \
    "1D6E2-1D71B"  # the last two are slanted letters
NOTICE = """/* The font of the formulas: TeX Gyre Pagella Math by B. Jackowski, P. Strzelczyk and
   P. Pianowski, reduced to these characters by docs/weaver/font.py. All of it is at
   https://ctan.org/pkg/tex-gyre-math; its license is the GUST Font License,
   which is the LaTeX Project Public License, version 1.3c or later. */
"""


def reduced():
    """The reduced font, as WOFF2, under a name of its own."""
    options = subset.Options(flavor="woff2", layout_features=[], hinting=False,
                             desubroutinize=True, drop_tables=["FFTM"],
                             recalc_timestamp=False)
    font = subset.load_font(FONT, options)
    subsetter = subset.Subsetter(options)
    subsetter.populate(unicodes=subset.parse_unicodes(CHARACTERS))
    subsetter.subset(font)
    for name in font["name"].names:
        if name.nameID in (1, 3, 4, 6):
            name.string = "Formulas"
    font["CFF "].cff.fontNames = ["Formulas"]
    file = io.BytesIO()
    subset.save_font(font, file, options)
    return file.getvalue()


def main():
    data = reduced()
    codes = ", ".join("U+" + part for part in CHARACTERS.split(","))
    text = NOTICE + "@font-face {\n  font-family: Formulas;\n" \
        f"  unicode-range: {codes};\n" \
        '  src: url("data:font/woff2;base64,' \
        f'{base64.b64encode(data).decode()}") format("woff2");\n}}\n'
    STYLE.write_text(text, encoding="utf-8")
    print(f"{STYLE.name}: a font of {len(data)} bytes, {len(text)} characters in all")


if __name__ == "__main__":
    main()

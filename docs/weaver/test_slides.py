#!/usr/bin/env python3
"""Opens each lecture of build/slides/ in chromium and goes through all its slides.

    python3 docs/weaver/test_slides.py        after slides.py

The last line is "N passed, N failed".
"""

import sys
from pathlib import Path

DOCS = Path(__file__).resolve().parent.parent
SLIDES = DOCS.parent / "build" / "slides"
sys.path.append(str(DOCS / "live"))

from browser import Browser  # noqa: E402
import check  # noqa: E402

# Of the slide that is shown: its title, and whether all of it can be seen.
MEASURED = """(() => {
    const slide = Reveal.getCurrentSlide(), code = [...slide.querySelectorAll("pre code")];
    return [slide.querySelector("h2").textContent,
        slide.scrollHeight <= Reveal.getConfig().height
        && slide.scrollWidth <= Reveal.getConfig().width
        && code.every(one => one.scrollWidth <= one.clientWidth + 1)];
})()"""
# The next slide, past what its keys show one after the other.
NEXT = """(() => {
    const slide = Reveal.getCurrentSlide();
    while (Reveal.getCurrentSlide() === slide && !Reveal.isLastSlide())
        Reveal.next();
})()"""


def slides(page, path):
    """(title, whether it fits) of each slide of a lecture."""
    page.go(path.as_uri())
    if not page.until("window.Reveal && Reveal.isReady()"):
        return []
    found = [page.run(MEASURED)]
    for _ in range(page.run("Reveal.getTotalSlides()") - 1):
        page.run(NEXT)
        found.append(page.run(MEASURED))
    return found


def main():
    paths = sorted(path for path in SLIDES.glob("*.html") if path.name != "index.html")
    with Browser() as browser:
        page = browser.open("about:blank")
        page.resize(1100, 720)
        for path in paths:
            found = slides(page, path)
            check.claim(len(found) > 5, f"{path.name}: {len(found)} slides")
            check.none([title for title, fits in found if not fits],
                       f"{path.name}: each is seen as a whole")
    check.claim(len(paths) > 15, f"{len(paths)} lectures")
    check.end()


if __name__ == "__main__":
    main()

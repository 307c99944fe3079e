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

LEAST = 15.9

# Of the slide that is shown, when its keys have shown everything: its title, whether all
# of it can be seen, and the size of its smallest text on a slide 720 pixels high. The
# signs above and below those of a formula are not text.
MEASURED = """(() => {
    const slide = Reveal.getCurrentSlide(), code = [...slide.querySelectorAll("pre code")];
    const fits = slide.scrollHeight <= Reveal.getConfig().height
        && slide.scrollWidth <= Reveal.getConfig().width
        && code.every(one => one.scrollWidth <= one.clientWidth + 1);
    while (Reveal.availableFragments().next)
        Reveal.nextFragment();
    const sizes = [], texts = document.createTreeWalker(slide, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
        const one = texts.currentNode.parentElement;
        if (!texts.currentNode.data.trim() || !one.getClientRects().length
            || one.closest("msub > :last-child, msup > :last-child, msubsup, munder, mfrac"))
            continue;
        const place = one.ownerSVGElement && one.getScreenCTM();
        sizes.push(parseFloat(getComputedStyle(one).fontSize)
            * (place ? Math.hypot(place.a, place.b) / Reveal.getScale() : 1));
    }
    return [slide.querySelector("h2").textContent, fits, Math.min(...sizes)];
})()"""


def slides(page, path):
    """(title, whether it fits, size of its smallest text) of each slide of a lecture."""
    page.go(path.as_uri())
    if not page.until("window.Reveal && Reveal.isReady()"):
        return []
    found = [page.run(MEASURED)]
    for _ in range(page.run("Reveal.getTotalSlides()") - 1):
        page.run("Reveal.next()")
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
            check.none([title for title, fits, _ in found if not fits],
                       f"{path.name}: each is seen as a whole")
            check.none([f"{title}: {size:.1f}" for title, _, size in found
                        if size < LEAST],
                       f"{path.name}: no text below {LEAST} pixels of 720")
    check.claim(len(paths) > 15, f"{len(paths)} lectures")
    check.end()


if __name__ == "__main__":
    main()

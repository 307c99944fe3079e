#!/usr/bin/env python3
"""Uses the search and the blanks of a page in chromium, as a reader would.

    python3 docs/source/test-pages.py        after `make docs`; the last line is
                                             "N passed, N failed"
"""

import sys
from pathlib import Path

DOCS = Path(__file__).resolve().parent.parent
sys.path.append(str(DOCS / "live"))

from browser import Browser  # noqa: E402

counts = {True: 0, False: 0}
SEARCH = ".search input"
FIELDS = "[...document.querySelectorAll('.blank input')]"


def claim(holds, text, found=""):
    counts[bool(holds)] += 1
    print(("ok   " if holds else "FAIL ") + text + ("" if holds else f": {found}"))


def press(page, key):
    """A key, where the keyboard is."""
    for kind in ("keyDown", "keyUp"):
        page.send("Input.dispatchKeyEvent", type=kind, key=key)


def test_search(page):
    claim(page.run("typeof TEXTS") == "undefined", "a page comes without the texts")
    press(page, "/")
    claim(page.run(f"document.activeElement === document.querySelector('{SEARCH}')"),
          "the key / leads to the search")
    claim(page.until("typeof TEXTS !== 'undefined' && index !== null", 20),
          "the texts come when the search is used, on a disk as well")
    page.choose(SEARCH, "saturated from the start")
    said = page.text(".found p") + "; " + page.text(".found a.text small")
    claim(said.startswith("0 by name, 1 in the text; softmax is saturated from the"),
          "a sentence is found by its words, and shown", said)
    page.choose(SEARCH, "LSTM")
    claim(page.run("document.querySelector('.found a').getAttribute('href')").endswith(
        "notebook/08-rnn.ipynb"), "a term may lead to a lab")
    press(page, "ArrowDown")
    claim(page.run("document.activeElement === document.querySelector('.found a')"),
          "an arrow leads into what is found")
    press(page, "Escape")
    claim(page.run("document.querySelector('.found').hidden"), "Escape closes it")


def type_number(page, field, text):
    page.run(f"""(field => {{
        field.value = {text!r};
        for (const type of ["input", "change"])
            field.dispatchEvent(new Event(type, {{bubbles: true}}));
    }})({FIELDS}[{field}])""")


def test_blanks(page):
    claim(page.run(f"{FIELDS}.length") > 15, "chapter 2 has fields for numbers")
    type_number(page, 0, "0.5")
    claim(page.run(f"{FIELDS}[0].matches('.right')"), "a right number is accepted")
    type_number(page, 1, "1")
    said = page.run(f"{FIELDS}[1].closest('p').nextElementSibling.textContent")
    claim(said.startswith("1: the weights of a row must sum to 1"),
          "a usual mistake is named", said)
    type_number(page, 1, "7/9")
    said = page.run(f"{FIELDS}[1].closest('p').nextElementSibling.textContent")
    claim(said == "7/9: not yet", "another wrong number is not", said)
    page.click("#attention-by-hand > button")
    claim(page.run(f"{FIELDS}.length") == 0 and page.text(".blank") == "1/2",
          "a button fills in all numbers")


def main():
    with Browser() as browser:
        page = browser.open((DOCS / "02-attention.html").as_uri())
        page.until("document.readyState === 'complete' && window.TEXTS === undefined "
                   f"&& document.querySelector('{SEARCH}') !== null")
        test_search(page)
        test_blanks(page)
    print(f"{counts[True]} passed, {counts[False]} failed")
    sys.exit(counts[False] > 0)


if __name__ == "__main__":
    main()

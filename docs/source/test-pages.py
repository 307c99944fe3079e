#!/usr/bin/env python3
"""Uses the search, the blanks and the editions of a page in chromium, as a reader
would.

    python3 docs/source/test-pages.py        after `make docs`; the last line is
                                             "N passed, N failed"
"""

import sys
from pathlib import Path

DOCS = Path(__file__).resolve().parent.parent
sys.path += [str(DOCS / "live"), str(DOCS / "weaver")]

from browser import Browser  # noqa: E402
from claims import claim, end  # noqa: E402

SEARCH = ".search input"
FIELDS = "[...document.querySelectorAll('.blank input')]"


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
    type_number(page, 0, "0.6")
    claim(page.run(f"{FIELDS}[0].matches('.right')"), "a right number is accepted")
    type_number(page, 1, "1")
    said = page.run(f"{FIELDS}[1].closest('p').nextElementSibling.textContent")
    claim(said.startswith("1: the weights of a row must sum to 1"),
          "a usual mistake is named", said)
    type_number(page, 1, "7/9")
    said = page.run(f"{FIELDS}[1].closest('p').nextElementSibling.textContent")
    claim(said == "7/9: not yet", "another wrong number is not", said)
    page.click("#attention-by-hand > button")
    claim(page.run(f"{FIELDS}.length") == 0 and page.text(".blank") == "3/5",
          "a button fills in all numbers")


def ready(browser, address):
    page = browser.open((DOCS / "02-attention.html").as_uri() + address)
    page.until("document.readyState === 'complete' && window.TEXTS === undefined "
               f"&& document.querySelector('{SEARCH}') !== null")
    return page


def folded(page, kind):
    """How many boxes of that kind are folded, and how many there are."""
    return page.run(f"""[...document.querySelectorAll('details.{kind}')].reduce(
        ([folded, all], box) => [folded + !box.open, all + 1], [0, 0])""")


def test_editions(browser):
    page = ready(browser, "")
    claim(folded(page, "fold")[0] == 0 and folded(page, "box")[0] == 0,
          "the full edition folds nothing")
    page.click(".editions button[value=short]")
    plumbing, backward = folded(page, "plumbing"), folded(page, "backward")
    claim(plumbing[0] == plumbing[1] > 0 and backward[0] == 0 < backward[1],
          "the short edition folds plumbing, but no backward pass",
          (plumbing, backward))
    claim(folded(page, "box")[0] == folded(page, "box")[1] > 0, "and boxes")
    claim(page.run("location.search") == "?short", "the address says so")
    claim(page.run("document.querySelector('.steps a').search") == "?short",
          "so do the links to other pages")
    page = ready(browser, "")
    claim(folded(page, "plumbing")[0] > 0, "the choice is remembered")
    page = ready(browser, "?forward#softmax_backward")
    backward = folded(page, "backward")
    claim(backward[0] == backward[1] - 1,
          "in the edition without backward passes one unfolds if the address leads "
          "into it", backward)
    claim(page.run("getComputedStyle(document.querySelector('nav.way')).display")
          == "flex" and page.text("nav.way a:last-child") == "Next: Several heads",
          "a line at the bottom leads along the route", page.text("nav.way"))
    page.click(".editions button[value=full]")
    claim(folded(page, "fold")[0] == 0 and page.run(
        "getComputedStyle(document.querySelector('nav.way')).display") == "none",
        "the full edition unfolds all, and has no such line")


def test_panel(browser):
    page = ready(browser, "")
    claim(page.run("document.querySelector('.panel iframe')") is None,
          "a page comes without its panel")
    page.run("document.querySelector('.panel').scrollIntoView()")
    claim(page.until("document.querySelector('.panel iframe')?.style.height", 60),
          "the panel comes when it is in sight, and says how high it is")


def main():
    with Browser() as browser:
        page = ready(browser, "")
        test_search(page)
        test_blanks(page)
        test_editions(browser)
        test_panel(browser)
    end()


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Uses the search, the blanks, the editions, the panels and the start page in chromium, as
a reader would.

    python3 docs/book/test/test_reading.py        after `make docs`; the last line is
                                               "N passed, N failed"
"""

import json
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "weave"))

from project import DOCS

sys.path.append(str(DOCS / "live"))

from browser import Browser
from harness import claim, end

SEARCH = ".search input"


def press(page, key):
    """Presses a key, in the element that has the focus."""
    for kind in ("keyDown", "keyUp"):
        page.send("Input.dispatchKeyEvent", type=kind, key=key)


# What is asked for, and where the first thing that is found leads to: the address, or
# the name of what transformer.c defines.
FIRST = {
    "EOS": "END",
    "bos": "START",
    "dk": "attention_backward",
    "KV cache": "LayerCache",
    "cache kv": "LayerCache",
    "label smoothing": "loss_forward",
    "causal mask": "causal_mask",
    "--merges": "option-merges",
    "label-smoothing": "option-label-smoothing",
    "K": "manual-letters",
    "perplexity": "evaluate_command",
    "bias correction": "adam_step",
    "dropout mask": "Dropout",
    "cross-entropy": "loss_forward",
    "SOFTMAX_R": "softmax_row",
    "questions": "00-manual.html#manual-questions",
    "Where is EOS?": "END",
    "what does --merges do": "option-merges",
    "overfitting?": "own-language.html#is-it-overfitting",
    # what readers of other programs ask for
    "loss.backward()": "attention-how-to-differentiate-a-program",
    "nn.Embedding": "embedding_forward",
    "MultiheadAttention": "multi_head_forward",
    "masked_fill": "Mask",
    "permute": "Mat",
    "einsum": "matmul_definition",
    "DataLoader": "Batch",
    "no_grad": "evaluate_loss",
    "rotary": "../notebook/17-since-2017.ipynb",
    "RMSNorm": "../notebook/17-since-2017.ipynb",
    "RoPE": "../notebook/17-since-2017.ipynb",
    "SwiGLU": "../notebook/17-since-2017.ipynb",
    "GQA": "../notebook/17-since-2017.ipynb",
    "flash attention": "gpt.html#what-large-models-do-differently",
    "LSTM": "../notebook/08-rnn.ipynb",
    "encoder-only": "../notebook/15-classifier.ipynb",
    "classifier": "../notebook/15-classifier.ipynb",
    "BERT": "../notebook/18-pretrained.ipynb",
    "extrapolation": "../notebook/03-positions.ipynb",
    "complexity": "../notebook/13-cost.ipynb",
    "permutation": "embedding-where-a-token-stands",
    "GPU": "numbers-shape-and-several-threads",
    "MPI": "../notebook/19-machines.ipynb",
    "data parallelism": "../notebook/19-machines.ipynb",
    "residual stream": "residual_enter",
    "gradient of memory": "decoder_layer_backward",
    "why divide by sqrt": "attention_forward",
    # what stands in the text
    "saturated from the start": "02-attention.html#attention-break-it",
    "message catalogues": "own-language.html#where-pairs-come-from",
    "why does post-norm need warm-up": "../notebook/05-norms.ipynb",
    "Gradescope": "teacher.html#gradescope",
    "Radford": "gpt.html#what-a-decoder-only-model-drops",
    "bahdanau": "../notebook/08-rnn.ipynb",
    "OpenMP macOS": "using.md",
    "saturatde": "attention_forward",  # a typing error
}


def found(page, query):
    return page.run(f"find({json.dumps(query)})")


def test_index(page):
    """What the search finds, once the texts are there."""
    for query, address in FIRST.items():
        there = [row[1] for row in found(page, query)[:1]]
        claim(there and address in (there[0], there[0].partition("#")[2]),
              f'"{query}" finds {address}', there)
    hidden = page.run("""FOUND.filter(([kind, address, name]) => kind !== "section"
        && !find(name).slice(0, MOST).some(row => row[1] === address)).map(row => row[2])""")
    claim(not hidden, "each thing is found by its name", hidden)
    claim(not found(page, "qwxz"), "what is not there is not found")
    claim(not found(page, "  "), "blanks find nothing")
    claim(found(page, "Pâdding")[0][1] == found(page, "padding")[0][1],
          "neither case nor accents count")
    sentences = [row[4] for row in found(page, "token") if row[0] == "term"]
    claim(len(set(sentences)) == len(sentences) > 3, "a term of several names comes once")
    for query, sentence in (("spreads evenly over hidden", "spread evenly"),
                            ("paper divides the scores of attention", "by √d_k")):
        said = found(page, query)[0][4]
        claim(sentence in said, f"the sentence with the words is shown: {sentence}", said)


def test_search(page):
    claim(page.run("typeof TEXTS") == "undefined" and not found(page, "softmax"),
          "a page comes without the texts, and nothing is found")
    press(page, "/")
    claim(page.run(f"document.activeElement === document.querySelector('{SEARCH}')"),
          "the key / leads to the search")
    claim(page.until("typeof TEXTS !== 'undefined' && index !== null", 20),
          "the texts come when the search is used, on a disk as well")
    page.choose(SEARCH, "saturated from the start")
    said = page.text(".found p") + "; " + page.text(".found a.section small")
    claim(said.startswith("1 found; softmax is saturated from the"),
          "a sentence is found by its words, and shown", said)
    page.choose(SEARCH, "LSTM")
    claim(page.run("document.querySelector('.found a').getAttribute('href')").endswith(
        "notebook/08-rnn.ipynb"), "a term may lead to a lab")
    press(page, "ArrowDown")
    claim(page.run("document.activeElement === document.querySelector('.found a')"),
          "an arrow leads into what is found")
    press(page, "Escape")
    claim(page.run("document.querySelector('.found').hidden"), "Escape closes it")


USUAL = [["2", "the sum is missing"], ["0.278", "added"]]
WANTED = "type a number, such as -1/2 or 0.25"
JUDGED = [  # what is typed, the answer, and what is said
    ("-1/2", "-1/2", ""), (" -0.5 ", "-1/2", ""), ("−1/2", "-1/2", ""), (".5", "1/2", ""),
    ("0,5", "1/2", ""), ("0.41", "0.408", "not yet"), ("0.4076", "0.408", ""),
    ("0.407", "0.408", ""), ("0.41", "0.4", "not yet"), ("2", "-1/2", "the sum is missing"),
    ("4/2", "-1/2", "the sum is missing"), ("0.2780", "0.211", "added"),
    ("1/0", "1", "not yet"), ("log 2", "0.693", WANTED), ("1/2/3", "1/2", WANTED)]


def test_blanks(page):
    for typed, answer, wanted in JUDGED:
        said = page.run(f"judge({json.dumps(typed)}, {json.dumps(answer)}, {json.dumps(USUAL)})")
        claim(said == wanted, f'{typed} for {answer}: "{said}"')
    count = "document.querySelectorAll('.blank input').length"
    claim(page.run(count) > 15, "chapter 2 has fields for numbers")
    page.choose(".blank input", "0.6")
    claim(page.run("document.querySelector('.blank input').matches('.right')"),
          "a right number is accepted")
    page.choose(".blank input:not(.right)", "1")
    said = page.text("p:has(input:not(.right)) + .said")
    claim(said.startswith("1: the weights of a row must sum to 1"),
          "a usual mistake is named", said)
    page.choose(".blank input:not(.right)", "7/9")
    said = page.text("p:has(input:not(.right)) + .said")
    claim(said == "7/9: not yet", "another wrong number is not", said)
    page.click("#attention-by-hand > button")
    claim(page.run(count) == 0 and page.text(".blank") == "3/5", "a button fills in all numbers")


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
    for kind in ("fold", "box"):
        found = folded(page, kind)
        claim(found[0] == found[1] > 0, f"a first visitor gets the short edition: each {kind}"
              " is folded", found)
    page.click(".editions button[value=full]")
    claim(folded(page, "fold")[0] == 0 and folded(page, "box")[0] == 0,
          "the full edition folds nothing")
    page = ready(browser, "")
    claim(folded(page, "fold")[0] == 0, "the choice is remembered")
    page.click(".editions button[value=short]")
    page = ready(browser, "#mask_row")
    fold, boxes = folded(page, "fold"), folded(page, "box")
    claim(fold[0] == fold[1] - 1 and boxes[0] == boxes[1],
          "what the address leads into is unfolded, and nothing else", (fold, boxes))


def errors(browser):
    """What scripts have thrown since this was last asked."""
    thrown = [event["params"]["exceptionDetails"] for event in browser.events
              if event["method"] == "Runtime.exceptionThrown"]
    browser.events.clear()
    return [error.get("exception", error).get("description", error["text"])[:200]
            for error in thrown]


# Headings below which nothing but folds is in sight.
BARE = """[...document.querySelectorAll('main :is(h1, h2, h3, h4)')].filter(heading =>
    heading.offsetHeight && ![...heading.parentElement.children].some(one => one !== heading
    && one.offsetHeight && !one.matches('details:not([open])')))
    .map(heading => heading.textContent)"""

def test_every_page(browser):
    """Every page, in both editions."""
    errors(browser)
    page, wrong, bare = browser.open("about:blank"), [], []
    pages = [path for path in sorted(DOCS.glob("*.html")) if path.name != "live.html"]
    for path in pages:
        page.go(path.as_uri())
        page.until("document.readyState === 'complete' && location.protocol === 'file:'")
        for edition in ("full", "short"):
            ended = page.run("document.querySelector('.search') && (() => {"
                             f"showEdition('{edition}'); scrollTo(0, 1e6);"
                             "return document.documentElement.dataset.edition"
                             f" === '{edition}'; }})()")
            wrong += [] if ended else [(path.name, edition, "the script has not run")]
            bare += [(path.name, edition, title) for title in page.run(BARE)]
        wrong += [(path.name, error) for error in errors(browser)]
    claim(len(pages) > 20 and not wrong,
          f"no script fails on {len(pages)} pages in both editions", wrong[:5])
    claim(not bare, "and each heading stands above more than folds", bare)


def at_size(browser, width, height, address):
    """A page in a window of that size."""
    page = browser.open("about:blank")
    page.resize(width, height)
    page.go(address)
    return page


# What stands beside a panel, and what it shows.
TOLD = {"02-attention": ("matches the query of “the” best", "Encoder, layer 1, self-attention"),
        "03-multi-head": ("fetches “red” in one attention", "Encoder, layer 0, self-attention"),
        "05-feed-forward": ("", "Encoder, layer 0, feed-forward"),
        "06-residual": ("adds the input of a sub-layer", "The residual connection"),
        "11-training": ("", "The model says: la voiture rouge est rapide")}


def inside(browser, page, frame):
    """What a frame of a page shows, as a page of its own of that size."""
    address, width, height = page.run(f"(({{src, clientWidth, clientHeight}}) =>"
        f" [src, clientWidth, clientHeight])(document.querySelector('{frame}'))")
    return at_size(browser, width, height, address)


def test_panels(browser):
    for name, (text, wanted) in TOLD.items():
        for width, height in ((1366, 768), (390, 844)):
            page = at_size(browser, width, height, (DOCS / f"{name}.html").as_uri())
            page.until("document.readyState === 'complete' && document.querySelector('.panel p')")
            page.run("document.querySelector('.panel iframe').scrollIntoView()")
            page.until("document.querySelector('.panel iframe.there')")
            time.sleep(0.3)
            room = page.run("document.querySelector('.panel').offsetHeight")
            panel = inside(browser, page, ".panel iframe")
            there = panel.until("document.querySelector('#flow-matrices :is(td, canvas)')")
            said = panel.run("document.body.innerText")
            rows = panel.run("document.querySelector('#flow-matrices').clientHeight")
            claim(there and wanted in " ".join(said.split()) and text in " ".join(page.text("main").split()),
                  f"{name}: the panel shows what the text says: {wanted}", said[:300])
            claim(room < 0.8 * height and rows > 100
                  and panel.run("(({scrollWidth, scrollHeight}) => scrollHeight <= innerHeight"
                                f" && scrollWidth <= {width})(document.documentElement)"),
                  f"at {width} pixels it says how high it is, it does not scroll, and its "
                  "numbers are in sight", (room, rows))


# Letters of figures that are too small, and code that does not fit.
NARROW = """[...document.querySelectorAll('svg text')].filter(one => 10.9 > parseFloat(
        getComputedStyle(one).fontSize) * Math.hypot(one.getScreenCTM().a, one.getScreenCTM().b))
    .map(one => one.textContent).concat(
    [...document.querySelectorAll('pre:not(.data)')].filter(one => one.offsetHeight
        && one.scrollWidth > one.clientWidth).map(one => one.textContent))"""


def test_phone(browser):
    page = at_size(browser, 390, 844, (DOCS / "tiny.html").as_uri())
    page.until("document.readyState === 'complete'")
    page.run("document.querySelectorAll('details').forEach(one => one.open = true)")
    wrong = page.run(NARROW)
    claim(not wrong, "on a phone code is wrapped, and figures have letters of 11 pixels", wrong)


# Where the head, the title and the text begin; how high the page is, and where the second
# button ends; and how much of a box does not fit into it.
PLACES = """[['header nav a', 'h1', '.choose', 'h2'].map(one =>
    document.querySelector(one).getBoundingClientRect().left),
    document.documentElement.scrollHeight,
    document.querySelector('.button.second').getBoundingClientRect().bottom,
    Math.max(...['.map', '.lines', 'main'].map(one => document.querySelector(one))
        .map(box => box.scrollWidth - box.clientWidth))]"""


def test_start_page(browser):
    for width, height, most in ((1366, 900, 3000), (390, 844, 4500)):
        page = at_size(browser, width, height, (DOCS / "index.html").as_uri())
        page.until("document.readyState === 'complete' && document.documentElement.dataset.edition")
        lefts, high, button, over = page.run(PLACES)
        claim(max(lefts) - min(lefts) <= 1 and high <= most and button <= height and over <= 0,
              f"at {width} pixels the start page has one left edge, its map and buttons on the "
              f"first screen, and at most {most} pixels", (lefts, high, button, over))
        before = button
        for n in range(3):
            page.click(f".choose button:nth-child({n + 1})")
            *_, button, over = page.run(PLACES)
            claim(button == before and over <= 0, "another sentence moves nothing",
                  (n, button, over))
    claim(page.text(".written") == "la fille n'aime pas les chats", "its translation is there")
    page.click(".map tbody tr:nth-child(2) td:nth-of-type(2)")
    claim("“fille”" in page.text(".said") and "“girl”" in page.text(".said")
          and len(page.texts(".lines .made")) == 3,
          "a number that is pointed at marks the lines that made it", page.text(".said"))
    page.click(".lines code > span:nth-child(9)")
    claim(len(page.texts(".map .made")) == 8, "a line marks the row that it makes")
    page.choose(".demo input", "the big ho")
    claim("the big house" in page.run("[...document.querySelector('datalist').options]"
                                      ".map(one => one.value)"), "words are suggested")
    page.choose(".demo input", "the big elephant")
    claim(page.until("document.querySelector('.said').textContent.includes('“elephant”')"),
          "an unknown word is named")


# The numbers of both heads, head by head and row by row, as they are seen.
SEEN = """[...document.querySelectorAll('.cut .number')].map(one => [one.textContent.trim(),
    one.getBoundingClientRect()]).sort(([, a], [, b]) =>
    (Math.abs(a.x - b.x) > 2.5 * a.width ? a.x - b.x : a.y - b.y) || a.x - b.x)
    .map(([number]) => +number)"""


def test_cut(browser):
    page = browser.open("about:blank")
    page.send("Emulation.setScriptExecutionDisabled", value=True)
    page.go((DOCS / "03-multi-head.html").as_uri())
    page.until("document.readyState === 'complete' && document.querySelector('.cut input')")
    right, every = [0, 1, 4, 5, 8, 9, 2, 3, 6, 7, 10, 11], list(range(12))
    claim(page.run(SEEN) == right, "two heads have two columns of each word", page.run(SEEN))
    page.click(".cut label:last-child input")
    moved = page.until(f"JSON.stringify({SEEN}) === '{json.dumps(every, separators=(',', ':'))}'")
    claim(moved, "only reshaped, they have the numbers as they lie in memory, without a script, too",
          page.run(SEEN))
    page.click(".cut label:first-child input")
    claim(page.until(f"JSON.stringify({SEEN}) === '{json.dumps(right, separators=(',', ':'))}'"),
          "and back")
    page.send("Emulation.setScriptExecutionDisabled", value=False)


def main():
    with Browser() as browser:
        page = ready(browser, "")
        test_search(page)
        test_index(page)
        test_blanks(page)
        test_editions(browser)
        test_every_page(browser)
        test_panels(browser)
        test_phone(browser)
        test_cut(browser)
        test_start_page(browser)
    end()


if __name__ == "__main__":
    main()

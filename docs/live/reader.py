"""A page as a reader uses it, and claims about what it then says: for the tests of
live.html, of what the book says of it, and of write.html."""

import json
import subprocess
import tarfile
import time
from pathlib import Path

from browser import Page
from harness import claim

PAGE = Path(__file__).resolve().parent.parent / "live.html"
AXE_VERSION = "4.14.1"    # of axe-core, the accessibility checker, from npm


class Reader(Page):
    def reads(self, selector, words, seconds=30):
        """Waits until an element's text contains these words."""
        return self.until(f"document.querySelector({json.dumps(selector)})?.textContent"
                          f".includes({json.dumps(words)})", seconds)

    def mentions(self, selector, words, text):
        """The claim that it comes to contain them."""
        claim(self.reads(selector, words), text, self.text(selector))

    def says(self, selector, words, text):
        """The claim that its text comes to be exactly these words."""
        claim(self.until(f"document.querySelector({json.dumps(selector)}).textContent === "
                         + json.dumps(words), 30), text, self.text(selector))

    def becomes(self, code, text, else_show="null"):
        """The claim that an expression becomes true; if not, the value of another is shown."""
        claim(self.until(code, 30), text, self.run(else_show))


def claim_quiet(browser, ignored="\0"):
    """Claims that, since the browser began, no network was used and nothing was logged."""
    addresses = [event["params"]["request"]["url"] for event in browser.events
                 if event["method"] == "Network.requestWillBeSent"]
    far = [a for a in addresses if not a.startswith(("file:", "blob:", "about:", "data:"))]
    claim(addresses and not far, "nothing is asked of any network", far)
    errors = [event["params"] for event in browser.events if event["method"]
              in ("Runtime.exceptionThrown", "Log.entryAdded", "Runtime.consoleAPICalled")
              and ignored not in json.dumps(event["params"])]
    claim(not errors, "the console stays empty", errors)


# What the accessibility checker finds, once its script has been run.
AXE = """axe.run(document, {resultTypes: ['violations']}).then(({violations}) => violations
    .map(({id, nodes}) => id + ': ' + nodes.slice(0, 3).map(
      ({target, failureSummary}) => target + ' ' + failureSummary).join(' | ')))"""


def axe_source(folder):
    """The checker's script; its package is kept in this folder."""
    file = folder / f"axe-core-{AXE_VERSION}.tgz"
    if not file.exists():
        subprocess.run(["npm", "pack", "--silent", f"axe-core@{AXE_VERSION}"],
                       cwd=folder, check=True, stdout=subprocess.DEVNULL)
    with tarfile.open(file) as package:
        return package.extractfile("package/axe.min.js").read().decode()


# ---------------------------------------------------------------- the live page

# All that has been asked for is shown.
READY = """document.querySelector('#break-mask') !== null
    && document.querySelector('#model-facts').textContent !== ''
    && document.querySelector('#flow-body').ariaBusy === 'false'"""
TRAINS = "document.querySelector('#break-mask') !== null"


class Live(Reader):
    """The page, opened from its file with a state in the address, once it shows what is
    asked for."""

    def __init__(self, browser, state="", size=(1366, 900), ready=READY, before="", page=PAGE):
        super().__init__(browser, "about:blank")
        self.resize(*size)
        self.send("Emulation.setFocusEmulationEnabled", enabled=True)
        self.send("Page.addScriptToEvaluateOnNewDocument", source=before)
        self.go(page.as_uri() + state)
        self.is_open = self.until(ready) if ready else False

    def settle(self):
        """Waits until what was done last is seen; typing has a pause of its own."""
        time.sleep(0.05)
        self.until("document.querySelector('#flow-body').ariaBusy === 'false'")

    def type(self, selector, text):
        self.choose(selector, text)
        time.sleep(0.35)
        self.settle()

    def number(self, selector):
        return float(self.text(selector).replace(",", "").replace(" %", ""))

    def loss(self):
        return float(self.text("#flow-loss b").removeprefix(" Loss ").replace("−", "-"))

    def is_off(self, button):
        return self.of(button, "ariaDisabled") == "true"

    def place(self, selector, n=0):
        """The middle of an element, once it can be seen."""
        return self.run(f"""(element => {{
            element.scrollIntoView({{block: 'nearest'}});
            const {{x, y, width, height}} = element.getBoundingClientRect();
            return {{x: x + width / 2, y: y + height / 2}}; }})
            (document.querySelectorAll({json.dumps(selector)})[{n}])""")

    def point(self, selector, n=0):
        self.send("Input.dispatchMouseEvent", type="mouseMoved", **self.place(selector, n))
        time.sleep(0.2)

    def press_at(self, selector, n=0):
        """A click of the mouse on the middle of an element."""
        place = self.place(selector, n)
        for kind in ("mousePressed", "mouseReleased"):
            self.send("Input.dispatchMouseEvent", type=kind, button="left", clickCount=1, **place)
        time.sleep(0.2)
        self.settle()

    def pinned(self, name, i, j, what="value"):
        """Goes to a number and pins it; returns what is said of it."""
        self.run(f"inTurn(() => pinElsewhere({{name: '{name}', i: {i}, j: {j}, what: '{what}'}}))")
        return self.text("#flow-origin")

    def trained(self, steps, seconds=120):
        """Waits until this many steps are done, and the training rests."""
        return self.until(f"""Number(document.querySelector('#steps-done').textContent
            .replace(',', '')) >= {steps} && document.querySelector('.results').ariaBusy === 'false'""", seconds)

    def step(self, number):
        """Takes one step, and waits until the training has reached it."""
        self.click("#step")
        return self.trained(number)

    def again(self):
        """Begins a new training run, of which no step is done yet."""
        self.click("#again")
        return self.until("document.querySelector('#steps-done').textContent === '0'"
                          " && document.querySelector('.results').ariaBusy === 'false'")

    def options(self, **values):
        for name, value in values.items():
            self.choose("#option-" + name.replace("_", "-"), str(value))


def near(a, b, size=1):
    return abs(a - b) <= 1e-4 * max(abs(b), size)

"""A page as a reader uses it, and claims on what it then says: for the tests of
live.html, of what the book says of it, and of write.html."""

import json
import subprocess
import tarfile
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
        """The claim that it comes to do so."""
        claim(self.reads(selector, words), text, self.text(selector))

    def says(self, selector, words, text):
        """The claim that these words come to be all of it."""
        claim(self.until(f"document.querySelector({json.dumps(selector)}).textContent === "
                         + json.dumps(words), 30), text, self.text(selector))

    def becomes(self, code, text, else_show="null"):
        """The claim that an expression becomes true; or else another is shown."""
        claim(self.until(code, 30), text, self.run(else_show))


def claim_quiet(browser, ignored="\0"):
    """Of all that the browser has noted since it began."""
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
    """Its script; the package is kept in this folder."""
    file = folder / f"axe-core-{AXE_VERSION}.tgz"
    if not file.exists():
        subprocess.run(["npm", "pack", "--silent", f"axe-core@{AXE_VERSION}"],
                       cwd=folder, check=True, stdout=subprocess.DEVNULL)
    with tarfile.open(file) as package:
        return package.extractfile("package/axe.min.js").read().decode()


# ---------------------------------------------------------------- the live page

READY = """document.querySelector('#model-facts')?.textContent
    && document.querySelector('#break-mask') !== null"""
# The step that is asked for stands in the page, all of it.
SHOWN = """flow.computed && !flow.timer && $('flow-picture').childNodes.length
    && $('flow-title').textContent"""
GPT_THERE = f"flow.model === GPT && flow.stages.has('text.positions') && {SHOWN}"


class Live(Reader):
    """The page, opened from its file with a state in the address, once it shows what is
    asked for."""

    def __init__(self, browser, state="#tab=train", shown="true", before=""):
        super().__init__(browser, "about:blank")
        self.send("Emulation.setFocusEmulationEnabled", enabled=True)
        self.send("Page.addScriptToEvaluateOnNewDocument", source=before)
        self.go(PAGE.as_uri() + state)
        self.is_open = not before and self.until(f"{READY} && ({shown})")

    def value(self, selector):
        return self.of(selector, "value")

    def number(self, selector):
        return float(self.text(selector).replace(",", "").replace(" %", ""))

    def is_off(self, button):
        return self.of(button, "ariaDisabled") == "true"

    def trained(self, steps):
        """Waits until so many steps are done, and the buttons are back."""
        return self.until(f"current?.steps >= {steps} && !current.running")

    def step(self, number):
        """One step, which is that number of the training."""
        self.click("#step")
        return self.trained(number)

    def again(self):
        """A new training, of which no step is done."""
        self.click("#again")
        return self.until("!beginning && current.steps === 0")

    def options(self, **values):
        for name, value in values.items():
            self.choose("#option-" + name.replace("_", "-"), str(value))

    def losses(self, count):
        return self.run(f"current.rows.slice(0, {count}).map(row => row[1])")

    def fill_memory(self, engine):
        """All that an instance of the program can have."""
        self.run("(async () => { for (let n = 2 ** 30; n > 1000; n /= 2)"
                 f" for (let i = 0; i < 4; i++) await {engine}.call('malloc', n); }})()")


def sentence(browser, state=""):
    return Live(browser, state, SHOWN)


def near(a, b, size=1):
    return abs(a - b) <= 1e-4 * max(abs(b), size)

"""A page as a reader uses it, and claims on what it then says: for the tests of
live.html and write.html."""

import json

from browser import Page
from harness import claim


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

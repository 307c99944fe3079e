"""Drives Debian's chromium without a window, or chromium-headless-shell if it is there,
which takes half the processor time: the DevTools protocol over two pipes, and nothing
but Python's standard library.

    with Browser() as browser:
        page = browser.open("file:///…/live.html")
        page.run("document.title")
"""

import json
import shutil
import subprocess
import tempfile
import time


SHELL = shutil.which("chromium-headless-shell") or "chromium"
KEYS = {"Tab": 9, "Enter": 13, "Escape": 27, "ArrowLeft": 37, "ArrowUp": 38,
        "ArrowRight": 39, "ArrowDown": 40}


class Browser:
    def __init__(self, program=SHELL):
        self.folder = tempfile.mkdtemp()
        flags = ["--headless", "--no-sandbox", "--disable-gpu",
                 "--disable-dev-shm-usage", "--remote-debugging-pipe",
                 "--renderer-process-limit=1",    # a new one for each page takes a second
                 "--user-data-dir=" + self.folder, "about:blank"]
        # It reads from descriptor 3, and writes to 4.
        self.process = subprocess.Popen(
            ["sh", "-c", 'exec "$@" 3<&0 4>&1 < /dev/null > /dev/null 2>&1', "sh",
             program, *flags], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.count, self.rest, self.events, self.targets = 0, b"", [], []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def message(self):
        """The next message of the browser."""
        while b"\0" not in self.rest:
            part = self.process.stdout.read1(1 << 16)
            if not part:
                raise RuntimeError("chromium has ended")
            self.rest += part
        one, self.rest = self.rest.split(b"\0", 1)
        return json.loads(one)

    def send(self, method, session=None, **parameters):
        """Calls a method of the protocol, and returns its result."""
        self.count += 1
        call = {"id": self.count, "method": method, "params": parameters}
        if session:
            call["sessionId"] = session
        self.process.stdin.write(json.dumps(call).encode() + b"\0")
        self.process.stdin.flush()
        while True:
            answer = self.message()
            if answer.get("id") == self.count:
                if "error" in answer:
                    raise RuntimeError(answer["error"]["message"])
                return answer["result"]
            self.events.append(answer)

    def open(self, address):
        return Page(self, address)

    def close_pages(self):
        """Closes all open pages: what they compute would cost others time."""
        while self.targets:
            self.send("Target.closeTarget", targetId=self.targets.pop())


class Page:
    def __init__(self, browser, address):
        self.browser = browser
        target = browser.send("Target.createTarget", url="about:blank")["targetId"]
        browser.targets.append(target)
        self.session = browser.send("Target.attachToTarget", targetId=target,
                                    flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log", "DOM"):
            self.send(domain + ".enable")
        self.send("Page.bringToFront")    # without this the Tab key goes nowhere
        self.go(address)

    def send(self, method, **parameters):
        return self.browser.send(method, self.session, **parameters)

    def go(self, address):
        self.send("Page.navigate", url="about:blank")
        self.send("Page.navigate", url=address)

    def run(self, code):
        """The value of an expression, or of the promise that it gives."""
        result = self.send("Runtime.evaluate", expression=code,
                           awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in result:
            details = result["exceptionDetails"]
            raise RuntimeError(details.get("exception", details).get(
                "description", details["text"]))
        return result["result"].get("value")

    def until(self, code, seconds=120):
        """Waits until an expression is true; false if it does not become so."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                if self.run(f"!!({code})"):
                    return True
            except RuntimeError as error:
                if "navigated" not in str(error):    # another page is loaded by now
                    raise
            time.sleep(0.02)
        return False

    def of(self, selector, code):
        """A property of an element, or what a method of it gives."""
        return self.run(f"document.querySelector({json.dumps(selector)}).{code}")

    def click(self, selector):
        self.of(selector, "click()")

    def focus(self, selector):
        self.of(selector, "focus()")

    def text(self, selector):
        return self.of(selector, "textContent")

    def texts(self, selector):
        return self.run(f"[...document.querySelectorAll({json.dumps(selector)})]"
                        ".map(one => one.textContent)")

    def press(self, key):
        """Presses a key, in the element that has the focus."""
        for kind in ("keyDown", "keyUp"):
            self.send("Input.dispatchKeyEvent", type=kind, key=key, code=key,
                      windowsVirtualKeyCode=KEYS.get(key, 0),
                      text="\r" if key == "Enter" else "")

    def choose(self, selector, value):
        """Gives a field its value, as a user does."""
        self.run(f"(field => {{ field.value = {json.dumps(value)};"
                 "for (const type of ['input', 'change']) field.dispatchEvent("
                 "new Event(type, {bubbles: true})); })"
                 f"(document.querySelector({json.dumps(selector)}))")

    def give_files(self, selector, *paths):
        """Gives a file input these files, as a user does."""
        document = self.send("DOM.getDocument")["root"]["nodeId"]
        node = self.send("DOM.querySelector", nodeId=document, selector=selector)
        self.send("DOM.setFileInputFiles", nodeId=node["nodeId"],
                  files=[str(path) for path in paths])

    def downloaded(self, selector, path):
        """Clicks, and waits for the file that this downloads."""
        self.browser.send("Browser.setDownloadBehavior", behavior="allow",
                          downloadPath=str(path.parent))
        path.unlink(missing_ok=True)
        self.click(selector)
        end = time.monotonic() + 60
        while not path.exists() and time.monotonic() < end:
            time.sleep(0.1)
        return path

    def resize(self, width, height):
        self.send("Emulation.setDeviceMetricsOverride", width=width,
                  height=height, deviceScaleFactor=1, mobile=width < 500)

    def prefer(self, **features):
        """prefer(prefers_color_scheme="dark")"""
        self.send("Emulation.setEmulatedMedia", features=[
            {"name": name.replace("_", "-"), "value": value}
            for name, value in features.items()])

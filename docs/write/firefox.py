"""Drives Debian's firefox-esr without a window: Marionette, its own protocol, over a
socket, and nothing but Python's standard library.

    with Firefox() as page:
        page.go("file:///…/write.html")
        page.run("document.title")
"""

import json
import shutil
import socket
import subprocess
import tempfile
import time


class Firefox:
    def __init__(self):
        self.folder = tempfile.mkdtemp()
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        with open(f"{self.folder}/user.js", "w") as settings:
            settings.write(f'user_pref("marionette.port", {port});\n')
        self.process = subprocess.Popen(
            ["firefox-esr", "--headless", "--marionette", "--profile", self.folder],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.count, self.socket = 0, self.connected(port)
        self.message()
        self.send("WebDriver:NewSession", {})

    @staticmethod
    def connected(port):
        for _ in range(300):
            try:
                return socket.create_connection(("127.0.0.1", port), timeout=600)
            except OSError:
                time.sleep(0.2)
        raise RuntimeError("firefox does not start")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def message(self):
        """The next message: its length, a colon, JSON."""
        length = b""
        while not length.endswith(b":"):
            length += self.socket.recv(1)
        whole = b""
        while len(whole) < int(length[:-1]):
            whole += self.socket.recv(1 << 16)
        return json.loads(whole)

    def send(self, name, parameters):
        self.count += 1
        text = json.dumps([0, self.count, name, parameters])
        self.socket.sendall(f"{len(text)}:{text}".encode())
        _, _, error, result = self.message()
        if error:
            raise RuntimeError(error["message"])
        return result

    def go(self, address):
        self.send("WebDriver:SetTimeouts", {"pageLoad": 600000, "script": 600000})
        self.send("WebDriver:Navigate", {"url": address})

    def run(self, code):
        """The value of an expression, or of the promise that it gives."""
        result = self.send("WebDriver:ExecuteAsyncScript", {
            "script": "const done = arguments[arguments.length - 1];"
                      "const {page} = window;"
                      f"Promise.resolve().then(() => ({code})).then("
                      "value => done({value}), error => done({error: String(error)}))",
            "args": []})["value"]
        if "error" in result:
            raise RuntimeError(result["error"])
        return result.get("value")

    def until(self, code, seconds=300):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.run(code):
                return True
            time.sleep(0.2)
        return False

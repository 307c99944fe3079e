#!/usr/bin/env python3
"""Tests docs/live.html, the page that trains in a browser: builds it anew, and
then uses it in chromium as a reader does. What the page's program computes is
held against a native build of the same file.

    python3 docs/live/test.py        the last line is "N passed, N failed"
"""

import json
import shlex
import subprocess
import sys
import time
from pathlib import Path

import build
from browser import Browser

PAGE = build.ROOT / "docs" / "live.html"
WORK = build.BUILD / "test"
NATIVE = WORK / "transformer"
counts = {True: 0, False: 0}


def claim(holds, text, found=""):
    counts[bool(holds)] += 1
    print(("ok   " if holds else "FAIL ") + text, flush=True)
    if not holds:
        print("     |", str(found)[:300])


def native(*arguments, text=None):
    """What the native program prints."""
    done = subprocess.run([str(NATIVE), *map(str, arguments)], cwd=WORK,
                          input=text, encoding="utf-8", check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return done.stdout if done.returncode == 0 else done.stderr


def close(a, b):
    return len(a) == len(b) > 0 and all(abs(x - y) <= 1e-4 * abs(y)
                                        for x, y in zip(a, b))


# ---------------------------------------------------------------- building

def test_build():
    """The committed page is what is built, and comments do not matter."""
    made = WORK / "live.html"
    build.main(made)
    claim(made.read_bytes() == PAGE.read_bytes(),
          "the committed page is what `make live` builds, byte for byte")
    claim(PAGE.stat().st_size < 1e6, "it has less than a megabyte")
    wasm = (build.BUILD / "live.wasm").read_bytes()
    copy = WORK / "copy" / "docs" / "live"
    copy.mkdir(parents=True, exist_ok=True)
    text = (build.ROOT / "transformer.c").read_text(encoding="utf-8")
    (WORK / "copy" / "transformer.c").write_text(
        "// One line more.\n//\n" + text.replace("\n// ", "\n// x "),
        encoding="utf-8")
    for part in build.LIVE.glob("*.c"):
        (copy / part.name).write_bytes(part.read_bytes())
    claim(build.compiled(copy, WORK / "copy.wasm") == wasm,
          "other comments in transformer.c change no byte of the program")
    subprocess.run(["make", "-s", "PORTABLE=1", "transformer"], cwd=build.ROOT,
                   check=True, stdout=subprocess.DEVNULL)
    (build.ROOT / "transformer").rename(NATIVE)
    (WORK / "data").unlink(missing_ok=True)
    (WORK / "data").symlink_to(build.ROOT / "data")


# ---------------------------------------------------------------- using it

class Live:
    """The page, opened from its file with a state in the address."""

    def __init__(self, browser, state="", before=""):
        self.page = browser.open("about:blank")
        if before:
            self.page.send("Page.addScriptToEvaluateOnNewDocument", source=before)
        self.page.go(PAGE.as_uri() + state)

    def __getattr__(self, name):
        return getattr(self.page, name)

    def ready(self):
        return self.until("document.querySelector('#model-facts')?.textContent")

    def number(self, selector):
        return float(self.text(selector).replace(",", "").replace(" %", ""))

    def message(self, part):
        """Waits for a message that has this part."""
        return self.until(f"document.querySelector('#message')?.textContent"
                          f".includes({json.dumps(part)})", 60)

    def trained(self, steps):
        """Waits until so many steps are done, and the buttons are back."""
        return self.until(f"current && current.steps >= {steps} && !current.running")

    def again(self):
        """A new training, of which no step is done."""
        self.click("#again")
        return self.until("!beginning && current.steps === 0")

    def losses(self, count):
        return self.run(f"current.rows.slice(0, {count}).map(row => row[1])")


def native_losses(command, steps):
    """The first losses of the command that the page shows."""
    words = shlex.split(command)[1:]
    log = WORK / "log.csv"
    native(*words, "--steps", steps, "--log", log, "--model", WORK / "n.safetensors")
    rows = [line.split(",") for line in log.read_text().splitlines()]
    return [float(row[2]) for row in rows if row[1] == "train"]


def test_training(live):
    began = time.monotonic()
    live.click("#start")
    live.until("current && current.steps > 0")
    first = time.monotonic() - began
    claim(live.run("document.querySelector('#start').disabled && "
                   "!document.querySelector('#pause').disabled"),
          "while it trains, one can pause and not start")
    live.click("#pause")
    live.trained(0)
    steps = live.number("#steps-done")
    live.click("#step")
    live.trained(steps + 1)
    claim(live.number("#steps-done") == steps + 1 < 1000,
          "it pauses, and One step does one", live.text("#steps-done"))
    live.click("#start")
    claim(live.trained(1000), "Start goes on to the last step")
    claim(live.text("#exact") == "100.0 %",
          "the reversal of unseen sequences is learned, 100 %",
          live.text("#exact"))
    ours = native_losses(live.text("#command"), 20)
    claim(close(live.losses(20), ours),
          "its first 20 losses are those of a native build",
          list(zip(live.losses(20), ours)))
    claim(f"{live.run('current.rows[999][1]'):.4f}" == live.text("#loss"),
          "#loss shows the last loss", live.text("#loss"))
    pace = live.run("current.pace")
    print(f"     first step after {first:.1f} s; {1 / pace:.0f} steps a second")


def test_timeline(live):
    now = live.text("#samples")
    live.choose("#timeline", "0")
    claim(live.text("#samples") != now and live.text("#timeline-step") == "step 0",
          "the timeline shows what the model said before the first step")
    live.choose("#timeline", live.run("document.querySelector('#timeline').max"))
    claim(live.text("#samples") == now, "and again what it says now")


def test_own_model(live):
    live.browser.send("Browser.setDownloadBehavior", behavior="allow",
                      downloadPath=str(WORK))
    model = WORK / "model.safetensors"
    model.unlink(missing_ok=True)
    live.click("#download")
    for _ in range(100):
        if model.exists():
            break
        time.sleep(0.1)
    lines = (build.ROOT / "data" / "reverse.test.tsv").read_text().splitlines()
    sources, targets = zip(*(line.split("\t") for line in lines))
    said = native("translate", model, text="\n".join(sources) + "\n")
    claim(said.splitlines() == list(targets),
          "the native program takes the model: all of reverse.test.tsv is right",
          said)
    claim("steps trained 1000" in native("info", model), "it knows its steps")
    native("train", "data/dates.train.tsv", "--tokens", "char", "--steps", 20,
           "--layers", 1, "--d-model", 24, "--heads", 3, "--model", model)
    live.give_files("#load", model)
    claim(live.until("document.querySelector('#model-facts').textContent"
                     ".includes('d_model 24, 3 heads')"),
          "the page takes a model of the native program")
    text = "Thursday 27 April 2045"
    ours = native("translate", model, text=text + "\n")[:-1]
    theirs = live.run(f"viewer.engine.call('say', '{text}').then(a => a.text)")
    claim(ours == theirs, "and says what the native program says", (ours, theirs))
    wrong = WORK / "wrong.safetensors"
    wrong.write_bytes(model.read_bytes()[:-4])
    live.give_files("#load", wrong)
    claim(live.message("wrong.safetensors: not a model this program can read: "
                       "it has"),
          "a model cut short is refused, with the program's reason",
          live.text("#message"))
    claim("d_model 24" in live.text("#model-facts"), "the old one is still there")


def test_wrong_data(live):
    done = live.text("#steps-done")
    live.choose("#task", "own")
    for pairs, reason in (
            ("", "pairs.tsv: the file is empty"),
            ("a b\tb a\nno tab", "pairs.tsv:2: expected source, tab, target; "
             "found no tab")):
        live.choose("#pairs", pairs)
        live.click("#again")
        claim(live.message(reason), f"bad pairs are refused: {reason}",
              live.text("#message"))
    claim(live.text("#steps-done") == done and live.run("!current.ended"),
          "the training before is still there")
    live.choose("#pairs", "\n".join(f"{i} b\tb {i}" for i in range(40)))
    live.again()
    live.click("#step")
    claim(live.trained(1) and live.run("current.facts.pairs") == 38,
          "good pairs are trained on, every twentieth held out",
          live.text("#message"))


def test_limits(live):
    live.choose("#option-heads", "3")
    live.click("#again")
    claim(live.message("--heads 3 does not divide --d-model"),
          "wrong options are refused in the program's words",
          live.text("#message"))
    for name, value in (("heads", 4), ("d-model", 512), ("layers", 6)):
        live.choose("#option-" + name, str(value))
    live.click("#again")
    claim(live.message("parameters are too many for a browser"),
          "a model that is too large is refused", live.text("#message"))
    for name, value in (("d-ff", 512), ("d-model", 128), ("layers", 3)):
        live.choose("#option-" + name, str(value))
    live.again()
    live.click("#step")
    claim(live.trained(1) and live.run("current.facts.parameters > 1e6"),
          "a model of a million parameters trains",
          live.run("current.facts.parameters"))


def test_memory(live):
    live.run("(async () => { for (let n = 2 ** 30; n > 1000; n /= 2)"
             " for (let i = 0; i < 4; i++)"
             " await current.engine.call('malloc', n); })()")
    live.click("#step")
    claim(live.message("The training has ended at step")
          and "out of memory" in live.text("#message"),
          "without memory the training ends, with a reason", live.text("#message"))
    live.choose("#task", "reverse")
    live.click("#step")
    claim(live.until("current.steps === 1 && !current.ended && !current.running"),
          "and another one can begin", live.text("#message"))


def test_state(browser):
    live = Live(browser, "#task=eng-fra&layers=1&seed=3&step=3&hide=options,break")
    claim(live.ready() and live.trained(3) and live.text("#steps-done") == "3",
          "a link with a step trains to that step", live.text("#steps-done"))
    claim(live.run("[...document.querySelectorAll('[data-part=options], "
                   "[data-part=break]')].every(part => part.hidden)"),
          "a link hides the controls that it names")
    ours = native_losses(live.text("#command"), 3)
    claim(close(live.losses(3), ours), "its options and seed are the link's",
          (live.losses(3), ours))
    live.click("#step")
    live.trained(4)
    again = Live(browser, live.run("location.hash"))
    claim(again.ready() and again.trained(4)
          and again.losses(4) == live.losses(4),
          "the address that the page then has gives the same losses, bit for bit")


def test_breaks(browser):
    """What each switch gives, beside the training that is not broken."""
    exact, held_out, losses = {}, {}, {}
    names = ["", "mask", "positions", "scale", "warmup", "rate", "dropout"]
    for pair in (names[i:i + 2] for i in range(0, len(names), 2)):
        pages = [Live(browser, f"#break={name}&step=600") for name in pair]
        for name, live in zip(pair, pages):
            live.ready()
            live.trained(600)
            exact[name] = live.number("#exact")
            held_out[name] = live.number("#held-out")
            losses[name] = live.run("current.rows.slice(-50)"
                                    ".reduce((sum, row) => sum + row[1] / 50, 0)")
    table = [f"{exact[name]:.1f} %,{held_out[name]:.4f},{losses[name]:.2f}"
             for name in names]
    rows = (build.ROOT / "docs" / "runs" / "breaks.csv").read_text().splitlines()
    claim([row.split(",", 1)[1] for row in rows[1:]] == table,
          "docs/runs/breaks.csv, a table for teachers, says what comes out", table)
    claim(exact[""] > 90, "unbroken, most unseen sequences are right", exact)
    claim(losses["mask"] < 1.2 * losses[""] and held_out["mask"] > 3
          and exact["mask"] < 5,
          "without the causal mask the loss falls, and nothing is right in use")
    claim(exact["positions"] < 20 and losses["positions"] > 1,
          "without positions the order is not learned")
    claim(held_out["scale"] > 3 * held_out[""], "without the scale it learns late")
    claim(held_out["warmup"] > 3 * held_out[""], "without warm-up it learns worse")
    claim(losses["rate"] > 2.5 and exact["rate"] == 0,
          "with a rate too high it learns nothing")
    claim(losses["dropout"] == losses[""] and exact["dropout"] < exact[""] - 10,
          "dropout left on in use costs sequences that were learned")


def test_lacking(browser):
    for what, before in (
            ("DecompressionStream", "delete globalThis.DecompressionStream"),
            ("WebAssembly SIMD", "WebAssembly.validate = () => false"),
            ("WebAssembly", "delete globalThis.WebAssembly")):
        live = Live(browser, before=before)
        claim(live.message(f"This page needs {what}, which this browser"),
              f"a browser without {what} gets a sentence", live.text("#message"))


def test_keyboard(live):
    """What the Tab key reaches."""
    reached = []
    live.run("document.activeElement.blur(); scrollTo(0, 0)")
    for _ in range(60):
        for kind in ("keyDown", "keyUp"):
            live.send("Input.dispatchKeyEvent", type=kind, key="Tab", code="Tab",
                      windowsVirtualKeyCode=9)
        reached.append(live.run("document.activeElement.id"))
    wanted = {"tab-train", "task", "option-layers", "start", "step", "again",
              "timeline", "model", "load", "download"}
    claim(wanted <= set(reached), "the Tab key reaches all controls",
          wanted - set(reached))
    live.run("document.querySelector('#tab-train').focus()")
    for kind in ("keyDown", "keyUp"):
        live.send("Input.dispatchKeyEvent", type=kind, key="ArrowRight",
                  code="ArrowRight", windowsVirtualKeyCode=39)
    claim(live.run("document.activeElement.id") == "tab-look"
          and live.run("!document.querySelector('#look').hidden"),
          "arrows change between the views")


def test_quiet(browser):
    """All that the browser has noted since it began."""
    addresses = [event["params"]["request"]["url"] for event in browser.events
                 if event["method"] == "Network.requestWillBeSent"]
    far = [a for a in addresses if not a.startswith(("file:", "blob:", "about:"))]
    claim(addresses and not far, "nothing is asked of any network", far)
    errors = [event["params"] for event in browser.events if event["method"]
              in ("Runtime.exceptionThrown", "Log.entryAdded",
                  "Runtime.consoleAPICalled")]
    claim(not errors, "the console stays empty", errors)


def main():
    WORK.mkdir(parents=True, exist_ok=True)
    test_build()
    with Browser() as browser:
        live = Live(browser)
        claim(live.ready(), "the page opens from its file")
        test_keyboard(live)
        live.click("#tab-train")
        for test in (test_training, test_timeline, test_own_model,
                     test_wrong_data, test_limits, test_memory):
            test(live)
        test_state(browser)
        test_breaks(browser)
        test_lacking(browser)
        test_quiet(browser)
    print(f"{counts[True]} passed, {counts[False]} failed")
    sys.exit(counts[False] > 0)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Tests docs/live.html, the page that trains in a browser: builds it anew, and
then uses it in chromium as a reader does. What the page's program computes is
held against a native build of the same file.

    python3 docs/live/test.py              the last line is "N passed, N failed"
    python3 docs/live/test.py look head    only these tests; all that "for_everybody" can
                                           look at comes only so
"""

import csv
import json
import math
import re
import shlex
import subprocess
import sys
import time

import build    # which knows where claims are
from browser import Browser
from harness import claim, end
from reader import (AXE, GPT_THERE, PAGE, READY, SHOWN, Live, axe_source, claim_quiet, near,
                    sentence)

WORK = build.BUILD / "test"
NATIVE = WORK / "transformer"


def native(*arguments, text=None):
    """What the native program prints."""
    done = subprocess.run([str(NATIVE), *map(str, arguments)], cwd=WORK,
                          input=text, encoding="utf-8", check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return done.stdout if done.returncode == 0 else done.stderr


def lines_of(program, *arguments):
    """All that a program says."""
    return subprocess.run([program, *map(str, arguments)], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, encoding="utf-8",
                          check=False).stdout.splitlines()


def close(a, b):
    return len(a) == len(b) > 0 and all(abs(x - y) <= 1e-4 * abs(y)
                                        for x, y in zip(a, b))


# ---------------------------------------------------------------- building

def test_build():
    """The committed page is what is built."""
    made = WORK / "live.html"
    build.main(made)
    claim(made.read_bytes() == PAGE.read_bytes(),
          "the committed page is what `make live` builds, byte for byte")
    claim(PAGE.stat().st_size < 2.5e6, "it has less than 2.5 megabytes")
    subprocess.run(["make", "-s", "PORTABLE=1", "transformer"], cwd=build.ROOT,
                   check=True, stdout=subprocess.DEVNULL)
    (build.ROOT / "transformer").rename(NATIVE)
    (WORK / "data").unlink(missing_ok=True)
    (WORK / "data").symlink_to(build.ROOT / "data")


# ---------------------------------------------------------------- using it

def native_losses(command, steps):
    """The first losses of the command that the page shows, and the last model's checksum."""
    words = shlex.split(command)[1:]
    log = WORK / "log.csv"
    native(*words, "--steps", steps, "--log", log, "--model", WORK / "n.safetensors")
    said = native("info", WORK / "n.safetensors")
    return ([float(row[2]) for row in read_csv(log) if row[1] == "train"],
            said.split("checksum ")[1].split()[0])


def test_one_training(browser):
    """A page in which one thing follows another."""
    live = Live(browser)
    claim(live.is_open, "the page opens from its file")
    for test in (test_keyboard, test_training, test_timeline, test_own_model,
                 test_wrong_data, test_limits, test_memory):
        test(live)


def test_training(live):
    live.click("#start")
    live.until("current && current.steps > 0")
    claim(live.is_off("#start") and not live.is_off("#pause"),
          "while it trains, one can pause and not start")
    live.click("#pause")
    live.trained(0)
    steps = live.number("#steps-done")
    live.step(steps + 1)
    claim(live.number("#steps-done") == steps + 1 < 1000,
          "it pauses, and One step does one", live.text("#steps-done"))
    live.click("#start")
    claim(live.trained(1000), "Start goes on to the last step")
    claim(live.of("#train .lead", "innerText").startswith("All steps are done")
          and live.text("#message") == "" and live.text("#steps-done") == "1,000",
          "which is said where it covers nothing", live.text("#message"))
    live.says("#exact", "100.0 %", "the reversal of unseen sequences is learned, 100 %")
    ours, checksum = native_losses(live.text("#command"), 50)
    claim(close(live.losses(50), ours), "its first 50 losses are those of a native build",
          list(zip(live.losses(50), ours)))
    theirs = live.run("current.points.find(p => p.step === 50).checksum")
    claim(theirs == checksum, "and all bits of the model of step 50", (theirs, checksum))
    claim(live.run("current.points.some(point => point.step === 300)"),
          "the timeline stops at step 300, of which the book has the numbers")
    live.says("#loss", live.run("current.rows[999][1].toFixed(4)"), "#loss shows the last loss")


def test_timeline(live):
    now = live.text("#samples")
    live.choose("#timeline", "0")
    claim(live.text("#samples") != now and live.text("#timeline-step") == "step 0",
          "the timeline shows what the model said before the first step")
    live.choose("#timeline", live.of("#timeline", "max"))
    live.says("#samples", now, "and again what it says now")


def test_own_model(live):
    live.until("viewer.bytes === models.get('trained').bytes")
    model = live.downloaded("#download", WORK / "model.safetensors")
    lines = (build.ROOT / "data" / "reverse.test.tsv").read_text().splitlines()
    sources, targets = zip(*(line.split("\t") for line in lines))
    said = native("translate", model, text="\n".join(sources) + "\n")
    claim(said.splitlines() == list(targets),
          "the native program takes the model: all of reverse.test.tsv is right", said)
    claim("steps trained 1000" in native("info", model), "it knows its steps")
    native("train", "data/dates.train.tsv", "--tokens", "char", "--steps", 20,
           "--layers", 1, "--d-model", 24, "--heads", 3, "--model", model)
    live.give_files("#load", model)
    live.mentions("#model-facts", "d_model 24, 3 heads",
                  "the page takes a model of the native program")
    text = "Thursday 27 April 2045"
    ours = native("translate", model, text=text + "\n")[:-1]
    theirs = live.run(f"viewer.engine.call('inspect', '{text}').then(a => a.text)")
    claim(ours == theirs, "and says what the native program says", (ours, theirs))
    wrong = WORK / "wrong.safetensors"
    wrong.write_bytes(model.read_bytes()[:-4])
    live.give_files("#load", wrong)
    live.mentions("#message", "wrong.safetensors: not a model this program can read: "
                  "its tensors end at ",
                  "a model cut short is refused, with the program's reason")
    claim("d_model 24" in live.text("#model-facts"), "the old one is still there")


def test_wrong_data(live):
    done = live.text("#steps-done")
    live.choose("#task", "own")
    for pairs, reason in (
            ("", "pairs.tsv: the file is empty"),
            ("a b\tb a\nno tab", "pairs.tsv:2: expected source, tab, target; found no tab")):
        live.choose("#pairs", pairs)
        live.click("#again")
        live.mentions("#message", reason, f"bad pairs are refused: {reason}")
    claim(live.text("#steps-done") == done and live.run("!current.ended"),
          "the training before is still there")
    live.choose("#pairs", "\n".join(f"{i} b\tb {i}" for i in range(100)))
    live.again()
    claim(live.step(1) and live.run("current.facts.pairs") == 95,
          "good pairs are trained on, every twentieth held out", live.text("#message"))
    live.mentions("#command-note", "holds some of them out",
                  "what the command does with own pairs is said")


def test_own_pairs(browser):
    live = Live(browser, "#task=own&layers=1&d-model=16&d-ff=16")
    for test in (test_few_pairs, test_pairs_twice, test_pasted):
        test(live)


def test_few_pairs(live):
    """Pairs that were trained on are never called unseen."""
    for count, trained, separator, wanted in (
            (10, 8, "\t", ["4 b", "9 b"]), (4, 4, " = ", ["0 b", "1 b", "2 b"])):
        live.choose("#pairs", "\n".join(f"{i} b{separator}b {i}" for i in range(count)))
        live.again()
        live.step(1)
        shown = live.texts("#samples td:first-child")
        claim(live.run("current.facts.pairs") == trained and shown == wanted,
              f"of {count} pairs, {trained} are trained on", shown)
    said = live.of("#train", "innerText")
    claim("it has seen" in said and "Seen pairs right" in said
          and "not seen" not in said and "Unseen" not in said,
          "where all pairs are seen, the page says so", said)


def test_pairs_twice(live):
    """A pair that stands twice is never both trained on and held out."""
    lines = [f"{i} b\tb {i}" for i in (0, 1, 2, 3, 4, 4, 4, 1, 5, 6, 7, 8, 9)]
    live.choose("#pairs", "\n".join(lines))
    live.again()
    shown = live.texts("#samples td:first-child")
    claim(live.run("[current.facts.pairs, current.facts.held_out]") == [9, 4]
          and shown == ["4 b"] * 3,
          "a pair that stands three times is held out three times", shown)


def test_at_a_glance(browser):
    """What stands there before anything is pressed."""
    live = Live(browser)
    for task in ("dates", "reverse"):
        live.choose("#task", task)
        line = (build.ROOT / "data" / f"{task}.train.tsv").read_text().split("\n")[0]
        live.says("#pair", "The first pair: " + line.replace("\t", " → "),
                  f"choosing a task shows a pair of it: {task}")
    live.step(1)
    claim("20 tokens" in live.text("#guess") and "ln 20 = 3.0" in live.text("#guess")
          and live.run("current.points[0].loss") > 2.5,
          "a blind guess costs ln 20 under reversal", live.text("#guess"))
    test_no_command(live)


def test_pasted(live):
    """200,000 lines do not freeze the page."""
    seconds = live.run("""(() => {
        const data = new DataTransfer(), began = performance.now();
        data.setData("text", "a b\\tb a\\n".repeat(200000));
        const event = new ClipboardEvent("paste", {clipboardData: data,
          bubbles: true, cancelable: true});
        if ($("pairs").dispatchEvent(event)) return 1e9;
        return (performance.now() - began) / 1000; })()""")
    claim(seconds < 5 and live.run("pairs.length") > 1e6
          and "lines pasted" in live.of("#pairs", "placeholder"),
          "200,000 pasted lines are taken without writing them into the field", seconds)


def test_no_command(live):
    for name in ("mask", "scale", "warmup", "dropout"):
        live.click("#break-" + name)
        claim(live.text("#command") == ""
              and "No command does the same" in live.text("#command-note"),
              f"no command is given for what it cannot do: {name}", live.text("#command"))
        live.click("#break-" + name)
    live.click("#break-positions")
    claim("--positions none" in live.text("#command")
          and live.text("#command-note") == "", "where there is one, it is given")


def test_model_follows(browser):
    """Look inside shows what has just been trained."""
    live = Live(browser)
    live.step(1)
    live.give_files("#load", build.MODELS / "eng-fra.safetensors")
    live.reads("#message", "is open")
    live.again()
    for steps in (1, 2):
        live.step(steps)
        live.says("#model :checked", f"yours, step {steps}",
                  "after a step the model is that of the step")
    live.again()
    live.says("#model :checked", "yours, step 0", "after Again it is the new one")


def test_refused(browser):
    """An error is seen, and the old training does not go on as if it were new."""
    live = Live(browser)
    live.resize(390, 800)
    live.step(1)
    live.of("#again", "scrollIntoView({block: 'start'})")
    live.options(layers="abc")
    live.click("#again")
    live.reads("#message", "layers")
    claim(live.run("(box => box.top >= 0 && box.bottom <= innerHeight && box.height > 0)"
                   "($('message').getBoundingClientRect())"),
          "at 390 pixels an error is in sight of the buttons")
    live.click("#step")
    live.until("!beginning && !current.running")
    claim(live.text("#steps-done") == "1" and "layers" in live.text("#message"),
          "One step does not go on with the old training", live.text("#steps-done"))
    live.options(layers=1)
    claim(live.step(2) and live.text("#message") == "",
          "it does when the change is taken back", live.text("#message"))
    live.click("#start")
    live.until("current.running")
    live.options(heads=3)
    live.click("#again")
    live.reads("#message", "3 heads cannot share")
    claim(live.until("!current.running", 10) and live.number("#steps-done") < 1000,
          "an error pauses a training that runs", live.text("#steps-done"))


def test_compared(browser):
    """The grey line is the last training without a break, and is named."""
    live = Live(browser)
    live.step(1)
    live.step(2)
    for name in ("scale", "warmup"):
        live.click("#break-" + name)
        live.again()
        live.step(1)
        live.step(2)
        claim(live.run("before?.breaks.length") == 0
              and "nothing broken" in live.text("#legend-before"),
              f"{name} is compared with what was not broken", live.text("#legend-before"))
        live.click("#break-" + name)
    live.again()
    live.mentions("#legend-before", "No warm-up",
                  "one that is whole is compared with the one before, by name")


def test_beside(browser):
    """Two trainings at once, of the same seed, which differ in one thing."""
    def losses(state):
        live = Live(browser, f"#step=20{state}")
        live.trained(20)
        second = live.run("current.second && current.second.rows.map(row => row[1])")
        return live, live.losses(20), second
    alone, mask, pre = (losses(state)[1] for state in ("", "&break=mask", "&norm=pre"))
    for state, first, second in (("&beside=mask", alone, mask),
                                 ("&beside=norm-pre", alone, pre),
                                 ("&break=mask&beside=mask", mask, alone)):
        browser.close_pages()
        live, *both = losses(state)
        claim(both == [first, second],
              f"{state}: both losses are those of a training alone, bit for bit",
              [(a[-1], b[-1]) for a, b in zip(both, (first, second))])
    said = live.texts(".legend > span:not([hidden])")
    claim("loss of the second (without “No causal mask in training”)" in said
          and live.run("document.querySelectorAll('#curve .second-loss').length") == 1,
          "one picture has both, and says what the second is", said)
    live.click("#start")
    live.until("current.steps > 30")
    live.click("#pause")
    live.until("!current.running")
    claim(live.run("current.steps === current.second.steps"), "both pause at the same step")
    live.fill_memory("current.second.engine")
    steps = live.run("current.steps")
    live.click("#step")
    claim(live.reads("#message", "The second training has ended at step")
          and live.trained(steps + 1) and not live.run("current.ended"),
          "a second one that fails ends alone", live.text("#message"))


def test_focus(browser):
    """A button that has been pressed keeps the focus."""
    live = Live(browser)
    for button, done in (("step", "current?.steps === 1 && !current.running"),
                         ("start", "current.steps > 1"),
                         ("pause", "!current.running")):
        live.focus(f"#{button}")
        live.press("Enter")
        pressed = live.until(done, 10)
        time.sleep(0.2)    # a browser takes the focus away a little later
        claim(pressed and live.run("document.activeElement.id") == button,
              f"Enter on {button}, and the focus stays there",
              live.run("document.activeElement.id"))


def test_limits(live):
    live.options(heads=3)
    live.click("#again")
    live.mentions("#message", "3 heads cannot share a d-model of 64",
                  "wrong options are refused in the program's words")
    live.options(heads=4, d_model=512, layers=6)
    live.click("#again")
    live.mentions("#message", "parameters are too many for a browser",
                  "a model that is too large is refused")
    live.options(d_ff=512, d_model=128, layers=3)
    live.again()
    claim(live.step(1) and live.run("current.facts.parameters > 1e6"),
          "a model of a million parameters trains", live.run("current.facts.parameters"))


def test_memory(live):
    live.fill_memory("current.engine")
    live.click("#step")
    claim(live.reads("#message", "The training has ended at step")
          and "out of memory" in live.text("#message").lower(),
          "without memory the training ends, with a reason", live.text("#message"))
    live.choose("#task", "reverse")
    live.click("#step")
    live.becomes("current.steps === 1 && !current.ended && !current.running",
                 "and another one can begin", "$('message').textContent")


def test_state(browser):
    live = Live(browser, "#task=eng-fra&layers=1&seed=3&step=3&hide=options,break")
    claim(live.trained(3) and live.text("#steps-done") == "3",
          "a link with a step trains to that step", live.text("#steps-done"))
    claim(live.run("[...document.querySelectorAll('[data-part=options], "
                   "[data-part=break]')].every(part => part.hidden)"),
          "a link hides the controls that it names")
    ours, _ = native_losses(live.text("#command"), 3)
    claim(close(live.losses(3), ours), "its options and seed are the link's",
          (live.losses(3), ours))
    live.step(4)
    again = Live(browser, address(live))
    claim(again.trained(4) and again.losses(4) == live.losses(4),
          "the address that the page then has gives the same losses, bit for bit")


def test_strange_addresses(browser):
    """The address may say anything: what makes no sense is left out."""
    for state in ("#task=constructor&kind=constructor&beside=constructor",
                  "#edits=scale,0,0&step=0.5", "#edits=toString,0,0,1;q,0,0,1e999;weights,0,0,2",
                  "#tab=train&stage=constructor&way=toString&changes=" + "y" * 99
                  + ".q,0,0,1;constructor,0,0,1;output.loss,0,0,1;output.bias,0,0,"):
        live = Live(browser, state)
        live.click("#tab-head")
        opened = live.until(SETTLED, 20) and live.run(
            "one.edits.size === 0 && isFinite(one.numbers.out[0][0])")
        live.click("#tab-flow")
        opened = opened and live.until(SHOWN, 20) and live.run(
            "flow.at === 0 && flow.edits.size === 0 && flow.computed.loss < 0.1")
        live.click("#tab-train")
        live.click("#step")
        claim(opened and live.until("current?.steps === 1 && !current.running", 20)
              and live.text("#message") == "",
              f"{state} opens and trains as if nothing were said", live.text("#message"))


# ---------------------------------------------------------------- looking inside

# All that belongs to the sentence stands in the page.
SETTLED = """seen.facts && seen.cache?.k.length === seen.facts.input.length && !seen.busy
    && one.shown?.facts === seen.facts && one.built === one.shown"""


def table(live, name):
    """The numbers of a table of weights, as its cells have them."""
    return live.run(f"[...$('{name}').tBodies[0].rows].map(row => [...row.cells].slice(1)"
                    ".map(cell => cell.matches('.masked') ? 0 : Number(cell.title)))")


def weights(rows, kind, layer, head):
    """One head's matrix, from the rows of attention.csv."""
    found = [row for row in rows if row[:3] == [kind, str(layer), str(head)]]
    matrix = [[] for _ in range(int(found[-1][3]) + 1)]
    for row in found:
        matrix[int(row[3])].append(float(row[5]))
    return matrix


def read_csv(file):
    with open(file, encoding="utf-8", newline="") as lines:
        return list(csv.reader(lines))


def test_look(browser):
    live = Live(browser, "#tab=look")
    live.says("#translation", "la voiture rouge est rapide",
              "Look inside opens with a sentence and its translation")
    model, text = build.MODELS / "eng-fra.safetensors", "the small dog likes the cat"
    words = native("translate", model, text=text + "\n")[:-1]
    pair = WORK / "pair.tsv"
    pair.write_text(f"{text}\t{words}\n", encoding="utf-8")
    measured = dict(line.split() for line in native("evaluate", model, pair).splitlines())
    score = -float(measured["loss"]) * int(measured["tokens"])
    live.choose("#source", text)
    live.says("#translation", words, "what is typed is translated, as by the native program")
    live.until(SETTLED)
    test_decoding(live, words.split() + ["<end>"], float(score))
    test_attention(live, model, text)
    live.choose("#source", "the red piano")
    live.mentions("#unknown", "does not know “piano” and reads <unknown>",
                  "an unknown word is named")
    live.choose("#source", "the " * 70)
    live.mentions("#unknown", "has 70 tokens; the model takes at most 64",
                  "a sentence that is too long is refused in the program's words")
    live.choose("#source", text)
    live.says("#translation", words, "and costs nothing")


def test_decoding(live, words, score):
    steps = live.run("seen.facts.steps")
    claim([step[0][0] for step in steps] == words,
          "the likeliest tokens of the steps make the translation", steps)
    claim(abs(sum(math.log(step[0][1]) for step in steps) - score) < 1e-4,
          "their probabilities make its score", score)
    claim(all(len(step) == 5 and sum(p for _, p in step) < 1.00001
              and step == sorted(step, key=lambda pair: -pair[1])
              for step in steps), "each step has five, in order", steps)
    live.focus("#step-on")
    live.press("ArrowRight")
    live.press("ArrowRight")
    K = live.run("seen.cache.k[0].length")
    grown = live.run("['#causal .visible', '#cache .k', '#cache .v'].map("
                     "cells => document.querySelectorAll(cells).length)")
    claim(grown == [1 + 2 + 3, 3 * K, 3 * K]
          and live.text("#likeliest tr.chosen th") == words[2],
          "an arrow key goes on by a step: mask and cache grow by a row", grown)


def test_attention(live, model, text):
    native("attention", model, text, "--csv", "native.csv")
    rows = read_csv(WORK / "native.csv")
    live.click("#maps tbody tr:nth-child(2) td:nth-child(4) button")
    live.reads("#map caption", "layer 1, head 2")
    claim(table(live, "map") == weights(rows, "cross", 1, 2),
          "a click on a small map shows its weights, large: those of the native program",
          table(live, "map"))
    live.click("#map tbody tr:nth-child(3) button")
    heads = [weights(rows, "cross", n // 4, n % 4) for n in range(8)]
    claim(table(live, "word-heads") == [matrix[2] for matrix in heads],
          "a click on a word shows where all heads look from it")
    live.click("#map thead th:nth-child(4) button")
    claim(table(live, "word-heads") == [[row[2] for row in m] for m in heads],
          "or what they all give it")
    live.choose("#look select.kind", "decoder")
    live.reads("#map caption", "decoder, layer 1")
    claim(table(live, "map") == weights(rows, "decoder", 1, 2),
          "the decoder's own attention can be chosen")


# ---------------------------------------------------------------- one head

def change(live, name, i, j, x):
    """Changes a number as a reader does, and returns all numbers."""
    live.run(f"cellAt({{name: '{name}', i: {i}, j: {j}}}).focus()")
    live.choose("#change-to", str(x))
    live.until(f"Math.abs(one.numbers.{name}[{i}][{j}] - {x}) < 1e-6")
    return live.run("one.numbers")


def slope(live, name, i, j, last):
    """How fast out[last][0], of which dout asks, grows with a number."""
    x, h = live.run(f"one.numbers.{name}[{i}][{j}]"), 0.01
    low, high = (change(live, name, i, j, round(x + step, 6))["out"][last][0]
                 for step in (-h, h))
    change(live, name, i, j, x)
    return (high - low) / (2 * h)


def lines_in(*files):
    """All lines of files of the project, without their comments."""
    return {line.split("//")[0].strip() for file in files
            for line in (build.ROOT / file).read_text(encoding="utf-8").split("\n")}


def test_head(browser):
    live = Live(browser, "#tab=head", SETTLED)
    first = live.run("one.numbers")
    quotes = live.texts(".matrix-table code")
    claim(len(quotes) == 18 and set(quotes) <= lines_in("transformer.c"),
          "each matrix stands with its lines of transformer.c", quotes)
    claim(first["weights"] == live.run("viewer.engine.call('attention', 2, 1, 2)"),
          "attention_forward gives, from q and k alone, the model's weights")
    for name in ("q", "k", "v"):
        gradient = first["d" + name]
        size, i, j = max((abs(x), i, j) for i, row in enumerate(gradient)
                         for j, x in enumerate(row))
        found = slope(live, name, i, j, 0)
        claim(size > 1e-2 and abs(found - gradient[i][j]) < 0.01 * size,
              f"d{name} is how out follows when {name} is changed by hand",
              (found, gradient[i][j]))
    live = Live(browser, "#tab=head&kind=decoder&layer=0&head=0", SETTLED)
    first = live.run("one.numbers")
    test_mask(live, first, len(first["out"]) - 1)
    test_whence(live, first)
    again = Live(browser, address(live), SETTLED)
    claim(again.run("one.numbers") == live.run("one.numbers") != first,
          "the address keeps what was changed")
    live.click("#undo")
    live.until("one.edits.size === 0 && $('undo').ariaDisabled === 'true'")
    claim(live.run("one.numbers") == first, "and it can all be undone")


def test_same_head(browser):
    """One sentence and One head open with the same head, which is worth a look."""
    live = sentence(browser, f"#stage=decoder.1.cross_attention.weights&{TARGET}")
    shown = live.run("flow.head")
    rows = live.run("numbersOf('decoder.1.cross_attention.weights')")
    live.choose("#flow-target", "")
    live.choose("#flow-source", "the green car is fast")
    live.until("flow.facts.source[1] === 'green'", 10)
    live.choose("#flow-head", "1")
    live.click("#flow-one-head")
    live.until("one.numbers && !$('one-head').hidden", 20)
    found = live.run("[seen.kind, seen.layer, seen.head, seen.facts.source[1], "
                     "document.activeElement.id]")
    claim(found == ["cross", 1, 1, "green", "tab-head"],
          "from a head of One sentence a button leads to all its matrices", found)
    live.click("#head-other")
    live.choose("#source", "")
    live.until("$('one-head').hidden", 20)
    live.click("#tab-head")
    live.says("#head-sentence", "This sentence is empty",
              "where there is no sentence, One head says so")
    opened = Live(browser, "#tab=head", SETTLED)
    numbers, T = opened.run("one.numbers"), len(rows) // 4
    claim(shown == opened.run("seen.head") == 2
          and all(near(a, b, 1e-3) for a, b in zip(numbers["weights"][0], rows[2 * T])),
          "One sentence and One head open with the same head", shown)
    claim(max(numbers["weights"][0]) < 0.9 and numbers["dout"][0][0] == 1
          and max(abs(x) for x in numbers["dq"][0]) > 0.1,
          "and with a row that is not saturated: its gradients are not nearly 0", numbers["dq"][0])


def test_mask(live, first, last):
    live.run("cellAt({name: 'mask', i: 0, j: 1}).click()")
    live.until("one.numbers.mask[0][1] === 1")
    live.run(f"cellAt({{name: 'mask', i: {last}, j: 0}}).focus()")
    live.press("Enter")
    live.until(f"one.numbers.mask[{last}][0] === 0")
    now = live.run("one.numbers")
    claim(first["weights"][0][1] == 0 < now["weights"][0][1]
          and now["weights"][last][0] == now["dscores"][last][0] == 0
          and all(abs(sum(row) - 1) < 1e-6 for row in now["weights"]),
          "a cell of the mask that is turned hides or shows a key", now["weights"])
    live.choose("#scale", "0")
    live.until("one.numbers.scale === 0")
    claim(all(abs(w - 1 / last) < 1e-6
              for w in live.run("one.numbers.weights")[last][1:]),
          "with a scale of 0 all visible keys weigh the same")


def test_whence(live, first):
    live.run("cellAt({name: 'scores', i: 2, j: 1}).focus()")
    said, K = live.text("#origin"), len(first["q"][0])
    claim(said.startswith("scores[2][1] = q[2] · k[1] = ") and said.count("·") == 9
          and live.run("document.querySelectorAll('.marked').length") == 2 * K,
          "a number that has the focus says where it comes from", said)
    cell = live.run("cellAt({name: 'out', i: 1, j: 3}).scrollIntoView({block: 'center'});"
                    + MIDDLE + "(cellAt({name: 'out', i: 1, j: 3}))")
    live.send("Input.dispatchMouseEvent", type="mouseMoved", **cell)
    live.mentions("#origin", "out[1][3] = weights[1] · v[:, 3] = ",
                  "so does one that is pointed at")


# ---------------------------------------------------------------- one sentence

MIDDLE = """(element => {
    const {x, y, width, height} = element.getBoundingClientRect();
    return {x: x + width / 2, y: y + height / 2}; })"""

# What can be seen of a list of elements, without scrolling.
IN_SIGHT = """(selector => [...document.querySelectorAll(selector)].filter(one => {
    const {left, right, top, bottom} = one.getBoundingClientRect();
    return right > left && left >= 0 && right <= innerWidth && top >= 0 && bottom <= innerHeight;
  }).length)"""

# Another translation than the model's own is expected, so that there are gradients.
WORDS = "la voiture verte est rapide"
TARGET = "target=" + WORDS.replace(" ", "+")


def address(live):
    """What stands behind # in the address, once it has been written."""
    live.until("addressTimer === 0", 5)
    return live.run("location.hash")


def go_to(live, way, name):
    """Goes to a step, as its place in the list of steps is chosen."""
    live.run(f"inTurn(() => goToStep(flow.steps.findIndex(s => s.way === '{way}' && "
             f"s.name === '{name}')))")


def focus_number(live, table=""):
    """The first one of the step's tables, or of one of them; and what is said of it."""
    live.focus(f"#flow-matrices {table} td[tabindex]")
    live.until("!$('flow-number').hidden", 10)


def turn_mask(live, i, j):
    """Clicks on a cell of the mask that is shown."""
    live.run("[...document.querySelectorAll('#flow-matrices td')].find("
             f"cell => cell.place?.name.endsWith('mask') && cell.place.i === {i} "
             f"&& cell.place.j === {j}).click()")


def test_flow(browser):
    live = sentence(browser)
    claim(live.run("seen.facts === null && one.numbers === null"
                   " && !models.get('gpt').bytes && !flow.info.tie.includes('yes')"),
          "what no view shows yet is not computed")
    live.mentions("#flow-loss", "The model says: la voiture rouge est rapide <end>. Against its "
                  "own translation, the loss is 0.00",
                  "One sentence opens with the book's sentence")
    goes_all_steps(live, "a translator")
    claim(live.until("flow.computed.loss > 0.1", 10) and not live.run("expectsOwn()")
          and live.text("#flow-loss").startswith("Expected: "), "on the way back another word "
          "is expected, so there is something to learn", live.text("#flow-loss"))
    live.click("#flow-other")
    live.until("expectsOwn() && flow.computed.loss < 0.1", 10)
    quotes = set(live.run("[...Object.values(SENT_BACK), ..." + ABOUT + """.flatMap(
        about => [...about.lines || [], ...about.backLines || []])]"""))
    lines = lines_in("transformer.c", "notebook/lib/gpt.h")
    claim(len(quotes) > 30 and quotes <= lines,
          "all lines that it shows are lines of transformer.c or of gpt.h", quotes - lines)
    test_flow_keys(live)


# All that the page tells about stages, also of those that are told in another way.
ABOUT = """[...Object.values(STAGES), ...Object.values(GPT.stages),
    ...Object.values(STAGES).flatMap(({gelu, pre, cross, target, memory}) =>
      [gelu, pre, cross, target, memory].filter(Boolean))]"""


def goes_all_steps(live, whose):
    count = live.run("flow.steps.slice(1).map(() => $('flow-next').click()).length + 1")
    live.until("flow.at === flow.steps.length - 1")
    live.run("flow.queue")
    claim(live.is_off("#flow-next") and live.text("#flow-title").startswith("Adam")
          and live.text("#message") == "", f"{whose}: Next goes all {count} steps, "
          "to Adam's", live.text("#flow-title"))


def test_flow_keys(live):
    go_to(live, "forward", "decoder.1.cross_attention.weights")
    live.focus("#flow-next")
    live.press("ArrowRight")
    live.becomes("stepNow().name === 'decoder.1.cross_attention.out'",
                 "the arrow keys go a step on", "stepNow().name")
    live.press("ArrowLeft")
    live.until("stepNow().name.endsWith('.weights')", 10)
    at = live.run("flow.at")
    live.focus("#flow-source")
    live.press("ArrowRight")
    stayed = live.run("flow.queue.then(() => flow.at)")
    live.run("document.activeElement.blur()")
    live.press("ArrowRight")
    claim(stayed == at and live.until(f"flow.at === {at + 1}", 10)
          and "←" in live.text("#flow-keys"),
          "not from a field, but from anywhere else, as it says beside the buttons",
          (at, stayed, live.run("flow.at")))
    live.press("ArrowLeft")
    live.until(f"flow.at === {at}", 10)
    live.focus("#flow-matrices [data-name$=weights] td[tabindex]")
    live.press("ArrowDown")
    live.becomes("flow.chosen?.i % flow.facts.input.length === 1"
                 " && $('flow-origin').textContent.includes(' / (')",
                 "and move among numbers, each of which says what it is made of",
                 "$('flow-origin').textContent")
    live.focus(".level")
    live.press("Enter")
    live.becomes("pathOf(stepNow().name) === 'source'",
                 "Enter on a part of the picture goes there", "stepNow().name")


def test_in_sight(browser):
    """A page in which one thing follows another."""
    live = sentence(browser)
    for test in (test_first_screen, test_positions_row, test_signs, test_columns, test_boxes):
        test(live)


def test_first_screen(live):
    """What one sees before anything is pressed."""
    for width, height in ((1366, 768), (390, 844)):
        live.resize(width, height)
        live.until("flow.picture.shown === $('flow-picture').clientWidth", 5)
        tops = live.run("[...document.querySelectorAll('[role=tab]')].map(tab => tab.offsetTop)")
        seen = {part: live.run(f"{IN_SIGHT}({json.dumps(part)})") for part in (
            "#flow-source", "#flow-play", "#flow-loss", "#flow-picture text", "#flow-matrices td")}
        claim(len(set(tops)) == 1 and all(seen[part] for part in list(seen)[:4])
              and (width < 500 or seen["#flow-matrices td"] > 40),
              f"at {width} pixels the first screen has all views, the sentence, what the model "
              "says, and the picture" + ("" if width < 500 else ", and numbers"), (tops, seen))


def test_columns(live):
    """Of a matrix, many columns are in sight on a phone, and no number is cut."""
    live.resize(390, 844)
    for stage in ("decoder.1.cross_attention.weights", "source.embedding"):
        go_to(live, "forward", stage)
        row = f"#flow-matrices [data-name='{stage}'] tbody tr:first-child"
        live.of(row, "scrollIntoView({block: 'center'})")
        columns = live.run(f'{IN_SIGHT}("{row} td")')
        claim(columns >= 6, f"{stage}: at 390 pixels {columns} columns are in sight", columns)
        cut = live.run("[...document.querySelectorAll('#flow-matrices td')].filter("
                       "td => td.scrollWidth > td.clientWidth).map(td => td.textContent)")
        claim(not cut, "and no number is cut", cut)
    live.click("#tab-head")
    live.until("one.numbers && !$('one-head').hidden", 20)
    live.of("#matrix-weights", "scrollIntoView({block: 'center'})")
    columns = live.run(f"{IN_SIGHT}('#matrix-weights tbody tr:first-child td')")
    claim(columns == 6, "One head: all keys of a query are in sight", columns)
    live.click("#tab-flow")


def press_at(live, selector, n=0):
    """A click of the mouse on the middle of an element."""
    place = live.run(f"{MIDDLE}(document.querySelectorAll({json.dumps(selector)})[{n}])")
    for kind in ("mousePressed", "mouseReleased"):
        live.send("Input.dispatchMouseEvent", type=kind, button="left", clickCount=1, **place)


# Title and buttons of the step, or the number that was clicked: can they be seen?
STEP_SEEN = """(() => {
    const box = id => $(id).getBoundingClientRect();
    return box('flow-buttons').top >= 0 && box('flow-title').top >= box('flow-buttons').bottom
      && box('flow-title').bottom < innerHeight - 150; })()"""
ON_TOP = f"""(td => {{
    const {{x, y}} = {MIDDLE}(td);
    return document.elementFromPoint(x, y) === td; }})"""


def test_step_in_sight(browser):
    """Whatever goes to a step, it can be seen; and it says where the way turns."""
    for width, height in ((1366, 768), (390, 844)):
        live = sentence(browser)
        live.resize(width, height)
        seen = []
        for go, scrolled in ((lambda: live.click("#flow-next"), 0),
                             (lambda: live.press("ArrowRight"), 0),
                             (lambda: live.press("ArrowLeft"), 1e6),
                             (lambda: live.click("#flow-same"), 1e6),
                             (lambda: live.run("goToPart('output')"), 0)):
            at = live.run("flow.at")
            live.run(f"scrollTo(0, {scrolled})")
            go()
            live.until(f"flow.at !== {at}", 10)
            live.run("flow.queue")
            seen.append((live.run("flow.at"), live.run(STEP_SEEN)))
        claim(len({at for at, _ in seen}) > 2 and all(is_seen for _, is_seen in seen),
              f"at {width} pixels, each step that is gone to is in sight, its buttons above it",
              seen)
        live.go(PAGE.as_uri() + "#way=backward&stage=decoder.1.cross_attention.v")
        live.until(f"{READY} && {SHOWN}")
        live.becomes(STEP_SEEN, "also the one that a link leads to")
    ways = live.run("flow.steps.map(step => step.way)")
    turn = ways.index("backward")
    live.run(f"inTurn(() => goToStep({turn - 1}))")
    claim(live.text("#flow-count").endswith(f"forward 1–{turn}, backward {turn + 1}–"
                                            f"{len(ways) - 1}")
          and live.text("#flow-turn").startswith("The forward pass is done"),
          "it says where the way turns", live.text("#flow-count") + live.text("#flow-turn"))
    live.run("inTurn(() => goToStep(1e6))")
    live.says("#flow-play", "Play again", "and at its end, that Play begins anew")


def test_number_in_sight(browser):
    """What is said about a number does not hide it, and can be closed."""
    for width, height in ((1366, 768), (390, 844)):
        hidden, kept, live = [], [], sentence(browser)
        live.resize(width, height)
        for stage in ("source.embedding", "decoder.1.cross_attention.weights", "output.logits",
                      "decoder.0.feed_forward.inner"):
            go_to(live, "forward", stage)
            live.run("scrollTo(0, 0)")
            live.of("#flow-matrices > .table tbody tr:nth-child(2) td",
                    "scrollIntoView({block: 'nearest'})")
            n = live.run(f"""[...document.querySelectorAll('#flow-matrices td')].findLastIndex(
                td => td.place && {ON_TOP}(td))""")
            for close in (lambda: live.press("Escape"), lambda: press_at(live, "#flow-close")):
                press_at(live, "#flow-matrices td", n)
                if not live.until(f"flow.chosen && pointedCell() && {ON_TOP}(pointedCell())"
                                  " && $('flow-origin').textContent", 5):
                    hidden.append((stage, n))
                close()
                if not live.until("!flow.chosen && $('flow-number').hidden"
                                  " && document.activeElement.place", 5):
                    kept.append((stage, live.run("document.activeElement.id")))
        claim(not hidden, f"at {width} pixels, what is said about a number does not hide it",
              hidden)
        claim(not kept, "Escape and a button close it, and the focus is on the number", kept)
        go_to(live, "backward", "decoder.1.cross_attention.q")
        live.focus("#flow-matrices td[tabindex]")
        live.until("$('flow-gradient').textContent", 5)
        live.click("#flow-check")
        live.until("$('flow-slope-says').textContent", 10)
        over = live.run("""(() => {
            const over = [], range = document.createRange();
            for ($('flow-whence').scrollTop = 1e6; ; $('flow-whence').scrollTop -= 10) {
              const {left, bottom, top} = $('flow-close').getBoundingClientRect();
              for (const text of ['flow-origin', 'flow-gradient', 'flow-slope-says']) {
                range.selectNodeContents($(text));
                for (const box of range.getClientRects())
                  if (box.right > left && box.bottom > top && box.top < bottom) over.push(text);
              }
              if (!$('flow-whence').scrollTop) return over;
            } })()""")
        claim(not over, "and the button covers no text", over)
        go_to(live, "forward", "decoder.1.cross_attention.weights")
        live.focus("#flow-matrices td[tabindex]")
        live.reads("#flow-origin", "e^")
        live.run("flow.queue")
        live.press("Tab")
        live.becomes("document.activeElement.matches('#flow-matrices summary') && "
                     f"{ON_TOP}(document.activeElement)",
                     "what Tab reaches then can be seen", "document.activeElement.outerHTML")


def test_small_picture(browser):
    """A model of 1+1 layers, as Train makes it: lines and letters can be told apart."""
    live = Live(browser, "#tab=train&step=20", "current?.steps >= 20 && !current.running")
    live.click("#tab-flow")
    live.until("flow.info?.layers === '1' && document.querySelector('#flow-picture .cross')", 30)
    flat = live.run("[...document.querySelectorAll('#flow-picture .cross')].filter("
                    "line => line.getAttribute('y1') === line.getAttribute('y2')).length")
    turned = live.run("document.querySelectorAll('#flow-picture text[transform]').length")
    claim(flat == 0 and turned == 0, "with 1+1 layers cross-attention slants, and no letter "
          "lies on its side", (flat, turned))
    live.mentions("#flow-which", "yours, step 20", "it is said whose model it is")


def test_lines_back(live):
    """On the way back the slanting lines are what is sent to keys and values."""
    path, heads = "decoder.0.cross_attention", 4
    shown = live.run(f"carriedBack('{path}', flow.facts.input.length)")
    one = {kind: live.run(f"matrixOf('{path}.{kind}')") for kind in ("weights", "scores", "q", "out")}
    T, K = len(shown), len(one["q"]["value"][0]) // heads
    wanted = [[sum(one["weights"]["value"][h * T + i][j]
                   * math.hypot(*one["out"]["gradient"][i][h * K:h * K + K])
                   + abs(one["scores"]["gradient"][h * T + i][j])
                   * math.hypot(*one["q"]["value"][i][h * K:h * K + K]) for h in range(heads))
               for j in range(len(shown[0]))] for i in range(T)]
    most = max(map(max, wanted))
    claim(all(near(x, y / most) for a, b in zip(shown, wanted) for x, y in zip(a, b)),
          "the slanting lines of the way back are the gradients that are sent", shown)
    go_to(live, "backward", path + ".q")
    drawn = live.run("document.querySelectorAll('#flow-picture .cross').length")
    go_to(live, "forward", path + ".q")
    claim(0 < drawn != live.run("document.querySelectorAll('#flow-picture .cross').length"),
          "and others than those of the way there", drawn)


def test_flow_numbers(browser):
    """200 numbers picked at random, against the native program in double."""
    numbers, model = WORK / "numbers", build.MODELS / "eng-fra.safetensors"
    subprocess.run(["cc", "-std=c11", "-O1", "-DTRANSFORMER_DOUBLE",
                    build.LIVE / "numbers.c", "-lm", "-o", numbers], check=True)
    said = lines_of(numbers, model, "the red car is fast", WORDS, 200)
    claim("numbers are the program's" in "".join(said[2:3]),
          "natively, all stages and gradients are those of transformer.c", said[-1])
    native("train", "data/dates.train.tsv", "--tokens", "char", "--steps", 3, "--norm",
           "pre", "--tie", "--positions", "learned", "--activation", "gelu",
           "--d-model", 16, "--heads", 2, "--model", WORK / "other.safetensors")
    other = lines_of(numbers, WORK / "other.safetensors", "8 May 2048", "", 0)
    claim("numbers are the program's" in other[-1], "so they are of a pre-norm model "
          "that is tied, with learned positions and GELU", other[-1])
    live = sentence(browser, "#" + TARGET)
    claim(live.run("flow.computed.loss") > 1, "another word than its own costs something")
    agrees(live, said, "the page's model")


def agrees(live, said, whose):
    """Values and gradients are what the native program says."""
    rows = [line.split(",") for line in said[3:]]
    found = live.run("""Promise.all(PLACES.map(async ([name, i, j]) => {
        const {value, gradient} = await matrixOf(name);
        return [value[i][j], gradient ? gradient[i][j] : 0]; }))""".replace(
            "PLACES", json.dumps([row[:3] for row in rows])))
    wrong = [(row, x, slope) for row, (x, slope) in zip(rows, found)
             if not (near(x, float(row[3])) and near(slope, float(row[4]), 1e-5))]
    claim(len(rows) == 200 and not wrong, f"{whose}: 200 numbers at random, and their "
          "gradients, are the native program's", wrong)


# Of every step, what is written of a number in the middle of each of its tables:
# [value or gradient, text], …
WRITTEN = """(async () => {
    const found = [];
    await inTurn(() => goToStep(flow.steps.length - 2)); // all gradients are there
    for (const {way, name} of flow.steps) {
      if (way === "adam") continue;
      for (const shown of [...shownWith(name), ...way === "backward" ? parametersOf(name) : []]) {
        const {value, gradient} = await matrixOf(shown);
        const {rows, columns} = gradient ? largest(gradient) : {rows: [value.length - 1], columns: [0]};
        const place = {name: shown, i: rows[rows.length >> 1], j: columns[columns.length >> 1]};
        found.push([value[place.i][place.j], await originOfNumber(place)]);
        if (way === "backward" && gradient)
          found.push([gradient[place.i][place.j], await gradientText(place, gradient[place.i][place.j])]);
      }
    }
    return found; })()"""


def worked_out(text):
    """The expression in numbers before the result, as Python has it, and the result."""
    text = re.sub(r" \((the other|computed).*?\)", "", text).replace("−", "-")
    *_, expression, result = ("", "", *text.split(" = "))
    for sign, python in (("e^", "E**"), ("·", "*"), ("-ln ", "-log "), ("log ", "log(")):
        expression = expression.replace(sign, python)
    expression += ")" * (expression.count("(") - expression.count(")"))
    return expression, result


NUMBERS = re.compile(r"(?:[\d.+\-*/() ,]|e[+-]?\d|E\*\*|log|max)+")


def sums_hold(live, whose):
    """What is written out can be computed from the numbers that are shown."""
    found, held, wrong = live.run(WRITTEN), 0, []
    for own, text in found:
        expression, result = worked_out(text)
        if not NUMBERS.fullmatch(expression) or "−ln" in text and "more digits" in text:
            continue    # no number, or a probability too near 1 for the page's nine digits
        shown, held = float(result), held + 1
        value = eval(expression, {"E": math.e, "log": math.log, "max": max})
        unit = 10.0 ** (math.floor(math.log10(abs(own))) - 3) if own else 1e-300
        if max(abs(value - shown), abs(own - shown)) > 0.501 * unit:
            wrong.append((text, value, own))
    claim(held > len(found) / 2 and not wrong,
          f"{whose}: {held} sums give the result that is shown, all four digits of it, "
          "computed from the numbers that are shown", (len(found), held, wrong[:4]))


def test_written_out(browser):
    """What a number is made of, by names and in numbers."""
    live = sentence(browser, "#" + TARGET)
    sums_hold(live, "the page's model")
    path = "decoder.0.cross_attention."
    for kind, text in (("q", "decoder norm[la] · Wq[:, 0] + bq[0] = "),
                       ("k", "memory[red] · Wk[:, 0] + bk[0] = "),
                       ("out", "weights[la] · v[:, 0], head 0 = "),
                       ("joined", "out[la] · Wo[:, 0] + bo[0] = ")):
        found = live.run(f"originOfNumber({{name: '{path}{kind}', i: 1, j: 0}})")
        claim(found.startswith(text), f"{kind} says what it is made of, and of whose rows", found)
    terms = live.run(f"""(async () => {{
        const text = await originOfNumber({{name: '{path}out', i: 1, j: 0}});
        const weights = (await numbersOf('{path}weights'))[1];
        return [text.split(' = ')[1].split(' + ').map(term => Number(
          term.split('·')[0].replace('−', '-')).toPrecision(2)), weights.map(w => w.toPrecision(2))]; }})()""")
    claim(terms[0] == terms[1], "a few terms stand in the order of the words", terms)
    for kind, j, part in (("residual", 3, "(dn[la][3] − mean(dn[la]) − n[la][3] · "
                                          "mean(dn[la] · n[la])) · rstd[la] = ("),
                          ("scaled", 2, "weights[la][car] · (dweights[la][car] − "
                                        "Σ weights[la] · dweights[la]) = ")):
        found = live.run(f"matrixOf('{path}{kind}').then(({{gradient}}) => gradientText("
                         f"{{name: '{path}{kind}', i: 1, j: {j}}}, gradient[1][{j}]))")
        claim(part in found,
              f"the way back through {kind} is written out, each number by its name", found)
    go_to(live, "forward", path + "q")
    focus_number(live)
    live.says("#flow-gradient", "", "on the way forward there is no gradient yet")
    offered = {}
    for stage in ("output.probabilities", "output.logits"):
        go_to(live, "forward", stage)
        offered[stage] = "change it" in live.text("#flow-origin")
    go_to(live, "forward", "output.loss")
    heads = live.texts("#flow-matrices thead th")
    claim(offered == {"output.probabilities": False, "output.logits": True} and heads == ["loss"],
          "only what can be changed is offered for it, and a single column has its name",
          (offered, heads))
    test_parts_of_memory(live)
    test_zeros(live)
    test_lines_back(live)


def test_parts_of_memory(live):
    """How long the vectors are that keys and values send back to the memory."""
    name = "encoder.1.feed_forward.norm"
    go_to(live, "backward", name)
    live.until("document.querySelector('#flow-matrices [role=region]')", 10)
    shown = live.run("""[...document.querySelectorAll('#flow-matrices [role=region] tbody tr')]
        .map(row => [...row.querySelectorAll('td')].map(cell => Number(cell.title)))""")
    parts = live.run(f"""Promise.all(upTo(64).map(j => pullsOn({{name: '{name}', i: 1, j}})))
        .then(all => upTo(4).map(n => Math.hypot(...all.map(pulls => total(pulls[n].terms)))))""")
    claim(len(shown) == 5 and all(near(row[1], part, 1e-9) for row, part in zip(shown, parts))
          and live.text("#flow-formula") == "dnorm = dk · Wkᵀ (layer 0) + dv · Wvᵀ (layer 0) + "
          "dk · Wkᵀ (layer 1) + dv · Wvᵀ (layer 1)",
          "the memory's gradient has four parts, and each shows how long it is",
          (live.text("#flow-formula"), shown, parts))


def test_zeros(live):
    """What is 0 in all but name is shown as 0."""
    go_to(live, "forward", "decoder.1.cross_attention.weights")
    live.until("stepNow().name.endsWith('weights')", 10)
    cells = live.run("[...document.querySelectorAll('#flow-matrices [data-name$=weights] td')]"
                     ".filter(cell => cell.place).map(cell => [cell.textContent, cell.title])")
    claim(any(text == "0" and 0 < float(x) < 1e-4 for text, x in cells)
          and not any("e" in text for text, _ in cells), "a tiny weight is 0 in its cell", cells)
    bias = "decoder.1.cross_attention.key.bias"
    said = live.run(f"matrixOf('{bias}').then(m => gradientText({{name: '{bias}', i: 0, j: 0}}, "
                    "m.gradient[0][0]))")
    claim(said.startswith("Its gradient is 0"), "the gradient of a key's bias is 0", said)
    shown = live.run("""(async () => {
        const wrong = [];
        for (const [name] of flow.facts.tensors) {
          const {gradient} = await matrixOf(name), {rows} = largest(gradient);
          if (rows.some(i => gradient[i].every(x => x === 0))) wrong.push(name);
        }
        return wrong; })()""")
    claim(not shown, "among the largest gradients no row is 0", shown)


def test_flow_single(browser):
    """A page in which another program has taken the place of its own."""
    single = WORK / "single.html"
    single.write_text(re.sub(r'<script [^>]*id="double.wasm">[^<]*</script>', "",
                             PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    live = sentence(browser, "#" + TARGET)
    loss = live.run("flow.computed.loss")
    live.go(single.as_uri() + "#" + TARGET)
    live.until(f"{READY} && {SHOWN}")
    found = live.run("flow.computed.loss")
    claim(near(found, loss) and found != loss, "it has One sentence in single precision", found)
    found = live.run("""checkNumber({name: "encoder.1.feed_forward.norm", i: 1, j: 3},
        "flow-slope-says")""")
    claim(found["agree"] and found["h"] == 0.01 and abs(found["own"]) > 0.1,
          "where finite differences take longer steps", found)
    claim(live.run("!models.has('gpt')"), "and no GPT, which that program does not have")


def turns_mask(live, path, what):
    """A cell of the mask is turned, and turned back."""
    first = live.run("flow.computed.loss")
    go_to(live, "forward", path + ".weights")
    turn_mask(live, 0, 2)
    claim(live.until(f"flow.cache.get('{path}.weights')?.value[0][2] > 0", 30)
          and live.run("flow.computed.loss") != first, what)
    live.click("#flow-undo")
    live.becomes(f"flow.computed.loss === {first}", "and it can be undone", "flow.computed.loss")


def takes_step(live, whose):
    """What Adam's step for one parameter does to the loss and to the parameter."""
    first = live.run("flow.computed.loss")
    go_to(live, "adam", "adam")
    live.until("$('flow-row').value !== ''", 30)
    live.click("#flow-take-step")
    live.reads("#flow-adam", "instead of")
    said = live.text("#flow-adam")
    before, after, loss = re.search(
        r"from (\S+) to (\S+)\. .*the loss is ([\d.]+\d)", said).groups()
    claim(float(loss) < first, f"after Adam's step for one parameter {whose} loss is lower", said)
    claim(before != after, "and that the parameter has moved can be seen", said)


def test_flow_changes(browser):
    """Change a word, a number or a cell of the mask, and all after it follows."""
    live = sentence(browser, "#" + TARGET)
    first = live.run("flow.computed.loss")
    live.choose("#flow-source", "the green car is fast")
    live.becomes(f"flow.computed.loss < {first} / 100", "with another word the loss is another",
                 "flow.computed.loss")
    live.choose("#flow-source", "the red car is fast")
    live.until(f"flow.computed.loss === {first}", 10)
    sizes = "[...flow.stages.values()].map(stage => JSON.stringify(stage.sizes))"
    before, names = live.run(sizes), live.run("[...flow.stages.keys()]")
    name = "encoder.1.self_attention.residual"
    go_to(live, "forward", name)
    focus_number(live)
    live.choose("#flow-change", "3")
    live.until(f"flow.edits.size === 1 && flow.computed.loss !== {first}", 10)
    same = [a == b for a, b in zip(before, live.run(sizes))]
    at = names.index(name)
    claim(all(same[:at]) and not same[at] and not any(
        s for s, n in zip(same[at:], names[at:])
        if n.startswith("encoder.1.feed_forward") and n.endswith("norm")),
          "a number that is changed changes what comes after it, and nothing before")
    again = sentence(browser, address(live))
    claim(again.run("flow.computed.loss") == live.run("flow.computed.loss"),
          "the address keeps it")
    live.click("#flow-undo")
    live.becomes(f"flow.computed.loss === {first}", "and it can be undone", "flow.computed.loss")
    turns_mask(live, "decoder.0.self_attention", "a cell of the mask that is turned shows a key")
    takes_step(live, "the")
    live.choose("#flow-source", "")
    live.says("#flow-wrong", "Type a sentence.", "an empty sentence asks for one")


def test_boxes(live):
    """The picture says what each box is."""
    live.resize(1366, 768)
    live.until("flow.picture.shown > 400", 5)
    layer = ["self-attention, add & norm", "feed-forward, add & norm"]
    both = ["embedding + positions", *2 * layer, "embedding + positions",
            *2 * [layer[0], "cross-attention, add & norm", layer[1]], "linear, softmax"]
    claim(live.texts(".box-name") == both, "each box of the picture has its name on it",
          live.texts(".box-name"))
    for width, height, text in ((1366, 768, "the red car is fast"),
                                (390, 844, "the red car is fast"), (390, 844, "it is")):
        live.resize(width, height)
        live.choose("#flow-source", text)
        live.until(f"flow.facts.source.length === {len(text.split()) + 1}", 10)
        wrong = """[...document.querySelectorAll('.level')].map((box, n) => {
            const name = document.querySelectorAll('.box-name')[n].getBoundingClientRect();
            const frame = box.querySelector('rect').getBoundingClientRect();
            return [name.height, name.left >= frame.left && name.right <= frame.right
              && name.top >= frame.top && name.bottom <= frame.bottom + 1]; })
            .filter(([size, inside]) => !inside || size < 9)"""
        live.becomes(f"!{wrong}.length", f"at {width} pixels, “{text}”: all stand in "
                     "their boxes, and can be read", wrong)
    under = live.run("""[...document.querySelectorAll('.level rect')].filter(rect => {
        rect.scrollIntoView({block: 'center'});
        const {left, right, top, bottom} = rect.getBoundingClientRect(), step = (right - left) / 40;
        return upTo(39).some(n => document.elementFromPoint(left + (n + 1) * step,
          (top + bottom) / 2) !== rect); }).length""")
    claim(under == 0, "wherever a box is clicked, no line and no dot comes between", under)


def test_positions_row(live):
    """The embedding, the positional encoding, and their sum, each by its name."""
    go_to(live, "forward", "source.positions")
    shown = live.texts("#flow-matrices caption b")
    claim(shown == ["embedding", "positional encoding", "input"],
          "embedding, positional encoding and their sum stand one below the other", shown)
    token, embedding, encoding, positions = (
        live.run(f"numbersOf('target.{kind}')")
        for kind in ("token", "embedding", "encoding", "positions"))
    claim(all(near(embedding[i][j], 8 * token[i][j])
              and near(positions[i][j], embedding[i][j] + encoding[i][j])
              and near(encoding[i][j], (math.cos if j % 2 else math.sin)(
                  i / 10000 ** ((j - j % 2) / 64)))
              for i, row in enumerate(token) for j, _ in enumerate(row)),
          "they are √64 times the token's row, sines and cosines, and the sum")


def reaches_all(live, whose):
    """Each tensor has its step; its gradient, and that of each stage, is written out as a
    sum."""
    reached = live.run("""[...new Set(flow.steps.filter(step => step.way === 'backward')
        .flatMap(step => parametersOf(step.name)))].sort()""")
    claim(reached == sorted(live.run("flow.facts.tensors.map(([name]) => name)")),
          f"{whose}: on the way back each tensor has its step", reached)
    wrong = live.run("""(async () => {
        const places = [...flow.stages.values()]
          .filter(({name, pulls}) => pulls && name !== "output.logits")
          .map(({name, rows, columns}) => ({name, i: rows - 1, j: Math.min(1, columns - 1)}));
        for (const [name] of flow.facts.tensors) {
          const {rows, columns} = largest((await matrixOf(name)).gradient);
          places.push({name, i: rows.at(-1), j: columns[1]});
        }
        const wrong = [];
        for (const {name, i, j} of places) {
          const own = (await matrixOf(name)).gradient[i][j];
          const sent = (await pullsOn({name, i, j}))
            .reduce((sum, pull) => sum + total(pull.terms), 0);
          if (Math.abs(own - sent) > 1e-6 * Math.abs(own) + 1e-10) wrong.push([name, own, sent]);
        }
        return wrong; })()""")
    claim(not wrong, f"{whose}: the sums that are written out for a gradient give it, in every "
          "stage and for every parameter", wrong)


def test_learns(browser):
    """The way back reaches the parameters, all of them."""
    live = sentence(browser, f"#way=backward&stage=decoder.0.cross_attention.q&{TARGET}")
    shown = live.texts("#flow-matrices caption b")
    claim(shown == ["q", "dq", "query.weight", "dquery.weight", "query.bias", "dquery.bias"],
          "below dq stand its parameters and their gradients", shown)
    reaches_all(live, "the page's model")
    focus_number(live, "[data-name$=weight]")
    live.click("#flow-check")
    live.mentions("#flow-slope-says", "they agree.",
                  "there the finite difference of a weight can be had")
    live.give_files("#load", WORK / "other.safetensors")
    live.until("flow.facts.tensors.some(([name]) => name === 'source_positions.weight')"
               " && flow.stages.has('encoder.norm')", 20)
    reaches_all(live, "a pre-norm model that is tied, with learned positions")
    sums_hold(live, "such a model")


# ---------------------------------------------------------------- the GPT

BEGINS = "the red car is"


def gpt(browser, state=""):
    return sentence(browser, "#model=gpt" + state)


def in_double(name, *arguments):
    """A program of notebook/, in double precision: what it prints."""
    program = WORK / name
    if not program.exists():
        subprocess.run(["cc", "-std=c11", "-O1", "-DTRANSFORMER_DOUBLE",
                        *(build.ROOT / "notebook").glob(f"**/{name}.c"), "-lm", "-o",
                        program],
                       check=True)
    return lines_of(program, *arguments)


def test_gpt(browser):
    """The third model of One sentence: the same without a source."""
    live = sentence(browser)
    live.resize(1366, 768)
    live.choose("#model", "gpt")
    live.until(GPT_THERE)
    claim(live.run("flow.facts.input.join('')") == "␣the␣red␣car␣is"
          and live.run("[flow.facts.source.length, flow.info.layers, flow.info.norm]")
          == [0, "2", "pre"] and live.text("#message") == "",
          "GPT can be chosen: it reads its own text, and no source", live.run("flow.facts"))
    live.run("flow.queue")
    found = re.findall(r"“(.+?)” (\d\.\d+)", live.text("#gpt-next"))
    last = live.run("""numbersOf('output.probabilities').then(value => value.at(-1)
        .map((p, j) => [flow.facts.target_words[j], p]).sort((a, b) => b[1] - a[1]).slice(0, 5))""")
    claim(len(found) == 5 and all(a == b and abs(float(p) - q) < 6e-4
                                  for (a, p), (b, q) in zip(found, last)),
          "what may come next are the probabilities of the last row", (found, last))
    live.choose("#flow-source", BEGINS + " fast")    # with room for the names
    names = "String([...document.querySelectorAll('.box-name')].map(n => n.textContent))"
    layer = ["norm, self-attention, add", "norm, feed-forward, add"]
    wanted = ",".join(["embedding + positions", *2 * layer, "final norm", "linear, softmax"])
    live.becomes(f"{names} === {json.dumps(wanted)}", "its picture is one stack, norms first", names)
    live.choose("#flow-source", BEGINS)
    live.until("flow.facts.input.length === 4", 10)
    goes_all_steps(live, "the GPT")
    reaches_all(live, "the GPT")
    live.click("#tab-look")
    claim(live.until(SETTLED, 30) and live.value("#model")
          == "page" and live.run("seen.facts.source.length") == 6,
          "Look inside has the translator instead")
    live.click("#tab-flow")
    claim(live.run("isGpt() && flow.model === GPT"), "and One sentence the GPT again")
    live.choose("#model", "page")
    claim(live.until("flow.model === TRANSLATOR && flow.facts.source.length === 6", 30)
          and "model=" not in address(live), "from which one can go back")


def test_gpt_numbers(browser):
    model = build.MODELS / "gpt.safetensors"
    said = lines_of(WORK / "numbers", "gpt", model, " " + BEGINS, " fast", 200)
    claim("numbers are the program's" in "".join(said[2:3]),
          "natively, all stages and gradients are those of gpt_forward and gpt_gradient",
          said[-1])
    live = gpt(browser, "&target=fast")
    agrees(live, said, "the GPT")
    sums_hold(live, "the GPT")
    native_loss = json.loads(said[1])["loss"]
    claim(near(live.run("flow.computed.loss"), native_loss),
          "the loss is that of the native program", native_loss)
    takes_step(live, "its")


def wait_for_text(live, text):
    """Until all is shown of a text that the GPT reads."""
    live.until(f"asText(flow.facts.input) === {json.dumps(' ' + text)}", 30)
    live.run("flow.queue")


def test_gpt_writes(browser):
    """It goes on with a text as `gpt generate` does."""
    model, live = build.MODELS / "gpt.safetensors", gpt(browser)
    for temperature, seed, begins in ((0, 1, BEGINS), (0.8, 3, "our"), (1.5, 7, BEGINS)):
        live.choose("#flow-source", begins)
        live.choose("#gpt-temperature", str(temperature))
        live.choose("#gpt-seed", str(seed))
        wait_for_text(live, begins)
        for _ in range(2):
            live.click("#gpt-words")
        live.run("flow.queue")
        text = live.value("#flow-source")
        ours = in_double("gpt", "generate", model, " " + begins, "--tokens", 20,
                         "--temperature", temperature, "--seed", seed)
        claim([" " + text] == ours and len(text) > 40,
              f"at temperature {temperature} it writes what `gpt generate` writes",
              (text, ours))
        seen = live.run("flow.facts.input.length")
        whole = live.run("flow.facts.forgotten") + seen
        claim(8 <= seen <= 16 and whole == 20 + len(begins.split())
              and text.endswith(live.run("asText(flow.facts.input)"))
              and f"sees the last {seen} tokens" in live.text("#flow-wrong"),
              "and the stages are of what it sees of that", (seen, whole))
    rows = in_double("16-gpt", "next", model, " " + BEGINS, 1.5, 0, 1)[1:6]
    wanted = [(row[0].replace("␠", "␣").strip(), float(row[1])) for row in csv.reader(rows)]
    live.choose("#flow-source", BEGINS)
    wait_for_text(live, BEGINS)
    found = re.findall(r"“(.+?)” ([\d.]+)", live.text("#gpt-next"))
    claim(len(found) == 5 and all(a == b and abs(p - float(q)) < 6e-4
                                  for (a, p), (b, q) in zip(wanted, found)),
          "what may come next is what lab 16's program says", (wanted, found))
    live.click("#gpt-word")
    live.until("flow.facts.input.length === 5", 30)
    live.run("flow.queue")
    again = gpt(browser, address(live).replace("#", "&"))
    claim(again.run("flow.facts.input") == live.run("flow.facts.input")
          and again.run("[temperature(), gptSeed()]") == [1.5, 7],
          "the address keeps text, temperature and seed", address(live))


def test_gpt_changes(browser):
    live = gpt(browser)
    first = live.run("flow.computed.loss")
    live.click("#flow-other")
    claim(live.until(f"flow.computed.loss > {first}", 30)
          and live.value("#flow-target").isalpha(),
          "another word can be expected", live.run("flow.facts.expected"))
    live.says("#flow-other", "Expect the model’s own", "and the button says what it does next")
    live.click("#flow-other")
    live.until(f"flow.computed.loss === {first}", 30)
    claim(live.value("#flow-target") == "", "which is to expect the model's own again")
    turns_mask(live, "encoder.0.self_attention",
               "a cell of the causal mask that is turned shows what is to come")
    live.choose("#flow-source", "")
    live.says("#flow-wrong", "Type a text.", "an empty text asks for one")
    live.choose("#flow-source", BEGINS)
    live.choose("#flow-target", "very " * 14)
    live.says("#flow-wrong", "This text has 17 tokens with what is expected; the model sees at "
              "most 16", "so is more than it can see")
    live.choose("#flow-target", "")
    live.choose("#flow-source", "the piano is")
    live.becomes("flow.facts.input.length > 4 && asText(flow.facts.input) === ' the piano is'",
                 "a word that it has not learned is read in pieces", "flow.facts.input")


def test_gpt_keys(browser):
    """By the keyboard alone: choose it, and let it write."""
    live = sentence(browser)
    live.focus("#model")
    live.press("ArrowDown")
    live.until(GPT_THERE)
    reached = [live.press("Tab") or live.run("document.activeElement.id") for _ in range(7)]
    claim(reached == ["flow-source", "flow-target", "flow-other", "gpt-word",
                      "gpt-words", "gpt-temperature", "gpt-seed"],
          "an arrow chooses the GPT, and Tab reaches what belongs to it", reached)
    live.focus("#gpt-word")
    for count in (5, 6):
        live.press("Enter")
        claim(live.until(f"flow.facts.input.length === {count}", 30)
              and live.run("document.activeElement.id") == "gpt-word",
              "Enter writes a word, and the focus stays", live.run("flow.facts.input"))


# ---------------------------------------------------------------- for everybody

def test_signs(live):
    """Negative numbers have a colour of their own."""
    go_to(live, "forward", "decoder.1.cross_attention.scores")
    cells = live.run("""[...document.querySelectorAll('#flow-matrices td')].filter(
        cell => cell.place).map(cell => [Number(cell.title) < 0,
          cell.classList.contains('negative'), getComputedStyle(cell).backgroundColor])""")
    claim(all(less == marked for less, marked, _ in cells)
          and {True, False} == {less for less, _, _ in cells}
          and not {colour for less, _, colour in cells if less}
          & {colour for less, _, colour in cells if not less},
          "no negative number has the colour of a positive one", cells)


def test_panel(browser):
    """What a chapter of the book shows of this page."""
    live = sentence(browser, "#stage=decoder.1.cross_attention.weights&flow-head=2&panel")
    shown = live.run("[...document.querySelectorAll('header, footer a, #flow-source,"
                     "#flow-matrices')].filter(one => one.getClientRects().length)"
                     ".map(one => one.id)")
    claim(shown == ["flow-matrices", "whole"],
          "a panel shows a step and leads to the whole page", shown)
    car = live.texts("#flow-matrices td")
    claim(any(text.startswith("0.72") for text in car),
          "chapter 2's begins with the weights of the text: 0.72 for car", car)


def test_why_still_la(browser):
    """The box about the weight of 0.72, and what its link does."""
    state = "#stage=decoder.1.cross_attention.weights&flow-head=2"
    live = sentence(browser, state)
    claim(not live.of("#flow-why", "hidden"),
          "beside the weights it is asked why it still says “la”")
    before = live.run("flow.computed.loss")
    live.run("inTurn(() => changeNumber({name: 'decoder.1.cross_attention.weights', i: 12, j: 2}, 0))")
    claim(live.until(f"flow.computed.loss > {before}", 10) and live.text("#flow-loss").startswith(
        "The model says: la voiture") and "without them 0.0000" in live.text("#flow-loss"),
          "with 0.72 set to 0 it does, and the loss is higher", live.text("#flow-loss"))
    live.of("#flow-matrices td", "scrollIntoView({block: 'end'})")
    claim(live.of("#flow-loss", "getBoundingClientRect().top >= 0"),
          "what it says stays in sight")


def test_words_in_motion(browser):
    """What is typed while it plays; another view; and the way back to the page."""
    live = sentence(browser)
    live.click("#flow-play")
    live.choose("#flow-source", "the red")
    live.becomes("flow.at > 0 && flow.facts.source.length === 3 && flow.timer !== 0",
                 "words may change while it plays", "flow.at")
    live.choose("#flow-source", "")
    live.becomes("flow.timer === 0", "where there are none, it stops")
    for text in ("zzz qqq", "the small cat is happy"):
        live.choose("#flow-source", text)
    live.click("#flow-play")
    at = live.run("flow.at")
    claim(live.until(f"flow.at > {at} && flow.facts.source.length === 6", 20)
          and live.text("#message") == live.text("#flow-wrong") == "",
          "and plays on with others", live.text("#message"))
    live.click("#tab-train")
    claim(not live.run("flow.timer"), "it pauses when another view is chosen")
    live.step(1)
    live.click("#tab-flow")
    again = sentence(browser, address(live))
    claim(again.run("!$('flow').hidden && $('flow-source').value === 'the small cat is happy'"),
          "the address leads back to the view, a training or not", address(live))


def test_nonsense(browser):
    """Fields for numbers, and what is no number."""
    live = sentence(browser, "#stage=encoder.0.self_attention.q")
    loss = live.run("flow.computed.loss")
    focus_number(live)
    for typed in ("", "1e", "-"):
        live.focus("#flow-change")
        live.send("Input.insertText", text=typed)
        live.focus("#flow-next")
    live.until("$('flow-change').value !== ''", 5)
    claim(live.run("flow.edits.size") == 0 and live.run("flow.computed.loss") == loss
          and live.run("$('flow-change').valueAsNumber"
                       " === flow.cache.get(flow.chosen.name).value[0][0]"),
          "what is no number changes nothing, and the number stands there again",
          live.value("#flow-change"))
    live.choose("#flow-change", "-1e308")
    live.until("flow.edits.size === 1", 10)
    claim(live.text("#message") == "" and "loss is" in live.text("#flow-loss"),
          "an enormous number is taken", live.text("#flow-loss"))
    go_to(live, "adam", "adam")
    live.until("$('flow-row').value !== ''", 10)
    for row in ("-3", "2.5", "64", ""):
        live.choose("#flow-row", row)
        claim(live.reads("#flow-parameter-says", "This tensor has rows from 0 to 63 and columns "
                         "from 0 to 63.") and live.is_off("#flow-take-step")
              and live.value("#flow-row") == row,
              f"a row “{row}” is none", live.text("#flow-parameter-says"))


def test_keeps_focus(browser):
    """Who uses the keyboard stays where he is."""
    live = sentence(browser, "#stage=decoder.0.self_attention.weights")
    live.focus("#flow-matrices [data-name$=mask] td[tabindex]")
    live.press("ArrowRight")
    live.press("Enter")
    live.until("flow.edits.size === 1 && flow.cache.has('output.probabilities')"
               " && document.querySelector('.changed')", 10)
    claim(live.run("document.activeElement.place?.j") == 1,
          "after a cell of the mask is turned, the focus is on it",
          live.run("document.activeElement.outerHTML.slice(0, 200)"))
    at = live.run("flow.at")
    live.focus(".level")
    for more in (1, 2):
        live.press("ArrowRight")
        live.becomes(f"flow.at === {at + more} && document.activeElement.matches('.level')",
                     "an arrow goes on from a box of the picture, and the focus stays", "flow.at")


def test_for_everybody(browser):
    """In all sizes, light and dark: nothing sticks out; and axe, in one of them, finds
    nothing. Asked for by its name, it takes more states and sizes, and axe in each."""
    axe = axe_source(build.BUILD)
    states = ["", f"#way=backward&stage=decoder.1.cross_attention.q&{TARGET}", "#way=adam",
              "#beside=mask&step=20", "#tab=look", "#tab=head", "#model=gpt&temperature=1",
              "#stage=output.loss&panel"]
    sizes = [(1366, 768, "light"), (390, 844, "dark")]
    if len(sys.argv) > 1:
        sizes.append((320, 568, "light"))
        states += ["#stage=source.positions", f"#way=backward&stage=output.logits&{TARGET}",
                   f"#way=backward&stage=encoder.1.feed_forward.norm&{TARGET}",
                   "#model=gpt&stage=encoder.0.self_attention.weights",
                   "#model=gpt&way=backward&stage=output.logits"]
    for n, state in enumerate(states):
        browser.close_pages()
        live = Live(browser, state, "current?.steps >= 20 && !current.running"
                    if "step=20" in state else SETTLED if "tab" in state else SHOWN)
        live.run(axe + "; 1")
        found = {}
        for m, (*size, scheme) in enumerate(sizes):
            live.resize(*size)
            live.prefer(prefers_color_scheme=scheme)
            live.run("new Promise(done => requestAnimationFrame(() => setTimeout(done, 30)))"
                     ".then(() => flow.queue)")
            faults = (len(sizes) > 2 or n % 2 == m) and live.run(AXE)
            wide = live.run("document.documentElement.scrollWidth")
            if faults or wide > size[0]:
                found[size[0]] = wide, faults
        claim(not found, f"{state or 'as it opens'}: axe finds nothing, and nothing "
              f"sticks out, in {len(sizes)} sizes, light and dark", found)


def test_lacking(browser):
    for what, before in (
            ("DecompressionStream", "delete globalThis.DecompressionStream"),
            ("WebAssembly SIMD", "WebAssembly.validate = () => false"),
            ("WebAssembly", "delete globalThis.WebAssembly")):
        live = Live(browser, before=before)
        live.mentions("#message", f"This page needs {what}, which this browser",
                      f"a browser without {what} gets a sentence")


def test_keyboard(live):
    """What the Tab key reaches."""
    live.click("#settings summary")
    live.run("document.activeElement.blur(); scrollTo(0, 0)")
    reached = [live.press("Tab") or live.run("document.activeElement.id") for _ in range(60)]
    live.click("#settings summary")
    wanted = {"task", "option-layers", "start", "step", "again",
              "timeline", "model", "load", "download"}
    claim(wanted <= set(reached), "the Tab key reaches all controls",
          wanted - set(reached))
    live.focus("#tab-train")
    live.press("ArrowRight")
    claim(live.run("document.activeElement.id") == "tab-look" and not live.of("#look", "hidden"),
          "arrows change between the views")
    live.click("#tab-train")


# Those that are given the browser, in their order; the last of them looks back.
TESTS = [test for name, test in list(globals().items()) if name.startswith("test_")
         and test.__code__.co_varnames[:1] == ("browser",)] + [claim_quiet]


def main():
    WORK.mkdir(parents=True, exist_ok=True)
    test_build()
    with Browser() as browser:
        for test in TESTS:
            name = test.__name__.split("_", 1)[1]
            if name in sys.argv or len(sys.argv) < 2:
                began = time.monotonic()
                test(browser)
                browser.close_pages()
                print(f"     {time.monotonic() - began:.0f} s for {name}", flush=True)
    end()


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Tests docs/live.html: builds it anew, and then uses it in chromium as a reader does.
What it says is compared with what a native build of the same program says.

    python3 docs/live/test.py              the last line is "N passed, N failed"
    python3 docs/live/test.py play tour    only these tests; "for_everybody" looks at all
                                           that it can only if it is named here
"""

import csv
import json
import math
import re
import shlex
import subprocess
import sys
import time

import build    # which puts the folder of harness.py on the path
from browser import Browser
from harness import claim, end
from reader import AXE, PAGE, READY, TRAINS, Live, axe_source, claim_quiet, near

WORK = build.BUILD / "test"
NATIVE = WORK / "transformer"
RED, GREEN = "the red car is fast", "la voiture verte est rapide"


def native(*arguments, text=None):
    """What the native program prints."""
    done = subprocess.run([str(NATIVE), *map(str, arguments)], cwd=WORK,
                          input=text, encoding="utf-8", check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return done.stdout if done.returncode == 0 else done.stderr


def test_build():
    """The page is what is built."""
    made = WORK / "live.html"
    build.main(made)
    claim(made.read_bytes() == PAGE.read_bytes(),
          "the page is what `make live` builds, byte for byte")
    claim(PAGE.stat().st_size < 2e6, "it has less than 2 megabytes", PAGE.stat().st_size)
    subprocess.run(["make", "-s", "PORTABLE=1", "transformer"], cwd=build.ROOT,
                   check=True, stdout=subprocess.DEVNULL)
    (build.ROOT / "transformer").rename(NATIVE)
    (WORK / "data").unlink(missing_ok=True)
    (WORK / "data").symlink_to(build.ROOT / "data")


# ---------------------------------------------------------------- what is seen first

# The controls that can be seen without scrolling, below the header of the book.
CONTROLS = """[...document.querySelectorAll('button, input, select, summary')].filter(one => {
    const {left, right, top, bottom} = one.getBoundingClientRect();
    return right > left && bottom > top && top < innerHeight && left < innerWidth; }).length"""
BOX = "(one => one.getBoundingClientRect())(document.querySelector('%s'))"


def test_first_screen(browser):
    for width, height, most in ((1366, 900, 130), (390, 844, 170)):
        live = Live(browser, size=(width, height))
        first = "#flow-picture" if width > 1000 else "#pane"
        matrix, picture = (live.run((BOX + ".toJSON()") % one)
                           for one in ("#flow-matrices canvas", "#flow-picture"))
        claim(live.run(BOX % first + ".top") <= most + 0.5,
              f"at {width} pixels the {first} begins within {most}", (matrix, picture))
        claim(0 < matrix["top"] and matrix["bottom"] < height and matrix["right"] <= width
              and picture["top"] < height / 1.5, "matrix and picture are on the screen",
              (matrix, picture))
        claim(live.run(CONTROLS) <= 8 and live.of("#bar", "offsetHeight") <= 56,
              "there are at most eight controls, and the bar is at most 56 pixels high",
              live.run(CONTROLS))
        claim(live.loss() > 1 and live.texts("#flow-loss mark") == ["rouge"],
              "it opens with a sentence whose loss is worth following", live.text("#flow-loss"))


def test_recorded(browser):
    """Before the program is there, the picture is, and it plays."""
    early = WORK / "early.html"
    early.write_text(PAGE.read_text(encoding="utf-8").split('<script type="application/gzip"')[0],
                     encoding="utf-8")
    claim(early.stat().st_size < 3.5e5, "what draws the picture is a sixth of the page",
          early.stat().st_size)
    live = Live(browser, page=early, ready=None)
    live.becomes("document.querySelectorAll('#flow-picture circle').length > 60"
                 " && document.querySelector('#flow-matrices canvas')",
                 "it is drawn from recorded numbers, with the first matrix")
    recorded = live.text("#flow-loss")
    travels(live)
    live.becomes("document.querySelector('#flow-title').textContent.includes('Weights')"
                 " && document.querySelectorAll('#flow-matrices tbody td').length === 36",
                 "with the weights of each layer that it passes")
    claim(Live(browser).text("#flow-loss")[:60] == recorded[:60],
          "they say what the program then says", recorded)


def travels(live):
    """Presses Play: where the dots are, and where they are a little later."""
    where = "[...document.querySelectorAll('#travelers circle')].map(dot => dot.getAttribute('cy'))"
    live.click("#play")
    live.until(where + ".some(Boolean)")
    first = live.run(f"{where}.join()")
    live.becomes(f"![{json.dumps(first)}, ''].includes({where}.join())", "Play moves dots along the lines", where)


def test_play(browser):
    live = Live(browser)
    at = live.run(BOX % "#play" + ".x")
    travels(live)
    live.click("#play")
    live.says("#play", "Play", "it can be paused")
    claim(live.run(BOX % "#play" + ".x") == at, "and Play stays where it was", at)
    live.choose("#speed", "2")
    live.run("""globalThis.homeless = 0; new MutationObserver(() => {
        homeless += document.querySelectorAll('#travelers circle:not([cx])').length;
        }).observe(document.querySelector('#travelers'), {childList: true})""")
    live.run("globalThis.passed = []; new MutationObserver(() => passed.push($('flow-title').textContent))"
             ".observe($('flow-title'), {childList: true})")
    live.click("#play")
    live.until("document.querySelector('#count').textContent.startsWith('step 193')")
    passed = set(live.run("passed"))
    claim(sum("Backward" in title for title in passed) > 8
          and sum("Backward" not in title for title in passed) > 8,
          "it goes through all parts, there and back, to Adam's step", passed)
    live.says("#play", "Play", "and ends there")
    claim(live.run("homeless") == 0, "no dot is drawn before it has its place", live.run("homeless"))
    live.prefer(prefers_reduced_motion="reduce")
    live.click("#play")
    live.reads("#flow-title", "self-attention")
    claim(live.run("document.querySelectorAll('#travelers circle').length") == 0
          and live.text("#play") == "Pause", "where reduced motion is preferred, nothing travels")


def test_tour(browser):
    live = Live(browser, "#sentence=the+small+cat+is+happy&stage=output.loss")
    live.click("#take-tour")
    said = []
    for n in range(8):
        live.reads("#tour-count", f"{n + 1} of 8")
        live.settle()
        claim(live.run("(card => [$('pane'), $('flow-picture')].every(one =>"
                       " card.bottom <= one.getBoundingClientRect().top + 1))($('tour').getBoundingClientRect())"),
              f"the card of step {n + 1} covers nothing")
        said.append((live.text("#tour-says"), live.text("#flow-title"), live.loss()))
        if n == 6:
            live.mentions("#tour-says", " goes from ", "the card says what step one parameter takes")
        if n < 7:
            live.click("#tour-next")
    live.becomes("!document.querySelector('#flow-loss mark')",
                 "after the tour's last step the model says what was expected",
                 "document.querySelector('#flow-loss').textContent")
    claim(len(set(said)) == 8 and said[0][2] > 1 > live.loss(), "its eight steps all differ", said)
    live.mentions("#tour-says", "taken 10 of 10", "it says how many steps were taken")
    live.says("#flow-undo", "Undo the training", "and what can be undone")
    live.click("#tour-next")
    live.becomes("document.querySelector('#train').offsetHeight && "
                 "document.querySelector('#steps-done').textContent !== '0'", "it ends where a model learns")


# ---------------------------------------------------------------- a sentence

def test_sentence(browser):
    live = Live(browser)
    live.type("#flow-target", "")
    claim(live.loss() < 0.1 and not live.texts("#flow-loss mark"),
          "its own translation is no surprise to the model", live.text("#flow-loss"))
    text = "the small dog likes the cat"
    live.type("#flow-source", text)
    words = native("translate", build.MODEL, text=text + "\n").split()
    claim(live.texts("#flow-loss :is(span, mark)") == words + ["<end>"],
          "another sentence is translated as by the native program", live.text("#flow-loss"))
    live = Live(browser, "#sentence=" + text.replace(" ", "+"))
    claim(live.loss() > 0.1 and live.of("#flow-target", "value") not in ("", " ".join(words)),
          "where nobody says what to expect, it is something else", live.of("#flow-target", "value"))
    for text, wanted in (("the red piano", "does not know “piano” and reads <unknown>"),
                         ("the " * 70, "has 70 tokens; the model takes at most 64"),
                         ("", "Type a sentence.")):
        live.type("#flow-source", text)
        live.mentions("#flow-wrong", wanted, f"“{text[:20]}”: {wanted}")
    live.type("#flow-source", RED)
    claim(live.loss() > 1 and live.text("#flow-wrong") == "", "and then all is well")


def worked_out(text):
    """The expression in numbers before the result, as Python has it, and the result."""
    text = re.sub(r" \((the other|computed).*?\)", "", text).replace("−", "-")
    *_, expression, result = ("", "", *text.split(" = "))
    for sign, python in (("e^", "E**"), ("·", "*"), ("-ln ", "-log "), ("log ", "log(")):
        expression = expression.replace(sign, python)
    expression += ")" * (expression.count("(") - expression.count(")"))
    return expression, result


NUMBERS = re.compile(r"(?:[\d.+\-*/() ,]|e[+-]?\d|E\*\*|log|max)+")


def says(text, own):
    """Is this the number? And is it what the sum before it gives?"""
    expression, result = worked_out(text.split(", which")[0].split(";")[0])
    unit = 10.0 ** (math.floor(math.log10(abs(own))) - 3) if own else 1e-10
    numbers = [float(x) for x in re.findall(r"-?\d[\d.]*(?:e[+-]?\d+)?", result)]
    is_it = any(abs(own - x) <= 0.6 * unit for x in numbers)
    if not NUMBERS.fullmatch(expression) or "more digits" in text:
        return is_it, False
    value = eval(expression, {"E": math.e, "log": math.log, "max": max})
    return is_it and abs(value - own) <= 0.6 * unit, True


def test_numbers(browser):
    """Numbers picked at random are those of the native program in double precision."""
    numbers = build.BUILD / "numbers"
    said = subprocess.run([numbers, build.MODEL, RED, GREEN, "check", "60"], check=True,
                          stdout=subprocess.PIPE, encoding="utf-8").stdout.splitlines()
    claim("numbers are the program's" in said[3],
          "natively, the logits and all gradients are those of transformer.c", said[3])
    native("train", "data/dates.train.tsv", "--tokens", "char", "--steps", 3, "--norm",
           "pre", "--tie", "--positions", "learned", "--activation", "gelu",
           "--d-model", 16, "--heads", 2, "--model", WORK / "other.safetensors")
    other = subprocess.run([numbers, WORK / "other.safetensors", "8 May 2048", "", "check", "0"],
                           check=True, stdout=subprocess.PIPE, encoding="utf-8").stdout
    claim("numbers are the program's" in other, "so they are of a pre-norm model that is tied, "
          "with learned positions and GELU", other[-200:])
    live, wrong, sums = Live(browser), [], 0
    for line in said[4:]:
        name, i, j, x, slope = line.split(",")
        for what, own in (("value", float(x)), ("gradient", float(slope))):
            if what == "gradient" and abs(own) < 1e-6:
                continue    # rounding of the finite difference
            text = live.pinned(name, i, j, what)
            is_it, is_sum = says(text, own) if what == "value" else (
                abs(float(worked_out(text)[1]) - own) < 1e-3 * abs(own) + 1e-9, False)
            sums += is_sum
            if not is_it:
                wrong.append((name, i, j, what, own, text))
    claim(sums > 25 and not wrong, "60 numbers and their gradients are what is said of them, "
          f"and {sums} sums give them", wrong[:5])


def test_gradients(browser):
    """Gradients of stages and of parameters can be checked by a click."""
    live = Live(browser, "#way=backward&stage=decoder.0.cross_attention.q")
    rows = [name.split("\u00a0")[0] for name in live.texts("#flow-matrices .names span")]
    for caption in ("#flow-matrices .caption", ".learned ~ .strips .caption"):
        word, j = re.search(r"at \[(.+)\]\[(\d+)\]$", live.text(caption)).groups()
        name = live.of(caption, "parentElement.dataset.name")
        live.pinned(name, rows.index(word) if word in rows else word, j, "gradient")
        live.click("#flow-check")
        live.mentions("#flow-slope-says", "agree.", "a gradient and a finite difference agree")
        live.press("Escape")
    live.press("End")
    live.reads("#flow-title", "Adam's step")
    live.settle()
    before = live.loss()
    live.click("#flow-check")
    live.mentions("#flow-slope-says", "they agree.", "so do those of the largest gradient of all")
    live.click("#flow-take-step")
    live.reads("#flow-slope-says", "instead of")
    said = live.text("#flow-slope-says")
    old, new, loss = re.search(r"from (\S+) to (\S+)\. .*the loss is ([\d.]+\d)", said).groups()
    claim(float(loss) < before and old != new, "its step of Adam makes the loss smaller", said)
    live.choose("#flow-tensor", "encoder.1.self_attention.query.weight")
    live.mentions("#flow-gradient", "query.weight[", "of another tensor, its largest is pinned")


def test_changes(browser):
    """Changing a number or a cell of the mask changes what is computed from it."""
    live = Live(browser, "#stage=decoder.0.self_attention.weights")
    first = live.text("#flow-loss")
    weights = live.texts("#flow-matrices td")
    claim(len(live.texts("#flow-matrices .hatched")) == 15, "keys that the mask hides are hatched")
    live.press_at("#flow-inputs [data-name$=mask] td", 2)
    claim(live.texts("#flow-matrices td")[2] != weights[2] == "0"
          and live.text("#flow-loss") != first, "switching a cell of the mask shows a key")
    claim(live.run("document.activeElement.matches('[data-name$=mask] td')"),
          "and the focus stays on it")
    again = Live(browser, live.run("new Promise(done => setTimeout(() => done(location.hash), 200))"))
    claim(again.text("#flow-loss b") == live.text("#flow-loss b"), "the address keeps it")
    live.click("#flow-undo")
    live.says("#flow-loss", first, "and it can be undone")
    place = live.run("""flow.facts.target_words.indexOf('le')""")
    live.pinned("output.logits", 0, place)
    live.choose("#flow-change", "99")
    live.becomes("document.querySelector('#flow-loss mark')?.textContent === 'le'",
                 "with one number changed the model says “le”", "$('flow-loss').textContent")
    bottom = live.run(BOX % "#flow-undo" + ".bottom")
    claim(bottom <= 900, "the button that undoes it is on the screen", bottom)
    live.click("#views button:nth-child(2)")
    live.mentions("#decoding", "This is decoded anew", "the decoding says that it ignores the change")
    live.click("#views button:nth-child(1)")
    live.settle()
    live.pinned("output.logits", 0, place)
    live.choose("#flow-change", "")
    claim("99" in live.text("#flow-origin"), "what is not a number changes nothing")


def test_views(browser):
    """All heads, and all matrices of one."""
    native("attention", build.MODEL, RED, "--csv", "native.csv")
    with open(WORK / "native.csv", encoding="utf-8", newline="") as file:
        rows = [row for row in csv.reader(file) if row[:3] == ["encoder", "0", "3"]]
    live = Live(browser, "#stage=encoder.1.self_attention.q")
    live.click("#views button:nth-child(2)")
    live.becomes("document.querySelectorAll('.small-map').length === 8", "there are all heads, small")
    live.click("#maps tbody tr:nth-child(1) td:nth-child(5) button")
    live.reads("#flow-title", "layer 0")
    shown = live.run("[...document.querySelectorAll('#flow-matrices td')].filter(td => td.place)"
                     ".map(td => Number(td.title))")
    claim(len(shown) == 36 and all(near(a, float(row[5])) for a, row in zip(shown, rows)),
          "a click shows one large: the weights of the native program", shown)
    live.click("#views button:nth-child(3)")
    live.until("document.querySelector('.matrices')")
    names = live.texts(".matrices :is(caption, .caption) b")
    claim(names == ["q", "k", "v", "scores", "scaled", "mask", "weights", "out"],
          "all matrices of a head stand side by side", names)
    live.point(".matrices [data-name$=scores] tbody td", 8)
    marked = live.text("#flow-origin")
    claim(marked.startswith("scores[red][car] = q[red] · k[car], head 3 = "), "a number says "
          "what it is made of", marked)
    live.go(PAGE.as_uri() + "#way=backward&stage=decoder.1.cross_attention.q&view=matrices")
    live.until(READY)
    claim(len(live.texts(".matrices :is(caption, .caption) b")) == 15, "on the way back, with their gradients")


def test_decoding(browser):
    live = Live(browser, "#stage=output.probabilities&view=decoding")
    words = native("translate", build.MODEL, text=RED + "\n").split()
    said = []
    for n in range(6):
        said.append(live.text("#likeliest tr.chosen th"))
        grown = live.run("['k', 'v'].map(of => document.querySelectorAll(`#cache [title^=${of}]`).length)")
        claim(grown == [16 * (n + 1)] * 2, f"word {n + 1}: the cache has a key and a value of each", grown)
        live.click("#decoding button:nth-child(2)")
    claim(said == words + ["<end>"], "the likeliest words make the translation", said)


def test_pointing(browser):
    """What is pointed at outlines what it is made of; a click pins it."""
    dim = "[...document.querySelectorAll('#flow-picture .token')].map(one => getComputedStyle(one).opacity < 1)"
    live = Live(browser, "#stage=decoder.1.cross_attention.out")
    live.point("#flow-picture .token", 14)
    live.mentions("#flow-origin", "Where “verte” is expected, the model says “rouge”; its last "
                  "cross-attention looks at “red”", "a word says what it looks at")
    time.sleep(0.3)
    are_dim = live.run(dim)
    claim(not are_dim[14] and sum(are_dim) > 9, "the rest is dimmed", are_dim)
    live.point("#flow-picture circle", 2)
    live.mentions("#flow-origin", "The vector of “car” in Encoder, input", "so does a dot")
    live.press_at("#flow-picture circle", 2)
    live.mentions("#flow-title", "Encoder, input", "a click on it leads to its numbers")
    claim("[car]" in live.text("#flow-origin") and not live.of("#flow-number", "hidden"),
          "and pins one", live.text("#flow-origin"))
    live.press("Escape")
    claim(live.of("#flow-number", "hidden"), "Escape lets it go")
    line = live.run("""(({from, to}) => {
        const at = new DOMPoint((from.x + 2 * to.x) / 3, (from.y + 2 * to.y) / 3)
          .matrixTransform($('flow-picture').getScreenCTM());
        return {x: at.x, y: at.y}; })(flow.drawn.lines.find(line => line.looks && line.i === 1
          && line.path === 'decoder.1.cross_attention' && line.share > 0.5))""")
    live.send("Input.dispatchMouseEvent", type="mouseMoved", **line)
    live.mentions("#flow-origin", "“la” looks at “car”", "so does a line")


def test_keys(browser):
    """All of this can be done by the keyboard."""
    live = Live(browser, "#stage=decoder.1.cross_attention.weights")
    live.focus("#next")
    live.press("ArrowRight")
    live.mentions("#flow-title", "mixture", "an arrow goes a step on")
    live.press("ArrowLeft")
    live.reads("#flow-title", "Weights")
    live.settle()
    live.focus("#flow-matrices td[tabindex='0']")
    live.press("ArrowRight")
    live.press("ArrowDown")
    live.mentions("#flow-origin", "weights[la][red] = ", "arrows move in a matrix of digits")
    live.press("Enter")
    live.becomes("!document.querySelector('#flow-number').hidden", "and Enter pins its number")
    live.press("Enter")
    live.becomes("document.activeElement.id === 'flow-change'", "which Enter then changes")
    live = Live(browser, "#stage=source.embedding")
    live.focus("#flow-matrices canvas")
    for key in ("ArrowDown", "ArrowRight", "ArrowRight"):
        live.press(key)
    live.mentions("#flow-origin", "embedding[red][2] = ", "so they do in strips")
    live.press("Enter")
    live.becomes("!document.querySelector('#flow-number').hidden", "where Enter pins, too")
    live.press("Escape")
    reached = {live.press("Tab") or live.run(
        "document.activeElement.id || document.activeElement.getAttribute('class') || ''") for _ in range(40)}
    live.focus("#tab-flow")
    reached |= {live.press("Tab") or live.run("document.activeElement.id") for _ in range(6)}
    claim({"back", "play", "next", "take-tour", "flow-source", "flow-target", "level"} <= reached,
          "the Tab key reaches all controls", reached)
    live.focus(".level")
    live.press("Enter")
    live.settle()
    claim(live.text("#flow-title").startswith("Encoder, input"), "Enter on a box goes there")
    live.focus("#tab-flow")
    live.press("ArrowRight")
    claim(live.run("document.activeElement.id") == "tab-train" and not live.of("#train", "hidden"),
          "arrows change between the views")


def test_widths(browser):
    """Matrices are whole, and nothing has to be scrolled sideways."""
    for width, height, most in ((1366, 900, 64), (390, 844, 16)):
        live = Live(browser, "#way=backward&stage=decoder.0.feed_forward.inner", (width, height))
        wide, line = live.run("[$('flow-matrices').clientWidth, pane.matrices[0].size.line]")
        claim(line == most and live.run(BOX % "#flow-matrices canvas" + ".right") <= width,
              f"at {width} pixels a line has {most} columns", (wide, line))
        for state in ("#stage=decoder.1.cross_attention.q&view=matrices", "#way=backward&stage=output.logits"):
            live = Live(browser, state, (width, height))
            claim(live.run("[...document.querySelectorAll('#flow-matrices .table')].every("
                           "one => one.scrollWidth <= one.clientWidth)"), f"{state}: no table is cut off")
        claim({"verte", "rouge"} < set(live.texts("#flow-matrices thead th")),
              "the logits of the expected and the likeliest words stand under these words")


def test_old_addresses(browser):
    for state, title, view in (
            ("#tab=look&layer=0&kind=encoder", "Encoder, layer 0, self-attention", "all heads"),
            ("#tab=head&layer=1&head=1", "Decoder, layer 1, cross-attention", "all matrices"),
            ("#tab=look&at=2&hide=source,attention,model", "Output", "decoding, word by word")):
        live = Live(browser, state)
        claim(live.text("#flow-title").startswith(title)
              and live.text("#views [aria-pressed=true]") == view,
              f"{state} leads to its step", live.text("#flow-title"))
    for state in ("#task=constructor&tab=train", "#tab=flow&step=0.5",
                  "#stage=constructor&way=toString&view=toString&changes=" + "y" * 99
                  + ".q,0,0,1;constructor,0,0,1;output.loss,0,0,1;output.bias,0,0,"):
        live = Live(browser, state, ready=TRAINS)
        live.click("#tab-flow")
        live.until(READY)
        claim(live.text("#message") == "" and live.loss() > 1,
              f"{state[:40]} opens as if nothing were said", live.text("#message"))


# ---------------------------------------------------------------- training

def train(browser, state="#tab=train"):
    return Live(browser, state, ready=TRAINS)


def native_checksum(command, steps):
    """The checksum of the model that the command shown by the page gives."""
    native(*shlex.split(command)[1:], "--steps", steps, "--model", WORK / "n.safetensors")
    return native("info", WORK / "n.safetensors").split("checksum ")[1].split()[0]


def test_training(browser):
    live = train(browser)
    live.click("#start")
    live.until("document.querySelector('#steps-done').textContent !== '0'")
    claim(live.is_off("#start") and not live.is_off("#pause"),
          "while it trains, one can pause and not start")
    live.click("#pause")
    live.trained(1)
    steps = live.number("#steps-done")
    live.step(steps + 1)
    claim(live.number("#steps-done") == steps + 1 < 1000, "it pauses, and One step does one")
    live.click("#start")
    claim(live.trained(1000) and live.text("#train-done"), "Start goes on to the last step")
    claim(live.number("#exact") > 95, "the reversal of unseen sequences is learned", live.text("#exact"))
    now = live.text("#samples")
    for place in range(10):
        live.choose("#timeline", str(place))
        if live.text("#timeline-step") == "step 50":
            break
    claim(live.text("#timeline-step") == "step 50" and live.text("#samples") != now
          and live.text("#checksum") == native_checksum(live.text("#command"), 50),
          "the timeline has all bits of the native model of step 50", live.text("#checksum"))
    live.choose("#timeline", live.of("#timeline", "max"))
    live.click("#follow")
    live.until(READY + " && !document.querySelector('#flow').hidden")
    claim("d_model 32, 2 heads" in live.text("#model-facts") and live.loss() > 0.1
          and len(live.texts(".box-name")) == 8, "a sentence can be followed through it",
          live.text("#model-facts"))
    model = live.downloaded("#download", WORK / "model.safetensors")
    said = native("info", model)
    claim(f"checksum {live.text('#checksum')}" in said and "steps trained 1000" in said,
          "it can be downloaded, and is the model of the last step, all bits of it", said)


def test_models(browser):
    """A model of the native program, and a file that is not a model."""
    live, model, wrong = Live(browser), WORK / "own.safetensors", WORK / "wrong.safetensors"
    native("train", "data/dates.train.tsv", "--tokens", "char", "--steps", 20,
           "--layers", 1, "--d-model", 24, "--heads", 3, "--model", model)
    live.give_files("#load", model)
    live.mentions("#model-facts", "d_model 24, 3 heads", "the page takes a model of the native program")
    live.type("#flow-target", "")
    live.type("#flow-source", "27 April 2045")
    theirs = native("translate", model, text="27 April 2045\n")[:-1]
    ours = "".join(live.texts("#flow-loss :is(span, mark)"))
    claim(ours.removesuffix("<end>") == theirs, "and says what that says", (ours, theirs))
    wrong.write_bytes(model.read_bytes()[:-4])
    live.give_files("#load", wrong)
    live.mentions("#message", "wrong.safetensors: not a model this program can read: its tensors end at ",
                  "a model cut short is refused, with the program's reason")
    claim("d_model 24" in live.text("#model-facts"), "the old one is still there")
    live.give_files("#load", WORK / "other.safetensors")
    live.until("document.querySelectorAll('.box-name').length > 12")
    claim("norm, self-attention, add" in live.texts(".box-name"), "a pre-norm model is shown as one")


def test_own_pairs(browser):
    """Bad pairs are refused; those that were trained on are never called unseen."""
    live = train(browser, "#task=own&layers=1&d-model=16&d-ff=16")
    for pairs, reason in (("", "pairs.tsv: the file is empty"),
                          ("a b\tb a\nno tab", "pairs.tsv:2: expected source, tab, target; found no tab")):
        live.choose("#pairs", pairs)
        live.click("#again")
        live.mentions("#message", reason, f"bad pairs are refused: {reason}")
    for numbers, separator, wanted in (
            (range(10), "\t", ["4 b", "9 b"]), (range(4), " = ", ["0 b", "1 b", "2 b"]),
            ((0, 1, 2, 3, 4, 4, 4, 1, 5, 6, 7, 8, 9), "\t", ["4 b"] * 3)):
        live.choose("#pairs", "\n".join(f"{i} b{separator}b {i}" for i in numbers))
        live.again()
        live.step(1)
        claim(live.texts("#samples td:first-child") == wanted,
              f"of {len(numbers)} pairs, these are held out: {wanted}", live.text("#samples"))
        said = live.of("#train", "innerText")
        claim(("it has seen" in said) == (len(numbers) == 4) and ("Unseen" in said) == (len(numbers) > 4),
              "where all pairs are seen, the page says so")


def test_refused(browser):
    """An error is seen, and the old training does not go on as if it were new."""
    live = train(browser)
    live.step(1)
    for options, reason in (({"layers": "abc"}, "layers"),
                            ({"layers": 1, "heads": 3}, "3 heads cannot share"),
                            ({"heads": 4, "d_model": 512, "layers": 6},
                             "parameters are too many for a browser")):
        live.options(**options)
        live.click("#again")
        live.mentions("#message", reason, f"wrong options are refused: {reason}")
    live.click("#step")
    time.sleep(0.3)
    claim(live.text("#steps-done") == "1" and live.text("#message"),
          "One step does not go on with the old training", live.text("#steps-done"))
    live.options(heads=2, d_model=32, layers=1)
    claim(live.step(2) and live.text("#message") == "", "it does when the change is taken back")


def test_breaks(browser):
    """What no command can do; and with what a broken training is compared."""
    live = train(browser)
    for name in ("mask", "scale", "warmup"):
        live.click("#break-" + name)
        claim(live.text("#command") == "" and "No command does the same" in live.text("#command-note"),
              f"no command is given for what it cannot do: {name}", live.text("#command"))
        live.click("#break-" + name)
    live.click("#break-positions")
    claim("--positions none" in live.text("#command"), "where there is one, it is given")
    live.click("#break-positions")
    live.choose("#task", "book")
    live.click("#break-rate")
    claim("--lr 0.0625" in live.text("#command"), "the book's rate can be too high, too", live.text("#command"))
    live.click("#break-rate")
    live.choose("#task", "reverse")
    live.step(1)
    live.step(2)
    live.click("#break-scale")
    live.again()
    live.step(1)
    live.mentions("#legend-before", "nothing broken", "it is compared with what was not broken")


def test_state(browser):
    live = train(browser, "#task=eng-fra&layers=1&seed=3&step=3&hide=options,break")
    claim(live.trained(3) and live.text("#steps-done") == "3", "a link with a step trains to that step")
    claim(live.run("[...document.querySelectorAll('[data-part=options], [data-part=break]')]"
                   ".every(part => part.hidden)"), "a link hides the controls that it names")
    claim(live.text("#checksum") == native_checksum(live.text("#command"), 3),
          "its options and seed are the link's", live.text("#checksum"))
    live.step(4)
    again = train(browser, live.run("new Promise(done => setTimeout(() => done(location.hash), 200))"))
    claim(again.trained(4) and again.text("#checksum") == live.text("#checksum"),
          "the address that the page then has gives the same model, bit for bit")


# ---------------------------------------------------------------- for everybody

def test_for_everybody(browser):
    """In all sizes, light and dark: nothing sticks out; and axe, in one of them, finds
    nothing. Asked for by its name, it takes more states and sizes, and axe in each."""
    axe = axe_source(build.BUILD)
    states = ["", "#way=backward&stage=decoder.1.cross_attention.q&view=matrices", "#way=adam",
              "#break=mask&step=20", "#stage=decoder.1.cross_attention.weights&view=heads",
              "#stage=output.loss&panel"]
    sizes = [(1366, 900, "light"), (390, 844, "dark")]
    if len(sys.argv) > 1:
        sizes.append((320, 568, "light"))
        states += ["#stage=source.positions", "#way=backward&stage=output.logits",
                   "#way=backward&stage=encoder.1.feed_forward.norm",
                   "#stage=output.probabilities&view=decoding",
                   "#stage=decoder.0.self_attention.weights"]
    for n, state in enumerate(states):
        browser.close_pages()
        live = Live(browser, state, ready=TRAINS if "step=20" in state else READY)
        if "step=20" in state:
            live.trained(20)
        live.run(axe + "; 1")
        found = {}
        for m, (*size, scheme) in enumerate(sizes):
            live.resize(*size)
            live.prefer(prefers_color_scheme=scheme)
            time.sleep(0.3)
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
        live = Live(browser, ready=None, before=before)
        live.mentions("#message", f"This page needs {what}, which this browser",
                      f"a browser without {what} gets a sentence")


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

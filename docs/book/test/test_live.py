#!/usr/bin/env python3
"""Tests what the book says about docs/live.html, and the links between them.

    python3 docs/book/test/test_live.py            after `make docs` and `make live`; the last
                                                   line is "N passed, N failed"
    python3 docs/book/test/test_live.py breaks     some minutes: what each switch gives
"""

import re
import sys
from pathlib import Path
from urllib.parse import parse_qsl

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "weave"))

from project import DOCS, ROOT

sys.path.append(str(DOCS / "live"))

import build
import c_code
import records
from browser import Browser
from harness import claim, end
from reader import PAGE, TRAINS, Live, claim_quiet, near

PROGRAM = ROOT / "transformer.c"


def test_functions():
    """The page leads to a function where the book has it."""
    ids = {path.name: set(re.findall(r'\bid="(\w+)"', path.read_text(encoding="utf-8")))
           for path in DOCS.glob("*.html")}

    def missing(links):
        return [link for link in links for page, _, name in [link.partition("#")]
                if name not in ids.get(page, ())]

    links = set(re.findall(r'[oO]f: "([\w.-]+#\w+)"', PAGE.read_text(encoding="utf-8")))
    claim(len(links) > 20 and not missing(links),
          "each step has a link to its function in the book", missing(links))
    names = [its.name for its in c_code.definitions(PROGRAM) if its.kind == "function"]
    wrong = missing(build.linked(("", name)) for name in names)
    claim(len(names) > 300 and not wrong, f"and it could lead to each of the {len(names)} "
          "functions of transformer.c", wrong)


def test_links(browser):
    """The links of the book to a state of the page."""
    live = Live(browser)
    text = "".join(path.read_text(encoding="utf-8")
                   for path in (DOCS / "book" / "text").glob("*.md"))
    panels = re.findall(r"^//@ panel (.*)", PROGRAM.read_text(encoding="utf-8"), re.MULTILINE)
    links = [parse_qsl(link.replace("changes=", "stage=")) for link in
             re.findall(r"\(live\.html#(.*?)\)", text) + panels]
    values = {"tab": {"train"}, "task": set(live.run("Object.keys(TASKS)")),
              "break": set(live.run("Object.keys(BREAKS)")), "view": set(live.run("Object.keys(VIEWS)")),
              "hide": set(live.run("[...document.querySelectorAll('[data-part]')]"
                                   ".map(part => part.dataset.part)")),
              "way": {"forward", "backward", "adam"}, "panel": {"sentence", "map"},
              "stage": set(live.run("[...flow.stages.keys()]"))}
    free = set(live.run("options.map(option => option.name)")) \
        | {"step", "at", "sentence", "target", "flow-head"}
    wrong = [(key, value) for link in links for key, value in link
             if key not in free and not {part for part in value.split(",")
                                         if not part.isdigit()} <= values.get(key, set())]
    claim(links and not wrong, f"the page knows what {len(links)} links of the "
          "book ask for", wrong)


def test_numbers(browser):
    """What the book's figures and sentences quote is what the page computes."""
    live = Live(browser, "#target=")
    numbers = live.run("""(async () => {
        const found = {};
        for (const name of flow.stages.keys()) found[name] = await numbersOf(name);
        return found; })()""")
    wrong = []
    for kind, layer, head, i, j, weight, *_ in map(dict.values, records.read("red-car.csv")):
        rows = numbers[{"encoder": "encoder.{}.self_attention.weights",
                        "cross": "decoder.{}.cross_attention.weights"}[kind].format(layer)]
        found = rows[int(head) * (len(rows) // 4) + int(i)][int(j)]
        if not near(found, float(weight)):
            wrong.append((kind, layer, head, i, j, weight, found))
    for matrix, i, j, x, _ in map(dict.values, records.read("vectors.csv")):
        name = {"query": "q", "key": "k", "value": "v"}.get(matrix, matrix)
        found = numbers["encoder.1.self_attention." + name][int(i)][int(j) + 48]
        if not near(found, float(x)):
            wrong.append((name, i, j, x, found))
    claim(not wrong, "the book's numbers for the red car are the page's", wrong)


def test_checksum(browser):
    """Where the tour ends, the model is that of the book, in all its bits."""
    live = Live(browser, "#task=book&step=300", ready=TRAINS)
    live.trained(300)
    same = (DOCS / "book" / "records" / "300-steps.txt").read_text(encoding="utf-8")
    wanted = re.search(r"eng-fra\.train\.tsv.*?checksum (\w+)", same, re.DOTALL)[1]
    claim(live.text("#checksum") == wanted and not live.of("#as-book", "hidden"),
          "after 300 steps the checksum is the book's, and the page says so",
          (live.text("#checksum"), wanted))


def test_breaks(browser):
    """What each switch gives, beside the training that is not broken."""
    exact, held_out, losses = {}, {}, {}
    names = ["", "mask", "positions", "scale", "warmup", "rate"]
    for pair in (names[i:i + 2] for i in range(0, len(names), 2)):
        for name, live in [(name, Live(browser, f"#break={name}&step=600", ready=TRAINS))
                           for name in pair]:
            claim(live.trained(600, 1800), f"it trains, broken: {name or 'nothing'}")
            exact[name] = live.number("#exact")
            held_out[name] = live.number("#held-out")
            losses[name] = live.run("current.rows.slice(-50)"
                                    ".reduce((sum, row) => sum + row[1] / 50, 0)")
    table = [[f"{exact[name]:.1f} %", f"{held_out[name]:.4f}", f"{losses[name]:.2f}"]
             for name in names]
    claim([[*row.values()][1:] for row in records.read("breaks.csv")] == table,
          "docs/book/records/breaks.csv, a table for teachers, says what comes out", table)
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


def main():
    with Browser() as browser:
        if "breaks" in sys.argv:
            test_breaks(browser)
        else:
            test_functions()
            test_links(browser)
            test_numbers(browser)
            test_checksum(browser)
        claim_quiet(browser)
    end()


if __name__ == "__main__":
    main()

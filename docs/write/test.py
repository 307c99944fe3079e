#!/usr/bin/env python3
"""Tests write.html, the page in which the exercises are written: builds it, and uses
it in chromium as a student does, from its file. What it says is compared with what
the terminal's tool says of the same.

    python3 docs/write/test.py           in short, as CI does
    python3 docs/write/test.py --all     all known mistakes, not a sample of them

The last line is "N passed, N failed".
"""

import json
import os
import random
import re
import shutil
import subprocess
import sys
import time
import zipfile
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.parse import unquote

import build_write as build
import site_pages as site
import cutting
import grading
import source_file
import wrong_bodies
from build_write import ROOT, read_text
from browser import Browser
from command import run
from harness import claim, end
from reader import AXE, Reader, claim_quiet

PAGE = build.PAGE
WORK = build.BUILD / "test"
sys.path.append(str(build.DOCS / "exercises" / "test"))
import test_cheats as terminal  # its cheats, and bad students
from groups import ONE, in_copy

SAMPLE, SEED = 60, 1


# ---------------------------------------------------------------- using it

class Write(Reader):
    """The page, opened from its file with a state in the address."""

    def __init__(self, browser, state=""):
        super().__init__(browser, "about:blank")
        self.resize(1366, 768)
        self.go(PAGE.as_uri() + state)

    def ready(self):
        return self.until("document.querySelector('#loading')?.dataset.ready === 'yes'", 300)

    def count(self, selector):
        return self.run(f"document.querySelectorAll({json.dumps(selector)}).length")

    def show(self, state):
        self.run(f"location.hash = {json.dumps(state)};"
                 "new Promise(done => setTimeout(done, 50))")

    def grade(self, name, text):
        """What the page's grader says, and after how many seconds."""
        began = time.monotonic()
        said = self.run("page.grader.done({do: 'grade', name: " + json.dumps(name)
                        + ", text: " + json.dumps(text) + "})")
        return said, time.monotonic() - began

    def write(self, text):
        self.run(f"page.editors.code.replace({json.dumps(text)})")

    def press(self, selector):
        """Presses a button of an exercise, and gives what the page says."""
        self.of("#result", "removeAttribute('data-seconds')")
        self.click(selector)
        self.until("document.querySelector('#result').dataset.seconds", 60)
        return self.of("#result", "innerText")

    def replace(self, old, new):
        """Changes a text in the editor of a whole file."""
        self.run("page.editors.own.replace(page.editors.own.text.replace("
                 f"{json.dumps(old)}, {json.dumps(new)}))")


PAGES = [e for e in cutting.load_exercises() if not e.source]
REGIONS = cutting.reference_regions()
REFERENCE = read_text(build.REFERENCE)


def of_kind(kind):
    return [page for page in PAGES if page.kind == kind]


# ---------------------------------------------------------------- verdicts

def test_reference(page):
    """Each body as it is, with a comment, so that it is compiled."""
    wrong = []
    for name, region in REGIONS.items():
        said, _ = page.grade(name, "\n".join(["    ; // mine", *region.body]))
        if said["state"] != "right":
            wrong.append((name, said["word"], said["detail"]))
    claim(not wrong, f"the reference's bodies are right, {len(REGIONS)} of "
          f"{len(REGIONS)}", wrong)
    claim(all(said["states"][name] == "passed" for name in REGIONS),
          "all of them have then passed", said["states"])
    wrong = [name for name, region in REGIONS.items() if page.grade(
        name, "\n".join(source_file.stub_body(name, region)))[0]["state"] != "todo"]
    claim(not wrong, "what is not written yet is not wrong", wrong)


def test_bugs(page):
    for e in of_kind("bug"):
        said, _ = page.grade(e.name, cutting.plant_bug(e))
        claim((said["state"], said["word"]) == ("todo", "nothing changed yet")
              and e.diagnosis in said["detail"],
              f"{e.name}: nothing changed yet; below, the terminal's diagnosis, "
              f"{e.diagnosis}", said)
        said, seconds = page.grade(e.name, cutting.without_marks(REFERENCE))
        claim(said["state"] == "right", f"{e.name}: fixed, it is right "
              f"({seconds:.1f} s)", said)
    first = of_kind("bug")[0]
    said, _ = page.grade(first.name, cutting.plant_bug(first).replace(
        "    return a < b ? a : b;", "    return b < a ? b : a;"))
    claim(said["state"] == "wrong" and first.diagnosis in said["word"] + said["detail"],
          "a change in another place is wrong, with the diagnosis", said)


def test_numbers(page):
    for e in of_kind("number"):
        wanted = grading.wanted_answers(e)
        right = "".join(f"{name} = {value!r}\n" for name, (value, _) in wanted.items())
        said, _ = page.grade(e.name, right)
        claim(said["state"] == "right", f"{e.name}: the answers are right", said)
        said, _ = page.grade(e.name, re.sub(
            "= (.*)", lambda answer: f"= {2 * float(answer[1]) + 1}", right, count=1))
        claim(said["state"] == "wrong", f"{e.name}: another is wrong", said)
    name = of_kind("number")[0].name
    page.show(f"exercise={name}")
    page.run("page.editors.answers.replace('total = 3\\nnorms = x')")
    said = page.press("#check")
    claim('exercises/answers.txt:2: "x" is not a number' in said
          and page.count("#answers .cm-lint-marker-error") == 1,
          "what is not a number is reported at the line in which it is seen", said)
    page.run("localStorage.clear()")
    page.write('#define TRANSFORMER_NO_MAIN\n#include "../transformer.c"\n'
               "int main(void) {\n    Config c = {.d_model = 64, .heads = 2};\n"
               '    printf("%d %zu\\n", c.d_model / c.heads, sizeof(real));\n}\n')
    page.click("#run")
    page.says("#printed", "32 8\n", "a program that includes transformer.c is compiled and run")


def test_mistakes(page, every):
    """The page's words are those that the test of the exercises holds the terminal to."""
    known = [m for e in cutting.load_exercises() if e.kind == "write"
             for m in wrong_bodies.load_mistakes(e, cutting.reference_regions()[e.name].body)
             if m.kind in "=~"]
    tried = known if every else random.Random(SEED).sample(known, SAMPLE)
    all_said = [page.grade(m.region, "\n".join(m.body))[0] for m in tried]
    wrong = [said["state"] == "wrong" for said in all_said]
    odd = [f"{m.region}: {m.say}\n  page: {said['state']} {said['word']}"
           for m, said, is_wrong in zip(tried, all_said, wrong)
           if not is_wrong or m.say not in said["word"] + said["detail"]]
    n = len(tried)
    claim(all(wrong), f"known mistakes: {sum(wrong)} of {n} have the terminal's verdict",
          "\n".join(odd))
    claim(len(odd) <= 0.01 * n, f"known mistakes: {n - len(odd)} of {n} have the terminal's "
          "words", "\n".join(odd))


def body_of(text, name):
    """A body as a student's file would have it: "&" is the reference's body."""
    body = text.replace("&\n", "\n".join(REGIONS[name].body) + "\n")
    return body.replace("NAME", name).rstrip("\n")


def test_cheats(page):
    for name, what, body, _ in terminal.CHEATS:
        said, _ = page.grade(name, body_of(body, name))
        claim(said["state"] == "wrong", f"a body that {what} gets nothing", said)


# For these the page has other words: WebAssembly has no processes and no signals, a volatile
# null pointer can be written to, and the page shows nothing outside of the region.
ELSEWHERE = {"attention_backward", "sinusoidal_positions", "make_batch", "loss_forward",
             "embedding_backward", "encoder_layer_forward", "clip_factor"}


def test_bad_students(page):
    for name, (what, body, word, *more) in terminal.BAD.items():
        said, seconds = page.grade(name, body_of(body, name))
        whole = said["word"] + said["detail"]
        claim(said["state"] == "wrong" and seconds < 20
              and (name in ELSEWHERE or word in whole),
              f"{what}: {said['word'][:70]}", said)
    said, _ = page.grade(ONE, """\
    for (int i = 0; i < 128; i++) {
        char *p = malloc(1 << 24);
        p[0] = 1;
    }""")
    claim("p is a null pointer, in line" in said["word"],
          "so is a body that takes 2 GB of memory: malloc returns NULL", said)
    said, _ = page.grade(ONE, "\n".join(["    ;", *REGIONS[ONE].body]))
    claim(said["state"] == "right", "after all of them the right body is still right", said)


# ---------------------------------------------------------------- a student

def test_student(browser):
    """Reads, writes, checks, takes a hint, and passes."""
    page = Write(browser)
    claim(page.until("document.querySelector('.list a')", 30)
          and page.count(".list a") == len(PAGES) - len(of_kind("train")),
          "the list has all exercises")
    page.click(f".list a[href='#exercise={ONE}']")
    page.mentions("#task", "Softmax turns a row of scores",
                  "an exercise is opened with its task, while the compiler is being loaded")
    claim(page.ready(), "the compiler is loaded", page.text("#message"))
    said = page.press("#check")
    claim(f"Not written yet: replace the line exercise_todo(\"{ONE}\");" in said,
          "Check says that nothing is written yet, and what to do", said)
    page.click("#hint")
    claim(page.count(".hint-box") == 1, "hints are shown one by one")
    page.write("    int i = ;")
    said = page.press("#check")
    claim("does not compile" in said and page.count(".cm-lint-marker-error") == 1,
          "an error of the compiler stands at its line", said)
    test_lines(page)
    test_loop(page)
    test_earlier(page)
    body = "\n".join(REGIONS[ONE].body)
    page.run("page.editors.code.view.dispatch({changes: {from: 0, insert: 'x'}})")
    claim(page.run("page.editors.code.view.state.doc.toString()").startswith("//"),
          "what stands around the region cannot be changed")
    page.write(body)
    said = page.press("#check")
    claim("Right: 10 of 10 points" in said, "the right body is right", said)
    page.click("#solution")
    page.mentions("#answer", "exponential", "then the solution is shown")
    test_kept(browser, page)


def test_kept(browser, page):
    """Saves the work, grades it in a terminal, and comes back."""
    kept = page.downloaded("#save-all", WORK / "exercises.zip")
    zipfile.ZipFile(kept).extractall(WORK / "unpacked")
    folder = WORK / "unpacked" / "exercises"
    said = in_copy(ROOT, "grade", f"N={ONE}", f"FOLDER={folder}").out
    claim("ok " in said and "score: 10/10" in said,
          "the terminal's make grade takes exercises.zip", said)
    said = in_copy(ROOT, "exercise", f"FOLDER={folder}").out
    claim(re.search(f"{ONE} +passed", said), "and knows what has passed", said)
    again = Write(browser)
    again.ready()
    claim("Score: 10 of" in again.text("#score"), "the work is still there when the "
          "page is opened again", again.text("#score"))
    again.run("localStorage.clear()")
    other = Write(browser)
    other.ready()
    other.give_files("#open-work", kept)
    other.mentions("#score", "Score: 10", "a file that was downloaded is opened again")
    wrong = WORK / "wrong.c"
    wrong.write_text("int main(void) { return 0; }\n")
    other.run("window.confirm = () => true")
    other.give_files("#open-work", wrong)
    other.mentions("#message", "wrong.c: it has no exercises",
                   "a file without exercises is refused in words")


SEEN = "page.editors.code.view.state.doc.toString().split('\\n')"


def test_lines(page):
    """The lines of messages are those that the editor shows, also after another exercise
    has become longer."""
    page.show("exercise=dropout_row")
    page.write("    ;\n" * 7)
    page.show("exercise=head")
    for what, text in ((":{}:16: warning: using the result of an assignment",
                        "    int unused;\n    if (unused = 3)\n        m.rows = 1;"),
                       (":{}:13: error: expected expression", "\n    int i = ;\n")):
        page.write(text)
        said = page.press("#check")
        number = page.run("page.editors.code.first") + next(
            i for i, line in enumerate(page.run(SEEN))
            if line.strip() in ("if (unused = 3)", "int i = ;"))
        claim("transformer.c" + what.format(number) in said
              and page.count("#editor .cm-lint-marker") > 0,
              f"a message has the line that is seen: {what.format(number)}", said)
    page.show("exercise=residual_leave")
    page.write("    ;")
    said = page.press("#check")
    number = page.run("page.editors.code.first") + page.run(SEEN).index("}")
    claim(f"transformer.c:{number}:1: warning: non-void function" in said,
          f"so has one about the end of the function: {number}", said)
    page.show("exercise=dropout_row")
    page.run("window.confirm = () => true")
    page.click("#reset")
    page.show(f"exercise={ONE}")


def test_loop(page):
    """For a loop without end the seconds are counted down, and it can be stopped."""
    page.write("    for (volatile int i = 0;;)\n        i++;")
    page.click("#check")
    running = page.until("!document.querySelector('#running').hidden", 10)
    said = page.text("#seconds")
    page.click("#stop-check")
    claim(running and re.search("It will be stopped in [1-9] s", said)
          and page.reads("#result", "Stopped: there is no result.")
          and page.of("#running", "hidden"),
          "the time of a long program is counted down, and a button stops it", said)


def test_earlier(page):
    """What is said of an earlier text is marked, and gone when one begins anew."""
    page.write("    x[0] = 1;")
    page.press("#check")
    before = page.of("#earlier", "hidden")
    page.write("    x[0] = 2;")
    marked = page.until("!document.querySelector('#earlier').hidden", 5)
    page.write("    x[0] = 1;")
    claim(before and marked and page.until("document.querySelector('#earlier').hidden", 5),
          "a verdict is marked as that of the earlier text while the text is another one")
    page.run("window.confirm = () => false")
    page.click("#reset")
    kept = page.run("page.editors.code.text")
    page.run("window.confirm = () => true")
    page.click("#reset")
    claim(kept == "    x[0] = 1;" and "exercise_todo" in page.run("page.editors.code.text")
          and page.text("#result") == "", "Begin anew asks, and takes the verdict away", kept)


# ---------------------------------------------------------------- one's own file

def trained(page):
    page.click("#build")
    done = page.until("/Trained|✗|Stopped/.test(document.querySelector('#own-result')"
                      ".textContent)", 300)
    return done and page.text("#own-result")


LOSSES = "page.trainings().map(({rows}) => rows.map(row => row[1]))"


def test_own(page):
    page.ready()
    page.run("window.confirm = () => true")
    page.choose("#own-options", build.breaking.REVERSE.options.replace("1000", "60"))
    said = trained(page)
    ours, theirs = page.run(LOSSES)
    claim(said == "Trained." and len(ours) == len(theirs) == 60
          and all(abs(a - b) < 1e-4 * b for a, b in zip(ours[:20], theirs)),
          "unchanged, it learns as the original file does",
          (said, ours[:3], theirs[:3]))
    page.show("break=no_residual")
    page.choose("#own-options", "--layers 4 --d-model 32 --dropout 0 --steps 60 --norm pre")
    said = trained(page)
    ours, theirs = page.run(LOSSES)
    claim(said == "Trained." and ours[-1] > theirs[-1] + 0.05,
          "pre-norm without its residual learns worse, beside the file as it is: "
          f"{ours[-1]:.2f} and {theirs[-1]:.2f}", said)
    hidden = page.of("#own-earlier", "hidden")
    page.choose("#own-options", "--layers 1")
    claim(hidden and not page.of("#own-earlier", "hidden"),
          "under other options, results are marked as those of the earlier ones")
    claim(page.count("#curve polyline") == 2 and page.count("#compared tr") == 5,
          "both stand in one picture, and in a table")
    test_own_wrong(page)
    test_residual(page)


def test_own_wrong(page):
    """What cannot be compiled, or trained."""
    page.replace("int min_int(", "int min_inf(")
    said = trained(page)
    claim("does not compile" in said and page.count(".cm-lint-marker-error") > 0,
          "what does not compile is said, and shown at its line", said)
    claim(page.of("#trained", "offsetParent === null"),
          "and the results of the training before are gone")
    page.choose("#own-options", "--layer 1")
    said = trained(page)
    claim("has no option --layer" in said, "a wrong option is refused before anything is built",
          said)


def test_residual(page):
    page.show("own")
    page.click("#do-residual")
    claim(page.of("#own-options", "value") == build.breaking.DEEP.options
          and not re.search(r"add\(y, x\)|add\(dx, dy\);\n    // \(1\)",
                            page.run("page.editors.own.text")),
          "the experiment with the residual takes out both lines, and has four layers")
    page.replace("double sum = 0;", "double sum = 1;")
    half = page.run("page.grader.done({do: 'patch', text: page.editors.own.text.replace("
                    "'(double)from[j] <= 0 ? 0 : from[j]', 'from[j]')}).then(({half}) => half)")
    claim(["activation_forward", "activation_backward"] in half, "a function that has "
          "changed without its backward pass is named", half)
    page.show("break=no_scale")
    page.click("#build")
    page.reads("#own-result", "Training", 120)
    page.click("#stop")
    claim(page.reads("#own-result", "Stopped", 120) and page.count("#compared tr") == 0,
          "a training can be stopped, and nothing of the one before is left")


def test_tiny(page):
    """tiny.c, changed and run beside the file as it is."""
    page.show("own=tiny")
    page.run("window.confirm = () => true")
    page.choose("#own-task", "eng-fra")
    page.choose("#own-steps", "20")
    strict = "-std=c11 -O2 -ffp-contract=off".split()
    run("cc", *strict, build.TINY_C, "-o", WORK / "tiny", "-lm")
    native = run(WORK / "tiny", ROOT / "data" / "eng-fra.train.tsv", "20").out.split("\n")
    page.replace("rate = 0.1f;", "rate = 0;")
    said = trained(page)
    sums = page.texts("#compared tr:first-child td")
    ours, theirs = page.run(LOSSES)
    claim(said == "Trained." and native[-2] == f"checksum {sums[1]}" != f"checksum {sums[0]}",
          "tiny.c runs in the page, and its checksum is that of a native build", (said, sums))
    claim([f"{loss:.4f}" for loss in theirs] == re.findall(r"loss (\S+)", "\n".join(native))
          and len(ours) == len(theirs) == 2 and ours != theirs
          and page.count("#curve polyline") == 2,
          "the losses of a file without dropout stand beside those of the file as it is",
          (ours, theirs))
    page.replace("B = 1;", "B = ;")
    said = trained(page)
    claim("does not compile" in said and "tiny.c:" in said
          and page.count(".cm-lint-marker-error") > 0,
          "what does not compile is said, and shown at its line", said)
    page.show("own")
    claim(page.run("page.editors.own.text.includes('chapter manual')"),
          "and transformer.c can be chosen again")


def test_whole(page):
    """Not only functions are changed: the whole file is compiled, in the browser."""
    page.show("own")
    page.replace("#define NORM_EPSILON 1e-5", "#define NORM_EPSILON 1e5")
    page.choose("#own-options", "--layers 1 --d-model 32 --steps 60")
    said = trained(page)
    ours, theirs = page.run(LOSSES)
    claim(said == "Trained." and ours[-1] > theirs[-1],
          "a file of which a macro has changed is built whole, and trained", said)


def test_breaks(page):
    wrong = []
    for name in build.breaking.BROKEN:
        page.show(f"break={name}")
        if page.run("page.editors.own.text") != build.breaking.planted(name):
            wrong.append(name)
    claim(not wrong, f"each of {len(build.breaking.BROKEN)} lines that the book breaks "
          "is changed when it is opened", wrong)


# ---------------------------------------------------------------- for everybody

# What can be pressed and is lower or narrower than 44 pixels; links within a text may be.
SMALL = """[...document.querySelectorAll("button, input, select, summary, nav a, .list a")]
    .filter(e => e.offsetParent && !e.closest(".cm-editor"))
    .map(e => [e.outerHTML.slice(0, 80), e.getBoundingClientRect()])
    .filter(([, {width, height}]) => width < 44 || height < 44)
    .map(([html, {width, height}]) => `${html} ${width}x${height}`)"""


def test_seen(browser):
    """Nothing is inaccessible or sticks out, in both sizes, light and dark."""
    page = Write(browser)
    page.ready()
    page.run((build.MODULES / "axe-core" / "axe.min.js").read_text() + "; 1")
    for size in ((1366, 768), (390, 844)):
        page.resize(*size)
        for scheme in ("light", "dark"):
            page.prefer(prefers_color_scheme=scheme)
            for state in ("", f"exercise={ONE}", "exercise=slow_learner",
                          "exercise=parameter_counts", "own"):
                page.show(state)
                if state == f"exercise={ONE}":
                    page.write("    x[0] = 1;\n    int i;")
                    page.press("#check")
                if size[0] < 500:
                    small = page.run(SMALL)
                    claim(not small, f"#{state}: a finger hits whatever can be pressed: "
                          "44 pixels", small)
                found = page.run(AXE)
                wide = page.run("document.documentElement.scrollWidth")
                claim(not found and wide <= size[0], f"{size[0]}×{size[1]}, {scheme}, "
                      f"#{state}: axe finds nothing, nothing sticks out",
                      (wide, found))


# At the end of the page: what it says about bodies, and about a loop without end, is in the
# address to which it finally goes.
IN_FIREFOX = """<script>
addEventListener("load", async () => {
  const ready = () => document.querySelector("#loading").dataset.ready === "yes";
  while (!ready()) await new Promise(done => setTimeout(done, 200));
  const said = {};
  for (const [name, text] of BODIES)
    said[name] = (await page.grader.done({do: "grade", name, text})).state;
  const loop = "    for (volatile int i = 0;;)\\n        i++;";
  const {word} = await page.grader.done({do: "grade", name: "ONE", text: loop});
  location = "http://127.0.0.1:PORT/?" + encodeURIComponent(JSON.stringify([said, word]));
});
</script>"""


class Answer(BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.said = json.loads(unquote(self.path.partition("?")[2]))


def test_firefox():
    """The same page in another browser."""
    if not shutil.which("firefox-esr"):
        if os.environ.get("CI") == "true":
            claim(False, "firefox-esr is installed")
        else:
            print("skip firefox-esr is not installed")
        return
    server = HTTPServer(("127.0.0.1", 0), Answer)
    server.timeout, server.said = 900, [{}, "nothing"]
    bodies = [[name, "\n".join(["    ; // mine", *region.body])]
              for name, region in REGIONS.items()]
    script = IN_FIREFOX.replace("BODIES", json.dumps(bodies).replace("</", "<\\/")) \
        .replace("ONE", ONE).replace("PORT", str(server.server_port))
    copy = WORK / "firefox.html"
    copy.write_text(PAGE.read_text(encoding="utf-8") + script, encoding="utf-8")
    profile = WORK / "firefox"
    shutil.rmtree(profile, ignore_errors=True)
    profile.mkdir()
    firefox = subprocess.Popen(["firefox-esr", "--headless", "--profile", profile, copy.as_uri()],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    server.handle_request()
    firefox.kill()
    firefox.wait()
    states, word = server.said
    claim(states, "Firefox opens the page from its file", word)
    claim(len(states) == len(REGIONS) and set(states.values()) == {"right"},
          f"there, too, {len(REGIONS)} of {len(REGIONS)} bodies are right", states)
    claim("stopped after 10 seconds" in word, "and a loop without end is stopped", word)


def test_links():
    """The site's links from the lines that the book breaks."""
    names, found = site.broken(), []
    for path in (build.DOCS).glob("*.html"):
        text = path.read_text(encoding="utf-8")
        found += re.findall("<a href=\"write.html#break=(\\w+)",
                            site.linked(text, "write.html", names))
    claim(sorted(found) == sorted(build.breaking.BROKEN),
          f"the book's {len(found)} broken lines lead to the page", found)


def test_texts():
    """The exercises as the page has them."""
    pages = [page for page in build.exercise_pages(REFERENCE)["pages"]
             if page["kind"] != "train"]
    texts = ["".join([page["text"], *page["hints"]]) for page in pages]
    links = {page["book"] for page in pages}.union(
        *(re.findall('href="([^"#][^"]*)"', text) for text in texts))
    lost = [link for link in links if not leads(link)]
    claim(len(links) > 60 and not lost, f"their {len(links)} links into the book lead "
          "somewhere", lost)


def leads(link):
    """Whether an address of the site leads to a page of docs/, or to a lab's."""
    path, _, anchor = link.partition("#")
    page = ROOT / path
    if page.parent != build.DOCS:
        return page.with_suffix(".ipynb").is_file() or page.with_suffix(".md").is_file()
    return page.is_file() and (not anchor or f'id="{anchor}"' in page.read_text("utf-8"))


def test_build():
    lock = json.loads((build.WRITE / "package-lock.json").read_text())
    packages = [p for name, p in lock["packages"].items() if name]
    claim(packages and all(p.get("integrity") for p in packages),
          "every package has its checksum")
    claim("resolved" not in json.dumps(lock), "no address is written down")
    build.main()
    claim(PAGE.stat().st_size < 50e6, "the page is below 50 MB")
    texts = build.licenses()
    missing = [name for name in (
        "TERMS AND CONDITIONS FOR USE, REPRODUCTION, AND DISTRIBUTION",
        "LLVM Exceptions to the Apache 2.0 License", "Mozilla Public License",
        "PYTHON SOFTWARE FOUNDATION LICENSE VERSION 2", "Rich Felker",
        *(name.removeprefix("node_modules/") + " " for name, package in
          lock["packages"].items() if name and not package.get("dev")))
        if name not in texts]
    claim(not missing, "the licenses of all that is in it are there, in full", missing)


def main(arguments):
    WORK.mkdir(parents=True, exist_ok=True)
    test_build()
    test_links()
    test_texts()
    with Browser("chromium") as browser:  # its shell hangs when a worker is ended
        page = Write(browser)
        claim(page.ready(), "the page opens from its file")
        for test in (test_reference, test_bugs, test_numbers, test_cheats,
                     test_bad_students):
            test(page)
        test_mistakes(page, "--all" in arguments)
        test_student(browser)
        own = Write(browser, "#own")
        test_own(own)
        test_breaks(own)
        test_tiny(own)
        if "--all" in arguments:
            test_whole(own)
        test_seen(browser)
        # CodeMirror says this of a machine that is busy
        claim_quiet(browser, "Measure loop restarted")
    test_firefox()
    end()


if __name__ == "__main__":
    main(sys.argv[1:])

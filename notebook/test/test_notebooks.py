#!/usr/bin/env python3
"""Tests of make.py and lab.py with small labs that need no training, of the
program gpt with a small model, and of what labs 15 and 16 do with a text from
the reader.

    python3 notebook/test/test_notebooks.py

Each test states its claim. The last line is "N passed, N failed".
"""
import contextlib
import io
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from types import SimpleNamespace
from unittest import mock

HERE = os.path.abspath(f"{__file__}/../..")
ROOT = os.path.dirname(HERE)
sys.path += [HERE, f"{ROOT}/tests/lib"]
import lab  # noqa: E402
import make  # noqa: E402
from command import Ended, run as execute  # noqa: E402
from harness import claim, end  # noqa: E402
LAB = """``` {.code .python}
import lab
from lab import plt
plt.plot([1, 2])
plt.show()
```

``` {.code .python}
%s
```
"""
LABS = {
    "01-trained": "lab.exact('a', 1); lab.learned('b', OFF + 1, within=0.1)\n"
                  "print(lab.short('full', 'short'))\n"
                  "lab.after_training('b is low', OFF == 0)",
    "02-times": "lab.time('a', 1)",
}
ALONE = {**os.environ, "OMP_NUM_THREADS": "1"}
SMALL = ("--d-model", 8, "--heads", 2, "--layers", 1, "--context", 16)
LONG = ("--steps", 1000000, "--model")


# ---------------------------------------------------------------- programs

def program(name, words):
    return [f"{ROOT}/build/notebook/{name}",
            *(os.fsdecode(word) if isinstance(word, bytes) else str(word)
              for word in words)]


def ran(command, folder, **how):
    """Runs a program to its end, whatever its status."""
    return execute(*command, allowed=(), cwd=folder, timeout=300, **how)


def made(*names):
    execute("make", "-s", *(f"build/notebook/{name}" for name in names), cwd=ROOT)


def gpt(folder, *words, **how):
    return ran(program("gpt", words), folder, env=ALONE, **how)


def refused(done, status, *words):
    """One line that says why, and nothing else."""
    lines = done.err.splitlines()
    return (done.status == status and len(lines) == 1 and not done.out
            and all(word in lines[0] for word in words))


def stopped(command, folder, *signals, within=60, unread=False):
    """Runs a training and sends it these signals after its first line. If `unread`,
    nobody reads its messages from then on -> its status, None if it had to be
    killed, and what it said."""
    with subprocess.Popen(command, cwd=folder, env=ALONE, text=True,
                          stderr=subprocess.PIPE) as process:
        process.stderr.readline()
        if unread:
            process.stderr.close()
        for which in signals:
            time.sleep(0.3)
            process.send_signal(which)
        try:
            said = process.communicate(timeout=within)[1]
        except subprocess.TimeoutExpired:
            process.kill()
            return None, ""
        return process.returncode, said


def limited(what, most):
    """Arguments that run a program with no more than this of a resource."""
    return {"preexec_fn": lambda: resource.setrlimit(what, (most, most))}


def bytes_of(folder, name):
    with open(f"{folder}/{name}", "rb") as file:
        return file.read()


def write(folder, name, content):
    with open(f"{folder}/{name}", "wb") as file:
        file.write(content if isinstance(content, bytes) else content.encode())


# ---------------------------------------------------------------- make.py, lab.py

def project(folder):
    """A project with the small labs, as they are when OFF is 0."""
    os.makedirs(f"{folder}/notebook/thumbnails")
    shutil.copy(f"{HERE}/lab.py", f"{folder}/notebook")
    write(folder, "Makefile", "transformer:\n")
    write_labs(folder, 0)


def write_labs(folder, off):
    for name, text in LABS.items():
        write(folder, f"notebook/{name}.md", LAB % f"OFF = {off}\n{text}")


def run(folder, *words, **environment):
    """Runs make.py in that project, in this process, which has imported all that it
    needs -> what ran() returns."""
    with contextlib.redirect_stdout(io.StringIO()) as said, \
            contextlib.redirect_stderr(io.StringIO()) as failed, \
            mock.patch.dict(os.environ, environment), \
            mock.patch.object(sys, "argv", ["make.py", *words]), \
            mock.patch.multiple(make, ROOT=folder, HERE=f"{folder}/notebook",
                                BUILD=f"{folder}/build/notebook"):
        try:
            make.main()
        except SystemExit as error:
            status = error.code
    if isinstance(status, str):  # as Python itself does
        failed.write(status + "\n")
        status = 1
    return Ended(status, said.getvalue(), failed.getvalue())


def committed(folder):
    """The committed labs, byte by byte."""
    return {name[:-len(".ipynb")]: bytes_of(folder, f"notebook/{name}")
            for name in os.listdir(f"{folder}/notebook") if name.endswith(".ipynb")}


def test_choice(folder):
    """N, which chooses labs."""
    make.HERE = folder
    for number in (1, 2, 3, 10):
        write(folder, f"{number:02}-lab.md", "")
    for words, wanted in ((["2"], [2]), (["01-2,10"], [1, 2, 10]),
                          (["10", "3"], [3, 10]), ([], [1, 2, 3, 10])):
        found = [int(os.path.basename(path)[:2]) for path in make.sources(words)]
        claim(found == wanted, f"N=\"{' '.join(words)}\" chooses {wanted}", found)
    for words in (["9"], ["0"], ["x"], ["1", "11"], ["1.5"], ["-1"], ["3-10"],
                  ["2-1"]):
        with contextlib.redirect_stderr(io.StringIO()) as said:
            try:
                status = make.sources(words)
            except SystemExit as error:
                status = error.code
        claim(status == 2 and re.fullmatch(f".*no lab {re.escape(words[-1])}:.*\n",
                                           said.getvalue()),
              f"N=\"{' '.join(words)}\" is refused in one line", said.getvalue())


def differences(old, new, compared):
    """What is said of a lab that first printed `old` and then `new`."""
    def numbers(prints):
        with contextlib.redirect_stdout(io.StringIO()) as said:
            prints()
        return make.numbers(SimpleNamespace(
            cells=[{"outputs": [{"text": said.getvalue()}]}]))
    return list(make.differences(numbers(old), numbers(new), compared))


def test_comparison():
    full, short = {make.EXACT, make.LEARNED}, {make.EXACT}
    nothing = "nothing is compared: print a number with lab.exact"

    def exact(value):
        return lambda: lab.exact("a", value, within=0.1)

    def learned(value, more=True):
        return lambda: (lab.learned("b", value, within=0.1),
                        more and lab.exact("a", 1))

    for name, compared in (("full", full), ("short", short)):
        for text, old, new, said in (
                (f"{name} form: an exact number within its tolerance passes",
                 exact(1), exact(1.05), []),
                ("and one that is off fails",
                 exact(1), exact(6), ["a: was 1 (± 0.1), is 6"]),
                ("so does one that is no longer printed",
                 learned(1), exact(1), ["b: only in the old run"]),
                ("and one that is new",
                 exact(1), learned(1), ["b: only in the new run"]),
                ("and one that is of another kind",
                 exact(1), lambda: lab.learned("a", 1, 0.1),
                 ["a: was exact, is learned", *[nothing] * (name == "short")]),
                ("a lab with times only fails",
                 lambda: lab.time("a", 1), lambda: lab.time("a", 2), [nothing])):
            found = differences(old, new, compared)
            claim(found == said, text, found)
    claim(differences(learned(1), learned(6), full) == ["b: was 1 (± 0.1), is 6"]
          and not differences(learned(1), learned(6), short),
          "a learned number that is off fails in the full form only")
    claim(not differences(learned(1, False), learned(1, False), full)
          and differences(learned(1, False), learned(1, False), short),
          "in the short form a lab with learned numbers only fails")


def test_labs(folder):
    """Two labs, made and checked."""
    done = run(folder)
    before = committed(folder)
    claim(set(before) == set(LABS) == {name[:-len(".png")] for name in os.listdir(
              f"{folder}/notebook/thumbnails")},
          "without N all labs are made, each with its picture",
          done.out + done.err)
    done = run(folder, "--check")
    claim("ok   01-trained: 1 exact, 1 learned" in done.out
          and "FAIL 02-times" in done.out and done.status == 1
          and done.out.endswith("1 passed, 1 failed\n"),
          "a lab that reaches its numbers again passes; one in which nothing is "
          "compared fails, with status 1", done.out)
    write_labs(folder, 5)
    full, short = (run(folder, "--check", *more, "1")
                   for more in ((), ("--short",)))
    claim("     AssertionError: not so: b is low\n" in full.out
          and "Traceback" not in full.out and full.status == 1
          and short.status == 0,
          "a claim about trained models is asserted in the full form only, "
          "and the reason is one line", full.out + short.out)
    after = bytes_of(folder, "build/notebook/01-trained.ipynb")
    claim(b"full" in before["01-trained"]
          and b"short" in after.rsplit(b'"outputs"', 1)[1],
          "lab.short takes the second number in the short form only")
    claim(refused(run(folder, "--chekc"), 2, "--check"),
          "an option that does not exist is refused in one line")
    claim(refused(run(folder, "--short"), 2, "only for checks"),
          "the short form never overwrites a committed lab")
    claim(before == committed(folder),
          "neither checks nor refused commands have changed a committed lab")


def test_packages(folder):
    done = execute(sys.executable, "-S", make.__file__, allowed=())
    claim(refused(done, 1, "apt-get install python3-ipykernel "),
          "without a package: one line that names it", done.err)
    done = run(folder, PATH="/nonexistent")
    claim(refused(done, 1, "apt-get install pandoc"),
          "without pandoc: one line that names the package", done.err)
    write(folder, "Makefile", "transformer:\n\t@echo no compiler >&2; exit 1\n")
    done = run(folder, "1")
    claim(done.status == 1 and "Traceback" not in done.err
          and done.err.endswith("of the labs do not compile\n"),
          "if programs do not compile, that is named as the reason", done.err)


# ---------------------------------------------------------------- gpt

def test_gpt_use(folder):
    write(folder, "text", "".join(f"line {k}:\tüber {k * k % 97}\n"
                                  for k in range(400)))
    for tokens in ("char", "bpe"):
        done = gpt(folder, "train", "text", "--tokens", tokens, *SMALL,
                   "--steps", 40, "--valid", "text", "--model",
                   f"{tokens}.safetensors")
        claim(done.status == 0 and "step 40/40" in done.err,
              f"gpt learns a text of its own ({tokens})", done.err)
        one, again, other = (gpt(folder, "generate", f"{tokens}.safetensors", "line 7",
                                 "--tokens", 50, *more)
                             for more in ((), (), ("--seed", 2)))
        claim(one.status == 0 and one.out.startswith("line 7")
              and len(one.out) > 50,
              "and goes on with a prompt, for longer than its context", one.err)
        claim(one.out == again.out != other.out,
              "one seed gives one text, another seed another")
    gpt(folder, "train", "text", *SMALL, "--steps", 40, "--model", "one.safetensors")
    for name, mark in (("plain", ""), ("marked", "\ufeff")):
        write(folder, name, f"{mark}one line\n{mark}another\n" * 9)
        done = gpt(folder, "train", name, *SMALL, "--steps", 1, "--model",
                   f"{name}.safetensors")
    claim(bytes_of(folder, "plain.safetensors") == bytes_of(folder, "marked.safetensors"),
          "a byte order mark that begins a line is not part of a text", done.err)


def test_gpt_refuses(folder):
    for content, words in (("", "empty"), ("ab\n\0", "zero byte"),
                           (b"ab\n\xff", "2: not valid UTF-8"),
                           ("ab", "only 2 tokens")):
        write(folder, "wrong", content)
        claim(refused(gpt(folder, "train", "wrong"), 1, "wrong", words),
              f"a useless text is refused: {words}")
    for words in ((), ("paint",), ("train",), ("generate",), ("train", "a", "b"),
                  ("train", "text", "--heads", 3), ("train", "text", "--layers"),
                  ("train", "text", "--merges", 5),
                  ("train", "text", "--tokens", "word"),
                  ("train", "text", "--model", ""), ("generate", "char.safetensors", "\r"),
                  ("generate", "char.safetensors", b"\xff"),
                  ("generate", "char.safetensors", "--top-p", 0),
                  ("generate", "char.safetensors", "a", "--top-k", "x"),
                  ("generate", "char.safetensors", "--steps", 5),
                  ("generate", "char.safetensors", "")):
        claim(refused(gpt(folder, *words), 2, "--help"),
              f"wrong use is refused in one line: gpt {' '.join(map(str, words))}")


def test_gpt_ends(folder):
    def training(*words):
        return program("gpt", ("train", "text", *words))

    for which in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        model = f"{which.name}.safetensors"
        status, said = stopped(training(*SMALL, *LONG, model), folder, which)
        claim(status == 128 + which and model in said and gpt(folder, "generate", model).status == 0,
              f"{which.name} ends a run after saving it", (status, said))
    status, _ = stopped(training("--batch", 2000, *LONG, "long.safetensors"), folder,
                        signal.SIGTERM, signal.SIGINT, within=3)
    claim(status == -signal.SIGINT,
          "a second signal ends it at once", status)
    status, _ = stopped(training(*SMALL, *LONG, "unread.safetensors"), folder, signal.SIGINT,
                        unread=True)
    claim(status == 130 and gpt(folder, "generate", "unread.safetensors").status == 0,
          "even if nobody reads its messages any more, it saves", status)
    before = bytes_of(folder, "one.safetensors")
    done = gpt(folder, "train", "text", *SMALL, "--steps", 1, "--model",
               "one.safetensors", **limited(resource.RLIMIT_FSIZE, 4096))
    claim(done.status == 1 and "cannot write one.safetensors: " in done.err
          and bytes_of(folder, "one.safetensors") == before,
          "a file that may not grow so large is reported, and the old one stays",
          (done.status, done.err))


def speechless(model):
    """The bytes of this model, cut down to the special tokens."""
    begin, data = 8 + int.from_bytes(model[:8], "little"), b""
    header = json.loads(model[8:begin])
    metadata = header.pop("__metadata__")
    metadata["target_vocabulary"] = "<pad>\n<start>\n<end>\n<unknown>"
    for name, entry in header.items():
        first, last = (begin + place for place in entry["data_offsets"])
        if re.fullmatch(r"(adam\..\.)?(embedding\.weight|output\.bias)", name):
            last = first + (last - first) // entry["shape"][0] * 4
            entry["shape"][0] = 4
        entry["data_offsets"] = [len(data), len(data) + last - first]
        data += model[first:last]
    text = json.dumps({"__metadata__": metadata, **header}, separators=(",", ":"),
                      ensure_ascii=False).encode()
    return len(text).to_bytes(8, "little") + text + data


def test_gpt_models(folder):
    model = bytes_of(folder, "one.safetensors")
    write(folder, "speechless", speechless(model))
    done = gpt(folder, "generate", "speechless")
    claim(refused(done, 1, "speechless", "special"),
          "a model of special tokens alone is refused", done.err)
    done = gpt(folder, "train", "text", "--layers", 8, "--d-model", 32, "--lr", 1000,
               "--warmup", 1, "--steps", 1000, "--model", "one.safetensors")
    claim(done.status == 1 and ": the loss or its gradient is not finite" in done.err
          and bytes_of(folder, "one.safetensors") == model,
          "a gradient that is not finite ends a run; nothing is saved", done.err)
    before = bytes_of(folder, "text")
    done = gpt(folder, "train", "one.safetensors", "--model", "text")
    claim(refused(done, 2, "--model: ") and bytes_of(folder, "text") == before,
          "a model's name ends in .safetensors, so no text is replaced by one",
          done.err)
    done = ran(["sh", "-c", 'yes | "$@"', "sh",
                *program("gpt", ("train", "/dev/stdin"))], folder, env=ALONE,
               **limited(resource.RLIMIT_AS, 2**30))
    claim(refused(done, 1, "/dev/stdin", "more than 64 MB"),
          "a text without an end is refused when 64 MB are read", done.err)


def test_labs_refuse(folder):
    for name, words, wrong in (
            ("15-classifier", ("hidden", 0, "none", 0, 1, b"off \xff"), "UTF-8"),
            ("16-gpt", ("next", f"{folder}/char.safetensors", b"\xff", 1, 0, 1), "UTF-8"),
            ("16-gpt", ("next", f"{folder}/char.safetensors", "", 1, 0, 1), "empty")):
        done = ran(program(name, words), ROOT)
        claim(refused(done, 1, wrong), f"{name} refuses {words[2:]}",
              (done.status, done.err))


def main():
    signal.signal(signal.SIGINT, signal.default_int_handler)  # programs inherit it
    made("gpt", "15-classifier", "16-gpt")
    with tempfile.TemporaryDirectory() as folder:
        for test in (test_gpt_use, test_gpt_refuses, test_gpt_ends,
                     test_gpt_models, test_labs_refuse):
            test(folder)
    with tempfile.TemporaryDirectory() as folder:
        test_choice(folder)
    test_comparison()
    with tempfile.TemporaryDirectory() as folder:
        project(folder)
        test_labs(folder)
        test_packages(folder)
    end()


if __name__ == "__main__":
    main()

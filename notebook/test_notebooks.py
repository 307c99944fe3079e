#!/usr/bin/env python3
"""Tests of make.py and lab.py with small labs that need no training, of the
program gpt with a small model, and of what labs 15 and 16 do with a text of
one's own.

    python3 notebook/test_notebooks.py

Each test states its claim. The last line is "N passed, N failed".
"""
import contextlib
import io
import json
import os
import random
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from types import SimpleNamespace

import lab
import make

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
sys.path.append(f"{ROOT}/docs/weaver")
from claims import claim as counted, end  # noqa: E402
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


def claim(text, holds, seen=""):
    counted(holds, text, seen)


def project(folder):
    """A project with the small labs, as they are when OFF is 0."""
    os.makedirs(f"{folder}/notebook/thumbnails")
    for name in ("make.py", "lab.py"):
        shutil.copy(f"{HERE}/{name}", f"{folder}/notebook/{name}")
    with open(f"{folder}/Makefile", "w", encoding="utf-8") as file:
        file.write("transformer:\n")
    write_labs(folder, 0)


def write_labs(folder, off):
    for name, text in LABS.items():
        with open(f"{folder}/notebook/{name}.md", "w", encoding="utf-8") as file:
            file.write(LAB % f"OFF = {off}\n{text}")


def run(folder, *words, **environment):
    return subprocess.run(
        [sys.executable, "notebook/make.py", *words], cwd=folder, text=True,
        capture_output=True, env={**os.environ, **environment}, check=False)


def made(folder):
    return {name[:-len(".ipynb")] for name in os.listdir(f"{folder}/notebook")
            if name.endswith(".ipynb")}


def committed(folder):
    """The committed labs, byte by byte."""
    found = {}
    for name in made(folder):
        with open(f"{folder}/notebook/{name}.ipynb", "rb") as file:
            found[name] = file.read()
    return found


def one_line(done, status, *words):
    lines = done.stderr.splitlines()
    return (done.returncode == status and len(lines) == 1 and not done.stdout
            and all(word in lines[0] for word in words))


def test_choice(folder):
    """N, which chooses labs."""
    make.HERE = folder
    for number in (1, 2, 3, 10):
        write(folder, f"{number:02}-lab.md", b"")
    for words, wanted in ((["2"], [2]), (["01-2,10"], [1, 2, 10]),
                          (["10", "3"], [3, 10]), ([], [1, 2, 3, 10])):
        found = [int(os.path.basename(path)[:2]) for path in make.sources(words)]
        claim(f"N=\"{' '.join(words)}\" chooses {wanted}", found == wanted, found)
    for words in (["9"], ["0"], ["x"], ["1", "11"], ["1.5"], ["-1"], ["3-10"],
                  ["2-1"]):
        with contextlib.redirect_stderr(io.StringIO()) as said:
            try:
                status = make.sources(words)
            except SystemExit as end:
                status = end.code
        claim(f"N=\"{' '.join(words)}\" is refused in one line", status == 2
              and re.fullmatch(f".*no lab {re.escape(words[-1])}:.*\n",
                               said.getvalue()), said.getvalue())


def differences(old, new, compared):
    """What is said of a lab that printed once this and then that."""
    def numbers(prints):
        with contextlib.redirect_stdout(io.StringIO()) as said:
            prints()
        return make.numbers(SimpleNamespace(
            cells=[{"outputs": [{"text": said.getvalue()}]}]))
    return list(make.differences(numbers(old), numbers(new), compared))


def test_comparison():
    full, short = {make.EXACT, make.LEARNED}, {make.EXACT}

    def exact(value):
        return lambda: lab.exact("a", value, within=0.1)

    def learned(value, more=True):
        return lambda: (lab.learned("b", value, within=0.1),
                        more and lab.exact("a", 1))

    for name, compared in (("full", full), ("short", short)):
        claim(f"{name} form: an exact number within its tolerance passes",
              not differences(exact(1), exact(1.05), compared))
        claim("and one that is off fails", differences(
            exact(1), exact(6), compared) == ["a: was 1 (± 0.1), is 6"])
        claim("so does one that is no longer printed, and one that is new",
              differences(learned(1), exact(1), compared)
              == ["b: only in the old run"]
              and differences(exact(1), learned(1), compared)
              == ["b: only in the new run"])
        claim("and one that is of another kind", differences(
            exact(1), lambda: lab.learned("a", 1, 0.1), compared)[0]
            == "a: was exact, is learned")
        claim("a lab with times only fails", differences(
            lambda: lab.time("a", 1), lambda: lab.time("a", 2), compared)
            == ["nothing is compared: print a number with lab.exact"])
    claim("a learned number that is off fails in the full form only",
          differences(learned(1), learned(6), full) == ["b: was 1 (± 0.1), is 6"]
          and not differences(learned(1), learned(6), short))
    claim("in the short form a lab with learned numbers only fails",
          not differences(learned(1, False), learned(1, False), full)
          and differences(learned(1, False), learned(1, False), short))


def test_labs(folder):
    """Two labs, made and checked."""
    done = run(folder)
    claim("without N all labs are made, each with its picture",
          made(folder) == set(LABS) == {name[:-len(".png")] for name in os.listdir(
              f"{folder}/notebook/thumbnails")}, done.stdout + done.stderr)
    before = committed(folder)
    done = run(folder, "--check")
    claim("what a new run reaches again passes; where nothing is compared, it "
          "fails, with status 1", "ok   01-trained: 1 exact, 1 learned" in done.stdout
          and "FAIL 02-times" in done.stdout and done.returncode == 1
          and done.stdout.endswith("1 passed, 1 failed\n"), done.stdout)
    write_labs(folder, 5)
    full, short = (run(folder, "--check", *more, "1")
                   for more in ((), ("--short",)))
    claim("a claim about trained models is asserted in the full form only, "
          "and the reason is one line",
          "     AssertionError: not so: b is low\n" in full.stdout
          and "Traceback" not in full.stdout and full.returncode == 1
          and short.returncode == 0, full.stdout + short.stdout)
    claim("lab.short takes the second number in the short form only",
          b"full" in before["01-trained"]
          and "short" in text_of(folder, "01-trained"))
    claim("an option that does not exist is refused in one line",
          one_line(run(folder, "--chekc"), 2, "--check"))
    claim("the short form never overwrites a committed lab",
          one_line(run(folder, "--short"), 2, "only for checks"))
    claim("neither checks nor what is refused has changed a committed lab",
          before == committed(folder))


def test_packages(folder):
    for name in ("nbclient", "nbformat", "matplotlib", "ipykernel"):
        with tempfile.TemporaryDirectory() as path:
            with open(f"{path}/{name}.py", "w", encoding="utf-8") as file:
                file.write("raise ModuleNotFoundError(name=__name__)\n")
            done = run(folder, PYTHONPATH=path)
        claim(f"without {name}: one line that names the package",
              one_line(done, 1, f"apt-get install python3-{name} "), done.stderr)
    done = run(folder, PATH="/nonexistent")
    claim("without pandoc: one line that names the package",
          one_line(done, 1, "apt-get install pandoc"), done.stderr)
    with open(f"{folder}/Makefile", "w", encoding="utf-8") as file:
        file.write("transformer:\n\t@echo no compiler >&2; exit 1\n")
    done = run(folder, "1")
    claim("programs that do not compile are said to be the reason",
          done.returncode == 1 and "Traceback" not in done.stderr
          and done.stderr.endswith("of the labs do not compile\n"), done.stderr)


def text_of(folder, name):
    path = f"{folder}/build/notebook/{name}.ipynb"
    with open(path, encoding="utf-8") as file:
        return file.read().split('"outputs"')[-1]


def program(name, words):
    return [f"{ROOT}/build/notebook/{name}",
            *(word if isinstance(word, bytes) else str(word) for word in words)]


def gpt(folder, *words, **how):
    return subprocess.run(
        program("gpt", words), cwd=folder, capture_output=True, check=False,
        env=ALONE, **how)


def refused(done, status, *words):
    """One line that says why, and nothing else."""
    lines = done.stderr.decode().splitlines()
    return (done.returncode == status and len(lines) == 1 and not done.stdout
            and all(word in lines[0] for word in words))


def bytes_of(folder, name):
    with open(f"{folder}/{name}", "rb") as file:
        return file.read()


def write(folder, name, content):
    with open(f"{folder}/{name}", "wb") as file:
        file.write(content)


def test_gpt_use(folder):
    text = "".join(f"line {k}:\tüber {k * k % 97}\n" for k in range(400))
    write(folder, "text", text.encode())
    for tokens in ("char", "bpe"):
        done = gpt(folder, "train", "text", "--tokens", tokens, *SMALL,
                   "--steps", 40, "--valid", "text", "--model", tokens)
        claim(f"gpt learns a text of its own ({tokens})", done.returncode == 0
              and b"step 40/40" in done.stderr, done.stderr)
        done = gpt(folder, "generate", tokens, "line 7", "--tokens", 50)
        claim("and goes on with a prompt, for longer than its context",
              done.returncode == 0 and done.stdout.startswith(b"line 7")
              and len(done.stdout.decode()) > 50, done.stderr)
        again = gpt(folder, "generate", tokens, "line 7", "--tokens", 50)
        other = gpt(folder, "generate", tokens, "line 7", "--tokens", 50,
                    "--seed", 2)
        claim("one seed gives one text, another seed another",
              done.stdout == again.stdout != other.stdout)
    gpt(folder, "train", "text", *SMALL, "--steps", 40, "--model", "one")
    for more in ((), SMALL):
        gpt(folder, "train", "text", *SMALL, "--steps", 17, "--model", "two")
        done = gpt(folder, "train", "text", *more, "--resume", "--steps", 40,
                   "--model", "two")
        claim(f"a run that is resumed with {len(more)} words more of its command "
              "ends in the same bytes",
              bytes_of(folder, "one") == bytes_of(folder, "two"), done.stderr)
    done = gpt(folder, "train", "text", "--resume", "--dropout", 0.5, "--steps",
               41, "--model", "two")
    claim("a new --dropout holds everywhere", done.returncode == 0
          and bytes_of(folder, "two").count(b'dropout":"0.5"') == 3, done.stderr)
    with subprocess.Popen([f"{ROOT}/build/notebook/gpt", "train", "text",
                           "--steps", "1000000", "--model", "stopped"],
                          cwd=folder, stderr=subprocess.PIPE) as process:
        process.stderr.readline()
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        said = process.stderr.read()
    claim("Ctrl-C saves", process.returncode == 130 and b"--resume" in said
          and gpt(folder, "generate", "stopped").returncode == 0, said)


def damages(good, chance):
    """A safetensors file, damaged in a hundred ways."""
    header = 8 + int.from_bytes(good[:8], "little")
    for _ in range(100):
        bad = bytearray(good)
        at = chance.randrange(header)
        chance.choice((lambda: bad.__delitem__(slice(at, len(bad))),
                       lambda: bad.__delitem__(slice(at, at + 9)),
                       lambda: bad.insert(at, chance.randrange(256)),
                       lambda: bad.__setitem__(at, bad[at] ^ 0x80)))()
        yield bad


def test_gpt_refuses(folder):
    for content, words in ((b"", "empty"), (b"ab\n\0", "zero byte"),
                           (b"ab\n\xff", "2: not valid UTF-8"),
                           (b"ab", "only 2 tokens")):
        write(folder, "wrong", content)
        claim(f"a text that is no use is refused: {words}",
              refused(gpt(folder, "train", "wrong"), 1, "wrong", words))
    for words in ((), ("paint",), ("train",), ("generate",), ("train", "a", "b"),
                  ("train", "text", "--heads", 3), ("train", "text", "--layers"),
                  ("train", "text", "--merges", 5),
                  ("train", "text", "--tokens", "word"),
                  ("train", "text", "--model", "char", "--resume", "--layers", 2),
                  ("train", "text", "--model", ""), ("generate", "char", "\r"),
                  ("generate", "char", b"\xff"),
                  ("generate", "char", "--top-p", 0),
                  ("generate", "char", "a", "--top-k", "x"),
                  ("generate", "char", "--steps", 5), ("generate", "char", "")):
        claim(f"wrong use is refused in one line: gpt {' '.join(map(str, words))}",
              refused(gpt(folder, *words), 2, "--help"))
    wrong = []
    for bad in damages(bytes_of(folder, "char"), random.Random(1)):
        write(folder, "bad", bad)
        done = gpt(folder, "generate", "bad", "--tokens", 1)
        if not refused(done, 1, "bad"):
            wrong.append((done.returncode, done.stderr))
    claim("100 damaged models are refused in one line each", not wrong, wrong)


def started(folder, *words):
    """gpt, training, after its first line."""
    process = subprocess.Popen(program("gpt", ("train", "text", *words)),
                               cwd=folder, stderr=subprocess.PIPE, env=ALONE)
    process.stderr.readline()
    time.sleep(0.3)
    return process


def ended(process, within):
    """Its status; None if it has to be killed."""
    try:
        return process.wait(within)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return None
    finally:
        process.stderr.close()


def test_gpt_ends(folder):
    long = ("--steps", 1000000, "--model")
    for which in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        process = started(folder, *SMALL, *long, which.name)
        process.send_signal(which)
        status = ended(process, 60)
        claim(f"{which.name} ends a run after it was saved",
              status == 128 + which
              and gpt(folder, "generate", which.name).returncode == 0, status)
    process = started(folder, "--batch", 2000, *long, "long")
    process.send_signal(signal.SIGTERM)
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    status = ended(process, 3)
    claim("another signal behind it ends it at once", status == -signal.SIGINT,
          status)
    process = started(folder, *SMALL, *long, "unread")
    process.stderr.close()
    process.send_signal(signal.SIGINT)
    status = ended(process, 60)
    claim("nobody reads its messages any more: it saves all the same",
          status == 130 and gpt(folder, "generate", "unread").returncode == 0,
          status)
    before = bytes_of(folder, "one")
    done = gpt(folder, "train", "text", *SMALL, "--steps", 1, "--model", "one",
               preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE,
                                                     (4096, 4096)))
    claim("a file that may not grow so large: it is said, and the old one stays",
          done.returncode == 1 and b"cannot write one: " in done.stderr
          and bytes_of(folder, "one") == before, (done.returncode, done.stderr))


def changed(model, change):
    """The bytes of a model after change(metadata, tensors), where tensors are
    {name: (shape, numbers)}."""
    end = 8 + int.from_bytes(model[:8], "little")
    header = json.loads(model[8:end])
    metadata = header.pop("__metadata__")
    tensors = {}
    for name, entry in header.items():
        first, last = (end + place for place in entry["data_offsets"])
        tensors[name] = (entry["shape"], list(struct.unpack(
            f"<{(last - first) // 4}f", model[first:last])))
    change(metadata, tensors)
    header, data = {"__metadata__": metadata}, b""
    for name, (shape, values) in tensors.items():
        first = len(data)
        data += struct.pack(f"<{len(values)}f", *values)
        header[name] = {"dtype": "F32", "shape": shape,
                        "data_offsets": [first, len(data)]}
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    return len(text).to_bytes(8, "little") + text + data


def speechless(metadata, tensors):
    """Nothing but the special tokens."""
    metadata["target_vocabulary"] = "<pad>\n<start>\n<end>\n<unknown>"
    for name, (shape, values) in tensors.items():
        if re.fullmatch(r"(adam\..\.)?(embedding\.weight|output\.bias)", name):
            width = shape[1] if len(shape) == 2 else 1
            tensors[name] = [4, *shape[1:]], values[:4 * width]


def steep(_, tensors):
    """A loss that is finite, and a gradient whose norm is not."""
    for name, (shape, values) in tensors.items():
        factor = {"encoder.norm.gain": 1e25, "embedding.weight": 1e-30}
        tensors[name] = shape, [x * factor.get(name, 1) for x in values]


def test_gpt_models(folder):
    model = bytes_of(folder, "one")
    claim("the tests can write a model",
          changed(model, lambda *_: None)[8:].replace(b" ", b"")
          == model[8:].replace(b" ", b""))
    write(folder, "speechless", changed(model, speechless))
    done = gpt(folder, "generate", "speechless")
    claim("a model of special tokens alone is refused",
          refused(done, 1, "speechless", "special"), done.stderr)
    write(folder, "steep", changed(model, steep))
    before = bytes_of(folder, "steep")
    done = gpt(folder, "train", "text", "--resume", "--steps", 50, "--model",
               "steep")
    claim("a gradient that is not finite ends a run; nothing is saved",
          done.returncode == 1 and b"step 41: " in done.stderr
          and bytes_of(folder, "steep") == before, done.stderr)
    before = bytes_of(folder, "text")
    done = gpt(folder, "train", "one", "--model", "text")
    claim("a file that is no model is not replaced by one",
          refused(done, 1, "text is not a model")
          and bytes_of(folder, "text") == before, done.stderr)
    with subprocess.Popen(["yes"], stdout=subprocess.PIPE) as yes:
        done = gpt(folder, "train", "/dev/stdin", stdin=yes.stdout,
                   preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS,
                                                         (2**30, 2**30)))
        yes.kill()
    claim("a text without an end is refused when 64 MB are read",
          refused(done, 1, "/dev/stdin", "more than 64 MB"), done.stderr)


def test_labs_refuse(folder):
    for name, words, wrong in (
            ("15-classifier", ("hidden", 0, "none", 0, 1, b"off \xff"), "UTF-8"),
            ("16-gpt", ("next", f"{folder}/char", b"\xff", 1, 0, 1), "UTF-8"),
            ("16-gpt", ("next", f"{folder}/char", "", 1, 0, 1), "empty")):
        try:
            done = subprocess.run(program(name, words), cwd=ROOT, timeout=60,
                                  capture_output=True, check=False)
        except subprocess.TimeoutExpired:
            claim(f"{name} comes to its end: {words[-1]}", False)
            continue
        claim(f"{name} refuses {words}", refused(done, 1, wrong),
              (done.returncode, done.stderr))


def main():
    signal.signal(signal.SIGINT, signal.default_int_handler)  # programs inherit it
    subprocess.run(["make", "-s", *(f"build/notebook/{name}" for name in
                                    ("gpt", "15-classifier", "16-gpt"))],
                   cwd=ROOT, check=True)
    with tempfile.TemporaryDirectory() as folder:
        test_gpt_use(folder)
        test_gpt_refuses(folder)
        test_gpt_ends(folder)
        test_gpt_models(folder)
        test_labs_refuse(folder)
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

#!/usr/bin/env python3
"""A long training that is interrupted again and again:

    python3 tests/long-run.py                   an hour of training, twice
    MINUTES=5 SEED=2 python3 tests/long-run.py  shorter, and at other moments

A model of 1.8 million parameters ("small" of the benchmark) is trained twice for the
same number of steps: once without a break, and once in many parts. A part ends at a
random moment by Ctrl-C, by a request to end, or by a kill, as when the power fails; the
next one resumes. Then both models must be the same files, and both logs the same but for
the speed. Memory must be flat: it does not grow within the training without a break, nor
from part to part.

Linux tells of memory in /proc. The program, which make has built, uses one thread.
"""

import collections
import itertools
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WORK = ROOT / "build" / "long-run"
MINUTES = float(os.environ.get("MINUTES", 60))
RANDOM = random.Random(int(os.environ.get("SEED", 1)))
MARGIN = 1.02  # of memory: how many pages are in use is not quite the same
# glibc keeps memory that was freed, more of it or less, unless it is told where
# large pieces begin.
os.environ.update(OMP_WAIT_POLICY="passive", MALLOC_MMAP_THRESHOLD_="131072")
sys.path.append(str(ROOT / "docs" / "weaver"))

from claims import claim, end  # noqa: E402

SIZE = "--layers 3 --d-model 128 --heads 4 --lr 0.001"
Run = collections.namedtuple("Run", "status peaks seconds messages")


def write_pairs(name, count):
    """Sentences of 8 to 23 words out of 996, and the same words backwards."""
    with open(WORK / name, "w") as file:
        for _ in range(count):
            words = [f"w{RANDOM.randrange(996)}" for _ in range(RANDOM.randint(8, 23))]
            print(" ".join(words), " ".join(words[::-1]), sep="\t", file=file)


def train(name, seconds, how, *options):
    """Trains until it ends by itself, or for so long; then it gets the signal. Of the
    memory that it has taken its peaks are noted, in kB."""
    peaks, began = [], time.time()
    with open(WORK / f"{name}.err", "w+") as err:
        child = subprocess.Popen(
            ["./transformer", "train", WORK / "train.tsv", "--valid", WORK / "valid.tsv",
             *("" if "--resume" in options else SIZE).split(), "--threads", "1",
             "--model", WORK / f"{name}.safetensors", "--log", WORK / f"{name}.csv",
             *map(str, options)], cwd=ROOT, stdout=err, stderr=err)
        try:
            until = None
            while child.poll() is None and (not until or time.time() < until):
                text = (WORK / f"{name}.err").read_text()
                if not until and "\ntraining:" in text:
                    until = time.time() + seconds
                peaks += map(int, re.findall(r"VmHWM:\s*(\d+)", Path(
                    f"/proc/{child.pid}/status").read_text()))
                time.sleep(0.2)
            child.send_signal(how)
            status = child.wait()
        finally:
            child.kill()
    return Run(status, peaks, time.time() - began, (WORK / f"{name}.err").read_text())


def steps_of(name):
    rows = re.findall("^(\\d+),train,", (WORK / f"{name}.csv").read_text(), re.M)
    return len(set(rows))


def in_parts(steps, longest):
    """The parts, the last of which comes to the end; the others end as they were told."""
    parts, ends = [], {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGKILL: -9}
    for how in itertools.cycle(ends):
        resume = ["--resume"] if (WORK / "parts.safetensors").exists() else []
        seconds = RANDOM.randint(1, longest)
        part = train("parts", seconds, how, "--steps", steps, *resume)
        parts.append(part)
        print(f"     after {seconds} s {how.name}: status {part.status}, step "
              f"{steps_of('parts')}, {max(part.peaks)} kB", flush=True)
        if part.status not in (ends[how], 0):
            claim(False, "each part ends as it was told", part.messages)
        if part.status != ends[how]:
            return parts


def last_rows(path):
    """{step and kind: the rest but for the speed}; of a step that was done again after a
    kill, the last row."""
    rows = [line.split(",") for line in path.read_text().splitlines()]
    return {tuple(row[:2]): row[2:-1] for row in rows}


def flat(text, later, earlier):
    claim(later <= earlier * MARGIN, f"memory: {text}: {later} kB, {earlier} kB")


def main():
    # In the background a shell has programs ignore Ctrl-C, which they hand on.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir(parents=True)
    write_pairs("train.tsv", 4000)
    write_pairs("valid.tsv", 200)
    speed = train("speed", 2 * MINUTES, signal.SIGINT, "--steps", 1000000)
    steps = 30 * steps_of("speed")
    claim(speed.status == 130 and steps >= 100, "there is time for 100 steps, judged by a "
          "thirtieth of it", speed.messages)
    if steps < 100:
        end()
    claim("1,773,544 parameters" in speed.messages, "its model is the benchmark's small")
    whole = train("whole", 600 * MINUTES, signal.SIGINT, "--steps", steps)
    claim(whole.status == 0 and steps_of("whole") == steps,
          f"{steps} steps without a break, {whole.seconds:.0f} seconds", whole.messages)
    parts = in_parts(steps, int(whole.seconds / 12) + 1)
    claim(parts[-1].status == 0 and len(parts) > 3,
          f"the same steps in {len(parts)} parts, with each kind of interruption")
    claim((WORK / "whole.safetensors").read_bytes() == (WORK / "parts.safetensors").read_bytes(),
          "the model is the same file")
    logs = [last_rows(WORK / f"{name}.csv") for name in ("whole", "parts")]
    claim(logs[0] == logs[1], "the log is the same, but for the speed")
    flat("no more at the end than after a fifth", whole.peaks[-1],
         whole.peaks[len(whole.peaks) // 5])
    peaks, half = [max(part.peaks) for part in parts], len(parts) // 2
    flat("later parts take no more than others", max(peaks[half:]), max(peaks[:half]))
    flat("no part takes more than all at once", max(peaks), whole.peaks[-1])
    end()


if __name__ == "__main__":
    main()

"""What the exercises promise, each a line "ok" or "FAIL".

    python3 docs/exercises/test           some minutes on two cores
    python3 docs/exercises/test cheats    this group of claims alone
    FULL=1 python3 docs/exercises/test    with all regions and trainings, not only some

A group is a function of a test_*.py that has no underscore in front. The last line is
"N passed, N failed". With CI=true a check that cannot be made counts as failed. Everything
happens in build/test-exercises, in a folder for each group; two groups run at a time.
"""

import importlib
import inspect
import shutil
import signal
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from groups import WORK, Group

def all_groups():
    """{name: function} of all groups."""
    found = {}
    for path in sorted(Path(__file__).parent.glob("test_*.py")):
        module = importlib.import_module(path.stem)
        found.update({name: f for name, f in inspect.getmembers(module, inspect.isfunction)
                      if f.__module__ == path.stem and name[0] != "_"})
    return found


def run_group(g):
    begun = time.monotonic()
    try:
        g.run(g)
    except Exception as error:  # the other groups are run all the same
        g.holds(f"{g.run.__name__} comes to its end", False, f"{error!r}\n{g.output}")
    print("\n".join([f"--- {g.run.__name__} ({time.monotonic() - begun:.0f} s)"]
                    + g.lines), flush=True)


def main(chosen):
    signal.signal(signal.SIGINT, signal.default_int_handler)  # programs inherit it
    shutil.rmtree(WORK, ignore_errors=True)
    every = all_groups()
    if not {*chosen} <= {*every}:
        sys.exit(f"groups are: {' '.join(every)}")
    begun = [Group(every[name]) for name in every if not chosen or name in chosen]
    with ThreadPoolExecutor(2) as jobs:
        list(jobs.map(run_group, begun))
    failed, passed = sum(g.failed for g in begun), sum(g.passed for g in begun)
    if not failed:
        shutil.rmtree(WORK)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

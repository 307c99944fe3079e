"""How every test in Python counts and reports, as checks.sh and claims.h do in theirs."""

import sys

counts = {True: 0, False: 0}


def claim(holds, text, found=""):
    """If it does not hold, what was found is printed: a text, or ten of a list."""
    counts[bool(holds)] += 1
    print(("ok   " if holds else "FAIL ") + text, flush=True)
    if not holds and found:
        if isinstance(found, list):
            found = "\n".join(map(str, found[:10]))
        print("     |", str(found)[:1500].replace("\n", "\n     | "))


def none(found, text):
    """A claim that nothing was found which should not be."""
    claim(not found, text, list(found))


def end():
    """The last line of a test, and its exit status."""
    print(f"{counts[True]} passed, {counts[False]} failed")
    sys.exit(counts[False] > 0)

"""The test programs, as tests/list has them."""

from pathlib import Path

LIST = [line.split() for line in (Path(__file__).parents[1] / "list").read_text(
    "utf-8").splitlines() if line and not line.startswith("#")]


def listed(word):
    """Those that are run so, but for what is run once."""
    return [test for test, *words in LIST if word in words and "once" not in words]

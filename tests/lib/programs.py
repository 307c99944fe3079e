"""The test programs, as tests/list has them."""

from pathlib import Path

LIST = (Path(__file__).resolve().parents[1] / "list").read_text("utf-8").splitlines()
ROWS = {Path(row.split()[0]).stem: row.split() for row in LIST if row and row[0] != "#"}


def listed(word):
    """Those that are run so, but for what is run once."""
    return [test for test, row in ROWS.items() if word in row and "once" not in row]


def source_of(test):
    """Its file, as seen from the root of the project."""
    return ROWS[test][0]

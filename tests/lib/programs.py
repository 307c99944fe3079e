"""The test programs, as tests/list has them."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIST = [line.split() for line in (ROOT / "tests" / "list").read_text(
    "utf-8").splitlines() if line and not line.startswith("#")]


def listed(word):
    """Those that are run so, but for what is run once."""
    return [test for test, *words in LIST if word in words and "once" not in words]


def source_of(test):
    """Its file, as seen from the root of the project."""
    return next(path for folder in ("tests", "notebook/test") for path in
                (ROOT / folder).rglob(f"{test}.c")).relative_to(ROOT)

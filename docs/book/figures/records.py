"""Reads what docs/book/records/make.sh has recorded."""
import csv
from pathlib import Path

RUNS = Path(__file__).resolve().parent.parent / "records"


def read(name):
    with open(RUNS / name, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def matrices(name, kind, row, value):
    """{what the columns of `kind` say: rows of numbers}"""
    found = {}
    for r in read(name):
        rows = found.setdefault(tuple(r[column] for column in kind), {})
        rows.setdefault(r[row], []).append(float(r[value]))
    return {key: list(rows.values()) for key, rows in found.items()}


def attention(run="attention"):
    """{(kind, layer, head): rows of weights}; and for cross-attention the words written
    and the words looked at."""
    cross = [r for r in read(f"{run}.csv") if r["kind"] == "cross"]
    wrote = {r["query"]: r["query_token"] for r in cross}
    looked = {r["key"]: r["key_token"] for r in cross}
    # What a query writes is the next query's own token.
    return (matrices(f"{run}.csv", ["kind", "layer", "head"], "query", "weight"),
            [*wrote.values()][1:] + ["<end>"], [*looked.values()])


def mean_of_heads(run, layer):
    """The mean weights of a layer's cross-attention."""
    heads = [rows for (kind, its, _), rows in attention(run)[0].items()
             if (kind, its) == ("cross", layer)]
    return [[sum(weights) / len(heads) for weights in zip(*rows)] for rows in zip(*heads)]

"""Reads what docs/runs/make.sh has recorded."""
import csv
from pathlib import Path

RUNS = Path(__file__).resolve().parent.parent / "runs"


def read(name):
    with open(RUNS / name, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def cross_attention(run="attention"):
    """{(layer, head): rows of weights}, words written, words looked at."""
    heads, wrote, looked = {}, {}, {}
    for r in read(f"{run}.csv"):
        if r["kind"] != "cross":
            continue
        rows = heads.setdefault((int(r["layer"]), int(r["head"])), {})
        rows.setdefault(int(r["query"]), []).append(float(r["weight"]))
        wrote[int(r["query"])] = r["query_token"]
        looked[int(r["key"])] = r["key_token"]
    # What a query writes is the next query's own token.
    return ({head: list(rows.values()) for head, rows in heads.items()},
            list(wrote.values())[1:] + ["<end>"], list(looked.values()))

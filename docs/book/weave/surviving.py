#!/usr/bin/env python3
"""Which mistake survives which task: programs with one mistake each, trained on five tasks.

    python3 docs/book/weave/surviving.py

makes those cells of docs/book/records/surviving.csv that are missing, in ten minutes of
processor time for all; `@cells surviving` is a table of them. Mistakes are entries of breaking.py.
"""

import csv
import re
from concurrent.futures import ThreadPoolExecutor
from threading import Lock

from project import ROOT, fail

import breaking
import records

COLUMNS = "mistake,task,loss,token_accuracy,exact_match,bleu".split(",")
HERE = "#lines-that-no-chapter-breaks"

# What is sound, and entries of breaking.py, with the places where their lines are shown.
SOUND = {"sound": "nothing wrong", "seed_2": "nothing wrong, another seed"}
MISTAKES = {
    "no_future_hidden": ("no mask for the future", "09-masks.html#masks-break-it"),
    "no_padding_hidden": ("padding seen", "09-masks.html#masks-break-it"),
    "heads_reshaped": ("heads reshaped, not transposed", HERE),
    "not_shifted": ("target not shifted", "10-batches.html#batches-break-it"),
    "no_positions": ("positions left out", "07-encoder.html#encoder-break-it"),
    "no_scale": ("no scale 1/√K", "02-attention.html#attention-break-it"),
    "small_embeddings": ("√D left out", HERE),
    "lost_share": ("memory’s gradient lost in one layer", "08-decoder.html#decoder-break-it"),
    "smoothed_padding": ("smoothing counts padding", HERE),
    "padding_counts": ("loss counts padding", HERE),
    "noise_in_use": ("dropout left on in use", "12-decoding.html#decoding-break-it"),
    "answer_given": ("expected words fed in the test", HERE),
}
OPTIONS = "--d-model 32 --attention-dropout 0 --activation-dropout 0 --label-smoothing 0.1 " \
    "--batch 16 --lr 0.006 --warmup 100 --threads 1 "
TASKS = {"copying": "--steps 1500", "reversal": "--steps 3000", "eng-fra": "--steps 3500",
         "dates": "--steps 4000 --tokens char", "sounds": "--steps 8000"}
ROWS = (*SOUND, *MISTAKES)
CELLS = [(mistake, task) for mistake in ROWS for task in TASKS]
UNNOTICED = 1  # points of exact match that nobody would miss


def data(task, part, folder):
    """A copy of a file of data/; for copying, with the sources of reversal as targets, too."""
    name = "reverse" if task in ("copying", "reversal") else task
    text = (ROOT / "data" / f"{name}.{part}.tsv").read_text(encoding="utf-8")
    path = folder / f"{part}.tsv"
    if task == "copying":
        text = re.sub(r"(?m)^(.*)\t.*", r"\1\t\1", text)
    path.write_text(text, encoding="utf-8")
    return path


def recorded():
    return {(row["mistake"], row["task"]): row for row in records.read("surviving.csv")}


def fill():
    """Makes the missing cells, two mistakes at a time; each is written down at once."""
    there, writing = recorded(), Lock()

    def row_of(mistake):
        for cell in (cell for cell in CELLS if cell[0] == mistake and cell not in there):
            folder = breaking.built(mistake, breaking.SOURCE if mistake in SOUND
                                    else breaking.planted(mistake))
            said = breaking.trained(
                folder, data(cell[1], "train", folder), data(cell[1], "test", folder),
                OPTIONS + TASKS[cell[1]] + " --seed 2" * (mistake == "seed_2"))
            there[cell] = {**said, "mistake": mistake, "task": cell[1]}
            with writing, open(records.RUNS / "surviving.csv", "w", encoding="utf-8") as file:
                out = csv.DictWriter(file, COLUMNS, extrasaction="ignore", lineterminator="\n")
                out.writeheader()
                out.writerows(there[each] for each in CELLS if each in there)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(row_of, ROWS))


def table():
    """The record in HTML: a mistake in each row, a task in each column."""
    there = recorded()
    if [*there] != CELLS:
        fail("surviving.csv lacks cells, or has others: surviving.py makes them")
    lines = ['<div class="cells"><table><thead><tr><td></td>',
             *(f'<th scope="col">{task}</th>' for task in TASKS), "</tr></thead><tbody>"]
    for mistake in ROWS:
        said = SOUND.get(mistake) or '<a href="{1}">{0}</a>'.format(*MISTAKES[mistake])
        lines.append(f'<tr><th scope="row">{said}</th>')
        for task in TASKS:
            loss, accuracy, exact = (float(there[mistake, task][name]) for name in COLUMNS[2:5])
            green = mistake != "sound" and exact >= float(
                there["sound", task]["exact_match"]) - UNNOTICED
            lines.append(f'<td{" class=unnoticed" if green else ""} title="{exact:.2f} % of the '
                         f'sentences exact"><b>{"✓" if green else f"{exact:.0f} %"}</b>'
                         f"<small>{loss:.2f}</small><small>{accuracy:.1f}</small></td>")
        lines.append("</tr>")
    return "\n".join([*lines, "</tbody></table></div>"])


if __name__ == "__main__":
    fill()

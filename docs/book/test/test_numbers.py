#!/usr/bin/env python3
"""Are the numbers of the model that prose quotes those of the records?

    python3 docs/book/test/test_numbers.py        the last line is "N passed, N failed"

Each sentence stands here as a template. A number that is not the record's, or a sentence
that is not in its file, is a failure, which shows what should stand there.
"""

import array
import json
import math
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "weave"))

from project import DOCS, ROOT

import c_code
import records
import surviving
from harness import claim, end, none

MODEL = ROOT / "data" / "models" / "eng-fra.safetensors"
WORDS = ["the", "red", "car", "is", "fast", "end"]


def model():
    """The metadata in the header of MODEL, and a function that reads a tensor."""
    data = MODEL.read_bytes()
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8:8 + size])

    def tensor(name):
        first, last = header[name]["data_offsets"]
        numbers = array.array("f", data[8 + size + first:8 + size + last])
        columns = header[name]["shape"][1]
        return [numbers[i:i + columns] for i in range(0, len(numbers), columns)]

    return header["__metadata__"], tensor


def cosines(side, word):
    """{other words: the cosine of their embedding with that of a word}"""
    metadata, tensor = model()
    rows = dict(zip(metadata[f"{side}_vocabulary"].split("\n"),
                    tensor(f"{side}_embedding.weight")))

    def product(a, b):
        return sum(x * y for x, y in zip(rows[a], rows[b]))

    return {other: product(word, other) / math.sqrt(
        product(word, word) * product(other, other)) for other in rows if other != word}


def nearest(side, word, n):
    """The n words nearest to one: name, cosine, name, cosine …"""
    found = cosines(side, word)
    return [part for other in sorted(found, key=found.get, reverse=True)[:n]
            for part in (other, found[other])]


def whence(column, where):
    return next(float(row[column]) for row in records.read("../../../notebook/02-whence.csv")
                if f"{row['change']} {row['where']}" == where)


def broken(name):
    """{what was measured: (the file as it is, with a broken line)} of a section "Break it"."""
    text = (DOCS / "book" / "records" / "breaking" / f"{name}.txt").read_text(encoding="utf-8")
    return {label: pair for label, *pair in re.findall(r"(?m)^(\S.*?) {2,}([\d.]+) +([\d.]+)$", text)}


def quoted():
    """(file, template, what stands in its braces)"""
    heads = records.attention("red-car")[0]
    the = [heads["encoder", "1", h][0] for h in "0123"]
    car = [heads["encoder", "0", h][2] for h in "0123"]
    to_car = heads["encoder", "1", "1"]
    red = [heads["cross", "1", h][2][1] for h in "0123"]
    mean = records.mean_of_heads("red-car", "1")
    seeds = records.read("seeds.csv")
    log = [row for row in records.read("log.csv") if row["split"] == "train"]
    valid = {int(row["step"]): float(row["loss"]) for row in records.read("log.csv")
             if row["split"] == "valid"}
    yield "transformer.c", "{:.2f} {:.2f} {:.2f} {:.2f} {:.2f} {:.2f}", the[3]
    yield "transformer.c", 'attentions give "car" {:.2f}, {:.2f} and {:.2f}', \
        [row[2] for row in the[:3]]
    yield "transformer.c", 'of {:.0f} French words like "la", {:.0f} % change', \
        [whence("cases", "patch memory: the determiner"),
         whence("other", "patch memory: the determiner")]
    yield "transformer.c", 'is that of "{}" (their cosine is {:.2f}), followed by "{}" ' \
        '({:.2f}) and "{}" ({:.2f}), while "car" is at {:.2f}', \
        [*nearest("source", "red", 3), cosines("source", "red")["car"]]
    yield "transformer.c", 'Closest to "la" are "{}" ({:.2f}), "{}" and "{3}" ({:.2f} each)' \
        .replace("{3}", nearest("target", "la", 3)[4]), nearest("target", "la", 2)
    yield "transformer.c", '"the", "red" and "fast" all look at "car" in one of the heads, ' \
        "with weights of {:.2f}, {:.2f} and {:.2f}", [to_car[i][2] for i in (0, 1, 4)]
    yield "transformer.c", 'the query of "voiture" gives "red" {:.2f}, {:.2f}, {:.2f} and ' \
        "{:.2f}", red
    figures = "docs/book/figures/mixtures.py"
    yield figures, ", ".join(f'{{:.2f}} for "{word}"' for word in WORDS[:5]).replace(
        ', {:.2f} for "fast"', ', {:.2f} for "fast" and {:.2f} for the end'), the[3]
    yield figures, 'Head 0 is filled by "red" ({:.2f}). Head 1 has {:.2f} "is", {:.2f} the ' \
        'end and {:.2f} "the"; head 2 has {:.2f} "fast", {:.2f} "the" and {:.2f} the end. ' \
        "Head 3 is filled by the end ({:.2f})", [
            car[0][1], car[1][3], car[1][5], car[1][0], car[2][4], car[2][0], car[2][5],
            car[3][5]]
    yield figures, 'The bar of "car" is "is" ({:.2f}) and "fast" ({:.2f}), that of "is" is ' \
        '"is" ({:.2f}) and "car" ({:.2f})', [to_car[2][3], to_car[2][4], to_car[3][3],
                                             to_car[3][2]]
    yield figures, '"the" ({:.2f}) and "car" ({:.2f})', [mean[0][0], mean[0][2]]
    yield "docs/book/figures/plots.py", "falls from {:.2f} at step 10", [float(log[0]["loss"])]
    yield "docs/book/figures/plots.py", "{:.2f} at step 94, {:.3f} at step 470, and {:.5f} at " \
        "the end, step 1,880", [valid[94], valid[470], valid[1880]]
    yield "docs/book/figures/plots.py", "in {} of the {} steps shown", [
        sum(float(row["gradient_norm"]) > 1 for row in log), len(log)]
    looking = "docs/book/text/13-looking.md"
    yield looking, "looks at \"car\" with a weight of {} when", [seeds[0]["cross"]]
    yield looking, "{:.0f} % change gender. With its row at the noun itself, {:.0f} %", [
        whence("other", "patch memory: the determiner"), whence("other", "patch memory: the noun")]
    yield looking, "is a second way, and {:.0f} % stay", [
        whence("same", "zero encoder: all others' weights on the noun")]
    yield looking, "In {} of ten a head of cross-attention", [
        ["none", "one", "two", "three"][sum(float(row["cross"]) > 0.5 for row in seeds)]]
    yield looking, "one of the {} that translate every sentence", [
        ["none", "one", "two", "three", "four", "five"][
            sum(row["exact"] == "100.00" for row in seeds)]]
    which, cells = "docs/book/text/which-mistake.md", surviving.recorded()
    words = {cell: float(row["token_accuracy"]) for cell, row in cells.items()}
    yield which, "more than {} % of the words are right in all five", [math.floor(10 * min(
        words[name, task] for task in surviving.TASKS
        for name in ("no_future_hidden", "not_shifted"))) / 10]
    yield which, "nothing wrong has {:.1f} %", [words["sound", "sounds"]]
    yield which, "on sounds {:.1f} % of what it counts", [words["padding_counts", "sounds"]]
    yield which, "leave {:.1f} % of the words of copying right", [words["heads_reshaped", "copying"]]
    yield which, "the BLEU rises from {} to {}", [
        cells[name, "sounds"]["bleu"] for name in ("sound", "answer_given")]
    steps = (DOCS / "book" / "records" / "300-steps.txt").read_text(encoding="utf-8")
    page, tokens, sentences = "docs/book/text/what-is-wrong.md", "% of tokens right", "% of sentences right"
    shifted, future, order, noise = map(broken, (
        "not_shifted", "no_future_hidden", "no_positions", "noise_in_use"))
    yield page, "gets {} % of the tokens of unseen pairs right and {} % of the sentences", [
        shifted[tokens][0], shifted[sentences][0]]
    yield page, "a loss of {}, {:.0f} % of the tokens, no sentence right", [
        shifted["loss, unseen pairs"][1], float(shifted[tokens][1])]
    yield page, "a lower loss than the right program's, {} % of the tokens", [future[tokens][1]]
    yield page, "the loss stays at {:.1f}, which", [float(broken("wrong_side")["loss, unseen pairs"][1])]
    yield page, "{} % of the sentences are right:", [order[sentences][1]]
    yield page, "and {1} % of the sentences right instead of {0} %", noise[sentences]
    plainly = re.search(r"reverse\.train.*\n.*\n.*\n.*\n +100 +(\S+).*\n +300 +(\S+)", steps)
    yield page, "1.8937 beside {:.4f}, and after 300 steps 1.0765 beside {:.4f}", map(
        float, plainly.groups())
    yield "data/README.md", "checksum `{}`, after 300 steps `{}`", [
        seeds[0]["checksum"], re.search("checksum (.*)", steps)[1]]
    yield "README.md", "checksum {}: the model of the book", [seeds[0]["checksum"]]


def check_places(text):
    """The lines of transformer.c that a page names are there."""
    lines = re.findall(r'Here: [`"]([^`"]+)[`"] in `(\w+)`', text)
    none([f"{place}: {line}" for line, place in lines if line not in "\n".join(
        c_code.function(ROOT / "transformer.c", place).lines)],
         f"{len(lines)} lines that it names are there")
    claim(len(lines) > 10, "what-is-wrong.md names them")


def plain(text):
    """A text without the marks of comments, and with single blanks."""
    return " ".join(re.sub(r"^ *(//|#) ?", "", text, flags=re.M).split())


claim([*surviving.recorded()] == surviving.CELLS, "surviving.csv has each mistake in each task")
texts = {}
for name, template, values in quoted():
    if name not in texts:
        texts[name] = plain((ROOT / name).read_text(encoding="utf-8"))
    wanted = plain(template.format(*values))
    claim(wanted in texts[name], f"{name}: {wanted}")
check_places(texts["docs/book/text/what-is-wrong.md"])
end()

"""Checks the program pretrained on a folder with published parameters.

    make pretrained-check DIR=FOLDER

It says in words what it saw: what the folder holds; whether logits, greedy
tokens and the tokens of hard texts are those of the same model written out in
PyTorch (hub.py, hub_tokens.py); and whether the model knows any English.
"""
import csv
import io
import json
import math
import os
import struct
import subprocess
import sys

import torch

sys.path.append(os.path.abspath(f"{__file__}/../.."))
from lib import hub, hub_tokens  # noqa: E402

TEXT = ("The Transformer is a neural network that translates one sentence into "
        "another. It was first described in 2017, and since then most large "
        "language models have been built from its parts.")
CAPITAL = "The capital of France is"
wrong = []


def say(text, holds=True):
    print(text if holds else "WRONG: " + text, flush=True)
    if not holds:
        wrong.append(text)


def program(name, *words):
    done = subprocess.run(
        [f"{hub.ROOT}/build/notebook/{name}", *map(str, words)],
        capture_output=True, check=False)
    if done.returncode:
        sys.exit("pretrained_check.py: the program says: "
                 + done.stderr.decode().strip())
    return done.stdout.decode("utf-8", "replace")


def rows(*words, name="18-pretrained"):
    return list(csv.DictReader(io.StringIO(program(name, *words))))


def content(folder, name):
    with open(f"{folder}/{name}", encoding="utf-8") as file:
        return file.read()


def parameters(folder, c):
    """{name as in hub.py: tensor in double precision}"""
    found, wanted = {}, {}
    with open(f"{folder}/model.safetensors", "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        begin = file.tell()
        for name, entry in header.items():
            if entry.get("dtype") == "F32":
                first, last = entry["data_offsets"]
                file.seek(begin + first)
                name = name.replace("Norm.gamma", "Norm.weight")
                found[name.replace("Norm.beta", "Norm.bias")] = torch.frombuffer(
                    bytearray(file.read(last - first)),
                    dtype=torch.float32).reshape(entry["shape"])
    for name in hub.shapes(c, c["vocab_size"]):
        known = [n for n in (name, "transformer." + name,
                             name.removeprefix("bert.")) if n in found]
        wanted[name] = found[known[0]].double()
    return wanted


def tokenizer(folder, c):
    """The same tokenizer in Python."""
    if c["model_type"] == "bert":
        name = "tokenizer_config.json"
        cased = (os.path.exists(f"{folder}/{name}") and not
                 json.loads(content(folder, name)).get("do_lower_case", True))
        return hub_tokens.WordPieces(content(folder, "vocab.txt").splitlines(),
                                     cased)
    lines = content(folder, "merges.txt").split("\n")
    return hub_tokens.BytePairs(
        json.loads(content(folder, "vocab.json")),
        [tuple(line.split(" ")) for line in lines
         if line and not line.startswith("#version")])


def check_tokens(folder, kind, cut):
    texts = hub_tokens.hard_texts(2000)
    path = f"{hub.ROOT}/build/notebook/hard-texts"
    hub_tokens.write_texts(path, texts)
    other = [text for text, row in zip(texts, rows("tokens", kind, folder, path))
             if list(map(int, row["tokens"].split())) != cut.encode(text)]
    say(f"{len(texts) - len(other)} of {len(texts)} hard texts are cut into the "
        "same tokens as in Python"
        + (f"; not this one: {other[0]!r}" if other else "."), not other)


def check_numbers(what, ours, wanted):
    ours = torch.tensor([float(x) for x in ours]).double().reshape(wanted.shape)
    error, size = float((ours - wanted).abs().max()), float(wanted.abs().max())
    say(f"The {what} are PyTorch's to {error:.1e}; the largest is {size:.1f}.",
        error <= 1e-4 * max(1, size))


def check_bert(folder, c, p, cut):
    ids = cut.encode(f"{CAPITAL} [MASK].".encode())
    found = rows("bert", folder, *ids)
    for what, wanted in zip(("encoding", "logit"),
                            hub.bert(p, c, torch.tensor(ids))):
        check_numbers(what + "s", [row["value"] for row in found
                                   if row["kind"] == what], wanted)
    print(program("pretrained", "bert", folder, CAPITAL + " [MASK]."))


def check_gpt2(folder, c, p, cut):
    ids = cut.encode(TEXT.encode())
    say(f"A text of {len(TEXT)} characters is {len(ids)} tokens.")
    found, wanted = rows("logits", folder, *ids), hub.logits(p, c, ids)
    for column, how in (("whole", "all at once"), ("cached", "with the cache")):
        check_numbers(f"logits, {how},", [row[column] for row in found], wanted)
    greedy = rows("greedy", folder, 20, *ids[:20])
    tokens = hub.greedy(p, c, ids[:20], 20)
    say("20 greedy tokens are PyTorch's, with the cache and without.",
        all([int(row[column]) for row in greedy] == tokens
            for column in ("whole", "cached")))
    loss = float(torch.nn.functional.cross_entropy(
        wanted[:-1], torch.tensor(ids[1:])))
    chance = math.log(c["vocab_size"])
    say(f"The next token costs it {loss:.2f} nats in this text; guessing would "
        f"cost {chance:.2f}. It knows {'' if loss < chance / 2 else 'no '}English.")
    print(program("pretrained", "gpt2", folder, CAPITAL, "--tokens", 20))


def main():
    folder = sys.argv[1] if len(sys.argv) == 2 else ""
    if not os.path.isfile(f"{folder}/config.json"):
        sys.exit("pretrained_check.py: which folder? It needs a config.json: "
                 "make pretrained-check DIR=FOLDER")
    c = json.loads(content(folder, "config.json"))
    kind = c.get("model_type")
    if kind not in ("gpt2", "bert"):
        sys.exit(f"pretrained_check.py: the model is of type {kind}, not gpt2 or "
                 "bert")
    c = {**(hub.GPT2 if kind == "gpt2" else hub.BERT), **c}
    p, cut = parameters(folder, c), tokenizer(folder, c)
    size = sum(x.numel() for x in p.values())
    say(f"{folder} holds a model of type {kind} with {size:,} parameters, which "
        f"take {4 * size / 1e6:,.0f} MB.")
    check_tokens(folder, kind, cut)
    (check_gpt2 if kind == "gpt2" else check_bert)(folder, c, p, cut)
    print("All is as it should be." if not wrong
          else f"{len(wrong)} things are wrong.")
    sys.exit(len(wrong) > 0)


if __name__ == "__main__":
    main()

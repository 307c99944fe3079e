"""Checks the program pretrained on a folder with published parameters.

    make pretrained-check DIR=FOLDER

It says in words what it saw: what the folder holds; whether logits, greedy
tokens and the tokens of hard texts are those of the same model written out in
PyTorch (hub.py, hub_tokens.py); and whether the model knows any English.
"""
import csv
import glob
import io
import json
import math
import os
import struct
import subprocess
import sys

import torch

import hub
import hub_tokens

FLOATS = {"F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16}
TEXT = ("The Transformer is a neural network that translates one sentence into "
        "another. It was first described in 2017, and since then most large "
        "language models have been built from its parts.")
wrong = []


def say(text, holds=True):
    print(text if holds else "WRONG: " + text, flush=True)
    if not holds:
        wrong.append(text)


def stop(reason):
    print("pretrained_check.py: " + reason, file=sys.stderr)
    sys.exit(1)


def program(name, *words):
    done = subprocess.run(
        [f"{hub.ROOT}/build/notebook/{name}", *map(str, words)],
        capture_output=True, check=False)
    if done.returncode:
        stop("the program says: " + done.stderr.decode().strip())
    return done.stdout.decode("utf-8", "replace")


def rows(*words, name="18-pretrained"):
    return list(csv.DictReader(io.StringIO(program(name, *words))))


# ---------------------------------------------------------------- the folder

def read_json(folder, name):
    with open(f"{folder}/{name}", encoding="utf-8") as file:
        return json.load(file)


def tensors_in(path):
    """A safetensors file -> {name: tensor} of its floats."""
    with open(path, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        begin = file.tell()
        found = {}
        for name, entry in header.items():
            if entry.get("dtype") in FLOATS:
                first, last = entry["data_offsets"]
                file.seek(begin + first)
                found[name] = torch.frombuffer(
                    bytearray(file.read(last - first)),
                    dtype=FLOATS[entry["dtype"]]).reshape(entry["shape"])
    return found


def parameters(folder, c):
    """{name as in hub.py: tensor in double precision}"""
    files = (glob.glob(f"{folder}/model.safetensors")
             or sorted(glob.glob(f"{folder}/model-*.safetensors")))
    found = {}
    for path in files:
        for name, x in tensors_in(path).items():
            name = name.replace("Norm.gamma", "Norm.weight").replace(
                "Norm.beta", "Norm.bias")
            found[name] = x
    wanted = {}
    for name in hub.shapes(c, c["vocab_size"]):
        names = [name, "transformer." + name, *(name[len(prefix):] for prefix in
                                                ("bert.", "model.")
                                                if name.startswith(prefix))]
        known = [n for n in names if n in found]
        if not known:
            stop(f"the tensor {name} is missing")
        wanted[name] = found[known[0]].double()
    return wanted


def tokenizer(folder, c):
    """The same tokenizer in Python."""
    if c["model_type"] == "bert":
        with open(f"{folder}/vocab.txt", encoding="utf-8") as file:
            tokens = file.read().split("\n")
        cased = (os.path.exists(f"{folder}/tokenizer_config.json") and not
                 read_json(folder, "tokenizer_config.json").get("do_lower_case",
                                                                True))
        return hub_tokens.WordPieces(tokens[:-1], cased)
    if c["model_type"] == "gpt2":
        with open(f"{folder}/merges.txt", encoding="utf-8") as file:
            merges = [tuple(line.split(" ")) for line in
                      file.read().split("\n")
                      if line and not line.startswith("#version")]
        return hub_tokens.BytePairs(read_json(folder, "vocab.json"), merges)
    t = read_json(folder, "tokenizer.json")
    first = None
    steps = t.get("post_processor") or {}
    for step in steps.get("processors", [steps]):
        special = (step.get("single") or [{}])[0].get("SpecialToken")
        if special:
            first = next(a["id"] for a in t["added_tokens"]
                         if a["content"] == special["id"])
    kinds = [step["type"] for step in
             t["pre_tokenizer"].get("pretokenizers", [t["pre_tokenizer"]])]
    return hub_tokens.BytePairs(
        t["model"]["vocab"],
        [tuple(m.split(" ")) if isinstance(m, str) else tuple(m)
         for m in t["model"]["merges"]],
        llama="Split" in kinds, digits="Digits" in kinds, first=first)


# ---------------------------------------------------------------- checks

def check_tokens(folder, kind, cut):
    texts = hub_tokens.hard_texts(2000)
    path = f"{hub.ROOT}/build/notebook/hard-texts"
    hub_tokens.write_texts(path, texts)
    found = rows("tokens", kind, folder, path)
    other = [text for text, row in zip(texts, found)
             if list(map(int, row["tokens"].split())) != cut.encode(text)]
    say(f"{len(texts) - len(other)} of {len(texts)} hard texts are cut into the "
        "same tokens as in Python"
        + (f"; not this one: {other[0]!r}" if other else "."), not other)


def check_numbers(kind, what, ours, wanted):
    ours = torch.tensor([float(x) for x in ours]).double().reshape(wanted.shape)
    error, size = float((ours - wanted).abs().max()), float(wanted.abs().max())
    say(f"{kind}: the {what} are PyTorch's to {error:.1e}; the largest is "
        f"{size:.1f}.", error <= 1e-4 * max(1, size))


def check_bert(folder, c, p, cut):
    ids = cut.encode(b"The capital of France is [MASK].")
    found = rows("bert", folder, *ids)
    for what, wanted in zip(("encoding", "logit"), hub.bert(p, c, torch.tensor(ids))):
        check_numbers("bert", what + "s", [row["value"] for row in found
                                           if row["kind"] == what], wanted)
    print(program("pretrained", "bert", folder,
                  "The capital of France is [MASK]."))


def check_writer(folder, kind, c, p, cut):
    ids = cut.encode(TEXT.encode())
    say(f"A text of {len(TEXT)} characters is {len(ids)} tokens.")
    found = rows("logits", kind, folder, *ids)
    wanted = hub.logits(p, c, ids)
    for column, how in (("whole", "all at once"), ("cached", "with the cache")):
        check_numbers(kind, f"logits, {how},", [row[column] for row in found],
                      wanted)
    greedy = rows("greedy", kind, folder, 20, *ids[:20])
    tokens = hub.greedy(p, c, ids[:20], 20)
    say("20 greedy tokens are PyTorch's, with the cache and without.",
        [int(row["whole"]) for row in greedy] == tokens
        == [int(row["cached"]) for row in greedy])
    loss = float(torch.nn.functional.cross_entropy(
        wanted[:-1], torch.tensor(ids[1:])))
    chance = math.log(c["vocab_size"])
    say(f"The next token costs it {loss:.2f} nats in this text; guessing would "
        f"cost {chance:.2f}. " + ("It knows English." if loss < chance / 2
                                  else "It knows no English."))
    print(program("pretrained", kind, folder, "The capital of France is",
                  "--tokens", 20))


def main():
    if len(sys.argv) != 2 or not os.path.isfile(f"{sys.argv[1]}/config.json"):
        stop("which folder? It needs a config.json: "
             "make pretrained-check DIR=FOLDER")
    folder = sys.argv[1]
    c = read_json(folder, "config.json")
    kind = c.get("model_type")
    if kind not in ("gpt2", "llama", "bert"):
        stop(f"the model is of type {kind}, not gpt2, llama or bert")
    configs = {"gpt2": hub.GPT2, "bert": hub.BERT,
               "llama": {**hub.LLAMA, "num_key_value_heads":
                         c.get("num_attention_heads")}}
    c = {**configs[kind], "n_inner": None, **c}
    p = parameters(folder, c)
    size = sum(x.numel() for x in p.values())
    say(f"{folder} holds a model of type {kind} with {size:,} parameters, which "
        f"take {4 * size / 1e6:,.0f} MB.")
    cut = tokenizer(folder, c)
    check_tokens(folder, kind, cut)
    if kind == "bert":
        check_bert(folder, c, p, cut)
    else:
        check_writer(folder, kind, c, p, cut)
    print("All is as it should be." if not wrong
          else f"{len(wrong)} things are wrong.")
    sys.exit(len(wrong) > 0)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Tests of the program pretrained and of what it is made of, with small models
in the layouts of the hub, against the same models in PyTorch. What lab 18 shows
(greedy tokens, gradients, mistakes, hard texts) its own numbers hold.

    /usr/bin/python3 notebook/test/test_pretrained.py

The last line is "N passed, N failed".
"""
import csv
import json
import os
import resource
import shutil
import signal
import struct
import sys
import tempfile

import numpy as np
import torch

from test_notebooks import (ALONE, HERE, bytes_of, claim, end, execute, limited,
                            made, program, ran, refused, stopped, write)
from lib import hub, hub_tokens

IDS = [5, 77, 300, 12, 12, 250, 401, 0, 3, 8, 99, 100]
KINDS = {"gpt2": hub.GPT2, "bert": hub.BERT}


def pretrained(folder, *words, **how):
    return ran(program("pretrained", words), folder, env=ALONE, **how)


def rows(*words, name="18-pretrained"):
    return list(csv.DictReader(execute(*program(name, words)).out.splitlines()))


def distance(found, column, wanted):
    """The largest difference between a column and a matrix."""
    ours = np.array([float(row[column]) for row in found])
    return float(np.abs(ours - wanted.numpy().ravel()).max())


# ---------------------------------------------------------------- the models

def gamma_and_beta(name):
    return name.replace("Norm.weight", "Norm.gamma").replace("Norm.bias",
                                                             "Norm.beta")


# Forms in which models come: what the configuration says, and how the file names
# its tensors.
VARIANTS = (
    ("gpt2", "transformer. before each name", {}, "transformer.{}".format),
    ("gpt2", "another inner width", {"n_inner": 100}, str),
    ("bert", "no bert. before its names", {},
     lambda name: name.removeprefix("bert.")),
    ("bert", "gamma and beta in its norms", {}, gamma_and_beta),
    ("bert", "another epsilon", {"layer_norm_eps": 1e-3}, str))


def test_logits(folder):
    for number, (kind, what, changes, renamed) in enumerate(VARIANTS):
        path = f"{folder}/variant-{number}"
        c, p = hub.write_model(path, {**KINDS[kind], **changes}, renamed)
        wanted = hub.logits(p, c, IDS)
        error = (distance(rows("logits", path, *IDS), "cached", wanted)
                 if kind == "gpt2" else
                 distance([row for row in rows("bert", path, *IDS)
                           if row["kind"] == "logit"], "value", wanted))
        claim(error < 1e-4,
              f"{kind}, {what}: the logits are PyTorch's to {error:.1e}")


def test_overflow(folder):
    """Numbers that are finite in the file, and not any more in the model."""
    for kind, name in (("gpt2", "ln_f.weight"),
                       ("bert", "bert.encoder.layer.1.output.dense.weight"),
                       ("bert", "cls.predictions.transform.LayerNorm.weight")):
        path = f"{folder}/{kind}-huge"
        _, p = hub.write_model(path, KINDS[kind])
        p[name] = p[name].sign() * 3e38
        hub.write_parameters(path, {name: x.float() for name, x in p.items()})
        done = pretrained(folder, kind, path, "a [MASK]")
        claim(done.status == 1 and "\n  0" not in done.out
              and not (done.out and kind != "bert")
              and done.err.splitlines()[1:]
              == ["transformer: the model's numbers are not finite"],
              f"{kind}, {name} overflows: one line, and no answer",
              (done.out, done.err))


def test_step(folder):
    c, p = hub.write_model(f"{folder}/gpt2", hub.GPT2)
    p = {name: x.requires_grad_() for name, x in p.items()}
    optimizer = torch.optim.Adam(p.values(), 0.001, (0.9, 0.98), 1e-9)
    wanted = []
    for _ in range(2):
        loss = torch.nn.functional.cross_entropy(hub.logits(p, c, IDS[:-1]),
                                                 torch.tensor(IDS[1:]))
        wanted.append(loss.item())
        loss.backward()
        optimizer.step()
    for name, within in (("18-pretrained", 1e-5), ("18-pretrained-double", 1e-10)):
        losses = [float(row["value"]) for row in
                  rows("step", f"{folder}/gpt2", *IDS, name=name)
                  if row["kind"] == "loss"]
        claim(abs(losses[0] - wanted[0]) < within
              and abs(losses[1] - wanted[1]) < 10 * within,
              f"{name}: the loss before and after a step of Adam is PyTorch's",
              losses)


def test_tokens(folder):
    """The tokenizer that lab 18 leaves out."""
    texts = hub_tokens.hard_texts(10000)
    hub_tokens.write_texts(f"{folder}/texts", texts)
    hub.write_model(f"{folder}/cased", hub.BERT)
    hub.write_json(f"{folder}/cased/tokenizer_config.json", {"do_lower_case": False})
    cut = hub_tokens.WordPieces(hub.word_pieces(), True)
    found = rows("tokens", "bert", f"{folder}/cased", f"{folder}/texts")
    wrong = [(text, row["tokens"]) for text, row in zip(texts, found)
             if list(map(int, row["tokens"].split())) != cut.encode(text)]
    claim(len(found) == len(texts) and not wrong,
          f"with capitals, {len(texts)} hard texts are cut as in Python", wrong[:3])
    table = execute(sys.executable, f"{HERE}/lib/unicode.py", encoding=None).out
    claim(table == bytes_of(HERE, "lib/unicode.h"),
          "unicode.h is what unicode.py writes")


# ---------------------------------------------------------------- the program

def test_use(folder):
    drawn = [pretrained(folder, "gpt2", "gpt2", "The model", "--tokens", 30,
                        "--temperature", 1, "--top-p", 0.9, "--seed", seed)
             for seed in (1, 1, 2)]
    claim(drawn[0].status == 0 and drawn[0].out.startswith("The model")
          and len(drawn[0].out) > 30 and "parameters" in drawn[0].err,
          "pretrained gpt2 continues a text", drawn[0].err)
    claim(drawn[0].out == drawn[1].out != drawn[2].out,
          "one seed gives one text, another seed another")
    sentence = "the [MASK] is in the [MASK] ."
    done = pretrained(folder, "bert", "bert", sentence, "--csv", "encoding.csv")
    lines = done.out.splitlines()
    claim(done.status == 0 and len(lines) == 1 + 2 * 6
          and lines[0].startswith("[CLS] the [MASK]"),
          "pretrained bert gives five words for each mask", done.err or lines)
    c, p = hub.write_model(f"{folder}/bert", hub.BERT)
    ids = hub_tokens.WordPieces(hub.word_pieces()).encode(sentence.encode())
    encoding, logits = hub.bert(p, c, torch.tensor(ids))
    share = torch.softmax(logits[2], 0).topk(5)
    wanted = [f"  {value:.4f}  {hub.word_pieces()[n]}"
              for value, n in zip(share.values, share.indices)]
    claim(lines[2:7] == wanted, "the five are PyTorch's", (lines, wanted))
    table = list(csv.reader(bytes_of(folder, "encoding.csv").decode().splitlines()))
    error = np.abs(np.array([row[1:] for row in table[1:]], float)
                   - encoding.numpy()).max()
    claim(error < 1e-4, f"the encoding is PyTorch's to {error:.1e}")


def header_of(file):
    """The header of a safetensors file, and the numbers behind it."""
    end_of_header = 8 + int.from_bytes(file[:8], "little")
    return json.loads(file[8:end_of_header]), file[end_of_header:]


def test_finetune(folder):
    def finetune(*words, **how):
        return pretrained(folder, "finetune", "gpt2", "text", *words, **how)

    def written(*more):
        return pretrained(folder, "gpt2", "gpt2", "The", *more)

    write(folder, "text", hub.book(20000))
    before = bytes_of(folder, "gpt2/model.safetensors")
    done = finetune("--steps", 60, "--lr", 0.001, "--model", "tuned.safetensors")
    losses = [float(line.split()[-1]) for line in done.err.splitlines()
              if line.startswith("step")]
    claim(done.status == 0 and losses[-1] < losses[0] - 0.5,
          "finetune lowers the loss", done.err)
    claim(before == bytes_of(folder, "gpt2/model.safetensors"),
          "the model in the folder stays as it was")
    new = written("--model", "tuned.safetensors")
    claim(new.status == 0 and new.out != written().out,
          "what it saves is read again, and writes another text", new.err)
    header, _ = header_of(bytes_of(folder, "tuned.safetensors"))
    del header["__metadata__"]
    claim({name: tuple(entry["shape"]) for name, entry in header.items()}
          == hub.shapes(hub.GPT2, header["wte.weight"]["shape"][0]),
          "it has the published names and shapes", list(header))
    status, said = stopped(program("pretrained", (
        "finetune", "gpt2", "text", "--steps", 1000000, "--model", "stopped.safetensors")),
        folder, signal.SIGINT)
    claim(status == 130 and written("--model", "stopped.safetensors").status == 0,
          "Ctrl-C saves", said)
    done = finetune("--steps", 1, "--model", "tuned.safetensors",
                    **limited(resource.RLIMIT_FSIZE, 4096))
    claim(done.status == 1 and "cannot write tuned.safetensors: " in done.err
          and written("--model", "tuned.safetensors").out == new.out,
          "a file that may not grow so large: it is said, and the old one stays",
          done.err)


def test_memory(folder):
    """A model of 87 MB is read in little more than its size."""
    hub.write_model(f"{folder}/large", {**hub.GPT2, "n_embd": 768})
    size = os.path.getsize(f"{folder}/large/model.safetensors") + 40_000_000
    done = pretrained(folder, "gpt2", "large", "a", "--tokens", 2,
                      **limited(resource.RLIMIT_AS, size))
    claim(done.status == 0, f"{size / 1e6 - 40:.0f} MB of parameters take "
          f"{size / 1e6:.0f} MB with the program and all else", done.err)


def test_misuse(folder):
    write(folder, "number", "\0")
    for words in ((), ("paint",), ("gpt2",), ("gpt2", "gpt2"), ("bert", "gpt2"),
                  ("gpt2", "gpt2", "a", "b"), ("gpt2", "gpt2", "a", "--csv", "x"),
                  ("gpt2", "gpt2", "a", "--tokens"),
                  ("gpt2", "gpt2", "a", "--top-p", 2), ("finetune", "gpt2"),
                  ("finetune", "gpt2", "text", "--window", 97),
                  ("finetune", "gpt2", "text", "--model", "text"),
                  ("finetune", "gpt2", "text", "--model",
                   "gpt2/model.safetensors")):
        done = pretrained(folder, *words)
        claim(refused(done, 2, "--help"), "wrong use is refused in one line: "
              "pretrained " + " ".join(map(str, words)), done.err)
    for what, words in (
            ("no such folder", ("gpt2", "nowhere", "a")),
            ("no prompt", ("gpt2", "gpt2", "")),
            ("a prompt that is too long", ("gpt2", "gpt2", "a b " * 99)),
            ("another kind of model", ("bert", "gpt2", "a")),
            ("a text that is too short", ("finetune", "gpt2", "number")),
            ("a text that is no file", ("finetune", "gpt2", folder)),
            ("a sentence that is too long", ("bert", "bert", "a " * 99))):
        done = pretrained(folder, *words)
        claim(refused(done, 1), f"{what}: one line", done.err)


# ---------------------------------------------------------------- wrong files

def spoiled(folder, model, name, change):
    """The path of a copy of a small model, in which one file has this content, or
    what change(…) makes of its JSON or of its header; None takes it away."""
    path, content = f"{folder}/spoiled", change
    shutil.rmtree(path, ignore_errors=True)
    shutil.copytree(f"{folder}/{model}", path, copy_function=os.link)
    if callable(change):
        content = bytes_of(path, name)
        header = name.endswith(".safetensors")
        value, numbers = header_of(content) if header else (json.loads(content), b"")
        change(value)
        content = json.dumps(value).encode()
        if header:
            content = struct.pack("<Q", len(content)) + content + numbers
    if os.path.exists(f"{path}/{name}"):
        os.remove(f"{path}/{name}")
    if content is not None:
        write(path, name, content)
    return path


def refuses(folder, text, model, name, change, *words):
    """A claim: the small model with such a file is refused in one line that is
    short and has these words."""
    done = pretrained(folder, model, spoiled(folder, model, name, change), "a")
    claim(refused(done, 1, *words) and len(done.err) < 400, f"{text}: one line",
          done.err[:1000])


def test_no_files(folder):
    """What is no regular file is refused: nothing hangs, nothing is empty."""
    for model, name in (("gpt2", "config.json"), ("gpt2", "model.safetensors"),
                        ("gpt2", "merges.txt"), ("bert", "vocab.txt")):
        for what, make in (("a pipe", os.mkfifo),
                           ("a device", lambda at: os.symlink("/dev/null", at)),
                           ("a folder", os.mkdir)):
            path = spoiled(folder, model, name, None)
            make(f"{path}/{name}")
            done = pretrained(folder, model, path, "a")
            claim(refused(done, 1, name, "not a regular file"),
                  f"{name} is {what}: one line", done.err)


LONG = "é" * 1000000
WRONG_CONFIGS = {
    "gpt2": (
        {"n_layer": 0}, {"n_layer": 1.5}, {"n_layer": "3"}, {"n_embd": None},
        {"n_head": 5}, {"n_embd": 1e300}, {"vocab_size": 3}, {"n_layer": 4},
        {"n_layer": 2}, {"n_positions": 95}, {"activation_function": "relu"},
        {"n_inner": 7}, {"layer_norm_epsilon": 1e-6}, {"tie_word_embeddings": False},
        {"scale_attn_by_inverse_layer_idx": True}, {"model_type": "gpt_neo"},
        {"model_type": 3}, {"activation_function": LONG}),
    "bert": (
        {"hidden_act": "gelu_new"}, {"layer_norm_eps": 0},
        {"position_embedding_type": "relative_key"}, {"num_attention_heads": 7},
        {"type_vocab_size": 3}, {"is_decoder": True}, {"vocab_size": 20}),
}

WRONG_JSON = (
    "", "{", "[1", '{"a" 1}', '{"a":}', '{"a":1,}', "{1:2}", "nul", "0x10", "NaN",
    "1 2", '"a', '"\\x"', '"\\u12"', '"\\ud800"', '"\\u0000"', '"\t"', "-", "1e999",
    "[" * 100 + "]" * 100, "\ufeff{}", "01", "1.", ".5", "+1", "1e+", '{"a":1}}')


def test_configs(folder):
    for kind, wrong in WRONG_CONFIGS.items():
        for changes in wrong:
            refuses(folder, f"{kind} with {str(changes)[:60]}", kind, "config.json",
                    lambda c: c.update(changes))
    for text in WRONG_JSON:
        refuses(folder, f"no JSON, {text[:20]!r}", "gpt2", "config.json", text,
                "config.json", "byte")


def test_spellings(folder):
    """JSON as other programs write it: escapes, indents, another order."""
    wanted = pretrained(folder, "gpt2", "gpt2", "a").out

    def same(text, name, content):
        path = spoiled(folder, "gpt2", name, content)
        claim(pretrained(folder, "gpt2", path, "a").out == wanted, text)

    for how, options in (("escaped", {"ensure_ascii": True}),
                         ("not escaped", {"ensure_ascii": False, "indent": 2}),
                         ("sorted", {"sort_keys": True,
                                     "separators": (" , ", " : ")})):
        for name in ("vocab.json", "config.json"):
            value = json.loads(bytes_of(folder, f"gpt2/{name}"))
            same(f"JSON {how} is read as the same: {name}", name,
                 json.dumps(value, **options))
    config = bytes_of(folder, "gpt2/config.json")
    same("a key that is there twice has its last value, as in Python",
         "config.json", b'{"n_layer": 9, "n_layer": "no", ' + config[1:])
    same("merges.txt with CRLF is read as the same", "merges.txt",
         bytes_of(folder, "gpt2/merges.txt").replace(b"\n", b"\r\n"))


def test_damage(folder):
    good = bytes_of(folder, "gpt2/model.safetensors")
    name = "h.1.attn.c_attn.weight"
    for what, change, words in (
            ("a tensor is missing", lambda h: h.pop(name), (name, "missing")),
            ("a tensor too many", lambda h: h.update({LONG: h[name]}),
             ("does not belong",)),
            ("a tensor twice", lambda h: h.update(
                {"transformer." + name: h[name]}), (name, "twice")),
            ("another shape", lambda h: h[name].update(shape=[144, 48]),
             (name, "[48,144]")),
            ("one dimension", lambda h: h[name].update(shape=[48 * 144]), (name,)),
            ("16 bits", lambda h: h[name].update(dtype="BF16"), (name, "F32")),
            ("beyond the end", lambda h: h[name].update(
                data_offsets=[0, 10 ** 9]), (name, "cut short")),
            ("too few bytes", lambda h: h[name].update(data_offsets=[0, 4]),
             (name, "27648")),
            ("backwards", lambda h: h[name].update(data_offsets=[8, 4]), (name,)),
            ("bytes of another tensor", lambda h: h[name].update(
                data_offsets=h[name.replace("1", "0")]["data_offsets"]),
             (name, name.replace("1", "0"), "share")),
            ("no place", lambda h: h[name].pop("data_offsets"), (name,)),
            ("half a byte", lambda h: h[name].update(
                data_offsets=[0.5, 27648.5]), (name,)),
            ("cut short by four bytes", good[:-4], ("cut short",)),
            ("a number that is none",
             good[:-4] + struct.pack("<f", float("nan")), ("finite",))):
        refuses(folder, what, "gpt2", "model.safetensors", change, *words)


def test_vocabularies(folder):
    merges = bytes_of(folder, "gpt2/merges.txt")
    pieces = hub.word_pieces()
    for kind, what, name, content in (
            ("gpt2", "no object", "vocab.json", "[]"),
            ("gpt2", "a number twice", "vocab.json", lambda v: v.update(new=5)),
            ("gpt2", "a number too large", "vocab.json",
             lambda v: v.update({LONG: 5000})),
            ("gpt2", "a byte is missing", "vocab.json", lambda v: v.pop("a")),
            ("gpt2", "a token that is no bytes", "vocab.json",
             lambda v: v.update({"中": v.pop("<|endoftext|>")})),
            ("gpt2", "a merge of one", "merges.txt", merges + b"a\n"),
            ("gpt2", "a merge twice", "merges.txt",
             merges + merges.splitlines()[1]),
            ("gpt2", "a merge of nothing known", "merges.txt", "zz qq\n"),
            ("gpt2", "half of it", "merges.txt", merges[:merges.index(
                b"\n", len(merges) // 2)]),
            ("gpt2", "a zero byte", "merges.txt", merges + b"\0"),
            *(("bert", what, "vocab.txt", "\n".join(lines)) for what, lines in (
                ("a token twice", [*pieces[:-1], "[unused1]"]),
                ("too many", [*pieces, "new"]),
                ("half of it", pieces[:len(pieces) // 2]),
                ("a byte order mark", ["\ufeff" + pieces[0], *pieces[1:]]),
                ("no [SEP]", [*(t for t in pieces if t != "[SEP]"), "new"]))),
            *(("bert", f"{key} is false", "tokenizer_config.json",
               json.dumps({key: False}))
              for key in ("strip_accents", "tokenize_chinese_chars"))):
        refuses(folder, f"{name}, {what}", kind, name, content, name)


def main():
    signal.signal(signal.SIGINT, signal.default_int_handler)  # programs inherit it
    torch.set_num_threads(1)
    made("pretrained", "18-pretrained", "18-pretrained-double")
    with tempfile.TemporaryDirectory() as folder:
        for kind, config in KINDS.items():
            hub.write_model(f"{folder}/{kind}", config)
        for test in (test_logits, test_overflow, test_step, test_tokens, test_use,
                     test_finetune, test_memory, test_misuse, test_no_files,
                     test_configs, test_spellings, test_damage,
                     test_vocabularies):
            test(folder)
    end()


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Tests of the program pretrained and of what it is made of, with small models
in the layouts of the hub, against the same models in PyTorch.

    /usr/bin/python3 notebook/test_pretrained.py

The last line is "N passed, N failed".
"""
import contextlib
import csv
import io
import json
import os
import random
import resource
import runpy
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

import numpy as np
import torch

import hub
import hub_tokens
from test_notebooks import (ALONE, HERE, ROOT, bytes_of, claim, damages, end, program,
                  refused, write)

IDS = [5, 77, 300, 12, 12, 250, 401, 0, 3, 8, 99, 100]
LONGER = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0,
          "high_freq_factor": 4.0, "original_max_position_embeddings": 32}
KINDS = {"gpt2": hub.GPT2, "llama": hub.LLAMA, "bert": hub.BERT}


def pretrained(folder, *words, **how):
    return subprocess.run(program("pretrained", words), cwd=folder, check=False,
                          capture_output=True, env={**ALONE, **how.pop("env", {})},
                          **how)


def rows(*words, name="18-pretrained"):
    """What the lab's program prints; its one line if it fails."""
    done = subprocess.run(program(name, words), capture_output=True, text=True,
                          env=ALONE, check=False)
    if done.returncode:
        return done.stderr
    return list(csv.DictReader(io.StringIO(done.stdout)))


def distance(found, column, wanted):
    """The largest difference between a column and a matrix."""
    if isinstance(found, str):
        return found
    ours = np.array([float(row[column]) for row in found])
    return float(np.abs(ours - wanted.numpy().ravel()).max())


def worst(kind, folder, c, p):
    """How far the logits are from PyTorch's, whole and, if it can write, with
    the cache."""
    wanted = hub.logits(p, c, IDS)
    if kind == "bert":
        found = rows("bert", folder, *IDS)
        if isinstance(found, str):
            return [found]
        return [distance([row for row in found if row["kind"] == "logit"],
                         "value", wanted),
                distance([row for row in found if row["kind"] == "encoding"],
                         "value", hub.bert(p, c, torch.tensor(IDS))[0])]
    found = rows("logits", kind, folder, *IDS)
    return [distance(found, column, wanted) for column in ("whole", "cached")]


def near(errors, within=1e-4):
    return all(isinstance(e, float) and e < within for e in errors)


def said(errors):
    return " and ".join(f"{e:.1e}" if isinstance(e, float) else e
                        for e in errors)


# ---------------------------------------------------------------- the models

def test_logits(folder):
    """All models, as published files have them, in each of their forms."""
    forms = {"plain": {}, "in half precision": {"floats": torch.float16},
             "in bfloat16": {"floats": torch.bfloat16},
             "in three files": {"files": 3}}
    for kind, config in KINDS.items():
        for form, how in forms.items():
            path = f"{folder}/{kind}-{form.replace(' ', '-')}"
            c, p = hub.write_model(path, config, **how)
            errors = worst(kind, path, c, p)
            claim(f"{kind}, {form}: the logits are PyTorch's to {said(errors)}",
                  near(errors))
    for kind, what, rename in (
            ("gpt2", "transformer. before each name", "transformer.{}".format),
            ("bert", "no bert. before its names",
             lambda name: name.removeprefix("bert.")),
            ("bert", "gamma and beta in its norms",
             lambda name: name.replace("Norm.weight", "Norm.gamma").replace(
                 "Norm.bias", "Norm.beta")),
            ("llama", "no model. before its names",
             lambda name: name.removeprefix("model."))):
        path = f"{folder}/{kind}-{what.split()[0]}-{what.split()[1]}"
        c, p = hub.write_model(path, KINDS[kind], renamed=rename)
        errors = worst(kind, path, c, p)
        claim(f"{kind} with {what}: to {said(errors)}", near(errors))
    for kind, what, change in (
            ("llama", "tied", {"tie_word_embeddings": True}),
            ("llama", "theta 500000", {"rope_theta": 500000.0}),
            ("llama", "no scaling", {"rope_scaling": None}),
            ("llama", "theta inside", {"rope_theta": None, "rope_parameters": {
                "rope_type": "default", "rope_theta": 500000.0}}),
            ("llama", "default scaling", {"rope_scaling": {"type": "default"}}),
            ("llama", "longer texts", {"rope_theta": 100.0,
                                       "rope_scaling": LONGER}),
            ("llama", "a key head for each", {"num_key_value_heads": 6}),
            ("llama", "one key head", {"num_key_value_heads": 1}),
            ("gpt2", "another inner width", {"n_inner": 100}),
            ("bert", "another epsilon", {"layer_norm_eps": 1e-3})):
        path = f"{folder}/{kind}-{what.replace(' ', '-')}"
        c, p = hub.write_model(path, {**KINDS[kind], **change})
        if "layer_norm_eps" in change:
            found = [row for row in rows("bert", path, *IDS)
                     if row["kind"] == "logit"]
            errors = [distance(found, "value", hub.bert(
                p, c, torch.tensor(IDS), epsilon=1e-3)[1])]
        else:
            errors = worst(kind, path, c, p)
        claim(f"{kind}, {what}: to {said(errors)}", near(errors))


# Angles of pairs as the tests of the library transformers give them, for heads
# of width 128, factor 10 and a first length of 2,048.
GOLDEN_ANGLES = {0: 1, 30: 1.3335e-2, 31: 1.0730e-2, 32: 7.7785e-3,
                 35: 2.8248e-3, 39: 5.7363e-4, 40: 3.4539e-4, 41: 2.7384e-4,
                 63: 1.1548e-5}


def test_newer_writers(folder):
    """A folder as a library of today writes it, and Llama 3's angles."""
    path = f"{folder}/llama-newer"
    newer = {key: value for key, value in hub.LLAMA.items()
             if key != "rope_theta"}
    newer.update(tie_word_embeddings=True, dtype="bfloat16", pad_token_id=None,
                 rope_parameters={**LONGER, "rope_theta": 100.0},
                 transformers_version="5.0.0", head_dim=8, use_cache=True)
    c, p = hub.write_model(path, newer, floats=torch.bfloat16, files=3)
    errors = worst("llama", path, c, p)
    claim("llama, rope_parameters, tied, in three files: to " + said(errors),
          near(errors))
    hub.write_json(f"{path}/config.json", {
        **c, "hidden_size": 128, "num_attention_heads": 1, "head_dim": 128,
        "num_key_value_heads": 1, "rope_parameters": {
            **LONGER, "rope_theta": 10000.0, "factor": 10.0,
            "original_max_position_embeddings": 2048}})
    found = rows("angles", path)
    claim("llama3's angles are the published ones to five digits",
          not isinstance(found, str) and len(found) == 64 and all(
              abs(float(found[pair]["angle"]) / angle - 1) < 1e-4
              for pair, angle in GOLDEN_ANGLES.items()), found)


def test_overflow(folder):
    """Numbers that are finite in the file, and not any more in the model."""
    for kind, name in (("gpt2", "ln_f.weight"), ("llama", "model.norm.weight"),
                       ("bert", "bert.encoder.layer.1.output.dense.weight"),
                       ("bert", "cls.predictions.transform.LayerNorm.weight")):
        path = f"{folder}/{kind}-huge"
        _, p = hub.write_model(path, KINDS[kind])
        p[name] = p[name].sign() * 3e38
        hub.write_parameters(path, p)
        done = pretrained(folder, kind, path, "a [MASK]")
        claim(f"{kind}, {name} overflows: one line, and no answer",
              done.returncode == 1 and b"\n  0" not in done.stdout
              and not (done.stdout and kind != "bert")
              and done.stderr.splitlines()[1:]
              == [b"transformer: the model's numbers are not finite"],
              (done.stdout, done.stderr))


def test_mistakes(folder):
    """What no check of names and shapes would find is found by numbers."""
    for kind, what, wrong in (
            ("gpt2", "attn.c_proj read the wrong way round", {"turned": True}),
            ("gpt2", "the other GELU", {"bend": hub.gelu}),
            ("bert", "the other GELU", {"bend": hub.gelu_new}),
            ("bert", "epsilon 1e-5", {"epsilon": 1e-5}),
            ("llama", "the paper's rotary pairs", {"interleaved": True}),
            ("llama", "key head h mod G", {"modulo": True})):
        path = f"{folder}/{kind}-plain"
        c, p = hub.write_model(path, KINDS[kind])
        ids = torch.tensor(IDS)
        if kind == "bert":
            found = [row for row in rows("bert", path, *IDS)
                     if row["kind"] == "encoding"]
            error = distance(found, "value", hub.bert(p, c, ids, **wrong)[0])
        else:
            model = hub.gpt2 if kind == "gpt2" else hub.llama
            found = rows("logits", kind, path, *IDS)
            error = distance(found, "whole", model(p, c, ids, **wrong))
        claim(f"{kind} with {what} would be {error:.1e} away", error > 1e-4)


def test_greedy(folder):
    for kind in ("gpt2", "llama"):
        path = f"{folder}/{kind}-plain"
        c, p = hub.write_model(path, KINDS[kind])
        wanted = hub.greedy(p, c, IDS, 64)
        found = rows("greedy", kind, path, 64, *IDS)
        claim(f"{kind}: 64 greedy tokens, {len(set(wanted))} different ones, are "
              "PyTorch's, with the cache and without",
              not isinstance(found, str) and
              [int(row["whole"]) for row in found] == wanted
              == [int(row["cached"]) for row in found], (wanted, found))


def test_gradients(folder):
    path = f"{folder}/gpt2-plain"
    c, p = hub.write_model(path, hub.GPT2)
    p = {name: x.requires_grad_() for name, x in p.items()}
    loss = torch.nn.functional.cross_entropy(
        hub.logits(p, c, IDS[:-1]), torch.tensor(IDS[1:]))
    loss.backward()
    optimizer = torch.optim.Adam(p.values(), 0.001, (0.9, 0.98), 1e-9)
    optimizer.step()
    after = torch.nn.functional.cross_entropy(
        hub.logits(p, c, IDS[:-1]), torch.tensor(IDS[1:]))
    for name, within in (("18-pretrained", 1e-5),
                         ("18-pretrained-double", 1e-10)):
        found = rows("step", path, *IDS, name=name)
        error = max(distance([row for row in found if row["name"] == tensor],
                             "value", x.grad) for tensor, x in p.items())
        losses = [float(row["value"]) for row in found if row["kind"] == "loss"]
        claim(f"{name}: all {len(p)} gradients of a step are autograd's to "
              f"{error:.1e}", error < within)
        claim("and so is the loss, before and after the step",
              abs(losses[0] - loss.item()) < within
              and abs(losses[1] - after.item()) < 10 * within, losses)


# ---------------------------------------------------------------- tokens

def test_tokens(folder):
    texts = hub_tokens.hard_texts(10000)
    hub_tokens.write_texts(f"{folder}/texts", texts)
    vocab, merges = hub.byte_pairs()
    bare, _ = hub.byte_pairs(specials=hub.WHOLE)
    plain, _ = hub.byte_pairs(specials=())
    hub.write_model(f"{folder}/digits", hub.LLAMA, digits=True)
    hub.write_model(f"{folder}/single", hub.LLAMA, digits=True)
    single = hub.tokenizer_json(plain, merges, "<|begin|>")
    single["pre_tokenizer"] = {"type": "ByteLevel", "add_prefix_space": False}
    single["post_processor"] = single["post_processor"]["processors"][1]
    single["model"]["ignore_merges"] = False
    hub.write_json(f"{folder}/single/tokenizer.json", single)
    cased = f"{folder}/cased"
    hub.write_model(cased, hub.BERT)
    hub.write_json(f"{cased}/tokenizer_config.json", {"do_lower_case": False})
    for kind, path, cut in (
            ("gpt2", "gpt2-plain", hub_tokens.BytePairs(vocab, merges)),
            ("llama", "llama-plain", hub_tokens.BytePairs(
                bare, merges, llama=True, first=len(bare))),
            ("llama", "digits", hub_tokens.BytePairs(plain, merges, digits=True)),
            ("llama", "single", hub_tokens.BytePairs(plain, merges,
                                                     first=len(plain))),
            ("bert", "bert-plain", hub_tokens.WordPieces(hub.word_pieces())),
            ("bert", "cased", hub_tokens.WordPieces(hub.word_pieces(), True))):
        found = rows("tokens", kind, f"{folder}/{path}", f"{folder}/texts")
        wrong = found if isinstance(found, str) else [
            (text, row["tokens"]) for text, row in zip(texts, found)
            if list(map(int, row["tokens"].split())) != cut.encode(text)]
        claim(f"{path}: {len(found)} hard texts are cut as in Python",
              len(found) == len(texts) and not wrong, wrong[:3])


def test_tables():
    made = subprocess.run([sys.executable, f"{HERE}/lib/unicode.py"], check=True,
                          capture_output=True).stdout
    claim("unicode.h is what unicode.py writes",
          made == bytes_of(HERE, "lib/unicode.h"))


# ---------------------------------------------------------------- the program

def test_use(folder):
    for kind in ("gpt2", "llama"):
        path = f"{folder}/{kind}-plain"
        done = pretrained(folder, kind, path, "The model", "--tokens", 20)
        claim(f"pretrained {kind} continues a text", done.returncode == 0
              and done.stdout.startswith(b"The model")
              and len(done.stdout) > 30 and b"parameters" in done.stderr,
              done.stderr)
        drawn = [pretrained(folder, kind, path, "The model", "--temperature", 1,
                            "--top-p", 0.9, "--seed", seed).stdout
                 for seed in (1, 1, 2)]
        claim("one seed gives one text, another seed another",
              drawn[0] == drawn[1] != drawn[2], drawn)
    write(folder, "number", (0).to_bytes(1, "little"))
    done = pretrained(folder, "bert", f"{folder}/bert-plain",
                      "the [MASK] is in the [MASK] .", "--csv", "encoding.csv")
    lines = done.stdout.decode().splitlines()
    claim("pretrained bert gives five words for each mask", done.returncode == 0
          and len(lines) == 1 + 2 * 6 and lines[0].startswith("[CLS] the [MASK]"),
          done.stderr or lines)
    c, p = hub.write_model(f"{folder}/bert-plain", hub.BERT)
    ids = hub_tokens.WordPieces(hub.word_pieces()).encode(
        b"the [MASK] is in the [MASK] .")
    encoding, logits = hub.bert(p, c, torch.tensor(ids))
    share = torch.softmax(logits[2], 0).topk(5)
    wanted = [f"  {value:.4f}  {hub.word_pieces()[n]}"
              for value, n in zip(share.values, share.indices)]
    claim("the five are PyTorch's", lines[2:7] == wanted, (lines, wanted))
    with open(f"{folder}/encoding.csv", encoding="utf-8") as file:
        table = list(csv.reader(file))
    error = np.abs(np.array([row[1:] for row in table[1:]], float)
                   - encoding.numpy()).max()
    claim(f"the encoding is PyTorch's to {error:.1e}", error < 1e-4)


def test_finetune(folder):
    path = f"{folder}/gpt2-plain"
    hub.write_model(path, hub.GPT2)
    write(folder, "text", hub.book(20000).encode())
    before = bytes_of(path, "model.safetensors")
    done = pretrained(folder, "finetune", path, "text", "--steps", 60, "--lr",
                      0.001, "--model", "tuned")
    losses = [float(line.split()[-1]) for line in
              done.stderr.decode().splitlines() if line.startswith("step")]
    claim("finetune lowers the loss", done.returncode == 0
          and losses[-1] < losses[0] - 0.5, done.stderr)
    claim("the model in the folder stays as it was",
          before == bytes_of(path, "model.safetensors"))
    old, new = (pretrained(folder, "gpt2", path, "The", *more)
                for more in ((), ("--model", "tuned")))
    claim("what it saves is read again, and writes another text",
          new.returncode == 0 and new.stdout != old.stdout, new.stderr)
    header = json.loads(bytes_of(folder, "tuned")[8:][:int.from_bytes(
        bytes_of(folder, "tuned")[:8], "little")])
    del header["__metadata__"]
    c = {**hub.GPT2}
    wanted = hub.shapes(c, header["wte.weight"]["shape"][0])
    claim("it has the published names and shapes",
          {name: tuple(entry["shape"]) for name, entry in header.items()}
          == wanted, header.keys())
    with subprocess.Popen(program("pretrained", (
            "finetune", path, "text", "--steps", 1000000, "--model", "stopped")),
            cwd=folder, stderr=subprocess.PIPE, env=ALONE) as process:
        process.stderr.readline()
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        seen = process.stderr.read()
    claim("Ctrl-C saves", process.returncode == 130 and pretrained(
        folder, "gpt2", path, "a", "--model", "stopped").returncode == 0, seen)
    done = pretrained(folder, "finetune", path, "text", "--steps", 1, "--model",
                      "tuned", preexec_fn=lambda: resource.setrlimit(
                          resource.RLIMIT_FSIZE, (4096, 4096)))
    claim("a file that may not grow so large: it is said, and the old one stays",
          done.returncode == 1 and b"cannot write tuned: " in done.stderr
          and pretrained(folder, "gpt2", path, "The", "--model", "tuned").stdout
          == new.stdout, done.stderr)


def test_memory(folder):
    """A model of 80 MB is read in little more than its size."""
    path = f"{folder}/large"
    c, _ = hub.write_model(path, {**hub.LLAMA, "hidden_size": 768,
                                  "intermediate_size": 2048})
    size = os.path.getsize(f"{path}/model.safetensors")
    done = pretrained(folder, "llama", path, "a", "--tokens", 2, preexec_fn=(
        lambda: resource.setrlimit(resource.RLIMIT_AS,
                                   (size + 40_000_000, size + 40_000_000))))
    claim(f"{size / 1e6:.0f} MB of parameters take {size / 1e6 + 40:.0f} MB with "
          "the program and all else", done.returncode == 0, done.stderr)


# ---------------------------------------------------------------- what is wrong

def checked(folder):
    """pretrained_check.py, run by this Python, which has PyTorch already -> its
    status, and what it printed on stdout and stderr"""
    sys.argv[1:] = [folder]
    with contextlib.redirect_stdout(io.StringIO()) as said, \
            contextlib.redirect_stderr(io.StringIO()) as failed:
        try:
            runpy.run_path(f"{HERE}/pretrained_check.py", run_name="__main__")
        except SystemExit as end:
            return end.code, said.getvalue(), failed.getvalue()


def test_check(folder):
    """The check of published parameters, on small ones."""
    for kind in KINDS:
        status, said, failed = checked(f"{folder}/{kind}-plain")
        claim(f"make pretrained-check finds nothing wrong with {kind}",
              status == 0 and "All is as it should be." in said
              and "2000 of 2000" in said, said + failed)
    status, _, failed = checked(folder)
    claim("and refuses a folder without a model", status == 1
          and len(failed.splitlines()) == 1, failed)


def test_misuse(folder):
    path = f"{folder}/gpt2-plain"
    for words in ((), ("paint",), ("gpt2",), ("gpt2", path), ("bert", path),
                  ("gpt2", path, "a", "b"), ("gpt2", path, "a", "--csv", "x"),
                  ("gpt2", path, "a", "--tokens"),
                  ("gpt2", path, "a", "--tokens", 0),
                  ("gpt2", path, "a", "--top-p", 2), ("bert", path, "a", "--lr", 1),
                  ("finetune", path), ("finetune", path, "text", "--steps", "x"),
                  ("finetune", path, "text", "--window", 97),
                  ("finetune", path, "text", "--model",
                   f"{path}/model.safetensors")):
        claim("wrong use is refused in one line: pretrained "
              + " ".join(map(str, words)).replace(folder + "/", ""),
              refused(pretrained(folder, *words), 2, "--help"),
              pretrained(folder, *words).stderr)
    for what, words in (
            ("no such folder", ("gpt2", "nowhere", "a")),
            ("no prompt", ("gpt2", path, "")),
            ("a prompt that is too long", ("gpt2", path, "a b " * 99)),
            ("too many tokens", ("gpt2", path, "a", "--tokens", 96)),
            ("another kind of model", ("bert", path, "a")),
            ("another kind of model", ("llama", path, "a")),
            ("a text that is too short", ("finetune", path, "number")),
            ("a text that is no file", ("finetune", path, folder)),
            ("a target that is no model",
             ("finetune", path, "text", "--model", "number")),
            ("a sentence that is too long",
             ("bert", f"{folder}/bert-plain", "a " * 99))):
        done = pretrained(folder, *words)
        claim(f"{what}: one line", refused(done, 1), done.stderr)


def test_no_files(folder):
    """What is no regular file is refused: nothing hangs, nothing is empty."""
    for kind, name in (
            ("gpt2", "config.json"), ("gpt2", "model.safetensors"),
            ("gpt2", "vocab.json"), ("gpt2", "merges.txt"),
            ("bert", "vocab.txt"), ("bert", "tokenizer_config.json"),
            ("llama", "tokenizer.json"),
            ("llama", "model.safetensors.index.json"),
            ("llama", "model-00002-of-00003.safetensors")):
        path = f"{folder}/{kind}-special"
        for what, make in (("a pipe", os.mkfifo),
                           ("a device", lambda at: os.symlink("/dev/null", at)),
                           ("a folder", os.mkdir)):
            shutil.rmtree(path, ignore_errors=True)
            hub.write_model(path, KINDS[kind], files=3 if "model-" in name
                            or "index" in name else 1)
            if os.path.exists(f"{path}/{name}"):
                os.remove(f"{path}/{name}")
            make(f"{path}/{name}")
            try:
                done = pretrained(folder, kind, path, "a", timeout=20)
                claim(f"{name} is {what}: one line", refused(
                    done, 1, name, "not a regular file"), done.stderr)
            except subprocess.TimeoutExpired:
                claim(f"{name} is {what}: one line", False, "it hangs")


def test_long_names(folder):
    """A name of a million characters does not make such a message."""
    name = "é" * 1000000
    for kind, file, change in (
            ("gpt2", "config.json", lambda c: c.update(activation_function=name)),
            ("gpt2", "vocab.json", lambda v: v.update({name: -1})),
            ("llama", "tokenizer.json", lambda t: t.update({name: 1})),
            ("llama", "tokenizer.json",
             lambda t: t["model"].update(continuing_subword_prefix=name)),
            ("llama", "config.json",
             lambda c: c.update(rope_parameters={name: 1})),
            ("llama", "model.safetensors.index.json",
             lambda i: i["weight_map"].update(
                 {"lm_head.weight": name})),
            ("gpt2", "model.safetensors",
             lambda h: h.update({name: h["wpe.weight"]})),
            ("bert", "vocab.txt", None)):
        path = f"{folder}/{kind}-long"
        shutil.rmtree(path, ignore_errors=True)
        hub.write_model(path, KINDS[kind], files=3 if "index" in file else 1)
        good = bytes_of(path, file)
        if kind == "bert":
            write(path, file, good + 2 * f"{name}\n".encode())
            with_config(path, vocab_size=good.count(b"\n") + 2)
            tokens = torch.zeros(good.count(b"\n") + 2, 48)
            _, p = hub.write_model(f"{folder}/bert-plain", hub.BERT)
            hub.write_parameters(path, {
                **p, "bert.embeddings.word_embeddings.weight": tokens,
                "cls.predictions.bias": tokens[:, 0]})
        elif file == "model.safetensors":
            write(path, file, edited(good, change))
        else:
            value = json.loads(good)
            change(value)
            hub.write_json(f"{path}/{file}", value)
        done = pretrained(folder, kind, path, "a")
        claim(f"a name of a million characters in {file}: a short line",
              refused(done, 1) and len(done.stderr) < 400, done.stderr[:1000])


def with_config(path, **changes):
    """config.json with other values; None takes a key away."""
    c = json.loads(bytes_of(path, "config.json"))
    for key, value in changes.items():
        c[key] = value
    hub.write_json(f"{path}/config.json", c)


WRONG_CONFIGS = (
    ("gpt2", {"n_layer": 0}), ("gpt2", {"n_layer": 1.5}),
    ("gpt2", {"n_layer": "3"}), ("gpt2", {"n_embd": None}),
    ("gpt2", {"n_head": 5}), ("gpt2", {"n_embd": 1e300}),
    ("gpt2", {"vocab_size": 3}), ("gpt2", {"n_layer": 4}),
    ("gpt2", {"n_layer": 2}), ("gpt2", {"n_positions": 95}),
    ("gpt2", {"activation_function": "relu"}), ("gpt2", {"n_inner": 7}),
    ("gpt2", {"layer_norm_epsilon": 1e-6}),
    ("gpt2", {"tie_word_embeddings": False}),
    ("gpt2", {"scale_attn_by_inverse_layer_idx": True}),
    ("gpt2", {"model_type": "gpt_neo"}), ("gpt2", {"model_type": 3}),
    ("bert", {"hidden_act": "gelu_new"}), ("bert", {"layer_norm_eps": 0}),
    ("bert", {"position_embedding_type": "relative_key"}),
    ("bert", {"num_attention_heads": 7}), ("bert", {"type_vocab_size": 3}),
    ("bert", {"is_decoder": True}), ("bert", {"vocab_size": 20}),
    ("llama", {"num_key_value_heads": 4}), ("llama", {"hidden_act": "gelu"}),
    ("llama", {"rope_scaling": {"type": "linear", "factor": 2}}),
    ("llama", {"rope_parameters": {"rope_type": "yarn", "factor": 2}}),
    ("llama", {"rope_parameters": {**LONGER, "beta_fast": 32}}),
    ("llama", {"rope_scaling": {**LONGER, "factor": None}}),
    ("llama", {"rope_scaling": {**LONGER, "low_freq_factor": 4}}),
    ("llama", {"rope_scaling": LONGER, "rope_parameters": LONGER}),
    ("llama", {"rope_parameters": {"rope_theta": 5}}),
    ("llama", {"rope_parameters": "default"}),
    ("llama", {"attention_bias": True}), ("llama", {"head_dim": 16}),
    ("llama", {"tie_word_embeddings": "yes"}),
    ("llama", {"num_attention_heads": 16}))

WRONG_JSON = (
    "", "{", "[1", '{"a" 1}', '{"a":}', '{"a":1,}', "{1:2}", "nul", "tru", "0x10",
    "NaN", "Infinity", "1 2", '"a', '"\\x"', '"\\u12"', '"\\ud800"', '"\\u0000"',
    '"\t"', "-", "1e999", "[" * 100 + "]" * 100, "{'a':1}", "[,]", "\ufeff{}",
    "01", "-01", "1.", "1.e5", ".5", "+1", "1e", "1e+", "--1", '{"a":01}',
    '{"a":1}}', "/* */ {}")


def test_configs(folder):
    for kind, changes in WRONG_CONFIGS:
        path = f"{folder}/{kind}-config"
        hub.write_model(path, KINDS[kind])
        with_config(path, **changes)
        done = pretrained(folder, kind, path, "a")
        claim(f"{kind} with {changes}: one line", refused(done, 1), done.stderr)
    path = f"{folder}/gpt2-config"
    for text in WRONG_JSON:
        write(path, "config.json", text.encode())
        done = pretrained(folder, "gpt2", path, "a")
        claim(f"no JSON: {text[:20]!r}", refused(done, 1, "config.json", "byte"),
              done.stderr)


def test_spellings(folder):
    """JSON as other programs write it: escapes, indents, another order."""
    path = f"{folder}/gpt2-spelled"
    hub.write_model(path, hub.GPT2)
    wanted = pretrained(folder, "gpt2", path, "The").stdout
    for name, how in (("escaped", {"ensure_ascii": True}),
                      ("not escaped", {"ensure_ascii": False, "indent": 2}),
                      ("sorted", {"sort_keys": True,
                                  "separators": (" , ", " : ")})):
        for file in ("vocab.json", "config.json"):
            value = json.loads(bytes_of(path, file))
            write(path, file, json.dumps(value, **how).encode())
        claim(f"JSON {name} is read as the same",
              pretrained(folder, "gpt2", path, "The").stdout == wanted)
    for text in (b'{"n_layer": 9, "n_layer": "no", ', b'{"n_layer": 0e0,'):
        config = bytes_of(path, "config.json")
        write(path, "config.json", text + config[config.index(b"{") + 1:])
        claim("a key that is there twice has its last value, as in Python",
              pretrained(folder, "gpt2", path, "The").stdout == wanted)
    merges = bytes_of(path, "merges.txt")
    write(path, "merges.txt", merges.replace(b"\n", b"\r\n"))
    claim("merges.txt with CRLF is read as the same",
          pretrained(folder, "gpt2", path, "The").stdout == wanted)


def edited(good, change):
    """A safetensors file whose header change(header) has changed."""
    length = int.from_bytes(good[:8], "little")
    header = json.loads(good[8:8 + length])
    change(header)
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + good[8 + length:]


def test_damage(folder):
    chance = random.Random(1)
    for kind in KINDS:
        path = f"{folder}/{kind}-damaged"
        hub.write_model(path, KINDS[kind])
        good = bytes_of(path, "model.safetensors")
        sound = pretrained(folder, kind, path, "a").stdout
        wrong = []
        for bad in damages(good, chance):
            write(path, "model.safetensors", bad)
            done = pretrained(folder, kind, path, "a")
            if not refused(done, 1, path) and done.stdout != sound:
                wrong.append((done.returncode, done.stderr))
        claim(f"{kind}: 100 damaged files are refused in one line each, or the "
              "damage does not matter", not wrong, wrong[:3])
    path = f"{folder}/gpt2-damaged"
    good = bytes_of(f"{folder}/gpt2-plain", "model.safetensors")
    name = "h.1.attn.c_attn.weight"
    for what, change, words in (
            ("a tensor is missing", lambda h: h.pop(name), (name, "missing")),
            ("a tensor too many", lambda h: h.update(foreign=h[name]),
             ("foreign",)),
            ("a tensor twice", lambda h: h.update(
                {"transformer." + name: h[name]}), (name, "twice")),
            ("another shape", lambda h: h[name].update(shape=[144, 48]),
             (name, "[48,144]")),
            ("one dimension", lambda h: h[name].update(shape=[48 * 144]), (name,)),
            ("another type", lambda h: h[name].update(dtype="I32"), (name, "F32")),
            ("beyond the end", lambda h: h[name].update(
                data_offsets=[0, 10 ** 9]), (name, "cut short")),
            ("too few bytes", lambda h: h[name].update(data_offsets=[0, 4]),
             (name, "27648")),
            ("backwards", lambda h: h[name].update(data_offsets=[8, 4]), (name,)),
            ("bytes of another tensor", lambda h: h[name].update(
                data_offsets=h[name.replace("1", "0")]["data_offsets"]),
             (name, name.replace("1", "0"), "share")),
            ("some bytes of another tensor", lambda h: h["ln_f.bias"].update(
                data_offsets=[h["ln_f.weight"]["data_offsets"][0] + 4,
                              h["ln_f.weight"]["data_offsets"][1] + 4]),
             ("share",)),
            ("no place", lambda h: h[name].pop("data_offsets"), (name,)),
            ("half a byte", lambda h: h[name].update(
                data_offsets=[0.5, 27648.5]), (name,))):
        write(path, "model.safetensors", edited(good, change))
        done = pretrained(folder, "gpt2", path, "a")
        claim(f"{what}: one line that names it", refused(done, 1, *words),
              done.stderr)
    write(path, "model.safetensors", good[:-4])
    done = pretrained(folder, "gpt2", path, "a")
    claim("cut short by four bytes", refused(done, 1, "cut short"), done.stderr)
    bad = bytearray(good)
    bad[-4:] = struct.pack("<f", float("nan"))
    write(path, "model.safetensors", bad)
    done = pretrained(folder, "gpt2", path, "a")
    claim("a number that is none", refused(done, 1, "finite"), done.stderr)


def test_index(folder):
    path, name = f"{folder}/llama-in-three-files", "model.safetensors.index.json"
    good = json.loads(bytes_of(path, name))
    part = "model-00002-of-00003.safetensors"
    some = [key for key, file in good["weight_map"].items() if file == part][0]
    for what, change, word in (
            ("a file is not named", lambda m: [m.pop(k) for k, v in
                                               list(m.items()) if v == part],
             "missing"),
            ("a file is not there", lambda m: m.update({some: "none"}), "none"),
            ("a file elsewhere", lambda m: m.update({some: "../a"}), some),
            ("a number for a name", lambda m: m.update({some: 3}), some)):
        index = json.loads(json.dumps(good))
        change(index["weight_map"])
        hub.write_json(f"{path}/{name}", index)
        done = pretrained(folder, "llama", path, "a")
        claim(f"index, {what}: one line", refused(done, 1, word), done.stderr)
    hub.write_json(f"{path}/{name}", {})
    claim("an index without a map", refused(
        pretrained(folder, "llama", path, "a"), 1, "weight_map"))


def test_vocabularies(folder):
    vocab = json.loads(bytes_of(f"{folder}/gpt2-plain", "vocab.json"))
    merges = bytes_of(f"{folder}/gpt2-plain", "merges.txt")
    path = f"{folder}/gpt2-vocabulary"
    for what, file, content in (
            ("no object", "vocab.json", b"[]"),
            ("a number twice", "vocab.json",
             json.dumps({**vocab, "new": 5}).encode()),
            ("a number too large", "vocab.json",
             json.dumps({**vocab, "!": 5000}).encode()),
            ("a byte is missing", "vocab.json", json.dumps(
                {k: v for k, v in vocab.items() if k != "a"}).encode()),
            ("a merge of one", "merges.txt", merges + b"a\n"),
            ("a merge twice", "merges.txt", merges + merges.splitlines()[1]),
            ("a merge of nothing known", "merges.txt", b"zz qq\n"),
            ("no merge", "merges.txt", b""),
            ("half of it", "merges.txt", merges[:merges.index(
                b"\n", len(merges) // 2)]),
            ("a byte order mark", "merges.txt", b"\xef\xbb\xbf" + merges),
            ("a zero byte", "merges.txt", merges + b"\0")):
        hub.write_model(path, hub.GPT2)
        write(path, file, content)
        done = pretrained(folder, "gpt2", path, "a")
        claim(f"{file}, {what}: one line", refused(done, 1, file), done.stderr)
    path = f"{folder}/bert-vocabulary"
    tokens = hub.word_pieces()
    for what, lines in (("a token twice", [*tokens[:-1], "[unused1]"]),
                        ("too many", [*tokens, "new"]),
                        ("half of it", tokens[:len(tokens) // 2]),
                        ("a byte order mark", ["\ufeff" + tokens[0],
                                               *tokens[1:]]),
                        ("no [SEP]", [t for t in tokens if t != "[SEP]"])):
        hub.write_model(path, hub.BERT)
        write(path, "vocab.txt", "\n".join(lines).encode())
        done = pretrained(folder, "bert", path, "a")
        claim(f"vocab.txt, {what}: one line", refused(done, 1, "vocab.txt"),
              done.stderr)
    for change in ({"strip_accents": False}, {"tokenize_chinese_chars": False}):
        hub.write_model(path, hub.BERT)
        hub.write_json(f"{path}/tokenizer_config.json", change)
        done = pretrained(folder, "bert", path, "a")
        claim(f"tokenizer_config.json, {change}: one line",
              refused(done, 1, *change), done.stderr)
    os.remove(f"{path}/tokenizer_config.json")
    path = f"{folder}/llama-vocabulary"
    good = json.loads(bytes_of(f"{folder}/llama-plain", "tokenizer.json"))
    for what, change in (
            ("other pieces", lambda t: t["model"].update(type="Unigram")),
            ("no merges", lambda t: t["model"].pop("merges")),
            ("a wrong merge", lambda t: t["model"]["merges"].append(["q", 3])),
            ("another pattern", lambda t: t["pre_tokenizer"]["pretokenizers"][0]
             ["pattern"].update(Regex=r"\w+")),
            ("no pattern", lambda t: t.update(pre_tokenizer=None)),
            ("a blank is put in front", lambda t: t["pre_tokenizer"][
                "pretokenizers"][1].update(add_prefix_space=True)),
            ("an added token without a number",
             lambda t: t["added_tokens"][0].pop("id")),
            ("normalizer", lambda t: t.update(normalizer={"type": "NFC"})),
            ("decoder", lambda t: t["decoder"].update(type="Fuse")),
            ("behavior", lambda t: t["pre_tokenizer"]["pretokenizers"][0]
             .update(behavior="Removed")),
            ("invert", lambda t: t["pre_tokenizer"]["pretokenizers"][0]
             .update(invert=True)),
            ("byte_fallback", lambda t: t["model"].update(byte_fallback=True)),
            ("dropout", lambda t: t["model"].update(dropout=0.1)),
            ("continuing_subword_prefix", lambda t: t["model"].update(
                continuing_subword_prefix="##")),
            ("end_of_word_suffix", lambda t: t["model"].update(
                end_of_word_suffix="</w>")),
            ("post_processor", lambda t: t["post_processor"]["processors"][1]
             ["single"].append({"SpecialToken": {"id": "<|begin|>"}})),
            ("no merge", lambda t: t["model"].update(merges=[])),
            ("half of the merges", lambda t: t["model"].update(
                ignore_merges=False, merges=t["model"]["merges"][:99]))):
        hub.write_model(path, hub.LLAMA)
        changed = json.loads(json.dumps(good))
        change(changed)
        hub.write_json(f"{path}/tokenizer.json", changed)
        done = pretrained(folder, "llama", path, "a")
        claim(f"tokenizer.json, {what}: one line",
              refused(done, 1, "tokenizer.json", *[what] * ("_" in what)),
              done.stderr)


def main():
    signal.signal(signal.SIGINT, signal.default_int_handler)  # programs inherit it
    torch.set_num_threads(1)
    subprocess.run(["make", "-s", *(f"build/notebook/{name}" for name in (
        "pretrained", "18-pretrained", "18-pretrained-double"))],
        cwd=ROOT, check=True)
    with tempfile.TemporaryDirectory() as folder:
        test_tables()
        for test in (test_logits, test_newer_writers, test_overflow,
                     test_mistakes, test_greedy, test_gradients, test_tokens,
                     test_use, test_finetune, test_memory, test_check,
                     test_misuse, test_no_files, test_long_names, test_configs,
                     test_spellings, test_damage, test_index,
                     test_vocabularies):
            test(folder)
    end()


if __name__ == "__main__":
    main()

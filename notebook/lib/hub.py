"""Small models with random parameters in the layouts of the hub's files, and
the same models written out in PyTorch, which the C program has to agree with.

The names and layouts are those of the published checkpoints; the forward passes
follow the papers' formulas and use no function of transformer.c.
"""
import functools
import json
import math
import os
import random
import re
import struct
from collections import Counter

import torch
from torch.nn.functional import embedding, gelu, layer_norm, softmax

ROOT = os.path.abspath(f"{__file__}/../../..")
# What config.json says. Sizes are chosen so that no two are equal by accident.
GPT2 = {"model_type": "gpt2", "n_layer": 3, "n_embd": 48, "n_head": 4,
        "n_inner": None, "n_positions": 96, "n_ctx": 96,
        "activation_function": "gelu_new", "layer_norm_epsilon": 1e-5}
BERT = {"model_type": "bert", "num_hidden_layers": 3, "hidden_size": 48,
        "num_attention_heads": 4, "intermediate_size": 72,
        "max_position_embeddings": 64, "type_vocab_size": 2,
        "hidden_act": "gelu", "layer_norm_eps": 1e-12,
        "position_embedding_type": "absolute"}

# ---------------------------------------------------------------- parameters

def shapes(c, vocab):
    """{name: shape} of all parameters, in the layout of the file."""
    return (gpt2_shapes if c["model_type"] == "gpt2" else bert_shapes)(c, vocab)


def gpt2_shapes(c, vocab):
    D = c["n_embd"]
    F = c["n_inner"] or 4 * D
    found = {"wte.weight": (vocab, D), "wpe.weight": (c["n_positions"], D)}
    for l in range(c["n_layer"]):
        for name, shape in (("ln_1", (D,)), ("attn.c_attn", (D, 3 * D)),
                            ("attn.c_proj", (D, D)), ("ln_2", (D,)),
                            ("mlp.c_fc", (D, F)), ("mlp.c_proj", (F, D))):
            found[f"h.{l}.{name}.weight"] = shape
            found[f"h.{l}.{name}.bias"] = shape[-1:]
    return {**found, "ln_f.weight": (D,), "ln_f.bias": (D,)}


def bert_shapes(c, vocab):
    D, F = c["hidden_size"], c["intermediate_size"]
    at, top = "bert.embeddings.", "cls.predictions."
    found = {at + "word_embeddings.weight": (vocab, D),
             at + "position_embeddings.weight": (c["max_position_embeddings"], D),
             at + "token_type_embeddings.weight": (c["type_vocab_size"], D)}
    biased = {at + "LayerNorm": (D,)}
    for l in range(c["num_hidden_layers"]):
        for name, shape in (
                *((f"attention.self.{part}", (D, D))
                  for part in ("query", "key", "value")),
                ("attention.output.dense", (D, D)),
                ("attention.output.LayerNorm", (D,)),
                ("intermediate.dense", (F, D)), ("output.dense", (D, F)),
                ("output.LayerNorm", (D,))):
            biased[f"bert.encoder.layer.{l}.{name}"] = shape
    biased.update({top + "transform.dense": (D, D),
                   top + "transform.LayerNorm": (D,)})
    for name, shape in biased.items():
        found[name + ".weight"] = shape
        found[name + ".bias"] = shape[:1]
    return {**found, top + "bias": (vocab,)}


def parameters(c, vocab, seed=1):
    """{name: tensor} with random numbers. Gains are around 1. Matrices have
    numbers large enough for every mistake to show, and larger than those of
    embeddings: else a model whose output layer is its embedding would repeat what
    it reads. BERT's embeddings, normalized first, are so small that ε matters."""
    random_numbers = torch.Generator().manual_seed(seed)
    found = {}
    for name, shape in shapes(c, vocab).items():
        x = torch.randn(shape, generator=random_numbers, dtype=torch.float64)
        norm = len(shape) == 1 and not name.endswith("bias")
        size = (0.1 if "embeddings" in name else
                0.3 if shape[0] == vocab else 3) / math.sqrt(min(shape))
        found[name] = (1 + x / 4 if norm else x / 4 if len(shape) == 1
                       else x * size).float()
    return found


# ---------------------------------------------------------------- GPT-2

def heads(x, count):
    """(T,D) -> (heads,T,K)"""
    return x.reshape(len(x), count, -1).transpose(0, 1)


def attention(q, k, v, mask=None):
    """(heads,T,K) each -> (T,D)"""
    scores = q @ k.transpose(1, 2) / math.sqrt(q.shape[2])
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    return (softmax(scores, 2) @ v).transpose(0, 1).flatten(1)


def causal(T):
    return torch.ones(T, T).tril().bool()


gelu_new = functools.partial(gelu, approximate="tanh")


def gpt2(p, c, ids, bend=gelu_new, turned=False):
    """ids (T) -> logits (T,V). With `turned`, attn.c_proj is read
    transposed."""
    T, D, H = len(ids), c["n_embd"], c["n_head"]

    def norm(x, name):
        return layer_norm(x, (D,), p[name + ".weight"], p[name + ".bias"], 1e-5)

    def conv1d(x, name):
        return x @ p[name + ".weight"] + p[name + ".bias"]

    x = embedding(ids, p["wte.weight"]) + p["wpe.weight"][:T]
    for l in range(c["n_layer"]):
        at = f"h.{l}."
        q, k, v = conv1d(norm(x, at + "ln_1"), at + "attn.c_attn").split(D, 1)
        y = attention(heads(q, H), heads(k, H), heads(v, H), causal(T))
        x = x + (y @ p[at + "attn.c_proj.weight"].T + p[at + "attn.c_proj.bias"]
                 if turned else conv1d(y, at + "attn.c_proj"))
        h = bend(conv1d(norm(x, at + "ln_2"), at + "mlp.c_fc"))
        x = x + conv1d(h, at + "mlp.c_proj")
    return norm(x, "ln_f") @ p["wte.weight"].T


# ---------------------------------------------------------------- BERT

def bert(p, c, ids, epsilon=None, bend=gelu):
    """ids (T) -> encoding (T,D), logits (T,V)"""
    T, D, H = len(ids), c["hidden_size"], c["num_attention_heads"]
    epsilon = epsilon or c["layer_norm_eps"]

    def dense(x, name):
        return x @ p[name + ".weight"].T + p[name + ".bias"]

    def norm(x, name):
        name += ".LayerNorm"
        return layer_norm(x, (D,), p[name + ".weight"], p[name + ".bias"],
                          epsilon)

    at = "bert.embeddings"
    x = norm(embedding(ids, p[at + ".word_embeddings.weight"])
             + p[at + ".position_embeddings.weight"][:T]
             + p[at + ".token_type_embeddings.weight"][0], at)
    for l in range(c["num_hidden_layers"]):
        at = f"bert.encoder.layer.{l}"
        q, k, v = (heads(dense(x, f"{at}.attention.self.{part}"), H)
                   for part in ("query", "key", "value"))
        x = norm(x + dense(attention(q, k, v), at + ".attention.output.dense"),
                 at + ".attention.output")
        y = dense(bend(dense(x, at + ".intermediate.dense")),
                  at + ".output.dense")
        x = norm(x + y, at + ".output")
    y = norm(bend(dense(x, "cls.predictions.transform.dense")),
             "cls.predictions.transform")
    return x, (y @ p["bert.embeddings.word_embeddings.weight"].T
               + p["cls.predictions.bias"])


def logits(p, c, ids):
    """ids -> logits (T,V), of a model of either type."""
    ids = torch.tensor(ids)
    return gpt2(p, c, ids) if c["model_type"] == "gpt2" else bert(p, c, ids)[1]


def greedy(p, c, ids, count):
    """`count` tokens, each the likeliest after all before it."""
    ids = list(ids)
    for _ in range(count):
        ids.append(int(logits(p, c, ids)[-1].argmax()))
    return ids[-count:]


# ---------------------------------------------------------------- tokenizers

def byte_characters():
    """The character that stands for each byte in vocab.json and merges.txt."""
    visible = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = [b for b in range(256) if b not in visible]
    return {**{b: chr(b) for b in visible},
            **{b: chr(256 + n) for n, b in enumerate(hidden)}}


@functools.lru_cache(None)
def book(characters):
    with open(f"{ROOT}/data/book.train.txt", encoding="utf-8") as file:
        return file.read(characters)


# Pairs that are joined only if no piece ends between them.
AT_BORDERS = (("1", "2"), ("3", "4"), (".", "Ċ"), ("Ġ", "Ġ"))


def byte_pairs(count=250):
    """A small vocabulary of byte pairs, which build the most frequent words from
    the left -> {token: number}, [(left, right)]"""
    character = byte_characters()
    words = Counter("".join(character[b] for b in word.encode())
                    for word in re.findall(r" ?\w+|[^\w\s]+", book(30000)))
    merges = [(word[:k], word[k]) for word, _ in words.most_common(count)
              for k in range(1, len(word))]
    merges = [*list(dict.fromkeys(merges))[:count], *AT_BORDERS]
    tokens = [*sorted(character.values()), *map("".join, merges),
              "<|endoftext|>"]
    return {token: n for n, token in enumerate(dict.fromkeys(tokens))}, merges


@functools.lru_cache(None)
def word_pieces(count=400):
    """A small vocabulary of word pieces: special tokens, characters, each also
    inside a word, and frequent words, whole and with their ends."""
    words = Counter(re.findall(r"[a-z]+", book(60000).lower()))
    characters = [*map(chr, range(33, 127)), *"äöüßéσабв中文字日本のカ한한",
                  "\u302e", "\u1b44", "½", "…", "“", "”"]
    characters = [c for c in characters if not c.isupper()]
    common = [word for word, _ in words.most_common(count)]
    ends = Counter(word[-3:] for word in words if len(word) > 4)
    tokens = ["[PAD]", *(f"[unused{n}]" for n in range(3)), "[UNK]", "[CLS]",
              "[SEP]", "[MASK]", *characters, *("##" + c for c in characters),
              *common, *("##" + end for end, _ in ends.most_common(count // 4))]
    return list(dict.fromkeys(tokens))


# ---------------------------------------------------------------- files

def write_json(path, value):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(value, file)


def write_parameters(folder, tensors):
    """model.safetensors. The order of the tensors is shuffled."""
    names = sorted(tensors)
    random.Random(1).shuffle(names)
    header, data = {"__metadata__": {"format": "pt"}}, b""
    for name in names:
        x = tensors[name].contiguous()
        kind = "F32" if x.dtype == torch.float32 else "U8"
        raw = x.numpy().tobytes()
        header[name] = {"dtype": kind, "shape": list(x.shape),
                        "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(f"{folder}/model.safetensors", "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def write_tokenizer(folder, kind):
    """The tokenizer's files -> how many tokens there are."""
    vocab, merges = byte_pairs()
    lines = {"vocab.txt": word_pieces()} if kind == "bert" else {
        "merges.txt": ["#version: 0.2", *map(" ".join, merges)]}
    for name, texts in lines.items():
        with open(f"{folder}/{name}", "w", encoding="utf-8") as file:
            file.writelines(text + "\n" for text in texts)
    if kind == "bert":
        return len(word_pieces())
    write_json(f"{folder}/vocab.json", vocab)
    return len(vocab)


def added_word(text, number, *switches):
    """A word as tokenizer.json lists those that were added."""
    return {"id": number, "content": text, **{
        key: key in switches for key in
        ("single_word", "lstrip", "rstrip", "normalized", "special")}}


def tokenizer_json(kind, *words, vocab=None, merges=None):
    """tokenizer.json of either tokenizer, with words that were added. Without
    `vocab` the vocabulary is the small one."""
    if not vocab:
        vocab, pairs = byte_pairs()
        merges = list(map(" ".join, pairs))
    pieces = {token: n for n, token in enumerate(word_pieces())}
    around = [{what: {"id": name, "type_id": 0}} for what, name in (
        ("SpecialToken", "[CLS]"), ("Sequence", "A"), ("SpecialToken", "[SEP]"))]
    specials = [added_word("<|endoftext|>", vocab["<|endoftext|>"], "special")]
    if kind == "bert":
        specials = [added_word(token, pieces[token], "special") for token in
                    ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")]
    parts = {
        "gpt2": {
            "normalizer": None,
            "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False,
                              "trim_offsets": True, "use_regex": True},
            "post_processor": {"type": "ByteLevel", "add_prefix_space": True,
                               "trim_offsets": False, "use_regex": True},
            "decoder": {"type": "ByteLevel"},
            "model": {"type": "BPE", "dropout": None, "unk_token": None,
                      "continuing_subword_prefix": "", "end_of_word_suffix": "",
                      "fuse_unk": False, "byte_fallback": False, "vocab": vocab,
                      "merges": merges}},
        "bert": {
            "normalizer": {"type": "BertNormalizer", "clean_text": True,
                           "handle_chinese_chars": True, "strip_accents": None,
                           "lowercase": True},
            "pre_tokenizer": {"type": "BertPreTokenizer"},
            "post_processor": {
                "type": "TemplateProcessing", "single": around, "pair": around,
                "special_tokens": {token: {"id": token, "ids": [pieces[token]],
                                           "tokens": [token]}
                                   for token in ("[CLS]", "[SEP]")}},
            "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
            "model": {"type": "WordPiece", "unk_token": "[UNK]",
                      "continuing_subword_prefix": "##",
                      "max_input_chars_per_word": 100, "vocab": pieces}}}
    return {"version": "1.0", "truncation": None, "padding": None,
            "added_tokens": [*specials, *words], **parts[kind]}


def extra_tensors(c):
    """What published files hold besides the parameters."""
    if c["model_type"] == "gpt2":
        return {f"h.{l}.attn.bias": torch.ones(1, 1, 9, 9).byte()
                for l in range(c["n_layer"])}
    D = c["hidden_size"]
    return {"bert.embeddings.position_ids": torch.arange(9).byte(),
            "bert.pooler.dense.weight": torch.zeros(D, D),
            "cls.seq_relationship.weight": torch.zeros(2, D)}


def write_model(folder, config, renamed=lambda name: name, rows=0):
    """A folder as the hub has it -> config.json as a dict, {name: parameters}.
    `renamed` changes the names in the file; `rows` rows have no token."""
    os.makedirs(folder, exist_ok=True)
    vocab = rows + write_tokenizer(folder, config["model_type"])
    c = {**config, "vocab_size": vocab, "architectures": ["of no interest"]}
    write_json(f"{folder}/config.json", c)
    p = parameters(c, vocab)
    write_parameters(folder, {renamed(name): x for name, x in
                              {**p, **extra_tensors(c)}.items()})
    return c, {name: x.double() for name, x in p.items()}

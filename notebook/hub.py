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
from torch.nn.functional import embedding, layer_norm, softmax

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TYPES = {torch.float64: "F32", torch.float32: "F32", torch.float16: "F16",
         torch.bfloat16: "BF16", torch.uint8: "U8", torch.int64: "I64"}

# What config.json says. Sizes are chosen so that no two are equal by accident.
GPT2 = {"model_type": "gpt2", "n_layer": 3, "n_embd": 48, "n_head": 4,
        "n_inner": None, "n_positions": 96, "n_ctx": 96,
        "activation_function": "gelu_new", "layer_norm_epsilon": 1e-5}
BERT = {"model_type": "bert", "num_hidden_layers": 3, "hidden_size": 48,
        "num_attention_heads": 4, "intermediate_size": 72,
        "max_position_embeddings": 64, "type_vocab_size": 2,
        "hidden_act": "gelu", "layer_norm_eps": 1e-12,
        "position_embedding_type": "absolute"}
LLAMA = {"model_type": "llama", "num_hidden_layers": 3, "hidden_size": 48,
         "num_attention_heads": 6, "num_key_value_heads": 2,
         "intermediate_size": 80, "max_position_embeddings": 128,
         "rms_norm_eps": 1e-6, "rope_theta": 10000.0, "hidden_act": "silu",
         "tie_word_embeddings": False}


# ---------------------------------------------------------------- parameters

def shapes(c, vocab):
    """{name: shape} of all parameters, in the layout of the file."""
    return {"gpt2": gpt2_shapes, "bert": bert_shapes,
            "llama": llama_shapes}[c["model_type"]](c, vocab)


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


def llama_shapes(c, vocab):
    D, F = c["hidden_size"], c["intermediate_size"]
    G = D // c["num_attention_heads"] * c["num_key_value_heads"]
    found = {"model.embed_tokens.weight": (vocab, D)}
    for l in range(c["num_hidden_layers"]):
        for name, shape in (
                ("input_layernorm", (D,)), ("self_attn.q_proj", (D, D)),
                ("self_attn.k_proj", (G, D)), ("self_attn.v_proj", (G, D)),
                ("self_attn.o_proj", (D, D)),
                ("post_attention_layernorm", (D,)),
                ("mlp.gate_proj", (F, D)), ("mlp.up_proj", (F, D)),
                ("mlp.down_proj", (D, F))):
            found[f"model.layers.{l}.{name}.weight"] = shape
    found["model.norm.weight"] = (D,)
    if not c["tie_word_embeddings"]:
        found["lm_head.weight"] = (vocab, D)
    return found


def parameters(c, vocab, seed=1):
    """{name: tensor} with random numbers. Gains are around 1. Matrices are
    large enough for every mistake to show, and larger than embeddings: else a
    model whose output layer is its embedding would repeat what it reads. BERT's
    embeddings, which are normalized first, are so small that ε matters."""
    random_numbers = torch.Generator().manual_seed(seed)
    found = {}
    for name, shape in shapes(c, vocab).items():
        x = torch.randn(shape, generator=random_numbers, dtype=torch.float64)
        norm = len(shape) == 1 and not name.endswith("bias")
        size = (0.1 if "embeddings" in name else
                0.3 if shape[0] == vocab else 3) / math.sqrt(min(shape))
        found[name] = (1 + x / 4 if norm else x / 4 if len(shape) == 1
                       else x * size).float().double()
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


def gelu_new(x):
    return 0.5 * x * (1 + torch.tanh(
        math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3)))


def gelu(x):
    return 0.5 * x * (1 + torch.erf(x / math.sqrt(2)))


def gpt2(p, c, ids, bend=gelu_new, turned=False):
    """ids (T) -> logits (T,V). With `turned`, attn.c_proj is read the wrong way
    round."""
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


# ---------------------------------------------------------------- Llama

def rms_norm(x, gain, epsilon):
    return gain * x / torch.sqrt((x * x).mean(-1, keepdim=True) + epsilon)


def angles_of(c, K):
    """By how much each pair of a head turns from one position to the next."""
    rope = c.get("rope_parameters") or c.get("rope_scaling") or {}
    theta = rope.get("rope_theta", c.get("rope_theta", 10000.0))
    angles = theta ** (-torch.arange(0, K, 2, dtype=torch.float64) / K)
    if rope.get("rope_type", rope.get("type", "default")) == "default":
        return angles
    length = rope["original_max_position_embeddings"]
    low, high = rope["low_freq_factor"], rope["high_freq_factor"]
    for i, angle in enumerate(angles.tolist()):
        wave, slow = 2 * math.pi / angle, angle / rope["factor"]
        smooth = (length / wave - low) / (high - low)
        angles[i] = (angle if wave < length / high else
                     slow if wave > length / low else
                     (1 - smooth) * slow + smooth * angle)
    return angles


def rotated(x, angles, interleaved):
    """(heads,T,K), row t turned by its position's angles"""
    K = x.shape[2]
    angles = torch.outer(torch.arange(x.shape[1], dtype=x.dtype), angles)
    cos, sin = angles.cos(), angles.sin()
    u, v = ((x[..., 0::2], x[..., 1::2]) if interleaved
            else (x[..., :K // 2], x[..., K // 2:]))
    u, v = u * cos - v * sin, u * sin + v * cos
    return (torch.stack((u, v), -1).flatten(2) if interleaved
            else torch.cat((u, v), -1))


def llama(p, c, ids, interleaved=False, modulo=False):
    """ids (T) -> logits (T,V). With `interleaved` the pairs are the paper's,
    with `modulo` query head h reads key head h mod G: both are mistakes."""
    H, G = c["num_attention_heads"], c["num_key_value_heads"]
    x = embedding(ids, p["model.embed_tokens.weight"])
    read = [h % G if modulo else h // (H // G) for h in range(H)]
    for l in range(c["num_hidden_layers"]):
        def dense(x, name, at=f"model.layers.{l}."):
            return x @ p[at + name + ".weight"].T

        def norm(x, name, at=f"model.layers.{l}."):
            return rms_norm(x, p[at + name + ".weight"], c["rms_norm_eps"])

        h = norm(x, "input_layernorm")
        q, k = (rotated(heads(dense(h, f"self_attn.{part}_proj"), count),
                        angles_of(c, c["hidden_size"] // H), interleaved)
                for part, count in (("q", H), ("k", G)))
        v = heads(dense(h, "self_attn.v_proj"), G)
        y = attention(q, k[read], v[read], causal(len(ids)))
        x = x + dense(y, "self_attn.o_proj")
        h = norm(x, "post_attention_layernorm")
        gate = dense(h, "mlp.gate_proj")
        x = x + dense(gate * torch.sigmoid(gate) * dense(h, "mlp.up_proj"),
                      "mlp.down_proj")
    x = rms_norm(x, p["model.norm.weight"], c["rms_norm_eps"])
    return x @ p.get("lm_head.weight", p["model.embed_tokens.weight"]).T


def logits(p, c, ids):
    """ids -> logits (T,V), of a model of any of the three types."""
    ids = torch.tensor(ids)
    found = {"gpt2": gpt2, "bert": bert, "llama": llama}[c["model_type"]](
        p, c, ids)
    return found[1] if isinstance(found, tuple) else found


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
def learn_merges(text, count):
    """[(left, right)], byte pairs within words and the blanks before them."""
    character = byte_characters()
    words = Counter(tuple(character[b] for b in word.encode())
                    for word in re.findall(r" ?\w+|[^\w\s]+|\s", text))
    merges = []
    for _ in range(count):
        pairs = Counter()
        for word, times in words.items():
            for pair in zip(word, word[1:]):
                pairs[pair] += times
        merges.append(max(pairs, key=lambda pair: (pairs[pair], pair)))
        words = Counter({joined(word, merges[-1]): times
                         for word, times in words.items()})
    return tuple(merges)


def joined(word, pair):
    """The pieces of a word, with this pair made one wherever it occurs."""
    new, i = [], 0
    while i < len(word):
        both = tuple(word[i:i + 2]) == pair
        new.append("".join(pair) if both else word[i])
        i += 1 + both
    return tuple(new)


@functools.lru_cache(None)
def book(characters):
    with open(f"{ROOT}/data/book.train.txt", encoding="utf-8") as file:
        return file.read(characters)


# Pairs that are joined or not, depending on where a piece ends: digits in groups
# of three, a letter behind 'ſ, whose last byte is BF, a new line behind a point,
# two blanks before a digit.
AT_BORDERS = (("1", "2"), ("3", "4"), ("4", "5"), ("¿", "a"), (".", "Ċ"),
              ("Ġ", "Ġ"))

# A token that no pairs make: only who looks for whole pieces finds it.
WHOLE = ("ĠTransformer",)


def byte_pairs(count=250, specials=("<|endoftext|>",)):
    """A small vocabulary of byte pairs -> {token: number}, [(left, right)]"""
    merges = [*learn_merges(book(30000), count), *AT_BORDERS]
    character = byte_characters()
    tokens = [*sorted(character.values()), *map("".join, merges), *specials]
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


LLAMA_PATTERN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|"
    r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")


def tokenizer_json(vocab, merges, first, digits=False):
    """tokenizer.json as Llama 3 has it; with `digits`, as models that take each
    digit by itself."""
    before = ([{"type": "Digits", "individual_digits": True},
               {"type": "ByteLevel", "add_prefix_space": False,
                "trim_offsets": True, "use_regex": True}] if digits else
              [{"type": "Split", "pattern": {"Regex": LLAMA_PATTERN},
                "behavior": "Isolated", "invert": False},
               {"type": "ByteLevel", "add_prefix_space": False,
                "trim_offsets": True, "use_regex": False}])
    number = max(vocab.values()) + 1
    return {
        "version": "1.0", "truncation": None, "padding": None,
        "added_tokens": [{"id": number, "content": first, "special": True}],
        "normalizer": None,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": before},
        "post_processor": None if digits else {
            "type": "Sequence", "processors": [
                {"type": "ByteLevel", "add_prefix_space": True,
                 "trim_offsets": False, "use_regex": True},
                {"type": "TemplateProcessing",
                 "single": [{"SpecialToken": {"id": first, "type_id": 0}},
                            {"Sequence": {"id": "A", "type_id": 0}}]}]},
        "decoder": {"type": "ByteLevel", "add_prefix_space": True,
                    "trim_offsets": True, "use_regex": True},
        "model": {"type": "BPE", "dropout": None, "unk_token": None,
                  "continuing_subword_prefix": "" if digits else None,
                  "end_of_word_suffix": None, "fuse_unk": False,
                  "byte_fallback": False, "ignore_merges": not digits,
                  "vocab": vocab,
                  "merges": [" ".join(pair) if digits else list(pair)
                             for pair in merges]}}


# ---------------------------------------------------------------- files

def write_safetensors(path, tensors):
    header, data, begin = {"__metadata__": {"format": "pt"}}, [], 0
    for name, x in tensors.items():
        x = x.float() if x.dtype == torch.float64 else x
        raw = (x.contiguous().view(torch.int16) if x.dtype == torch.bfloat16
               else x.contiguous()).numpy().tobytes()
        header[name] = {"dtype": TYPES[x.dtype], "shape": list(x.shape),
                        "data_offsets": [begin, begin + len(raw)]}
        begin += len(raw)
        data.append(raw)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(data))


def write_json(path, value):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(value, file)


def write_parameters(folder, tensors, files=1):
    """model.safetensors, or several files and their index. The order of the
    tensors is shuffled."""
    names = sorted(tensors)
    random.Random(1).shuffle(names)
    if files == 1:
        write_safetensors(f"{folder}/model.safetensors",
                          {name: tensors[name] for name in names})
        return
    where = {}
    for k in range(files):
        part = f"model-{k + 1:05}-of-{files:05}.safetensors"
        write_safetensors(f"{folder}/{part}",
                          {name: tensors[name] for name in names[k::files]})
        where.update({name: part for name in names[k::files]})
    write_json(f"{folder}/model.safetensors.index.json",
               {"metadata": {}, "weight_map": where})


def write_tokenizer(folder, kind, digits=False):
    """The tokenizer's files -> how many tokens there are."""
    if kind == "bert":
        tokens = word_pieces()
        with open(f"{folder}/vocab.txt", "w", encoding="utf-8") as file:
            file.writelines(token + "\n" for token in tokens)
        return len(tokens)
    if kind == "llama":
        vocab, merges = byte_pairs(specials=() if digits else WHOLE)
        write_json(f"{folder}/tokenizer.json",
                   tokenizer_json(vocab, merges, "<|begin|>", digits))
        return len(vocab) + 1
    vocab, merges = byte_pairs()
    write_json(f"{folder}/vocab.json", vocab)
    with open(f"{folder}/merges.txt", "w", encoding="utf-8") as file:
        file.write("#version: 0.2\n")
        file.writelines(f"{left} {right}\n" for left, right in merges)
    return len(vocab)


def extra_tensors(c):
    """What published files hold besides the parameters."""
    kind = c["model_type"]
    if kind == "gpt2":
        return {f"h.{l}.attn.bias": torch.ones(1, 1, 9, 9).byte()
                for l in range(c["n_layer"])}
    if kind == "bert":
        D = c["hidden_size"]
        return {"bert.embeddings.position_ids": torch.arange(9).reshape(1, 9),
                "bert.pooler.dense.weight": torch.zeros(D, D),
                "cls.seq_relationship.weight": torch.zeros(2, D)}
    return {"model.layers.0.self_attn.rotary_emb.inv_freq": torch.ones(4)}


def write_model(folder, config, floats=torch.float32, files=1, renamed=None,
                digits=False):
    """A folder as the hub has it -> config.json as a dict, {name: parameters as
    they were rounded}. `renamed` changes the names in the file."""
    os.makedirs(folder, exist_ok=True)
    kind = config["model_type"]
    vocab = write_tokenizer(folder, kind, digits)
    c = {**config, "vocab_size": vocab, "architectures": ["of no interest"]}
    write_json(f"{folder}/config.json", c)
    p = {name: x.to(floats) for name, x in parameters(c, vocab).items()}
    rename = renamed or (lambda name: name)
    write_parameters(folder, {rename(name): x for name, x in
                              {**p, **extra_tensors(c)}.items()}, files)
    return c, {name: x.double() for name, x in p.items()}

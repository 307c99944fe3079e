#!/usr/bin/env python3
"""A model to hand on: the parameters of a run without Adam's moments, a third of the bytes.

    python3 docs/book/records/plain.py out/model.safetensors model.safetensors
"""

import json
import sys


def plain(run):
    """The file, with the tensors that a model is used with moved together."""
    size = int.from_bytes(run[:8], "little")
    header, numbers = json.loads(run[8:8 + size]), run[8 + size:]
    kept, parameters = {"__metadata__": header.pop("__metadata__")}, b""
    for name, tensor in header.items():
        if not name.startswith("adam."):
            first, end = tensor["data_offsets"]
            offsets = [len(parameters), len(parameters) + end - first]
            kept[name] = {**tensor, "data_offsets": offsets}
            parameters += numbers[first:end]
    text = json.dumps(kept, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + parameters


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__.strip())
    with open(sys.argv[1], "rb") as file:
        model = plain(file.read())
    with open(sys.argv[2], "wb") as file:
        file.write(model)

#!/usr/bin/env python3
"""The CMU Pronouncing Dictionary as training files: letters TAB sounds."""
import argparse
import hashlib
import re
import sys
import tarfile

ENTRY = re.compile(r'  "?([^"(]+)(?:\(\d+\))?"?: "([A-Z0-9 ]+)(?: #.*)?",?')


def pronunciations(package):
    """Each word's different pronunciations without stress, in the order of the package."""
    words = {}
    with tarfile.open(package) as files:
        text = files.extractfile("package/index.js").read().decode()
    for number, line in enumerate(text.splitlines(), start=1):
        if line.startswith("  "):
            entry = ENTRY.fullmatch(line)
            if not entry:
                raise ValueError(f"package/index.js, line {number}, is no entry: {line}")
            words.setdefault(entry[1], {})[re.sub(r"\d", "", entry[2])] = True
    return words


def split(words, count):
    """So many words, the first in the order of their hashes: 5 % each to test and valid."""
    chosen = sorted(words, key=lambda word: hashlib.sha256(word.encode()).digest())[:count]
    part = len(chosen) // 20
    return {"test": chosen[:part], "valid": chosen[part:2 * part], "train": chosen[2 * part:]}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("package", help="what npm pack cmu-pronouncing-dictionary@3.0.0 fetches")
    parser.add_argument("folder", help="where to write sounds.train.tsv, .valid.tsv and .test.tsv")
    parser.add_argument("words", nargs="?", type=int, help="how many; all, if it is not said")
    given = parser.parse_args()
    try:
        words = pronunciations(given.package)
        for name, chosen in split(words, given.words).items():
            with open(f"{given.folder}/sounds.{name}.tsv", "w", newline="\n") as file:
                file.writelines(f"{' '.join(word)}\t{sounds}\n"
                                for word in chosen for sounds in words[word])
    except (OSError, tarfile.TarError, KeyError, ValueError) as reason:
        sys.exit(f"{given.package}: {str(reason).splitlines()[0]}")


if __name__ == "__main__":
    main()

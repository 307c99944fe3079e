"""What the labs share: running a program, reading its CSV, the short form,
checked numbers, and how plots look."""
import csv
import io
import os
import re
import subprocess

import matplotlib.pyplot as plt
import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# Okabe and Ito's colors, which color-blind readers can tell apart.
COLORS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9",
          "#000000"]
plt.rcParams.update({
    "axes.prop_cycle": plt.cycler(color=COLORS),
    "axes.spines.top": False,
    "axes.spines.right": False,
    "figure.figsize": (7, 4),
    "figure.dpi": 100,
    "figure.constrained_layout.use": True,
    "font.size": 11,
    "image.cmap": "viridis",
    "legend.frameon": False,
})


def command(*words, given=None):
    """Runs a command in the project's root, with `given` as its standard input
    -> what it prints."""
    done = subprocess.run([str(word) for word in words], cwd=ROOT, input=given,
                          capture_output=True, text=True, encoding="utf-8")
    if done.returncode != 0:
        raise RuntimeError(" ".join(map(str, words)) + ": "
                           + done.stderr.strip())
    return done.stdout


def read(text):
    """CSV -> a list of rows, each a dict; what looks like a number becomes one."""
    def value(word):
        try:
            return float(word)
        except ValueError:
            return word
    return [{key: value(word) for key, word in row.items()}
            for row in csv.DictReader(io.StringIO(text))]


def run(lab, *arguments):
    """Builds build/notebook/LAB, runs it, and reads the CSV that it prints."""
    command("make", "-s", f"build/notebook/{lab}")
    return read(command(f"build/notebook/{lab}", *arguments))


def first(path, count):
    """The first lines of a file -> the name of a file that holds them."""
    name = f"build/notebook/{count}-{os.path.basename(path)}"
    os.makedirs(f"{ROOT}/build/notebook", exist_ok=True)
    with open(f"{ROOT}/{path}", encoding="utf-8") as file:
        lines = file.readlines()[:count]
    with open(f"{ROOT}/{name}", "w", encoding="utf-8") as file:
        file.writelines(lines)
    return name


def column(rows, name, **where):
    """The values of one column, in the rows where other columns have the given
    values."""
    return [row[name] for row in rows
            if all(row[key] == value for key, value in where.items())]


HEAD = re.compile(r"^\w[\w *]*?(\w+)\([^;{}]*\) \{\n", re.M)


def code_of(*paths):
    """The lines of C files that are neither empty nor comments."""
    code = ""
    for path in paths:
        with open(f"{ROOT}/{path}", encoding="utf-8") as file:
            code += "".join(line for line in file
                            if not re.match(r"\s*(//|$)", line))
    return code


def calls(*paths):
    """Which functions of transformer.c these files call -> three sets of names:
    called by the files themselves, reached in any way, and all there are."""
    code = code_of("transformer.c")
    body = {head[1]: code[head.end():code.index("\n}\n", head.end())]
            for head in HEAD.finditer(code)}

    def called(text):
        return {name for name in re.findall(r"\b(\w+)\(", text) if name in body}

    direct = called(code_of(*paths))
    reached, new = set(), direct
    while new:
        reached |= new
        new = set().union(*(called(body[name]) for name in new)) - reached
    return direct, reached, set(body)


def encoder_tensors(encoder, of):
    """{name in transformer.c: the same numbers} of PyTorch's
    nn.TransformerEncoder; of(p) is the parameter p itself or its gradient."""
    found = {}

    def linear(name, weight, bias):
        found[name + ".weight"], found[name + ".bias"] = weight.T, bias

    def norm(name, module):
        found[name + ".gain"] = of(module.weight)
        found[name + ".bias"] = of(module.bias)

    for l, layer in enumerate(encoder.layers):
        at, attention = f"encoder.{l}.", layer.self_attn
        for part, weight, bias in zip(("query", "key", "value"),
                                      of(attention.in_proj_weight).chunk(3),
                                      of(attention.in_proj_bias).chunk(3)):
            linear(f"{at}self_attention.{part}", weight, bias)
        for part, module in (("self_attention.output", attention.out_proj),
                             ("feed_forward.inner", layer.linear1),
                             ("feed_forward.outer", layer.linear2)):
            linear(at + part, of(module.weight), of(module.bias))
        norm(at + "self_attention_norm", layer.norm1)
        norm(at + "feed_forward_norm", layer.norm2)
    if encoder.norm is not None:
        norm("encoder.norm", encoder.norm)
    return found


def error(a, b):
    """The largest |a - b| / max(|a|, |b|, 0.001) of two lists of numbers."""
    a, b = np.ravel(a), np.ravel(b)
    return float(np.max(np.abs(a - b) / np.maximum(
        np.maximum(np.abs(a), np.abs(b)), 1e-3)))


# In the short form every cell runs, but nothing is trained to the end.
SHORT = os.environ.get("LAB_SHORT") == "1"


def short(full, short):
    """How many steps, epochs, seeds or runs: `full`, or `short` in the short
    form."""
    return short if SHORT else full


def digits(value):
    return f"{value:.0f}" if float(value).is_integer() else f"{value:.6g}"


def exact(name, value, within=0):
    """Prints a number that needs no training: each run, in either form, must
    reach it again to within `within`, which allows for rounding."""
    print(f"{name}: {digits(value)} (± {within:g})")


def learned(name, value, within):
    """Prints a number that comes from training: each full run must reach it again
    to within `within`, which allows for the spread between trainings. The short
    form prints it, too, but there it means nothing."""
    print(f"{name}: {digits(value)} (learned, ± {within:g})")


def time(name, ratio):
    """Prints a ratio of times. It depends on the machine and on what else runs
    there, so any value will do."""
    print(f"{name}: {ratio:.6g} (a time, not checked)")


def after_training(claim, holds):
    """Asserts a claim that is true only after a full training; in the short
    form it may be false."""
    if not (holds or SHORT):
        raise AssertionError(f"not so: {claim}")
    print(f"{'holds' if holds else 'not yet'}: {claim}")

"""How long the chapters of transformer.c may be. Lines that are only marks or shapes do not
count. What .ci/caps.txt allows may fall, and never rises.
"""

import re
import sys
from collections import Counter
from pathlib import Path

CAPS = [line.split() for line in Path(".ci/caps.txt").read_text().splitlines()]


def chapters():
    code, prose, name = Counter(), Counter(), None
    for line in Path("transformer.c").read_text("utf-8").splitlines():
        mark = re.match(r"//@ chapter (\w+)", line)
        name = mark[1] if mark else name
        if not re.match(r"\s*$|\s*SHAPE\(.*\);$|\s*//@", line):
            (prose if re.match(r"\s*//", line) else code)[name] += 1
    caps = {row[0]: tuple(map(int, row[1:])) for row in CAPS if len(row) == 3}
    for name in code:
        if code[name] > caps[name][0] or prose[name] > caps[name][1]:
            yield (f"chapter {name}: {code[name]} lines of code and {prose[name]} of prose; "
                   f"allowed are {caps[name]}: move it to a lab, or make something shorter")


wrong = list(chapters())
print("\n".join(wrong))
sys.exit(bool(wrong))

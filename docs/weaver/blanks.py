"""Blanks: numbers that the reader is to type, in the sections "By hand".

    {{1/2 | 2 a_region: what its grader says of it | 1/3 That is …}}

is the number, and what is said to whoever types another one: wrong number, and the
sentence. A sentence of the exercises' grader stands behind the name of its region.
The script makes a field of it; without the script the number is there.
"""

import html
import json
import re

BLANK = re.compile(r"\{\{(.*?)\}\}", re.DOTALL)
GRADERS = re.compile(r"([a-z]\w*): ")  # before a sentence of the grader


def parts(text):
    """(answer, [(wrong number, region or None, sentence)]) of a blank."""
    answer, *rest = [" ".join(part.split()) for part in text.split(" | ")]
    usual = []
    for part in rest:
        wrong, _, sentence = part.partition(" ")
        region = GRADERS.match(sentence)
        usual.append((wrong, region and region[1],
                      sentence[region.end():] if region else sentence))
    return answer, usual


def blank(found):
    answer, usual = parts(found[1])
    said = json.dumps([[wrong, sentence] for wrong, _, sentence in usual],
                      ensure_ascii=False)
    return (f'`<span class="blank" data-usual="{html.escape(said)}">{answer}'
            "</span>`{=html}")


def with_blanks(text):
    return BLANK.sub(blank, text)

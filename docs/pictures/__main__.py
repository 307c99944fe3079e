"""Draws one picture of the walkthrough, as SVG.

    python3 docs/pictures NAME > picture.svg
"""
import sys

from gallery import GALLERY

if len(sys.argv) != 2 or sys.argv[1] not in GALLERY:
    print("usage: python3 docs/pictures " + "|".join(GALLERY), file=sys.stderr)
    sys.exit(2)
sys.stdout.buffer.write(GALLERY[sys.argv[1]]().encode())

"""All pictures that Python draws, by name: `python3 docs/book/figures/gallery.py NAME >
picture.svg` draws one of them.

A picture is a function whose docstring has two paragraphs or more: the first is its
caption, the rest describes it in words. It returns an SVG, or several, which a page sets
side by side. The numbers of a training run come from docs/book/records/, where make.sh puts them.
"""
import sys

import flows
import gradients
import grids
import ideas
import layers
import mixtures
import plots

GALLERY = {name.replace("_", "-"): its
           for module in (flows, gradients, grids, ideas, layers, mixtures, plots)
           for name, its in vars(module).items()
           if its.__doc__ and "\n\n" in its.__doc__
           and getattr(its, "__module__", None) == module.__name__}

if __name__ == "__main__":
    print(GALLERY[sys.argv[1]](), end="")

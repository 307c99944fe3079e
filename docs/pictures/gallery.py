"""All pictures that Python draws, by name.

The first paragraph of a picture's docstring is its caption; the rest describes it
in words. Its function returns an SVG, or several, which a page sets side by side.
The numbers of a training run come from docs/runs/, where make.sh puts them.
"""
from flows import FLOWS
from gradients import GRADIENTS
from grids import GRIDS
from ideas import IDEAS
from layers import LAYERS
from mixtures import MIXTURES
from plots import PLOTS

GALLERY = {**FLOWS, **GRADIENTS, **GRIDS, **IDEAS, **LAYERS, **MIXTURES, **PLOTS}

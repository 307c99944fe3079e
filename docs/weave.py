#!/usr/bin/env python3
"""Weaves the walkthrough from transformer.c.

    python3 docs/weave.py        writes docs/*.html; `make docs` prepares it

transformer.c is cut into chapters; each chapter is prose (lines that begin
with "//"), code (all other lines) and markers ("//@ ..."). Prose becomes
Markdown, code becomes listings, markers bring in figures and the output of
commands. docs/source/ adds boxes and questions to each chapter and has the
pages that are not chapters. formula.py sets the formulas that the prose writes
in plain characters; pandoc turns Markdown, TeX and C into HTML; what it makes is
put into docs/page.tmpl. Below a drawing in plain characters, "//@ figure NAME
instead" puts the figure in its place. The Markdown of every page is left in build/docs/.

Places have names, never numbers of lines: a section has its heading's, a
function its own. So a page changes only if what stands on it changes.

Whatever does not fit (an unknown marker, a command that fails, a figure that
nobody uses, a formula that cannot be set) stops it with a message.
"""

import csv
import html
import inspect
import itertools
import os
import re
import shutil
import string
import subprocess
import sys
from pathlib import Path

import breaking

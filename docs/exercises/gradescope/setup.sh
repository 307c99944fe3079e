#!/bin/sh
# Gradescope runs this once, when it makes the machine: a C compiler and Python.
set -e
apt-get update
apt-get install -y --no-install-recommends gcc libc6-dev python3

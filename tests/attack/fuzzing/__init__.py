"""Randomly damaged inputs: table.py lists them, ways.py changes them.

Number N of an input is the same bytes for the same seed, so that a failure can be repeated. `make
fuzz-inputs` makes many.
"""

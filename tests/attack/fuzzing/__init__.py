"""Inputs made wrong by chance: table.py lists them, ways.py changes them.

Number N of an input is the same bytes for the same seed, so that what failed can be made again.
`make fuzz-inputs` makes many.
"""

"""The power-law sampler's documentation: "skip tokens with distance > 3 widths" skips the top.

    pip install numpy
    python power_law_7_skipped.py

Meant to save work on the tail. Its preset "creative writing" (target .12, width .08), a model that
is sure: .95, and 50 tokens of .001. Exit status 1 while the tail stays and the likeliest goes.
"""

import sys

import numpy as np

p = np.array([0.95, *[0.001] * 50])
skipped = abs(p - 0.12) > 3 * 0.08
print("p .95 and 50 times .001: how many of the tail are skipped, and is the likeliest")
print(f"  expected 50, False\n  got      {int(skipped[1:].sum())}, {bool(skipped[0])}")
sys.exit(int(skipped[0] or not skipped[1:].all()))

"""Akunu's chapter on sampling: temperature before the filters keeps other tokens than llama.cpp.

    pip install numpy
    python akunu_4_order.py

Its preset for code, temperature 0.2, top_p 0.95 and min_p 0.1, on probabilities of 1 / rank. Exit
status 1 while the two orders keep other tokens.
"""

import sys

import numpy as np


def kept(temperature_first: bool) -> int:
    p = 1 / np.arange(1, 101)
    p = p ** (1 / 0.2) if temperature_first else p
    p = p / p.sum()
    nucleus = int((np.cumsum(p) >= 0.95).argmax()) + 1
    return min(nucleus, int((p >= 0.1 * p[0]).sum()))


print("temperature 0.2, top_p 0.95, min_p 0.1 on 100 tokens of p = 1 / rank: tokens left")
print(f"  expected {kept(False)}, as in llama.cpp\n  got      {kept(True)}")
sys.exit(int(kept(True) != kept(False)))

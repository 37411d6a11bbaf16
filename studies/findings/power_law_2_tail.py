"""The power-law sampler's documentation: "creativity without nonsense", of a whole vocabulary.

    pip install numpy
    python power_law_2_tail.py

A logit of peak / (1 + (|p - target| / width)^3) tends to 0 for unlikely tokens, not to -inf: at
peak 10 each has exp(-10) of the weight of the best. Its preset "creative writing" (target .12,
width .08) on a Zipf distribution of 128,256 tokens, and a banned token. Exit status 1 while the
tail is drawn.
"""

import sys

import numpy as np
from numpy.typing import NDArray


def law(p: NDArray[np.float64], target: float, width: float) -> NDArray[np.float64]:
    weights = np.exp(10 / (1 + (abs(p - target) / width) ** 3))
    return np.asarray(weights / weights.sum())


p = 1 / np.arange(1, 128_257)
p /= p.sum()
tail = float(law(p, 0.12, 0.08)[p < 1e-4].sum())
banned = float(law(np.array([1.0, 0.0]), 0.1, 0.08)[1])
print("the share of draws that goes to tokens below 1e-4, of 128,256")
print(f"  expected that of the model, {p[p < 1e-4].sum():.2f}, or less\n  got      {tail:.2f}")
print(f"two tokens, one banned: how often it is drawn\n  expected 0\n  got      {banned:.2f}")
sys.exit(int(tail > p[p < 1e-4].sum() or banned > 0))

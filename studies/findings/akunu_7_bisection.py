"""Akunu's chapter on sampling: top-k by "binary search on logit values" fails on a masked token.

    pip install numpy
    python akunu_7_bisection.py

The interval is halved from the smallest to the largest logit. From -inf it is never halved: the
middle of -inf and anything is -inf, and every token reaches it. Exit status 1 while all stay.
"""

import sys

import numpy as np

row = np.random.default_rng(1).normal(0, 3, 1000).astype(np.float32)
row[7] = -np.inf
low, high = row.min(), row.max()
for _ in range(64):
    middle = (low + high) / np.float32(2)
    low, high = (middle, high) if (row >= middle).sum() >= 40 else (low, middle)
left = int(((row >= low) & (row > -np.inf)).sum())
print("top_k 40 of 1,000 logits, one of them masked, 64 steps: tokens left")
print(f"  expected 40\n  got      {left}")
sys.exit(int(left != 40))

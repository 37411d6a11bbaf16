"""Akunu's chapter on sampling: the walk of the CPU path can draw a banned token.

    pip install numpy
    python akunu_3_banned.py

"We walk through the CDF until r <= cumsum. The last candidate is returned as a fallback." With
top_k 0 the last of 256 candidates has p = 0 behind a mask of 20 allowed tokens, and the float32 sum
may end below r. Exit status 1 while it does so for some mask.
"""

import sys

import numpy as np

generator, short = np.random.default_rng(1), []
for _ in range(1000):
    logits = np.sort(generator.normal(0, 2, 20).astype(np.float32))[::-1]
    p = np.exp(logits - logits[0])
    p = p / np.cumsum(p, dtype=np.float32)[-1]
    total = np.cumsum(p / np.cumsum(p, dtype=np.float32)[-1], dtype=np.float32)[-1]
    short.append(max(0.0, 1 - float(total)))
few = [gap for gap in short if gap > 2**-24]  # r has 24 bits and is at most 1 - 2**-24
print("1,000 masks of 20 allowed tokens: how many can draw the 256th candidate, which is banned")
print(f"  expected 0\n  got      {len(few)}, with a probability of up to {max(short):.1e}")
sys.exit(int(len(few) > 0))

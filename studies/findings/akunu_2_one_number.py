"""Akunu's chapter on sampling: position and seed offset are added, so neighbours share their noise.

    pip install numpy
    python akunu_2_one_number.py

`element_seed = (position + seed_offset) * 2654435761`, `pcg_float(element_seed + i)`, as printed.
Two generations whose offsets, taken from the clock, are 1 apart, 100 positions of 1,000 equal
logits. Exit status 1 while one has the tokens of the other.
"""

import sys

import numpy as np


def token(position: int, seed_offset: int) -> int:
    first = (position + seed_offset) * 2654435761 % 2**32
    state = (first + np.arange(1000, dtype=np.uint64)).astype(np.uint32)
    state = state * np.uint32(747796405) + np.uint32(2891336453)
    word = ((state >> ((state >> np.uint32(28)) + np.uint32(4))) ^ state) * np.uint32(277803737)
    return int(((word >> np.uint32(22)) ^ word).argmax())  # the noise grows with u


same = sum(token(p + 1, 1000) == token(p, 1001) for p in range(100))
print("offset 1000 at position p + 1 and offset 1001 at p: equal tokens of 100")
print(f"  expected 0 or 1: 1,000 tokens\n  got      {same}")
sys.exit(int(same > 5))

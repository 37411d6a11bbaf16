"""The power-law sampler's documentation: the adaptive target lives at its bounds.

    pip install numpy
    python power_law_3_bound.py

`target * queue_size - sum`, clamped to 0 and 1, as it is written: one draw is to make up for the
whole queue. Its preset "creative writing" on 20 tokens of p = 1 / rank, 2,000 draws. Exit status 1
while most targets are 0 or 1.
"""

import sys
from collections import deque

import numpy as np

TARGET, WIDTH, HEAVINESS, QUEUE, PEAK = 0.12, 0.08, 3.0, 20, 10.0
generator, history = np.random.default_rng(1), deque[float](maxlen=QUEUE - 1)
p = 1 / np.arange(1, 21)
p /= p.sum()
at_a_bound = 0
for _ in range(2000):
    target = min(max(TARGET * QUEUE - sum(history), 0.0), 1.0) if history else TARGET
    at_a_bound += target in (0.0, 1.0)
    weights = np.exp(PEAK / (1 + (abs(p - target) / WIDTH) ** HEAVINESS))
    history.append(float(p[generator.choice(20, p=weights / weights.sum())]))
print("2,000 draws: how many of their targets are 0 or 1")
print(f"  expected few: targets near {TARGET}\n  got      {at_a_bound}")
sys.exit(int(at_a_bound > 1000))

"""The power-law sampler's documentation: no parameters give its worked example.

    pip install numpy
    python power_law_1_example.py

It states that .60 .25 .10 .05 at target .10 and width .05 become .05 .15 .70 .10. A token three
widths from the target (.25) never gets more than one a width from it (.05). Exit status 1 if no
peak and no exponent of a fine grid come near.
"""

import sys

import numpy as np

p, documented = np.array([0.60, 0.25, 0.10, 0.05]), np.array([0.05, 0.15, 0.70, 0.10])
distance = abs(p - 0.10) / 0.05
peaks, exponents = np.geomspace(0.01, 100, 400), np.geomspace(0.1, 10, 200)
logits = peaks[:, None, None] / (1 + distance ** exponents[None, :, None])
weights = np.exp(logits - logits.max(-1, keepdims=True))
laws = weights / weights.sum(-1, keepdims=True)
nearest = abs(laws - documented).sum(-1).min() / 2
more = int((laws[..., 1] > laws[..., 3]).sum())
print("80,000 settings of peak and exponent: the nearest to .05 .15 .70 .10, and how many give .25")
print("more than .05, as it has it")
print(f"  expected total variation 0, some\n  got      {nearest:.3f}, {more}")
sys.exit(int(nearest > 0.01 and more == 0))

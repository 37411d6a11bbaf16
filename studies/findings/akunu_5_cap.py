"""Akunu's chapter on sampling: "0 = no limit, uses 256 cap" is a limit.

    pip install numpy
    python akunu_5_cap.py

The mass that 256 candidates leave out, of a Zipf distribution and of equal logits over 128,256
tokens. Exit status 1 while it is more than a thousandth.
"""

import sys

import numpy as np

lost = {}
for name, p in (("Zipf", 1 / np.arange(1, 128_257)), ("equal", np.ones(128_256))):
    lost[name] = 1 - p[:256].sum() / p.sum()
    print(f"top_k 0, {name}, 128,256 tokens: the mass that cannot be drawn")
    print(f"  expected 0\n  got      {lost[name]:.3f}")
sys.exit(int(max(lost.values()) > 0.001))

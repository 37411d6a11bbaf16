"""Akunu's chapter on sampling: Gumbel noise whose sum is stored as float16 favours low ids.

    pip install numpy
    python akunu_1_half_noise.py

32 equal logits of 1000, temperature 1, `half(val + temp * gumbel)` and the first largest, as its
kernel is printed; 200,000 draws with independent uniforms. Exit status 1 while the first token is
drawn more often than the last.
"""

import sys

import numpy as np

DRAWS, N = 200_000, 32
u = np.random.default_rng(1).random((DRAWS, N), np.float32).clip(1e-7, 1 - 1e-7)
tokens = (np.float32(1000) - np.log(-np.log(u))).astype(np.float16).argmax(1)
first, last = (int((tokens == token).sum()) for token in (0, N - 1))
print(f"{N} equal logits of 1000, {DRAWS:,} draws: how often the first and the last token")
print(f"  expected about {DRAWS / N:.0f} each\n  got      {first}, {last}")
sys.exit(int(first > 1.2 * last))

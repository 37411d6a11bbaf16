"""tinygrad: tokens far below the largest logit lose most of their share.

    sampler-parity engines exec tinygrad -- python studies/findings/finding_73_tail.py

One token has logit 0, N have -17. `u` are the 40 largest numbers that Tensor.rand can give. The
share is that of all pairs of noise, with the noise that tinygrad computes; the noise of the first
token is taken as exact. The Python device needs no compiler.
"""

import importlib
import math
import os
import sys
from typing import Any

N, BELOW, STEP = 131_071, 17.0, 2.0**-23


def main() -> int:
    os.environ["DEV"] = "PYTHON"
    tensor: Any = importlib.import_module("tinygrad").Tensor
    u = tensor([1 - k * STEP for k in range(1, 41)])
    # As Transformer.forward, line 378 of tinygrad/llm/model.py.
    noise = (-(u.maximum(1e-12).log().neg()).log()).tolist()
    got = 0.0
    for k, value in enumerate(noise, 1):
        largest = (1 - (k - 1) * STEP) ** N - (1 - k * STEP) ** N
        got += largest * math.exp(-math.exp(BELOW - value))
    weight = N * math.exp(-BELOW)
    expected = weight / (1 + weight)
    lowest = (-(tensor([0.0]).maximum(1e-12).log().neg()).log()).tolist()[0]
    print(f"{N:,} tokens {BELOW:.0f} below the first: share of all draws")
    print(f"  expected {expected:.5f}\n  got      {got:.5f}")
    print("a token so far below the largest that it never comes")
    print(f"  expected none\n  got      {noise[0] - lowest:.2f}")
    return int(got < expected / 2)


if __name__ == "__main__":
    sys.exit(main())

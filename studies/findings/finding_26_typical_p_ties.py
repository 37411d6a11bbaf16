"""transformers: typical_p keeps all tokens that are as typical as the last one needed.

    pip install transformers torch
    python finding_26_typical_p_ties.py

Exit status 1 while it is so. A banned token, which makes the entropy NaN in llama.cpp, is left out
of it here, as it should be: the last line.
"""

import math
import sys

import torch
from transformers import TypicalLogitsWarper


def left(probabilities: list[float]) -> list[int]:
    logits = [math.log(p) if p else -math.inf for p in probabilities]
    scores = TypicalLogitsWarper(mass=0.3)(torch.tensor([[0]]), torch.tensor([logits]))
    return [int(token) for token in scores[0].isfinite().nonzero()[:, 0]]


ties = left([0.2] * 5)
print(
    f"typical_p 0.3 of five equal tokens: how many are left\n  expected 2\n  got      {len(ties)}"
)
banned = left([0.5, 0.25, 0.125, 0.125, 0.0])
print(f"the same of .5, .25, .125, .125 and a banned one\n  expected [0, 1]\n  got      {banned}")
sys.exit(int(len(ties) != 2))

"""transformers: top_k keeps more than k tokens where some are equal to the k-th.

    pip install transformers torch
    python finding_24_top_k_ties.py

Exit status 1 while it is so.
"""

import sys

import torch
from transformers import TopKLogitsWarper

scores = torch.tensor([[3.0, 2.0, 2.0, 2.0, 1.0]])
left = TopKLogitsWarper(top_k=2)(torch.tensor([[0]]), scores).isfinite().sum().item()
print(f"top_k 2 of logits 3, 2, 2, 2, 1: tokens left\n  expected 2\n  got      {left}")
sys.exit(int(left != 2))

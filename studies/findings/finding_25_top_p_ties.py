"""transformers: of equal tokens at top_p's cut those with the highest ids stay.

    pip install transformers torch
    python finding_25_top_p_ties.py

A stable descending sort, as in the paper's code and in llama.cpp, keeps the first. Exit status 1
while it is otherwise.
"""

import sys

import torch
from transformers import TopPLogitsWarper

left = TopPLogitsWarper(top_p=0.45)(torch.tensor([[0]]), torch.zeros(1, 4))
ids = left[0].isfinite().nonzero()[:, 0].tolist()
print(f"top_p 0.45 of four equal tokens: ids left\n  expected [0, 1]\n  got      {ids}")
sys.exit(int(ids != [0, 1]))

"""transformers: the last of two biases for one token counts, and no warning is given.

    pip install transformers torch
    python finding_27_biases.py

Exit status 1 while it is so.
"""

import sys

import torch
from transformers import SequenceBiasLogitsProcessor

biases = [[[0], 1.0], [[0], 2.0]]
processor = SequenceBiasLogitsProcessor(sequence_bias=biases)
logit = processor(torch.tensor([[1]]), torch.zeros(1, 3))[0, 0].item()
print(f"biases 1 and 2 for token 0 of logit 0\n  expected 3, or an error\n  got      {logit:g}")
sys.exit(int(logit != 3))

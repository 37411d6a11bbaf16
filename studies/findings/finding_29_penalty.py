"""transformers does not always divide by the repetition penalty: negative logits are multiplied.

    pip install transformers torch
    python finding_29_penalty.py

The expected values follow tsampler's documentation. Exit status 1 if the result differs.
"""

import sys

import torch
from transformers import RepetitionPenaltyLogitsProcessor

scores = torch.tensor([[4.0, -4.0, 0.0]])
got = RepetitionPenaltyLogitsProcessor(penalty=2.0)(torch.tensor([[0, 1, 2]]), scores)[0].tolist()
print("repetition penalty 2 on logits 4, -4, 0 of tokens that came")
print(f"  expected [2.0, -2.0, 0.0] by 'Hugging Face always divides'\n  got      {got}")
sys.exit(int(got != [2.0, -2.0, 0.0]))

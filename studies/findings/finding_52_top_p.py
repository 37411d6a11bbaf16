"""rwkv alone: top_p 1 is greedy, and a low temperature is refused. Prints expected and got.

sampler-parity engines exec rwkv -- python studies/findings/finding_52_top_p.py
"""

import importlib
import sys
from typing import Any

import numpy as np

torch: Any = importlib.import_module("torch")
utils: Any = importlib.import_module("rwkv.utils")
pipeline = utils.PIPELINE.__new__(utils.PIPELINE)  # without a model and a tokenizer


def greedy_rows(n_vocab: int, rows: int = 100, draws: int = 20) -> int:
    """Count the rows of which every draw at top_p 1 is the likeliest token."""
    generator = np.random.default_rng(0)
    greedy = 0
    for _ in range(rows):
        logits = torch.tensor(generator.normal(0, 1, n_vocab).astype(np.float32))
        tokens = {pipeline.sample_logits(logits, top_p=1.0) for _ in range(draws)}
        greedy += tokens == {int(logits.argmax())}
    return greedy


def main() -> int:
    differ = False
    np.random.seed(1)
    for n_vocab in (50, 1000, 65_536):
        print(f"top_p 1 on {n_vocab} tokens, 20 draws from each of 100 rows: rows that are greedy")
        print("  expected 0")
        greedy = greedy_rows(n_vocab)
        differ |= greedy > 0
        print(f"  got      {greedy}")
    print("top_p 0.9 at temperature 0.01 on four tokens of 1/4, and at 0.001")
    for temperature in (0.01, 0.001):
        print("  expected one of the four")
        try:
            token = pipeline.sample_logits(torch.zeros(4), temperature=temperature, top_p=0.9)
        except ValueError as error:
            token, differ = f"ValueError: {error}", True
        print(f"  got      {token}")
    return int(differ)


if __name__ == "__main__":
    sys.exit(main())

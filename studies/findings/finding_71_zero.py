"""transformers: a drafted token that the target cannot give, at a uniform number of 0.

    python studies/findings/finding_71_zero.py

`torch.rand` gives multiples of 2**-24. Behind 190 numbers of this seed comes a 0.
"""

import importlib
import sys
from typing import Any


def main() -> int:
    torch: Any = importlib.import_module("torch")
    utils: Any = importlib.import_module("transformers.generation.utils")
    target = torch.tensor([[[-torch.inf, 0.0], [0.0, 0.0]]])  # as a filter leaves it: token 1 alone
    draft = torch.tensor([[[0.0, 0.0]]])
    torch.manual_seed(28587)
    for _ in range(190):
        torch.rand(1)
    tokens, _ = utils._speculative_sampling(torch.tensor([[0]]), draft, 1, target)
    got = tokens[0].tolist()[0]
    print("first token of a round, the draft being token 0 and the target's p being 0 and 1")
    print(f"  expected 1\n  got      {got}")
    return int(got != 1)


if __name__ == "__main__":
    sys.exit(main())

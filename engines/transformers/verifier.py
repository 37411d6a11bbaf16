"""transformers' verifier of drafts, `_speculative_sampling`: generate calls it with a sampling
assistant, one text at a time."""

import importlib
from functools import cache
from typing import Any

import numpy as np

from sampler_parity.engines.shared.verifiers import Floats, Pairs, Verify, edited


@cache
def verifier(edits: Pairs = ()) -> Verify:
    """Return a function that verifies a round. edits: of the verifier's text."""
    torch: Any = importlib.import_module("torch")
    sample = importlib.import_module("transformers.generation.utils")._speculative_sampling
    if edits:
        sample = edited(sample, edits)

    def verify(logits: Floats, q: Floats, draft: list[int], seed: int) -> list[int]:
        torch.manual_seed(seed)
        with np.errstate(divide="ignore"):
            drafted_from = torch.tensor(np.log(q))[None]
        target = torch.tensor(logits)[None]
        tokens, _ = sample(torch.tensor([draft]), drafted_from, len(draft), target)
        given: list[int] = tokens[0].tolist()
        return given

    return verify

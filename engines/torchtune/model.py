"""torchtune: what torchtune's sample compares with its exponential numbers: p.

    logits = logits / max(temperature, 1e-5) (line 52)
    top_k: -inf if logit < the k-th largest (lines 53-59)
    p = softmax (line 62);  token = argmax(p / q), q exponential (lines 64-68)

llama.cpp is greedy at temperature 0 and keeps k tokens. Here 0 divides by 1e-5, and all that equal
the k-th stay.

Parameters, as Python holds them (float64):
    temperature  default 1. 0 and below are 1e-5.
    top_k        default None (off). Beyond the vocabulary off; 0 and below are refused.
Ties: all that equal the k-th stay, behind the division. At temperature 0 equal largest logits are
    drawn from.
Edges: no greedy branch: at 1e-5 a token 0.001 below the largest has p 0. A logit beyond 3.4e33
    becomes infinite, and p is NaN; the argmax is then token 0, which is refused here.
Source: sample, torchtune/generation/_generation.py at 0.6.1; softmax of torch 2.13.0 without vector
    instructions (torch_cpu.py).
Suite: engines/torchtune/suites/torchtune/torchtune.toml
"""

from typing import Any

import numpy as np

from sampler_parity.engines.shared.past import size_of_vocabulary
from sampler_parity.engines.shared.torch_cpu import softmax
from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.errors import ChainError, UndefinedInputError
from sampler_parity.reference.floats import FloatArray
from sampler_parity.reference.parameters import int32, real
from sampler_parity.reference.sampler import Stateless


class Torchtune(Stateless):
    name = "torchtune"

    def __init__(self, temperature: Any = 1.0, top_k: Any = None) -> None:
        self.temperature = real("temperature", temperature)
        self.top_k = None if top_k is None else int32("top_k", top_k)
        if self.top_k is not None and self.top_k < 1:
            raise ChainError(f"top_k must be at least 1, got {top_k!r}")

    @np.errstate(all="ignore")
    def apply(self, cand: Candidates) -> None:
        if size_of_vocabulary(cand, "torchtune") == 0:
            raise UndefinedInputError("no candidate: torch has no largest of none")
        logits = self.largest(cand.logits / cand.logits.dtype.type(self.divisor()))
        p = softmax(logits)
        if np.isnan(p).any():
            raise UndefinedInputError("probabilities contain NaN: the argmax is any")
        cand.p = p

    def divisor(self) -> float:
        return max(self.temperature, 1e-5)

    def largest(self, logits: FloatArray) -> FloatArray:
        if self.top_k is None:
            return logits
        pivot = np.sort(logits)[-min(self.top_k, len(logits))]
        return np.where(logits < pivot, logits.dtype.type(-np.inf), logits)


STAGES = {"torchtune": Torchtune}

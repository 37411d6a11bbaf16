"""litgpt: what LitGPT's sample hands to its draw, or its greedy token.

    top_k, temperature, top_p, softmax

    top_k: logits = -inf but for the k largest (lines 61-64)
    greedy, if temperature or top_p is 0 or less: the argmax (lines 66, 74)
    temperature: logits / temperature (line 68)
    top_p: sorts p, ascending;  -inf if sum of p, itself included <= 1 - top_p (lines 40-50)
    p: softmax of what is left (line 72)

The last in the order of top_p stays. llama.cpp's chain has the temperature last by default, and its
top_p sums from the largest down.

Parameters, as Python holds them (float64):
    temperature  default 1. 0 and below are greedy.
    top_k        default None (off). Beyond the vocabulary off; below 0 refused. 0 leaves nothing:
                 token 0 if greedy, else refused.
    top_p        0..1, else refused; default 1 (off). 0 is greedy.
Ties: top_k as torch.topk leaves them: libstdc++'s std::partial_sort if 64 k are at most the
    vocabulary, else its std::nth_element. top_p by torch's sort, libstdc++'s, which is not stable
    beyond 16 tokens. The argmax: the first.
Edges: the sums are float32; 1 - top_p is rounded to float32 once. A sum that equals 1 - top_p is
    removed. So top_p just below 1 may remove nothing.
Source: sample and sample_top_p, litgpt/generate/base.py at 0.5.13; softmax, sort, cumsum and topk
    of torch 2.13.0 without vector instructions (torch_cpu.py).
Suite: engines/litgpt/suites/litgpt/litgpt.toml
"""

from typing import Any

import numpy as np

from sampler_parity.engines.shared.past import size_of_vocabulary
from sampler_parity.engines.shared.torch_cpu import cumsum, descending, largest, softmax
from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.errors import ChainError, UndefinedInputError
from sampler_parity.reference.floats import FloatArray
from sampler_parity.reference.parameters import int32, real
from sampler_parity.reference.sampler import Stateless


class Litgpt(Stateless):
    name = "litgpt"

    def __init__(self, temperature: Any = 1.0, top_k: Any = None, top_p: Any = 1.0) -> None:
        self.temperature = real("temperature", temperature)
        self.top_k = None if top_k is None else int32("top_k", top_k)
        self.top_p = real("top_p", top_p)
        if not 0 <= self.top_p <= 1:
            raise ChainError(f"top_p must be in 0..1, got {top_p!r}")
        if self.top_k is not None and self.top_k < 0:
            raise ChainError(f"top_k must be at least 0, got {top_k!r}")

    @np.errstate(all="ignore")
    def apply(self, cand: Candidates) -> None:
        n, kind = size_of_vocabulary(cand, "LitGPT"), cand.logits.dtype.type
        if n == 0:
            raise UndefinedInputError("no candidate: torch has no largest of none")
        logits = self.largest(cand.logits)
        if self.greedy():
            cand.selected = int(logits.argmax())
            return
        logits = self.nucleus(logits / kind(self.temperature))
        p = softmax(logits)
        if np.isnan(p).any():
            raise UndefinedInputError("probabilities contain NaN: torch refuses")
        cand.p = p

    def greedy(self) -> bool:
        return not (self.temperature > 0 and self.top_p > 0)

    def largest(self, logits: FloatArray) -> FloatArray:
        if self.top_k is None or self.top_k >= len(logits):
            return logits
        if np.isnan(logits).any():
            raise UndefinedInputError("a NaN logit cannot be sorted")
        cut = np.full_like(logits, -np.inf)
        if self.top_k > 0:
            kept = largest(logits, self.top_k)
            cut[kept] = logits[kept]
        return cut

    def nucleus(self, logits: FloatArray) -> FloatArray:
        if self.top_p >= 1:
            return logits
        order = descending(-logits)
        goes = self.goes(softmax(logits[order]))
        goes[-1] = False
        cut = logits.copy()
        cut[order[goes]] = -np.inf
        return cut

    def goes(self, p: FloatArray) -> Any:
        """Return which tokens top_p removes. p: ascending."""
        return cumsum(p) <= p.dtype.type(1 - self.top_p)


STAGES = {"litgpt": Litgpt}

"""lmdeploy_sample: temperature, top-k, top-p and min-p of sorted logits, then a draw by Philox.

    Sort logits / temperature, the largest first. The ranks behind top_k are -inf.
    With p = softmax, -inf where the p before a token sum to more than top_p, but for the first.
    With p = softmax, -inf where p < min_p * max(p).
    With p = softmax and u = rand(seed, position), select the first with sum before < u <= sum.

Sums are float32, in blocks of 128. The sum before a token is its own sum less p, rounded: between
two tokens there may be a gap. A u in a gap, above the last sum, or 0 selects the first: finding 68
of docs/findings.md.

Parameters:
    seed         integer; its lower 32 bits count.
    temperature  0..2; 0 is top-k 1 at temperature 1. Default 1.
    top_k        0 is off, 1 is greedy, negative values are refused, and above the vocabulary.
    top_p        0..1; 1 is off. 0 keeps the first alone. Default 1.
    min_p        0..1; 0 is off. Default 0.
Ties: greedy takes the first of the largest. A sort is libstdc++'s std::sort; top-k of 1/64 of the
    row or less its std::partial_sort. A larger top-k leaves equal logits in no order that is
    described here.
Edges: the position is the number of tokens, the prompt's among them. The p shown is that of the
    draw. A greedy request shows 1 for its token.
Source: FusedLogitsProcessor.sampling, lmdeploy/pytorch/engine/logits_process.py 68-95 and 501-543;
    _multinomial_sampling_kernel, lmdeploy/pytorch/kernels/cuda/multinomial_sampling.py 7-48;
    make_sampling_inputs, lmdeploy/pytorch/strategies/ar/sampling.py 82-178;
    SamplingParam.from_gen_config, lmdeploy/pytorch/messages.py 119-126, at 0.18.0.
Suite: engines/lmdeploy/suites/lmdeploy/lmdeploy_sample.toml
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.engines.shared.past import OfPast, Past, size_of_vocabulary
from sampler_parity.engines.shared.philox import rand
from sampler_parity.engines.shared.torch_cpu import cumsum, descending, softmax
from sampler_parity.reference import floats
from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.errors import ChainError, UndefinedInputError
from sampler_parity.reference.floats import FloatArray
from sampler_parity.reference.parameters import float32, int32, integer, real
from sampler_parity.reference.platforms import libstdcxx

BLOCK = 128
BY_HEAP = 64  # torch.topk: std::partial_sort if 64 k are no more than the row


class LmdeploySample(OfPast):
    name = "lmdeploy_sample"

    def __init__(
        self,
        seed: Any,
        temperature: Any = 1.0,
        top_k: Any = 0,
        top_p: Any = 1.0,
        min_p: Any = 0.0,
    ) -> None:
        self.seed = integer("seed", seed, -(2**63), 2**64 - 1)
        self.temperature, self.top_k = float32("temperature", temperature), int32("top_k", top_k)
        self.top_p, self.min_p = float32("top_p", top_p), float32("min_p", min_p)
        if not 0 <= real("temperature", temperature) <= 2:
            raise ChainError(f"temperature must be in 0..2, got {temperature!r}")
        if self.top_k < 0:
            raise ChainError(f"top_k must be 0 or more, got {top_k!r}")
        for name, given in (("top_p", top_p), ("min_p", min_p)):
            if not 0 <= real(name, given) <= 1:
                raise ChainError(f"{name} must be in 0..1, got {given!r}")
        if self.temperature == 0:
            self.temperature, self.top_k = np.float32(1), 1  # messages.py 119-122
        self.past = Past()

    @np.errstate(all="ignore")
    def apply(self, cand: Candidates) -> None:
        n = size_of_vocabulary(cand, "lmdeploy")
        if self.top_k > n:
            raise UndefinedInputError(f"top_k {self.top_k} in a vocabulary of {n}: torch refuses")
        if self.top_k == 1:
            cand.selected = floats.first_largest(cand.logits)  # 533
            cand.p = (np.arange(n) == cand.selected).astype(cand.logits.dtype)
            return
        logits = cand.logits / cand.logits.dtype.type(self.temperature)  # 20
        ranked = self.ranked(logits)
        weights = softmax(self.filtered(logits[ranked]))  # 526
        u = rand(self.seed & 0xFFFFFFFF, len(self.past.text))  # sampling.py 91-94, kernel 16-18
        cand.selected = int(ranked[self.drawn(weights, u)])
        cand.p = np.zeros_like(cand.logits)
        cand.p[ranked] = weights

    def ranked(self, logits: FloatArray) -> NDArray[np.int64]:
        """Return the ids of the candidates, the largest logit first."""
        if self.top_k == 0:
            return descending(logits)  # 538
        if self.top_k * BY_HEAP <= len(logits):
            return np.asarray(libstdcxx.std_partial_sort(logits, self.top_k), np.int64)  # 540
        return np.argsort(-logits, kind="stable")[: self.top_k]

    def filtered(self, scores: FloatArray) -> FloatArray:
        """Return sorted logits after top-p and min-p."""
        kind = scores.dtype.type
        if self.top_p < 1:
            p = softmax(scores)
            beyond = cumsum(p) - p > kind(self.top_p)  # 81-82
            beyond[0] = False  # 83
            scores = np.where(beyond, kind(-np.inf), scores)
        if self.min_p > 0:
            p = softmax(scores)
            scores = np.where(p < kind(self.min_p) * p.max(), kind(-np.inf), scores)  # 90-94
        return scores

    def drawn(self, weights: FloatArray, u: np.float32) -> int:
        """Return the rank that the kernel draws."""
        mass = np.float32(0)
        for first in range(0, len(weights), BLOCK):  # 28
            block = weights[first : first + BLOCK].astype(np.float32)
            within = np.cumsum(block, dtype=np.float32)  # 34
            sums = mass + within  # 35
            mass = mass + within.max()  # 36
            found = (u > sums - block) & (u <= sums)  # 38-39
            if found.any():
                return first + int(found.argmax())  # 43
        return 0  # 24

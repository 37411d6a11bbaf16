"""min_p: keep the tokens at least p times as likely as the most likely one.

    keep i with logit_i >= max logit + log(p)

The comparison uses logits in float32, not probabilities. At the boundary the two differ. No
probability is written.

Parameters:
    `p`         float32. 0 and below disable the sampler. p = 1 keeps the maximum and tokens equal
                to it. p > 1 keeps the first of the sorted candidates.
    `min_keep`  Smallest number of tokens to keep. Default 0 (one token always stays).
Ties: all equal logits stay, or all are removed. Unsorted candidates keep their order. If fewer than
    `min_keep` pass, the candidates are sorted and the first `min_keep` stay.
Edges: -inf is removed, unless all are -inf: then all stay, sorted (-inf is not below -inf). NaN
    fails the comparison and is removed; if sorting is needed, it is refused. No candidates: nothing
    happens.
Source: `llama_sampler_min_p_apply`, src/llama-sampler.cpp at v0.5.0; llama.cpp PR 3841; Nguyen et
    al. 2024, arXiv:2407.01082.
Suite: suites/parity/min_p.toml
"""

from typing import Any

import numpy as np

from sampler_parity.reference import floats
from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.parameters import float32, size
from sampler_parity.reference.sampler import Stateless

LOWEST = np.finfo(np.float32).min  # -FLT_MAX, the largest even where every logit is -inf


class MinP(Stateless):
    name = "min_p"

    def __init__(self, p: Any, min_keep: Any = 0) -> None:
        self.p = float32("p", p)
        self.min_keep = size("min_keep", min_keep)

    @floats.quiet
    def apply(self, cand: Candidates) -> None:
        if self.p <= 0 or len(cand) == 0:
            return
        kind = cand.logits.dtype.type
        if not cand.sorted:
            top = floats.largest(cand.logits, kind(LOWEST))
            passing = np.flatnonzero(cand.logits >= top + floats.log(kind(self.p)))
            if 0 < len(passing) >= self.min_keep:
                cand.keep(passing)
                return
            cand.partial_sort(len(cand))
        too_unlikely = cand.logits < cand.logits[0] + floats.log(kind(self.p))
        too_unlikely[: max(1, self.min_keep)] = False
        if too_unlikely.any():
            cand.keep(slice(int(too_unlikely.argmax())))

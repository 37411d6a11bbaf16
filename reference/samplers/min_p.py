"""min_p: keep the tokens at least p times as likely as the most likely one.

    keep i with logit_i >= max logit + log(p)

The comparison is made on logits, in float32, not on probabilities: at the boundary the two differ.
No probability is written.

Parameters:
    p         float32. p <= 0 disables. p = 1 keeps the maximum and what equals it, p > 1 the
              first of the sorted candidates.
    min_keep  count of tokens to keep at least; default 0 (one token always stays).
Ties: all equal logits stay or go together. Unsorted candidates keep their order, unless too few
    pass: then they are sorted and the first min_keep stay.
Edges: -inf goes, unless all are -inf: then all stay, sorted (-inf is not below -inf). NaN fails the
    comparison and goes; where sorting is needed it is refused. None: none.
Source: llama_sampler_min_p_apply, src/llama-sampler.cpp at v0.5.0; llama.cpp PR 3841; Nguyen et
    al. 2024, arXiv:2407.01082.
Suite: suites/parity/min_p.toml
"""

from typing import Any

import numpy as np

from sampler_parity.reference import floats
from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.parameters import float32, size

LOWEST = np.finfo(np.float32).min  # -FLT_MAX, the largest even where every logit is -inf


class MinP:
    name = "min_p"

    def __init__(self, p: Any, min_keep: Any = 0) -> None:
        self.p = float32("p", p)
        self.min_keep = size("min_keep", min_keep)

    @np.errstate(all="ignore")
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

    def accept(self, token: int) -> None:
        pass

    def reset(self) -> None:
        pass

    def clone(self) -> "MinP":
        return MinP(self.p, self.min_keep)

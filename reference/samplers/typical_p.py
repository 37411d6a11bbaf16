"""typical_p: keep the tokens with surprise closest to the entropy, until their mass exceeds p.

    H = -sum p_i log p_i;   order by |-log p_i - H|, ascending;
    keep the first i + 1, i the first with sum > p and (min_keep = 0 or i >= min_keep - 1)

The probabilities are normalized over the given candidates. The survivors stay in this new order.

Parameters:
    `p`         float32. 1 and above disable the sampler. 0 and below keep the most typical token
                (or `min_keep`).
    `min_keep`  Smallest number of tokens to keep. Default 0 (one token always stays).
Ties: equal distances are common (equal logits, or one above and one below H). Their order is that
    of `std::sort` over the sorted candidates.
Edges: a candidate with p = 0 (-inf, or more than about 104 below the maximum) makes H and every
    distance NaN, because 0 * log 0 is NaN. All distances then compare equal, `std::sort` leaves
    them in an order of its own, and the cut is arbitrary. A NaN logit: refused. No candidates:
    refused (llama.cpp aborts).
Source: `llama_sampler_typical_apply`, src/llama-sampler.cpp at v0.5.0; Meister et al. 2022,
    arXiv:2202.00666.
Suite: suites/parity/typical_p.toml
"""

from typing import Any

import numpy as np

from sampler_parity.reference import floats, sorting
from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.parameters import float32, size
from sampler_parity.reference.sampler import Stateless


class TypicalP(Stateless):
    name = "typical_p"

    def __init__(self, p: Any, min_keep: Any = 0) -> None:
        self.p = float32("p", p)
        self.min_keep = size("min_keep", min_keep)

    @np.errstate(all="ignore")
    def apply(self, cand: Candidates) -> None:
        if self.p >= 1:
            return
        cand.softmax(sort=True)
        order = sorting.std_sort(-distances(cand.p))
        mass = floats.running_sum(cand.p[order])
        enough = mass > self.p
        enough[: max(0, self.min_keep - 1)] = False
        cand.keep(order[: int(enough.argmax()) + 1] if enough.any() else order)
        cand.sorted = False


@np.errstate(all="ignore")
def distances(p: floats.FloatArray) -> floats.FloatArray:
    """Return the distance of each surprise from the entropy. p: in descending order."""
    log_p = floats.log(p)
    entropy = floats.total_of_products(-p, log_p)
    return abs(-log_p - entropy)

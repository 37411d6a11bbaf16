"""top_k: keep the k most likely tokens, in descending order.

Parameters:
    `k`  int32, number of tokens. 0 and below disable the sampler: nothing is removed or sorted.
Ties: exactly min(k, n) candidates stay. `std::partial_sort` (k <= 128) or the bucket sort (k > 128)
    decides which equal tokens stay, and in which order.
Edges: k >= n keeps all, sorted. Candidates that are already sorted are only cut. -inf sorts last.
    If more than 128 candidates stay, +inf and logits beyond `2**31/6.4` go to the lowest bucket.
    They come last, or are lost. NaN: undefined, refused. No candidates: nothing happens.
Source: `llama_sampler_top_k_impl`, src/llama-sampler.cpp at v0.5.0; Fan et al. 2018,
    arXiv:1805.04833.
Suite: suites/parity/top_k.toml
"""

from typing import Any

from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.parameters import int32
from sampler_parity.reference.sampler import Stateless


class TopK(Stateless):
    name = "top_k"

    def __init__(self, k: Any) -> None:
        self.k = int32("k", k)

    def apply(self, cand: Candidates) -> None:
        keep_most_likely(cand, self.k)


def keep_most_likely(cand: Candidates, k: int) -> None:
    """Apply `llama_sampler_top_k_impl`, as mirostat does, too."""
    if k <= 0:
        return
    k = min(k, len(cand))
    if cand.sorted:
        cand.keep(slice(k))
    else:
        cand.partial_sort(k)

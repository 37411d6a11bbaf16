"""softmax: sort the candidates and give each its probability. Removed from llama.cpp.

    p_i = exp(logit_i - max) / sum

Parameters: none.
Ties: the order of `std::sort` over all candidates.
Edges: all -inf gives NaN everywhere. NaN: refused. No candidates: refused (llama.cpp aborts).
Source: `llama_sampler_softmax_impl`, src/llama-sampling.cpp at b3889; b5590 still has it.
Suite: suites/removed/softmax.toml
"""

from sampler_parity.reference import sorting
from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.sampler import Stateless


class Softmax(Stateless):
    name = "softmax"

    def apply(self, cand: Candidates) -> None:
        sort_and_normalize(cand)


def sort_and_normalize(cand: Candidates) -> None:
    """Apply `llama_sampler_softmax_impl` of b3889, as tail_free does, too."""
    if not cand.sorted and len(cand) > 0:
        cand.refuse_nan()
        cand.keep(sorting.std_sort(cand.logits))
        cand.sorted = True
    cand.softmax(sort=False)

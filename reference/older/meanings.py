"""Shared parts of the samplers of older releases.

A class here complements that of v0.5.0. Its name has the last release with any of its old meanings.
It is built with a set of them, `old`: names of `CHANGES` in reference/releases.py, which also
describes each and lists its releases. Every set can be built, also one that no release had, so that
a difference can be attributed to one change. For everything that did not change, a class inherits
from v0.5.0's class, or holds one of those (`today`).
"""

from typing import TypeAlias

from sampler_parity.reference import sorting
from sampler_parity.reference.candidates import Candidates

Old: TypeAlias = frozenset[str]


def sort(cand: Candidates, old: Old) -> None:
    """Sort all candidates in descending order, as `llama_sampler_softmax_impl` did."""
    if cand.sorted or len(cand) == 0:
        return
    if "std-sort" in old:
        cand.refuse_nan()
        cand.keep(sorting.std_sort(cand.logits))
        cand.sorted = True
    else:
        cand.partial_sort(len(cand))

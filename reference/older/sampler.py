"""What the samplers of older releases share.

A class here is the v0.5.0 sampler with old meanings put in. Which ones, `old` says: names of
`CHANGES` in reference/releases.py, which also says what each is and in which releases. Every set of
them can be built, also one that no release had, so that a difference can be put down to one change.
"""

from copy import copy
from typing import TypeAlias, TypeVar

from sampler_parity.reference import sorting
from sampler_parity.reference.candidates import Candidates

Old: TypeAlias = frozenset[str]
NONE: Old = frozenset()

S = TypeVar("S")


def in_state(sampler: S, twin: object) -> S:
    """A sampler of this class and meaning, in the state of its v0.5.0 twin."""
    result = copy(sampler)
    vars(result).update(vars(twin))
    return result


def sort(cand: Candidates, old: Old) -> None:
    """All candidates in descending order, as `llama_sampler_softmax_impl` sorted them."""
    if cand.sorted or len(cand) == 0:
        return
    if "std-sort" in old:
        cand.refuse_nan()
        cand.keep(sorting.std_sort(cand.logits))
        cand.sorted = True
    else:
        cand.partial_sort(len(cand))

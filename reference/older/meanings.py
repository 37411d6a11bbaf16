"""What the samplers of older releases share.

A class here stands beside that of v0.5.0 and bears the last release that had any of its old
meanings. It is built with those that it has, `old`: names of `CHANGES` in reference/releases.py,
which also says what each is and in which releases. Every set of them can be built, also one that no
release had, so that a difference can be put down to one change. Where nothing changed, a class uses
what v0.5.0's uses, or holds one of those (`today`).
"""

from typing import TypeAlias

from sampler_parity.reference import sorting
from sampler_parity.reference.candidates import Candidates

Old: TypeAlias = frozenset[str]


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

"""Outcome classes: what the stages of a case do, for a campaign that prefers what it has not seen.

A class is a fact about one sampler or script. Samplers have the number of survivors in powers of
two, a cut at the end of the first block of a partial sort, a tie at the cut, and the range of the
largest gap.
"""

from bisect import bisect_right
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.checks.case import Case
from sampler_parity.harness.checks.stages.block import StagesCase
from sampler_parity.harness.checks.stages.prepared import prepare, reference_trace
from sampler_parity.reference import floats

_BLOCKS = (128, 256, 1024)
_GAPS = (20.0, 87.3, 103.3)  # nats: p is small, subnormal, 0


@floats.quiet
def classes_of(case: Case) -> set[str]:
    """Return the classes of a case on its first row, as the reference samples it."""
    if not isinstance(case, StagesCase):
        return set()
    alone = {"steps": 1, "script": "plain", "operations": [], "detail": "stages"}
    prepared = prepare(case.model_copy(update=alone))
    letters = {letter for script in case.operations for letter in script if letter.isalpha()}
    classes = {f"script {''.join(sorted(letters)) or case.script}"}
    before = _possible(prepared.rows[0])
    for step in reference_trace(prepared)[0]:
        for name, candidates in zip(case.samplers, step, strict=True):
            after = _possible(candidates.logits)
            classes |= {f"{name} {fact}" for fact in _facts(before, after)}
            before = after
    return classes


def _possible(logits: NDArray[Any]) -> NDArray[Any]:
    return np.sort(logits[logits > -np.inf])


def _facts(before: NDArray[Any], after: NDArray[Any]) -> Iterator[str]:
    n = len(after)
    yield f"survivors<{1 << n.bit_length()}"
    yield f"gap{bisect_right(_GAPS, float((after[1:] - after[:-1]).max(initial=0)))}"
    if 0 < n < len(before):
        if n in _BLOCKS:
            yield f"cut at {n}"
        if before[-n] == before[-n - 1]:
            yield "tie at the cut"

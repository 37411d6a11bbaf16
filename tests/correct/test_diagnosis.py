"""The diagnosis names a fault among results that are correct, and results that pass name none."""

from contextlib import closing
from typing import Any

import numpy as np
import pytest

from sampler_parity.engines.correct import float64, samplers
from sampler_parity.harness.checks.execute import execute
from sampler_parity.harness.correct import accepting
from sampler_parity.harness.faults.diagnosis import Seen, diagnose
from sampler_parity.harness.protocol.server import InPlace
from sampler_parity.maintenance.selftest.selftest import quick_cases


def strict_min_p(ops: Any, cand: Any, of: Any) -> None:
    """A min_p that removes a logit equal to the threshold."""
    if of.p <= 0 or len(cand) == 0:
        return
    distance = ops.log(ops.kind(of.p))
    if not cand.sorted:
        passing = np.flatnonzero(cand.logits > cand.logits.max() + distance)
        if 0 < len(passing) >= of.min_keep:
            cand.keep(passing)
            return
        samplers.sort(ops, cand)
    below = cand.logits <= cand.logits[0] + distance
    below[: max(1, of.min_keep)] = False
    if below.any():
        cand.keep(slice(int(below.argmax())))


class Strict(float64.Worker):
    name = "strict"
    samplers = samplers.SAMPLERS | {"min_p": strict_min_p}


@pytest.mark.slow
def test_a_fault_of_a_float64_engine_is_named_though_it_shares_its_cases() -> None:
    cases = [case for case in quick_cases() if case.id.startswith(("min_p/b", "min_p/p-one"))]
    with closing(InPlace("strict", Strict())) as backend, accepting("correct"):
        judged = [(case, execute(case, [backend]).backends["strict"]) for case in cases]
    failing = [pair for pair in judged if pair[1].verdict == "diverged"]
    correct = [pair for pair in judged if pair[1].verdict == "correct"]
    small = next(pair for pair in failing if pair[0].id == "min_p/p-one-keeps-equals")
    assert len(correct) > 2 * len(failing)
    known = diagnose(Seen(*small, failing, correct, [], accept="correct"))
    assert [one.name for one in known] == ["min_p/boundary-goes-in-both-paths"]

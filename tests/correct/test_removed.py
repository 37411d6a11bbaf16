"""Judges of softmax and tail_free: other arithmetic passes, faults do not."""

from contextlib import closing
from functools import partial
from typing import Any

import numpy as np
import pytest

from sampler_parity.engines.correct.ascending import Ascending
from sampler_parity.engines.correct.blocked import Blocked
from sampler_parity.engines.correct.float64 import Float64
from sampler_parity.engines.correct.halves import BFloat16, Float16
from sampler_parity.engines.correct.log_sum_exp import LogSumExp
from sampler_parity.engines.correct.ops import Ops
from sampler_parity.engines.correct.samplers import SAMPLERS, Apply, normalize
from sampler_parity.engines.correct.worker import Worker
from sampler_parity.harness.checks.case import Case
from sampler_parity.harness.checks.execute import execute
from sampler_parity.harness.correct import accepting
from sampler_parity.harness.protocol.server import InPlace
from sampler_parity.harness.suite.file import expand, suites_folder

ARITHMETICS = [Ops, Float64, Blocked, Ascending, LogSumExp, BFloat16, Float16]


def softmax(ops: Ops, cand: Any, _of: Any, sort: bool = True, power: float = 1.0) -> None:
    normalize(ops, cand, sorted_first=sort)
    cand.p = cand.p ** ops.kind(power)


def tail_free(
    ops: Ops, cand: Any, of: Any, *, sort: bool = True, strict: bool = True, more: int = 0,
    divides: bool = True, twice: bool = True, floors: bool = True, smallest: float = 1e-6,
    scale: float = 1.0,
) -> None:  # fmt: skip
    """Apply tail_free by its specification; each option plants a fault."""
    if of.z >= 1 or len(cand) <= 2:
        return
    normalize(ops, cand, sort)
    slope = cand.p[:-1] - cand.p[1:]
    bend = abs(slope[:-1] - slope[1:]) if twice else slope[:-1]
    total = ops.total(bend)
    if total <= smallest:
        bend = np.full_like(bend, ops.kind(1) / ops.kind(len(bend)))
    elif divides:
        bend = bend / total
    mass = ops.running(bend) * ops.kind(scale)
    over = mass > of.z if strict else mass >= of.z
    if floors:
        over[: of.min_keep] = False
    if over.any():
        cand.keep(slice(int(over.argmax()) + more))


class Older(Worker):
    """A correct engine with the samplers that left llama.cpp."""

    def __init__(self, ops: Ops, **functions: Any) -> None:
        self.samplers = SAMPLERS | {"softmax": softmax, "tail_free": tail_free} | functions
        super().__init__(ops)


def cases(sampler: str) -> list[Case]:
    return expand(suites_folder() / "removed" / f"{sampler}.toml", "quick")


def wrong(of: Worker, some: list[Case], stop: bool = False) -> tuple[list[str], int]:
    """Return the cases that fail, and how many are correct and not identical. stop: at the first
    that fails."""
    failed, correct = [], 0
    with closing(InPlace("made", of)) as backend, accepting("correct"):
        for case in some:
            result = execute(case, [backend]).backends["made"]
            correct += result.verdict == "correct"
            if result.verdict not in ("identical", "correct"):
                failed.append(f"{case.id}: {result.stage}")
                if stop:
                    break
    return failed, correct


@pytest.mark.slow
@pytest.mark.parametrize("sampler", ["softmax", "tail_free"])
@pytest.mark.parametrize("ops", ARITHMETICS)
def test_a_correct_sampler_passes_whatever_its_arithmetic(ops: type[Ops], sampler: str) -> None:
    failed, correct = wrong(Older(ops()), cases(sampler)[::5])
    assert failed == []
    assert correct > 5


FAULTS: dict[str, tuple[str, dict[str, Any]]] = {
    "does-not-sort": ("softmax", {"sort": False}),
    "p-to-the-power-of-1.0001": ("softmax", {"power": 1.0001}),
    "tail-free-does-not-sort": ("tail_free", {"sort": False}),
    "reaches-z": ("tail_free", {"strict": False}),
    "keeps-the-crossing": ("tail_free", {"more": 1}),
    "does-not-divide": ("tail_free", {"divides": False}),
    "slopes-for-bends": ("tail_free", {"twice": False}),
    "ignores-min-keep": ("tail_free", {"floors": False}),
    "equal-below-1e-3": ("tail_free", {"smallest": 1e-3}),
    "shares-times-1.0001": ("tail_free", {"scale": 1.0001}),
}


@pytest.mark.slow
@pytest.mark.parametrize("ops", [Ops, Float64])
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_caught_by_the_specification(fault: str, ops: type[Ops]) -> None:
    sampler, options = FAULTS[fault]
    right: dict[str, Apply] = {"softmax": softmax, "tail_free": tail_free}
    faulty = partial(right[sampler], **options)
    failed, _ = wrong(Older(ops(), **{sampler: faulty}), cases(sampler), stop=True)
    assert failed
    assert failed[0].endswith(sampler)

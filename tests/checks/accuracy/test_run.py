"""`run accuracy`: its suite, its records, and backends that cannot be measured."""

from contextlib import closing
from typing import Any

import numpy as np
import pytest

from sampler_parity.engines.correct import pairwise
from sampler_parity.engines.correct.float64 import Worker as Float64
from sampler_parity.engines.correct.samplers import SAMPLERS
from sampler_parity.harness.checks.accuracy import Accuracies, AccuracyCase, died, run
from sampler_parity.harness.checks.context import Terms
from sampler_parity.harness.protocol.server import InPlace
from sampler_parity.harness.suite.file import expand, find_suites
from tests.support.context import ready

CHAINS: dict[str, Any] = {"top_p": [{"top_p": {"p": 0.9}}], "mirostat": [{"mirostat": {"seed": 1}}]}


def cases(n: int = 2000, rows: int = 3, chains: Any = CHAINS) -> dict[str, AccuracyCase]:
    block = Accuracies(id="x", description="x", why="x", sizes=[n], rows=rows)
    return {case.samplers[0]: case for case in block.items(chains)}


def found(case: AccuracyCase, worker: Any) -> Any:
    with closing(InPlace("it", worker)) as backend:
        return run(case, ready(backend)).backends["it"]


def test_the_suite_has_every_sampler_at_four_sizes_in_both_profiles() -> None:
    (path,) = find_suites(["accuracy"])
    quick, full = (expand(path, profile) for profile in ("quick", "full"))
    assert quick == full
    assert {case.logits.n for case in quick} == {32, 4096, 32000, 128256}
    assert len(quick) == 4 * len({case.samplers[0] for case in quick}) == 32


@pytest.mark.parametrize("sampler", CHAINS)
def test_float64_is_rounded_once_and_float32_more_often(sampler: str) -> None:
    case = cases()[sampler]
    assert found(case, Float64()).p_largest <= 0.5
    assert 0.5 < found(case, pairwise.Worker()).p_largest < 20


def test_every_row_is_the_first_of_its_sampler() -> None:
    """mu of mirostat moves with each row: without the resets another k would be exact."""
    seen = found(cases(rows=12)["mirostat"], Float64())
    assert (seen.failed, seen.kept_tokens) == ("", 0)


class Without(Float64):
    samplers = {name: one for name, one in SAMPLERS.items() if name != "top_p"}


class Silent(Float64):
    def result(self, cand: Any) -> Any:
        ids, logits, p, *others = super().result(cand)
        return ids, logits, np.zeros_like(p), *others


def test_backends_that_cannot_be_measured_say_why() -> None:
    case = cases(32)["top_p"]
    assert found(case, Without()).failed == "unsupported: no sampler top_p"
    assert found(case, Silent()).failed == "unsupported: reports no p"
    result = died(case, Terms({"reference": None}), "SIGSEGV")
    assert result.backends["reference"].failed == "crashed: SIGSEGV"
    assert result.with_crash("reference", "late").backends["reference"].failed == "crashed: late"


def test_a_chain_of_two_stages_is_refused() -> None:
    with pytest.raises(ValueError, match=r"chains\.two: has 2 stages; give one"):
        cases(chains={"two": [{"temp": {"temp": 0.5}}, {"top_p": {"p": 0.9}}]})

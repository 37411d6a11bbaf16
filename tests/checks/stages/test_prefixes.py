"""A backend that shows only the end of a chain: the wrong stage is still named."""

import functools
from typing import Any

import pytest

from sampler_parity.harness.checks.case import Case
from sampler_parity.harness.faults.in_process import InProcess
from sampler_parity.harness.protocol import messages as p
from sampler_parity.harness.protocol.interface import R
from sampler_parity.harness.suite.file import expand, find_suites
from tests.support.inside import EndAlone, last_result_of

pytestmark = pytest.mark.slow  # all of them together

CASE = "chains/llama-cpp/normal-V129-s0-all_on"


class EndOfMutant(EndAlone, InProcess):
    pass


@functools.cache
def _cases(suite: str) -> dict[str, Case]:
    (path,) = find_suites([f"parity/{suite}"])
    return {case.id: case for case in expand(path, "quick")}


def _case(wanted: str = CASE) -> Case:
    return _cases(wanted.partition("/")[0])[wanted]


def _placed(backend: InProcess, case: Case) -> tuple[str, int | None, int | None, str]:
    result = last_result_of(case, backend)
    return result.stage, result.stage_index, result.step, result.verdict


@pytest.mark.parametrize(
    ("mutant", "case"),
    [
        ("penalties/present-per-occurrence", CASE),
        ("typical_p/crossing-token-dropped", CASE),
        ("xtc/coin-inverted", CASE),
        ("temp_ext/delta-ignored", CASE),
        ("dist/uniform-from-the-top", CASE),
        ("dist/cloned-once", "state/alive-at-once/dist"),
        ("dry/tokens-of-16-bits", "capacities/candidates/dry/V65537"),
    ],
)
def test_the_stage_and_step_are_those_that_stages_would_show(mutant: str, case: str) -> None:
    by_stages = _placed(InProcess(mutant), _case(case))
    assert (by_stages[0], by_stages[3]) == (mutant.partition("/")[0], "diverged")
    assert _placed(EndOfMutant(mutant), _case(case)) == by_stages


def test_a_stage_that_is_wrong_for_those_behind_it_is_placed_at_the_first_of_these() -> None:
    """A pool of eight generators: two chains of five have ten, and the first stage another's."""
    case = _case("state/many-alive/xtc")
    assert _placed(InProcess("xtc/eight-generators"), case)[:3] == ("xtc", 0, 0)
    assert _placed(EndOfMutant("xtc/eight-generators"), case)[:3] == ("xtc", 4, 1)


def test_a_right_backend_without_stages_is_identical() -> None:
    right = EndOfMutant("greedy/scans-signed-16")  # and greedy is not in this chain
    assert last_result_of(_case(), right).verdict == "identical"


def test_a_chain_whose_prefixes_are_all_right_says_so() -> None:
    class SecondTimeWrong(EndOfMutant):
        asked = 0

        def ask(self, request: Any, reply: type[R], timeout_s: float | None = None) -> R:
            answered = super().ask(request, reply, timeout_s)
            self.asked += 1
            if self.asked == 1 and isinstance(answered, p.RunReply):
                stages = [
                    [stage.model_copy(update={"selected": 0})] for (stage,) in answered.stages
                ]
                return answered.model_copy(update={"stages": stages})
            return answered

    result = last_result_of(_case(), SecondTimeWrong("greedy/scans-signed-16"))
    assert result.stage == "chain"
    assert result.detail == "no prefix of it differs when asked by itself"

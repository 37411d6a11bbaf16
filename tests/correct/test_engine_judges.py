"""Engines of others under `--accept correct`: judges of their own stages, no excuse by rounding."""

from contextlib import closing
from typing import Any

import numpy as np
import pytest

from sampler_parity.engines.vllm.model import VllmTopP
from sampler_parity.harness.backends.engines import ENGINES
from sampler_parity.harness.checks.execute import execute
from sampler_parity.harness.checks.stages.classify import identical
from sampler_parity.harness.correct import accepting
from sampler_parity.harness.correct.judges import JUDGES, judge_of
from sampler_parity.harness.correct.stage import Held, Stage, Wrong
from sampler_parity.harness.engines.samplers import engine_samplers
from sampler_parity.harness.failures.explanations import all_explanations
from sampler_parity.harness.faults import MUTANTS
from sampler_parity.harness.faults.in_process import InProcess
from sampler_parity.harness.protocol.arithmetic import Arithmetic
from sampler_parity.harness.protocol.client import Got
from sampler_parity.maintenance.selftest.selftest import cases_for, try_mutant
from sampler_parity.reference import Candidates

JUDGED = [name for name in engine_samplers() if judge_of(name) is not None]
UNDECIDABLE = {
    "akunu_gumbel/divided-by-one-less": "2**-32 of u, below the error of its logarithm",
    "vllm_top_p/below": "a mass that equals 1 - top_p: another rounding moves it",
    "power_law/width-multiplied": "a quotient, and a product with the reciprocal",
}


def test_stages_of_engines_have_the_judges_of_their_folder() -> None:
    assert {"power_law", "vllm_top_p", "vllm_logprobs", "exllamav3_combo"} <= {*JUDGED}
    assert not {*JUDGED} & {*JUDGES}
    assert judge_of("vllm_top_k") is None  # it computes nothing: identical, or another order
    assert judge_of("top_p") is JUDGES["top_p"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [n for n in MUTANTS if MUTANTS[n].sampler in JUDGED and n not in UNDECIDABLE]
)
def test_a_fault_in_a_stage_of_an_engine_is_caught_by_its_judge(name: str) -> None:
    with closing(InProcess(name)) as backend:
        assert try_mutant(MUTANTS[name], backend, "correct").caught


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "verdict"),
    [("grammar/reads-strictly", "explained"), ("grammar/one-bit-flipped", "diverged")],
)
def test_a_strict_reading_of_a_grammar_is_explained_and_no_other_is(
    name: str, verdict: str
) -> None:
    """It passes for an engine of which a suite accepts this, and for no other."""
    with closing(InProcess(name)) as backend, accepting("correct"):
        trial = try_mutant(MUTANTS[name], backend, "correct")
        case = next(case for case in cases_for(MUTANTS[name]) if case.id == trial.case)
        result = execute(case, [backend]).backends[backend.name]
    assert trial.caught
    assert (result.verdict, result.stage, result.what) == (verdict, "grammar", "logits")


def test_no_engine_that_is_judged_by_the_specification_needs_rounding_as_an_explanation() -> None:
    excused = [
        (backend, stage, verdict)
        for backend, stage, verdict in all_explanations()
        if ENGINES[backend].accept == "correct" and verdict in ("close", "boundary", "reordered")
    ]
    assert excused == []


def banned(top_p: Any, logits: list[float], ids: list[int]) -> Stage:
    """Return vllm_top_p on a row of which it bans these tokens."""
    row = np.array(logits, np.float32)
    want, left = Candidates.from_logits(row), row.copy()
    VllmTopP(top_p).apply(want)
    left[ids] = -np.inf
    got = Got(np.arange(len(row), dtype=np.int32), left, np.zeros(len(row), np.float32), None, -1)
    return Stage(Held.of_row(row), VllmTopP(top_p), want, got, {"top_p": top_p}, Arithmetic())


@pytest.mark.parametrize("ids", [[], [0], [1, 3], [0, 1, 2]], ids=len)
def test_of_four_equal_tokens_any_two_are_banned(ids: list[int]) -> None:
    one = banned(0.5, [1.0] * 4, ids)
    if len(ids) == 2:
        assert not identical(one.want, banned(0.5, [1.0] * 4, [0, 2]).got)
        judge(one)
        return
    with pytest.raises(Wrong, match="survivors"):
        judge(one)


def test_a_larger_token_is_not_banned_before_a_smaller_one() -> None:
    with pytest.raises(Wrong, match="logits"):
        judge(banned(0.6, [1.0, 0.9, 0.8], [1]))


def test_a_sum_within_rounding_of_the_threshold_goes_either_way() -> None:
    """Three equal tokens, threshold 1/3: the first may be banned; at another threshold it must."""
    for ids in ([], [0]):
        judge(banned(2 / 3, [1.0] * 3, ids))
    judge(banned(0.66, [1.0] * 3, [0]))
    with pytest.raises(Wrong, match="survivors"):
        judge(banned(0.66, [1.0] * 3, []))


def judge(stage: Stage) -> None:
    of = judge_of(stage.sampler.name)
    assert of is not None
    of(stage)

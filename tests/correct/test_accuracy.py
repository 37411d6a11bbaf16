"""Errors of p, of running masses and of cuts: by hand, and planted."""

from typing import Any

import numpy as np
import pytest

from sampler_parity.harness.checks.accuracy import AccuracyOnBackend
from sampler_parity.harness.correct.accuracy import RENORMALIZED, accuracy_of
from sampler_parity.harness.correct.softmax import softmax
from sampler_parity.harness.protocol.arithmetic import Arithmetic
from sampler_parity.harness.protocol.client import Got
from sampler_parity.harness.protocol.interface import BackendFailure
from sampler_parity.reference import Candidates, build_chain

ROW = np.random.default_rng(5).normal(0, 3, 400).astype(np.float32)
CHAINS: list[dict[str, Any]] = [
    {"dist": {"seed": 1}},
    {"top_p": {"p": 0.9}},
    {"typical_p": {"p": 0.9}},
    {"xtc": {"p": 1.0, "t": 0.01, "seed": 1}},
    {"temp_ext": {"temp": 0.75, "delta": 0.25}},
    {"mirostat": {"seed": 1, "tau": 3.0}},
    {"mirostat_v2": {"seed": 1, "tau": 3.0}},
    {"adaptive_p": {"target": 0.25, "seed": 1}},
]


def sampler(stage: dict[str, Any], row: Any = ROW) -> Any:
    return build_chain([stage], n_vocab=len(row)).samplers[0]


def exact(stage: dict[str, Any], row: Any = ROW) -> Got:
    """Return the result of a backend that computes in float64 and rounds its report."""
    cand = Candidates.from_logits(row, np.float64)
    sampler(stage, row).apply(cand)
    return got(cand.ids, cand.p)


def got(ids: Any, p: Any) -> Got:
    places = np.array(ids, np.int32)
    return Got(places, ROW[places % len(ROW)], np.array(p, np.float32), None, -1)


def errors(stage: dict[str, Any], result: Got, row: Any = ROW) -> Any:
    return AccuracyOnBackend.model_validate(accuracy_of([(sampler(stage, row), row, result)]))


@pytest.mark.parametrize("stage", CHAINS, ids=lambda stage: next(iter(stage)))
class TestEachSampler:
    def test_a_rounded_float64_is_within_half_an_ulp(self, stage: dict[str, Any]) -> None:
        found = errors(stage, exact(stage))
        assert 0 < found.p_median < found.p_largest <= 0.5
        assert (found.kept_tokens, found.kept_share) == (0, 0)

    def test_p_that_are_three_ulps_off_show_three(self, stage: dict[str, Any]) -> None:
        right = exact(stage)
        found = errors(stage, got(right.ids, right.p + 3 * np.spacing(right.p)))
        assert 2.5 <= found.p_median <= found.p_largest <= 3.5
        assert found.mass_largest > 1

    def test_exact_p_are_those_of_the_judge(self, stage: dict[str, Any]) -> None:
        """The judge's softmax is another computation: NumPy's exp and pairwise sums."""
        right = exact(stage)
        logits = ROW.astype(np.float64)
        if next(iter(stage)) in ("temp_ext", "adaptive_p"):
            cand = Candidates.from_logits(ROW, np.float64)
            sampler(stage).apply(cand)
            logits[cand.ids] = cand.logits
        elif next(iter(stage)) in RENORMALIZED:
            logits[np.setdiff1d(np.arange(len(ROW)), right.ids)] = -np.inf
        p = softmax(logits, logits, Arithmetic()).p[right.ids]
        assert errors(stage, got(right.ids, p)).p_largest <= 0.5


QUARTERS = np.log(np.array([0.4, 0.3, 0.2, 0.1])).astype(np.float32)
TOP_P = {"top_p": {"p": 0.8}}


def test_masses_by_hand() -> None:
    """Running sums: 0.5 and 0.75 instead of 0.4 and 0.7; the third is right."""
    found = errors(TOP_P, got([0, 1, 2], [0.5, 0.25, 0.15]), QUARTERS)
    assert found.mass_share == pytest.approx(0.1, abs=1e-6)
    assert found.mass_largest == pytest.approx(0.1 / 2**-25, rel=1e-4)  # 0.4 has ULPs of 2^-25
    assert found.mass_median == pytest.approx(0.05 / 2**-24, rel=1e-4)


@pytest.mark.parametrize(
    ("ids", "tokens", "share"), [([0, 1], -1, -0.2), ([0, 1, 2], 0, 0.0), ([0, 1, 2, 3], 1, 0.1)]
)
def test_a_cut_at_another_token_shows_its_mass(ids: list[int], tokens: int, share: float) -> None:
    found = errors(TOP_P, got(ids, np.array([0.4, 0.3, 0.2, 0.1])[ids]), QUARTERS)
    assert found.kept_tokens == tokens
    assert found.kept_share == pytest.approx(share, abs=1e-6)


def test_of_several_rows_the_cut_furthest_off_is_shown() -> None:
    rows = [[0, 1, 2, 3], [0, 1], [0, 1, 2]]
    p = np.array([0.4, 0.3, 0.2, 0.1])
    steps = [(sampler(TOP_P, QUARTERS), QUARTERS, got(ids, p[ids])) for ids in rows]
    found = AccuracyOnBackend.model_validate(accuracy_of(steps))
    assert found.kept_tokens == -1
    assert found.kept_share == pytest.approx(-0.2, abs=1e-6)


@pytest.mark.parametrize(
    ("ids", "p", "problem"),
    [
        ([0, 0], [0.5, 0.5], "not distinct tokens"),
        ([0, 4], [0.5, 0.5], "not distinct tokens"),
        ([0, -1], [0.5, 0.5], "not distinct tokens"),
        ([], [], "not distinct tokens"),
        ([0, 1], [0, 0], "reports no p"),
        ([0, 1], [0.5, np.nan], "reports no p"),
    ],
)
def test_a_result_without_p_of_distinct_tokens_is_refused(
    ids: list[int], p: list[float], problem: str
) -> None:
    with pytest.raises(BackendFailure, match=problem):
        errors(TOP_P, got(ids, p), QUARTERS)

"""harness/checks/timing/verdict.py: the ratio of paired rounds, the noise, the four verdicts."""

import math

import numpy as np
import pytest

from sampler_parity.harness.checks.timed_records import TimingResult
from sampler_parity.harness.checks.timing.verdict import (
    compare_backends,
    compare_rounds,
    noise_of,
    ratio_of_rounds,
)

BASE = [100.0, 102.0, 98.0, 101.0, 99.0, 100.0, 103.0, 97.0, 100.0, 101.0]


def times(factor: float) -> list[float]:
    return [factor * x for x in BASE]


@pytest.mark.parametrize(
    ("factor", "noise", "verdict"),
    [
        (1.10, 0.01, "slower"),
        (0.90, 0.01, "faster"),
        (1.03, 0.01, "same-within"),
        (1.00, 0.06, "inconclusive"),  # noise above the effect asked for
        (1.10, 0.12, "inconclusive"),  # slower by less than the noise
        (1.30, 0.12, "slower"),  # far above the noise, whatever the effect
        (1.00, None, "inconclusive"),
    ],
)
def test_verdict_of_a_constant_ratio(factor: float, noise: float | None, verdict: str) -> None:
    assert compare_rounds(times(factor), BASE, noise, effect=0.05).verdict == verdict


def test_drift_that_both_share_does_not_move_the_ratio() -> None:
    """The machine gets twice as slow over the run; ours takes 1.1 times as long in each round."""
    drift = np.linspace(1, 2, 30)
    comparison = compare_rounds(110 * drift, 100 * drift, noise=0.0, effect=0.05)
    assert (comparison.verdict, round(comparison.ratio, 9)) == ("slower", 1.1)


def test_interval_that_reaches_over_the_effect_is_inconclusive() -> None:
    noisy = [b * f for b, f in zip(BASE, [1.0, 1.1] * 5, strict=True)]
    comparison = compare_rounds(noisy, BASE, noise=0.01, effect=0.05)
    assert comparison.verdict == "inconclusive"
    assert "take more rounds" in comparison.why


def test_few_rounds_have_no_interval() -> None:
    comparison = compare_rounds([200.0] * 5, [100.0] * 5, noise=0.0, effect=0.05)
    assert (comparison.verdict, comparison.ratio, comparison.low) == (
        "inconclusive",
        2.0,
        -math.inf,
    )
    assert comparison.why == "5 rounds; an interval takes 6"


@pytest.mark.parametrize(
    ("ours", "baseline"), [([], []), ([1.0], [1.0, 2.0]), ([1.0, 2.0], [1.0, 0.0])]
)
def test_rounds_that_do_not_pair_are_inconclusive(ours: list[float], baseline: list[float]) -> None:
    comparison = compare_rounds(ours, baseline, noise=0.0, effect=0.05)
    assert comparison.verdict == "inconclusive"
    assert math.isnan(comparison.ratio)


def test_noise_is_the_farther_end_of_the_interval() -> None:
    assert noise_of(BASE, times(1.02)) == pytest.approx(0.02)
    assert noise_of(BASE, times(0.98)) == pytest.approx(1 / 0.98 - 1)
    assert noise_of(BASE[:3], BASE[:3]) is None


@pytest.mark.slow
def test_interval_of_random_rounds_holds_the_true_ratio_19_times_in_20() -> None:
    """400 comparisons of equals, 30 rounds each: about 20 intervals leave 1 out (7 to 36 pass)."""
    rng = np.random.default_rng(1)
    left_out = 0
    for _ in range(400):
        interval = ratio_of_rounds(rng.lognormal(0, 0.1, 30), rng.lognormal(0, 0.1, 30))
        assert interval is not None
        left_out += interval.low > 1 or interval.high < 1
    assert 7 <= left_out <= 36


def test_record_is_compared_with_the_noise_that_it_holds() -> None:
    samples = [int(1000 * x) for x in BASE]
    result = TimingResult(
        id="timing/x",
        sampler="top_k",
        n_vocab=10,
        ns={"a": samples, "b": [2 * x for x in samples]},
        baseline="a",
        again=[round(1.01 * x) for x in samples],
    )
    comparison = compare_backends(result, "b", 0.05)
    assert (comparison.verdict, comparison.ratio) == ("slower", 2.0)
    assert comparison.noise == pytest.approx(0.01, abs=1e-3)
    assert compare_backends(result, "not timed", 0.05).verdict == "inconclusive"
    unknown = result.model_copy(update={"again": []})
    assert compare_backends(unknown, "b", 0.05).why.startswith("the noise of this run")

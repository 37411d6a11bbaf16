"""Speed on the parity page: medians, ratios with their interval, the ratio rule."""

import pytest

from sampler_parity.harness.checks.timed_records import TimingResult
from sampler_parity.harness.checks.timing.verdict import nearest_rank
from sampler_parity.reports.pages.parity.parity_build import judge, timing
from sampler_parity.reports.pages.parity.parity_model import Timing


def timed(repetitions: int = 1, **ns: list[int]) -> Timing:
    """Backends by name; llama_cpp stands for llama.cpp."""
    named = {name.replace("llama_cpp", "llama.cpp"): samples for name, samples in ns.items()}
    result = TimingResult(
        id="timing/x", sampler="top_k", n_vocab=1000, repetitions=repetitions, ns=named
    )
    return timing(result, 1, 1)


@pytest.mark.parametrize(
    ("reference_ns", "native_ns", "met"),
    [(250_000, 100_000, True), (250_001, 100_000, False), (50_000, 0, True), (50_001, 0, False)],
)
def test_rule_allows_twice_the_native_median_and_50_us(
    reference_ns: float, native_ns: float, met: bool
) -> None:
    assert judge(reference_ns, native_ns).met is met


def test_rule_is_not_judged_without_the_native_backend() -> None:
    rule = timed(reference=[1, 2, 3]).rule
    assert (rule.met, rule.why) == (None, "llama.cpp not timed")


def test_ratio_is_of_medians_and_constant_rounds_have_a_point_interval() -> None:
    row = timed(reference=[300, 300, 300], llama_cpp=[100, 100, 100])
    ratio = row.backends[0].ratio
    assert ratio is not None
    assert (ratio.value, ratio.low, ratio.high) == (3.0, 3.0, 3.0)


def test_interval_uses_that_rounds_are_paired() -> None:
    """Both are ten times slower in half of the rounds; round by round the ratio is always 2."""
    native = [100, 1000] * 10
    row = timed(reference=[2 * x for x in native], llama_cpp=native)
    ratio = row.backends[0].ratio
    assert ratio is not None
    assert (ratio.low, ratio.high) == (2.0, 2.0)


def test_interval_holds_the_spread_between_rounds_not_within_them() -> None:
    """Two rounds, ratio 1 and 3. Drawn as rounds, both ends occur; 200 samples would hide them."""
    row = timed(repetitions=100, reference=[100] * 100 + [300] * 100, llama_cpp=[100] * 200)
    ratio = row.backends[0].ratio
    assert ratio is not None
    assert (ratio.value, ratio.low, ratio.high) == (2.0, 1.0, 3.0)
    assert row.rounds == 2


def test_one_round_gives_a_ratio_without_an_interval() -> None:
    row = timed(repetitions=3, reference=[200, 200, 200], llama_cpp=[100, 100, 100])
    ratio = row.backends[0].ratio
    assert ratio is not None
    assert (ratio.value, ratio.low, ratio.high) == (2.0, None, None)


@pytest.mark.parametrize(
    ("reference", "native"),
    [([1, 2], [1, 2, 3]), ([1, 2, 3], [1, 0, 3]), ([1, 2, 3], [])],
    ids=["other number of rounds", "a sample of zero", "no native sample"],
)
def test_rounds_that_do_not_pair_give_no_ratio(reference: list[int], native: list[int]) -> None:
    assert timed(reference=reference, llama_cpp=native).backends[0].ratio is None


@pytest.mark.parametrize(("quantile", "expected"), [(0.5, 50), (0.99, 99), (0.999, 100), (0.0, 1)])
def test_nearest_rank_is_a_sample(quantile: float, expected: int) -> None:
    assert nearest_rank(list(range(100, 0, -1)), quantile) == expected

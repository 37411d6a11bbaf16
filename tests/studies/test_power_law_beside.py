"""The other reading of the power-law sampler's sum, and its compiled time."""

import shutil

import pytest

from sampler_parity.engines.power_law.model import PowerLaw
from studies import power_law, power_law_beside


def target_after(kind: type[PowerLaw], history: list[float]) -> float:
    sampler = kind(0.2, 0.1, 2.0, 3, seed=0)
    sampler.history.extend(history)
    return float(sampler.computed_target())


@pytest.mark.parametrize(
    ("history", "without_oldest", "without_newest"),
    [([], 0.2, 0.2), ([0.1], 0.5, 0.5), ([0.1, 0.2, 0.25], 0.15, 0.3)],
)
def test_the_readings_part_where_the_history_is_full(
    history: list[float], without_oldest: float, without_newest: float
) -> None:
    assert target_after(PowerLaw, history) == pytest.approx(without_oldest)
    assert target_after(power_law_beside.WithoutTheNewest, history) == pytest.approx(without_newest)


@pytest.mark.slow
def test_the_power_law_sampler_runs_in_chains_beside_llama_cpp_s() -> None:
    assert [line.split("  ")[0] for line in power_law.timing()] == [
        "power_law",
        "top_k 40, dist",
        "adaptive_p",
    ]
    assert len(power_law_beside.others()) == 1 + len(power_law_beside.OTHERS)


def test_without_a_compiler_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    assert "needs a C++ compiler" in power_law_beside.compiled()[0]


@pytest.mark.nightly
def test_power_law_and_top_k_are_timed_in_turns() -> None:
    assert [line.split(":")[0] for line in power_law_beside.compiled()] == [
        "V = 4,096",
        "V = 32,000",
        "V = 128,256",
    ]

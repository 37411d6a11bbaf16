"""backend exllamav3: which steps a chain becomes, and, with its environment, what they leave."""

from types import SimpleNamespace
from typing import Any

import pytest

from sampler_parity.engines.exllamav3 import samplers
from sampler_parity.engines.exllamav3.worker import Instance
from sampler_parity.harness.errors import InputError, Unsupported
from tests.support.case_tables import cases_of

CASES = cases_of(__file__)


def refusing(p: float) -> None:
    if p > 1:
        raise AssertionError  # as an assert without a message


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> Any:
    steps: Any = SimpleNamespace(
        SS_LogitBias=dict,
        SS_TopK=lambda k: ("top_k", k),
        SS_TopP=refusing,
        SS_XTC=lambda probability, threshold: ("xtc", probability, threshold),
        SS_Sample_mn=lambda: ("dist",),
        SS_Normalize=lambda: ("normalize",),
        SS_Argmax=lambda: ("greedy",),
        CustomSampler=tuple,
    )
    presets = SimpleNamespace(SS_Sample=lambda: ("gumbel",))
    presets.ComboSampler = lambda **given: (given, presets.SS_Sample())
    engine = SimpleNamespace(steps=steps, presets=presets)
    monkeypatch.setattr(samplers, "exllamav3", lambda: engine)
    return presets


@pytest.mark.usefixtures("stub")
def test_a_stage_is_a_sampler_of_the_steps_up_to_it() -> None:
    instance = Instance([{"top_k": {"k": 4}}, {"dist": {"seed": 1}}])
    assert instance.samplers == [(("top_k", 4),), (("top_k", 4), ("dist",))]


def test_the_combo_is_shown_before_its_draw_and_xtc_behind_its_step(stub: Any) -> None:
    dist = {"dist": {"seed": 1}}
    combo = Instance([{"exllamav3_combo": {"top_k": 4}}, dist])
    assert combo.samplers == [({"top_k": 4}, ("normalize",)), ({"top_k": 4}, ("dist",))]
    assert stub.SS_Sample() == ("gumbel",)
    xtc = Instance([{"exllamav3_xtc": {"probability": 0.5, "threshold": 0.1}}, dist])
    assert xtc.samplers == [(("xtc", 0.5, 0.1), ("normalize",)), (("xtc", 0.5, 0.1), ("dist",))]


@pytest.mark.usefixtures("stub")
def test_a_clone_goes_on_with_the_numbers_and_a_reset_begins_anew() -> None:
    instance = Instance([{"dist": {"seed": 5}}])
    first = instance.rng.random()
    twin = instance.clone()
    assert twin.rng.random() == instance.rng.random() != first
    twin.reset()
    assert twin.rng.random() == first


@pytest.mark.usefixtures("stub")
@pytest.mark.parametrize(
    ("chain", "why"), CASES["unsupported"], ids=["CUDA", "min_keep", "order", "its own", "biases"]
)
def test_what_exllamav3_has_not_here_is_unsupported(
    chain: list[dict[str, dict[str, Any]]], why: str
) -> None:
    with pytest.raises(Unsupported, match=why):
        Instance(chain)


@pytest.mark.usefixtures("stub")
def test_a_value_that_a_step_asserts_against_is_refused_in_one_line() -> None:
    with pytest.raises(InputError, match="it refuses the value"):
        Instance([{"top_p": {"p": 1.5}}])

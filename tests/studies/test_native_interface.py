"""Functions of llama.h other than sampling, on the installed library; each check with a fault."""

import pytest

from sampler_parity.harness.llama_cpp.libllama import default_folder
from studies.native import interface
from studies.native.interface import CHECKS, Check, Native


@pytest.fixture(scope="module")
def native() -> Native:
    return Native(default_folder())


@pytest.mark.slow
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_llama_h_other_than_sampling_does_what_it_says(check: Check, native: Native) -> None:
    assert list(check(native)) == []


FAULTS = {
    "a state that is not copied": ("llama_sampler_copy", interface.copies),
    "a copy that does not draw on": ("llama_sampler_copy", interface.several_outputs),
    "a seed that is another": ("llama_sampler_get_seed", interface.seeds),
    "a counter that is not reset": ("llama_perf_sampler_reset", interface.counters),
    "a token that is another": ("llama_get_sampled_token_ith", interface.several_outputs),
}


@pytest.mark.slow
@pytest.mark.parametrize(("function", "check"), FAULTS.values(), ids=FAULTS)
def test_planted_fault_of_a_function_is_named(
    function: str, check: Check, native: Native, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The function does nothing, or answers 0."""
    monkeypatch.setitem(native.c, function, lambda *_: 0)
    assert list(check(native)) != []


def test_planted_stage_that_stays_in_its_chain_is_named(
    native: Native, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(vars(native.library), "llama_sampler_chain_remove", lambda *_: None)
    assert len(list(interface.removals(native))) == 3

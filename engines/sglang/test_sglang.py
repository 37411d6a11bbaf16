"""backend sglang: how a chain becomes a request, and SGLang's results in its environment."""

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from sampler_parity.engines.sglang import requests
from sampler_parity.engines.sglang.requests import SLOTS, sampling_params, stop_tokens
from sampler_parity.engines.shared import import_stubs as absent
from sampler_parity.harness.engines.samplers import ALL_ROWS
from sampler_parity.harness.errors import InputError, Unsupported
from tests.support.case_tables import cases_of

CASES = cases_of(__file__)


class Params(SimpleNamespace):
    def verify(self, n_vocab: int) -> None:
        if getattr(self, "top_k", 1) == 0:
            raise ValueError("top_k must be -1 (disable) or at least 1, got 0.\nand more")


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requests, "sglang", lambda: SimpleNamespace(SamplingParams=Params))


@pytest.mark.usefixtures("stub")
def test_a_chain_becomes_the_parameters_of_one_request() -> None:
    chain = CASES["request"]["chain"]
    assert vars(sampling_params(chain, 9)) == CASES["request"]["expected"]
    assert stop_tokens(chain) == {4, 5}


@pytest.mark.usefixtures("stub")
def test_a_seed_is_that_of_deterministic_inference() -> None:
    params = sampling_params([{"sglang_sample": {"seed": 7, "top_p": 0.9}}], 9)
    assert vars(params) == {"sampling_seed": 7, "top_p": 0.9}


@pytest.mark.usefixtures("stub")
@pytest.mark.parametrize(
    ("chain", "why"),
    CASES["unsupported"],
    ids=["order", "twice", "greedy", "min_keep", "biases", "two draws", "filters", "none"],
)
def test_what_sglang_has_not_is_unsupported_and_not_left_out(
    chain: list[dict[str, dict[str, object]]], why: str
) -> None:
    with pytest.raises(Unsupported, match=why):
        sampling_params(chain, 9)


@pytest.mark.usefixtures("stub")
def test_what_sglang_refuses_is_refused_in_one_line() -> None:
    with pytest.raises(InputError, match=r"at least 1, got 0\.$"):
        sampling_params([{"top_k": {"k": 0}}], 9)


def test_every_stage_of_sglang_in_the_reference_is_one_of_the_engine() -> None:
    assert {name for name in ALL_ROWS if name.startswith("sglang_")} <= set(SLOTS)


def test_a_module_of_a_package_is_stood_in_for_without_its_neighbours(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    package = tmp_path / "half_absent"
    package.mkdir()
    for name in ("__init__", "gone", "gone_not"):
        (package / f"{name}.py").write_text("is_real = True\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    absent.stand_in_for(["half_absent.gone"])
    import half_absent.gone  # type: ignore[import-not-found]
    import half_absent.gone.deeper  # type: ignore[import-not-found]
    import half_absent.gone_not  # type: ignore[import-not-found]

    assert half_absent.is_real is half_absent.gone_not.is_real is True
    assert half_absent.gone.is_real is not True
    for name in [name for name in sys.modules if name.startswith("half_absent")]:
        del sys.modules[name]

"""backend vllm: how a chain becomes a request, and, with its environment, vLLM's results."""

import sys
from types import SimpleNamespace

import pytest

from sampler_parity.engines.shared import import_stubs as absent
from sampler_parity.engines.vllm import requests
from sampler_parity.engines.vllm.requests import SLOTS, sampling_params
from sampler_parity.harness.engines.samplers import ALL_ROWS
from sampler_parity.harness.errors import InputError, Unsupported
from tests.support.case_tables import cases_of

CASES = cases_of(__file__)


class RefusedError(Exception):
    pass


class Params(SimpleNamespace):
    @classmethod
    def from_optional(cls, **arguments: object) -> "Params":
        if arguments.get("top_p") == 0:
            raise RefusedError("top_p must be in (0, 1]\nand more")
        return cls(**arguments)


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = SimpleNamespace(SamplingParams=Params, Refused=RefusedError)
    monkeypatch.setattr(requests, "vllm", lambda: engine)


@pytest.mark.usefixtures("stub")
def test_a_chain_becomes_the_parameters_of_one_request() -> None:
    params = sampling_params(CASES["request"])
    assert vars(params) == {
        "min_tokens": 2,
        "logit_bias": {3: 1.5},
        "temperature": 0.5,
        "min_p": 0.1,
        "top_k": 4,
        "top_p": 0.9,
        "seed": None,
        "_bad_words_token_ids": None,
        "_all_stop_token_ids": {7, 8},
    }


@pytest.mark.usefixtures("stub")
@pytest.mark.parametrize(
    ("chain", "why"),
    CASES["unsupported"],
    ids=["order", "twice", "greedy", "min_keep", "biases", "kernel"],
)
def test_what_vllm_has_not_is_unsupported_and_not_left_out(
    chain: list[dict[str, dict[str, object]]], why: str
) -> None:
    with pytest.raises(Unsupported, match=why):
        sampling_params(chain)


@pytest.mark.usefixtures("stub")
def test_what_vllm_refuses_is_refused_in_one_line() -> None:
    with pytest.raises(InputError, match=r"top_p must be in \(0, 1\]$"):
        sampling_params([{"top_p": {"p": 0.0}}])


def test_every_stage_of_vllm_in_the_reference_is_one_of_the_engine() -> None:
    stages = {name for name in ALL_ROWS if name.startswith("vllm_")}
    assert {name for name in stages if not name.startswith("vllm_gpu_")} <= set(SLOTS)


def test_a_stand_in_has_any_name_and_stands_for_what_is_named_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    absent.stand_in_for(["no_such_package"])
    from no_such_package.deep import Thing, decorator  # type: ignore[import-not-found]

    assert issubclass(type("Own", (Thing,), {}), Thing)
    assert decorator(len) is len
    with pytest.raises(ModuleNotFoundError):
        __import__("no_such_package_either")
    for name in [name for name in sys.modules if name.startswith("no_such_package")]:
        del sys.modules[name]

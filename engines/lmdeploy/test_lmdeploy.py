"""lmdeploy: its models by hand, chains as requests, and, with its environment, the kernels that no
chain shows against their models."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from sampler_parity.engines.lmdeploy import package
from sampler_parity.engines.lmdeploy.model import LmdeployNgram, LmdeploySample
from sampler_parity.engines.lmdeploy.model.rejection import greedy, verified
from sampler_parity.engines.lmdeploy.requests import Request, later, sampling_param
from sampler_parity.engines.shared.past import Past
from sampler_parity.harness.errors import InputError, Unsupported
from sampler_parity.harness.protocol.messages import ChainSpec
from tests.support import triton_probe
from tests.support.case_tables import cases_of

CASES = cases_of(__file__)


class Config(SimpleNamespace):
    def __init__(self, **given: Any) -> None:
        assert given["temperature"] <= 2
        super().__init__(**given)


ENGINE = SimpleNamespace(
    GenerationConfig=Config, SamplingParam=SimpleNamespace(from_gen_config=lambda config: config)
)


def test_a_chain_becomes_the_parameters_of_one_request() -> None:
    request = CASES["request"]
    param = vars(sampling_param(ENGINE, request["chain"]))
    assert param.pop("max_new_tokens") > 1000
    assert param == request["expected"]


@pytest.mark.parametrize(("chain", "why"), CASES["unsupported"])
def test_a_chain_that_lmdeploy_lacks_is_unsupported(chain: ChainSpec, why: str) -> None:
    with pytest.raises(Unsupported, match=why):
        sampling_param(ENGINE, chain)


def test_what_its_config_refuses_is_refused() -> None:
    with pytest.raises(InputError, match="lmdeploy"):
        sampling_param(ENGINE, [{"temp": {"temp": 2.5}}])


def test_successive_draws_have_successive_positions_behind_prompt_and_output() -> None:
    request = Request.of(ENGINE, [{"dist": {"seed": 1}}], Past([1, 2], [3]))
    assert [one.num_valid_ids for one in later(request, 0, 3)] == [3, 4, 5]
    assert request.selects
    assert request.sequence(1).generated_ids.tolist() == [3]


@pytest.mark.parametrize(
    ("output", "size", "found"),
    [([1, 2, 1, 2], 2, 2), ([4, 4, 4, 4], 2, 3), ([1, 2], 3, 0), ([9, *[2] * 1023, 9], 1, 1)],
)
def test_an_ngram_is_counted_in_the_last_1024_tokens(
    output: list[int], size: int, found: int
) -> None:
    stage = LmdeployNgram(12, size, 1, [3])
    stage.past.output.extend(output)
    assert stage.found() == found


def test_the_draw_takes_the_first_sum_that_reaches_the_number() -> None:
    stage = LmdeploySample(1)
    weights = np.full(200, 1 / 256, np.float32)
    assert stage.drawn(weights, np.float32(1 / 256)) == 0
    assert stage.drawn(weights, np.float32(1 / 256 + 2**-20)) == 1
    assert stage.drawn(weights, np.float32(129 / 256)) == 128  # in the second block
    assert stage.drawn(weights, np.float32(0)) == 0
    assert stage.drawn(weights, np.float32(201 / 256)) == 0  # above the last sum


def test_drafts_are_verified_row_by_row() -> None:
    assert greedy([1, 2], [1, 2], 7) == [1, 2, 7]
    assert greedy([1, 2], [1, 3], 7) == [1, 2, -1]
    assert greedy([1, 2], [0, 2], 7) == [1, -1, -1]
    p = np.array([[0.5, 0.5], [1.0, 0.0]], np.float32)
    q = np.array([[1.0, 0.0], [0.0, 1.0]], np.float32)
    inverse = np.ones(2, np.float32)
    assert verified(p, q, [0, 0], 7, np.array([0.5, 0.5]), inverse) == [0, 0, -1]
    assert verified(p, q, [0, 1], 7, np.array([0.6, 0.5]), inverse) == [1, -1, -1]
    assert verified(p, None, [0, 0], 7, np.array([0.4, 0.9]), inverse) == [0, 0, 7]
    assert verified(p, None, [0, 1], 7, np.array([0.4, 0.9]), inverse) == [0, 0, -1]


def test_every_edit_fits_the_wheel() -> None:
    triton_probe.assert_every_edit_fits("lmdeploy", package.EDITS, "lmdeploy/pytorch")


@pytest.mark.nightly
def test_drafts_and_ngrams_are_those_of_the_models() -> None:
    expected = {"greedy": 0, "drafts": 0, "certain": 0, "rest": 0, "ngram": 0}
    assert triton_probe.probed("lmdeploy", "") == expected


@pytest.mark.nightly
@pytest.mark.parametrize(("fault", "check"), triton_probe.faults_of_probe("lmdeploy").items())
def test_the_probe_catches_each_fault(fault: str, check: str) -> None:
    assert triton_probe.probed("lmdeploy", fault)[check] > 0

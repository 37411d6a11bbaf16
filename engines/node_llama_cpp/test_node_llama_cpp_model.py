"""node_llama_cpp: the chain of an evaluate by hand, and which seed is whose."""

from typing import Any

import pytest

from sampler_parity.engines.node_llama_cpp.model import NodeLlamaCpp
from sampler_parity.reference.samplers.dist import Dist
from tests.support.case_tables import cases_of

CASES = cases_of(__file__)

XTC = {"xtc_probability": 0.5, "xtc_threshold": 0.1}


@pytest.mark.parametrize(
    ("parameters", "names"),
    CASES["chains"],
    ids=["default", "greedy", "drawn", "all", "off", "whole"],
)
def test_what_is_in_the_chain(parameters: dict[str, Any], names: list[str]) -> None:
    assert [sampler.name for sampler in NodeLlamaCpp(1, **parameters).samplers] == names


@pytest.mark.parametrize(
    ("seed", "taken"), [(-5, 0), (1.7, 1), (2**32 + 1, 1), (2**32 - 2, 2**32 - 2)]
)
def test_a_seed_is_floored_and_cut(seed: float, taken: int) -> None:
    last = NodeLlamaCpp(seed, temperature=1.0).samplers[-1]
    assert isinstance(last, Dist)
    assert last.seed == taken

"""mlx_lm: llama.cpp's parameters in MLX LM's words, and what has no counterpart there."""

from typing import Any

import pytest

from sampler_parity.engines.mlx_lm.arguments import processors_of, sampler_of
from sampler_parity.harness.errors import Unsupported
from tests.support.case_tables import cases_of

CASES = cases_of(__file__)


@pytest.mark.parametrize(
    ("name", "parameters", "arguments"),
    CASES["filters"],
    ids=["top_k", "top_p", "min_p", "xtc", "whole"],
)
def test_a_filter_is_make_sampler_with_that_filter_alone(
    name: str, parameters: dict[str, Any], arguments: dict[str, Any]
) -> None:
    assert sampler_of(name, parameters) == arguments


def test_top_p_and_xtc_keep_no_minimum() -> None:
    for name, parameters in (("top_p", {"p": 0.5}), ("xtc", {"p": 0.5, "t": 0.1})):
        with pytest.raises(Unsupported, match="keeps no minimum"):
            sampler_of(name, parameters | {"min_keep": 2})


def test_penalties_have_one_window_in_llama_cpp_and_three_in_mlx() -> None:
    penalties = CASES["penalties"]
    assert processors_of("penalties", penalties["parameters"]) == penalties["expected"]
    assert processors_of("logit_bias", {"logit_bias": [[3, 1], [3, 2]]}) == {"logit_bias": {3: 2.0}}

"""Engines on models: llama.cpp's chains in their words; all of their suites at night."""

from typing import Any

import pytest

from sampler_parity.engines.ctranslate2 import worker as ctranslate2
from sampler_parity.engines.onnxruntime_genai import worker as onnxruntime_genai
from sampler_parity.harness.errors import Unsupported

TEMP, TOP_K, TOP_P = {"temp": {"temp": 2.0}}, {"top_k": {"k": 40}}, {"top_p": {"p": 0.9}}
DIST: dict[str, Any] = {"dist": {"seed": 7}}


def penalties(**parameters: Any) -> dict[str, Any]:
    off = {"penalty_repeat": 1.0, "penalty_freq": 0.0, "penalty_present": 0.0}
    return {"penalties": {"penalty_last_n": 64} | off | parameters}


def test_a_chain_in_genais_order_becomes_search_options() -> None:
    chain = [penalties(penalty_repeat=1.5), TEMP, TOP_K, TOP_P, DIST]
    wanted = {"repetition_penalty": 1.5, "penalty_last_n": 64, "temperature": 2.0}
    wanted |= {"top_k": 40, "top_p": 0.9, "do_sample": True, "random_seed": 7}
    assert onnxruntime_genai.options_of(chain) == wanted


def test_a_chain_in_ctranslate2s_order_becomes_parameters_of_generate_batch() -> None:
    chain = [penalties(penalty_repeat=1.5), TOP_K, TEMP, TOP_P, DIST]
    wanted = {"repetition_penalty": 1.5, "penalty_last_n": 64, "sampling_temperature": 2.0}
    wanted |= {"sampling_topk": 40, "sampling_topp": 0.9, "seed": 7}
    assert ctranslate2.options_of(chain) == wanted
    assert ctranslate2.options_of([TEMP, DIST])["sampling_topk"] == 0
    assert ctranslate2.options_of([TOP_K, {"greedy": {}}])["sampling_topk"] == 1
    own = {"sampling_topk": 3, "seed": 1}
    assert ctranslate2.options_of([{"ctranslate2": own}]) == own
    with pytest.raises(Unsupported, match="penalties, top_k, temp, top_p, in this order"):
        ctranslate2.options_of([TEMP, TOP_K, DIST])


def test_what_a_chain_does_not_name_is_off() -> None:
    assert onnxruntime_genai.options_of([{"greedy": {}}]) == {
        "top_k": 0,
        "top_p": 1.0,
        "do_sample": False,
    }
    assert onnxruntime_genai.options_of([{"dist": {"seed": 0xFFFFFFFF}}])["random_seed"] == -1


@pytest.mark.parametrize(
    ("chain", "message"),
    [
        ([TOP_P, TOP_K, DIST], "in this order"),
        ([TEMP, TEMP, DIST], "in this order"),
        ([TOP_K], "then a token"),
        ([], "then a token"),
        ([{"min_p": {"p": 0.1}}, DIST], "GenAI has penalties, temp, top_k, top_p"),
        ([penalties(penalty_freq=0.5), DIST], "no frequency and no presence penalty"),
        ([{"top_p": {"p": 0.9, "min_keep": 2}}, DIST], "no min_keep"),
    ],
)
def test_what_it_has_not_is_unsupported(chain: Any, message: str) -> None:
    with pytest.raises(Unsupported, match=message):
        onnxruntime_genai.options_of(chain)

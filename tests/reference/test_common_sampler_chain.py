"""The chain that llama.cpp's command line builds."""

import math
from typing import Any

import numpy as np
import pytest

from sampler_parity.harness.protocol.process import BackendProcess
from sampler_parity.reference import ChainError, build_chain
from sampler_parity.reference.pipelines.common_chain import default_chain
from sampler_parity.reference.pipelines.common_sampler import SamplingParams
from tests.support.applied import assert_as_native
from tests.support.native_common import PRINTED


def test_pipeline_defaults_are_what_the_notes_on_the_api_print() -> None:
    """But for dry_penalty_last_n, 4096 there: the context size in place of -1; 64 at v0.5.0."""
    printed = """
        repeat_last_n = 64, repeat_penalty = 1.000, frequency_penalty = 0.000,
        presence_penalty = 0.000, dry_multiplier = 0.000, dry_base = 1.750,
        dry_allowed_length = 2, top_k = 40, top_p = 0.950,
        min_p = 0.050, xtc_probability = 0.000, xtc_threshold = 0.100,
        typical_p = 1.000, top_n_sigma = -1.000, temp = 0.800, mirostat = 0,
        mirostat_lr = 0.100, mirostat_ent = 5.000
    """
    params = SamplingParams()
    pairs = [pair.split(" = ") for pair in " ".join(printed.split()).split(", ")]
    assert len(pairs) == 18
    for name, value in pairs:
        assert getattr(params, PRINTED.get(name, name)) == float(value), name
    assert params.dry_penalty_last_n == 64


def test_pipeline_parameters_reach_their_stages() -> None:
    """Every value another, so that none can stand in for its neighbour."""
    params = SamplingParams(
        seed=11, min_keep=3, top_k=41, top_p=0.91, min_p=0.06, xtc_probability=0.21,
        xtc_threshold=0.12, typ_p=0.97, temp=0.7, dynatemp_range=0.3, dynatemp_exponent=1.3,
        penalty_last_n=65, penalty_repeat=1.1, penalty_freq=0.15, penalty_present=0.16,
        dry_multiplier=0.8, dry_base=1.8, dry_allowed_length=4, dry_penalty_last_n=66,
        dry_sequence_breakers=("x",), top_n_sigma=2.5, logit_bias=((5, -1.5),),
    )  # fmt: skip
    assert default_chain(params, 100, suppress=[7]) == [
        {"logit_bias": {"logit_bias": [[5, -1.5], [7, -math.inf]]}},
        {"penalties": {"penalty_last_n": 65, "penalty_repeat": 1.1, "penalty_freq": 0.15,
                       "penalty_present": 0.16}},
        {"dry": {"dry_multiplier": 0.8, "dry_base": 1.8, "dry_allowed_length": 4,
                 "dry_penalty_last_n": 66, "seq_breakers": ["x"]}},
        {"top_n_sigma": {"n": 2.5}},
        {"top_k": {"k": 41}},
        {"typical_p": {"p": 0.97, "min_keep": 3}},
        {"top_p": {"p": 0.91, "min_keep": 3}},
        {"min_p": {"p": 0.06, "min_keep": 3}},
        {"xtc": {"p": 0.21, "t": 0.12, "min_keep": 3, "seed": 11}},
        {"temp_ext": {"temp": 0.7, "delta": 0.3, "exponent": 1.3}},
        {"dist": {"seed": 11}},
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("version", "last"),
    [
        (1, {"mirostat": {"n_vocab": 100, "seed": 9, "tau": 4.0, "eta": 0.2, "m": 100}}),
        (2, {"mirostat_v2": {"seed": 9, "tau": 4.0, "eta": 0.2}}),
    ],
)
def test_pipeline_with_mirostat_has_only_bias_and_temperature(
    version: int, last: dict[str, Any]
) -> None:
    params = SamplingParams(seed=9, mirostat=version, mirostat_tau=4.0, mirostat_eta=0.2)
    assert default_chain(params, 100) == [{"temp": {"temp": 0.8}}, last]
    biased = SamplingParams(mirostat=version, logit_bias=((0, 1.0),))
    assert len(default_chain(biased, 100)) == 3


def test_pipeline_moves_adaptive_p_to_the_end_in_place_of_dist() -> None:
    params = SamplingParams(
        seed=4, samplers=("adaptive_p", "top_k", "adaptive_p"), adaptive_target=0.4
    )
    assert default_chain(params, 10) == [
        {"top_k": {"k": 40}},
        {"adaptive_p": {"target": 0.4, "decay": 0.9, "seed": 4}},
    ]


@pytest.mark.parametrize(
    ("n_ctx", "expected"), [(None, -1), (4096, 4096)], ids=["v0.5.0", "earlier releases"]
)
def test_pipeline_takes_minus_one_for_the_context_size_only_if_it_is_given(
    n_ctx: int | None, expected: int
) -> None:
    params = SamplingParams(penalty_last_n=-1, dry_penalty_last_n=-1)
    penalties, dry, *_ = default_chain(params, 10, n_ctx)
    assert penalties["penalties"]["penalty_last_n"] == expected
    assert dry["dry"]["dry_penalty_last_n"] == expected
    build_chain([penalties, dry])


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        *[
            ("penalty_repeat", value, "^penalty_repeat must be finite and greater than 0, and its")
            # 1e-39 is a float32, its reciprocal is not; 1e39 and 1e-50 are inf and 0
            for value in (0.0, -1.0, math.inf, math.nan, 1e-39, 1e39, 1e-50)
        ],
        ("penalty_freq", math.nan, "^penalty_freq must be finite, got nan$"),
        ("penalty_freq", 1e39, r"^penalty_freq must be finite, got 1e\+39$"),
        ("penalty_present", -math.inf, "^penalty_present must be finite, got -inf$"),
        ("mirostat", 3, "^mirostat must be 0, 1 or 2, got 3$"),
        ("mirostat", -1, "^mirostat must be 0, 1 or 2, got -1$"),
        ("samplers", ("top_q",), "^unknown sampler 'top_q'; known: penalties, dry, top_n_sigma,"),
    ],
)
def test_pipeline_refuses_what_common_sampler_init_refuses(
    field: str, value: Any, message: str
) -> None:
    with pytest.raises(ChainError, match=message):
        default_chain(SamplingParams(**{field: value}), 10)


def test_pipeline_chain_runs_as_natively(native: BackendProcess) -> None:
    params = SamplingParams(
        seed=5, penalty_repeat=1.1, top_n_sigma=2.0, typ_p=0.99, xtc_probability=0.5,
        dynatemp_range=0.3, logit_bias=((3, 1.0),), dry_multiplier=0.8, dry_sequence_breakers=(),
    )  # fmt: skip
    logits = np.random.default_rng(0).normal(0, 3, 2000).astype(np.float32)
    assert_as_native(native, default_chain(params, 2000), logits, history=[1, 2, 1], steps=5)
    for version in (1, 2):
        chain = default_chain(SamplingParams(seed=5, mirostat=version), 2000)
        assert_as_native(native, chain, logits, steps=5)

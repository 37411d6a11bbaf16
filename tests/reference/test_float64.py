"""The same code in float64: the ideal result, near the float32 one, and of that type."""

from typing import Any

import numpy as np
import pytest

from sampler_parity.reference import Candidates, build_chain

STAGES: list[dict[str, dict[str, Any]]] = [
    {"greedy": {}},
    {"dist": {"seed": 3}},
    {"top_k": {"k": 20}},
    {"top_p": {"p": 0.9}},
    {"min_p": {"p": 0.05}},
    {"typical_p": {"p": 0.9}},
    {"temp": {"temp": 0.7}},
    {"temp_ext": {"temp": 0.7, "delta": 0.3, "exponent": 1.5}},
    {"xtc": {"p": 1.0, "t": 0.05, "seed": 3}},
    {"top_n_sigma": {"n": 1.5}},
    {"mirostat": {"seed": 3}},
    {"mirostat_v2": {"seed": 3}},
    {"penalties": {"penalty_last_n": 8, "penalty_repeat": 1.2, "penalty_freq": 0.3}},
    {"dry": {"dry_multiplier": 0.8, "dry_allowed_length": 1}},
    {"logit_bias": {"logit_bias": [[3, 0.7]]}},
    {"adaptive_p": {"target": 0.1, "seed": 3}},
    {"softmax": {}},
    {"tail_free": {"z": 0.9}},
]


@pytest.mark.parametrize("stage", STAGES, ids=lambda stage: next(iter(stage)))
def test_sampler_in_float64_is_float64_and_near_float32(stage: dict[str, dict[str, Any]]) -> None:
    logits = np.random.default_rng(11).normal(0, 2, 300).astype(np.float32)
    results = []
    for dtype in (np.float32, np.float64):
        chain = build_chain([stage], n_vocab=300)
        for token in (1, 2, 1, 2, 1):
            chain.accept(token)
        cand = Candidates.from_logits(logits, dtype=dtype)
        chain.apply(cand)
        assert cand.logits.dtype == dtype
        assert cand.p.dtype == dtype
        results.append(cand)
    single, double = results
    assert single.ids.tolist() == double.ids.tolist()
    assert single.token == double.token
    np.testing.assert_allclose(single.logits, double.logits, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(single.p, double.p, rtol=1e-4, atol=1e-6)


def test_float64_has_no_float32_rounding() -> None:
    # 1/3 in double differs from 1/3 in float in the 8th digit
    cand = Candidates.from_logits([0.0, 0.0, 0.0], dtype=np.float64)
    build_chain([{"softmax": {}}]).apply(cand)
    assert cand.p.tolist() == [1 / 3, 1 / 3, 1 / 3]

"""The same code in float64: the ideal result, near the float32 one, and of that type."""

from typing import Any

import numpy as np
import pytest

from sampler_parity.harness.inputs.vocabularies import read_vocab, vocab_path
from sampler_parity.reference import Candidates, build_chain
from tests.support.stages import ACTIVE, NAME_IDS


@pytest.mark.parametrize("stage", ACTIVE, ids=NAME_IDS)
def test_sampler_in_float64_is_float64_and_near_float32(stage: dict[str, dict[str, Any]]) -> None:
    logits = np.random.default_rng(11).normal(0, 2, 300).astype(np.float32)
    results = []
    for dtype in (np.float32, np.float64):
        chain = build_chain([stage], n_vocab=300, vocab=read_vocab(vocab_path("bpe")))
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

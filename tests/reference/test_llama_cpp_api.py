"""Claims of the notes on llama.cpp's sampling API, checked on the reference.

The name of a test shows if its claim is wrong or no longer true at v0.5.0. The figures were printed
by llama.cpp's debugger: a vocabulary of 262,144, the default chain.
"""

import itertools
import tomllib
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from sampler_parity.harness.inputs.vocabularies import read_vocab, vocab_path
from sampler_parity.reference import Candidates, build_chain
from sampler_parity.reference.pipelines.common_chain import default_chain
from sampler_parity.reference.pipelines.common_sampler import SamplingParams
from tests.support.applied import Spec
from tests.support.stages import ACTIVE, NAME_IDS

# id, logit, p
PRINTED = tomllib.loads((Path(__file__).parent / "printed_by_llama_cpp.toml").read_text())
AFTER_TOP_P, IN_DIST = PRINTED["after_top_p"], PRINTED["in_dist"]


def _column(rows: list[list[float]], index: int) -> NDArray[np.float32]:
    return np.array([row[index] for row in rows], np.float32)


def _sampled(spec: Spec) -> Candidates:
    """The chain on the printed logits, in the order printed."""
    cand = Candidates.from_logits(_column(AFTER_TOP_P, 1))
    build_chain(spec).apply(cand)
    return cand


def test_candidates_start_with_their_position_as_id_and_nothing_selected() -> None:
    cand = Candidates.from_logits([0.5, -1.0, 2.0])
    assert cand.ids.tolist() == [0, 1, 2]
    assert cand.p.tolist() == [0.0, 0.0, 0.0]
    assert (cand.selected, cand.sorted) == (-1, False)


def test_top_p_of_95_per_cent_keeps_the_27_printed() -> None:
    """The printed p are normalized over the 40 of top_k: 26 stay below .95, the 27th reaches it."""
    sums = list(itertools.accumulate(_column(AFTER_TOP_P, 2)))
    assert sums[25] < np.float32(0.95) <= sums[26]


def test_min_p_leaves_the_16_printed() -> None:
    cand = _sampled([{"min_p": {"p": 0.05}}])
    assert [AFTER_TOP_P[i][0] for i in cand.ids] == [row[0] for row in IN_DIST]


def test_temp_ext_gives_the_printed_logits_to_the_bit() -> None:
    cand = _sampled([{"min_p": {"p": 0.05}}, {"temp_ext": {"temp": 0.8}}])
    assert np.array_equal(cand.logits, _column(IN_DIST, 1))


def test_dist_gives_the_printed_probabilities_to_the_bit() -> None:
    """p / sum in double, rounded; the debugger stopped before the division. sum = 2.4199..."""
    cand = _sampled([{"min_p": {"p": 0.05}}, {"temp_ext": {"temp": 0.8}}, {"dist": {"seed": 1}}])
    before = _column(IN_DIST, 2).astype(np.float64)
    assert np.array_equal(cand.p, (before / sum(before)).astype(np.float32))


def test_logit_bias_is_no_longer_in_every_chain() -> None:
    """Wrong at v0.5.0: only where there is a bias."""
    first, *_ = default_chain(SamplingParams(), 10)
    assert list(first) == ["penalties"]


@pytest.mark.parametrize("stage", ACTIVE, ids=NAME_IDS)
def test_samplers_need_no_order_by_logits_and_probabilities(
    stage: dict[str, dict[str, object]],
) -> None:
    """Wrong: that those that expect probabilities must come last. None reads a p that an earlier
    stage left; what they need they compute from the logits."""
    results = []
    for p in (0.0, 0.9):
        cand = Candidates.from_logits(_column(AFTER_TOP_P, 1))
        cand.p = np.full(len(cand), p, np.float32)
        chain = build_chain([stage], n_vocab=len(cand), vocab=read_vocab(vocab_path("bpe")))
        for token in (1, 2, 3, 1, 2):
            chain.accept(token)
        chain.apply(cand)
        results.append((cand.ids.tolist(), cand.logits.tolist(), cand.selected))
    assert results[0] == results[1]

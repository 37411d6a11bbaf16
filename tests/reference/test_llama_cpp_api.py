"""Claims of the notes on llama.cpp's sampling API, checked on the reference.

The name of a test shows if its claim is wrong or no longer true at v0.5.0. The figures were printed
by llama.cpp's debugger: a vocabulary of 262,144, the default chain.
"""

import itertools

import numpy as np
import pytest
from numpy.typing import NDArray

from sampler_parity.harness.inputs.vocabularies import read_vocab, vocab_path
from sampler_parity.reference import Candidates, build_chain
from sampler_parity.reference.pipelines.common_chain import default_chain
from sampler_parity.reference.pipelines.common_sampler import SamplingParams
from tests.support.applied import Spec
from tests.support.stages import ACTIVE, NAME_IDS

# id, logit, p: the 27 candidates that top_p left of top_k's 40, and the first that it dropped.
AFTER_TOP_P = [
    (108, 19.8492393, 0.272734016),
    (563, 18.9221611, 0.107923076),
    (4733, 18.6403351, 0.0814177021),
    (564, 18.4178543, 0.0651773438),
    (623, 18.2506371, 0.0551410653),
    (19565, 18.2467232, 0.054925669),
    (107, 18.0632076, 0.0457167737),
    (669, 17.8008919, 0.0351684578),
    (691, 17.6138248, 0.0291682985),
    (753, 17.4331284, 0.0243464503),
    (1174, 17.1942959, 0.0191739686),
    (236743, 17.1441193, 0.0182356201),
    (496, 17.1277504, 0.0179395545),
    (506, 17.0165386, 0.0160514023),
    (1030, 16.9550114, 0.0150935724),
    (562, 16.8741608, 0.0139212767),
    (568, 16.6988392, 0.011682556),
    (2375, 16.6446133, 0.0110659283),
    (138, 16.3903847, 0.00858178828),
    (255999, 16.2614384, 0.00754357362),
    (799, 16.1067486, 0.00646243524),
    (109, 16.08395, 0.00631676801),
    (2981, 16.0823326, 0.00630655931),
    (815, 16.0728855, 0.00624726154),
    (668, 16.0606232, 0.00617112266),
    (672, 16.021904, 0.00593674881),
    (625, 15.9493284, 0.00552114891),
    (1176, 15.8668432, 0.0050840131),
]
# The 16 that min_p left, after temp_ext, inside dist: p before it is divided by the sum.
IN_DIST = [
    (108, 24.8115482, 1),
    (563, 23.6527004, 0.313847572),
    (4733, 23.3004189, 0.220660627),
    (564, 23.0223179, 0.167088717),
    (623, 22.8132954, 0.135571942),
    (19565, 22.808403, 0.1349103),
    (107, 22.57901, 0.107255846),
    (669, 22.2511139, 0.0772711709),
    (691, 22.0172806, 0.061159648),
    (753, 21.7914104, 0.0487944931),
    (1174, 21.4928703, 0.0362006612),
    (236743, 21.4301491, 0.0339998491),
    (496, 21.409687, 0.0333112143),
    (506, 21.2706738, 0.0289879665),
    (1030, 21.1937637, 0.0268420801),
    (562, 21.092701, 0.0242619198),
]


def _column(rows: list[tuple[int, float, float]], index: int) -> NDArray[np.float32]:
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

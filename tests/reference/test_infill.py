"""infill: go on or end, for fill-in-the-middle.

Ids: 0 a, 1 ab, 2 b, 3 c, 4 <end> (end of generation), 5 <special> (control, empty piece).
"""

import numpy as np
import pytest

from sampler_parity.reference import Candidates, ChainError, UndefinedInputError, Vocab
from tests.support.applied import chain_of, logs

TEXTS, TYPES = ("a", "ab", "b", "c", "<end>", "<special>"), (1, 1, 1, 1, 3, 3)
VOCAB = Vocab("bpe", TEXTS, TYPES, eog=frozenset({4}), eos=4, eot=4)


def _infilled(*probs: float, vocab: Vocab = VOCAB) -> Candidates:
    """Candidates with these probabilities by id; tokens of probability 0 are left out."""
    cand = Candidates.from_logits(logs(*probs))
    cand.keep(cand.logits > -np.inf)
    chain_of(("infill", {}), vocab=vocab).apply(cand)
    return cand


def test_infill_merges_a_prefix_into_the_likelier_token() -> None:
    """.45 a + .35 ab = .8; b .15 < .2 goes; .8/.85 and the end .05/.85. Then a > 1/2 stays."""
    cand = _infilled(0.45, 0.35, 0.15, 0, 0.05)
    assert cand.ids.tolist() == [0, 4]
    assert cand.p == pytest.approx([0.8 / 0.85, 0.05 / 0.85], abs=1e-6)


def test_infill_keeps_the_end_token_if_no_text_is_likely() -> None:
    """Six texts of .165, none at least .2; the end .01: 3 * .01 * 7 = .21 < .99."""
    texts = ("d", "e", "f", "g", "h", "i", "<end>")
    vocab = Vocab("bpe", texts, (1,) * 6 + (3,), eog=frozenset({6}), eos=6, eot=6)
    cand = _infilled(*[0.165] * 6, 0.01, vocab=vocab)
    assert (cand.ids.tolist(), cand.logits.tolist()) == ([6], [1.0])
    assert cand.p == pytest.approx([0.01], abs=1e-6)


@pytest.mark.parametrize(("eot", "expected"), [(7, 7), (-1, 6)])
def test_infill_makes_the_likeliest_the_end_if_nothing_is_left(eot: int, expected: int) -> None:
    """Six equal texts and no end token among the candidates: its id is put in, EOT before EOS."""
    texts = ("d", "e", "f", "g", "h", "i", "<eos>", "<eot>")
    vocab = Vocab("bpe", texts, (1,) * 6 + (3, 3), eog=frozenset({6, 7}), eos=6, eot=eot)
    cand = _infilled(*[1 / 6] * 6, vocab=vocab)
    assert (cand.ids.tolist(), cand.logits.tolist()) == ([expected], [1.0])
    assert cand.p == pytest.approx([1 / 6], abs=1e-6)


def test_infill_merges_nothing_with_a_special_token() -> None:
    """An empty piece is no prefix: .5 and .5 stay apart."""
    cand = _infilled(0.5, 0, 0, 0, 0, 0.5)
    assert set(cand.ids.tolist()) == {0, 5}


def test_infill_leaves_the_banned_out_of_merging_and_keeps_a_banned_end() -> None:
    """ab is not merged into a; text below .2 goes, but the end token stays with p = 0."""
    cand = Candidates.from_logits([0.0, -np.inf, -np.inf, -np.inf, -np.inf])
    chain_of(("infill", {}), vocab=VOCAB).apply(cand)
    assert (cand.ids.tolist(), cand.p.tolist()) == ([0, 4], [1.0, 0.0])


def test_infill_needs_a_vocabulary_with_an_end() -> None:
    with pytest.raises(
        ChainError, match=r"^stage 1 \(infill\): infill needs a vocabulary \(vocab\)$"
    ):
        chain_of(("infill", {}))
    with pytest.raises(ChainError, match=r"infill needs a vocabulary with an EOT or EOS token$"):
        chain_of(("infill", {}), vocab=Vocab("bpe", ("a",), (1,)))


def test_infill_refuses_long_pieces() -> None:
    long = Vocab("bpe", ("a" * 513, "b", "<end>"), (1, 1, 3), eog=frozenset({2}), eos=2)
    with pytest.raises(UndefinedInputError, match=r"^infill meets a piece of over 512 bytes"):
        _infilled(0.5, 0.5, vocab=long)
    fits = Vocab("bpe", ("a" * 512, "b", "<end>"), (1, 1, 3), eog=frozenset({2}), eos=2)
    assert len(_infilled(0.5, 0.5, vocab=fits)) == 2

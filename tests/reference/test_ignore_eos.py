"""ignore_eos: every token that ends a generation is banned."""

import dataclasses
import math

import pytest

from sampler_parity.reference import ChainError, Vocab, build_chain
from tests.support.applied import applied

WORDS = Vocab("bpe", ("a", "b", "<e>", "<t>"), (1, 1, 3, 3), eog=frozenset({2, 3}), eos=2, eot=3)


def test_all_ends_of_the_vocabulary_are_banned_and_nothing_else() -> None:
    cand = applied("ignore_eos", {}, [1.0, 2.0, 3.0, 4.0], vocab=WORDS)
    assert cand.logits.tolist() == [1.0, 2.0, -math.inf, -math.inf]


def test_without_an_eos_token_nothing_is_banned() -> None:
    words = dataclasses.replace(WORDS, eos=-1)
    assert applied("ignore_eos", {}, [1.0] * 4, vocab=words).logits.tolist() == [1.0] * 4


def test_without_a_vocabulary_it_is_refused() -> None:
    with pytest.raises(ChainError, match=r"stage 1 \(ignore_eos\): missing parameter 'vocab'"):
        build_chain([{"ignore_eos": {}}], n_vocab=4)

"""dry: penalize the tokens that would prolong a repetition."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sampler_parity.harness.inputs.vocabularies import read_vocab, vocab_path
from sampler_parity.harness.protocol.process import BackendProcess
from sampler_parity.reference import Candidates, ChainError, Vocab
from sampler_parity.reference.samplers.dry import Dry, breaker_sequences, suffix_repeats
from tests.support.applied import applied, assert_as_native, chain_of
from tests.support.examples import examples

# a b ab xab xa, and newline
VOCAB = Vocab("bpe", ("a", "b", "ab", "xab", "xa", "Ċ"), (1,) * 6)


def _penalties(history: Sequence[int], n: int = 10, **parameters: Any) -> dict[int, float]:
    """Token -> what was subtracted from its logit 0; multiplier .5, base 2 unless given."""
    settings = {"dry_multiplier": 0.5, "dry_base": 2.0, **parameters}
    cand = applied("dry", settings, np.zeros(n), history=history)
    return {i: -logit for i, logit in enumerate(cand.logits.tolist()) if logit}


def test_dry_caps_the_exponent_at_the_range_of_float() -> None:
    """log(FLT_MAX) / log(1.75) = 158.5: 1.75**158 = 2.5e38, though the length is 299."""
    history = [1] * 300
    penalties = _penalties(history, dry_multiplier=1.0, dry_base=1.75, dry_penalty_last_n=400)
    assert penalties == {1: pytest.approx(1.75**158, rel=1e-6)}


def test_dry_finds_string_breakers_in_tokens() -> None:
    """ "ab" is in ab and xab; a and xa end with its beginning, and b completes them."""
    assert breaker_sequences(["ab"], VOCAB) == {2: {()}, 3: {()}, 0: {(1,)}, 4: {(1,)}}
    assert breaker_sequences(["\n"], VOCAB) == {5: {()}}
    assert breaker_sequences(["", "\0a", None], VOCAB) == {}


def test_dry_cuts_a_string_breaker_after_40_bytes_and_20_tokens() -> None:
    """ "a" completes itself with 39 more bytes, of which 20 tokens are kept: b is never reached."""
    heads = breaker_sequences(["a" * 40 + "b"], VOCAB)
    assert heads == {0: {(0,) * 20}, 4: {(0,) * 20}}


def test_dry_needs_a_vocabulary_for_strings_only_where_it_is_on() -> None:
    with pytest.raises(
        ChainError, match=r"^seq_breakers with strings need a vocabulary \(vocab\)$"
    ):
        Dry(1.0, seq_breakers=["\n"])
    assert Dry(0.0, seq_breakers=["\n"]).breakers == {}


@pytest.mark.parametrize(
    ("breakers", "message"),
    [
        ("\n", "^seq_breakers must be a list, got '\\\\n'$"),
        ([3], "^seq_breakers must hold strings or token lists, got 3$"),
        ([[1.5]], "^seq_breakers must be an integer, got 1.5$"),
    ],
)
def test_dry_refuses_breakers_of_the_wrong_type(breakers: Any, message: str) -> None:
    for multiplier in (0.0, 1.0):
        with pytest.raises(ChainError, match=message):
            Dry(multiplier, seq_breakers=breakers)


@pytest.mark.parametrize(("n_history", "is_sorted"), [(2, True), (3, False)])
def test_dry_clears_the_sorted_flag_where_the_history_is_long_enough(
    n_history: int, is_sorted: bool
) -> None:
    chain = chain_of(("dry", {"dry_multiplier": 1.0}))
    for token in range(n_history):
        chain.accept(token)
    cand = Candidates.from_logits([2.0, 1.0])
    cand.sorted = True
    chain.apply(cand)
    assert (cand.logits.tolist(), cand.sorted) == ([2.0, 1.0], is_sorted)


@pytest.mark.parametrize("kind", ["bpe", "spm"])
@pytest.mark.parametrize(
    "breakers",
    [[], ["\n", ":", '"', "*"], ["the", "world"], ["hello the"], ["é" * 30], ["", "\0", "o\0w"]],
    ids=["none", "default", "words", "two words", "cut inside a character", "empty and NUL"],
)
def test_dry_finds_string_breakers_as_natively(
    native: BackendProcess, kind: str, breakers: list[str]
) -> None:
    """The history runs over every breaker and ends in "hello the" once more."""
    words = read_vocab(vocab_path(kind))
    text = 'hello the world: "hello the world"\n*hello ééé the\n hello the' * 2
    history = words.tokenize(text.encode())
    for allowed in (0, 2, 5):
        parameters: dict[str, Any] = {
            "dry_multiplier": 0.8,
            "dry_allowed_length": allowed,
            "dry_penalty_last_n": 200,
            "seq_breakers": breakers,
        }
        assert_as_native(
            native, [{"dry": parameters}], np.zeros(len(words)), history=history, vocab=kind
        )


@given(st.lists(st.integers(0, 2), max_size=40))
@settings(max_examples=examples(200), deadline=None)
def test_dry_counts_repeats_as_the_definition_says(tokens: list[int]) -> None:
    """By plain comparison, where no breaker caps the counts."""
    expected = [0] * len(tokens)
    for k in range(1, len(tokens)):
        while k + expected[k] < len(tokens) and tokens[expected[k]] == tokens[k + expected[k]]:
            expected[k] += 1
    assert suffix_repeats(tokens, len(tokens)) == expected

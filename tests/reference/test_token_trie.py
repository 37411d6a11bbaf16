"""The reference's token trie: the cases of its proposal and its life cycle, by hand."""

import logging

import numpy as np
import pytest

from sampler_parity.reference import Candidates, ChainError, build_chain
from sampler_parity.reference.samplers.token_trie import LIMIT, TokenTrie
from tests.support.tries import SEED, SPANS, as_json, payload

INF = np.inf


def candidates(ids: list[int], logits: list[float]) -> Candidates:
    cand = Candidates.from_logits(logits)
    cand.ids = np.array(ids, np.int32)
    return cand


def left(trie: TokenTrie, n: int = 300) -> list[int]:
    """The tokens that are not masked, of n equal ones."""
    cand = Candidates.from_logits([1.0] * n)
    trie.apply(cand)
    return np.flatnonzero(cand.logits != -INF).tolist()


def test_the_seed_masks_invalid_tokens() -> None:
    cand = candidates([100, 200, 999], [5.0, 4.0, 6.0])
    TokenTrie(SEED, mode=0).apply(cand)
    assert cand.ids.tolist() == [100, 200, 999]
    assert cand.logits.tolist() == [5.0, 4.0, -INF]
    assert cand.token == 100


def test_the_seed_walks_the_trie() -> None:
    trie = TokenTrie(payload([100, 101]), mode=0)
    assert left(trie) == [100]
    trie.accept(100)
    assert left(trie) == [101]
    trie.accept(101)
    assert len(left(trie)) == 300
    assert (trie.active, trie.node.leaf) == (False, "L0")


def test_mode_1_selects_nothing() -> None:
    cand = candidates([100, 200, 999], [5.0, 4.0, 6.0])
    cand.selected = 2
    TokenTrie(SEED, mode=1).apply(cand)
    assert cand.token is None


def test_a_new_trie_is_active_and_a_reset_one_is_not_until_it_is_activated() -> None:
    trie = TokenTrie(SEED)
    trie.accept(100)
    trie.reset()
    assert (trie.node is trie.root, trie.active, len(left(trie))) == (True, False, 300)
    trie.activate()
    assert left(trie) == [100, 200]


def test_a_token_outside_ends_the_span_and_the_position_is_followed_on() -> None:
    trie = TokenTrie(payload([100, 101], [200, 5]))
    trie.accept(7)
    assert (trie.active, trie.node is trie.root) == (False, True)
    trie.accept(100)
    assert (trie.active, list(trie.node.children)) == (False, [101])
    assert len(left(trie)) == 300


@pytest.mark.parametrize("compact", [False, True])
def test_no_candidates_stay_none(compact: bool) -> None:
    cand = Candidates.from_logits([])
    TokenTrie(SEED, compact=compact).apply(cand)
    assert (len(cand), cand.token) == (0, None)


def test_after_500_tokens_without_a_clear_it_warns_and_resets(
    caplog: pytest.LogCaptureFixture,
) -> None:
    trie = TokenTrie(payload([*[1, 2] * 250]))
    with caplog.at_level(logging.WARNING):
        for i in range(LIMIT - 1):
            trie.accept(1 + i % 2)
        assert (left(trie, 4), caplog.messages) == ([2], [])
        trie.accept(2)
    assert (trie.node is trie.root, trie.active) == (True, False)
    assert caplog.messages == [
        "token trie: 500 tokens without an end of the span: reset; was the clear forgotten?"
    ]


def test_a_reset_in_time_starts_the_count_again(caplog: pytest.LogCaptureFixture) -> None:
    trie = TokenTrie(SEED)
    for _ in range(LIMIT - 1):
        trie.accept(7)
    trie.reset()
    trie.accept(7)
    assert caplog.messages == []


def test_the_path_chooses_the_descriptor_and_the_first_is_the_default() -> None:
    two = (
        '{"modelId":"m","descriptors":[{"path":"a","leaves":[{"name":"x","tokens":[1]}]},'
        '{"path":"b[]","leaves":[{"name":"x","tokens":[2]}]}]}'
    )
    assert left(TokenTrie(two)) == [1]
    assert left(TokenTrie(two, path="b[]")) == [2]
    with pytest.raises(ChainError, match=r"unknown path 'c'. The payload has: a, b\[\]"):
        TokenTrie(two, path="c")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"mode": 2}, r"stage 1 \(token_trie\): mode must be in 0..1, got 2"),
        ({"compact": 1}, "compact must be true or false, got 1"),
        ({"path": 3}, "path must be a text, got 3"),
        ({"across": 1}, "across must be true or false, got 1"),
        ({"model_id": "other"}, "modelId: is for 'test', the model is 'other'"),
        ({"n_vocab": 200}, r"descriptors\[0\].leaves\[1\].tokens\[0\]: .* no token 200"),
    ],
    ids=["mode", "compact", "path", "across", "model", "vocabulary"],
)
def test_a_bad_parameter_is_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ChainError, match=message):
        build_chain([{"token_trie": {"trie_descriptor_json": SEED, **changes}}], n_vocab=300)


def test_across_descriptors_the_end_of_a_leaf_opens_the_next_span() -> None:
    trie = TokenTrie(SPANS, across=True)
    seen = []
    for token in (5, 6, 5, 8):
        seen.append((left(trie, 20), trie.span, trie.age))
        trie.accept(token)
    assert seen == [([5, 7], 0, 0), ([6], 0, 1), ([5, 9], 1, 0), ([8], 1, 1)]
    assert (trie.active, len(left(trie, 20))) == (False, 20)


def test_a_token_outside_ends_all_spans_and_the_next_opening_begins_with_the_first() -> None:
    trie = TokenTrie(SPANS, across=True)
    for token in (7, 3):
        trie.accept(token)
    assert (trie.active, trie.span, len(left(trie, 20))) == (False, 1, 20)
    trie.accept(9)  # a leaf of the second, followed and not counted as a span's end
    assert not trie.active
    trie.activate()
    assert left(trie, 20) == [5, 7]


def test_each_span_counts_its_500_tokens_from_its_own_opening(
    caplog: pytest.LogCaptureFixture,
) -> None:
    leaf = [1, 2] * 200
    spans = [{"path": str(i), "leaves": [{"name": "a", "tokens": leaf}]} for i in range(3)]
    trie = TokenTrie(as_json(spans), across=True)
    for token in leaf * 3:
        assert trie.active
        trie.accept(token)
    assert (trie.active, caplog.messages) == (False, [])

"""Payloads of the token trie: a refusal names the place, and no other error is raised."""

import contextlib
import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sampler_parity.reference import ChainError
from sampler_parity.reference.trie import MAX_LEAF, Leaf, build_trie, count_nodes, read_payload
from tests.support.tries import SEED, as_json, payload

LEAF = {"name": "A", "tokens": [1]}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "trie_descriptor_json is not valid JSON: .*line 1 column 2"),
        ("", "is not valid JSON"),
        ("[]", "payload: must be an object with modelId and descriptors"),
        ('{"modelId":"m"}', "payload: descriptors is missing"),
        ('{"modelId":"m","modelId":"n","descriptors":[]}', "duplicate key 'modelId'"),
        ('{"modelId":NaN,"descriptors":[]}', "is not valid JSON: NaN"),
        ("[" * 100_000, "nested too deeply"),
        (as_json([]), "descriptors: must be a list that is not empty"),
        (as_json([{"path": "a", "leaves": []}]), r"descriptors\[0\].leaves: must be a list that"),
        (as_json([{"path": "a", "leaves": [LEAF], "x": 1}]), r"descriptors\[0\]: unknown key 'x'"),
        (as_json([{"path": "", "leaves": [LEAF]}]), r"descriptors\[0\].path: must be a text"),
        (payload([1], []), r"leaves\[1\].tokens: must be a list that is not"),
        (payload([1], [2, -3]), r"leaves\[1\].tokens\[1\]: -3 is not a token id"),
        (payload([1], [True]), r"leaves\[1\].tokens\[0\]: True is not a token id"),
        (as_json([{"path": "a", "leaves": [{"name": "A", "tokens": [1.0]}]}]), "1.0 is not a"),
        (as_json([{"path": "a", "leaves": [{"name": "A", "tokens": "1"}]}]), "must be a list"),
        (payload([2**31]), "2147483648 is not a token id"),
        (payload([1] * (MAX_LEAF + 1)), "501 tokens, at most 500 are allowed"),
        (payload([1, 2], [1]), "leaf 'L1' is a prefix of 'L0'"),
        (payload([1], [2, 3], [1, 2]), "leaf 'L0' is a prefix of 'L2'"),
        (payload([1, 2], [1, 2]), "leaves 'L0' and 'L1' have the same tokens"),
        (
            as_json([{"path": "a", "leaves": [LEAF, {"name": "A", "tokens": [2]}]}]),
            r"descriptors\[0\].leaves\[1\].name: duplicate 'A'",
        ),
        (as_json([{"path": "a", "leaves": [LEAF]}] * 2), r"descriptors\[1\].path: duplicate 'a'"),
    ],
)
def test_a_payload_that_is_not_right_is_refused_with_the_place(text: str, message: str) -> None:
    with pytest.raises(ChainError, match=message):
        read_payload(text)


def test_no_text_is_refused() -> None:
    with pytest.raises(ChainError, match="must be JSON text, got None"):
        read_payload(None)  # type: ignore[arg-type]


def test_leaves_that_begin_alike_share_their_nodes() -> None:
    root = build_trie((Leaf("a", (1, 2, 3)), Leaf("b", (1, 2, 4)), Leaf("c", (5,))))
    assert count_nodes(root) == 6  # the root, 1, 2, 3, 4, 5
    assert root.children[1].children[2].children[4].leaf == "b"


def test_forced_tokens_go_up_to_the_next_choice_or_the_end_of_the_leaf() -> None:
    root = build_trie((Leaf("a", (7, 1, 2)), Leaf("b", (7, 1, 3, 4))))
    assert root.forced() == (7, 1)
    assert root.children[7].children[1].forced() == ()
    assert root.children[7].children[1].children[3].forced() == (4,)
    assert root.children[7].children[1].children[3].children[4].forced() == ()
    assert (root.unique_continuation, root.children[7].children[1].unique_continuation) == (1, 0)


def test_the_seeds_example_is_read() -> None:
    read = read_payload(SEED)
    assert read.model_id == "test"
    assert read.descriptors[0].leaves == (Leaf("L0", (100, 101)), Leaf("L1", (200,)))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2**33) | st.floats() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["modelId", "descriptors", "path", "leaves", "name", "tokens", "x"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@pytest.mark.slow
@given(JSON.map(json.dumps) | st.text(max_size=20))
@example('{"modelId": "\\ud800", "descriptors": [{"path": "p", "leaves": [1e999]}]}')
def test_anything_else_is_a_chain_error(text: str) -> None:
    with contextlib.suppress(ChainError):
        read_payload(text)

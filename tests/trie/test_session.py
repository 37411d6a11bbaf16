"""Sessions with a token trie: forced tokens are skipped; all else is as without it."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sampler_parity.harness.engines.samplers import build_chain
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.llama_cpp.token_trie import Worker, _living
from sampler_parity.harness.trie.session import CompiledTries, Session
from sampler_parity.reference import Candidates, ChainError
from tests.support.tiny_model import N_VOCAB
from tests.support.tries import SPANS, as_json, payload

PROMPT = [317, 104, 101, 108]
SAMPLED: list[dict[str, dict[str, Any]]] = [
    {"penalties": {"penalty_last_n": 8, "penalty_repeat": 1.2}},
    {"temp": {"temp": 1.5}},
    {"dist": {"seed": 3}},
]
# 10 is forced, then a choice, and behind it two more forced tokens or one
TRIE = payload([10, 20, 30, 40], [10, 50, 60], [10, 70, 80])


@pytest.fixture(params=["python", "compiled"])
def session(request: pytest.FixtureRequest, tiny: Path) -> Iterator[Session]:
    worker = Worker()
    with closing(CompiledTries()) as tries:
        compiled = tries if request.param == "compiled" else None
        made = Session(worker, tiny, SAMPLED, n_tokens=64, model_id="m", compiled=compiled)
        made.prefill(PROMPT)
        yield made
        made.close()


@pytest.mark.parametrize("mode", [0, 1])
def test_skipping_gives_the_tokens_of_one_by_one(session: Session, mode: int) -> None:
    session.set_token_trie(TRIE, mode)
    skipped = session.generate(64, to_leaf=True)
    session.rewind(0)
    session.prefill(PROMPT)
    session.set_token_trie(TRIE, mode)
    one_by_one = session.generate(64, skip_ahead=False, to_leaf=True)
    if mode == 0:
        assert skipped.tokens == one_by_one.tokens
    assert tuple(skipped.tokens) in {(10, 20, 30, 40), (10, 50, 60), (10, 70, 80)}
    assert (skipped.passes, skipped.forced) == (1, len(skipped.tokens) - 1)
    assert (one_by_one.passes, one_by_one.forced) == (len(one_by_one.tokens), 0)
    assert skipped.valid == [3]
    assert one_by_one.valid == [1, 3, *[1] * (len(one_by_one.tokens) - 2)]


def test_forced_tokens_are_decoded_with_the_next(session: Session, tiny: Path) -> None:
    """The logits after a skipped leaf are those of the whole text decoded in one batch."""
    session.set_token_trie(payload([10, 20, 30]), 0)
    rows: list[Any] = []
    done = session.generate(4, progress=lambda row: rows.append(row.copy()))
    assert (done.tokens[:3], done.forced, done.passes) == ([10, 20, 30], 3, 1)
    with closing(Session(Worker(), tiny, SAMPLED, n_tokens=64)) as other:
        expected = other.context.decode([*PROMPT, 10, 20, 30])
        np.testing.assert_allclose(rows[0], expected, atol=1e-4)


@pytest.mark.parametrize("mode", [0, 1])
def test_every_sampled_token_is_the_references(session: Session, mode: int) -> None:
    end = SAMPLED[1:] if mode == 1 else []
    chain = build_chain(
        [SAMPLED[0], {"token_trie": {"trie_descriptor_json": TRIE, "mode": mode}}, *end],
        n_vocab=N_VOCAB,
    )
    for token in PROMPT:
        chain.accept(token)
    chain.samplers[1].activate()  # type: ignore[attr-defined]
    rows: list[Any] = []
    session.set_token_trie(TRIE, mode)
    done = session.generate(
        64, skip_ahead=False, to_leaf=True, progress=lambda row: rows.append(row.copy())
    )
    for row, token in zip(rows, done.tokens, strict=True):
        cand = Candidates.from_logits(row)
        chain.apply(cand)
        assert cand.token == token
        chain.accept(token)


def test_after_the_leaf_generation_goes_on_with_the_sessions_own_chain(session: Session) -> None:
    session.set_token_trie(TRIE, 0)
    done = session.generate(12)
    assert (len(done.tokens), session.trie) == (12, None)
    assert done.valid[-1] is None
    assert session.pending == done.tokens[-1:]


def test_in_mode_0_the_samplers_set_aside_come_back_in_their_order(session: Session) -> None:
    def names() -> list[bytes]:
        get, name = session.library.llama_sampler_chain_get, session.library.llama_sampler_name
        n = session.library.llama_sampler_chain_n(session.chain)
        return [name(get(session.chain, i)) for i in range(n)]

    own = names()
    session.set_token_trie(TRIE, 0)
    assert names() == [*own[:1], b"token_trie"]
    session.clear_token_trie()
    assert names() == own
    session.set_token_trie(TRIE, 1)
    assert names() == [*own[:1], b"token_trie", *own[1:]]
    session.clear_token_trie()
    assert names() == own


def test_a_payload_that_is_refused_leaves_the_open_span(session: Session) -> None:
    session.set_token_trie(TRIE, 1)
    for bad, message in [
        ("{", "is not valid JSON"),
        (payload([10], model="other"), "is for 'other', the model is 'm'"),
        (payload([N_VOCAB]), "has no token 320"),
    ]:
        with pytest.raises(ChainError, match=message):
            session.set_token_trie(bad, 0)
    with pytest.raises(InputError, match="mode 2"):
        session.set_token_trie(TRIE, 2)
    assert session.trie is not None
    assert session.generate(64, to_leaf=True).tokens[0] == 10
    assert [entry.users for entry in session.cache.entries.values()] == [0] * len(
        session.cache.entries
    )


def test_paths_are_set_one_after_the_other(session: Session) -> None:
    both = as_json(
        [
            {"path": "action", "leaves": [{"name": "A", "tokens": [10, 11]}]},
            {"path": "parameters.unit", "leaves": [{"name": "B", "tokens": [20]}]},
        ]
    )
    tokens = []
    for path in ("parameters.unit", "action", ""):
        session.set_token_trie(both, 0, path)
        tokens.append(session.generate(64, to_leaf=True).tokens)
    assert tokens == [[20], [10, 11], [10, 11]]
    assert len(session.cache.entries) == 1


@pytest.mark.parametrize("skip_ahead", [True, False])
def test_across_descriptors_one_payload_is_enough(session: Session, skip_ahead: bool) -> None:
    session.set_token_trie(SPANS, 1, across=True)
    done = session.generate(64, skip_ahead, to_leaf=True)
    assert tuple(done.tokens) in {(5, 6, 5, 8), (5, 6, 9), (7, 5, 8), (7, 9)}
    assert [n for n in done.valid if n != 1] == [2, 2]
    assert session.trie is None


def test_where_every_child_is_banned_it_says_so(tiny: Path) -> None:
    ban: list[dict[str, dict[str, Any]]] = [
        {"logit_bias": {"logit_bias": [[10, -np.inf], [20, -np.inf]]}},
        {"greedy": {}},
    ]
    session = Session(Worker(), tiny, ban, n_tokens=32)
    session.prefill(PROMPT)
    session.set_token_trie(payload([10], [20]), 0)
    with pytest.raises(InputError, match="none of the tokens that may follow has a logit above"):
        session.generate(4)
    assert session.trie is None
    session.close()


def test_without_a_prompt_it_says_so(tiny: Path) -> None:
    with (
        closing(Session(Worker(), tiny, [{"greedy": {}}], n_tokens=32)) as session,
        pytest.raises(InputError, match="prefill a prompt first"),
    ):
        session.generate(1)


def test_a_closed_session_leaves_no_trie(tiny: Path) -> None:
    before = set(_living)
    session = Session(Worker(), tiny, [{"greedy": {}}], n_tokens=32)
    session.set_token_trie(TRIE, 1)
    session.close()
    assert set(_living) == before

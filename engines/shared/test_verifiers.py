"""Rounds by an engine's own verifier: rows behind drafts, edits of its text, planted faults."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from sampler_parity.engines.shared.verifiers import edited, edits_of, faults, planted, speculate
from sampler_parity.harness.backends.reference import Worker
from sampler_parity.harness.errors import Unsupported
from sampler_parity.harness.protocol.interface import Rounds

LOGITS = np.array([[2.0, 1.0, 0.0], [2.0, 1.0, 0.0], [0.0, 1.0, 2.0]], np.float32)
DRAFTS = np.array([[0, 1], [1, 1]], np.int32)
ROUNDS = Rounds(LOGITS, np.full((2, 3), 1 / 3, np.float32), DRAFTS, np.array([5, 6], np.uint32))


def asked(*chain: Any, rule: str = "rejection") -> Any:
    whole = [*chain, {"dist": {"seed": 0}}]
    return SimpleNamespace(
        rule=rule, chain=whole, n_vocab=3, vocab=None, history=[], drafted=2, n=2
    )


def seen_of(request: Any) -> list[Any]:
    seen: list[Any] = []

    def verify(logits: Any, q: Any, draft: list[int], seed: int) -> list[int]:
        seen.append((logits, draft, seed))
        return draft[:1]

    tokens = speculate(Worker(), request, ROUNDS, verify, "rejection")
    assert tokens.tolist() == [[0, -1, -1], [1, -1, -1]]
    return seen


def test_a_verifier_gets_the_rows_behind_the_filters_and_their_removed_tokens() -> None:
    first, second = seen_of(asked({"top_k": {"k": 1}}))
    expected = [[2, -np.inf, -np.inf], [2, -np.inf, -np.inf], [-np.inf, -np.inf, 2]]
    assert first[0].tolist() == second[0].tolist() == expected
    assert [first[1:], second[1:]] == [([0, 1], 5), ([1, 1], 6)]


def test_a_penalty_sees_the_drafts_before_and_not_those_behind() -> None:
    penalties = {"penalties": {"penalty_last_n": 4, "penalty_present": 1.0, "penalty_repeat": 1.0}}
    first, second = seen_of(asked(penalties))
    assert first[0].tolist() == [[2, 1, 0], [1, 1, 0], [-1, 0, 2]]
    assert second[0].tolist() == [[2, 1, 0], [2, 0, 0], [0, 0, 2]]


def test_a_verifier_of_the_other_rule_is_refused() -> None:
    with pytest.raises(Unsupported, match="knows rejection alone"):
        speculate(Worker(), asked(rule="matching"), ROUNDS, lambda *_: [], "rejection")


def one_more(number: int) -> int:
    return number + 1


def test_an_edit_changes_a_copy_of_a_function_and_one_that_does_not_fit_is_an_error() -> None:
    assert (edited(one_more, (("+ 1", "+ 2"),))(1), one_more(1)) == (3, 2)
    with pytest.raises(ValueError, match="'- 1' occurs 0 times in one_more"):
        edited(one_more, (("- 1", ""),))


def test_the_seed_of_the_draw_chooses_the_fault() -> None:
    got = []

    class Engine:
        edits: Any = ()

        def speculate(self, request: Any, rounds: Any) -> Any:
            got.append(self.edits)

    planted(Engine, "transformers")().speculate(asked(), ROUNDS)
    assert got == [edits_of(faults()[0], "transformers")]

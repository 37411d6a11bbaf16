"""Rounds of speculative sampling with certain tokens: by hand, at random, and minimized."""

import itertools
from contextlib import closing
from functools import cache
from typing import Any

import numpy as np
import pytest

from sampler_parity.harness.backends import reference_speculative
from sampler_parity.harness.backends.reference import Worker
from sampler_parity.harness.bundle.records import BackendResult
from sampler_parity.harness.checks.execute import execute
from sampler_parity.harness.checks.rounds import RandomRounds, RoundsCase
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.failures.shrink import shrink
from sampler_parity.harness.protocol.server import InPlace
from tests.support.cases import ABOUT
from tests.support.inside import last_result_of

ONE: Any = [{"top_k": {"k": 1}}, {"dist": {"seed": 1}}]
PENALTIES: Any = {"penalties": {"penalty_last_n": 1, "penalty_repeat": 1.0, "penalty_present": 2.0}}
BLOCK = ABOUT | {"count": 60, "quick": 5, "families": ["normal", "flat"], "sizes": [4, 8]}


@cache
def drawn_cases(**fields: bool) -> list[RoundsCase]:
    return list(RandomRounds.model_validate(BLOCK | fields).items(quick=False, shift=0))


def case(**changed: Any) -> RoundsCase:
    """A token that was just accepted loses 2, so that 0 and 1 take turns."""
    logits = {"values": [2.0, 1.0, -9.0]}
    fields = {"chain": [PENALTIES, *ONE], "logits": logits, "history": [0], "steps": 3}
    drafts = [[1, 0], [1, 1], [0, 1]]
    return RoundsCase.model_validate(ABOUT | fields | {"drafts": drafts} | changed)


def judged(asked: RoundsCase) -> BackendResult:
    return last_result_of(asked, InPlace("mine", Worker()))


def answer(monkeypatch: pytest.MonkeyPatch, tokens: list[int]) -> None:
    """Let each round have these tokens."""
    monkeypatch.setattr(
        Worker, "speculate", lambda _, request, __: np.array([tokens] * request.n, np.int32)
    )


@pytest.mark.parametrize("rule", ["rejection", "matching"])
@pytest.mark.parametrize(
    ("draft", "emitted"), [([1, 0], [1, 0, 1]), ([1, 1], [1, 0]), ([0, 1], [1]), ([2, 2], [1])]
)
def test_a_round_has_the_accepted_drafts_and_the_token_behind_them(
    monkeypatch: pytest.MonkeyPatch, rule: str, draft: list[int], emitted: list[int]
) -> None:
    asked = case(rule=rule, drafts=[draft])
    assert judged(asked).verdict == "identical"
    tokens = [*emitted, -1, -1][:3]
    answer(monkeypatch, tokens)
    assert judged(asked).verdict == "identical"
    tokens[len(emitted) - 1] = 2
    answer(monkeypatch, tokens)
    wrong = judged(asked)
    assert (wrong.verdict, wrong.step, wrong.stage) == ("diverged", 0, "token")


def reverse_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the reference take accepted drafts in the opposite order."""
    right = reference_speculative._row
    monkeypatch.setattr(
        reference_speculative, "_row", lambda c, r, logits, past: right(c, r, logits, past[::-1])
    )


def test_the_first_wrong_round_is_named_with_its_draft(monkeypatch: pytest.MonkeyPatch) -> None:
    reverse_accepted(monkeypatch)
    result = judged(case(drafts=[[0, 1, 0], [1, 0, 0], [1, 0, 1]], steps=4))
    assert (result.verdict, result.step, result.detail) == ("diverged", 1, "the draft is [1, 0, 0]")
    assert result.values == {"got": [1, 0, 0, 0], "expected": [1, 0, 1]}


def passes(monkeypatch: pytest.MonkeyPatch, asked: RoundsCase, tokens: list[int]) -> bool:
    answer(monkeypatch, [*tokens, -1, -1][:3])
    return judged(asked).verdict == "identical"


@pytest.mark.parametrize(
    ("rule", "draft", "right"),
    [
        ("matching", [0, 1], [[1], [2], [0, 0], [0, 2], [0, 1, 0], [0, 1, 1], [0, 1, 2]]),
        ("rejection", [1, 0], [[0], [1, 0, 0], [1, 0, 1], [1, 0, 2]]),
    ],
)
def test_a_draft_that_is_accepted_by_chance_is_accepted_or_replaced(
    monkeypatch: pytest.MonkeyPatch, rule: str, draft: list[int], right: list[list[int]]
) -> None:
    """Only token 0 is more likely than in the draft's row: it is accepted, and replaces others."""
    asked = case(chain=ONE[1:], rule=rule, drafts=[draft])
    ways = [[*way] for n in (1, 2, 3) for way in itertools.product(range(3), repeat=n)]
    assert [way for way in ways if passes(monkeypatch, asked, way)] == right


@pytest.mark.parametrize(("draft", "right"), [([0, 1], [[1], [2]]), ([1, 1], [[1, 0], [1, 2]])])
def test_the_token_behind_the_accepted_ones_may_be_any_that_the_residual_has(
    monkeypatch: pytest.MonkeyPatch, draft: list[int], right: list[list[int]]
) -> None:
    """The token before is excluded. Of the others both have a half, more than the draft's third."""
    gone: Any = {"penalties": {"penalty_last_n": 1, "penalty_repeat": 1.0, "penalty_present": 1e4}}
    equal: Any = {"values": [0.0, 0.0, 0.0]}
    asked = case(chain=[gone, ONE[1]], logits=equal, drafts=[draft])
    ways = [[0], [1], [2], [1, 0], [1, 1], [1, 2], [1, 0, 1]]
    assert [way for way in ways if passes(monkeypatch, asked, way)] == right


@pytest.mark.parametrize("changed", [{"drafts": [[1]]}, {"drafts": [[1, 3]]}, {"steps": 1}])
def test_drafts_that_are_too_short_or_unknown_are_bad_input(changed: Any) -> None:
    with pytest.raises(InputError, match=r"drafts: each must have \d tokens below 3"):
        judged(case(**changed))


def test_a_case_depends_on_its_number_and_the_seed_alone() -> None:
    block = RandomRounds.model_validate(BLOCK)
    assert list(block.items(quick=True, shift=0)) == drawn_cases()[:5]
    assert next(block.items(quick=True, shift=1)).drafts != drawn_cases()[0].drafts


@pytest.mark.slow
def test_accepted_drafts_in_the_opposite_order_are_minimized_to_one_round_of_few(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reverse_accepted(monkeypatch)

    def fails(each: RoundsCase) -> bool:
        with closing(InPlace("mine", Worker())) as backend:
            result = execute(each, [backend])
        return not result.refusal and result.backends["mine"].verdict == "diverged"

    found = next(each for each in drawn_cases() if each.rule == "rejection" and fails(each))
    small = shrink(found, fails)
    assert len(small.drafts) == 1
    assert len(small.drafts[0]) == small.steps - 1 <= 5
    assert len(small.chain) <= 3
    assert len(small.history) <= 1


def test_an_excluded_draft_is_rejected_and_drawn_again_by_rejection_alone() -> None:
    right = case(drafts=[[1, 0], [0, 0]], excluded=[[1], []])
    matching = case(drafts=[[1, 0]], rule="matching", excluded=[[1], []])
    assert judged(right).verdict == judged(matching).verdict == "identical"


def test_a_round_that_accepts_an_excluded_draft_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = case(drafts=[[1, 0]], excluded=[[1]])
    answer(monkeypatch, [1, 0, 1])
    result = judged(asked)
    assert result.verdict == "diverged"
    assert result.values == {"got": [1, 0, 1], "expected": [1]}


def test_the_draft_row_has_0_where_a_token_is_excluded(monkeypatch: pytest.MonkeyPatch) -> None:
    rows: list[Any] = []

    def speculate(self: Worker, request: Any, given: Any) -> Any:
        rows[:] = given.draft_rows.tolist()
        return np.array([[1, -1, -1]] * request.n)

    monkeypatch.setattr(Worker, "speculate", speculate)
    judged(case(drafts=[[1, 0]], excluded=[[1, 7], []]))
    assert rows == [[0.5, 0.0, 0.5], pytest.approx([1 / 3] * 3)]


def test_two_tokens_must_stay_possible() -> None:
    with pytest.raises(InputError, match="excluded: two tokens must stay possible"):
        judged(case(excluded=[[0, 2]]))


@pytest.mark.slow
def test_random_rounds_exclude_tokens_that_the_target_gives() -> None:
    cases = drawn_cases(excludes=True)
    assert [c.drafts for c in cases] == [c.drafts for c in drawn_cases()]
    assert all(len(tokens) <= 2 for c in cases for tokens in c.excluded)
    assert [c for c in cases if judged(c).verdict != "identical"] == []
    ended = [c for c in cases if any(c.drafted_from(0)[draft[0]] == 0 for draft in c.drafts)]
    assert ended


def test_the_rounds_of_an_older_release_are_judged_by_its_samplers() -> None:
    """In b4753 dry_penalty_last_n = -1 is the size of the context; now it disables dry."""
    dry = {"dry": {"dry_multiplier": 3.0, "dry_allowed_length": 1, "dry_penalty_last_n": -1}}
    asked = case(chain=[dry, *ONE], history=[1, 0, 1, 0, 1])
    with closing(InPlace("mine", Worker("b4753"))) as backend:
        now = execute(asked, [backend]).backends["mine"]
        then = execute(asked, [backend], releases={"mine": "b4753"}).backends["mine"]
    assert (now.verdict, then.verdict) == ("diverged", "identical")


@pytest.mark.slow
@pytest.mark.parametrize(
    "key", [lambda past: (len(past), past[-1:]), lambda past: tuple(sorted(past))]
)
def test_rows_kept_by_a_part_of_the_accepted_drafts_are_caught_by_several_alone(
    monkeypatch: pytest.MonkeyPatch, key: Any
) -> None:
    right, kept = reference_speculative._row, dict[Any, Any]()

    def row(chain: Any, request: Any, logits: Any, past: Any) -> Any:
        made = right(chain, request, logits, past)
        return kept.setdefault(key(past), made)

    monkeypatch.setattr(reference_speculative, "_row", row)

    def diverged(each: RoundsCase) -> bool:
        kept.clear()
        return judged(each).verdict == "diverged"

    assert not any(map(diverged, drawn_cases()))
    assert any(map(diverged, drawn_cases(several=True)))

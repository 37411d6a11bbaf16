"""After a choice among equal logits, the rest is judged from the backend's choice."""

import contextlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from sampler_parity.harness.bundle.records import BackendResult, CaseResult
from sampler_parity.harness.checks.execute import execute
from sampler_parity.harness.checks.stages.block import StagesCase
from sampler_parity.harness.protocol.messages import RunReply
from sampler_parity.harness.suite.file import expand, find_suites
from sampler_parity.reference import Candidates
from sampler_parity.reference.samplers.dist import Dist
from sampler_parity.reference.samplers.greedy import Greedy
from sampler_parity.reference.samplers.penalties import Penalties
from sampler_parity.reference.samplers.temp import Temp
from sampler_parity.reference.samplers.top_k import TopK
from tests.support.cases import stages
from tests.support.inside import EndAlone, Inside, last_result_of
from tests.support.other_sort import OtherSort

TIES = [[2.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.5, 0.5]] * 8
CHAIN = [
    {"penalties": {"penalty_last_n": 8, "penalty_present": 0.25}},
    {"top_k": {"k": 3}},
    {"temp": {"temp": 0.5}},
    {"dist": {"seed": 1}},
]

Wrong = Mapping[str, Callable[..., Any]]


def case(chain: list[Any] = CHAIN, **fields: Any) -> StagesCase:
    return stages(chain, **({"logits": {"rows": TIES}, "steps": len(TIES)} | fields))


def result(of: StagesCase, wrong: Wrong | None = None, edit: Any = None) -> CaseResult:
    edits = {} if edit is None else {"edit": edit}
    with contextlib.closing(Inside(OtherSort(wrong), name="mine", **edits)) as mine:
        return execute(of, [mine])


def judged(of: StagesCase, wrong: Wrong | None = None, edit: Any = None) -> BackendResult:
    return result(of, wrong, edit).backends["mine"]


def test_another_sort_is_tied_over_stages_steps_and_tokens() -> None:
    got = judged(case())
    assert (got.verdict, got.stage, got.step, got.what) == ("tied", "top_k", 0, "ids")
    assert not got.ties


def test_a_choice_before_dry_is_followed_in_a_release_that_cannot_clone_it() -> None:
    chain = [{"top_k": {"k": 3}}, {"dry": {"dry_multiplier": 0.5}}, {"greedy": {}}]
    with contextlib.closing(Inside(OtherSort(None), name="mine")) as mine:
        got = execute(case(chain), [mine], releases={"mine": "b4000"}).backends["mine"]
    assert (got.verdict, got.stage) == ("tied", "top_k")


def test_a_tie_is_met_only_where_it_is_accepted() -> None:
    got = result(case())
    assert (got.met("mine"), got.failed("mine")) == (False, True)
    assert got.model_copy(update={"accept": "tied"}).met("mine")


class Forgets(Penalties):
    """Remembers no token of an even id."""

    def accept(self, token: int) -> None:
        if token % 2:
            super().accept(token)


class LastOfEquals(Greedy):
    def apply(self, cand: Candidates) -> None:
        cand.selected = len(cand) - 1 - int(cand.logits[::-1].argmax())


class OneMore(TopK):
    """k + 1, from the third use on."""

    used = 0

    def apply(self, cand: Candidates) -> None:
        self.used += 1
        TopK(self.k + (self.used > 2)).apply(cand)


class OtherDraw(Dist):
    """Draws the next of two equal ones."""

    def apply(self, cand: Candidates) -> None:
        super().apply(cand)
        cand.selected = (cand.selected + 1) % len(cand)


@pytest.mark.parametrize(
    ("stage", "wrong"), [("penalties", Forgets), ("top_k", OneMore), ("dist", OtherDraw)]
)
def test_a_fault_behind_a_tie_is_diverged_at_its_stage(stage: str, wrong: Any) -> None:
    got = judged(case(), {stage: wrong})
    assert (got.verdict, got.stage) == ("diverged", stage)
    assert got.detail == "judged from what it kept of equal ones at step 1, top_k"


def test_greedy_takes_the_first_of_equal_ones_whatever_was_kept() -> None:
    flat = case([{"top_k": {"k": 3}}, {"greedy": {}}], logits={"rows": [[1.0] * 9]}, steps=1)
    assert judged(flat).verdict == "tied"
    got = judged(flat, {"greedy": LastOfEquals})
    assert (got.verdict, got.stage, got.what) == ("diverged", "greedy", "selected")


def test_another_token_than_the_one_selected_is_seen_behind_a_tie() -> None:
    def edit(reply: Any) -> Any:
        if not isinstance(reply, RunReply):
            return reply
        return reply.model_copy(update={"tokens": [*reply.tokens[:-1], 9]})

    got = judged(case(), edit=edit)
    assert (got.verdict, got.stage, got.step) == ("diverged", "token", len(TIES) - 1)


class NearlyTemp(Temp):
    """Three units of the last place too much."""

    def apply(self, cand: Candidates) -> None:
        super().apply(cand)
        cand.logits += 3 * np.spacing(cand.logits)


def test_rounding_behind_a_tie_is_close_and_passes_only_with_both() -> None:
    of = case(requires={"mine": ["identical", "close"]})
    got = result(of, {"temp": NearlyTemp})
    assert (got.backends["mine"].verdict, got.backends["mine"].ties) == ("close", True)
    assert not got.met("mine")
    assert got.model_copy(update={"accept": "tied"}).met("mine")
    assert not result(case(), {"temp": NearlyTemp}).model_copy(update={"accept": "tied"}).ok


def test_a_relation_is_asked_of_what_is_tied() -> None:
    neutral = {"kind": "same_as", "chain": [*CHAIN[:-1], {"top_k": {"k": 0}}, CHAIN[-1]]}
    assert judged(case(relation=neutral)).verdict == "tied"
    other = {"kind": "same_as", "chain": [*CHAIN[:1], {"top_k": {"k": 2}}, *CHAIN[2:]]}
    got = judged(case(relation=other))
    assert (got.verdict, got.stage) == ("diverged", "relation")


class EndInside(EndAlone, Inside):
    pass


def end_alone(wrong: Wrong | None = None) -> BackendResult:
    return last_result_of(case(), EndInside(OtherSort(wrong), name="mine"))


def test_a_backend_that_shows_the_end_alone_is_followed_by_its_prefixes() -> None:
    got = end_alone()
    assert (got.verdict, got.stage, got.stage_index) == ("tied", "top_k", 1)
    wrong = end_alone({"penalties": Forgets})
    assert (wrong.verdict, wrong.stage, wrong.stage_index) == ("diverged", "penalties", 0)


@pytest.mark.nightly
def test_a_backend_that_is_right_and_sorts_otherwise_is_never_worse_than_tied() -> None:
    """But for top_k above 128, where llama.cpp loses the largest: no sort does."""
    with contextlib.closing(Inside(OtherSort(), name="mine")) as mine:
        worse = [
            (of.id, got.verdict)
            for path in find_suites(["parity"])
            for of in expand(path, "quick")
            if of.logits.n * getattr(of, "steps", 1) < 2_000_000
            for got in execute(of, [mine]).backends.values()
            if got.verdict not in ("identical", "reordered", "tied")
        ]
    assert worse == [("findings/top_k-150-loses-the-largest-logit", "diverged")]

"""Draws with another order of equal logits are tied; any other difference is not."""

from collections.abc import Callable
from typing import Any

import pytest

from sampler_parity.harness.bundle.records import BackendResult
from sampler_parity.harness.checks.draws import DrawsCase
from sampler_parity.reference import Candidates
from sampler_parity.reference.samplers.dist import Dist
from sampler_parity.reference.samplers.greedy import Greedy
from sampler_parity.reference.samplers.temp import Temp
from sampler_parity.reference.samplers.top_k import TopK
from tests.support.cases import ABOUT
from tests.support.inside import Inside, last_result_of
from tests.support.other_sort import OtherSort

TIES = [2.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.5, 0.5]
DIST = {"dist": {"seed": 1}}
CHAIN: list[Any] = [{"top_k": {"k": 4}}, {"temp": {"temp": 0.5}}, DIST]


def case(chain: list[Any] = CHAIN, row: list[float] = TIES, draws: int = 200) -> DrawsCase:
    fields = {"chain": chain, "draws": draws, "logits": {"rows": [row]}}
    return DrawsCase.model_validate(ABOUT | fields)


def judged(of: DrawsCase, wrong: dict[str, Callable[..., Any]] | None = None) -> BackendResult:
    return last_result_of(of, Inside(OtherSort(wrong), name="mine"))


def test_another_sort_is_tied_at_the_stage_that_sorts() -> None:
    got = judged(case())
    assert (got.verdict, got.stage, got.stage_index, got.what) == ("tied", "top_k", 0, "token")
    assert got.values["got"] != got.values["expected"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "chain",
    [
        [{"penalties": {"penalty_last_n": 8, "penalty_present": 0.25}}, *CHAIN],
        [{"top_p": {"p": 0.6}}, DIST],
        [{"xtc": {"p": 0.5, "t": 0.1, "seed": 3}}, DIST],
        [{"mirostat_v2": {"tau": 2.0, "eta": 0.1, "seed": 1}}],
    ],
    ids=["penalties before", "top_p", "a coin that sorts", "mirostat_v2"],
)
def test_another_sort_is_tied_in_every_chain_that_treats_equal_ones_alike(chain: list[Any]) -> None:
    assert judged(case(chain, draws=400)).verdict == "tied"


class OneMore(TopK):
    def apply(self, cand: Candidates) -> None:
        TopK(self.k + 1).apply(cand)


class OneFewer(TopK):
    def apply(self, cand: Candidates) -> None:
        TopK(self.k - 1).apply(cand)


class BeyondTies(TopK):
    """The last of those that stay is a lower one, under the logit of the others."""

    def apply(self, cand: Candidates) -> None:
        lower = int(cand.ids[cand.logits.argmin()])
        super().apply(cand)
        cand.ids[-1] = lower


class SameForTwo(TopK):
    """Two places hold one token."""

    def apply(self, cand: Candidates) -> None:
        super().apply(cand)
        cand.ids[-1] = cand.ids[-2]


class NextOfEquals(Dist):
    """Draws at times the next of two equal ones."""

    drawn = 0

    def apply(self, cand: Candidates) -> None:
        super().apply(cand)
        self.drawn += 1
        after = (cand.selected + 1) % len(cand)
        if self.drawn % 20 == 0 and cand.logits[after] == cand.logits[cand.selected]:
            cand.selected = after


class Warmer(Temp):
    def apply(self, cand: Candidates) -> None:
        Temp(self.temp * 1.05).apply(cand)


@pytest.mark.slow
@pytest.mark.parametrize("row", [TIES, [1.0] * 10], ids=["ties", "flat"])
@pytest.mark.parametrize(
    ("stage", "wrong"),
    [("top_k", OneMore), ("top_k", OneFewer), ("top_k", SameForTwo), ("dist", NextOfEquals)],
)
def test_a_fault_among_equal_ones_is_diverged(stage: str, wrong: Any, row: list[float]) -> None:
    got = judged(case(row=row), {stage: wrong})
    assert (got.verdict, got.stage) == ("diverged", "dist")


@pytest.mark.parametrize("wrong", [{"top_k": BeyondTies}, {"temp": Warmer}], ids=["ids", "values"])
def test_a_fault_beyond_equal_ones_is_diverged(wrong: Any) -> None:
    assert judged(case(), wrong).verdict == "diverged"


def test_too_few_draws_are_diverged_and_say_what_they_look_like() -> None:
    got = judged(case(draws=20))
    assert got.verdict == "diverged"
    assert got.detail == "equal ones in another order by 20 draws: too few to be sure"


class LastOfEquals(Greedy):
    def apply(self, cand: Candidates) -> None:
        cand.selected = len(cand) - 1 - int(cand.logits[::-1].argmax())


@pytest.mark.parametrize(
    "chain",
    [
        [{"top_k": {"k": 4}}, {"greedy": {}}],
        [{"top_k": {"k": 4}}, {"temp": {"temp": 0.0}}, DIST],
        [{"top_k": {"k": 4}}, {"logit_bias": {"logit_bias": [[1, 0.5]]}}, DIST],
    ],
    ids=["greedy", "temperature 0", "what looks at ids"],
)
def test_what_has_a_rule_of_its_own_for_equal_ones_or_looks_at_ids_is_not_followed(
    chain: list[Any],
) -> None:
    got = judged(case(chain, row=[1.0] * 10), {"greedy": LastOfEquals})
    assert (got.verdict, got.detail) == ("diverged", "")


def test_without_a_sort_another_of_equal_ones_is_diverged() -> None:
    got = judged(case([DIST]), {"dist": NextOfEquals})
    assert (got.verdict, got.stage) == ("diverged", "dist")

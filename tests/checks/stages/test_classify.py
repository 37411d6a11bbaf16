"""Verdicts of one stage, on literals, with ties and with the distance from a cut."""

from typing import Any

import numpy as np
import pytest

from sampler_parity.harness.bundle.records import BackendResult
from sampler_parity.harness.checks.stages.classify import Difference, classify, identical
from sampler_parity.harness.failures.explain import difference_lines
from sampler_parity.harness.failures.format_difference import margin
from sampler_parity.harness.protocol.client import Got
from sampler_parity.harness.verdicts import ORDER, worst
from sampler_parity.reference import Candidates
from sampler_parity.reference.sampler import Sampler
from sampler_parity.reference.samplers.dist import Dist
from sampler_parity.reference.samplers.greedy import Greedy
from sampler_parity.reference.samplers.min_p import MinP
from sampler_parity.reference.samplers.temp import Temp
from sampler_parity.reference.samplers.top_k import TopK
from sampler_parity.reference.samplers.top_p import TopP
from sampler_parity.reference.samplers.typical_p import TypicalP
from tests.support.report_bundles import case

TYPES = {"ids": np.int32, "logits": np.float32, "p": np.float32}


def candidates(ids: list[int], logits: Any, p: list[float], selected: int = -1) -> Candidates:
    arrays = np.array(ids, np.int32), np.array(logits, np.float32), np.array(p, np.float32)
    return Candidates(*arrays, selected=selected)


def got(like: Candidates, **changes: Any) -> Got:
    names = ("ids", "logits", "p", "sorted", "selected")
    given = {k: np.array(v, TYPES[k]) if k in TYPES else v for k, v in changes.items()}
    return Got(**({name: getattr(like, name) for name in names} | given))


def after(sampler: Sampler, before: Candidates) -> Candidates:
    """Return what the reference leaves."""
    want = before.copy()
    sampler.clone().apply(want)
    return want


WANT = candidates([2, 0, 1], [3.0, 1.0, 1.0], [0.8, 0.1, 0.1], selected=0)
TEMP = Temp(0.5)


@pytest.mark.parametrize(
    ("changes", "same"),
    [
        ({}, True),
        ({"sorted": None}, True),
        ({"sorted": True}, False),
        ({"selected": 1}, False),
        ({"p": [0.8, 0.1, 0.2]}, False),
        ({"ids": [2, 1, 0]}, False),
    ],
    ids=str,
)
def test_identical_needs_every_array_the_flag_and_the_selection(
    changes: dict[str, Any], same: bool
) -> None:
    assert identical(WANT, got(WANT, **changes)) is same


def test_identical_takes_any_nan_for_equal_but_not_the_zeros() -> None:
    quiet, negative = np.array([0x7FC00000, 0xFFC00001], np.uint32).view(np.float32)
    want = candidates([0], [quiet], [0.0])
    assert identical(want, got(want, logits=[negative]))
    assert not identical(want, got(want, p=[-0.0]))


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({"ids": [2, 1, 0]}, "reordered"),
        ({"ids": [0, 2, 1]}, "diverged"),
        ({"ids": [2, 1, 0], "selected": -1}, "diverged"),
        ({"logits": [np.inf, 1.0, 1.0]}, "diverged"),
    ],
    ids=["equal values", "unequal values", "nothing is selected", "a value became infinite"],
)
def test_reordered_is_another_order_of_exactly_equal_values(
    changes: dict[str, Any], verdict: str
) -> None:
    assert classify(WANT, got(WANT, **changes), WANT, TEMP).verdict == verdict


@pytest.mark.parametrize(
    ("ulps", "expected"), [(1, "close"), (4, "close"), (400, "diverged")], ids=["1", "4", "400"]
)
def test_close_ends_at_four_ulps(ulps: int, expected: str) -> None:
    logits = WANT.logits.copy()
    logits[0] += np.float32(ulps) * np.spacing(np.float32(3.0))
    assert classify(WANT, got(WANT, logits=logits), WANT, TEMP).verdict == expected


BEFORE = candidates([0, 1, 2, 3], np.log([0.4, 0.3, 0.15, 0.15]).tolist(), [0.0] * 4)
CUT = TopP(0.9)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"p": [0.40001, 0.3, 0.15, 0.15]}, "diverged"),
        ({"p": [0.400002, 0.3, 0.15, 0.15]}, "boundary"),
        ({"ids": [1, 0, 3, 2]}, "diverged"),
        ({"ids": [0, 1, 2, 3]}, "reordered"),
        ({"ids": [0, 1, 3, 3]}, "diverged"),
        ({"logits": BEFORE.logits + np.float32(1)}, "diverged"),
        ({"sorted": False}, "diverged"),
        ({"selected": 1}, "diverged"),
    ],
    ids=["p", "p within rounding", "order", "equals", "twice", "logits", "flag", "selected"],
)
def test_survivors_as_wanted_with_another_fault_are_no_boundary(
    changes: dict[str, Any], expected: str
) -> None:
    """The reference keeps all four."""
    want = after(CUT, BEFORE)
    assert want.ids.tolist() == [0, 1, 3, 2]
    assert classify(want, got(want, **changes), BEFORE, CUT).verdict == expected


def test_another_order_of_survivors_at_the_cut_is_diverged() -> None:
    # masses 0.4, 0.3, 0.2, 0.1 and p = 0.9: three or four tokens may stay, in one order
    before = candidates([0, 1, 2, 3], np.log([0.4, 0.3, 0.2, 0.1]).tolist(), [0.0] * 4)
    p = np.array([0.4, 0.3, 0.2, 0.1], np.float32)
    for n in (3, 4):
        right = Got(before.ids[:n], before.logits[:n], p[:n], True, -1)
        swapped = np.array([1, 0, 2, 3][:n])
        wrong = Got(before.ids[swapped], before.logits[swapped], p[swapped], True, -1)
        want = after(CUT, before)
        if len(want) != n:
            assert classify(want, right, before, CUT).verdict == "boundary"
        assert classify(want, wrong, before, CUT).verdict == "diverged"


def test_a_draw_of_the_same_token_with_other_p_is_diverged() -> None:
    before = candidates([0, 1], [0.0, 1.0], [0.0, 0.0])
    want = after(Dist(1), before)
    assert classify(want, got(want, p=[0.5, 0.5]), before, Dist(1)).verdict == "diverged"


def test_a_drawn_token_far_from_the_uniform_number_is_diverged() -> None:
    before = candidates([0, 1], [0.0, 0.0], [0.0, 0.0])
    want = after(Dist(1), before)
    left = got(want, selected=1 - want.selected)
    assert classify(want, left, before, Dist(1)).verdict == "diverged"


def test_first_difference_names_rank_id_and_values() -> None:
    difference = classify(WANT, got(WANT, p=[0.8, 0.5, 0.1]), WANT, TEMP)
    values = difference.values
    assert (difference.what, values["rank"], values["id"], values["got"]) == ("p", 1, 0, 0.5)


def test_worst_is_the_last_in_order() -> None:
    assert worst(["identical", "close", "reordered"]) == "close"
    assert worst([]) == "identical"
    assert ORDER[0] == "identical"


# `tied`: another choice among equal logits, if the sampler's sort has the choice; nothing else


def judged(sampler: Sampler, row: list[float], **changes: Any) -> Difference:
    """Return the difference that is found if the reference's result has these changes."""
    before = Candidates.from_logits(row)
    want = after(sampler, before)
    return classify(want, got(want, **changes), before, sampler)


ROW = [1.0, 2.0, 1.0, 1.0, 0.5]  # the sort keeps 1 and one of 0, 2, 3


def test_top_k_may_keep_any_of_those_that_equal_the_last() -> None:
    left = after(TopK(2), Candidates.from_logits(ROW))
    others = [id for id in (0, 2, 3) if id != left.ids[1]]
    assert [judged(TopK(2), ROW, ids=[1, other]).verdict for other in others] == ["tied"] * 2


@pytest.mark.parametrize(
    "changes",
    [
        {"ids": [1, 4]},
        {"ids": [1, 4], "logits": [2.0, 0.5]},
        {"ids": [1, 1]},
        {"ids": [1, 5]},
        {"ids": [0, 2], "logits": [1.0, 1.0]},
        {"ids": [1, 0, 2], "logits": [2.0, 1.0, 1.0], "p": [0, 0, 0]},
        {"ids": [1], "logits": [2.0], "p": [0]},
        {"ids": [2, 1], "logits": [1.0, 2.0]},
        {"ids": [1, 2], "p": [0.0, 0.5]},
        {"ids": [1, 2], "sorted": False},
        {"ids": [1, 2], "selected": 0},
    ],
    ids=[
        "a lower one under another's logit", "a lower one", "one twice", "none of the vocabulary",
        "the largest lost", "one more", "one less", "another order", "another p", "the flag",
        "selected",
    ],
)  # fmt: skip
def test_what_is_wrong_next_to_a_tie_is_diverged(changes: dict[str, Any]) -> None:
    assert judged(TopK(2), ROW, **changes).verdict == "diverged"


def test_equal_logits_have_equal_p_and_each_of_two_that_stay_its_own() -> None:
    row = [0.0, 0.0, 1.0, 0.0]  # p of 1 / (e + 3) three times
    left = after(TopP(0.7), Candidates.from_logits(row))
    (out,) = {0, 1, 3} - set(left.ids.tolist())
    chosen = [2, out, int(left.ids[1])]
    assert len(left) == 3
    assert judged(TopP(0.7), row, ids=chosen).verdict == "tied"
    assert judged(TopP(0.7), row, ids=chosen, p=left.p[[0, 2, 1]]).verdict == "tied"
    assert judged(TopP(0.7), row, ids=chosen, p=left.p[[1, 0, 2]]).verdict == "diverged"


def test_zero_and_minus_zero_are_equal_and_each_keeps_its_sign() -> None:
    row = [0.0, -0.0, 1.0]
    left = after(TopK(2), Candidates.from_logits(row))
    out = 1 - int(left.ids[1])
    its_own = [1.0, row[out]]
    assert judged(TopK(2), row, ids=[2, out], logits=its_own).verdict == "tied"
    assert judged(TopK(2), row, ids=[2, out], logits=left.logits).verdict == "close"


def test_what_does_not_sort_has_no_choice() -> None:
    """temp <= 0 and greedy take the first of the largest, min_p keeps all equal ones or none."""
    row = [1.0, 1.0, 0.0]
    inf = -np.inf
    assert judged(Temp(0.0), row, logits=[inf, 1.0, inf]).verdict == "diverged"
    assert judged(Greedy(), row, selected=1).verdict == "diverged"
    assert judged(MinP(0.5), row, ids=[0], logits=[1.0], p=[0.0]).verdict == "diverged"
    assert judged(Temp(1.0), row, ids=[0, 1, 0]).verdict == "diverged"


def test_typical_p_may_swap_what_is_equally_far_from_the_entropy() -> None:
    row = [1.0, 0.0, 0.0, 0.0, -9.0]  # p 0.48, 0.17 three times, nearly 0; the entropy is 1.26
    left = after(TypicalP(0.1), Candidates.from_logits(row))
    (last,) = left.ids
    for other in {1, 2, 3} - {last}:
        assert judged(TypicalP(0.1), row, ids=[other]).verdict == "tied"
    assert judged(TypicalP(0.1), row, ids=[0]).verdict == "diverged"
    assert judged(TypicalP(0.1), row, ids=[4]).verdict == "diverged"


def test_rounding_next_to_a_tie_is_close_and_passes_where_both_do() -> None:
    row = [0.0, 0.0, 1.0, 0.0]
    left = after(TopP(0.7), Candidates.from_logits(row))
    (out,) = {0, 1, 3} - set(left.ids.tolist())
    near = left.p + np.spacing(left.p)
    found = judged(TopP(0.7), row, ids=[2, int(left.ids[1]), out], p=near)
    assert (found.verdict, found.ties) == ("close", True)
    result = BackendResult(verdict=found.verdict, ties=found.ties)
    assert not result.among(["identical", "close"])
    assert not result.among(["identical", "tied"])
    assert result.among(["identical", "tied", "close"])


# the margin of a result near the cut: its distance from the boundary, and its text


def of_top_p(p: float, kept: int) -> Difference:
    """Masses 1/2, 3/4, 1 and this p; the backend keeps so many."""
    before = Candidates.from_logits(np.log([0.5, 0.25, 0.25]).astype(np.float32))
    want = after(TopP(p), before)
    share = np.array([0.5, 0.25, 0.25], np.float32)[:kept]
    left = Got(before.ids[:kept], before.logits[:kept], share, True, -1)
    return classify(want, left, before, TopP(p))


@pytest.mark.parametrize("off", [1e-6, 4e-6])
def test_the_margin_is_the_relative_distance_of_the_mass_from_p(off: float) -> None:
    p = float(np.float32(0.5 * (1 + off)))  # the first token's mass, 1/2, is just not enough
    found = of_top_p(p, 1)
    assert found.verdict == "boundary"
    assert found.values["margin"] == pytest.approx(p / 0.5 - 1, rel=0.04)


def of_four_equal(p: float, ids: list[int], logit: float = 2.0, mass: float = 0.25) -> Difference:
    """Four equal logits, of which the backend keeps these."""
    before = Candidates.from_logits([2.0] * 4)
    want = after(TopP(p), before)
    assert want.ids.tolist() == [1, 3]
    logits = np.full(len(ids), logit, np.float32)
    share = np.full(len(ids), mass, np.float32)
    return classify(want, Got(np.array(ids, np.int32), logits, share, True, -1), before, TopP(p))


@pytest.mark.parametrize("ids", [[0, 1, 2], [3, 2, 0], [1, 3, 0]])
def test_one_too_many_where_p_is_reached_exactly_is_a_boundary_whichever_equal_ones_stay(
    ids: list[int],
) -> None:
    found = of_four_equal(0.5, ids)
    assert (found.verdict, found.values["margin"]) == ("boundary", 0)
    assert found.ties == (not {1, 3} <= {*ids})


@pytest.mark.parametrize(
    ("p", "ids", "changes"),
    [
        (0.5, [0, 1, 2, 3], {}),
        (0.5, [0, 1, 1], {}),
        (0.5, [0, 1, 4], {}),
        (0.5, [0, 1, 2], {"logit": 1.0}),
        (0.5, [0, 1, 2], {"mass": 0.3}),
        (0.4, [0, 1, 2], {}),
    ],
    ids=["two too many", "one twice", "no candidate", "another logit", "another p", "not near"],
)
def test_equal_ones_excuse_nothing_else_at_a_boundary(
    p: float, ids: list[int], changes: dict[str, float]
) -> None:
    assert of_four_equal(p, ids, **changes).verdict == "diverged"


def test_of_a_filter_by_value_it_is_the_distance_of_the_ratio() -> None:
    p = float(np.float32(0.1))
    before = Candidates.from_logits(np.log([1.0, p * (1 + 3e-6)]).astype(np.float32))
    want = after(MinP(p), before)
    kept = 3 - len(want)
    left = Got(before.ids[:kept], before.logits[:kept], before.p[:kept], False, -1)
    found = classify(want, left, before, MinP(p))
    ratio = float(np.exp(np.float64(before.logits[1]) - np.float64(before.logits[0])))
    assert found.verdict == "boundary"
    assert found.values["margin"] == pytest.approx(abs(ratio / p - 1), rel=0.04)


def test_of_a_draw_it_is_how_far_the_number_lies_outside_a_piece() -> None:
    u = Dist(1).rng.uniform_double()
    off = 2e-6
    before = Candidates.from_logits(np.log([u + off, 1 - u - off]).astype(np.float32))
    want = after(Dist(1), before)
    assert want.selected == 0
    found = classify(want, got(want, selected=1), before, Dist(1))
    edge = float(want.p[0])
    assert found.verdict == "boundary"
    assert found.values["margin"] == pytest.approx(edge - u, rel=1e-3)


@pytest.mark.parametrize(
    ("share", "text"),
    [(3.14e-8, "3.1e-08 of the cut"), (0, "none: exactly at the cut"), ("?", "?")],
)
def test_a_margin_is_reported_in_words(share: object, text: str) -> None:
    assert margin(share) == text


def test_explain_says_the_margin() -> None:
    near = BackendResult(verdict="boundary", what="survivors", values={"margin": 2.5e-7})
    found = [*difference_lines(case("a", {"x": near}), "x", "1", near)]
    assert found[-1] == "  margin: 2.5e-07 of the cut"

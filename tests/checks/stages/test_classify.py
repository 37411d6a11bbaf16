"""Verdicts of one stage, on literals."""

import numpy as np
import pytest

from sampler_parity.harness.checks.stages.classify import classify, identical
from sampler_parity.harness.protocol.client import Got
from sampler_parity.harness.verdicts import ORDER, worst
from sampler_parity.reference import Candidates
from sampler_parity.reference.sampler import Sampler
from sampler_parity.reference.samplers.dist import Dist
from sampler_parity.reference.samplers.temp import Temp
from sampler_parity.reference.samplers.top_p import TopP


def candidates(
    ids: list[int], logits: list[float], p: list[float], selected: int = -1
) -> Candidates:
    return Candidates(
        np.array(ids, np.int32),
        np.array(logits, np.float32),
        np.array(p, np.float32),
        selected=selected,
    )


def got(like: Candidates, **changes: object) -> Got:
    values: dict[str, object] = {
        "ids": like.ids,
        "logits": like.logits,
        "p": like.p,
        "sorted": like.sorted,
        "selected": like.selected,
    }
    return Got(**(values | changes))  # type: ignore[arg-type]


WANT = candidates([2, 0, 1], [3.0, 1.0, 1.0], [0.8, 0.1, 0.1], selected=0)
TEMP = Temp(0.5)


def verdict(
    left: Got,
    sampler: Sampler = TEMP,
    want: Candidates = WANT,
    before: Candidates | None = None,
) -> str:
    return classify(want, left, before or want, sampler).verdict


def test_identical_needs_every_array_the_flag_and_the_selection() -> None:
    assert identical(WANT, got(WANT))
    assert identical(WANT, got(WANT, sorted=None))
    assert not identical(WANT, got(WANT, sorted=True))
    assert not identical(WANT, got(WANT, selected=1))
    assert not identical(WANT, got(WANT, p=np.array([0.8, 0.1, 0.2], np.float32)))
    assert not identical(WANT, got(WANT, ids=np.array([2, 1, 0], np.int32)))


def test_identical_takes_any_nan_for_equal_but_not_the_zeros() -> None:
    quiet, negative = np.array([0x7FC00000, 0xFFC00001], np.uint32).view(np.float32)
    want = candidates([0], [quiet], [0.0])
    assert identical(want, got(want, logits=np.array([negative], np.float32)))
    assert not identical(want, got(want, p=np.array([-0.0], np.float32)))


def test_reordered_is_another_order_of_exactly_equal_values() -> None:
    assert verdict(got(WANT, ids=np.array([2, 1, 0], np.int32))) == "reordered"


def test_swapped_unequal_values_are_no_reordering() -> None:
    assert verdict(got(WANT, ids=np.array([0, 2, 1], np.int32))) == "diverged"


def test_a_reordering_that_selects_nothing_is_diverged() -> None:
    assert verdict(got(WANT, ids=np.array([2, 1, 0], np.int32), selected=-1)) == "diverged"


@pytest.mark.parametrize(
    ("ulps", "expected"), [(1, "close"), (4, "close"), (400, "diverged")], ids=["1", "4", "400"]
)
def test_close_ends_at_four_ulps(ulps: int, expected: str) -> None:
    logits = WANT.logits.copy()
    logits[0] += np.float32(ulps) * np.spacing(np.float32(3.0))
    assert verdict(got(WANT, logits=logits)) == expected


def test_close_takes_no_value_that_became_infinite() -> None:
    logits = np.array([np.inf, 1.0, 1.0], np.float32)
    assert verdict(got(WANT, logits=logits)) == "diverged"


BEFORE = candidates([0, 1, 2, 3], np.log([0.4, 0.3, 0.15, 0.15]).tolist(), [0.0] * 4)
CUT = TopP(0.9)


def cut(**changes: object) -> str:
    """Return the verdict if the reference keeps all four and the backend left something else."""
    want = BEFORE.copy()
    CUT.apply(want)
    assert want.ids.tolist() == [0, 1, 3, 2]
    return verdict(got(want, **changes), CUT, want=want, before=BEFORE)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"p": np.array([0.40001, 0.3, 0.15, 0.15], np.float32)}, "diverged"),
        ({"p": np.array([0.400002, 0.3, 0.15, 0.15], np.float32)}, "boundary"),
        ({"ids": np.array([1, 0, 3, 2], np.int32)}, "diverged"),
        ({"ids": np.array([0, 1, 2, 3], np.int32)}, "reordered"),
        ({"ids": np.array([0, 1, 3, 3], np.int32)}, "diverged"),
        ({"logits": BEFORE.logits + np.float32(1)}, "diverged"),
        ({"sorted": False}, "diverged"),
        ({"selected": 1}, "diverged"),
    ],
    ids=["p", "p within rounding", "order", "equals", "twice", "logits", "flag", "selected"],
)
def test_survivors_as_wanted_with_another_fault_are_no_boundary(
    changes: dict[str, object], expected: str
) -> None:
    assert cut(**changes) == expected


def test_another_order_of_survivors_at_the_cut_is_diverged() -> None:
    # masses 0.4, 0.3, 0.2, 0.1 and p = 0.9: three or four tokens may stay, in one order
    before = candidates([0, 1, 2, 3], np.log([0.4, 0.3, 0.2, 0.1]).tolist(), [0.0] * 4)
    p = np.array([0.4, 0.3, 0.2, 0.1], np.float32)
    for n in (3, 4):
        right = Got(before.ids[:n], before.logits[:n], p[:n], True, -1)
        swapped = np.array([1, 0, 2, 3][:n])
        wrong = Got(before.ids[swapped], before.logits[swapped], p[swapped], True, -1)
        want = before.copy()
        TopP(0.9).apply(want)
        if len(want) != n:
            assert classify(want, right, before, TopP(0.9)).verdict == "boundary"
        assert classify(want, wrong, before, TopP(0.9)).verdict == "diverged"


def test_a_draw_of_the_same_token_with_other_p_is_diverged() -> None:
    before = candidates([0, 1], [0.0, 1.0], [0.0, 0.0])
    want = before.copy()
    Dist(1).apply(want)
    left = got(want, p=np.array([0.5, 0.5], np.float32))
    assert classify(want, left, before, Dist(1)).verdict == "diverged"


def test_a_drawn_token_far_from_the_uniform_number_is_diverged() -> None:
    before = candidates([0, 1], [0.0, 0.0], [0.0, 0.0])
    sampler = Dist(1)
    want = before.copy()
    Dist(1).apply(want)
    left = got(want, selected=1 - want.selected)
    assert classify(want, left, before, sampler).verdict == "diverged"


def test_first_difference_names_rank_id_and_values() -> None:
    difference = classify(WANT, got(WANT, p=np.array([0.8, 0.5, 0.1], np.float32)), WANT, TEMP)
    assert difference.what == "p"
    assert difference.values["rank"] == 1
    assert difference.values["id"] == 0
    assert difference.values["got"] == 0.5


def test_worst_is_the_last_in_order() -> None:
    assert worst(["identical", "close", "reordered"]) == "close"
    assert worst([]) == "identical"
    assert ORDER[0] == "identical"

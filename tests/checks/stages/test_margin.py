"""The margin of a result near the cut: its distance from the boundary, and its text."""

import numpy as np
import pytest

from sampler_parity.harness.bundle.records import BackendResult, CaseResult
from sampler_parity.harness.checks.stages.classify import Difference, classify
from sampler_parity.harness.failures.explain import difference_lines
from sampler_parity.harness.failures.format_difference import margin
from sampler_parity.harness.protocol.client import Got
from sampler_parity.reference import Candidates
from sampler_parity.reference.samplers.dist import Dist
from sampler_parity.reference.samplers.min_p import MinP
from sampler_parity.reference.samplers.top_p import TopP


def of_top_p(p: float, kept: int) -> Difference:
    """Masses 1/2, 3/4, 1 and this p; the backend keeps so many."""
    before = Candidates.from_logits(np.log([0.5, 0.25, 0.25]).astype(np.float32))
    want = before.copy()
    TopP(p).apply(want)
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
    want = before.copy()
    TopP(p).apply(want)
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
    want = before.copy()
    MinP(p).apply(want)
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
    want = before.copy()
    Dist(1).apply(want)
    assert want.selected == 0
    left = Got(want.ids, want.logits, want.p, want.sorted, 1)
    found = classify(want, left, before, Dist(1))
    edge = float(want.p[0])
    assert found.verdict == "boundary"
    assert found.values["margin"] == pytest.approx(edge - u, rel=1e-3)


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (3.14e-8, "3.1e-08 of the cut"),
        (0, "none: exactly at the cut"),
        ("?", "?"),
    ],
)
def test_a_margin_is_reported_in_words(share: object, text: str) -> None:
    assert margin(share) == text


def test_explain_says_the_margin() -> None:
    got = BackendResult(verdict="boundary", what="survivors", values={"margin": 2.5e-7})
    of = CaseResult(
        id="a", samplers=["top_p"], steps=1, backends={"x": got}, required={"x": ["identical"]}
    )
    found = [*difference_lines(of, "x", "1", got)]
    assert found[-1] == "  margin: 2.5e-07 of the cut"

"""Verdicts: how a backend's candidates after a stage relate to the reference's.

docs/reference/verdicts.md explains them. Comparison is to the bit, with one exception: any NaN
equals any NaN, because its sign and payload depend on compilation.
"""

from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.checks.stages.boundary import margin_near_cut
from sampler_parity.harness.checks.stages.ties import chosen, chosen_otherwise, tied
from sampler_parity.harness.protocol.client import Got
from sampler_parity.harness.verdicts import Verdict
from sampler_parity.reference import Candidates
from sampler_parity.reference.grammar.strict import strictly_allowed
from sampler_parity.reference.sampler import Sampler
from sampler_parity.reference.samplers.grammar import Grammar

_FIVE_DIGITS = 1e-5  # another library's expf differs in later digits


@dataclass(frozen=True)
class Tolerance:
    """The limits of `close`: ULPs of float32, or an absolute error, whichever is larger.

    By judgement: another library's expf, another order of a sum, a division: a unit or two each.
    """

    ulps: int = 4
    absolute: float = 1e-6


@dataclass(frozen=True)
class Difference:
    """The verdict of one stage and, unless identical, the first difference. ties: equal ones are
    decided otherwise, in addition to any other difference."""

    verdict: Verdict
    what: str = ""
    values: dict[str, Any] = field(default_factory=dict)
    ties: bool = False


def same_bits(a: NDArray[Any], b: NDArray[Any]) -> bool:
    """Compare bytes; NaNs count as equal."""
    if a.shape != b.shape:
        return False
    if a.tobytes() == b.tobytes():  # ten times as fast as np.array_equal for a few candidates
        return True
    x, y = a.view(np.uint32), b.view(np.uint32)
    return bool(((x == y) | (np.isnan(a) & np.isnan(b))).all())


def _equal(a: NDArray[Any], b: NDArray[Any]) -> bool:
    """Compare values: 0.0 equals -0.0, and NaNs count as equal."""
    return np.array_equal(a, b, equal_nan=True)


def identical(want: Got | Candidates, got: Got | Candidates) -> bool:
    return (
        want.ids.tobytes() == got.ids.tobytes()
        and same_bits(want.logits, got.logits)
        and same_bits(want.p, got.p)
        and want.selected == got.selected
        and (got.sorted == want.sorted or None in (got.sorted, want.sorted))
    )


def classify(
    want: Candidates,
    got: Got,
    before: Candidates,
    sampler: Sampler,
    tolerance: Tolerance = Tolerance(),
) -> Difference:
    """Return the verdict of a stage that is not identical.

    before and sampler: the input of the reference's stage, and the sampler in its state then.
    """
    what, values = _first_difference(want, got)
    if _reordered(want, got):
        return Difference("reordered", what, values)
    if _close(want, got, tolerance):
        return Difference("close", what, values)
    if chosen(want, got, before, sampler):
        if tied(want, got, before, sampler, same_bits, _equal):
            return Difference("tied", what, values, ties=True)
        first = _first_difference(want, got, but_ids=True)
        if first[0] != "sorted" or got.sorted not in (None, want.sorted):
            what, values = first
        nearly_equal = partial(_near, tolerance=tolerance)
        if tied(want, got, before, sampler, nearly_equal, nearly_equal):
            return Difference("close", what, values, ties=True)
    if isinstance(sampler, Grammar) and identical(read_strictly(before, sampler), got):
        return Difference("explained", what, values)
    flag = want.sorted if got.sorted is None else got.sorted
    # a position outside the candidates names no token to judge
    if got.selected < len(got.ids):
        result = Candidates(got.ids, got.logits, got.p, flag, got.selected)
        margin = margin_near_cut(want, result, before, sampler)
        if margin is not None:
            ties = chosen_otherwise(want, got, before)
            return Difference("boundary", what, values | {"margin": margin}, ties)
    return Difference("diverged", what, values)


def read_strictly(before: Candidates, sampler: Grammar) -> Candidates:
    """Return the candidates that a grammar leaves if it reads its text strictly as UTF-8."""
    after, matcher = before.copy(), sampler.matcher
    if matcher is not None:
        allowed = strictly_allowed(matcher.machine, matcher.vocab, tuple(matcher.accepted))
        after.logits = np.where(allowed[after.ids], after.logits, np.float32(-np.inf))
    return after


def _first_difference(
    want: Candidates, got: Got, but_ids: bool = False
) -> tuple[str, dict[str, Any]]:
    values: dict[str, Any] = {"survivors": {"got": len(got.ids), "expected": len(want)}}
    n = min(len(want), len(got.ids))
    checks = (
        ("ids", want.ids[:n], got.ids[:n]),
        ("logits", want.logits[:n], got.logits[:n]),
        ("p", want.p[:n], got.p[:n]),
    )
    for what, expected, actual in checks:
        if what == "ids" and but_ids:
            continue
        same = expected == actual
        if what != "ids":
            same |= np.isnan(expected) & np.isnan(actual)
            same &= (np.signbit(expected) == np.signbit(actual)) | np.isnan(expected)
        if not same.all():
            rank = int(same.argmin())
            if what == "ids":
                values["others"] = len(set(got.ids.tolist()) - set(want.ids.tolist()))
            else:
                agree = np.isclose(actual, expected, rtol=_FIVE_DIGITS, atol=0, equal_nan=True)
                values["unlike"] = int((~agree).sum())
            values |= {
                "rank": rank,
                "id": int(want.ids[rank]),
                "got": actual[rank].item(),
                "expected": expected[rank].item(),
            }
            return what, values
    if len(want) != len(got.ids):
        return "survivors", values
    if want.selected != got.selected:
        token = want.token if want.selected < len(want) else None
        return "selected", values | {"got": got.token, "expected": token}
    return "sorted", values | {"got": got.sorted, "expected": want.sorted}


def _reordered(want: Candidates, got: Got) -> bool:
    """Return whether logits, p and the selected position are the same sequences, with equal ones
    swapped. 0.0 and -0.0 are two values here: each id keeps its own."""
    if not (_equal(want.logits, got.logits) and same_bits(want.p, got.p)):
        return False
    a, b = np.argsort(want.ids, kind="stable"), np.argsort(got.ids, kind="stable")
    return (
        np.array_equal(want.ids[a], got.ids[b])
        and same_bits(want.logits[a], got.logits[b])
        and same_bits(want.p[a], got.p[b])
        and got.sorted in (None, want.sorted)
        and want.selected == got.selected
    )


def _close(want: Candidates, got: Got, tolerance: Tolerance) -> bool:
    if not np.array_equal(want.ids, got.ids) or want.selected != got.selected:
        return False
    if got.sorted not in (None, want.sorted):
        return False
    return all(_near(a, b, tolerance) for a, b in ((want.logits, got.logits), (want.p, got.p)))


def _near(a: NDArray[Any], b: NDArray[Any], tolerance: Tolerance) -> bool:
    with np.errstate(all="ignore"):
        allowed = np.maximum(
            tolerance.ulps * np.spacing(np.maximum(abs(a), abs(b))), tolerance.absolute
        )
        close = (a == b) | (np.isnan(a) & np.isnan(b)) | (abs(a - b) <= allowed)
    finite = np.isfinite(a) == np.isfinite(b)
    return bool((close & finite).all())

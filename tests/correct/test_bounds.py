"""Bounds of rounding errors: random search finds no sum beyond them, and exact sums are exact."""

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from sampler_parity.harness.correct.bounds import is_exact, of_sum, sums_exactly, unit
from sampler_parity.harness.correct.interval import Interval
from sampler_parity.harness.protocol.arithmetic import Arithmetic, Format, Summation

NUMPY: dict[Format, type[np.floating]] = {
    "float64": np.float64, "float32": np.float32, "float16": np.float16,
}  # fmt: skip


def in_sequence(x: NDArray[np.floating]) -> NDArray[np.floating]:
    return np.add.accumulate(x, axis=1)[:, -1]


def as_tree(x: NDArray[np.floating]) -> NDArray[np.floating]:
    while x.shape[1] > 1:
        odd = x[:, -1:] if x.shape[1] % 2 else x[:, :0]
        even = x[:, : x.shape[1] // 2 * 2]
        x = np.concatenate([even[:, ::2] + even[:, 1::2], odd], axis=1)
    return x[:, 0]


def in_lanes(x: NDArray[np.floating]) -> NDArray[np.floating]:
    padded = np.concatenate([x, np.zeros((len(x), -x.shape[1] % 32), x.dtype)], axis=1)
    lanes = np.add.accumulate(padded.reshape(len(x), -1, 32), axis=1)[:, -1]
    return as_tree(lanes)


def with_the_lost_part(x: NDArray[np.floating]) -> NDArray[np.floating]:
    """Neumaier's sum."""
    total, lost = x[:, 0], np.zeros_like(x[:, 0])
    for column in x[:, 1:].T:
        after = total + column
        larger = abs(total) >= abs(column)
        lost += np.where(larger, (total - after) + column, (column - after) + total)
        total = after
    return total + lost


SUMS = {
    "sequential": in_sequence, "unknown": in_sequence, "pairwise": as_tree, "blocked": in_lanes,
    "compensated": with_the_lost_part,
}  # fmt: skip


def violations(kind: Format, order: Summation, sums: int, seed: int) -> Iterator[float]:
    """Yield how often a sum is beyond its bound, for several numbers of terms and distributions."""
    random = np.random.default_rng(seed)
    arithmetic = Arithmetic(sums=kind, summation=order)
    for n in (2, 3, 17, 64, 257):
        rows = sums // (5 * n) + 1
        for terms in (
            random.exponential(size=(rows, n)),
            np.exp(random.normal(0, 3, (rows, n))),
            random.choice([1, 2.0**-11, 2.0**-24, 1 - 2.0**-11], (rows, n)),
        ):
            x = (terms / terms.sum(1, keepdims=True)).astype(NUMPY[kind])
            exact = x.astype(np.longdouble).sum(1)
            error = abs(SUMS[order](x).astype(np.longdouble) - exact)
            yield float((error > of_sum(n, arithmetic) * exact).sum())


@pytest.mark.parametrize("kind", NUMPY)
@pytest.mark.parametrize("order", SUMS)
def test_no_sum_is_beyond_its_bound(kind: Format, order: Summation) -> None:
    assert sum(violations(kind, order, 20_000, seed=1)) == 0


@pytest.mark.nightly
@pytest.mark.parametrize("kind", NUMPY)
@pytest.mark.parametrize("order", SUMS)
def test_none_of_a_million_sums_is_beyond_its_bound(kind: Format, order: Summation) -> None:
    assert sum(violations(kind, order, 100_000_000, seed=2)) == 0


def test_a_bound_of_half_the_size_is_violated() -> None:
    """The search can fail: with a quarter of the unit roundoff it finds violations."""
    x = np.full((1, 257), np.float32(0.1))
    error = abs(float(in_sequence(x)[0]) - float(x.astype(np.float64).sum()))
    assert error > 2.0**-26 * float(x.astype(np.float64).sum())


@given(st.lists(st.integers(0, 2**12), min_size=1, max_size=64), st.integers(-30, 0))
def test_sums_called_exact_are_exact_in_any_order(counts: list[int], scale: int) -> None:
    values = np.ldexp(np.array(counts, np.float64), scale)
    if not sums_exactly(values, "float32"):
        return
    exact = sum((Fraction(float(v)) for v in values), Fraction(0))
    for order in (values, values[::-1], np.sort(values)):
        total = np.add.accumulate(order.astype(np.float32))[-1]
        assert Fraction(float(total)) == exact


def test_sums_of_thirds_are_not_called_exact() -> None:
    assert not sums_exactly(np.array([1 / 3, 1 / 3, 1 / 3], np.float32), "float32")
    assert sums_exactly([0.5, 0.25, 0.125, 0.125], "float16")
    assert not sums_exactly([0.5, 2.0**-12], "float16")
    assert is_exact(0.75, "bfloat16")
    assert not is_exact(0.1, "float32")


@given(
    st.floats(-1e6, 1e6, width=32), st.floats(-1e6, 1e6, width=32),
    st.sampled_from(["add", "subtract", "multiply", "divide"]),
)  # fmt: skip
def test_an_interval_contains_the_rounded_result(a: float, b: float, name: str) -> None:
    if name == "divide" and abs(b) < 1e-30:
        return
    x, y = (Interval(v, v, unit("float32")) for v in (a, b))
    result = {"add": x + y, "subtract": x - y, "multiply": x * y}.get(name) or x / y
    with np.errstate(all="ignore"):
        rounded = getattr(np, name)(np.float32(a), np.float32(b))
    assert float(rounded) in result

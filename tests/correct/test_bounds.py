"""Bounds of rounding errors: random search finds no sum beyond them, and exact sums are exact."""

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from sampler_parity.harness.correct.bounds import Interval, is_exact, of_sum, sums_exactly, unit
from sampler_parity.harness.correct.softmax import softmax
from sampler_parity.harness.protocol.arithmetic import SIGNIFICAND, Arithmetic, Format, Summation

Sums = NDArray[np.float64]
FORMATS: tuple[Format, ...] = ("float64", "float32", "bfloat16", "float16", "tf32")


def rounded(x: Sums, kind: Format) -> Sums:
    """Round float64 to a format, to even. Rounding twice changes nothing: the number of bits of
    float64 is more than twice that of each format here."""
    fraction, exponent = np.frexp(x)
    bits = SIGNIFICAND[kind]
    return x if kind == "float64" else np.ldexp(np.rint(np.ldexp(fraction, bits)), exponent - bits)


def in_sequence(x: Sums, kind: Format) -> Sums:
    total = x[:, 0]
    for column in x[:, 1:].T:
        total = rounded(total + column, kind)
    return total


def as_tree(x: Sums, kind: Format) -> Sums:
    while x.shape[1] > 1:
        odd = x[:, -1:] if x.shape[1] % 2 else x[:, :0]
        even = x[:, : x.shape[1] // 2 * 2]
        x = np.concatenate([rounded(even[:, ::2] + even[:, 1::2], kind), odd], axis=1)
    return x[:, 0]


def in_lanes(x: Sums, kind: Format) -> Sums:
    lanes = [in_sequence(x[:, i::32], kind) for i in range(min(32, x.shape[1]))]
    return as_tree(np.stack(lanes, axis=1), kind)


def with_the_lost_part(x: Sums, kind: Format) -> Sums:
    """Neumaier's sum."""

    def add(a: Sums, b: Sums) -> Sums:
        return rounded(a + b, kind)

    total, lost = x[:, 0], np.zeros_like(x[:, 0])
    for column in x[:, 1:].T:
        after = add(total, column)
        larger, smaller = np.maximum(total, column), np.minimum(total, column)
        lost = add(lost, add(add(larger, -after), smaller))
        total = after
    return add(total, lost)


SUMS = {
    "sequential": in_sequence, "unknown": in_sequence, "pairwise": as_tree, "blocked": in_lanes,
    "compensated": with_the_lost_part,
}  # fmt: skip


def violations(kind: Format, order: Summation, sums: int, seed: int) -> Iterator[int]:
    """Yield how often a sum is beyond its bound, for several numbers of terms and distributions.
    sums: how many are tried at least."""
    random = np.random.default_rng(seed)
    arithmetic = Arithmetic(sums=kind, summation=order)
    for n in (2, 3, 17, 64, 257):
        for _ in range(0, sums, 3 * 5 * 20_000):
            rows = min(sums // 15 + 1, 20_000)
            for terms in (
                random.exponential(size=(rows, n)),
                np.exp(random.normal(0, 3, (rows, n))),
                random.choice([1, 2.0**-11, 2.0**-24, 1 - 2.0**-11], (rows, n)),
            ):
                x = rounded(terms / terms.sum(1, keepdims=True), kind)
                exact = x.astype(np.longdouble).sum(1)
                error = abs(SUMS[order](x, kind).astype(np.longdouble) - exact)
                yield int((error > of_sum(n, arithmetic) * exact).sum())


@pytest.mark.slow
@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("order", SUMS)
def test_no_sum_is_beyond_its_bound(kind: Format, order: Summation) -> None:
    assert sum(violations(kind, order, 3_000, seed=1)) == 0


@pytest.mark.parametrize("order", SUMS)
def test_the_search_finds_sums_in_a_format_with_fewer_bits(
    order: Summation, monkeypatch: pytest.MonkeyPatch
) -> None:
    add = SUMS[order]
    monkeypatch.setitem(SUMS, order, lambda x, kind: add(x, "bfloat16"))
    assert sum(violations("float32", order, 3_000, seed=3)) > 0


@given(st.lists(st.integers(0, 2**12), min_size=1, max_size=64), st.integers(-30, 0))
def test_sums_called_exact_are_exact_in_any_order(counts: list[int], scale: int) -> None:
    values = np.ldexp(np.array(counts, np.float64), scale)
    if not sums_exactly(values, "float32"):
        return
    exact = sum((Fraction(float(v)) for v in values), Fraction(0))
    for order in (values, values[::-1], np.sort(values)):
        total = np.add.accumulate(order.astype(np.float32))[-1]
        assert Fraction(float(total)) == exact


def test_no_log_of_a_subnormal_probability_is_beyond_its_bound() -> None:
    """p = exp(x) / sum in float32, to the smallest number that is not 0."""
    gaps = np.random.default_rng(4).uniform(80, 104, (2_000, 1)).astype(np.float32)
    for row in np.concatenate([np.zeros_like(gaps), -gaps, -gaps / 2], axis=1):
        of = softmax(row.astype(np.float64), row.astype(np.float64), Arithmetic())
        weights = np.exp(row)
        p = (weights / weights.sum()).astype(np.float64)
        below, above = of.off_in_log(np.arange(3))
        off = np.log(p, where=p > 0, out=np.log(of.p)) - np.log(of.p)
        assert (-below - of.common <= off).all()
        assert (off <= above + of.common).all()


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

"""Rows of bfloat16 and float16: rounded once, to nearest, ties to even, and read as they are."""

import bisect
import contextlib
import functools
import json
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from sampler_parity.harness.backends import reference
from sampler_parity.harness.bundle.records import CaseResult
from sampler_parity.harness.checks.cases import case_from
from sampler_parity.harness.checks.execute import execute
from sampler_parity.harness.checks.stages.block import StagesCase
from sampler_parity.harness.protocol import arithmetic, client, sampling, server
from sampler_parity.harness.protocol import messages as p
from sampler_parity.harness.protocol.arithmetic import Dtype, narrowed, rounded, widened
from sampler_parity.harness.suite.file import expand, find_suites
from tests.support.inside import Inside

HALVES: tuple[Dtype, ...] = ("bfloat16", "float16")
LARGEST: dict[Dtype, int] = {"bfloat16": 0x7F7F, "float16": 0x7BFF}
EVERY = np.arange(1 << 16, dtype=np.uint16)


@functools.cache
def ladder(dtype: Dtype) -> list[float]:
    """The values above 0 by their bits, which are in order; behind the largest the power of two
    that it stands below, which is infinity."""
    values = [float(v) for v in widened(EVERY[: LARGEST[dtype] + 1], dtype)]
    return [*values, 2 * values[-1] - values[-2]]


def nearest(x: float, dtype: Dtype) -> int:
    """The bits of the nearest value, of two the even one: exact fractions, from the definition."""
    values, size = ladder(dtype), abs(float(x))
    low = min(bisect.bisect_right(values, size), len(values) - 1) - 1
    low, high = (len(values) - 1,) * 2 if size >= values[-1] else (low, low + 1)
    below, above = (abs(Fraction(size) - Fraction(values[at])) for at in (low, high))
    bits = low if below < above or (below == above and low % 2 == 0) else high
    return bits | (0x8000 if np.signbit(np.float32(x)) else 0)


@functools.cache
def edges(dtype: Dtype) -> list[float]:
    """Values, what lies halfway between neighbours, and the float32 on either side of it."""
    bits = [0, 1, 2, 3, 0x3F, 0x80, 0x81, 0x3C00, 0x3C01, 0x3F80, 0x3F81, LARGEST[dtype] - 1]
    values = widened(np.array(bits, np.uint16), dtype)
    above = widened(np.array(bits, np.uint16) + np.uint16(1), dtype)
    halfway = ((values.astype(np.float64) + above) / 2).astype(np.float32)
    near = [np.nextafter(halfway, np.float32(to)) for to in (-np.inf, np.inf)]
    return [float(x) for each in (values, halfway, *near) for x in each]


@pytest.mark.parametrize("dtype", HALVES)
def test_edges_go_to_the_nearest_value_by_exact_fractions(dtype: Dtype) -> None:
    row = np.array([sign * x for x in edges(dtype) for sign in (1, -1)], np.float32)
    assert narrowed(row, dtype).tolist() == [nearest(float(x), dtype) for x in row]


@pytest.mark.slow
@pytest.mark.parametrize("dtype", HALVES)
@given(bits=st.lists(st.integers(0, 0xFFFFFFFF), min_size=1, max_size=4))
def test_any_float32_goes_to_the_nearest_value_by_exact_fractions(
    dtype: Dtype, bits: list[int]
) -> None:
    row = np.array(bits, np.uint32).view(np.float32)
    for x, got in zip(row, widened(narrowed(row, dtype), dtype), strict=True):
        if np.isnan(x):
            assert np.isnan(got)
        elif np.isinf(x):
            assert got == x
        else:
            expected = widened(np.array([nearest(float(x), dtype)], np.uint16), dtype)[0]
            assert (got, np.signbit(got)) == (expected, np.signbit(expected))


@pytest.mark.parametrize("dtype", HALVES)
def test_all_bits_come_back_from_float32_and_nan_stays_nan(dtype: Dtype) -> None:
    values = widened(EVERY, dtype)
    again = narrowed(values, dtype)
    numbers = ~np.isnan(values)
    assert (again[numbers] == EVERY[numbers]).all()
    assert np.isnan(widened(again[~numbers], dtype)).all()
    assert (~numbers).sum() == (2 * 1023 if dtype == "float16" else 2 * 127)


def test_a_nan_whose_upper_half_is_that_of_infinity_stays_nan() -> None:
    row = np.array([0x7F800001, 0xFF800001], np.uint32).view(np.float32)
    assert np.isnan(rounded(row, "bfloat16")).all()


def looking(takes: list[Dtype]) -> tuple[Inside, list[p.RunRequest]]:
    """Return a backend that takes these formats, and the list of its requests."""
    backend = Inside(reference.Worker(), name="mine")
    requests: list[p.RunRequest] = []
    greeted = server.in_version(backend.worker.hello(), 2).model_copy(update={"dtypes": takes})
    answer = backend.answer

    def kept(request: Any, timeout_s: float | None) -> Any:
        requests.append(request)
        return answer(request, timeout_s)

    backend.hello = lambda: greeted  # type: ignore[method-assign]
    backend.answer = kept  # type: ignore[method-assign]
    return backend, requests


@pytest.mark.parametrize(
    ("takes", "sent", "out"), [(["float32"], "float32", 12), (["float32", *HALVES], "bfloat16", 8)]
)
def test_who_takes_a_format_gets_its_bits_and_others_float32(
    takes: list[Dtype], sent: str, out: int
) -> None:
    row = rounded(np.array([1.0, 2.5, -3.0], np.float32), "bfloat16")
    backend, requests = looking(takes)
    with contextlib.closing(backend):
        setting = client.Setting([{"greedy": {}}], 3, dtype="bfloat16")
        ran = client.run(backend, setting, [row], [p.Step(row=0)])
        (request,) = requests
        lies = backend.scratch.read(0, 6, np.uint8).tobytes()
    assert (request.rows.dtype, request.out) == (sent, out)  # at a multiple of 4
    assert ran.stages[0][0].logits.tolist() == [1.0, 2.5, -3.0]
    if sent == "bfloat16":
        assert lies == narrowed(row, "bfloat16").tobytes()
        assert json.loads(p.to_line(request))["rows"]["dtype"] == "bfloat16"
    else:
        assert "dtype" not in json.loads(p.to_line(request))["rows"]  # which older ones do not know


def test_a_worker_that_is_greeted_in_version_1_takes_float32_alone() -> None:
    hello = reference.Worker().hello()
    assert server.in_version(hello, 1).dtypes == ["float32"]
    assert server.in_version(hello, 2).dtypes == ["float32", "bfloat16", "float16"]


@functools.cache
def cases() -> dict[str, StagesCase]:
    (path,) = find_suites(["parity/dtypes"])
    return {case.id: case for case in expand(path, "quick")}


def judged(ids: Iterable[str]) -> list[CaseResult]:
    with contextlib.closing(Inside(reference.Worker(), name="mine")) as mine:
        return [execute(cases()[name], [mine]) for name in ids]


def failing(results: list[CaseResult]) -> set[str]:
    return {result.id.removeprefix("dtypes/") for result in results if not result.met("mine")}


def test_the_reference_samples_every_row_as_its_values() -> None:
    assert failing(judged(name for name in cases() if not name.endswith("V1024"))) == set()


Narrow = Callable[[NDArray[np.float32], Dtype], NDArray[Any]]


def truncates(row: NDArray[np.float32], dtype: Dtype) -> NDArray[Any]:
    """Bits cut off, toward zero."""
    bits = narrowed(row, dtype)
    past = np.abs(widened(bits, dtype)) > np.abs(row)
    return bits - past.astype(np.uint16) if dtype != "float32" else row


def by_way_of_the_other(row: NDArray[np.float32], dtype: Dtype) -> NDArray[Any]:
    """Rounded twice."""
    other: Dtype = "float16" if dtype == "bfloat16" else "bfloat16"
    return narrowed(widened(narrowed(row, other), other), dtype) if dtype != "float32" else row


def half_away_from_zero(row: NDArray[np.float32], dtype: Dtype) -> NDArray[Any]:
    """Ties rounded away from zero."""
    if dtype == "float32":
        return row
    bits = narrowed(row, dtype)
    up = widened(bits + np.uint16(1), dtype).astype(np.float64)
    tie = np.abs(row) * 2.0 == np.abs(widened(bits, dtype)) + np.abs(up)
    away: NDArray[Any] = bits + tie.astype(np.uint16)
    return away


@pytest.mark.parametrize(
    ("fault", "catching"),
    [
        (truncates, {"bfloat16-tie-to-even-above", "float16-tie-to-even-above"}),
        (by_way_of_the_other, {"bfloat16-above-a-tie", "float16-finer-than-bfloat16"}),
        (half_away_from_zero, {"bfloat16-tie-to-even-below", "float16-half-of-the-least"}),
    ],
)
def test_a_row_that_is_rounded_otherwise_is_caught_by_what_is_expected(
    fault: Narrow, catching: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arithmetic, "narrowed", fault)
    assert failing(judged(f"dtypes/{name}" for name in sorted(catching))) == catching


def flushed(bits: NDArray[Any], dtype: Dtype) -> NDArray[np.float32]:
    """Denormals of the format read as zero."""
    least = {"float32": 0.0, "bfloat16": 2.0**-126, "float16": 2.0**-14}[dtype]
    values = widened(bits, dtype).copy()
    values[np.abs(values) < least] = 0
    return values


def swapped(bits: NDArray[Any], dtype: Dtype) -> NDArray[np.float32]:
    """bfloat16 read as float16, and the other way round."""
    other: dict[Dtype, Dtype] = {"bfloat16": "float16", "float16": "bfloat16"}
    return widened(bits, other.get(dtype, dtype))


@pytest.mark.parametrize(
    ("fault", "catching"),
    [
        (flushed, {"bfloat16-denormal", "float16-denormal"}),
        (swapped, {"bfloat16-range", "float16-overflow-below", "chains/normal-V127-bfloat16-draw"}),
    ],
)
def test_a_backend_that_reads_the_bits_otherwise_diverges(
    fault: Any, catching: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sampling, "widened", fault)
    results = judged(f"dtypes/{name}" for name in sorted(catching))
    assert {result.backends["mine"].verdict for result in results} == {"diverged"}


def test_a_format_does_not_go_with_logits_that_a_backend_computes() -> None:
    block = {"id": "a", "description": "A", "why": "B", "chain": [{"greedy": {}}], "steps": 1}
    decoded = {"logits": {"decoded": "small", "prompt": [1]}, "dtype": "float16"}
    with pytest.raises(ValueError, match=r"generation.dtype\n  Extra inputs are not permitted"):
        case_from(block | decoded)

"""reference.platforms: the same chain and seed with another compiler or library."""

from collections.abc import Callable

import numpy as np
import pytest

from sampler_parity.reference import Candidates, ChainError, build_chain, floats, platforms, sorting
from sampler_parity.reference.random import Mt19937, discrete


def test_an_unknown_platform_is_refused_with_all_names() -> None:
    with pytest.raises(ChainError, match=r"unknown platform 'amiga'; known: linux-x64-gcc, .*wasm"):
        build_chain([{"top_k": {"k": 2}}], platform="amiga")


def test_a_platform_holds_inside_and_no_longer() -> None:
    with platforms.on("wasm"):
        with platforms.on("linux-arm64-gcc"):
            assert platforms.current().name == "linux-arm64-gcc"
        assert platforms.current().name == "wasm"
    assert platforms.current().name == platforms.DEFAULT


def test_a_chain_leaves_the_platform_to_others_after_each_stage() -> None:
    chain = build_chain([{"top_k": {"k": 2}}], platform="wasm")
    for _ in chain.trace(Candidates.from_logits([1, 2, 3])):
        assert platforms.current().name == platforms.DEFAULT


def test_a_product_is_rounded_no_more_where_it_is_contracted() -> None:
    a, c = np.float32(1 + 2**-12), np.float32(-1)  # a * a = 1 + 2**-11 + 2**-24: a tie, to even
    with platforms.on("linux-arm64-gcc"):
        assert floats.multiply_add(a, a, c) == 2**-11 + 2**-24
    assert floats.multiply_add(a, a, c) == 2**-11


@pytest.mark.parametrize(
    ("x", "of_glibc", "of_musl"),
    [(0xC27C65D9, 0x11FA2993, 0x11FA2992), (0x4202422F, 0x56FC9F1C, 0x56FC9F1B)],
)
def test_expf_of_musl_is_another_in_two_inputs(x: int, of_glibc: int, of_musl: int) -> None:
    """As glibc itself gives them with and without FMA (GLIBC_TUNABLES)."""
    inputs = np.array([x, 0], np.uint32).view(np.float32)
    assert floats.exp_of_difference(inputs, np.float32(0)).view(np.uint32)[0] == of_glibc
    with platforms.on("linux-x64-musl"):
        assert floats.exp(inputs).view(np.uint32).tolist() == [of_musl, 0x3F800000]
        assert floats.exp_of_difference(inputs, np.float32(0)).view(np.uint32)[0] == of_musl


@pytest.mark.parametrize("n", [4, 300])  # sorted in place, and by buckets
def test_a_portable_sort_puts_infinity_first_and_its_opposite_last(n: int) -> None:
    logits = np.zeros(n, np.float32)
    logits[1:4] = [-np.inf, np.inf, 1]
    candidates = Candidates.from_logits(logits)
    with platforms.on("portable"):
        candidates.partial_sort(n)
    assert candidates.ids.tolist() == [2, 3, 0, *range(4, n), 1]


@pytest.mark.parametrize(
    ("compute", "asked"),
    [
        (lambda: floats.multiply_add(np.float32(1), np.float32(1), np.float32(1)), {"contraction"}),
        (lambda: floats.to_int32(np.float32(np.nan)), {"conversion"}),
        (lambda: floats.exp(np.float32(1)), {"libm"}),
        (lambda: sorting.std_sort(np.zeros(3, np.float32)), {"sorting"}),
        (lambda: discrete(Mt19937(1), np.ones(1, np.float32)), {"random"}),
        (lambda: floats.total(np.zeros(3, np.float32)), set()),
    ],
    ids=["product", "conversion", "expf", "sort", "draw", "sum"],
)
def test_an_observed_row_notes_what_is_asked_of_it(
    compute: Callable[[], object], asked: set[str]
) -> None:
    row = platforms.Observed(platforms.platform_of(platforms.DEFAULT))
    with platforms.on(row):
        compute()
    assert row.asked == asked


@pytest.mark.parametrize("logits", [[np.inf, 1.0], [-np.inf, -np.inf]], ids=["inf", "all -inf"])
def test_a_softmax_of_infinities_is_as_quiet_elsewhere_as_here(logits: list[float]) -> None:
    x = np.array(logits, np.float32)
    expected = floats.softmax(x, x.max())
    with platforms.on("wasm"):
        assert np.array_equal(floats.softmax(x, x.max()), expected, equal_nan=True)

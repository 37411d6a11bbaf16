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


def test_a_contracted_sum_is_rounded_once_and_not_by_way_of_double() -> None:
    # 1 + 2**-23 + 2**-24 - 2**-60: double loses the last, and the tie would go up to the even
    x, e, c = np.float32(2**-12), np.float32(2**-18), np.float32(1 + 2**-23)
    assert floats.fused(x * (1 + e), x * (1 - e), c) == c
    assert np.float32(np.float64(x * (1 + e)) * np.float64(x * (1 - e)) + c) == 1 + 2**-22


def test_of_two_products_clang_rounds_the_second_and_gcc_the_first() -> None:
    a = np.float32(1 + 2**-12)
    rounded, exact = 1 + 2**-11, 1 + 2**-11 + 2**-24
    with platforms.on("linux-arm64-clang"):
        assert floats.add_products(a, a, np.float32(1), np.float32(-1)) == np.float32(exact - 1)
    with platforms.on("linux-arm64-gcc"):
        assert floats.add_products(a, a, np.float32(1), np.float32(-1)) == np.float32(rounded - 1)


def test_a_sum_of_products_is_contracted_step_by_step() -> None:
    x = np.array([1, 1 + 2**-12], np.float32)
    y = np.array([-1, 1 + 2**-12], np.float32)
    with platforms.on("linux-arm64-gcc"):
        assert floats.total_of_products(x, y) == 2**-11 + 2**-24
    assert floats.total_of_products(x, y) == 2**-11


@pytest.mark.parametrize(
    ("x", "elsewhere"), [(np.nan, 0), (3e9, 2**31 - 1), (-np.inf, -(2**31)), (-1.9, -1)]
)
def test_what_is_no_int_saturates_on_arm64(x: float, elsewhere: int) -> None:
    with platforms.on("linux-arm64-gcc"):
        assert floats.to_int32(np.float32(x)) == elsewhere
    assert floats.to_int32(np.float32(x)) == (-1 if x == -1.9 else -(2**31))


def test_infinity_falls_into_the_lowest_bucket_and_on_arm64_into_the_highest() -> None:
    logits = np.array([0, np.inf, 9], np.float32)
    assert sorting.bucket_sort(logits, 3).tolist() == [2, 0, 1]
    with platforms.on("linux-arm64-clang"):
        assert sorting.bucket_sort(logits, 3).tolist() == [1, 2, 0]


@pytest.mark.parametrize(
    ("platform", "draws"), [("linux-x64-gcc", 0), ("wasm", 2), ("portable", 2)]
)
def test_a_single_weight_uses_up_a_draw_in_other_libraries(platform: str, draws: int) -> None:
    rng, same = Mt19937(7), Mt19937(7)
    with platforms.on(platform):
        assert discrete(rng, np.array([1], np.float32)) == 0
    if draws:
        same.words(draws)
    assert rng.words(1) == same.words(1)


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


def test_a_softmax_is_of_the_c_library_too() -> None:
    logits = np.array([0, np.array(0xC27C65D9, np.uint32).view(np.float32)], np.float32)
    ours = floats.softmax(logits, np.float32(0))
    with platforms.on("linux-x64-musl"):
        theirs = floats.softmax(logits, np.float32(0))
    assert ours.view(np.uint32)[1] - theirs.view(np.uint32)[1] == 1
    assert ours[0] == theirs[0]


def test_a_portable_sort_goes_by_the_id_wherever_equal_logits_stand() -> None:
    ids = np.array([5, 1, 9, 3], np.int32)
    candidates = Candidates(ids, np.array([2, 2, 3, 2], np.float32), np.zeros(4, np.float32))
    with platforms.on("portable"):
        candidates.partial_sort(3)
    assert candidates.ids.tolist() == [9, 1, 3]


@pytest.mark.parametrize("n", [4, 300])  # sorted in place, and by buckets
def test_a_portable_sort_puts_infinity_first_and_its_opposite_last(n: int) -> None:
    logits = np.zeros(n, np.float32)
    logits[1:4] = [-np.inf, np.inf, 1]
    candidates = Candidates.from_logits(logits)
    with platforms.on("portable"):
        candidates.partial_sort(n)
    assert candidates.ids.tolist() == [2, 3, 0, *range(4, n), 1]


def test_a_portable_sort_leaves_what_is_all_nan_as_it_stood() -> None:
    with platforms.on("portable"):
        assert sorting.std_sort(np.full(5, np.nan, np.float32)).tolist() == [0, 1, 2, 3, 4]


def test_a_portable_draw_falls_on_what_libstdcxx_draws() -> None:
    weights = np.array([0.125, 0.5, 0, 0.375], np.float32)
    here, there = Mt19937(11), Mt19937(11)
    expected = [discrete(here, weights) for _ in range(200)]
    with platforms.on("portable"):
        assert [discrete(there, weights) for _ in range(200)] == expected
    assert set(expected) == {0, 1, 3}


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

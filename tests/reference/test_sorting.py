"""reference.sorting, random and floats against libstdc++ and glibc, in a C++ program."""

import struct
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import DTypeLike, NDArray

from sampler_parity.harness.protocol.process import BackendProcess
from sampler_parity.reference import floats, sorting
from sampler_parity.reference.random import Mt19937, discrete
from tests.support.applied import FixedWords, assert_as_native

Keys = NDArray[np.float32]
Cpp = Callable[..., NDArray[Any]]

SORT, PARTIAL, UNLIMITED, KILLER, WORD, DOUBLE, FLOAT, DISCRETE, EXP, LOG, LOG2, POW = range(12)


@pytest.fixture(scope="session")
def cpp(tmp_path_factory: pytest.TempPathFactory) -> Cpp:
    """Asks the C++ program one command: (operation, a, b, *inputs, dtype of the answer)."""
    program = tmp_path_factory.mktemp("cpp") / "sorting"
    source = Path(__file__).parent / "cpp" / "sorting.cpp"
    subprocess.run(["g++", "-O1", "-std=c++17", "-o", program, source], check=True)

    def ask(operation: int, a: int, b: int, *inputs: NDArray[Any], dtype: DTypeLike) -> Any:
        command = struct.pack("<3I", operation, a, b) + b"".join(i.tobytes() for i in inputs)
        done = subprocess.run([program], input=command, capture_output=True, check=True)
        return np.frombuffer(done.stdout, dtype)

    return ask


def _organ_pipe(rng: np.random.Generator, n: int) -> NDArray[Any]:
    return np.minimum(np.arange(n), np.arange(n)[::-1])


SHAPES: dict[str, Callable[[np.random.Generator, int], NDArray[Any]]] = {
    "distinct": lambda rng, n: rng.permutation(n),
    "three values": lambda rng, n: rng.integers(0, 3, n),
    "many ties": lambda rng, n: rng.integers(0, max(1, n // 4), n),
    "equal": lambda rng, n: np.full(n, 7),
    "ascending": lambda rng, n: np.arange(n) // 2,
    "descending": lambda rng, n: -(np.arange(n) // 3),
    "organ pipe": _organ_pipe,
    "infinities": lambda rng, n: rng.choice([-np.inf, 0.0, -0.0, 1.5, np.inf], n),
}
LENGTHS = (0, 1, 2, 3, 15, 16, 17, 18, 33, 100, 129, 1000, 5000)


def _keys(shape: str) -> list[Keys]:
    rng = np.random.default_rng(sorted(SHAPES).index(shape))
    lengths = (*LENGTHS, *rng.integers(0, 5001, 12).tolist())
    return [SHAPES[shape](rng, n).astype(np.float32) for n in lengths]


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
def test_std_sort_orders_ties_as_libstdcxx(cpp: Cpp, shape: str) -> None:
    for keys in _keys(shape):
        expected = cpp(SORT, len(keys), 0, keys, dtype=np.int32)
        assert np.array_equal(sorting.std_sort(keys), expected), f"n = {len(keys)}"


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
def test_std_partial_sort_orders_ties_as_libstdcxx(cpp: Cpp, shape: str) -> None:
    for keys in _keys(shape):
        for n in {min(k, len(keys)) for k in (1, 2, 40, 128, len(keys) // 2, len(keys))}:
            expected = cpp(PARTIAL, len(keys), n, keys, dtype=np.int32)
            assert np.array_equal(sorting.std_partial_sort(keys, n), expected), f"{n}, {len(keys)}"


@pytest.mark.slow
@pytest.mark.parametrize("ties", [1, 2])
def test_std_sort_falls_back_to_heap_sort_where_libstdcxx_does(cpp: Cpp, ties: int) -> None:
    """Without the fallback libstdc++ itself orders these ties differently, so it is reached."""
    keys = np.floor(cpp(KILLER, 4000, 0, dtype=np.float32) / np.float32(ties))
    expected = cpp(SORT, len(keys), 0, keys, dtype=np.int32)
    if ties > 1:
        without_fallback = cpp(UNLIMITED, len(keys), 0, keys, dtype=np.int32)
        assert not np.array_equal(expected, without_fallback)
    assert np.array_equal(sorting.std_sort(keys), expected)


@pytest.mark.parametrize("k", [129, 500, 1500])
@pytest.mark.parametrize("shape", ["three values", "many ties", "equal", "infinities", "distinct"])
def test_bucket_sort_orders_ties_as_native(native: BackendProcess, shape: str, k: int) -> None:
    """llama.cpp uses its bucket sort above 128 candidates kept; scaled to spread over buckets."""
    rng = np.random.default_rng(k)
    keys = (SHAPES[shape](rng, 1500) / np.float32(60) - np.float32(11)).astype(np.float32)
    assert_as_native(native, [{"top_k": {"k": k}}], keys)


@pytest.mark.parametrize("seed", [0, 1, 5489, 2**31, 2**32 - 2])
def test_mt19937_words_are_libstdcxx_words(cpp: Cpp, seed: int) -> None:
    expected = cpp(WORD, seed, 2000, dtype=np.uint32)
    assert np.array_equal(Mt19937(seed).words(2000), expected)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 42, 5489])
def test_uniform_numbers_are_libstdcxx_numbers(cpp: Cpp, seed: int) -> None:
    rng = Mt19937(seed)
    expected = cpp(DOUBLE, seed, 20_000, dtype=np.float64)
    assert np.array_equal([rng.uniform_double() for _ in range(20_000)], expected)
    rng.seed(seed)
    expected = cpp(FLOAT, seed, 20_000, dtype=np.float32)
    assert np.array_equal([rng.uniform_float() for _ in range(20_000)], expected)


def test_uniform_numbers_are_below_one_for_the_largest_words() -> None:
    """(2**32 - 1) rounds to 2**32 in float32, and so does the pair in double: 1 - ulp instead."""
    largest = 2**32 - 1
    assert FixedWords(largest).uniform_float() == np.float32(1) - np.float32(2.0**-24)
    assert FixedWords(largest, largest).uniform_double() == 1 - 2.0**-53


WEIGHTS = {
    "three": [0.2, 0.3, 0.5],
    "unnormalized": [3.0, 1.0, 0.5, 9.0],
    "with zeros": [0.0, 0.5, 0.0, 0.5, 0.0],
    "all zero": [0.0, 0.0, 0.0],
    "one": [0.7],
    "one zero": [0.0],
    "a NaN": [0.5, np.nan, 0.25, 0.25],
    "all NaN": [np.nan] * 6,
    "tiny": [1e-45, 1e-45, 1e-44],
    "none": [],
}


@pytest.mark.parametrize("weights", WEIGHTS.values(), ids=WEIGHTS)
def test_discrete_draws_as_libstdcxx(cpp: Cpp, weights: list[float]) -> None:
    """The word after the draws is compared too: fewer than two weights use up no randomness."""
    p = np.array(weights, np.float32)
    expected = cpp(DISCRETE, len(p), 500, np.array([77], np.uint32), p, dtype=np.int32)
    rng = Mt19937(77)
    drawn = [discrete(rng, p) for _ in range(500)]
    assert drawn == expected[:-1].tolist()
    assert rng.words(1)[0] == expected[-1:].view(np.uint32)[0]


def test_discrete_never_draws_beyond_the_last() -> None:
    """The running sum of n shares can end below the largest number, 1 - 2**-53; the last step is 1
    all the same."""
    largest = 2**32 - 1
    for n in range(2, 300):
        assert discrete(FixedWords(largest, largest), np.full(n, 0.1, np.float32)) == n - 1


def _floats(seed: int, *, positive: bool = False) -> Keys:
    """200,000 float32 of all magnitudes, with zeros, denormals, infinities and NaN."""
    rng = np.random.default_rng(seed)
    ordinary = rng.normal(0, 20, 100_000).astype(np.float32)
    bits = rng.integers(0, 2**32, 99_990, dtype=np.uint32).view(np.float32)
    special = np.array([0, -0.0, 1, 1e-45, -1e-45, 1e-38, 3.4e38, np.inf, -np.inf, np.nan])
    x = np.concatenate([ordinary, bits, special.astype(np.float32)])
    return abs(x) if positive else x


def _same(a: NDArray[Any], b: NDArray[Any]) -> bool:
    same = (a.view(np.uint32) == b.view(np.uint32)) | (np.isnan(a) & np.isnan(b))
    return bool(same.all())


@pytest.mark.parametrize(
    ("function", "operation", "positive"),
    [
        (floats.exp, EXP, False),
        (floats.log, LOG, True),
        (floats.log_of_few, LOG, True),
        (floats.log2, LOG2, True),
    ],
    ids=["exp", "log", "log of few", "log2"],
)
def test_floats_are_glibc_floats(
    cpp: Cpp, function: Callable[[Keys], Keys], operation: int, positive: bool
) -> None:
    x = _floats(operation, positive=positive)
    with np.errstate(all="ignore"):
        got = function(x)
    assert got.dtype == np.float32
    assert _same(got, cpp(operation, len(x), 0, x, dtype=np.float32))


@pytest.mark.slow
def test_floats_power_is_glibc_powf(cpp: Cpp) -> None:
    base, exponent = _floats(1, positive=True), np.random.default_rng(2).normal(0, 4, 200_000)
    base[:50_000] = 2  # mirostat's 2**mu, which a compiler likes to turn into exp2f
    exponents = exponent.astype(np.float32)
    got = np.array([floats.power(x, y) for x, y in zip(base, exponents, strict=True)], np.float32)
    assert _same(got, cpp(POW, len(base), 0, base, exponents, dtype=np.float32))


def test_floats_running_sum_rounds_after_every_addition() -> None:
    """1 + 2**-24 rounds to 1 every time, so 2**24 ulps of a half never count; pairwise they do."""
    x = np.array([1.0] + [2.0**-24] * 1024, np.float32)
    assert floats.running_sum(x)[-1] == 1
    assert floats.total(x) == 1
    assert x.sum() > 1


def test_floats_total_of_squares_rounds_the_sum_after_each_square() -> None:
    """4096**2 = 2**24, and 2**24 + 1 is no float32: each 1 is lost; added in double, 2 stays."""
    assert floats.total_of_squares(np.array([4096, 1, 1], np.float32)) == 2**24


def test_floats_total_of_squares_does_not_round_a_square() -> None:
    """(1 + 2**-12)**2 = 1 + 2**-11 + 2**-24 is no float32, but with 2**-24 from before it is."""
    x = np.array([2.0**-12, 1 + 2.0**-12], np.float32)
    assert floats.total_of_squares(x) == 1 + 2.0**-11 + 2.0**-23


def test_floats_first_largest_takes_the_first_of_equals() -> None:
    assert floats.first_largest(np.array([1, 4, 4, np.nan], np.float32)) == 1
    assert floats.first_largest(np.array([np.nan, 4, 4], np.float32)) == 0


@pytest.mark.parametrize(
    ("x", "expected"),
    [
        (3.99, 3),
        (-3.99, -3),
        (2147483520.0, 2147483520),
        (2147483648.0, -2147483648),
        (-np.inf, -2147483648),
        (np.nan, -2147483648),
    ],
)
def test_floats_to_int32_converts_as_cvttss2si(x: float, expected: int) -> None:
    assert floats.to_int32(np.float32(x)) == expected


def test_more_than_all_are_refused() -> None:
    """The compiled sort does not look at the bounds: it would write past the end."""
    with pytest.raises(ValueError, match="the first 3 of 2"):
        sorting.std_partial_sort(np.zeros(2, np.float32), 3)

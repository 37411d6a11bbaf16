"""tsampler's arithmetic: V8's exp and log, and Xoroshiro128+."""

import math

import numpy as np
import pytest

from sampler_parity.engines.shared import v8_math
from sampler_parity.engines.tsampler.model.xoroshiro import Xoroshiro128Plus, split_mix_64
from sampler_parity.reference import floats
from tests.support.tsampler_node import run_js

EDGES = [
    0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, 5e-324, 2.0**-28, 2.0**-29,
    709.782712893384, 709.7827128933841, -745.1332191019411, -745.1332191019412, -708.4, -720.0,
    math.log(2) / 2, 1.5 * math.log(2), math.sqrt(2), 1 + 2.0**-21, 1 - 2.0**-21,
]  # fmt: skip


def arguments() -> np.ndarray:
    rng = np.random.default_rng(0)
    ranges = [rng.uniform(-745, 709, 5000), rng.uniform(-2, 2, 5000), rng.uniform(-40, 0, 5000)]
    bits = rng.integers(0, 2**63, 5000).astype(np.uint64).view(np.float64)
    return np.concatenate([*ranges, bits, 1 + rng.uniform(-1e-5, 1e-5, 2000), EDGES])


@pytest.mark.slow
def test_exp_and_log_are_v8s_to_the_bit() -> None:
    x = arguments()
    results = run_js(
        "return data.map((x) => [Math.exp(number(x)), Math.log(Math.abs(number(x)))]);",
        x.tolist(),
    )
    theirs = np.array([[float(value) for value in pair] for pair in results])
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(v8_math.exp(x), theirs[:, 0])
        np.testing.assert_array_equal(v8_math.log(abs(x)), theirs[:, 1])


def test_exp_and_log_are_within_an_ulp_of_glibcs_and_not_equal() -> None:
    x = arguments()
    x = x[np.isfinite(x)]
    with np.errstate(all="ignore"):
        pairs = [(v8_math.exp(x), floats.exp(x)), (v8_math.log(abs(x)), floats.log(abs(x)))]
    for a, b in pairs:
        finite = np.isfinite(b)
        assert (a[~finite] == b[~finite]).all()
        a, b = a[finite], b[finite]
        assert (abs(a - b) <= np.spacing(abs(b))).all()
        assert (a != b).any(), "glibc would do: nothing shows that V8's algorithm is needed"


def test_xoroshiro_gives_the_published_outputs_of_state_1_2() -> None:
    """The vector of rand_xoshiro's tests, made with the authors' C code."""
    rng = Xoroshiro128Plus.from_state(1, 2)
    assert [rng.word() for _ in range(10)] == [
        3, 412333834243, 2360170716294286339, 9295852285959843169, 2797080929874688578,
        6019711933173041966, 3076529664176959358, 3521761819100106140, 7493067640054542992,
        920801338098114767,
    ]  # fmt: skip


def test_split_mix_gives_the_published_outputs_of_seed_0() -> None:
    assert split_mix_64(0, 3) == [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 42, -1, 2**32, 1763715600000, 2**53 - 1, -(2**53) + 1])
def test_typescript_draws_the_same_numbers(seed: int) -> None:
    results = run_js(
        "const r = new api.Xoroshiro128Plus(data);"
        "return Array.from({length: 500}, () => r.next());",
        seed,
    )
    rng = Xoroshiro128Plus(seed)
    assert results == [rng.uniform_double() for _ in range(500)]


def test_two_generators_do_not_disturb_each_other() -> None:
    results = run_js(
        """const [a, b, alone] = [1, 2, 1].map((s) => new api.Xoroshiro128Plus(s));
        const mixed = []; for (let i = 0; i < 9; i++) { mixed.push(a.next()); b.next(); }
        return [mixed, Array.from({length: 9}, () => alone.next())];"""
    )
    assert results[0] == results[1]


def test_global_generator_restarts_with_its_last_seed() -> None:
    first, again, other = run_js(
        """api.initializePRNG(5); const take = () => [api.random(), api.random()];
        const first = take(); api.resetPRNG(); const again = take();
        api.initializePRNG(6); return [first, again, take()];"""
    )
    assert first == again
    assert first != other
    assert first[0] == Xoroshiro128Plus(5).uniform_double()


def test_seed_must_be_a_safe_integer() -> None:
    results = run_js(
        """return [1.5, NaN, 2 ** 53].map((seed) => {
            try { new api.Xoroshiro128Plus(seed); return ""; } catch (e) { return e.message; }});"""
    )
    assert results[0] == "seed must be a safe integer: 1.5"
    assert all(results)

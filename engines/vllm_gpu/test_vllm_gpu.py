"""vLLM's second runner: its models by hand, and, with its environment, the kernels against them."""

import math

import numpy as np
import pytest

from sampler_parity.engines.vllm_gpu.edits import INTERPRETER, ON_GPU
from sampler_parity.engines.vllm_gpu.model.noise import gumbel, hashed, log_of_rest, uniform
from sampler_parity.engines.vllm_gpu.model.rejection import verified, verified_as_block
from tests.support import triton_probe

INF = math.inf


def murmur3(key: bytes) -> int:
    """MurmurHash3_x86_32 of whole words with seed 0, from its published text, in Python's ints."""
    h, word = 0, 0xFFFFFFFF
    for at in range(0, len(key), 4):
        k = int.from_bytes(key[at : at + 4], "little") * 0xCC9E2D51 & word
        k = (k << 15 | k >> 17) & word
        h ^= k * 0x1B873593 & word
        h = ((h << 13 | h >> 19) & word) * 5 + 0xE6546B64 & word
    h ^= len(key)
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        h = (h ^ h >> shift) * factor & word
    return h ^ h >> 16


@pytest.mark.parametrize(("seed", "pos", "token"), [(0, 0, 0), (-1, 7, 3), (2**40 + 9, 5, 151935)])
def test_the_hash_is_murmur3_of_seed_position_and_token(seed: int, pos: int, token: int) -> None:
    words = (seed & 0xFFFFFFFF, seed >> 32 & 0xFFFFFFFF, pos, token)
    key = b"".join(word.to_bytes(4, "little") for word in words)
    assert hashed(seed, pos, np.array([token])).tolist() == [murmur3(key)]


def test_the_noise_is_that_of_gumbel() -> None:
    h = np.array([0, 1 << 20, 1 << 30, 1 << 31, 2**32 - 1], np.uint32)
    u = uniform(h)
    assert u.tolist() == pytest.approx([(x + 0.5) / 2**32 for x in h.tolist()], rel=1e-7)
    assert log_of_rest(u)[:4] == pytest.approx(np.log1p(-u[:4].astype(float)), abs=6e-7)
    values = gumbel(1, 1, np.arange(100_000))
    assert values.mean() == pytest.approx(0.5772, abs=0.02)
    assert values.var() == pytest.approx(math.pi**2 / 6, abs=0.05)


def test_a_certain_draft_is_accepted_and_an_impossible_one_replaced() -> None:
    one, other = np.array([0.0, -INF], np.float32), np.array([-INF, 0.0], np.float32)
    assert verified(np.stack([one, other]), one[None], [0], 1, 1) == [0, 1]
    assert verified(np.stack([one, other]), other[None], [1], 1, 1) == [0]
    assert verified(np.stack([one, other]), one[None], [1], 1, 1, greedy=True) == [0]
    assert verified(np.stack([one, other]), one[None], [-1], 1, 1) == [0]
    assert verified_as_block(np.stack([one, other]), one[None], [0], 1, 1) == [0, 1]
    assert verified_as_block(np.stack([one, other]), other[None], [1], 1, 1) == [0]


def test_every_edit_fits_the_wheel() -> None:
    triton_probe.assert_every_edit_fits("vllm_gpu", (*INTERPRETER, *ON_GPU), "vllm/v1")


@pytest.mark.nightly
def test_noise_ranks_drafts_and_masks_are_those_of_the_models() -> None:
    checks = ("noise", "noise64", "ranks", "grammar", "drafts", "drafts64", "blocks", "padding")
    assert triton_probe.probed("vllm_gpu", "") == dict.fromkeys(checks, 0)


@pytest.mark.nightly
@pytest.mark.parametrize(("fault", "check"), triton_probe.faults_of_probe("vllm_gpu").items())
def test_the_probe_catches_each_fault(fault: str, check: str) -> None:
    assert triton_probe.probed("vllm_gpu", fault)[check] > 0

"""The pass rules that the tests of other engines publish, run on counts.

The rules are written anew from their descriptions:
    vLLM          tests/v1/sample/test_topk_topp_sampler.py, TestFlashInferDistributionMatch:
                  chi-square of 50,000 draws over 32 tokens passes at p >= 1e-6.
    FlashInfer    tests/utils/test_sampling.py, test_sampling_freq: cosine of frequencies and
                  probabilities above 0.99 after 5,000,000 draws; here 111 tokens, normal logits.
    TensorRT-LLM  tests/unittest/_torch/sampler/test_torch_sampler.py: G-test of 5,000 draws over
                  123 tokens with logits uniform in -9..9 passes at p > 0.1. Else at p > 0.001 if
                  no token is off by more than 5 points.
    candle        the test of its Gumbel sampler: 100,000 draws over 4 tokens, each within 0.05
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from sampler_parity.harness.statistics import fit, look, tv
from sampler_parity.harness.statistics.plan import Errors, draws_for
from sampler_parity.maintenance.calibration import wrong

Counts = NDArray[np.int64]
Distribution = NDArray[np.float64]


@dataclass(frozen=True)
class PeerRule:
    """passes(counts[runs, K], p) -> bool[runs], after `draws` draws from softmax(logits)."""

    name: str
    draws: int
    logits: Distribution
    passes: Callable[[Counts, Distribution], NDArray[np.bool_]]


def vllm(counts: Counts, p: Distribution) -> NDArray[np.bool_]:
    return np.asarray(_pearson(counts, p) >= 1e-6)


def flashinfer(counts: Counts, p: Distribution) -> NDArray[np.bool_]:
    lengths = np.sqrt((counts * counts).sum(axis=-1) * (p * p).sum())
    return np.asarray((counts * p).sum(axis=-1) / lengths > 0.99)


def tensorrt_llm(counts: Counts, p: Distribution) -> NDArray[np.bool_]:
    g = scipy.stats.chi2.sf(2 * fit.half_g(counts, p), len(p) - 1)
    off = abs(counts / counts.sum(axis=-1, keepdims=True) - p).max(axis=-1)
    return np.asarray((g > 0.1) | ((g > 0.001) & (off <= 0.05)))


def candle(counts: Counts, p: Distribution) -> NDArray[np.bool_]:
    return np.asarray((abs(counts / counts.sum(axis=-1, keepdims=True) - p) <= 0.05).all(axis=-1))


def _pearson(counts: Counts, p: Distribution) -> Any:
    expected = counts.sum(axis=-1, keepdims=True) * p
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(expected > 0, (counts - expected) ** 2 / expected, 0)
    return scipy.stats.chi2.sf(terms.sum(axis=-1), len(p) - 1)


def rules(rng: np.random.Generator) -> list[PeerRule]:
    """Return the rules, each with logits of the kind that its own test uses."""
    return [
        PeerRule("vLLM chi-square", 50_000, rng.normal(0, 1, 32), vllm),
        PeerRule("FlashInfer cosine", 5_000_000, rng.normal(0, 1, 111), flashinfer),
        PeerRule("TensorRT-LLM G-test", 5_000, rng.uniform(-9, 9, 123), tensorrt_llm),
        PeerRule("candle +-0.05", 100_000, rng.normal(0, 1, 4), candle),
    ]


def ours(logits: Distribution, errors: Errors) -> PeerRule:
    """Return the frequency cell of this harness at a margin of 0.005: passes is "not different"."""
    p = wrong.softmax(logits)
    n = draws_for(0.005, p, errors)

    def passes(counts: Counts, p: Distribution) -> NDArray[np.bool_]:
        return np.asarray(~look.frequencies(counts, p, errors, last=True).different(errors))

    return PeerRule("sampler-parity", n, logits, passes)


def let_through(rng: np.random.Generator, rule: PeerRule, q: Distribution, runs: int) -> int:
    """Return in how many of so many runs the rule passes draws from q."""
    p = wrong.softmax(rule.logits)
    counts = rng.multinomial(rule.draws, q, size=runs)
    return int(rule.passes(counts, p).sum())


def distance(rule: PeerRule, q: Distribution) -> float:
    return tv.between(q, wrong.softmax(rule.logits))

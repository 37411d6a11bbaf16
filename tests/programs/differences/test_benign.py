"""Error rates of the verdict about rounding, by simulation on golden logits."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
import scipy

from sampler_parity.harness.inputs.fixtures import golden_folder, read_logits
from sampler_parity.programs.differences import benign
from sampler_parity.programs.differences.benign import Floats, Noise

RUNS, SURVIVORS, TEMPERATURE, POSITIONS = 10_000, 40, 0.8, 60
Change = Callable[[Floats, np.random.Generator], Floats]


@cache
def golden_rows() -> Floats:
    """Return the golden logits in descending order: float64[320, 4096]."""
    rows = read_logits(golden_folder() / "small.gguf").astype(np.float64)
    return np.asarray(-np.sort(-rows, axis=-1))


def tokens(logits: Floats, u: Floats) -> tuple[Any, Floats]:
    """Return the tokens that top_k, temp and dist draw, and p in the order of the logits."""
    order = np.argsort(-logits, axis=-1, kind="stable")
    p = scipy.special.softmax(logits / TEMPERATURE, axis=-1)
    ends = np.take_along_axis(p, order, -1).cumsum(-1)
    index = np.minimum((ends < u[:, None]).sum(-1), p.shape[-1] - 1)
    return np.take_along_axis(order, index[:, None], -1)[:, 0], p


def partings(rng: np.random.Generator, scale: float) -> Floats:
    """Return the p-values of the flips of RUNS texts that part by normal noise. scale: by which it
    is larger than the verdict assumes."""
    rows = golden_rows()[:, :SURVIVORS]
    sizes = golden_rows().std(-1).mean() * np.exp(rng.uniform(np.log(2e-3), np.log(2e-2), RUNS))
    survival, parted = np.ones(RUNS), np.zeros(RUNS, bool)
    while not parted.all():
        running = np.flatnonzero(~parted)
        logits, u = rows[rng.integers(len(rows), size=len(running))], rng.uniform(size=len(running))
        sigma = sizes[running]
        chosen, p = tokens(logits, u)
        gain = sigma / TEMPERATURE
        chance = benign.chance_of_flip(logits / TEMPERATURE, p, chosen, u, gain)
        survival[running] *= 1 - chance
        noise = scale * sigma[:, None] * rng.normal(size=logits.shape)
        parted[running] = tokens(logits + noise, u)[0] != chosen
    return 1 - survival


def correlated(rng: np.random.Generator, n: int, shared: float = 0.03) -> Floats:
    """Return noise as two models have it: the mean cosine falls from 0.24 to 0.04."""
    spectrum = np.sqrt(np.linspace(2, 0.05, 48))
    steps = rng.normal(size=(n + 4, 48)) * spectrum
    smooth = sum(np.sqrt(w) * steps[i : i + n] for i, w in enumerate((0.94, 0.03, 0.02, 0.01)))
    common = rng.normal(size=48) * spectrum
    return np.asarray(np.sqrt(1 - shared) * smooth + np.sqrt(shared) * common)


def unit(rows: Floats) -> Floats:
    return np.asarray(rows / np.linalg.norm(rows, axis=-1, keepdims=True))


@pytest.mark.slow
def test_benign_partings_are_called_larger_as_rarely_as_stated() -> None:
    rng = np.random.default_rng(1)
    flips = partings(rng, 1.0)
    sizes = benign.size_p_value(rng.uniform(0, benign.ROUNDING, RUNS), benign.ROUNDING)
    lengths = rng.integers(2, 90, RUNS)
    directions = [benign.cosine_and_p_value(unit(correlated(rng, n)))[1] for n in lengths]
    least = np.min([flips, sizes, directions], axis=0)
    most = scipy.stats.binom.isf(1e-6, RUNS, benign.ERROR)
    assert (3 * least <= benign.ERROR).sum() <= most
    for level in (0.001, 0.01, 0.1):
        for p_values in (flips, np.array(directions)):
            assert (p_values <= level).sum() <= scipy.stats.binom.isf(1e-6, RUNS, level)
    assert 0.3 < flips.mean() < 0.8  # 0.5 if no chance is too large
    assert (partings(rng, 3.0) <= benign.ERROR).mean() > 0.03


def scaled(logits: Floats, rng: np.random.Generator) -> Floats:
    """A temperature of 0.78 instead of 0.8, applied to the logits."""
    return logits * 0.025


def penalized(logits: Floats, rng: np.random.Generator) -> Floats:
    """A presence penalty of 0.5 on ten tokens, lost."""
    return np.where(np.arange(logits.shape[-1]) < 10, 0.5, 0.0)[None]


def weights(size: float, cosine: float, directions: int) -> Change:
    """Return a change by other weights: its size, of the spread, the mean cosine, and the number of
    directions, as measured with a model."""

    def change(logits: Floats, rng: np.random.Generator) -> Floats:
        free, shared = rng.normal(size=(len(logits), directions)), rng.normal(size=directions)
        mixed = np.sqrt(1 - cosine) * free + np.sqrt(cosine) * shared
        basis = rng.normal(size=(directions, logits.shape[1])) / directions**0.5
        return np.asarray(size * logits.std() * (mixed @ basis))

    return change


Q8 = weights(7e-3, 0.05, 18)  # the golden model in 8 bits
Q8_OF_30_LAYERS = weights(3.8e-2, 0.155, 31)  # SmolLM2-135M
LAYER = weights(1.2e-3, 0.09, 13)  # a feed-forward matrix of the golden model times 1.01


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "rounding", "positions", "rate"),
    [
        (scaled, benign.ROUNDING, 1, 0.99),
        (scaled, 0.06, POSITIONS, 0.99),
        (penalized, benign.ROUNDING, 1, 0.99),
        (penalized, 0.06, POSITIONS, 0.99),
        (Q8, benign.ROUNDING, 1, 0.99),
        (Q8_OF_30_LAYERS, 0.06, POSITIONS, 0.9),
        (LAYER, 3e-4, POSITIONS, 0.99),  # The default is larger than the model's own noise.
    ],
)
def test_another_model_or_chain_is_larger_than_rounding(
    change: Change, rounding: float, positions: int, rate: float
) -> None:
    rng, runs, larger = np.random.default_rng(2), 100, 0
    for _ in range(runs):
        noise = Noise()
        logits = golden_rows()[rng.permutation(320)[:positions]]
        differences = np.broadcast_to(change(logits, rng), logits.shape)
        for a, difference in zip(logits, differences, strict=True):
            sigma = noise.measure(a, a + difference)
            noise.chances.append(sigma / TEMPERATURE)  # about the chance of a flip
        likelihood = noise.likelihood(rounding, True)
        larger += likelihood is not None and likelihood.verdict != "benign"
    assert larger >= rate * runs

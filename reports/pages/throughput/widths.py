"""Rows of the throughput page: tokens a second with decoding."""

import math

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.checks.throughput.record import (
    Generation,
    ThroughputOnBackend,
    ThroughputResult,
)
from sampler_parity.harness.checks.timing.verdict import compare_rounds, noise_of, ratio_of_rounds
from sampler_parity.reports.pages.throughput.model import Compared, OfOne, Rate, WidthRow, compared

Rounds = NDArray[np.float64]


def width_rows(result: ThroughputResult, effect: float) -> list[WidthRow]:
    return [
        _row(result, name, backend, effect)
        for name, backend in result.backends.items()
        if backend.rounds
    ]


def _row(
    result: ThroughputResult, name: str, backend: ThroughputOnBackend, effect: float
) -> WidthRow:
    sample, decode = _sampled(backend.rounds), _decoded(backend.rounds)
    prompt = np.array([r.prompt_ns for r in backend.rounds], float)
    made, read = result.sequences * result.n_tokens, result.sequences * result.n_prompt
    return WidthRow(
        id=result.id,
        model=result.model,
        n_vocab=result.n_vocab,
        chain=result.chain,
        sequences=result.sequences,
        backend=name,
        in_graph=backend.in_graph,
        stages=result.stages,
        prompt=_rate(prompt, read),
        generation=_rate(sample + decode, made),
        sample_ns=float(np.median(sample)) / result.n_tokens,
        decode_ns=float(np.median(decode)) / result.n_tokens,
        share=_share(result, backend, sample, decode),
        of_one=_of_one(result, sample + decode, _sampled(backend.alone) + _decoded(backend.alone)),
        sample_of_one=_of_one(result, sample, _sampled(backend.alone)),
        compared=None if name == result.baseline else _compared(result, sample + decode, effect),
    )


def _sampled(rounds: list[Generation]) -> Rounds:
    return np.array([sum(r.sample_ns) for r in rounds], float)


def _decoded(rounds: list[Generation]) -> Rounds:
    return np.array([sum(r.decode_ns) for r in rounds], float)


def _rate(ns: Rounds, tokens: int) -> Rate:
    """Return the rate of rounds that made so many tokens each."""
    interval = ratio_of_rounds(np.full(len(ns), 1e9 * tokens), ns)
    if interval is None:
        return Rate(value=0.0, low=None, high=None)
    wide = not math.isfinite(interval.high)
    return Rate(
        value=interval.ratio,
        low=None if wide else interval.low,
        high=None if wide else interval.high,
    )


def _of_one(result: ThroughputResult, together: Rounds, alone: Rounds) -> OfOne | None:
    """Return the time of a sequence of many, as a share of one alone."""
    interval = ratio_of_rounds(together / result.sequences, alone)
    if interval is None:
        return None
    wide = not math.isfinite(interval.high)
    return OfOne(
        ratio=interval.ratio,
        low=None if wide else interval.low,
        high=None if wide else interval.high,
    )


def _share(
    result: ThroughputResult, backend: ThroughputOnBackend, sample: Rounds, decode: Rounds
) -> float | None:
    """Return the share of sampling. In the graph, sampling is the time above the baseline's
    decoding."""
    total = sample + decode
    if not backend.in_graph:
        return float(np.median(sample / total))
    first = result.backends[result.baseline]
    if first.in_graph or len(first.rounds) != len(total):
        return None
    return float(np.median((total - _decoded(first.rounds)) / total))


def _compared(result: ThroughputResult, total: Rounds, effect: float) -> Compared:
    first, again = result.backends[result.baseline].rounds, result.again.rounds
    baseline = _sampled(first) + _decoded(first)
    noise = noise_of(baseline, _sampled(again) + _decoded(again))
    return compared(compare_rounds(total, baseline, noise, effect))

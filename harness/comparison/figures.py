"""The measured figures of a bundle in one form, for comparisons and trends: times, tokens per
second, skip ratios."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from sampler_parity.harness.bundle.bundle import Bundle
from sampler_parity.harness.checks.timed_records import (
    SkipRatioResult,
    ThroughputResult,
    TimingResult,
)
from sampler_parity.harness.checks.timing.verdict import ratio_of_rounds, rounds_of
from sampler_parity.harness.statistics.bootstrap import bootstrap_interval, ratio_of_medians

BASELINE = "llama.cpp"
_RESAMPLES = 1000

Kind = Literal["timing", "throughput", "skip_ratio"]
Unit = Literal["ns", "tokens/s", "skipped"]


@dataclass(frozen=True)
class Figure:
    """A figure: the median of `values`, one a round. baseline: what it is compared with in
    its own run, or ""."""

    kind: Kind
    id: str
    backend: str
    unit: Unit
    values: tuple[float, ...]
    baseline: str = ""

    @property
    def median(self) -> float:
        return float(np.median(self.values))


def figures_of(bundle: Bundle) -> Iterator[Figure]:
    """Yield the measured figures; failures have none. A time is the fastest of its round."""
    for timing in bundle.of(TimingResult):
        first = timing.baseline or BASELINE
        for name, ns in timing.ns.items():
            values = tuple(rounds_of(ns, timing.repetitions).tolist())
            if values:
                yield Figure("timing", timing.id, name, "ns", values, first)
    for result in bundle.of(ThroughputResult):
        for name in result.backends:
            if values := _rates(result, name):
                first = result.baseline
                yield Figure("throughput", result.id, name, "tokens/s", values, first)
    for skipped in bundle.of(SkipRatioResult):
        if skipped.skip_ratio_mean is not None:
            values = (skipped.skip_ratio_mean,)
            yield Figure("skip_ratio", skipped.workload, skipped.backend, "skipped", values)


def _rates(result: ThroughputResult, backend: str) -> tuple[float, ...]:
    """Return tokens a second of each round, all sequences together."""
    tokens = result.sequences * result.n_tokens
    spent = [sum(r.sample_ns) + sum(r.decode_ns) for r in result.backends[backend].rounds]
    return tuple(1e9 * tokens / ns for ns in spent if ns)


@dataclass(frozen=True)
class FigureChange:
    """A figure over another. low, high: 95%; None with too few rounds."""

    value: float
    low: float | None
    high: float | None


def change_in_run(figure: Figure, base: Figure) -> FigureChange | None:
    """Compare two figures of one run, whose rounds stood next to each other."""
    interval = ratio_of_rounds(np.array(figure.values), np.array(base.values))
    if interval is None:
        return None
    unbounded = not math.isfinite(interval.high)
    return FigureChange(
        interval.ratio, None if unbounded else interval.low, None if unbounded else interval.high
    )


def change_across(new: Figure, old: Figure) -> FigureChange | None:
    """Compare two runs: the ratio of medians with its bootstrap interval; None without a
    meaning."""
    a, b = np.array(new.values), np.array(old.values)
    if (b <= 0).any():
        return None
    value = new.median / old.median
    if min(len(a), len(b)) < 2:
        return FigureChange(value, None, None)
    return FigureChange(value, *bootstrap_interval((a, b), ratio_of_medians, _RESAMPLES))

"""Notices of a timing: drift over the rounds, outliers, changes of the CPU's frequency."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy

from sampler_parity.harness.checks.timing.record import TimingResult
from sampler_parity.harness.checks.timing.verdict import rounds_of

DRIFT_P = 0.001  # a false notice in a thousand timings
# of the median, from the first third of the rounds to the last: the effect that matters in reports
DRIFT_LEAST = 0.05
# median absolute deviations above the median: 6.7 standard deviations, 1 normal sample in 10^11
OUTLIER_MADS = 10
OUTLIER_SHARE = 0.05  # so many already move a p95
MHZ_LEAST = 0.02  # less is the noise of reading the frequency, by choice
BUSY = 1.5  # programs for each processor: ours is one of them


@dataclass(frozen=True)
class Notice:
    kind: Literal["drift", "outliers", "frequency", "busy", "unpinned", "no frequency"]
    text: str


def notices(result: TimingResult) -> list[Notice]:
    """Return the notices of a timing. Ratios of paired rounds are valid despite most of them."""
    remarks = [*_drifts(result), *_outliers(result)]
    under = result.conditions
    if under.mhz and max(under.mhz) > (1 + MHZ_LEAST) * min(under.mhz):
        span = f"{min(under.mhz):,.0f} to {max(under.mhz):,.0f} MHz"
        remarks.append(Notice("frequency", f"the processor ran at {span}"))
    if under.load is not None and under.load > BUSY:
        remarks.append(Notice("busy", "other programs ran: times are too long, ratios are not"))
    if under.unpinned:
        remarks.append(Notice("unpinned", under.unpinned))
    if under.no_mhz:
        remarks.append(Notice("no frequency", under.no_mhz))
    return remarks


def _drifts(result: TimingResult) -> list[Notice]:
    """Return notices of a trend (Kendall's tau) that moves the median by DRIFT_LEAST or more."""
    remarks = []
    for name, ns in result.ns.items():
        rounds = rounds_of(ns, result.repetitions)
        third = len(rounds) // 3
        if third < 2 or np.ptp(rounds) == 0:
            continue
        trend = scipy.stats.kendalltau(np.arange(len(rounds)), rounds)
        change = float(np.median(rounds[-third:]) / np.median(rounds[:third]) - 1)
        if trend.pvalue < DRIFT_P and abs(change) >= DRIFT_LEAST:
            text = f"{name} drifts by {change:+.0%} over {len(rounds)} rounds"
            remarks.append(Notice("drift", text))
    return remarks


def _outliers(result: TimingResult) -> list[Notice]:
    remarks = []
    for name, ns in result.ns.items():
        samples = np.array(ns, float)
        middle = float(np.median(samples))
        deviation = float(np.median(np.abs(samples - middle)))
        # a quantized clock may show no deviation at all: nothing within 1% is an outlier
        n = int((samples > middle + OUTLIER_MADS * max(deviation, 0.01 * middle)).sum())
        if n > OUTLIER_SHARE * len(samples):
            text = f"{name}: {n}/{len(samples)} samples are far above its median"
            remarks.append(Notice("outliers", text))
    return remarks

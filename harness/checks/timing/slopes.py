"""Slopes and notices of timings.

A slope is the growth of a cost over the vocabulary or the length of the history: Theil and Sen's
slope (the median over all pairs of points) of the fastest samples, with its 95% interval. The
exponent a of cost ~ x**a comes from a straight line through the logarithms. A cost must not depend
on the sizes in `steady`; if it does, that is a finding.

A notice is a drift over the rounds, an outlier, or a change of the CPU's frequency.
"""

from collections import defaultdict
from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy
from numpy.typing import NDArray

from sampler_parity.harness.checks.timed_records import TimingResult
from sampler_parity.harness.checks.timing.verdict import rounds_of

Over = Literal["n_vocab", "last_n"]

LEAST_POINTS = 3  # two always lie on a line
# a smaller growth over the whole range is that of a call that does nothing, by cold memory
LEAST_GROWTH_NS = 10_000


@dataclass(frozen=True)
class Slope:
    """A slope. ns_per: nanoseconds for each token more; low, high: its interval. other: the value
    of the other of n_vocab and last_n."""

    group: str
    sampler: str
    backend: str
    over: Over
    other: int
    points: list[int]
    fastest_ns: list[float]
    ns_per: float
    low: float
    high: float
    exponent: float
    steady: bool

    @property
    def finding(self) -> bool:
        """Whether it depends on this and must not: beyond its noise, and it at least doubles."""
        certain = self.low * (self.points[-1] - self.points[0])
        return self.steady and certain > max(LEAST_GROWTH_NS, self.fastest_ns[0])


def slopes(results: list[TimingResult]) -> list[Slope]:
    """Return the slopes of every group with enough points, on every backend: findings first."""
    lines: dict[tuple[str, str, Over, int], list[TimingResult]] = defaultdict(list)
    for result in results:
        for backend, ns in result.ns.items():
            if ns and result.group:
                lines[result.group, backend, "n_vocab", result.last_n].append(result)
                lines[result.group, backend, "last_n", result.n_vocab].append(result)
    fitted = [
        _slope(group, backend, over, other_size, members)
        for (group, backend, over, other_size), members in lines.items()
        if len({getattr(m, over) for m in members}) >= LEAST_POINTS
    ]
    return sorted(fitted, key=lambda s: (not s.finding, s.group, s.backend, s.over, s.other))


def _slope(
    group: str, backend: str, over: Over, other_size: int, members: list[TimingResult]
) -> Slope:
    points = sorted((getattr(m, over), float(min(m.ns[backend]))) for m in members)
    x: NDArray[np.float64] = np.array([at for at, _ in points], float)
    y: NDArray[np.float64] = np.array([ns for _, ns in points], float)
    slope = scipy.stats.theilslopes(y, x, alpha=0.95)
    straight = scipy.stats.linregress(np.log(np.maximum(x, 1)), np.log(np.maximum(y, 1)))
    return Slope(
        group=group,
        sampler=members[0].sampler,
        backend=backend,
        over=over,
        other=other_size,
        points=[int(at) for at in x],
        fastest_ns=y.tolist(),
        ns_per=float(slope.slope),
        low=float(slope.low_slope),
        high=float(slope.high_slope),
        exponent=float(straight.slope),
        steady=over in members[0].steady,
    )


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

"""The growth of a cost: slopes over the vocabulary and over the length of the history.

Theil and Sen's slope (the median over all pairs of points) of the fastest samples, with its 95%
interval, and the exponent a of cost ~ x**a from a straight line through the logarithms. A cost must
not depend on the sizes in `steady`; if it does, that is a finding.
"""

from collections import defaultdict
from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy
from numpy.typing import NDArray

from sampler_parity.harness.checks.timing.record import TimingResult

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

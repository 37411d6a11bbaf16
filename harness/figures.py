"""The measured figures of a bundle in one form, for comparisons and trends: times, tokens per
second, skip ratios."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy
from numpy.typing import NDArray

from harness.bundle import Bundle

BASELINE = "llama.cpp"
_RESAMPLES = 1000

Unit = Literal["ns", "tokens/s", "share"]


@dataclass(frozen=True)
class Figure:
    """values: one a round. The figure is their median."""

    kind: Literal["timing", "throughput", "skip_ratio"]
    id: str
    backend: str
    unit: Unit
    values: tuple[float, ...]

    @property
    def median(self) -> float:
        return float(np.median(self.values))


def figures_of(bundle: Bundle) -> Iterator[Figure]:
    """Of what was measured; what failed has no figure."""
    for timing in bundle.timings:
        for name, ns in timing.ns.items():
            if ns and len(ns) % timing.repetitions == 0:
                rounds = np.array(ns, float).reshape(-1, timing.repetitions)
                values = tuple(np.median(rounds, axis=1).tolist())
                yield Figure("timing", timing.id, name, "ns", values)


def baseline_of(figure: Figure, figures: dict[tuple[str, str], Figure]) -> Figure | None:
    """What the figure of the same run is compared with: llama.cpp's. figures: by id, backend."""
    return figures.get((figure.id, BASELINE))


def ratio(new: Figure, old: Figure, paired: bool) -> tuple[float, float, float] | None:
    """new / old of medians with its bootstrap 95% interval; None where that says nothing.

    paired: round i of both stood next to each other, so rounds are drawn together.
    """
    a, b = np.array(new.values), np.array(old.values)
    together = paired and len(a) == len(b)
    if (b <= 0).any() or min(len(a), len(b)) < 2:
        return None

    def of(x: NDArray[Any], y: NDArray[Any], axis: int = -1) -> Any:
        return np.median(x, axis=axis) / np.median(y, axis=axis)

    found = scipy.stats.bootstrap(
        (a, b),
        of,
        n_resamples=_RESAMPLES,
        method="percentile",
        paired=together,
        vectorized=True,
        rng=np.random.default_rng(0),
    ).confidence_interval
    return float(of(a, b)), float(found.low), float(found.high)

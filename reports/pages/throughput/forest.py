"""The verdicts of a bundle's timings as a forest plot: ratio, interval and threshold of each."""

import math

from sampler_parity.harness.checks.timing.verdict import TimingVerdict
from sampler_parity.reports.pages.throughput.model import ThroughputSection
from sampler_parity.reports.pictures.forest import ForestLine, forest
from sampler_parity.reports.pictures.picture import BAD, COLOURS, DOT, GOOD

ROWS = 24  # of a picture: the largest ratios, either way; the tables have all
_COLOUR: dict[TimingVerdict, str] = {
    "slower": BAD,
    "faster": GOOD,
    "same-within": DOT,
    "inconclusive": COLOURS[5],
}


def compared(section: ThroughputSection) -> list[ForestLine]:
    """Return the backends with a ratio and its interval: decided ones first, then the largest
    ratio.
    """
    several = len({row.backend for row in section.timings if row.compared}) > 1
    lines = [
        ForestLine(
            f"{row.id.removeprefix('timing/')}{f' {row.backend}' if several else ''}",
            c.low,
            c.ratio,
            c.high,
            _COLOUR[c.verdict],
            c.verdict,
        )
        for row in section.timings
        if (c := row.compared) and c.ratio and c.low is not None and c.high is not None
    ]
    decided = ("slower", "faster")
    return sorted(lines, key=lambda x: (x.kind not in decided, -abs(math.log(x.value or 1))))


def ratios(section: ThroughputSection, salt: str) -> str:
    """Return an <svg> element, or "" if nothing is compared."""
    shown = sorted(compared(section)[:ROWS], key=lambda line: -(line.value or 1))
    within = (1 / (1 + section.effect), 1 + section.effect)
    return forest(shown, "time / time of the first backend", salt, within)

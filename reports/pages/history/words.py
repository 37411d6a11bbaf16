"""Verdicts and figures of a run of the history, in words."""

from sampler_parity.harness.comparison.history import Counted, Measured
from sampler_parity.reports.render.words import duration, figure


def value(found: Measured | None) -> str:
    """With its ratio to the baseline of the same run."""
    if found is None:
        return "none"
    text = duration(found.value) if found.unit == "ns" else f"{figure(found.value)} {found.unit}"
    if found.ratio is None:
        return text
    if found.low is None or found.high is None:
        return f"{text}, {found.ratio:.3g} ×"
    return f"{text}, {found.ratio:.3g} × [{found.low:.3g}, {found.high:.3g}]"


def counts(found: Counted | None) -> str:
    if found is None:
        return "none"
    text = f"{found.identical:,}/{found.cases:,} identical"
    failed = found.cases - found.met
    return f"{text}, {failed:,} failed" if failed else text

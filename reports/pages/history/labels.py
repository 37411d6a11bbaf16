"""Verdicts and figures of a run of the history, in words."""

from sampler_parity.harness.comparison.history import Counted, Measured
from sampler_parity.reports.labels import duration, figure


def value(measured: Measured | None) -> str:
    """With its ratio to the baseline of the same run."""
    if measured is None:
        return "none"
    text = (
        duration(measured.value)
        if measured.unit == "ns"
        else f"{figure(measured.value)} {measured.unit}"
    )
    if measured.ratio is None:
        return text
    if measured.low is None or measured.high is None:
        return f"{text}, {measured.ratio:.3g} ×"
    return f"{text}, {measured.ratio:.3g} × [{measured.low:.3g}, {measured.high:.3g}]"


def of(met: int, total: int) -> str:
    return f"{met:,}/{total:,}" if total else "none"


def counts(counted: Counted | None) -> str:
    if counted is None:
        return "none"
    text = f"{counted.identical:,}/{counted.cases:,} identical"
    failed = counted.cases - counted.met
    return f"{text}, {failed:,} failed" if failed else text

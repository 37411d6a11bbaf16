"""Timings in a report: medians, ratios to llama.cpp with their interval, and the ratio rule.

The samples of a round stand next to each other and depend on each other, so the bootstrap draws
whole rounds, the same ones for both backends.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.checks.timing.record import TimingResult
from sampler_parity.harness.checks.timing.verdict import nearest_rank
from sampler_parity.harness.statistics.bootstrap import bootstrap_interval
from sampler_parity.reports.pages.parity import model

NATIVE = "llama.cpp"
REFERENCE = "reference"
_RESAMPLES = 2000


def timing(result: TimingResult, parity_met: int, parity_cases: int) -> model.Timing:
    """Return a row of the report. Backends with another number of samples get no ratio."""
    native = _rounds(result, NATIVE)
    medians = {name: float(np.median(ns)) for name, ns in result.ns.items() if ns}
    backends = [
        model.TimedBackend(
            name=name,
            samples=len(ns),
            median_ns=medians[name],
            p99_ns=nearest_rank(ns, 0.99),
            p999_ns=nearest_rank(ns, 0.999),
            ratio=None if name == NATIVE else _ratio(_rounds(result, name), native),
        )
        for name, ns in result.ns.items()
        if ns
    ]
    return model.Timing(
        id=result.id,
        sampler=result.sampler,
        n_vocab=result.n_vocab,
        rounds=max((len(ns) for ns in result.ns.values()), default=0) // result.repetitions,
        backends=backends,
        rule=judge(medians.get(REFERENCE), medians.get(NATIVE)),
        parity_met=parity_met,
        parity_cases=parity_cases,
    )


def judge(reference_ns: float | None, native_ns: float | None) -> model.TimingRule:
    """Judge two medians by the ratio rule; not judged if either is missing."""
    missing = [n for n, x in ((REFERENCE, reference_ns), (NATIVE, native_ns)) if x is None]
    if reference_ns is None or native_ns is None:
        return model.TimingRule(limit_ns=None, met=None, why=f"{' and '.join(missing)} not timed")
    limit = model.RULE_FACTOR * native_ns + model.RULE_EXTRA_NS
    return model.TimingRule(limit_ns=limit, met=reference_ns <= limit, why="")


def _rounds(result: TimingResult, name: str) -> NDArray[Any] | None:
    """Return float64[rounds, repetitions], or None if the samples are not whole rounds."""
    ns = result.ns.get(name, [])
    if not ns or len(ns) % result.repetitions:
        return None
    return np.array(ns, float).reshape(-1, result.repetitions)


def _ratio(ours: NDArray[Any] | None, native: NDArray[Any] | None) -> model.TimingRatio | None:
    if ours is None or native is None or ours.shape != native.shape or not (native > 0).all():
        return None
    value = float(np.median(ours) / np.median(native))
    if len(ours) < 2:
        return model.TimingRatio(value=value, low=None, high=None)

    def of_rounds(rounds: NDArray[Any], axis: int = -1) -> Any:
        chosen = rounds.astype(int)
        return np.median(ours[chosen], axis=(-2, -1)) / np.median(native[chosen], axis=(-2, -1))

    low, high = bootstrap_interval((np.arange(len(ours)),), of_rounds, _RESAMPLES)
    return model.TimingRatio(value=value, low=low, high=high)

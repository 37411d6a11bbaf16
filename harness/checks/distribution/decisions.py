"""Decide every cell of a run, with correction over all of them, and find the unmet ones."""

from collections.abc import Iterator

import numpy as np

from sampler_parity.harness.checks.distribution.record import Decision, DistributionResult
from sampler_parity.harness.statistics.plan import holm


def decisions(results: list[DistributionResult]) -> dict[tuple[str, str], tuple[Decision, float]]:
    """Return the decision and Holm's p-value of every (cell, backend), corrected over the run.

    Within a cell an alarm needs p <= alpha = total / pairs. Holm's correction rejects all of these
    and may reject more, which are added here.
    """
    pairs = [(r.id, name) for r in results for name in r.backends]
    cells = [cell for r in results for cell in r.backends.values()]
    total = max((r.alpha for r in results), default=0.0) * len(pairs)
    adjusted = holm(np.array([cell.p_value for cell in cells], np.float64))
    return {
        pair: (
            "different"
            if p <= total and cell.decision in ("equivalent", "undecided")
            else cell.decision,
            float(p),
        )
        for pair, cell, p in zip(pairs, cells, adjusted, strict=True)
    }


def unmet(results: list[DistributionResult]) -> list[tuple[str, str]]:
    """Return the (cell, backend) pairs without a required decision, except skipped ones."""
    required = {(r.id, name): r.required[name] for r in results for name in r.backends}
    return [
        pair
        for pair, (decision, _) in decisions(results).items()
        if decision not in required[pair] and decision != "skipped"
    ]


def lines(result: DistributionResult) -> Iterator[str]:
    """Yield a line for each backend, its decision first."""
    for name, cell in result.backends.items():
        yield f"{cell.decision.upper()} {result.id}   {name}"

"""Measure the accuracy of a sampler's probabilities on every backend."""

import numpy as np

from sampler_parity.harness.checks.accuracy.block import AccuracyCase
from sampler_parity.harness.checks.accuracy.record import (
    AccuracyFigures,
    AccuracyOnBackend,
    AccuracyResult,
    Ulps,
)
from sampler_parity.harness.checks.context import Ready, Terms, short_names
from sampler_parity.harness.checks.stages.prepared import Prepared, prepare
from sampler_parity.harness.correct.accuracy import Accuracy, measure
from sampler_parity.harness.correct.bounds import Reals
from sampler_parity.harness.protocol import ask
from sampler_parity.harness.protocol.interface import Backend, BackendFailure


def run(case: AccuracyCase, ready: Ready) -> AccuracyResult:
    """Return the figures of every backend."""
    prepared = prepare(case)
    by_backend = {}
    for backend in ready.backends:
        try:
            figures = figures_of(_measured(prepared, backend))
            by_backend[backend.name] = AccuracyOnBackend(figures=figures)
        except BackendFailure as failure:
            why = f"{failure.verdict}: {failure}"
            by_backend[backend.name] = AccuracyOnBackend(failed=why)
        except ValueError as error:
            by_backend[backend.name] = AccuracyOnBackend(failed=str(error))
    return _result(case, by_backend)


def died(case: AccuracyCase, terms: Terms, problem: str) -> AccuracyResult:
    """Return the record of a case that ends the process that measures it."""
    failed = AccuracyOnBackend(failed=f"crashed: {problem}")
    return _result(case, dict.fromkeys(short_names(terms.backends), failed))


def _result(case: AccuracyCase, backends: dict[str, AccuracyOnBackend]) -> AccuracyResult:
    (sampler,) = case.samplers
    return AccuracyResult(
        id=case.id, sampler=sampler, n_vocab=case.logits.n, rows=case.steps, backends=backends
    )


def _measured(ready: Prepared[AccuracyCase], backend: Backend) -> list[Accuracy]:
    setting, steps = ready.setting, ready.steps
    ran = ask.run(backend, setting, ready.rows, steps, whole_chain=False)
    return [
        measure(ready.build().samplers[0], row, got)
        for row, (got,) in zip(ready.rows, ran.stages, strict=True)
    ]


def figures_of(rows: list[Accuracy]) -> AccuracyFigures:
    """Return the figures of several rows."""
    kept = max(rows, key=lambda row: abs(row.kept_share))
    return AccuracyFigures(
        p=_ulps([row.p for row in rows]),
        mass=_ulps([row.mass for row in rows]),
        mass_share=max(row.mass_share for row in rows),
        kept_tokens=kept.kept_tokens,
        kept_share=kept.kept_share,
    )


def _ulps(errors: list[Reals]) -> Ulps:
    every = np.concatenate(errors)
    return Ulps(median=float(np.median(every)), largest=float(every.max()))

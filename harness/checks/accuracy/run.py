"""Measure the accuracy of a sampler's probabilities on every backend."""

from sampler_parity.harness.checks.accuracy.block import AccuracyCase
from sampler_parity.harness.checks.accuracy.record import AccuracyOnBackend, AccuracyResult
from sampler_parity.harness.checks.context import Ready, Terms, short_names
from sampler_parity.harness.checks.stages.prepared import Prepared, prepare
from sampler_parity.harness.correct.accuracy import accuracy_of
from sampler_parity.harness.protocol import client
from sampler_parity.harness.protocol.interface import Backend, BackendFailure


def run(case: AccuracyCase, ready: Ready) -> AccuracyResult:
    """Return the figures of every backend."""
    prepared = prepare(case)
    return _result(case, {backend.name: _on(backend, prepared) for backend in ready.backends})


def died(case: AccuracyCase, terms: Terms, problem: str) -> AccuracyResult:
    """Return the record of a case that ends the process that measures it."""
    failed = AccuracyOnBackend(failed=f"crashed: {problem}")
    return _result(case, dict.fromkeys(short_names(terms.backends), failed))


def _result(case: AccuracyCase, backends: dict[str, AccuracyOnBackend]) -> AccuracyResult:
    (sampler,) = case.samplers
    return AccuracyResult(
        id=case.id, sampler=sampler, n_vocab=case.logits.n, rows=case.steps, backends=backends
    )


def _on(backend: Backend, ready: Prepared[AccuracyCase]) -> AccuracyOnBackend:
    try:
        ran = client.run(backend, ready.setting, ready.rows, ready.steps, whole_chain=False)
        results = zip(ready.rows, ran.stages, strict=True)
        return accuracy_of((ready.build().samplers[0], row, got) for row, (got,) in results)
    except BackendFailure as failure:
        return AccuracyOnBackend(failed=f"{failure.verdict}: {failure}")

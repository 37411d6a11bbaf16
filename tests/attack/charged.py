"""Run a hostile adapter on the cases of the self-test."""

from pathlib import Path

from sampler_parity.harness.bundle.records import CaseResult
from sampler_parity.harness.checks.execute import execute
from sampler_parity.harness.checks.late_failures import LateFailures
from sampler_parity.harness.protocol.process import BackendProcess
from sampler_parity.maintenance.selftest.adapters import trial_cases
from tests.attack import hostile
from tests.support.alive import until


def charged(attack: hostile.Attack, backend: BackendProcess) -> tuple[list[CaseResult], set[Path]]:
    """Let it attack; return the results, charged to the case that caused them, and the scratch
    files. The backend is closed."""
    late, results, scratches = LateFailures([backend]), [], {backend.scratch.path}
    try:
        for case in trial_cases():
            results.append(execute(case, [backend]))
            late.item_ended()
            scratches.add(backend.scratch.path)
            if attack.harms_later and case.logits.n == hostile.TRIGGER:
                until(backend.scratch.harm)
        return late.blame(results), scratches
    finally:
        backend.close()

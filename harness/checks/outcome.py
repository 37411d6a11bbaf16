"""What a backend comes to in a case: a failure of it is a verdict, and the time counts."""

import time
from collections.abc import Callable

from sampler_parity.harness.checks.stages.record import BackendResult
from sampler_parity.harness.protocol.interface import BackendFailure


def outcome(judge: Callable[[], BackendResult]) -> BackendResult:
    """The result with its wall time. Never raises for what a backend does."""
    start = time.perf_counter()
    try:
        result = judge()
    except BackendFailure as failure:
        result = BackendResult(verdict=failure.verdict, detail=failure.whole)
    return result.model_copy(update={"wall_s": time.perf_counter() - start})

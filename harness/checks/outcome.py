"""Turn a failure of a backend in a case into a verdict, and measure the time."""

import time
from collections.abc import Callable

from sampler_parity.harness.checks.stages.record import BackendResult
from sampler_parity.harness.protocol.interface import BackendFailure


def outcome(judge: Callable[[], BackendResult]) -> BackendResult:
    """Return the result with its wall time. Never raises for a failure of a backend."""
    start = time.perf_counter()
    try:
        result = judge()
    except BackendFailure as failure:
        result = BackendResult(verdict=failure.verdict, detail=failure.whole)
    return result.model_copy(update={"wall_s": time.perf_counter() - start})

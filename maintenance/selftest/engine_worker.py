"""A fault of an engine as a worker: `mutant/engine ENGINE FAULT`, run by the engine's Python."""

from typing import Any

from sampler_parity.harness.errors import InputError
from sampler_parity.maintenance.selftest.engine_faults import faults_of


def Worker(engine: str, fault: str) -> Any:  # noqa: N802 - in the place of a class
    """Return the engine's worker with a fault. Raises InputError for an unknown fault."""
    faults = faults_of(engine)
    planted = faults.get(f"{engine}/{fault}")
    if planted is None or planted.of is None:
        names = ", ".join(f"mutant/engine/{name}" for name in faults) or "it has none"
        raise InputError(f"mutant/engine/{engine}/{fault}", "unknown", names)
    worker = planted.worker()
    hello = worker.hello
    worker.hello = lambda: hello().model_copy(update={"name": f"mutant/engine/{planted.name}"})
    return worker

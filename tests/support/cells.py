"""Cells of distribution tests, judged in this process."""

from contextlib import closing

from sampler_parity.harness.checks.distribution.block import Cell
from sampler_parity.harness.checks.distribution.record import DistributionResult
from sampler_parity.harness.checks.distribution.run import execute_cell
from sampler_parity.harness.protocol.server import InPlace
from sampler_parity.harness.statistics.plan import Budget

ERRORS = Budget(tests=10).each


def cell_on(cell: Cell, backend: InPlace, **options: object) -> DistributionResult:
    """Return the result of a cell on a backend, and close the backend."""
    with closing(backend):
        return execute_cell(cell, [backend], ERRORS, **options)  # type: ignore[arg-type]


def decision(cell: Cell, backend: InPlace) -> str:
    return cell_on(cell, backend).backends[backend.name].decision

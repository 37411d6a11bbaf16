"""The distribution tests of a run: cells to an executor, results to the bundle as they come."""

from concurrent.futures import Executor, as_completed

from sampler_parity.harness.bundle.records.distribution import DistributionResult
from sampler_parity.harness.bundle.writer import BundleWriter
from sampler_parity.harness.distribution.cell import execute_cell
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.run.cases import backend
from sampler_parity.harness.statistics.plan import Budget, Errors
from sampler_parity.harness.suite.blocks.distribution import Cell
from sampler_parity.reference import ChainError


def run_cells(
    cells: list[tuple[str, Cell]],
    names: list[str],
    budget: Budget,
    executor: Executor,
    writer: BundleWriter,
    seed: int = 0,
    timeout_s: float = 60.0,
) -> None:
    """Run (suite, cell) pairs. budget: of the whole run, not of what is left of it."""
    futures = [
        executor.submit(run_cell, suite, cell, names, budget.each, seed, timeout_s)
        for suite, cell in cells
    ]
    try:
        for future in as_completed(futures):
            writer.append(future.result())
    except BaseException:
        for future in futures:
            future.cancel()
        raise


def run_cell(
    suite: str, cell: Cell, names: list[str], errors: Errors, seed: int, timeout_s: float
) -> DistributionResult:
    """One cell on all backends; the function that an executor gets."""
    try:
        result = execute_cell(cell, [backend(name, timeout_s) for name in names], errors, seed)
    except ChainError as error:
        raise InputError(f"{suite}: {cell.id}", str(error), "correct the chain") from None
    return result.model_copy(update={"suite": suite})

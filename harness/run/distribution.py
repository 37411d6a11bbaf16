"""The distribution tests of a run: cells to an executor, results to the bundle as they come."""

from collections.abc import Iterator

from sampler_parity.harness.backends import registry
from sampler_parity.harness.bundle.writer import BundleWriter
from sampler_parity.harness.checks.distribution.block import Cell
from sampler_parity.harness.checks.distribution.record import CellOnBackend, DistributionResult
from sampler_parity.harness.checks.distribution.run import blank_result, execute_cell
from sampler_parity.harness.checks.progress import Seen, unseen
from sampler_parity.harness.checks.stages.prepared import prepare
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.processes.pool import Died
from sampler_parity.harness.run.cases import Executor, backend, versions_of
from sampler_parity.harness.statistics.plan import Budget, Errors
from sampler_parity.reference import ChainError


def run_cells(
    cells: list[tuple[str, Cell]],
    names: list[str],
    budget: Budget,
    executor: Executor,
    writer: BundleWriter,
    seed: int = 0,
    timeout_s: float = 60.0,
    seen: Seen = unseen,
    require_all: bool = False,
) -> None:
    """Run (suite, cell) pairs. budget: of the whole run, not of what is left of it."""

    def record(result: DistributionResult) -> None:
        writer.append(result)
        seen([result])

    def run(some: list[tuple[str, Cell]]) -> Iterator[tuple[tuple[str, Cell], str]]:
        """Each cell whose process died, and how."""
        versions = versions_of(writer.info, names)
        calls = [(*cell, versions, budget.each, seed, timeout_s, require_all) for cell in some]
        for place, outcome in executor.each(run_cell, calls):
            if isinstance(outcome, Died):
                yield some[place], str(outcome)
            else:
                record(outcome)

    for (suite, cell), how in run([cell for cell, _ in run(cells)]):
        record(ended_its_process(suite, cell, names, budget.each, how))


def ended_its_process(
    suite: str, cell: Cell, names: list[str], errors: Errors, how: str
) -> DistributionResult:
    """The result of a cell that ends the process that judges it: nothing is decided."""
    shorts = [registry.command_of(name)[0] for name in names]
    problem = f"crashed: the process that judged it died: {how}"
    refused = {name: CellOnBackend(decision="undecided", detail=problem) for name in shorts}
    blank = blank_result(cell, prepare(cell.case()), shorts, errors)
    return blank.model_copy(update={"suite": suite, "backends": refused})


def run_cell(
    suite: str,
    cell: Cell,
    names: dict[str, str],
    errors: Errors,
    seed: int,
    timeout_s: float,
    require_all: bool = False,
) -> DistributionResult:
    """One cell on all backends; the function that an executor gets. names: and their versions."""
    backends = [backend(name, timeout_s, version) for name, version in names.items()]
    try:
        result = execute_cell(cell, backends, errors, seed, require_all)
    except ChainError as error:
        raise InputError(f"{suite}: {cell.id}", str(error), "correct the chain") from None
    return result.model_copy(update={"suite": suite})

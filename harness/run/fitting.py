"""Whether a bundle that a run goes on with holds what the plan would have made: its own cases, with
what they require. A verdict alone says nothing of who wrote it; its digest does."""

from collections.abc import Callable

from sampler_parity.harness.backends.registry import command_of
from sampler_parity.harness.bundle.bundle import Result
from sampler_parity.harness.checks.case import Case
from sampler_parity.harness.checks.devices.record import DecodeResult
from sampler_parity.harness.checks.distribution.block import Cell
from sampler_parity.harness.checks.distribution.record import DistributionResult
from sampler_parity.harness.checks.invariance.record import InvarianceResult
from sampler_parity.harness.checks.stages.record import CaseResult
from sampler_parity.harness.run.plan import Plan


def misfit_of(plan: Plan) -> Callable[[Result], str]:
    """What of a result is not as its case has it, or "". plan: on the backends that run here."""
    cases = {case.id: (suite, case) for suite, case in plan.cases}
    cells = {cell.id: (suite, cell) for suite, cell in plan.cells}
    names = {command_of(name)[0] for name in plan.backends}

    def misfit(result: Result) -> str:
        if isinstance(result, DistributionResult):
            placed: tuple[str, Case | Cell] | None = cells.get(result.id)
        elif isinstance(result, CaseResult | DecodeResult | InvarianceResult):
            placed = cases.get(result.id)
        else:
            return ""
        if placed is None:
            return f"{result.kind} {result.id!r} is none of this run"
        suite, asked = placed
        if result.suite != suite:
            return f"{result.id!r} is of suite {suite}, and not {result.suite!r}"
        if result.backends.keys() != names:
            shown = ", ".join(result.backends) or "none"
            return f"{result.id!r} has results of other backends: {shown}"
        if isinstance(result, CaseResult) and result.accept not in ("identical", plan.asked.accept):
            return f"{result.id!r} accepts {result.accept}, and the run does not"
        if isinstance(result, CaseResult | DistributionResult):
            return _other_terms(result, asked)
        return ""

    return misfit


def _other_terms(result: CaseResult | DistributionResult, asked: Case | Cell) -> str:
    case = asked if isinstance(asked, Case) else asked.case()
    if result.samplers != case.samplers:
        return f"{result.id!r} has other samplers: {' '.join(result.samplers)}"
    for name in result.backends:
        required = asked.required(name)
        # what a release has no meaning of is required to be unsupported
        if result.required[name] not in (required, ["unsupported"]):
            told = " or ".join(result.required[name]) or "nothing"
            return f"{result.id!r} requires {' or '.join(required)} of {name}, and not {told}"
    return ""

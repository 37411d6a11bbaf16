"""Check that a bundle that a run continues holds what the plan would have made: its own cases, with
their requirements. A verdict alone does not identify its writer; its digest does."""

from collections.abc import Callable, Collection, Iterable
from typing import Any

from sampler_parity.harness.backends.registry import command_of
from sampler_parity.harness.bundle.records import Result
from sampler_parity.harness.bundle.records.case import CaseResult
from sampler_parity.harness.checks import is_judged, kind_of_record
from sampler_parity.harness.checks.distribution.record import DistributionResult
from sampler_parity.harness.checks.item import CheckItem
from sampler_parity.harness.run.plan import Plan
from sampler_parity.harness.verdicts import Accept


def misfit_of(plan: Plan) -> Callable[[Result], str]:
    """Return `misfit_among` of a plan, which is on the backends that run here."""
    names = {command_of(name)[0] for name in plan.backends}
    return misfit_among(plan.judged, names, plan.run_options.accept)


def misfit_among(
    judged: Iterable[CheckItem], names: Collection[str], accept: Accept
) -> Callable[[Result], str]:
    """Return a function that describes how a result differs from its case, or returns "". names: of
    the backends, as results have them."""
    items = {(item.kind.noun, item.id): item for item in judged}

    def misfit(result: Any) -> str:
        if not is_judged(result.kind):
            return ""
        item = items.get((kind_of_record(result.kind).noun, result.id))
        if item is None:
            return f"{result.kind} {result.id!r} is not part of this run"
        if result.suite != item.suite:
            return f"{result.id!r} is in suite {item.suite}, not {result.suite!r}"
        if result.backends.keys() != {*names}:
            backends = ", ".join(result.backends) or "none"
            return f"{result.id!r} has results of other backends: {backends}"
        if isinstance(result, CaseResult) and result.accept not in ("identical", accept):
            return f"{result.id!r} accepts {result.accept}, but the run does not"
        if isinstance(result, CaseResult) and _judged_otherwise(result, accept):
            return f"{result.id!r} was not judged with --accept correct, but the run is"
        if isinstance(result, CaseResult | DistributionResult):
            return _other_terms(result, item.check)
        return ""

    return misfit


def _judged_otherwise(result: CaseResult, accept: Accept) -> bool:
    """Return whether another judge decided a difference."""
    same = all(got.verdict == "identical" for got in result.backends.values())
    return accept == "correct" != result.accept and not same


def _other_terms(result: CaseResult | DistributionResult, check: Any) -> str:
    if result.samplers != check.samplers:
        return f"{result.id!r} has other samplers: {' '.join(result.samplers)}"
    for name in result.backends:
        required = check.required(name)
        # a sampler that a release gives no meaning must be unsupported
        if result.required[name] not in (required, ["unsupported"]):
            got = " or ".join(result.required[name]) or "nothing"
            return f"{result.id!r} requires {' or '.join(required)} of {name}, not {got}"
    return ""

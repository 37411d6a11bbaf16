"""Check that a bundle holds what its suites expand to.

`--resume` refuses a bundle whose results are not those of the plan: its own cases, with their
requirements. The gate expands the suites of a finished bundle again, before it judges. Names,
samplers, steps and requirements of each case come from the suites of this version, so a bundle
cannot state its own. A verdict alone does not identify its writer; its digest does."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any, cast, get_args

from sampler_parity.harness.backends.registry import command_of
from sampler_parity.harness.bundle.bundle import Bundle
from sampler_parity.harness.bundle.info import RECORDING
from sampler_parity.harness.bundle.records import CaseResult, Result
from sampler_parity.harness.checks import Profile, is_judged, kind_of_record
from sampler_parity.harness.checks.distribution.record import DistributionResult
from sampler_parity.harness.checks.item import CheckItem
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.processes.garbage import collection_paused
from sampler_parity.harness.rows import load, records
from sampler_parity.harness.run.plan import Plan
from sampler_parity.harness.suite import file as suite
from sampler_parity.harness.suite.ids import shipped
from sampler_parity.harness.suite.items import items_of
from sampler_parity.harness.suite.timings import rule_chains
from sampler_parity.harness.verdicts import Accept
from sampler_parity.reference.chronology import NEWEST


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


_RUN_AGAIN = "run them again with this version, or judge the bundle with the version that made it"


def recomputed(bundle: Bundle, suite_files: Iterable[Path] = ()) -> list[CheckItem]:
    """Return what the suites of a bundle expand to. suite_files: of suites
    that are not shipped; by default they are where the run found them.

    Raises InputError with the first contradiction: another suite, or a case that is missing, not
    of its suite, or has other samplers, steps or requirements.
    """
    info = bundle.info
    if info.profile not in get_args(Profile):
        raise InputError(bundle.folder, f"has an unknown profile {info.profile!r}", _RUN_AGAIN)
    _refuse_records(bundle)
    if not info.suites:  # of a recording, of a server, of a check of the harness itself
        _refuse_cases(bundle)
        return []
    if lost := {"timeout", "repeat"} - info.options.keys():
        raise InputError(bundle.folder, f"lacks the option {min(lost)}", _RUN_AGAIN)
    by_id = {suite.suite_id(path): path for path in suite_files}
    files = {name: _file(bundle, name, by_id) for name in info.suites}
    with collection_paused():
        items = items_of(files, cast(Profile, info.profile), info.seed, tuple(info.only))
        for problem in _problems(bundle, items):
            raise InputError(bundle.folder, problem, _RUN_AGAIN)
    return items


def _refuse_cases(bundle: Bundle) -> None:
    """Raise InputError for a case of a suite, where no suite was run."""
    for result in chain(bundle.cases, bundle.other_results):
        if result.suite != RECORDING:
            problem = f"was made without suites, but {result.id!r} is in suite {result.suite!r}"
            raise InputError(bundle.folder, problem, _RUN_AGAIN)


def _refuse_records(bundle: Bundle) -> None:
    """Raise InputError for records that their row in harness/rows refuses."""
    for kind, row in records().items():
        if row.refused and bundle.records.get(kind) and (problem := load(row.refused)(bundle)):
            raise InputError(bundle.folder, problem, _RUN_AGAIN)


def _file(bundle: Bundle, name: str, own_files: dict[str, Path]) -> suite.SuiteFile:
    """Return the file of a suite as it was in the run. Raises InputError."""
    ours = shipped().get(name)
    claimed = bundle.info.paths.get(name)
    if ours and claimed:
        problem = f"suite {name} was read from {claimed}, but a shipped suite has this name"
        raise InputError(bundle.folder, problem, "rename its folder, and run again")
    path = ours or own_files.get(name) or Path(claimed or "")
    if not path.is_file():
        problem = f"suite {name} does not exist here: {claimed or 'none is shipped with this name'}"
        raise InputError(bundle.folder, problem, "use --suite FILE, or another version")
    file = suite.read_suite(path)
    if file.sha256 != bundle.info.suites[name]:
        problem = f"was made with another version of suite {name}: its digest differs"
        raise InputError(bundle.folder, problem, _RUN_AGAIN)
    return file


def _problems(bundle: Bundle, items: list[CheckItem]) -> Iterator[str]:
    info = bundle.info
    names = [name for name, backend in info.backends.items() if not backend.unavailable]
    judged = [item for item in items if not item.kind.timed]
    accept = cast(Accept, info.options.get("accept", "identical"))
    misfit = misfit_among(judged, names, accept)
    by_id = {item.id: item for item in judged}
    for result in chain(bundle.cases, bundle.other_results):
        if is_judged(result.kind) and (problem := misfit(result)):
            yield problem
        elif isinstance(result, CaseResult):
            yield from _of_case(result, by_id[result.id], bundle, accept)
    has = Counter[tuple[str, str]]((result.kind, result.id) for result in bundle.other_results)
    has.update(("case", id) for id in bundle.cases.ids())
    # Counters rather than sets: a second record of a case is a contradiction, too.
    expected = Counter(pair for item in items for pair in _results(item, names))
    ruled = {("timing", timed.id) for timed in rule_chains()} if info.profile == "full" else ()
    for kind, id in expected - has:
        yield f"lacks {kind} {id!r}, which is in its suites"
    for kind, id in has - expected:
        if (kind, id) not in ruled:
            yield f"{kind} {id!r} is in none of its suites"


def _results(item: CheckItem, names: list[str]) -> list[tuple[str, str]]:
    """Return kind and id of each result of an item."""
    ids = [f"{item.id}@{name}" for name in names] if item.kind.each else [item.id]
    return [(item.kind.record.kind, id) for id in ids]


def _of_case(case: CaseResult, item: CheckItem, bundle: Bundle, accept: Accept) -> Iterator[str]:
    crashed = case.unasked or any(got.verdict == "crashed" for got in case.backends.values())
    if case.accept != accept and not crashed:
        yield f"{case.id!r} accepts {case.accept}, but its run accepts {accept}"
    for name, required in case.required.items():
        newest = bundle.info.backends[name].reference == NEWEST
        if newest and required != (of_suite := item.check.required(name)):
            accepted = " or ".join(of_suite)
            yield f"{case.id!r} requires {' or '.join(required)} of {name}, not {accepted}"
    if item.kind.name == "stages":
        most = len(item.check.plan()[0])
        fewer = case.steps < most and case.judged and not case.refusal and not crashed
        if case.steps > most or fewer:
            yield f"{case.id!r} has {case.steps} steps, but {most} in its suite"

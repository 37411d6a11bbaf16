"""Judge items: send them to an executor and write their records to a bundle as they come.

A portion of items is the unit of work. Each process of the executor starts its backends once and
keeps them. If a process dies, each item of its portion is run again alone. An item that kills a
process by itself is recorded as such, and the run continues.
"""

import itertools
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from sampler_parity.harness.backends import registry
from sampler_parity.harness.bundle.artifacts import write_content
from sampler_parity.harness.bundle.info import SHORT
from sampler_parity.harness.bundle.records import CaseResult, ChangeResult, Result
from sampler_parity.harness.checks import execute
from sampler_parity.harness.checks.context import Executor, Ready, RunContext, Terms
from sampler_parity.harness.checks.item import CheckItem
from sampler_parity.harness.checks.late_failures import LateFailures
from sampler_parity.harness.checks.stages.reference_cache import answering
from sampler_parity.harness.errors import ChangedFilesError, InputError
from sampler_parity.harness.processes.pool import Died
from sampler_parity.harness.protocol.interface import BackendFailure
from sampler_parity.harness.protocol.process import BackendProcess
from sampler_parity.harness.run.batching import AtOnce
from sampler_parity.harness.run.crash_journal import REASON, InFlight
from sampler_parity.harness.run.early_stop import Streak, stopped_lines
from sampler_parity.harness.run.started import backend
from sampler_parity.harness.strict import like
from sampler_parity.reference import ChainError
from sampler_parity.reference.chronology import NEWEST, parted
from sampler_parity.reference.platforms import DEFAULT

_FIRST_ITEMS = (1, 9)  # so that the first verdict shows at once
_PORTION_ITEMS = 50
_PORTION_VALUES = 4_000_000  # sum of the costs; cases of large vocabularies make small portions

T = TypeVar("T")


def run_portion(portion: Sequence[CheckItem], terms: Terms, folder: str | None) -> list[Any]:
    """Return the records of items. An executor calls this. folder: of the bundle."""
    backends = [
        backend(name, terms.timeout_s, terms.versions.get(name, ""), terms.files.get(name, ()))
        for name in terms.backends
    ]
    setup = Ready(backends, Path(folder) / "artifacts" if folder else None, terms)
    records: list[Any] = []
    late_failures = LateFailures(backends)
    streaks = [Streak(terms, index) for index in range(len(backends))]
    with answering(terms.answers), InFlight(terms.in_flight) as in_flight:
        at_once = AtOnce(portion, setup, in_flight, late_failures)
        try:
            for index, item in enumerate(portion):
                in_flight.items = [item.id]
                stopped = [streak.stop() for streak in streaks]
                for process, stop in zip(backends, stopped, strict=True):
                    process.asking = in_flight.asking
                    fatal = process.name in terms.fatal.get(item.id, ())
                    process.refused = BackendFailure("crashed", REASON) if fatal else stop
                if len(backends) == 1 and stopped[0] and item.kind.record.kind == "case":
                    # without the reference, which takes longest
                    blank = execute.died(item.check, terms, str(stopped[0]), stopped[0].verdict)
                    records.append(like(blank, suite=item.suite, accept=terms.accept))
                else:
                    at_once.ask(index)
                    records.append(_judged(item, setup))
                for process, streak in zip(backends, streaks, strict=True):
                    streak.ended(process.name, records[-1])
                late_failures.item_ended()
        except ChangedFilesError as error:
            error.records = _stamped(at_once.blame(records), backends)
            raise
    blamed = at_once.blame(records)
    for process in backends:
        registry.check_files(process)
    return _stamped(blamed, backends)


def _stamped(records: list[Any], backends: Sequence[BackendProcess]) -> list[Any]:
    """Return records with the digest of the files that each backend was started with."""
    digests = {process.name: registry.digest_of_files(process)[:SHORT] for process in backends}
    return [like(record, digests=digests) for record in records]


def _judge_of(item: CheckItem) -> Any:
    """Return checks/execute.py for a case; else the module that the row of its kind names, in
    checks/rows.py."""
    return execute if item.kind.record.kind == "case" else item.kind.module


def _judged(item: CheckItem, setup: Ready) -> Any:
    try:
        record = _judge_of(item).run(item.check, setup)
    except ChainError as error:
        where = f"{item.suite}: case {item.id}"
        raise InputError(where, str(error), "correct the chain") from None
    return like(record, suite=item.suite)


def run_apart(portion: Sequence[CheckItem], terms: Terms) -> tuple[list[Any], dict[str, bytes]]:
    """Run a portion where the bundle is out of reach; return the artifacts, by name, as well."""
    with tempfile.TemporaryDirectory() as folder:
        artifacts = Path(folder) / "artifacts"
        artifacts.mkdir()
        records = run_portion(portion, terms, folder)
        return records, {path.name: path.read_bytes() for path in artifacts.iterdir()}


def portions(items: Sequence[CheckItem], first: Sequence[int] = ()) -> Iterator[list[CheckItem]]:
    """Yield items in portions of about equal work. first: how many items the first ones have."""
    sizes = itertools.chain(first, itertools.repeat(_PORTION_ITEMS))
    for _, of_kind in itertools.groupby(items, lambda item: item.kind.noun):
        portion: list[CheckItem] = []
        values, size = 0.0, next(sizes)
        for item in of_kind:
            portion.append(item)
            values += item.cost
            alone = item.kind.name == "distribution"  # takes seconds or minutes
            if alone or len(portion) == size or values > _PORTION_VALUES:
                yield portion
                portion, values, size = [], 0, next(sizes)
        if portion:
            yield portion


def survived(
    executor: Executor,
    function: Callable[..., Any],
    portions: Sequence[list[T]],
    more: tuple[Any, ...] = (),
) -> Iterator[tuple[list[T], Any]]:
    """Yield each portion with the result of the function. If a process died, its items come later,
    one by one; an item that kills a process by itself has the result Died. more: arguments."""
    lost: list[T] = []
    for index, outcome in executor.each(function, [(portion, *more) for portion in portions]):
        if isinstance(outcome, Died):
            lost += portions[index]
        else:
            yield portions[index], outcome
    for index, outcome in executor.each(function, [([item], *more) for item in lost]):
        yield [lost[index]], outcome


def judge(items: Sequence[CheckItem], context: RunContext, fail_fast: int = 0) -> list[str]:
    """Return the ids of the records; append each to the bundle as its portion ends. fail_fast: stop
    after so many failures (0: never), counted after each round of portions that run at once."""
    ids: list[str] = []
    failed = 0
    all_portions = [*portions(items, _FIRST_ITEMS)]
    # With fail_fast, as many portions as run at once, so that the count is checked in between.
    at_once = context.executor.size if fail_fast else max(1, len(all_portions))
    function = run_apart if context.isolated else run_portion
    more = (context.terms,) if context.isolated else (context.terms, str(context.writer.folder))
    for first in range(0, len(all_portions), at_once):
        if 0 < fail_fast <= failed and all_portions[first][0].kind.noun == "cases":
            break
        for portion, outcome in _kept_if_changed(
            survived(context.executor, function, all_portions[first : first + at_once], more),
            context,
        ):
            records = outcome
            if isinstance(outcome, Died):
                (item,) = portion
                records = [_died(item, context.terms, str(outcome))]
            elif context.isolated:
                records = _kept(outcome, context)
            context.record(records)
            for line in stopped_lines(records, context.stopped, items, context.writer.info):
                context.announce(line)
            ids += [record.id for record in records]
            failed += sum(isinstance(r, CaseResult) and not r.ok for r in records)
    return ids


def _kept_if_changed(
    outcomes: Iterator[tuple[list[T], Any]], context: RunContext
) -> Iterator[tuple[list[T], Any]]:
    """Yield outcomes; if a backend's files changed, record the items before that, then raise."""
    try:
        yield from outcomes
    except ChangedFilesError as error:
        if not context.isolated:
            context.record(error.records)
        raise


def _died(item: CheckItem, terms: Terms, how: str) -> Result:
    """Return the record of an item that kills the process that judges it."""
    problem = f"the process that judged it died: {how}"
    record: Any = _judge_of(item).died(item.check, terms, problem)
    result: Result = record.model_copy(update={"suite": item.suite})
    return result


def _kept(sent: tuple[list[Result], dict[str, bytes]], context: RunContext) -> list[Result]:
    """Put the artifacts of records from elsewhere into the bundle; return the records."""
    records, files = sent
    for name, content in files.items():
        write_content(context.writer.folder / "artifacts" / name, content)
    return records


def has_changed(target: str) -> bool:
    """Return whether a sampler works differently in this release; False for another platform,
    because no change is shown there."""
    release, platform = parted(target)
    return release != NEWEST and platform == DEFAULT


def run_changes(
    judged: list[CaseResult],
    cases: Mapping[str, Any],
    names: dict[str, str],
    timeout_s: float = 60.0,
) -> list[ChangeResult]:
    """Return the changes since the releases that judged these backends. An executor may call
    this."""
    from sampler_parity.harness.failures import drift  # few runs have changes

    releases = {registry.command_of(name)[0]: release for name, release in names.items()}
    full = {registry.command_of(name)[0]: name for name in names}

    def start(name: str) -> BackendProcess:
        return backend(full[name], timeout_s)

    return list(drift.change_results(judged, cases, releases, start))

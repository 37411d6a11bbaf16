"""Execute a plan on executors and write the results into a bundle.

Judged items go to processes or to a cluster. Timed items run after them, one at a time, on this
machine. At the end the bundle is read once and closed with its footer.
"""

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sampler_parity.harness.backends import registry
from sampler_parity.harness.backends.artifact import changed_inside
from sampler_parity.harness.backends.registry import command_of
from sampler_parity.harness.bundle import bundle
from sampler_parity.harness.bundle.info import Footer, RunInfo
from sampler_parity.harness.bundle.lock import locked
from sampler_parity.harness.bundle.records import CaseResult
from sampler_parity.harness.bundle.writer import BundleWriter, create
from sampler_parity.harness.bundle.writer import resume as resume_bundle
from sampler_parity.harness.checks import KINDS, NOUNS, OTHERS
from sampler_parity.harness.checks.context import RunContext, Terms
from sampler_parity.harness.checks.distribution.record import DistributionResult
from sampler_parity.harness.checks.item import CheckItem, Checks
from sampler_parity.harness.checks.stages.own_random import DRAWING
from sampler_parity.harness.checks.stages.reference_cache import Answers
from sampler_parity.harness.checks.timed_records import SkipRatioResult
from sampler_parity.harness.correct.bias import biases
from sampler_parity.harness.processes.phase import phase
from sampler_parity.harness.processes.pool import Pool
from sampler_parity.harness.run.cluster import Cluster, labels
from sampler_parity.harness.run.crash_journal import deaths, fatal_of
from sampler_parity.harness.run.eta import Watch, work_of
from sampler_parity.harness.run.judging import has_changed, judge, portions, run_changes
from sampler_parity.harness.run.plan import Plan, RunOptions, address_of
from sampler_parity.harness.run.resume_check import misfit_of
from sampler_parity.harness.run.started import Intent, absent_of, describe, versions_of
from sampler_parity.harness.suite.items import files_of, items_of
from sampler_parity.harness.suite.timings import rule_chains
from sampler_parity.reference.chronology import NEWEST

FREQUENCIES = "distribution/frequencies"
Say = Callable[[str], object]


@dataclass(frozen=True)
class FinishedRun:
    """A finished run. bundle: None if no backend runs here. unavailable: backends that do not, with
    the reason. not_run: cases left because too many had failed; the bundle is then unfinished."""

    bundle: bundle.Bundle | None
    unavailable: dict[str, str]
    not_run: int = 0

    @property
    def met(self) -> bool:
        """Whether something was run, and all that was judged is as required."""
        content = self.bundle
        if content is None:
            return False
        if not all(result.ok for result, _ in content.cases.alike()) or biases(content.cases):
            return False
        measured = [(kind, content.records.get(kind.record.kind, [])) for kind in OTHERS]
        judged = content.cases or any(kind.counts and results for kind, results in measured)
        return bool(judged) and not any(kind.failed(results) for kind, results in measured)

    @property
    def unjudged(self) -> list[str]:
        """The backends that skipped every case and distribution test of the run."""
        content = self.bundle
        if content is None or content.of(SkipRatioResult):
            return []
        cases, cells = (case for case, _ in content.cases.alike()), content.of(DistributionResult)
        judgements = [(name, got.verdict) for case in cases for name, got in case.backends.items()]
        drawn = [(name, got.decision) for cell in cells for name, got in cell.backends.items()]
        judged = {name for name, outcome in (*judgements, *drawn) if outcome != "skipped"}
        return sorted({name for name, _ in (*judgements, *drawn)} - judged)


def run(plan: Plan, folder: Path, resume: bool, watch: Watch, say: Say) -> FinishedRun:
    """Execute the plan. Raises InputError if a backend or the output folder cannot be used.

    resume: continue the bundle in the folder, if there is one.
    """
    start = time.monotonic()
    with ExitStack() as until_closed:
        judged = [*portions(plan.judged)]
        with executor_of(plan.run_options, len(judged)) as executor:
            on_cluster = isinstance(executor, Cluster)
            info = described(plan.intent, executor if on_cluster or judged else None)
            info = info.model_copy(update={"options": plan.options, "paths": plan.paths})
            if plan.run_options.reference == "own":
                plan, info = as_reported(plan, info)
            plan, info = with_frequencies(plan, info, say)
            unavailable = absent_of(info.backends, plan.releases)
            plan = plan.on(name for name in plan.backends if name not in unavailable)
            if not plan.backends:
                return FinishedRun(None, unavailable)
            # Only now: a run without a backend must leave no folder behind.
            until_closed.enter_context(locked(folder))
            started = resume and (folder / "results.jsonl").exists()
            writer = (
                resume_bundle(folder, info, misfit_of(plan), changed_inside)
                if started
                else create(folder, info)
            )
            died = until_closed.enter_context(deaths(folder))
            remaining = plan.left(writer.done)
            progress = until_closed.enter_context(watch(work_of(plan, writer.done)))
            if isinstance(executor, Pool):
                executor.waiting = lambda: progress([])
            terms = replace(
                plan.terms,
                versions=versions_of(info, plan.backends),
                files={name: info.backends[command_of(name)[0]].files for name in plan.backends},
                fatal=fatal_of(died),
                in_flight=None if on_cluster else folder,
                answers=Answers(plan.expansions.cache, info.started)
                if plan.expansions and not on_cluster
                else None,
            )
            context = RunContext(terms, writer, executor, progress, on_cluster, say)
            unasked = _judge(plan, remaining, context, {item for item, _ in died})
        if unasked:
            stopped = bundle.read(writer.folder)
            footer = _footer(stopped, time.monotonic() - start)
            return FinishedRun(replace(stopped, footer=footer), unavailable, unasked)
        if not context.stopped:
            _measure(plan, remaining, context, say)
        elif timed := sum(item.kind.timed for item in remaining.items):
            say(f"stopped  {timed:,} timed items are not run: --resume --keep-going runs them")
        if plan.expansions:
            with phase("checking the cache"):  # last, so that no result waits for it
                plan.expansions.spot_check(info.started)
        for name, files in {} if on_cluster else terms.files.items():
            registry.refuse_changed(name, files)
        return FinishedRun(finish(writer, time.monotonic() - start), unavailable)


def executor_of(options: RunOptions, tasks: int) -> Pool | Cluster:
    """Return the cluster of `--executor`, or processes of this machine, no more than there are
    tasks. Raises InputError."""
    address = address_of(options)
    if address:
        return Cluster(address, labels(options.backends, list(options.labels)))
    return Pool(options.jobs, tasks)


@phase("starting the backends")
def described(intent: Intent, executor: Pool | Cluster | None) -> RunInfo:
    """Describe the run where items will run: the backends then stand ready there. executor: None,
    in this process."""
    if executor is None:
        return describe(replace(intent, ready_s=None))
    if isinstance(executor, Cluster):
        return executor.describe(replace(intent, state=None))
    info: RunInfo = executor.call(describe, intent)
    return info


def as_reported(plan: Plan, info: RunInfo) -> tuple[Plan, RunInfo]:
    """Judge each adapter by the platform that it reports to be built for. Raises InputError."""
    meanings = registry.references_as_reported(plan.releases, info.backends)
    backends = dict(info.backends)
    for name, target in meanings.items():
        short = command_of(name)[0]
        backends[short] = backends[short].model_copy(update={"reference": target or NEWEST})
    return replace(plan, releases=meanings), info.model_copy(update={"backends": backends})


def with_frequencies(plan: Plan, info: RunInfo, say: Say) -> tuple[Plan, RunInfo]:
    """Add the suite of distributions, if a backend draws with random numbers of its own: its
    other cases follow its draws, whatever they are."""
    own = [name for name, backend in info.backends.items() if backend.random == "own"]
    if not own or plan.run_options.only or FREQUENCIES in plan.suites:
        return plan, info
    if not any(DRAWING.intersection(item.check.samplers) for item in plan.of("cases")):
        return plan, info
    files, _ = files_of([FREQUENCIES])
    options = plan.run_options
    items = [*plan.items, *items_of(files, options.profile, options.seed, ())]
    items.sort(key=lambda item: NOUNS.index(item.kind.noun))
    suites = plan.suites | {name: file.sha256 for name, file in files.items()}
    say(f"draws    {FREQUENCIES} is added: {', '.join(own)} draws with its own random numbers")
    return replace(plan, items=items, suites=suites), info.model_copy(update={"suites": suites})


def _judge(plan: Plan, remaining: Plan, context: RunContext, suspects: Collection[str]) -> int:
    """Judge items in processes; then minimize failures and record the changes between releases.
    Return how many cases were not run any more. suspects: items that a process of the run may have
    died of, which run before the others and alone."""
    writer = context.writer
    alone = [item for item in remaining.judged if item.id in suspects]
    ended = {id for item in alone for id in judge([item], context)}
    trusted = [item for item in remaining.judged if item.id not in suspects]
    ended.update(judge(trusted, context, plan.run_options.fail_fast))
    unasked = sum(item.id not in ended for item in remaining.of("cases"))
    judged = bundle.read(writer.folder).cases if plan.of("cases") else []
    by_id = Checks(plan.of("cases"))
    _minimize(judged, by_id, context)
    old = {n: r for n, r in plan.releases.items() if r is not None and has_changed(r)}
    if old and by_id and not unasked:  # else its process would be the first, forked with the lock
        timeout_s = context.terms.timeout_s
        with phase("comparing the releases"):
            changes = context.executor.call(run_changes, judged, by_id, old, timeout_s)
            writer.append(*(change for change in changes if change.id not in writer.done))
    return unasked


def _minimize(judged: Sequence[CaseResult], by_id: Mapping[str, Any], context: RunContext) -> None:
    """Append the counterexamples of the failures."""
    # It loads all kinds of cases, for which the first verdict would wait.
    from sampler_parity.harness.failures.contrast import with_contrast
    from sampler_parity.harness.run.shrinking import minimize, with_known

    with phase("minimizing failures"):
        small = [*minimize(judged, by_id, context)]
    with phase("diagnosing failures"):
        known = [*with_known(small, judged, by_id, context)]
        for record in with_contrast(known, judged, by_id):
            context.writer.append(record)


def _measure(plan: Plan, remaining: Plan, context: RunContext, say: Say) -> None:
    """Run the timed items: kind by kind, one item after the other."""
    for kind in [kind for kind in KINDS.values() if kind.timed]:
        batches = [(remaining.of(kind.noun), context)]
        if plan.ruled and kind.name == "timing":
            rule = [CheckItem("timing/samplers", chain) for chain in rule_chains()]
            pair = dict.fromkeys([plan.backends[0], "reference"])
            terms = Terms(pair, context.terms.timeout_s, context.terms.seed)
            fresh = [item for item in rule if item.id not in context.writer.done]
            batches.insert(0, (fresh, replace(context, terms=terms)))
        for items, on in batches:
            if items:
                kind.module.measure(items, on)
                if kind.measured:
                    say(kind.measured.format(n=len(items), names=", ".join(on.terms.backends)))


@phase("writing the bundle")
def finish(writer: BundleWriter, wall_s: float) -> bundle.Bundle:
    """Close a bundle with its footer; return its final content."""
    content = bundle.read(writer.folder)
    return replace(content, footer=writer.close(_footer(content, wall_s)))


def _footer(content: bundle.Bundle, wall_s: float) -> Footer:
    return Footer(
        cases=len(content.cases),
        steps=sum(n * result.steps for result, n in content.cases.alike()),
        wall_s=wall_s,
        cells=len(content.of(DistributionResult)),
        skip_ratios=len(content.of(SkipRatioResult)),
        records=content.counts,
    )

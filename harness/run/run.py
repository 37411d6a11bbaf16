"""A run: what a plan says, on executors, into a bundle.

Cases and distribution tests go to processes or to a cluster; what is timed comes after them, alone
and on this machine. At the end the bundle is read, once, and closed with its footer.
"""

import sys
import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path

from sampler_parity.harness.backends import registry
from sampler_parity.harness.bundle import bundle
from sampler_parity.harness.bundle.info import BackendInfo, RunInfo
from sampler_parity.harness.bundle.lock import locked
from sampler_parity.harness.bundle.records.ends import Footer
from sampler_parity.harness.bundle.writer import BundleWriter, create
from sampler_parity.harness.bundle.writer import resume as resume_bundle
from sampler_parity.harness.checks.distribution.decisions import unmet
from sampler_parity.harness.checks.progress import Seen, beating
from sampler_parity.harness.checks.skip_ratio import run as skip_ratio
from sampler_parity.harness.checks.stages.record import CaseResult
from sampler_parity.harness.processes.pool import Pool
from sampler_parity.harness.run import cases, distribution, timing
from sampler_parity.harness.run.cluster import Cluster, labels
from sampler_parity.harness.run.fitting import misfit_of
from sampler_parity.harness.run.pace import Watch, work_of
from sampler_parity.harness.run.plan import Asked, Plan, address_of
from sampler_parity.harness.run.shrinking import make_small, seconds_for, with_known
from sampler_parity.harness.statistics.plan import Budget
from sampler_parity.harness.suite.timings import rule_chains
from sampler_parity.reference.chronology import NEWEST

Say = Callable[[str], object]


@dataclass(frozen=True)
class Run:
    """A run that ended. bundle: None where nothing runs here. absent: backends that do not, why.
    left: cases that were not run, for too many had failed; the bundle is unfinished then."""

    bundle: bundle.Bundle | None
    absent: dict[str, str]
    left: int = 0

    @property
    def met(self) -> bool:
        """Whether something was run, and all that was judged is as required."""
        done = self.bundle
        if done is None:
            return False
        measured = done.timings or done.throughputs or done.skip_ratios or done.invariances
        ok = all(result.ok for result in done.cases)
        ok = ok and all(result.ok for result in done.skip_ratios)
        return ok and not unmet(done.cells) and bool(done.cases or done.cells or measured)

    @property
    def unjudged(self) -> list[str]:
        """The backends that every case and distribution test of the run was skipped on."""
        done = self.bundle
        if done is None or done.skip_ratios:
            return []
        asked = [(name, got.verdict) for case in done.cases for name, got in case.backends.items()]
        drawn = [(name, got.decision) for cell in done.cells for name, got in cell.backends.items()]
        judged = {name for name, said in (*asked, *drawn) if said != "skipped"}
        return sorted({name for name, _ in (*asked, *drawn)} - judged)


def run(plan: Plan, folder: Path, resume: bool, watch: Watch, say: Say) -> Run:
    """Do what is planned. Raises InputError where no backend runs here, or the folder will not do.

    resume: go on with the bundle in the folder, if there is one.
    """
    start = time.monotonic()
    with ExitStack() as until_closed:
        chunks = sum(1 for _ in cases.chunks(plan.cases))
        with executor_of(plan.asked, chunks + len(plan.cells)) as executor:
            judging = isinstance(executor, Cluster) or plan.cases or plan.cells
            info = described(
                plan.asked, plan.suites, plan.releases, executor if judging else None
            ).model_copy(update={"options": plan.options, "paths": plan.paths})
            if plan.asked.reference == "own":
                plan, info = as_said(plan, info)
            absent = absent_of(info.backends, plan.releases)
            plan = plan.on(name for name in plan.backends if name not in absent)
            if not plan.backends:
                return Run(None, absent)
            until_closed.enter_context(locked(folder))
            started = resume and (folder / "results.jsonl").exists()
            writer = (
                resume_bundle(folder, info, misfit_of(plan)) if started else create(folder, info)
            )
            left = plan.left(writer.done)
            seen = until_closed.enter_context(watch(work_of(plan, writer.done)))
            if isinstance(executor, Pool):
                executor.waiting = lambda: seen([])
            unasked = _judge(plan, left, executor, writer, seen)
        if unasked:
            stopped = bundle.read(writer.folder)
            footer = _footer(stopped, time.monotonic() - start)
            return Run(replace(stopped, footer=footer), absent, unasked)
        _measure(plan, left, writer, seen, say)
        return Run(finish(writer, time.monotonic() - start), absent)


def executor_of(asked: Asked, tasks: int) -> Pool | Cluster:
    """The cluster of `--executor`, or processes of this machine, no more than there are tasks.
    Raises InputError."""
    address = address_of(asked)
    if address:
        return Cluster(address, labels(asked.backends, list(asked.labels)))
    return Pool(asked.jobs, tasks)


def described(
    asked: Asked,
    suites: dict[str, str],
    releases: dict[str, str | None],
    executor: Pool | Cluster | None,
) -> RunInfo:
    """Asked where cases will run: their backends then stand ready there. executor: None, in this
    process."""
    command = ["sampler-parity", *sys.argv[1:]]
    of_run = (
        version("sampler-parity"), command, suites, asked.profile, asked.seed, releases, asked.only
    )  # fmt: skip
    if executor is None:
        return cases.describe(*of_run)
    if isinstance(executor, Cluster):
        return executor.describe(*of_run, asked.timeout_s)
    info: RunInfo = executor.call(cases.describe, *of_run, asked.timeout_s)
    return info


def as_said(plan: Plan, info: RunInfo) -> tuple[Plan, RunInfo]:
    """Each adapter judged by the platform that it says it is built for. Raises InputError."""
    meanings = registry.references_as_said(plan.releases, info.backends)
    backends = dict(info.backends)
    for name, meaning in meanings.items():
        short = registry.command_of(name)[0]
        backends[short] = backends[short].model_copy(update={"reference": meaning or NEWEST})
    return replace(plan, releases=meanings), info.model_copy(update={"backends": backends})


def absent_of(info: dict[str, BackendInfo], names: Iterable[str]) -> dict[str, str]:
    """The backends that do not run here, and why."""
    why = {name: info[registry.command_of(name)[0]].unavailable for name in names}
    return {name: reason for name, reason in why.items() if reason}


def _judge(
    plan: Plan, left: Plan, executor: Pool | Cluster, writer: BundleWriter, seen: Seen
) -> int:
    """The cases and distribution tests, and what changed between releases. How many cases were not
    run any more."""
    asked = plan.asked
    apart = isinstance(executor, Cluster)
    start = time.monotonic()
    fresh = cases.run_cases(
        left.cases,
        plan.releases,
        executor,
        writer,
        seen,
        asked.timeout_s,
        apart,
        cases.Terms(
            asked.repeat,
            asked.accept,
            asked.require_all,
            cases.versions_of(writer.info, plan.backends),
        ),
        asked.fail_fast,
        executor.size,
    )
    judged = [result for result in fresh if isinstance(result, CaseResult)]
    if writer.done and plan.cases:
        judged = bundle.read(writer.folder).cases
    by_id = {case.id: case for _, case in plan.cases}
    small = list(
        make_small(
            judged,
            by_id,
            writer.info,
            plan.releases,
            executor,
            asked.timeout_s,
            seconds_for(time.monotonic() - start),
            seen,
            writer.done,
        )
    )
    for record in with_known(small, judged, by_id, plan.releases, executor):
        writer.append(record)
    if len(fresh) < len(left.cases):
        return len(left.cases) - len(fresh)
    budget = Budget(tests=len(plan.cells) * len(plan.backends))
    distribution.run_cells(
        left.cells,
        plan.backends,
        budget,
        executor,
        writer,
        asked.seed,
        asked.timeout_s,
        seen,
        asked.require_all,
    )
    old = {n: r for n, r in plan.releases.items() if r is not None and cases.has_changed(r)}
    if old and plan.cases:  # else its process would be the first, and forked with the lock
        for change in executor.call(cases.run_changes, judged, by_id, old, asked.timeout_s):
            if change.id not in writer.done:
                writer.append(change)
    return 0


def _measure(plan: Plan, left: Plan, writer: BundleWriter, seen: Seen, say: Say) -> None:
    """Skip ratios, times, tokens a second: one after the other."""
    asked, names = plan.asked, plan.backends
    with beating(seen) if plan.workloads else nullcontext():
        skip_ratio.run_workloads(plan.workloads, names, writer, asked.seed, asked.timeout_s, seen)
    if plan.ruled:
        pair = list(dict.fromkeys([names[0], "reference"]))
        rule = [("timing/samplers", c) for c in rule_chains() if c.result_id not in writer.done]
        if rule:
            timing.time_chains(
                rule, pair, timing.ROUNDS["quick"], writer, asked.seed,
                timeout_s=asked.timeout_s, seen=seen,
            )  # fmt: skip
            say(f"timed    {len(rule)} chains on {', '.join(pair)}")
    if left.timings:
        timing.time_chains(
            left.timings,
            names,
            plan.rounds,
            writer,
            asked.seed,
            asked.instructions,
            asked.timeout_s,
            seen,
        )
        say(f"timed    {len(left.timings)} chains on {', '.join(names)}")
    if left.widths:
        generations = timing.GENERATIONS[asked.profile]
        timing.decode_widths(
            left.widths, names, generations, writer, asked.seed, asked.timeout_s, seen
        )
        say(f"decoded  {len(left.widths)} settings on {', '.join(names)}")


def finish(writer: BundleWriter, wall_s: float) -> bundle.Bundle:
    """Close a bundle with its footer; what it holds then."""
    done = bundle.read(writer.folder)
    return replace(done, footer=writer.close(_footer(done, wall_s)))


def _footer(done: bundle.Bundle, wall_s: float) -> Footer:
    return Footer(
        cases=len(done.cases),
        steps=sum(result.steps for result in done.cases),
        wall_s=wall_s,
        cells=len(done.cells),
        skip_ratios=len(done.skip_ratios),
        records=done.counts,
    )

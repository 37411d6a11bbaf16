"""Running suites: what `run` does."""

import sys
import time
from concurrent.futures import Executor, ProcessPoolExecutor
from functools import partial
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path
from typing import Literal

import typer

from sampler_parity.harness.backends import registry
from sampler_parity.harness.bundle import bundle
from sampler_parity.harness.bundle.info import BackendInfo
from sampler_parity.harness.bundle.records.ends import Footer
from sampler_parity.harness.bundle.summary import summarize
from sampler_parity.harness.cli.progress import Progress
from sampler_parity.harness.distribution.decisions import unmet
from sampler_parity.harness.errors import InputError, cannot_write
from sampler_parity.harness.run import cases as run
from sampler_parity.harness.run import distribution, skip_ratio, timing
from sampler_parity.harness.run.cluster import Cluster, labels
from sampler_parity.harness.suite import file as suite
from sampler_parity.harness.suite.blocks.distribution import Cell
from sampler_parity.harness.suite.blocks.skip_ratio import Workload
from sampler_parity.harness.suite.case import Case
from sampler_parity.reference.releases import NEWEST
from sampler_parity.reports.write import summary_lines

Profile = Literal["quick", "full"]


say = partial(print, flush=True)


def run_suites(
    wanted: list[str],
    names: list[str],
    output: Path | None,
    resume: bool,
    jobs: int,
    profile: Profile,
    json: Path | None,
    case: list[str] | None,
    seed: int,
    timeout: float,
    rounds: int | None,
    reference: str | None,
    if_available: bool,
    where: str,
    label: list[str] | None,
    instructions: bool,
) -> None:
    found = suite.find_suites(wanted)
    files = [suite.read_suite(path) for path in found]
    timed = timing.read(files, profile if not case else "full")
    cases, cells, workloads = _chosen(files, profile, seed, case or [], timed.ids)
    if case:
        timed = timed.only(lambda i: any(_matches(i, pattern) for pattern in case))
    releases = registry.references(names, reference)
    folder = output or Path("bundles") / time.strftime("%Y%m%d-%H%M%S")
    digests = {suite.suite_id(file.path): file.sha256 for file in files}
    remote = _cluster(where, names, label or [])
    if remote is not None and (timed.ids or workloads):
        problem = "timings and skip-ratio measurements are taken on this machine alone"
        raise InputError("--executor", problem, "run them without it, to a bundle of their own")
    info = (remote or run).describe(
        version("sampler-parity"),
        ["sampler-parity", *sys.argv[1:]],
        digests,
        profile,
        seed,
        releases,
        case,
    )
    here = available(info.backends, releases, if_available)
    if not here:
        return
    started = resume and (folder / "results.jsonl").exists()
    writer = (bundle.resume if started else bundle.create)(folder, info)
    start = time.monotonic()
    with Progress(len(cases) - len(writer.done)) as progress, remote or _executor(jobs) as executor:
        apart = remote is not None
        run.run_cases(cases, here, executor, writer, progress.update, timeout, apart)
        distribution.run_cells(cells, list(here), executor, writer, seed, timeout)
        _changes(cases, here, executor, writer)
    skip_ratio.run_workloads(workloads, list(here), writer, seed)
    alone = profile == "full" and not case and remote is None  # a cluster's times mean nothing
    if alone and _ruled(files, list(here)):
        pair = list(dict.fromkeys([*list(here)[:1], "reference"]))
        timing.run_timings(timing.rule_timings(), pair, writer, seed, True, say)
    quick = profile == "quick"
    timing.run_timings(timed, list(here), writer, seed, quick, say, instructions, rounds)
    done = bundle.read(folder)
    footer = Footer(
        cases=len(done.cases),
        steps=sum(result.steps for result in done.cases),
        wall_s=time.monotonic() - start,
        cells=len(done.cells),
        skip_ratios=len(done.skip_ratios),
        records=done.counts,
    )
    writer.append(footer)
    _finish(folder, json)
    if len(here) < len(releases) and not if_available:
        print(f"{len(releases) - len(here)} of the backends do not run here: exit status 2")
        raise typer.Exit(2)


def _chosen(
    files: list[suite.SuiteFile], profile: Profile, seed: int, only: list[str], timed: list[str]
) -> tuple[list[tuple[str, Case]], list[tuple[str, Cell]], list[tuple[str, Workload]]]:
    """The cases, distribution tests and skip-ratio measurements of the suites, or those that `only`
    names. timed: the ids of what is timed, which it may name, too."""
    taken: Profile = profile if not only else "full"
    named = [(suite.suite_id(file.path), file) for file in files]
    cases = [(name, case) for name, f in named for case in suite.expand(f, taken, seed)]
    cells = [(name, cell) for name, f in named for cell in suite.expand_cells(f, taken)]
    workloads = [(name, w) for name, f in named for w in suite.expand_workloads(f, taken)]
    ids = [*(item.id for _, item in (*cases, *cells, *workloads)), *timed]
    for pattern in only:
        if not any(_matches(i, pattern) for i in ids):
            raise InputError(f"--case {pattern}", "no such case", "see the ids in a report")
    if only:
        cases = [pair for pair in cases if any(_matches(pair[1].id, p) for p in only)]
        cells = [pair for pair in cells if any(_matches(pair[1].id, p) for p in only)]
        workloads = [pair for pair in workloads if any(_matches(pair[1].id, p) for p in only)]
    return cases, cells, workloads


def _matches(case: str, pattern: str) -> bool:
    return case.startswith(pattern[:-1]) if pattern.endswith("*") else case == pattern


def available(
    found: dict[str, BackendInfo], releases: dict[str, str | None], none_will_do: bool = False
) -> dict[str, str | None]:
    """The backends that run here, and the release of each. Raises InputError where none does."""
    why = {name: found[registry.command_of(name)[0]].unavailable for name in releases}
    if all(why.values()):
        name, reason = next(iter(why.items()))
        if not none_will_do:
            raise InputError(f"backend {name}", f"does not run here: {reason}")
        print(f"nothing was run: backend {name} does not run here: {reason}")
    return {name: release for name, release in releases.items() if not why[name]}


def _cluster(where: str, names: list[str], label: list[str]) -> Cluster | None:
    """The cluster of `--executor`; None: this machine. Raises InputError."""
    kind, _, address = where.partition(":")
    if kind == "dask" and address:
        return Cluster(address, labels(names, label))
    if where != "local":
        raise InputError(f"--executor {where}", "unknown", "use local or dask:ADDRESS")
    if label:
        raise InputError("--label", "is of a cluster", "use --executor dask:ADDRESS")
    return None


def _executor(jobs: int) -> Executor:
    return ProcessPoolExecutor(jobs or None, mp_context=get_context("spawn"))


def _changes(
    cases: list[tuple[str, Case]],
    releases: dict[str, str | None],
    executor: Executor,
    writer: bundle.BundleWriter,
) -> None:
    """What changed since the releases that backends were judged by."""
    old = {name: release for name, release in releases.items() if release not in (None, NEWEST)}
    if old:
        done = bundle.read(writer.folder).cases
        by_id = {case.id: case for _, case in cases}
        for change in executor.submit(run.run_changes, done, by_id, old).result():
            if change.id not in writer.done:
                writer.append(change)


def _ruled(files: list[suite.SuiteFile], names: list[str]) -> bool:
    """The reference is timed beside the suites of llama.cpp's samplers, on a build of it."""
    about = {suite.suite_id(file.path).partition("/")[0] for file in files}
    builds = ("llama.cpp", "llama.cpp/graph")
    return "parity" in about and registry.parse(names[0]).engine in builds


def _finish(folder: Path, json: Path | None) -> None:
    finished = bundle.read_finished(folder)
    if json is not None:
        try:
            json.write_text(summarize(finished).model_dump_json(indent=2) + "\n")
        except OSError as error:
            raise cannot_write(json, error) from None
    for line in summary_lines(finished):
        print(line)
    print(f"bundle   {folder}")
    ok = all(result.ok for result in finished.cases) and not unmet(finished.cells)
    ok = ok and all(result.ok for result in finished.skip_ratios)
    measured = finished.timings or finished.throughputs or finished.skip_ratios
    if not ok or not (finished.cases or finished.cells or measured):
        raise typer.Exit(1)

"""The command line `sampler-parity`. Exit status: 0 met, 1 not met, 2 usage or set-up error."""

import sys
import tempfile
import time
from concurrent.futures import BrokenExecutor, Executor, ProcessPoolExecutor
from enum import StrEnum
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.console import Console

from sampler_parity.harness import lint
from sampler_parity.harness.backends import registry
from sampler_parity.harness.backends.llama_cpp import builds
from sampler_parity.harness.bundle import bundle
from sampler_parity.harness.bundle.records.case import BackendInfo, Footer
from sampler_parity.harness.bundle.summary import summarize
from sampler_parity.harness.cli.compare import compare, history_app
from sampler_parity.harness.cli.gate import gate_command
from sampler_parity.harness.cli.progress import Progress
from sampler_parity.harness.cli.trie import trie_bench
from sampler_parity.harness.distribution import calibration, calibration_timed
from sampler_parity.harness.distribution.decisions import unmet
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.golden import verify as golden
from sampler_parity.harness.golden.capture import capture as capture_logits
from sampler_parity.harness.inputs import fixtures
from sampler_parity.harness.mutants import selftest
from sampler_parity.harness.parity.adapter_check import check_adapter
from sampler_parity.harness.parity.explain import explanation
from sampler_parity.harness.run import cases as run
from sampler_parity.harness.run import distribution, skip_ratio, timing
from sampler_parity.harness.run.cluster import Cluster, labels
from sampler_parity.harness.suite import file as suite
from sampler_parity.harness.suite.blocks.distribution import Cell
from sampler_parity.harness.suite.blocks.skip_ratio import Workload
from sampler_parity.harness.suite.case import Case
from sampler_parity.harness.timing import selfcheck
from sampler_parity.reference.releases import NEWEST
from sampler_parity.reports.write import summary_lines, write_report

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Checks LLM token samplers against a reference, to the bit.",
)

golden_app = typer.Typer(no_args_is_help=True, help="The recorded logits and results.")
app.add_typer(golden_app, name="golden")
adapter_app = typer.Typer(no_args_is_help=True, help="For authors of adapters.")
app.add_typer(adapter_app, name="adapter")
builds_app = typer.Typer(no_args_is_help=True, help="Other builds of llama.cpp.")
app.add_typer(builds_app, name="builds")

app.command("trie-bench")(trie_bench)
app.command("gate")(gate_command)
app.command("compare")(compare)
app.add_typer(history_app, name="history")

out = Console(soft_wrap=True, highlight=False, markup=False)

Profile = Literal["quick", "full"]


class Format(StrEnum):
    """Of a report; Typer takes lists of enumerations, not of literals."""

    HTML = "html"
    MD = "md"
    JSON = "json"
    JUNIT = "junit"


def main() -> None:
    """Entry point: every InputError is one line on stderr and exit status 2."""
    try:
        app()
    except InputError as error:
        print(f"sampler-parity: {error}", file=sys.stderr)
        sys.exit(2)
    except BrokenExecutor:
        print("sampler-parity: a process of the run died: run with --resume", file=sys.stderr)
        sys.exit(2)


@app.command()
def backends() -> None:
    """List what is configured, what runs here, and why the rest does not."""
    for name, about in registry.BUILT_IN.items():
        info = registry.inspect(name)
        if info.unavailable:
            out.print(f"{name:<18} unavailable: {info.unavailable}")
        else:
            out.print(f"{name:<18} {info.version}: {about}")
    for line in builds.describe():
        out.print(f"llama.cpp@{line}" if not line.startswith(" ") else line)


@app.command("run")
def run_command(
    suites: Annotated[list[str] | None, typer.Argument(help="e.g. parity, parity/top_p")] = None,
    backend: Annotated[
        list[str] | None, typer.Option("--backend", "-b", help="a name or NAME=COMMAND")
    ] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="the bundle")] = None,
    resume: Annotated[bool, typer.Option(help="go on with the bundle, if there is one")] = False,
    jobs: Annotated[int, typer.Option("-j", min=0, help="processes; 0: one a core")] = 0,
    profile: Annotated[Profile, typer.Option(help="how much")] = "quick",
    json: Annotated[Path | None, typer.Option(help="write counts to this file")] = None,
    case: Annotated[list[str] | None, typer.Option(help="only this: an id, or PREFIX*")] = None,
    seed: Annotated[int, typer.Option(min=0, help="shifts the random suites")] = 0,
    timeout: Annotated[float, typer.Option(min=0.1, help="seconds for one request")] = 60.0,
    rounds: Annotated[
        int | None, typer.Option(min=8, help="of every timed chain; by default the profile's")
    ] = None,
    reference: Annotated[
        str | None, typer.Option(help="whose meaning: a release, or `own`: each build's own")
    ] = None,
    if_available: Annotated[
        bool, typer.Option(help="a backend that does not run here is listed, and no failure")
    ] = False,
    where: Annotated[
        str, typer.Option("--executor", help="local, or dask:ADDRESS of a scheduler")
    ] = "local",
    label: Annotated[
        list[str] | None, typer.Option(help="only workers of the cluster with this resource")
    ] = None,
    instructions: Annotated[
        bool, typer.Option(help="of what is timed, count the instructions, too: slow")
    ] = False,
) -> None:
    """Run suites on backends, compare with the reference, write a bundle."""
    names = backend or ["llama.cpp"]
    wanted = suites or ["parity"]
    found = suite.find_suites(wanted)
    timings = [path for path in found if timing.is_timing(path)]
    files = [suite.read_suite(path) for path in found if path not in timings]
    timed = timing.read(timings, profile == "quick" and not case)
    cases, cells, workloads = _chosen(files, profile, seed, case or [], timed.ids)
    if case:
        timed = timed.only(lambda i: any(_matches(i, pattern) for pattern in case))
    releases = registry.references(names, reference)
    folder = output or Path("bundles") / time.strftime("%Y%m%d-%H%M%S")
    digests = {suite.suite_id(file.path): file.sha256 for file in files}
    digests |= {suite.suite_id(path): fixtures.digest(path) for path in timings}
    remote = _cluster(where, names, label or [])
    if remote is not None and (timings or workloads):
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
    here = _available(info.backends, releases, if_available)
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
        timing.run_timings(timing.rule_timings(), pair, writer, seed, True, out.print)
    quick = profile == "quick"
    timing.run_timings(timed, list(here), writer, seed, quick, out.print, instructions, rounds)
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
        out.print(f"{len(releases) - len(here)} of the backends do not run here: exit status 2")
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


def _available(
    found: dict[str, BackendInfo], releases: dict[str, str | None], none_will_do: bool = False
) -> dict[str, str | None]:
    """The backends that run here, and the release of each. Raises InputError where none does."""
    why = {name: found[registry.command_of(name)[0]].unavailable for name in releases}
    if all(why.values()):
        name, reason = next(iter(why.items()))
        if not none_will_do:
            raise InputError(f"backend {name}", f"does not run here: {reason}")
        out.print(f"nothing was run: backend {name} does not run here: {reason}")
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
    return "parity" in about and names[0].startswith("llama.cpp")


def _finish(folder: Path, json: Path | None) -> None:
    finished = bundle.read_finished(folder)
    if json is not None:
        try:
            json.write_text(summarize(finished).model_dump_json(indent=2) + "\n")
        except OSError as error:
            raise InputError(json, f"cannot write: {error.strerror}") from None
    for line in summary_lines(finished):
        out.print(line)
    out.print(f"bundle   {folder}")
    ok = all(result.ok for result in finished.cases) and not unmet(finished.cells)
    ok = ok and all(result.ok for result in finished.skip_ratios)
    measured = finished.timings or finished.throughputs or finished.skip_ratios
    if not ok or not (finished.cases or finished.cells or measured):
        raise typer.Exit(1)


@app.command()
def explain(
    folder: Annotated[Path, typer.Argument(metavar="BUNDLE")],
    case: Annotated[str, typer.Argument(metavar="CASE")],
) -> None:
    """Show where a case first differs, values side by side, and its shrunk counterexample."""
    for line in explanation(folder, case):
        out.print(line)


@app.command()
def report(
    folders: Annotated[list[Path], typer.Argument(metavar="BUNDLE...")],
    formats: Annotated[list[Format] | None, typer.Option("--format", "-f")] = None,
    output: Annotated[Path, typer.Option("--output", "-o")] = Path("report"),
) -> None:
    """Write the report of one or more bundles: index.html over its pages."""
    for path in write_report(folders, output, [str(f) for f in formats or Format]):
        out.print(str(path))


@app.command()
def capture(
    model: Annotated[Path, typer.Option(help="a GGUF model")],
    prompts: Annotated[Path, typer.Option(help=".jsonl with id and text, or .txt")],
    output: Annotated[Path, typer.Option("--output", "-o")],
    dtype: Annotated[Literal["float32", "float16"], typer.Option()] = "float32",
    max_rows: Annotated[int | None, typer.Option(min=1, help="evenly spaced")] = None,
    threads: Annotated[int, typer.Option(min=1)] = 1,
) -> None:
    """Capture the logits of any model as a fixture."""
    capture_logits(model, prompts, output, dtype, max_rows, threads)
    out.print(str(output))


@app.command()
def calibrate(
    output: Annotated[Path | None, typer.Option("--output", "-o", help="the bundle")] = None,
    runs: Annotated[int, typer.Option(min=10, help="of every fault")] = 1000,
    null_runs: Annotated[int, typer.Option(min=10, help="of a right sampler")] = 10_000,
    seed: Annotated[int, typer.Option(min=0)] = 1,
    backend: Annotated[str, typer.Option("--backend", "-b", help="whose time is taken")] = "",
) -> None:
    """Measure what the distribution tests themselves get wrong and what they catch."""
    folder = output or Path("bundles") / time.strftime("calibration-%Y%m%d-%H%M%S")
    names = registry.references([backend] if backend else [], None)
    info = run.describe(
        version("sampler-parity"), ["sampler-parity", *sys.argv[1:]], {}, "full", seed, names
    )
    if names:
        _available(info.backends, names)
    writer = bundle.create(folder, info)
    result = calibration.calibrate(seed, runs, null_runs)
    if backend:
        result = calibration_timed.with_times(result, run.backend(backend, 600.0))
    writer.append(result, Footer(cases=0, steps=0, wall_s=result.wall_s))
    for line in summary_lines(bundle.read_finished(folder)):
        out.print(line)
    out.print(f"bundle   {folder}")
    if not all(claim.met for claim in result.claims):
        raise typer.Exit(1)


@app.command("timing-selfcheck")
def timing_selfcheck_command(
    output: Annotated[Path | None, typer.Option("--output", "-o", help="the bundle")] = None,
    trials: Annotated[int, typer.Option(min=10, help="comparisons of each slow-down")] = 200,
    seed: Annotated[int, typer.Option(min=0)] = 1,
) -> None:
    """Measure how often timings mislead here, and which slow-downs they notice."""
    folder = output or Path("bundles") / time.strftime("timing-selfcheck-%Y%m%d-%H%M%S")
    info = run.describe(
        *(version("sampler-parity"), ["sampler-parity", *sys.argv[1:]], {}, "full", seed),
        registry.references([selfcheck.NATIVE], None),
    )
    _available(info.backends, {selfcheck.NATIVE: None})
    writer = bundle.create(folder, info)
    result = selfcheck.selfcheck(trials, seed, out.print)
    writer.append(result, Footer(cases=0, steps=0, wall_s=result.wall_s))
    for line in summary_lines(bundle.read_finished(folder)):
        out.print(line)
    out.print(f"bundle   {folder}")
    if not result.met:
        raise typer.Exit(1)


@golden_app.command()
def verify() -> None:
    """Check every fixture against its digest, and the reference against the recorded results."""
    for line in golden.verify(fixtures.golden_folder()):
        out.print(line)


@golden_app.command()
def regenerate(
    accept: Annotated[bool, typer.Option(help="replace the fixtures with the new ones")] = False,
) -> None:
    """Make every fixture again and say what differs."""
    with tempfile.TemporaryDirectory() as made:
        for line in golden.regenerate(fixtures.golden_folder(), Path(made), accept):
            out.print(line)


@adapter_app.command("check")
def adapter_check(
    command: Annotated[list[str], typer.Argument(metavar="-- COMMAND...")],
) -> None:
    """Tell the author of an adapter what it lacks."""
    failed = 0
    for check in check_adapter(command):
        state = {True: "ok", False: "FAILED", None: "not claimed"}[check.passed]
        failed += check.passed is False
        out.print(f"{state:<12} {check.name}" + (f": {check.detail}" if check.detail else ""))
    if failed:
        raise typer.Exit(1)


@builds_app.command("add")
def builds_add(
    what: Annotated[str, typer.Argument(metavar="node-llama-cpp@VERSION|NAME=FOLDER")],
    release: Annotated[str | None, typer.Option(help="of a folder that does not say it")] = None,
) -> None:
    """Fetch a prebuilt libllama with npm, or register a folder; use it as -b llama.cpp@NAME."""
    build = builds.add(what, release)
    out.print(f"{build.name}  {build.release or 'release unknown'}  sha256 {build.sha256}")


@builds_app.command("list")
def builds_list() -> None:
    """The registered builds: release and devices, or why one cannot be used."""
    for line in builds.describe():
        out.print(line)


@app.command("selftest")
def selftest_command(
    names: Annotated[list[str] | None, typer.Argument(metavar="MUTANT...")] = None,
    jobs: Annotated[int, typer.Option("-j", min=0, help="processes; 0: one a core")] = 0,
    processes: Annotated[bool, typer.Option(help="each mutant in a process of its own")] = False,
) -> None:
    """Run every planted fault as a backend; all must be caught."""
    result = selftest.run_selftest(names, jobs, out.print, processes)
    if not result.passed:
        raise typer.Exit(1)


@app.command("lint")
def lint_command() -> None:
    """Check suites, golden provenance and schemas."""
    problems = lint.lint(suite.suites_folder())
    for problem in problems:
        out.print(problem)
    if problems:
        raise typer.Exit(1)
    out.print("lint     no problems")

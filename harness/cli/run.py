"""The command `run`."""

import shlex
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from sampler_parity.harness.cli import complete, options
from sampler_parity.harness.cli.folders import dated
from sampler_parity.harness.cli.output import line_target, lines_to, print_line, write_data
from sampler_parity.harness.errors import InputError, Interrupted
from sampler_parity.harness.processes.garbage import collection_paused
from sampler_parity.harness.sanitize import limits
from sampler_parity.harness.sanitize.printable import escaped
from sampler_parity.harness.verdicts import Accept

if TYPE_CHECKING:
    from sampler_parity.harness.bundle.bundle import Bundle
    from sampler_parity.harness.run.eta import Pace
    from sampler_parity.harness.run.plan import Plan

Profile = Literal["quick", "full"]


def run_command(
    suites: Annotated[
        list[str] | None,
        typer.Argument(help="e.g. parity, parity/top_p", autocompletion=complete.suites),
    ] = None,
    backend: options.Backends = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="the bundle")] = None,
    settings: Annotated[Path | None, typer.Option(help="a file: test its chain")] = None,
    resume: Annotated[
        bool, typer.Option(help="continue the bundle if there is one", show_default=False)
    ] = False,
    jobs: options.Jobs = 0,
    profile: Annotated[Profile, typer.Option(help="how many cases")] = "quick",
    json: Annotated[
        Path | None, typer.Option(help="write counts to this file; -: print them alone")
    ] = None,
    case: Annotated[
        list[str] | None, typer.Option(help="only this id or pattern: 'top_p/*'")
    ] = None,
    sampler: Annotated[
        list[str] | None, typer.Option(help="only cases with this sampler, of all suites")
    ] = None,
    seed: Annotated[
        int, typer.Option(min=0, max=limits.WHOLE, help="shifts the random suites")
    ] = 0,
    timeout: options.Timeout = 60.0,
    rounds: Annotated[
        int | None,
        typer.Option(
            min=8, max=limits.ROUNDS, help="rounds of every timed chain; default: the profile's"
        ),
    ] = None,
    reference: Annotated[
        str | None,
        typer.Option(help="compare with: RELEASE, PLATFORM, RELEASE/PLATFORM; `own`: each build's"),
    ] = None,
    if_available: Annotated[
        bool,
        typer.Option(
            help="list a backend that does not run here; it is not a failure", show_default=False
        ),
    ] = False,
    where: options.Executor = "local",
    label: options.Labels = None,
    instructions: Annotated[
        bool,
        typer.Option(help="also count the instructions of timed chains: slow", show_default=False),
    ] = False,
    repeat: Annotated[
        int,
        typer.Option(
            min=1, max=limits.ROUNDS, help="run each case this often; if it differs it is flaky"
        ),
    ] = 1,
    fail_fast: Annotated[
        int, typer.Option(min=0, max=limits.WHOLE, help="stop after so many failures; 0: never")
    ] = 0,
    sandbox: Annotated[
        bool, typer.Option("--sandbox", help="run backends without network and write access: Linux")
    ] = False,
    accept: Annotated[
        Accept,
        typer.Option(help="what else passes: ties, any correct rounding, last digits"),
    ] = "identical",
    require_all: Annotated[
        bool, typer.Option("--require-all", help="fail cases that a backend does not support")
    ] = False,
    cache: Annotated[
        bool,
        typer.Option(
            help="read results of the reference that this code computed before", show_default=False
        ),
    ] = True,
    keep_going: Annotated[
        bool,
        typer.Option("--keep-going", help="ask on after five equal timeouts or crashes in a row"),
    ] = False,
    plan: Annotated[
        bool, typer.Option("--plan", help="list what would run, with counts, and run nothing")
    ] = False,
    quiet: options.Quiet = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="a line for each result as it comes")
    ] = False,
) -> None:
    """Run suites on backends, compare with the reference, write a bundle.

    Examples:
      sampler-parity run parity/top_p -b llama.cpp --plan
      sampler-parity run parity/top_p -b "mine=node my-adapter.js" -o bundles/mine
      sampler-parity run -b "mine=node my-adapter.js" --case top_p/crossing-token-is-kept
      sampler-parity run --sampler top_p -b "mine=node my-adapter.js"
      sampler-parity run parity -b llama.cpp -o bundles/mine --resume

    Exit status: 0 every case is as required; 1 one is not; 2 bad input, or a run that cannot go on;
    130 interrupted: --resume goes on.
    """
    with collection_paused():
        from sampler_parity.harness.bundle.bundle import done_ids
        from sampler_parity.harness.run.plan import RunOptions, lines, plan_of
        from sampler_parity.harness.suite.ids import suites_of_cases
        from sampler_parity.harness.suite.items import OF_SAMPLERS, SAMPLER

    _refuse_unknown(sampler or [])
    if settings is not None and not settings.is_file():
        raise InputError(settings, "no such file", "name a file of settings")
    own = [] if settings is None else [str(settings.absolute())]
    named = [*(suites or []), *own] or suites_of_cases(case or [])
    of_claims = not named and not sampler and not require_all and _of_user(backend or [])
    run_options = RunOptions(
        suites=named or (OF_SAMPLERS if sampler or of_claims else ["parity"]),
        backends=backend or ["llama.cpp"],
        profile=profile,
        only=(*(case or ()), *(f"{SAMPLER}{name}" for name in sampler or ())),
        seed=seed,
        timeout_s=timeout,
        rounds=rounds,
        instructions=instructions,
        reference=reference,
        executor=where,
        labels=tuple(label or ()),
        jobs=jobs,
        repeat=repeat,
        fail_fast=fail_fast,
        sandbox=sandbox,
        accept=accept,
        require_all=require_all,
        cache=cache,
        keep_going=keep_going,
    )
    folder = output or dated()
    with lines_to(line_target(json, quiet)):
        planned = _claimed(plan_of(run_options)) if of_claims else plan_of(run_options)
        if plan:
            for line in lines(planned, done_ids(folder) if resume else set()):
                print_line(line)
            return
        reporting = RunOutput(json, if_available, quiet, verbose, output_given=output is not None)
        run_and_report(planned, folder, resume, reporting)


def _of_user(backends: list[str]) -> bool:
    """Return whether there are backends and all are programs of the user."""
    from sampler_parity.harness.backends.registry import parse

    return bool(backends) and all(parse(name).command for name in backends)


def _claimed(plan: "Plan") -> "Plan":
    """Return the plan with the suites of which a backend claims a case, and print them. If a
    backend does not run here, all stay."""
    from sampler_parity.harness.checks.claims import claimed_by
    from sampler_parity.harness.protocol.interface import BackendFailure
    from sampler_parity.harness.run.started import backend

    processes = [backend(name, plan.run_options.timeout_s) for name in plan.backends]
    taken: dict[str, list[bool]] = {}
    try:
        for process in processes:
            process.hello()
        for item in plan.items:
            claimed = any(claimed_by(item.check, process) for process in processes)
            taken.setdefault(item.suite, []).append(claimed)
    except BackendFailure:
        return plan
    taken = {name: claimed for name, claimed in taken.items() if any(claimed)}
    if not taken:
        return plan
    cases = [case for claimed in taken.values() for case in claimed]
    by_greeting = f"{len(taken)} of {len(plan.suites)} by the greeting"
    print_line(f"suites   {by_greeting}, {len(cases):,} cases, {cases.count(False):,} are skipped")
    for group in dict.fromkeys(name.partition("/")[0] for name in taken):
        names = [name.partition("/")[2] for name in taken if name.startswith(f"{group}/")]
        print_line(f"         {group}: {', '.join(names)}")
    suites = {name: digest for name, digest in plan.suites.items() if name in taken}
    return replace(plan, suites=suites, items=[i for i in plan.items if i.suite in taken])


def _in_other_suites(plan: "Plan") -> str:
    """Return how many more cases of a sampler other suites have, and the command that runs them,
    after the suite of a sampler on programs of the user; else ""."""
    from sampler_parity.harness.suite.items import quick_cases

    options, (first, *others) = plan.run_options, plan.suites
    group, _, sampler = first.partition("/")
    total = quick_cases().get(sampler, 0) if group == "parity" and not others else 0
    if not total or options.only or options.profile != "quick" or not _of_user(options.backends):
        return ""
    backends = [word for name in options.backends for word in ("-b", name)]
    accept = ["--accept", options.accept] if options.accept != "identical" else []
    command = shlex.join(["sampler-parity", "run", "--sampler", sampler, *backends, *accept])
    return f"{total - len(plan.items):,} cases of it are in other suites: {command}"


def _refuse_unknown(samplers: list[str]) -> None:
    """Raise InputError for a name that no sampler has."""
    if samplers:
        from sampler_parity.harness.engines.samplers import ALL_SAMPLERS
        from sampler_parity.harness.sanitize.near import meant
        from sampler_parity.reference.registry import REFERENCE_SAMPLERS

        for name in samplers:
            if name not in ALL_SAMPLERS:
                hint = meant(name, ALL_SAMPLERS, REFERENCE_SAMPLERS)
                raise InputError(f"--sampler {name}", "no such sampler", hint)


@dataclass(frozen=True)
class RunOutput:
    """How a run is reported. json: file for its counts. output_given: the user named the folder."""

    json: Path | None = None
    if_available: bool = False
    quiet: bool = False
    verbose: bool = False
    output_given: bool = True


def run_and_report(plan: "Plan", folder: Path, resume: bool, reporting: RunOutput) -> None:
    """Run a plan and print its outcome. Raises Exit for statuses 1 and 2."""
    from sampler_parity.harness.checks.distribution.record import DistributionResult
    from sampler_parity.harness.cli.bundle_summary import next_command, show
    from sampler_parity.harness.cli.progress import Progress
    from sampler_parity.harness.run.plan import left_out
    from sampler_parity.harness.run.run import run

    for line in left_out(plan):
        print_line(line)
    progress = Progress(reporting.quiet, reporting.verbose)
    try:
        finished = run(plan, folder, resume, progress, print_line)
    except KeyboardInterrupt:
        raise interrupted(progress.pace, folder, reporting.output_given) from None
    if finished.bundle is None:
        name, reason = next(iter(finished.unavailable.items()))
        if not reporting.if_available:
            raise InputError(f"backend {name}", f"does not run here: {reason}")
        print_line(f"nothing was run: backend {name} does not run here: {reason}")
        return
    if reporting.json is not None:
        write_data(reporting.json, counts(finished.bundle))
    show(finished.bundle)
    if finished.not_run:
        failures = f"{plan.run_options.fail_fast:,} failures"
        stopped = f"after {failures}, {finished.not_run:,} cases were not run"
        print_line(f"stopped  {stopped}: add --resume to go on")
    if finished.met and (more := _in_other_suites(plan)):
        print_line(f"more     {more}")
    print_line(f"next     {next_command(finished.bundle, finished.met)}")
    if not finished.met:
        raise typer.Exit(1)
    if finished.unjudged:
        names, cells = ", ".join(finished.unjudged), finished.bundle.of(DistributionResult)
        n = len(finished.bundle.cases) + len(cells)
        print_line(f"nothing was judged on {names}: all of {n:,} cases skipped")
        raise typer.Exit(2)
    if finished.unavailable and not reporting.if_available:
        print_line(f"{len(finished.unavailable)} of the backends do not run here: exit status 2")
        raise typer.Exit(2)


def counts(bundle: "Bundle") -> str:
    """Return the counts of a bundle as JSON."""
    from sampler_parity.harness.bundle.bundle import summarize

    return escaped(summarize(bundle)).model_dump_json(indent=2)


def interrupted(pace: "Pace | None", folder: Path, output_given: bool) -> Interrupted:
    """Return the last message of an interrupted run."""
    if pace is None:
        return Interrupted("interrupted before anything was done")
    where = "" if output_given else f"-o {shlex.quote(str(folder))} "
    return Interrupted(f"interrupted after {pace.done:,} of {pace.total:,}: add {where}--resume")

"""The command `run`."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from sampler_parity.harness.cli import complete, options
from sampler_parity.harness.cli.folders import dated
from sampler_parity.harness.cli.output import line_target, lines_to
from sampler_parity.harness.processes.garbage import collection_paused
from sampler_parity.harness.sanitize import limits
from sampler_parity.harness.verdicts import Accept

Profile = Literal["quick", "full"]


def run_command(
    suites: Annotated[
        list[str] | None,
        typer.Argument(help="e.g. parity, parity/top_p", autocompletion=complete.suites),
    ] = None,
    backend: options.Backends = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="the bundle")] = None,
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
    seed: Annotated[
        int, typer.Option(min=0, max=limits.WHOLE, help="shifts the random suites")
    ] = 0,
    timeout: options.Timeout = 60.0,
    rounds: Annotated[
        int | None,
        typer.Option(
            min=8,
            max=limits.ROUNDS,
            help="rounds of every timed chain; default: the profile's",
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
            min=1,
            max=limits.ROUNDS,
            help="run each case this often; if it differs it is flaky",
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
            help="read results of the reference that this code computed before",
            show_default=False,
        ),
    ] = True,
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
      sampler-parity run parity -b llama.cpp -o bundles/mine --resume

    Exit status: 0 every case is as required; 1 one is not; 2 bad input, or a run that cannot go on;
    130 interrupted: --resume goes on.
    """
    with collection_paused():
        from sampler_parity.harness.cli import running
        from sampler_parity.harness.run.plan import RunOptions, plan_of
        from sampler_parity.harness.suite.ids import suites_of_cases

    run_options = RunOptions(
        suites=suites or suites_of_cases(case or []) or ["parity"],
        backends=backend or ["llama.cpp"],
        profile=profile,
        only=tuple(case or ()),
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
    )
    folder = output or dated()
    with lines_to(line_target(json, quiet)):
        if plan:
            running.show_plan(plan_of(run_options), folder, resume)
        else:
            run_output = running.RunOutput(
                json, if_available, quiet, verbose, output_given=output is not None
            )
            running.run_and_report(plan_of(run_options), folder, resume, run_output)

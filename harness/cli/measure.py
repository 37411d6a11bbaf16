"""The commands that measure the harness itself: `calibrate`, `timing-selfcheck`, `selftest`."""

from pathlib import Path
from typing import Annotated

import typer

from sampler_parity.harness.cli import options
from sampler_parity.harness.cli.folders import dated
from sampler_parity.harness.cli.output import say
from sampler_parity.harness.foreign import limits


def calibrate(
    output: Annotated[Path | None, typer.Option("--output", "-o", help="the bundle")] = None,
    runs: Annotated[int, typer.Option(min=10, max=limits.RUNS, help="of every fault")] = 1000,
    null_runs: Annotated[
        int, typer.Option(min=10, max=limits.RUNS, help="of a right sampler")
    ] = 10_000,
    seed: Annotated[int, typer.Option(min=0, max=limits.WHOLE)] = 1,
    backend: Annotated[str, typer.Option("--backend", "-b", help="whose time is taken")] = "",
) -> None:
    """Measure what the distribution tests themselves get wrong and what they catch.

    Exit status: 0 every claim is met; 1 one is not; 2 bad input.
    """
    from sampler_parity.harness.cli.checks import run_calibration

    folder = output or dated("calibration")
    if not run_calibration(folder, runs, null_runs, seed, backend):
        raise typer.Exit(1)


def timing_selfcheck(
    output: Annotated[Path | None, typer.Option("--output", "-o", help="the bundle")] = None,
    trials: Annotated[
        int, typer.Option(min=10, max=limits.RUNS, help="comparisons of each slow-down")
    ] = 200,
    seed: Annotated[int, typer.Option(min=0, max=limits.WHOLE)] = 1,
) -> None:
    """Measure how often timings mislead here, and which slow-downs they notice.

    Exit status: 0 false alarms are as rare as allowed; 1 they are not; 2 bad input.
    """
    from sampler_parity.harness.cli.checks import run_timing_selfcheck

    folder = output or dated("timing-selfcheck")
    if not run_timing_selfcheck(folder, trials, seed):
        raise typer.Exit(1)


def selftest(
    names: Annotated[list[str] | None, typer.Argument(metavar="MUTANT...")] = None,
    jobs: options.Jobs = 0,
    processes: Annotated[bool, typer.Option(help="each mutant in a process of its own")] = False,
) -> None:
    """Run every planted fault as a backend; all must be caught.

    Example:
      sampler-parity selftest top_p/

    Exit status: 0 all are caught; 1 one is not; 2 bad input.
    """
    from sampler_parity.harness.mutants.selftest import run_selftest

    if not run_selftest(names, jobs, say, processes).passed:
        raise typer.Exit(1)

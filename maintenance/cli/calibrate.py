"""The command `calibrate`."""

from pathlib import Path
from typing import Annotated

import typer

from sampler_parity.harness.cli.folders import dated
from sampler_parity.harness.sanitize import limits


def calibrate(
    output: Annotated[Path | None, typer.Option("--output", "-o", help="the bundle")] = None,
    runs: Annotated[int, typer.Option(min=10, max=limits.RUNS, help="runs of every fault")] = 1000,
    null_runs: Annotated[
        int, typer.Option(min=10, max=limits.RUNS, help="runs of a correct sampler")
    ] = 10_000,
    seed: Annotated[int, typer.Option(min=0, max=limits.WHOLE)] = 1,
    backend: Annotated[str, typer.Option("--backend", "-b", help="backend to time")] = "",
) -> None:
    """Measure what the distribution tests themselves get wrong and what they catch.

    Exit status: 0 every claim is met; 1 one is not; 2 bad input.
    """
    from sampler_parity.maintenance.cli.self_checks import run_calibration

    folder = output or dated("calibration")
    if not run_calibration(folder, runs, null_runs, seed, backend):
        raise typer.Exit(1)

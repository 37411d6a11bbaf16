"""The command `timing-selfcheck`."""

from pathlib import Path
from typing import Annotated

import typer

from sampler_parity.harness.cli.folders import dated
from sampler_parity.harness.sanitize import limits


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
    from sampler_parity.maintenance.cli.self_checks import run_timing_selfcheck

    folder = output or dated("timing-selfcheck")
    if not run_timing_selfcheck(folder, trials, seed):
        raise typer.Exit(1)

"""The command `selftest`."""

from typing import Annotated

import typer

from sampler_parity.harness.cli import options
from sampler_parity.harness.cli.output import print_line


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
    from sampler_parity.maintenance.selftest.selftest import run_selftest

    if not run_selftest(names, jobs, print_line, processes).passed:
        raise typer.Exit(1)

"""The command `adapter check`."""

from typing import Annotated

import typer

from sampler_parity.harness.cli.output import print_line
from sampler_parity.harness.sanitize import limits

adapter_app = typer.Typer(no_args_is_help=True, help="For authors of adapters.")


@adapter_app.command("check")
def adapter_check(
    command: Annotated[list[str], typer.Argument(metavar="-- COMMAND...")],
    timeout: Annotated[
        float | None,
        typer.Option(
            min=0.1, max=limits.SECONDS, help="seconds for one request [10; to start: 60]"
        ),
    ] = None,
) -> None:
    """Check an adapter and report what it lacks.

    Example:
      sampler-parity adapter check -- node my-adapter.js

    Exit status: 0 it lacks nothing; 1 a check failed; 2 bad input.
    """
    from sampler_parity.harness.run.adapter_check import check_adapter

    failed = 0
    for check in check_adapter(command, timeout):
        state = {True: "ok", False: "FAILED", None: "not claimed"}[check.passed]
        failed += check.passed is False
        print_line(f"{state:<12} {check.name}" + (f": {check.detail}" if check.detail else ""))
    if failed:
        raise typer.Exit(1)

"""The command `run`."""

from pathlib import Path
from typing import Annotated, Literal

import typer

Profile = Literal["quick", "full"]


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
    from sampler_parity.harness.cli.suites import run_suites

    run_suites(
        suites or ["parity"],
        backend or ["llama.cpp"],
        output,
        resume,
        jobs,
        profile,
        json,
        case,
        seed,
        timeout,
        rounds,
        reference,
        if_available,
        where,
        label,
        instructions,
    )

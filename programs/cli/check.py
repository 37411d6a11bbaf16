"""The command `check`."""

from pathlib import Path
from typing import Annotated

import typer

from sampler_parity.harness.cli import options
from sampler_parity.harness.cli.output import line_target, lines_to, print_line
from sampler_parity.harness.verdicts import Accept


def check(
    recording: Annotated[Path, typer.Argument(help="a folder that `record` wrote")],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="a bundle [default: RECORDING/checked]"),
    ] = None,
    accept: Annotated[
        Accept,
        typer.Option(help="what else passes: ties, any correct rounding, last digits"),
    ] = "identical",
    reference: Annotated[
        str | None,
        typer.Option(help="release and platform to judge by: b4753, b4753/linux-arm64-gcc"),
    ] = None,
    quiet: options.Quiet = False,
) -> None:
    """Judge a recording: replay it on the reference of its release, stage by stage.

    Examples:
      sampler-parity check recording
      sampler-parity check recording -o bundles/server --reference b4753

    Exit status: 0 every judged stage is as required; 1 one is not, or a sampler is misused; 2 bad
    input, or nothing could be judged.
    """
    from sampler_parity.harness.cli.bundle_summary import next_command, show
    from sampler_parity.harness.errors import InputError
    from sampler_parity.programs.recording.check import BACKEND
    from sampler_parity.programs.recording.check import check as judge

    if accept == "correct":
        problem = "is for runs: a recording has no probabilities of the stages"
        raise InputError("--accept correct", problem, "use --accept close")
    with lines_to(line_target(None, quiet)):
        folder = output or recording / "checked"
        checked, bundle = judge(recording, folder, accept, reference)
        for note in checked.notes:
            print_line(f"note     {note}")
        for name in checked.torn:
            print_line(
                f"note     process {name} was ended while it wrote: its last event is left out"
            )
        show(bundle)
        stages = checked.judged + sum(checked.unjudged.values())
        print_line(
            f"judged   {checked.judged:,} of {stages:,} stages of {checked.applies:,} applications"
            f" in {checked.chains:,} chains"
        )
        for why, count in checked.unjudged.most_common():
            print_line(f"         {count:,} stages not judged: {why}")
        met = not any(result.failed(BACKEND) for result in checked.results)
        print_line(f"next     {next_command(bundle, met)}")
    if not met:
        raise typer.Exit(1)
    if not checked.judged:
        raise typer.Exit(2)

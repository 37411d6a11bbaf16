"""The commands `golden verify` and `golden regenerate`."""

from pathlib import Path
from typing import Annotated

import typer

from sampler_parity.harness.cli.output import print_line

golden_app = typer.Typer(no_args_is_help=True, help="The recorded logits and results.")


@golden_app.command()
def verify() -> None:
    """Check every fixture against its digest, and the reference against the recorded results.

    Exit status: 0 all is as recorded; 2 something is not.
    """
    from sampler_parity.harness.inputs.fixtures import golden_folder
    from sampler_parity.maintenance.golden import verify as golden

    for line in golden.verify(golden_folder()):
        print_line(line)


@golden_app.command()
def regenerate(
    accept: Annotated[bool, typer.Option(help="replace the fixtures with the new ones")] = False,
) -> None:
    """Make every fixture again and report what differs.

    Exit status: 0, even if something differs; 2 bad input.
    """
    import tempfile

    from sampler_parity.harness.inputs.fixtures import golden_folder
    from sampler_parity.maintenance.golden import verify as golden

    with tempfile.TemporaryDirectory() as folder:
        for line in golden.regenerate(golden_folder(), Path(folder), accept):
            print_line(line)

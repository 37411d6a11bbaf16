"""The command `audit`."""

from pathlib import Path
from typing import Annotated

import typer

from sampler_parity.harness.cli.output import line_target, lines_to, print_line, write_data


def audit(
    recording: Annotated[Path, typer.Argument(help="forced along the text")],
    chain: Annotated[
        Path | None, typer.Option(metavar="FILE.toml", help="the stated chain")
    ] = None,
    same_seed: Annotated[
        bool, typer.Option("--same-seed", help="its seed is the service's")
    ] = False,
    json: Annotated[
        Path | None, typer.Option(help="write the answer to this file; -: print it alone")
    ] = None,
) -> None:
    """Audit the tokens that a service sent: do the stated model and settings give such tokens?

    A service that is as stated is accused in at most 1% of audits, if its logits differ from those
    here by no more than rounding in half precision.

    Examples:
      sampler-parity audit recording --chain stated.toml --same-seed

    Exit status: 0 as stated; 1 not as stated; 2 bad input.
    """
    from json import dumps

    from sampler_parity.programs.differences.audit import audit as examine
    from sampler_parity.programs.recording.reader import Recording
    from sampler_parity.programs.recording.what_if import of_file

    result = examine(Recording(recording), same_seed, None if chain is None else of_file(chain))
    if json is not None:
        write_data(json, dumps(result.data(), indent=2))
    with lines_to(line_target(json)):
        for label, text in result.rows():
            print_line(f"{label:<9}{text}")
    if result.accused_at is not None:
        raise typer.Exit(1)

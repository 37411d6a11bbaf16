"""The command `redact`."""

from pathlib import Path
from typing import Annotated

import typer

from sampler_parity.harness.cli import options
from sampler_parity.harness.cli.output import line_target, lines_to


def redact(
    recording: Annotated[Path, typer.Argument(help="a recording that `check` has judged")],
    output: Annotated[Path, typer.Option("--output", "-o", help="a bundle without tokens")],
    quiet: options.Quiet = False,
) -> None:
    """Write the verdicts of a recording without its tokens, for others to read.

    Left out: tokens, texts, logits, grammars, the program's command line and paths. Kept: the
    samplers of each chain, how many tokens each sampled, the first stage that differs, the versions
    and the machine. `report` and `gate` read the result.

    Examples:
      sampler-parity check recording
      sampler-parity redact recording -o redacted

    Exit status: 0 it is written; 2 bad input.
    """
    from sampler_parity.harness.cli.bundle_summary import show
    from sampler_parity.programs.recording.redact import redact as written

    with lines_to(line_target(None, quiet)):
        show(written(recording, output))

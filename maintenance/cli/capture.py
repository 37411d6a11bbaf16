"""The command `capture`."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from sampler_parity.harness.cli.output import print_line
from sampler_parity.harness.sanitize import limits


def capture(
    model: Annotated[Path, typer.Option(help="a GGUF model")],
    prompts: Annotated[Path, typer.Option(help=".jsonl with id and text, or .txt")],
    output: Annotated[Path, typer.Option("--output", "-o")],
    dtype: Annotated[Literal["float32", "float16"], typer.Option()] = "float32",
    max_rows: Annotated[
        int | None, typer.Option(min=1, max=limits.TOKENS, help="at most so many, evenly spaced")
    ] = None,
    threads: Annotated[int, typer.Option(min=1, max=limits.JOBS)] = 1,
) -> None:
    """Capture the logits of any model as a fixture.

    Example:
      sampler-parity capture --model model.gguf --prompts prompts.jsonl -o rows.gguf

    Exit status: 0, or 2 for bad input.
    """
    from sampler_parity.maintenance.golden import capture as recorder

    recorder.capture(model, prompts, output, dtype, max_rows, threads)
    print_line(output)

"""The command `repro`."""

from pathlib import Path
from typing import Annotated

import typer

from sampler_parity.harness.cli.output import print_line
from sampler_parity.harness.errors import InputError


def repro(
    folder: Annotated[Path, typer.Argument(metavar="BUNDLE")],
    case: Annotated[str, typer.Argument(metavar="CASE")],
    backend: Annotated[
        str | None, typer.Option("--backend", "-b", help="one that differs; default: the first")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="default: repro.cpp, .py or .mjs")
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(metavar="FILE.md", help="also a report, in the form that the makers ask for"),
    ] = None,
) -> None:
    """Write a program that shows a failing case, for a report to the makers of the engine: at most
    60 lines, nothing of ours in it, exit status 1 while the difference is there. In C++ for a build
    of llama.cpp; in Python for transformers, MLX LM, vLLM and ExLlamaV3; in JavaScript for
    Transformers.js and lloyal.node.

    Examples:
      sampler-parity repro bundles/mine top_p/crossing-token-is-kept -o repro.cpp
      sampler-parity repro bundles/mine processors/top_k-ties -b transformers --report bug.md

    Nothing is sent.

    Exit status: 0, or 2 for bad input, for a case that needs a model or many logits, and for an
    engine that no program is written for.
    """
    from sampler_parity.harness.errors import Unsupported
    from sampler_parity.harness.files import write_text
    from sampler_parity.maintenance.repro.of_bundle import repro as repro_of

    try:
        program = repro_of(folder, case, backend)
    except Unsupported as error:
        raise InputError(case, str(error), "name another case") from None
    output = output or Path(program.file)
    write_text(output, program.source)
    print_line(output)
    if report is not None:
        write_text(report, program.report)
        print_line(report)
    print_line(program.command.replace(program.file, str(output)))

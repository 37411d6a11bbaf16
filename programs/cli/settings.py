"""The command `settings`."""

from pathlib import Path
from typing import Annotated

import typer

from sampler_parity.harness.cli.output import line_target, lines_to, print_line, write_data


def settings_command(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE...", help="of settings; -: standard input")
    ],
    release: Annotated[
        str, typer.Option("--as", metavar="RELEASE", help="of llama.cpp: b4753, v0.5.0")
    ] = "v0.5.0",
    to: Annotated[
        str, typer.Option(metavar="ENGINE", help="the nearest chain there: vllm, ollama, b4753")
    ] = "",
    json: Annotated[
        Path | None, typer.Option(help="write the answer to this file; -: print it alone")
    ] = None,
) -> None:
    """Show the chain of samplers that an engine builds from your settings.

    Examples:
      sampler-parity settings request.json
      sampler-parity settings request.json flags.txt model.gguf --as b6673
      sampler-parity settings request.json --to vllm

    Exit status: 0 the chain is printed; 2 bad input.
    """
    from sampler_parity.programs.settings.answer import lines
    from sampler_parity.programs.settings.carry import carried
    from sampler_parity.programs.settings.chain import answer_of
    from sampler_parity.programs.settings.files import read_source

    result = answer_of([read_source(path, release) for path in files], release)
    if to:
        result = carried(result, to)
    if json is not None:
        write_data(json, result.model_dump_json(indent=2))
    with lines_to(line_target(json)):
        for line in lines(result):
            print_line(line)

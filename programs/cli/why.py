"""The command `why`."""

import os
from pathlib import Path
from typing import Annotated

import typer

from sampler_parity.harness.cli.output import line_target, lines_to, print_line, write_data
from sampler_parity.harness.errors import InputError


def why(
    recording: Annotated[Path, typer.Argument(help="a folder that `record` wrote")],
    token: Annotated[str, typer.Argument(help="17, 2:17, @120, 2:@120 or '\" blue\"'")],
    what_if: Annotated[
        str,
        typer.Option(
            "--what-if", metavar="SETTINGS", help="temp=0.7,top_k.k=20, or a file for `settings`"
        ),
    ] = "",
    chain: Annotated[
        Path | None, typer.Option(metavar="FILE.toml", help="another chain, as suites have it")
    ] = None,
    reference: Annotated[
        str | None,
        typer.Option(help="release and platform to judge by: b4753, b4753/linux-arm64-gcc"),
    ] = None,
    json: Annotated[
        Path | None, typer.Option(help="write the answer to this file; -: print it alone")
    ] = None,
) -> None:
    """Explain why a token of a recording was chosen: what each stage removed or changed, and the
    random number that drew it.

    TOKEN is a number in the recording (17), a number in a text (2:17), a position in a text (@120,
    2:@120), or a text, which may stand in quotes. The options --what-if and --chain replay the
    recorded logits of the token's text, and show where it would have parted.

    Examples:
      sampler-parity why recording 17
      sampler-parity why recording '" blue"'
      sampler-parity why recording 2:17 --what-if temp=0.7,top_p=0.9
      sampler-parity why recording 2:17 --what-if request.json

    Exit status: 0, or 2 for bad input.
    """
    from json import dumps
    from shutil import get_terminal_size

    from sampler_parity.programs.recording.reader import Recording
    from sampler_parity.programs.recording.what_if import edited, of_file, parting
    from sampler_parity.programs.recording.why import why as explain
    from sampler_parity.programs.recording.why_lines import lines_of, parting_lines
    from sampler_parity.programs.settings.replay import of_settings

    if what_if and chain is not None:
        raise InputError("--chain", "cannot be combined with --what-if", "give only one of them")
    of_edits = bool(what_if) and not os.path.isfile(what_if)
    make = edited(what_if) if of_edits else None if chain is None else of_file(chain)
    recorded, width = Recording(recording), get_terminal_size().columns
    explanation = explain(recorded, token, reference)
    data, lines = explanation.data(), [*lines_of(explanation, width)]
    if what_if and not of_edits:
        make, data["notes"] = of_settings(Path(what_if), explanation.token)
        lines += data["notes"]
    if make is not None:
        data["what_if"] = parted = parting(recorded, explanation.token.text, reference, make)
        lines += parting_lines(parted, explanation.token.text, width)
    if json is not None:
        write_data(json, dumps(data, indent=2, default=vars))
    with lines_to(line_target(json)):
        for line in lines:
            print_line(line)

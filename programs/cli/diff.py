"""The command `diff`."""

from pathlib import Path
from typing import Annotated

import typer

from sampler_parity.harness.cli.output import line_target, lines_to, print_line, write_data
from sampler_parity.harness.errors import InputError


def diff(
    a: Annotated[Path, typer.Argument(help="a folder that `record` wrote, or a log of answers")],
    b: Annotated[Path, typer.Argument(help="the recording or log of the second run")],
    fail_on: Annotated[
        str, typer.Option(metavar="CAUSES", help="exit with 1 for these alone: sampler,logits")
    ] = "",
    rounding: Annotated[
        float | None, typer.Option(help="`noise` of benign runs, 0.0025 by default")
    ] = None,
    json: Annotated[
        Path | None, typer.Option(help="write the answer to this file; -: print it alone")
    ] = None,
) -> None:
    """Explain why two runs of a model differ: their first different token, and its cause.

    The cause is sampler, stream (random numbers), logits, history (the tokens that penalties saw)
    or prompt. A replay of each recording with parts of the other decides it. The verdict is whether
    rounding explains it. A log has the JSON of an answer, or of a token, on each line; its
    log-probabilities show part of the cause.

    Examples:
      sampler-parity diff yesterday today
      sampler-parity diff answers.jsonl other.jsonl
      sampler-parity diff old new --fail-on sampler,stream,history

    Exit status: 0 the texts are equal; 1 they differ; 2 bad input. With --fail-on, 1 if a cause is
    among those or not decided, else 0.
    """
    from dataclasses import asdict
    from json import dumps

    from sampler_parity.programs.differences.benign import ROUNDING
    from sampler_parity.programs.differences.causes import CAUSES
    from sampler_parity.programs.differences.comparison import compare
    from sampler_parity.programs.differences.logs import compare_logs
    from sampler_parity.programs.recording.reader import Recording

    failing = {cause.strip() for cause in fail_on.split(",")} if fail_on else {*CAUSES}
    for unknown in sorted(failing - {*CAUSES})[:1]:
        fix = f"write some of {', '.join(CAUSES)}"
        raise InputError("--fail-on", f"unknown cause {unknown!r}", fix)
    if a.is_file() and rounding is not None:
        raise InputError("--rounding", "works only with recordings", "leave it out")
    rounding = ROUNDING if rounding is None else rounding
    if not 0 < rounding < 1:
        raise InputError("--rounding", f"{rounding} is not between 0 and 1", "write 0.0025")
    if a.is_file() != b.is_file():
        raise InputError(b, f"is not of the kind of {a}", "name two recordings, or two logs")
    logs = a.is_file()
    comparison = compare_logs(a, b) if logs else compare(Recording(a), Recording(b), rounding)
    if json is not None:
        write_data(json, dumps({"is_equal": comparison.is_equal, **asdict(comparison)}, indent=2))
    with lines_to(line_target(json)):
        for label, text in comparison.rows():
            print_line(f"{label:<9}{text}")
    causes = comparison.decision.causes.keys()
    if not comparison.is_equal and (not causes or causes & failing):
        raise typer.Exit(1)

"""The command `upgrade`."""

from pathlib import Path
from typing import Annotated

import typer

from sampler_parity.harness.cli.output import line_target, lines_to, print_line, write_data
from sampler_parity.harness.errors import InputError

_MOST = 40  # cases that a bisection asks of each version


def upgrade_command(
    old: Annotated[str, typer.Argument(help="a backend: llama.cpp@b4753, mlx_lm@0.30.0")],
    new: Annotated[str, typer.Argument(help="the version after the upgrade")],
    settings: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="a chain, or what `settings` reads: .json, .toml"),
    ] = None,
    recording: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="in its place: what `record` wrote")
    ] = None,
    vocab: Annotated[
        str, typer.Option(help="GGUF file, for samplers that read a vocabulary; else small ones")
    ] = "",
    case: Annotated[str | None, typer.Option(help="compare this case alone")] = None,
    bisect: Annotated[
        bool, typer.Option(help="find the version between that changed", show_default=False)
    ] = False,
    strict: Annotated[
        bool, typer.Option(help="exit with 1 if a setting is unread or has no effect")
    ] = False,
    json: Annotated[
        Path | None, typer.Option(help="write the answer to this file; -: print it alone")
    ] = None,
) -> None:
    """Compare two versions of an engine on your settings: what changes for you, in five lines.

    Examples:
      sampler-parity upgrade reference@b6301 reference@b6431 --settings chain.toml
      sampler-parity upgrade llama.cpp@b4753 llama.cpp@b6673 --settings request.json --bisect
      sampler-parity upgrade llama.cpp@b6673 llama.cpp --recording recording --json change.json

    Exit status: 0 nothing changes; 1 something does, or with --strict a setting is unread or has no
    effect; 2 bad input.
    """
    import shlex

    from sampler_parity.harness.checks.stages.block import StagesCase
    from sampler_parity.programs.upgrade.answer import answer, lines
    from sampler_parity.programs.upgrade.bisect import bisected
    from sampler_parity.programs.upgrade.cases import generated, recorded
    from sampler_parity.programs.upgrade.compare import version_of
    from sampler_parity.programs.upgrade.settings import UserSettings

    user = UserSettings(settings, vocab) if settings is not None else None
    if user is not None and recording is None:
        chains = user.chain(old), user.chain(new)
        source = f"--settings={user.path}"
        cases = generated(user.path, chains[0], vocab, chains[1])
    elif recording is not None and user is None:
        source, cases = f"--recording={recording}", recorded(recording, vocab)
    else:
        raise InputError("upgrade", "needs settings", "give --settings FILE or --recording FOLDER")
    cases = [item for item in cases if case in (None, item.id)]
    if not cases:
        raise InputError(f"--case {case}", "no such case", "copy --case from the line `show`")

    def case_of(case: StagesCase, name: str) -> StagesCase:
        return user.case_of(case, old, name) if user is not None else case

    later = [case_of(case, new) for case in cases]
    result = answer(cases, later, version_of(old), version_of(new))
    if bisect and result.changed:
        differing = {shift.case for shift in result.shifts[:_MOST]}
        chosen = [item for item in cases if item.id in differing]
        between = bisected(chosen, old, new, case_of)
        result = result.model_copy(update={"between": between})
    if case is None and result.first is not None:
        words = ["upgrade", old, new, source, *(["--vocab", vocab] if vocab else [])]
        show = shlex.join(["sampler-parity", *words, "--case", result.first.case])
        result = result.model_copy(update={"show": show})
    if user is not None:
        about = {"left_out": user.notes(old, new), "mapping": user.mapping(old, new)}
        result = result.model_copy(update=about)
    if json is not None:
        write_data(json, result.model_dump_json(indent=2))
    with lines_to(line_target(json)):
        for line in lines(result):
            print_line(line)
    if result.changed or (strict and result.left_out):
        raise typer.Exit(1)

"""The command `sampler-parity gate`."""

from datetime import UTC, date, datetime
from pathlib import Path
from typing import Annotated

import typer

from sampler_parity.harness.cli import options
from sampler_parity.harness.cli.output import line_target, lines_to, print_line, write_data


def gate_command(
    folder: Annotated[Path, typer.Argument(metavar="BUNDLE")],
    baseline: Annotated[
        Path | None, typer.Option(help="the bundle of the last release, of the same suites")
    ] = None,
    policy: Annotated[Path | None, typer.Option(help="default: all as the suites require")] = None,
    json: Annotated[
        Path | None, typer.Option(help="write the outcome to this file; -: print it alone")
    ] = None,
    md: Annotated[Path | None, typer.Option(help="append it to this file, as Markdown")] = None,
    verify_files: Annotated[
        bool,
        typer.Option(
            "--verify-files", help="read each backend's files again: are they those of the bundle?"
        ),
    ] = False,
    quiet: options.Quiet = False,
) -> None:
    """Judge a bundle by a policy: may this release go out?

    Examples:
      sampler-parity gate bundles/mine
      sampler-parity gate bundles/mine --baseline bundles/last --policy gate.toml

    Exit status: 0 pass; 1 fail; 2 could not judge, or bad input.
    """
    from sampler_parity.harness.bundle.bundle import read_finished
    from sampler_parity.harness.files import write_text
    from sampler_parity.harness.gate.gate import gate
    from sampler_parity.harness.gate.labels import markdown, terminal_lines
    from sampler_parity.harness.gate.policy import read_policy

    file = read_policy(policy)
    judged = read_finished(folder)
    last = read_finished(baseline) if baseline else None
    result = gate(judged, file, last, today(), verify_files)
    if json is not None:
        write_data(json, result.model_dump_json(indent=2))
    if md is not None:
        write_text(md, markdown(result), "a")
    with lines_to(line_target(json, quiet)):
        for line in terminal_lines(result):
            print_line(line)
    if result.exit_status:
        raise typer.Exit(result.exit_status)


def today() -> date:
    return datetime.now(UTC).date()

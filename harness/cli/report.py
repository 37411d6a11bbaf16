"""The command `report`."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from sampler_parity.harness.cli.output import print_line


class Format(StrEnum):
    """Formats of a report; an enumeration, as Typer takes no list of literals."""

    HTML = "html"
    MD = "md"
    JSON = "json"
    JUNIT = "junit"


def report(
    folders: Annotated[list[Path], typer.Argument(metavar="BUNDLE...")],
    formats: Annotated[list[Format] | None, typer.Option("--format", "-f")] = None,
    output: Annotated[Path, typer.Option("--output", "-o")] = Path("report"),
) -> None:
    """Write the report of one or more bundles: index.html over its pages.

    Examples:
      sampler-parity report bundles/mine
      sampler-parity report bundles/linux bundles/macos -f html -o report

    Exit status: 0, or 2 for bad input.
    """
    from sampler_parity.reports.write import write_report

    for path in write_report(folders, output, [str(f) for f in formats or Format]):
        print_line(path)

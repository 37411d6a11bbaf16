"""The command `report`: of bundles, or of a recording."""

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
    SARIF = "sarif"


def report(
    folders: Annotated[list[Path], typer.Argument(metavar="BUNDLE...")],
    formats: Annotated[list[Format] | None, typer.Option("--format", "-f")] = None,
    output: Annotated[Path, typer.Option("--output", "-o")] = Path("report"),
) -> None:
    """Write the report of one or more bundles: index.html over its pages.

    For a recording, write recording.html: its texts, and the stages of each token.

    Examples:
      sampler-parity report bundles/mine
      sampler-parity report bundles/linux bundles/macos -f html -o report
      sampler-parity report recording

    Exit status: 0, or 2 for bad input.
    """
    from sampler_parity.harness.errors import InputError
    from sampler_parity.harness.rows import joined, load
    from sampler_parity.reports.write import write_report

    single = [(row, f) for row in joined("FOLDERS") for f in folders if any(f.glob(row.holds))]
    if single and (len(folders) > 1 or Format.HTML not in (formats or Format)):
        row, folder = single[0]
        fix = f"use `sampler-parity report {folder} -f html`"
        raise InputError(folder, f"is {row.noun}: it has one page, of its own, in HTML", fix)
    if single:
        row, folder = single[0]
        written = load(row.write)(folder, output)
    else:
        written = write_report(folders, output, [str(f) for f in formats or Format])
    for path in written:
        print_line(path)

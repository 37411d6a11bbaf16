"""The commands `history add` and `history show`."""

from pathlib import Path
from typing import Annotated

import typer

from sampler_parity.harness.cli.output import print_line

history_app = typer.Typer(no_args_is_help=True, help="Bundles of many dates as a trend.")
_DATABASE = typer.Option("--database", "-d", help="the SQLite file")


@history_app.command("add")
def history_add(
    folders: Annotated[list[Path], typer.Argument(metavar="BUNDLE...")],
    database: Annotated[Path, _DATABASE] = Path("history.sqlite"),
) -> None:
    """Put finished bundles into the history; one that is in it already is not counted again.

    Example:
      sampler-parity history add bundles/mine

    Exit status: 0, or 2 for bad input.
    """
    from sampler_parity.harness.comparison import history

    for folder, new in history.add(database, folders):
        print_line(f"{folder}  {'added' if new else 'is in it already'}")


@history_app.command("show")
def history_show(
    database: Annotated[Path, _DATABASE] = Path("history.sqlite"),
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="a folder for history.html, .md, .json")
    ] = None,
) -> None:
    """Show the runs; with -o write the trend of verdicts and figures.

    Example:
      sampler-parity history show -o report

    Exit status: 0, or 2 for bad input.
    """
    from sampler_parity.reports.pages.history import HISTORY
    from sampler_parity.reports.write import write_page

    page = HISTORY.made(database)
    assert page is not None  # a history always has a page
    for line in page.terminal_lines:
        print_line(line)
    if output is not None:
        for path in write_page(page, output):
            print_line(path)

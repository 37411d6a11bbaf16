"""The command `compare`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sampler_parity.harness.bundle.records.server import ServerResult
from sampler_parity.harness.cli.output import print_line
from sampler_parity.harness.errors import InputError

if TYPE_CHECKING:
    from sampler_parity.harness.bundle.bundle import Bundle


def compare(
    folders: Annotated[list[Path], typer.Argument(metavar="BUNDLE BUNDLE...")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="a folder for compare.html, .md, .json")
    ] = None,
) -> None:
    """Show how bundles differ: verdicts, logits, distributions, speed, and facts of the machines.

    Examples:
      sampler-parity compare bundles/linux bundles/macos
      sampler-parity compare bundles/server-old bundles/server-new

    Exit status: 0 no verdict differs; 1 some do, or a backend has nothing in common with others;
    2 bad input, or nothing can be compared.
    """
    from sampler_parity.harness.bundle.bundle import read_finished
    from sampler_parity.reports.pages.compare.compare_page import COMPARE
    from sampler_parity.reports.write import write_page

    if len(folders) < 2:
        raise InputError("compare", f"{len(folders)} bundle given", "name two or more")
    bundles = [read_finished(folder) for folder in folders]
    servers = all(bundle.of(ServerResult) for bundle in bundles)
    page = COMPARE.made(bundles)
    if page is None and not servers:
        raise InputError(
            "compare",
            "no two backends of one implementation have a case, a prompt or a time in common",
            "run the same suites",
        )
    if page is None and output is not None:
        problem = "checks of servers have no page to compare them"
        raise InputError("compare", problem, "leave out -o")
    alike = not servers or _servers_alike(bundles)
    if page is not None:
        for line in page.terminal_lines:
            print_line(line)
        if output is not None:
            for path in write_page(page, output):
                print_line(path)
    if not (alike and (page is None or page.model.ok)):
        raise typer.Exit(1)


def _servers_alike(bundles: "list[Bundle]") -> bool:
    """Compare checks of servers, which have verdicts alone: lines, and no page."""
    from sampler_parity.harness.comparison.server_verdicts import differing, lines, server_verdicts

    first, *others = server_verdicts(bundles)
    if not all(first.results.keys() & other.results.keys() for other in others):
        raise InputError("compare", "the servers were not asked the same", "check them alike")
    for other in others:
        for line in lines(first, other):
            print_line(line)
    return not any(differing(first, other) for other in others)

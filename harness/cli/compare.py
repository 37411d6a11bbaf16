"""The command `compare`."""

from pathlib import Path
from typing import Annotated

import typer

from sampler_parity.harness.cli.output import print_line
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.rows import joined, load, records


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
    for row in joined("FOLDERS"):
        for folder in (folder for folder in folders if any(folder.glob(row.holds))):
            fix = f"use `sampler-parity {row.compared_by} A B`"
            raise InputError(folder, f"is {row.noun}, not a bundle", fix)
    bundles = [read_finished(folder) for folder in folders]
    rows = [
        row
        for kind, row in records().items()
        if row.compared and all(bundle.records.get(kind) for bundle in bundles)
    ]
    page = COMPARE.made(bundles)
    if page is None and not rows:
        raise InputError(
            "compare",
            "no two backends of one implementation have a case, a prompt or a time in common",
            "run the same suites",
        )
    if page is None and output is not None:
        problem = f"there is no page that compares {rows[0].kind}s"
        raise InputError("compare", problem, "leave out -o")
    equal = all(load(row.compared)(bundles) for row in rows)
    if page is not None:
        for line in page.terminal_lines:
            print_line(line)
        if output is not None:
            for path in write_page(page, output):
                print_line(path)
    if not (equal and (page is None or page.model.ok)):
        raise typer.Exit(1)

"""The commands that look at several bundles: `compare`."""

from pathlib import Path
from typing import Annotated

import typer

from harness.bundle import read_finished
from harness.errors import InputError
from reports import compare as comparison
from reports.write import write_texts


def compare(
    folders: Annotated[list[Path], typer.Argument(metavar="BUNDLE BUNDLE...")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="a folder for compare.html, .md, .json")
    ] = None,
) -> None:
    """Show how bundles differ: verdicts, logits, distributions, speed, and facts of the machines.

    Exit status 0: no verdict differs; 1: some do, or a backend has nothing in common with others;
    2: bad input, or nothing can be compared.
    """
    if len(folders) < 2:
        raise InputError("compare", f"{len(folders)} bundle given", "name two or more")
    report = comparison.report_of([read_finished(folder) for folder in folders])
    if report is None:
        raise InputError(
            "compare",
            "no two backends of one implementation have a case, a prompt or a time in common",
            "run the same suites",
        )
    for line in comparison.terminal_lines(report):
        print(line)
    if output is not None:
        texts = comparison.texts_of(report)
        for path in write_texts(output, {f"compare.{name}": texts[name]() for name in texts}):
            print(path)
    if not report.ok:
        raise typer.Exit(1)

"""The command `explain`."""

from pathlib import Path
from typing import Annotated

import typer

from sampler_parity.harness.cli.output import print_line
from sampler_parity.harness.errors import InputError, need


def explain(
    folder: Annotated[Path, typer.Argument(metavar="BUNDLE")],
    case: Annotated[str | None, typer.Argument(metavar="[CASE]")] = None,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE.svg", help="draw what each stage does to the probabilities"),
    ] = None,
) -> None:
    """Show every group of failures, the worst first; or a case: where it first differs, values side
    by side, its shrunk counterexample.

    Examples:
      sampler-parity explain bundles/mine
      sampler-parity explain bundles/mine top_p/crossing-token-is-kept
      sampler-parity explain bundles/mine top_p/crossing-token-is-kept --plot case.svg

    Exit status: 0, or 2 for bad input.
    """
    from sampler_parity.harness.failures.explain import explanation, overview

    for line in overview(folder) if case is None else explanation(folder, case):
        print_line(line)
    if plot is not None:
        _plot(folder, case, plot)


def _plot(folder: Path, case: str | None, file: Path) -> None:
    if case is None:
        raise InputError("--plot", "draws a case", "name one: explain BUNDLE CASE --plot FILE.svg")
    need("report", "--plot")
    from sampler_parity.reports.pictures.case_plot import case_plot
    from sampler_parity.reports.write import write_texts

    for path in write_texts(file.parent, {file.name: case_plot(folder, case)}):
        print_line(path)

"""The commands that read bundles: `explain`, `report`, `compare`, `history add`, `history show`."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sampler_parity.harness.cli.output import say
from sampler_parity.harness.errors import InputError, need

if TYPE_CHECKING:
    from sampler_parity.harness.bundle.bundle import Bundle


class Format(StrEnum):
    """Of a report; Typer takes lists of enumerations, not of literals."""

    HTML = "html"
    MD = "md"
    JSON = "json"
    JUNIT = "junit"


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
    from sampler_parity.harness.parity.explain import explanation, overview

    for line in overview(folder) if case is None else explanation(folder, case):
        say(line)
    if plot is not None:
        _plot(folder, case, plot)


def _plot(folder: Path, case: str | None, file: Path) -> None:
    if case is None:
        raise InputError("--plot", "draws a case", "name one: explain BUNDLE CASE --plot FILE.svg")
    need("report", "--plot")
    from sampler_parity.reports.render.case_plot import case_plot
    from sampler_parity.reports.write import write_texts

    for path in write_texts(file.parent, {file.name: case_plot(folder, case)}):
        say(path)


def repro(
    folder: Annotated[Path, typer.Argument(metavar="BUNDLE")],
    case: Annotated[str, typer.Argument(metavar="CASE")],
    backend: Annotated[
        str | None, typer.Option("--backend", "-b", help="one that differs; default the first")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="default repro.cpp, .py or .mjs")
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(metavar="FILE.md", help="also a report, in the form that the makers ask for"),
    ] = None,
) -> None:
    """Write a program that shows a failing case, for a report to the makers of the engine: at most
    60 lines, nothing of ours in it, exit status 1 while the difference is there. In C++ for a build
    of llama.cpp; in Python for transformers, MLX LM, vLLM and ExLlamaV3; in JavaScript for
    Transformers.js and lloyal.node.

    Examples:
      sampler-parity repro bundles/mine top_p/crossing-token-is-kept -o repro.cpp
      sampler-parity repro bundles/mine processors/top_k-ties -b transformers --report bug.md

    Nothing is sent.

    Exit status: 0, or 2 for bad input, for a case that needs a model or many logits, and for an
    engine that no program is written for.
    """
    from sampler_parity.harness.errors import Unsupported
    from sampler_parity.harness.files import write_text
    from sampler_parity.harness.repro.of_bundle import repro as repro_of

    try:
        made = repro_of(folder, case, backend)
    except Unsupported as error:
        raise InputError(case, str(error), "name another case") from None
    output = output or Path(made.file)
    write_text(output, made.source)
    say(output)
    if report is not None:
        write_text(report, made.report)
        say(report)
    say(made.command.replace(made.file, str(output)))


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
        say(path)


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
    from sampler_parity.reports.pages.compare.page import COMPARE
    from sampler_parity.reports.write import write_page

    if len(folders) < 2:
        raise InputError("compare", f"{len(folders)} bundle given", "name two or more")
    bundles = [read_finished(folder) for folder in folders]
    servers = all(bundle.servers for bundle in bundles)
    page = COMPARE.made(bundles)
    if page is None and not servers:
        raise InputError(
            "compare",
            "no two backends of one implementation have a case, a prompt or a time in common",
            "run the same suites",
        )
    if page is None and output is not None:
        problem = "checks of servers have no page beside each other"
        raise InputError("compare", problem, "leave out -o")
    alike = not servers or _servers_alike(bundles)
    if page is not None:
        for line in page.terminal_lines:
            say(line)
        if output is not None:
            for path in write_page(page, output):
                say(path)
    if not (alike and (page is None or page.model.ok)):
        raise typer.Exit(1)


def _servers_alike(bundles: "list[Bundle]") -> bool:
    """Checks of servers have verdicts alone: lines, and no page."""
    from sampler_parity.harness.comparison.servers import checked, differing, lines

    first, *others = checked(bundles)
    if not all(first.results.keys() & other.results.keys() for other in others):
        raise InputError("compare", "the servers were not asked the same", "check them alike")
    for other in others:
        for line in lines(first, other):
            say(line)
    return not any(differing(first, other) for other in others)


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
        say(f"{folder}  {'added' if new else 'is in it already'}")


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
    from sampler_parity.reports.pages.history.page import HISTORY
    from sampler_parity.reports.write import write_page

    page = HISTORY.made(database)
    assert page is not None  # a history always has a page
    for line in page.terminal_lines:
        say(line)
    if output is not None:
        for path in write_page(page, output):
            say(path)

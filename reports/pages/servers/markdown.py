"""The servers page as Markdown: parameter x server, then each line of evidence that matters."""

from collections.abc import Iterator

from sampler_parity.harness.sanitize.markup import code, safe
from sampler_parity.reports.pages.servers import labels as words
from sampler_parity.reports.pages.servers.build import headlines
from sampler_parity.reports.pages.servers.model import Cell, Server, ServersReport
from sampler_parity.reports.writers.markdown import fitting, table


def markdown(report: ServersReport) -> str:
    return fitting("\n".join(_lines(report, everything)) + "\n" for everything in (True, False))


def _lines(report: ServersReport, everything: bool) -> Iterator[str]:
    """everything: also the evidence of what is as it must be."""
    yield "# Servers"
    yield ""
    yield from (f"- {line}" for line in headlines(report))
    yield ""
    rows = [
        [code(name), *(_cell(server.cell("parameter", name)) for server in report.servers)]
        for name in report.names("parameter")
    ]
    yield from table(["parameter", *(code(server.name) for server in report.servers)], rows)
    for server in report.servers:
        yield from _evidence(server, everything)


def _cell(cell: Cell | None) -> str:
    if cell is None:
        return ""
    mark = "**" if words.shade(cell) == "bad" else ""
    return f"{mark}{cell.verdict}{mark}"


def _evidence(server: Server, everything: bool) -> Iterator[str]:
    shown = [c for c in server.cells if everything or words.shade(c) != "good"]
    yield ""
    yield f"## {code(server.name)}"
    yield ""
    yield from (
        f"- {_cell(cell)} {code(cell.name)}: {safe(words.evidence(cell), 400)}" for cell in shown
    )
    for cell in (c for c in shown if not c.met and c.verdict != "skipped" and c.curl):
        yield ""
        yield f"{code(cell.name)} again: {code(cell.curl, 2000)}"

"""From bundles to what the servers page says."""

from sampler_parity.harness.bundle.bundle import Bundle
from sampler_parity.harness.bundle.records.server import ServerResult
from sampler_parity.harness.sanitize.printable import visible
from sampler_parity.reports.pages.servers.model import Cell, Server, ServersReport
from sampler_parity.reports.summary import PageFinding, anchor


def report_of(bundles: list[Bundle]) -> ServersReport | None:
    """None where no server was checked."""
    servers = [_server(bundle) for bundle in bundles if bundle.servers]
    if not servers:
        return None
    judged = [cell for server in servers for cell in server.cells if cell.verdict != "skipped"]
    return ServersReport(ok=bool(judged) and all(c.met for c in judged), servers=servers)


def _server(bundle: Bundle) -> Server:
    name = bundle.servers[0].server
    about = bundle.backend(name)
    return Server(
        name=visible(name),
        dialect=visible(about.name),
        version=visible(about.version),
        bundle=visible(bundle.folder.resolve().name),
        started=visible(bundle.info.started),
        cells=[_cell(result) for result in bundle.servers],
    )


def _cell(result: ServerResult) -> Cell:
    said = result.model_dump(exclude={"kind", "id", "required", "sent"})
    known = result.met and result.verdict in ("other meaning", "error")
    return Cell(**visible(said), met=result.met, known=known)


def headlines(report: ServersReport) -> list[str]:
    judged = report.judged
    met = sum(cell.met for cell in judged)
    lines = [f"{met:,}/{len(judged):,} as required on {len(report.servers):,} servers"]
    exact = [cell for cell in judged if cell.group == "exact"]
    if exact:
        right = sum(cell.requests for cell in exact if cell.verdict == "honoured")
        asked = sum(cell.requests for cell in exact)
        lines.append(f"{right:,}/{asked:,} requests in chains whose every token is predicted")
    return lines + [
        f"{server.name}, {cell.name}: {cell.evidence}"
        for server in report.servers
        for cell in server.of("speed")
    ]


def findings(report: ServersReport) -> list[PageFinding]:
    return [
        PageFinding(
            text=f"{server.name}: {cell.name}: {cell.verdict}: {cell.evidence}",
            anchor=anchor(server.name, server.bundle, cell.group, cell.name),
            fails=not cell.met,
        )
        for server in report.servers
        for cell in server.cells
        if cell.verdict != "skipped" and (cell.known or not cell.met)
    ]

"""Builds the model of the servers page from bundles."""

from sampler_parity.harness.bundle.bundle import Bundle
from sampler_parity.harness.bundle.records.server import ServerResult
from sampler_parity.harness.sanitize.printable import visible
from sampler_parity.reports.pages.servers.model import CheckedServer, ServerCell, ServersReport


def report_of(bundles: list[Bundle]) -> ServersReport | None:
    """Return None where no server was checked."""
    servers = [_server(bundle) for bundle in bundles if bundle.servers]
    if not servers:
        return None
    judged = [cell for server in servers for cell in server.cells if cell.verdict != "skipped"]
    return ServersReport(ok=bool(judged) and all(c.met for c in judged), servers=servers)


def _server(bundle: Bundle) -> CheckedServer:
    name = bundle.servers[0].server
    about = bundle.backend(name)
    return CheckedServer(
        name=visible(name),
        dialect=visible(about.name),
        version=visible(about.version),
        bundle=visible(bundle.folder.resolve().name),
        started=visible(bundle.info.started),
        cells=[_cell(result) for result in bundle.servers],
    )


def _cell(result: ServerResult) -> ServerCell:
    fields = result.model_dump(exclude={"kind", "id", "required", "sent"})
    known = result.met and result.verdict in ("other meaning", "error")
    return ServerCell(**visible(fields), met=result.met, known=known)

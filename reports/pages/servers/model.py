"""The model of the servers page; reports/schemas/servers.schema.json is made of it."""

from typing import Literal

from sampler_parity.harness.bundle.records.server import Group
from sampler_parity.harness.strict import Strict
from sampler_parity.harness.verdicts import ServerVerdict


class ServerCell(Strict):
    """The behaviour of a server for a parameter or a fact. known: a verdict that is required
    although it is not the right one.
    """

    server: str
    name: str
    group: Group
    verdict: ServerVerdict
    met: bool
    known: bool
    evidence: str
    silent: list[str]
    got: str
    curl: str
    requests: int
    tokens: int
    figures: dict[str, float]


class CheckedServer(Strict):
    """A server of a bundle. started: when its check was."""

    name: str
    dialect: str
    version: str
    bundle: str
    started: str
    cells: list[ServerCell]

    @property
    def wrong(self) -> list[ServerCell]:
        return [cell for cell in self.cells if not cell.met and cell.verdict != "skipped"]

    def of(self, group: Group) -> list[ServerCell]:
        return [cell for cell in self.cells if cell.group == group]

    def cell(self, group: Group, name: str) -> ServerCell | None:
        return next((c for c in self.cells if (c.group, c.name) == (group, name)), None)


class ServersReport(Strict):
    schema_version: Literal[1] = 1
    kind: Literal["servers"] = "servers"
    ok: bool
    servers: list[CheckedServer]

    @property
    def judged(self) -> list[ServerCell]:
        cells = [cell for server in self.servers for cell in server.cells]
        return [cell for cell in cells if cell.verdict != "skipped"]

    def names(self, group: Group) -> list[str]:
        """Return the names over all servers, in their order."""
        return [*dict.fromkeys(cell.name for s in self.servers for cell in s.of(group))]

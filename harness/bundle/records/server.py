"""What a check of a server found: one line of JSON."""

from typing import Literal

from sampler_parity.harness.strict import Strict
from sampler_parity.harness.verdicts import ServerVerdict

Group = Literal["parameter", "exact", "law", "probabilities", "state", "speed"]


class ServerResult(Strict):
    """A parameter, or a fact, of one server.

    required: the verdicts that pass. evidence: what shows it, in one line. silent: kinds of
    nonsense that were taken without an error. sent, got: the request and the answer that show it;
    curl: the request again. requests, tokens: how many it took. figures: what was measured.
    """

    kind: Literal["server"] = "server"
    id: str
    server: str
    group: Group
    name: str
    verdict: ServerVerdict
    required: list[ServerVerdict] = ["honoured"]
    evidence: str
    silent: list[str] = []
    sent: str = ""
    got: str = ""
    curl: str = ""
    requests: int = 0
    tokens: int = 0
    figures: dict[str, float] = {}

    @property
    def met(self) -> bool:
        return self.verdict in self.required

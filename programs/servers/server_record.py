"""A result of a check of a server: one line of JSON."""

from typing import Literal

from sampler_parity.harness.bundle.records import Result
from sampler_parity.harness.verdicts import ServerVerdict

Group = Literal["parameter", "exact", "law", "probabilities", "state", "endpoint", "tools", "speed"]


class ServerResult(Result):
    """A result of one server."""

    kind: Literal["server"] = "server"
    id: str
    server: str
    """name of the server"""
    group: Group
    """group of the result"""
    name: str
    """parameter or fact"""
    verdict: ServerVerdict
    """the verdict"""
    required: list[ServerVerdict] = ["honoured"]
    """verdicts that pass"""
    evidence: str
    """one line that shows it"""
    cause: str = ""
    """id of the result that it relies on, if that explains a failure"""
    silent: list[str] = []
    """kinds of invalid values that the server took without an error"""
    sent: str = ""
    """the request that shows it"""
    got: str = ""
    """the answer that shows it"""
    curl: str = ""
    """the request as a command"""
    requests: int = 0
    """number of requests"""
    tokens: int = 0
    """number of tokens"""
    figures: dict[str, float] = {}
    """measured values"""

    @property
    def met(self) -> bool:
        return self.verdict in self.required

"""Take a fingerprint of a server: every statement in turn, then the engine most like it."""

import time
from collections.abc import Callable

from sampler_parity.harness.sanitize.printable import visible
from sampler_parity.harness.strict import Strict
from sampler_parity.programs.servers.client import Client
from sampler_parity.programs.servers.fingerprint.counting import COUNTING
from sampler_parity.programs.servers.fingerprint.known_engines import (
    Likeness,
    alike,
    likenesses,
    release,
)
from sampler_parity.programs.servers.fingerprint.meanings import FIRST, MEANINGS
from sampler_parity.programs.servers.fingerprint.precedence import PRECEDENCE
from sampler_parity.programs.servers.fingerprint.sampler_order import SAMPLER_ORDER
from sampler_parity.programs.servers.fingerprint.trait import (
    UNDETERMINED,
    TraitTest,
    probe_of,
    trait_of,
)
from sampler_parity.programs.servers.probe import Probe

SECONDS = 50.0  # of requests: the minute has time for the last one
# Statements that distinguish engines come first: a slow server has no time for all.
STATEMENTS: dict[str, TraitTest] = {
    **FIRST,
    **PRECEDENCE,
    **COUNTING,
    **SAMPLER_ORDER,
    **MEANINGS,
}


class Statement(Strict):
    """`says`: a value, or "undetermined"; evidence: what shows it, or why not. curl: the
    request."""

    name: str
    says: str
    evidence: str
    curl: str = ""


class Fingerprint(Strict):
    """All statements about a server. resembles: the most similar engines; none if too few
    statements agree. release: of llama.cpp's servers. likes: all that were compared."""

    address: str
    dialect: str
    says_of_itself: str
    statements: list[Statement]
    resembles: list[str]
    release: str
    release_evidence: str
    likes: list[Likeness]
    requests: int
    seconds: float


def fingerprint(
    client: Client, itself: str, report: Callable[[Statement], object], seconds: float = SECONDS
) -> Fingerprint:
    """Ask for every statement, and report each as it comes. itself: the server's self-report."""
    start = time.monotonic()
    probe = probe_of(client, start + seconds)
    statements = []
    for name, test in STATEMENTS.items():
        statements.append(_statement(probe, name, test))
        if name == "unknown names":
            probe.undocumented = statements[-1].says == "accepted silently"
        report(statements[-1])
    says = {statement.name: statement.says for statement in statements}
    rows = likenesses(says)
    of, why = release(says)
    if client.dialect.text != "llama-server":
        of, why = UNDETERMINED, "only llama-server's release is determined"
    return Fingerprint(
        address=client.address.url,
        dialect=client.dialect.name,
        says_of_itself=itself,
        statements=statements,
        resembles=alike(rows),
        release=of,
        release_evidence=why,
        likes=rows,
        requests=client.traffic.requests,
        seconds=round(time.monotonic() - start, 1),
    )


def _statement(probe: Probe, name: str, test: TraitTest) -> Statement:
    trait = trait_of(probe, test)
    curl = probe.client.curl(trait.answer.sent) if trait.answer else ""
    data = {"name": name, "says": trait.value, "evidence": trait.evidence[:400], "curl": curl}
    return Statement.model_validate(visible(data))

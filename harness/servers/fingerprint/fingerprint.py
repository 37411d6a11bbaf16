"""A fingerprint: every statement in turn, then the engine that they are most like."""

import time
from collections.abc import Callable

from pydantic import BaseModel

from sampler_parity.harness.sanitize.printable import visible
from sampler_parity.harness.servers.client import Client
from sampler_parity.harness.servers.fingerprint.counting import COUNTING
from sampler_parity.harness.servers.fingerprint.known_engines import (
    Resemblance,
    alike,
    release,
    resemblances,
)
from sampler_parity.harness.servers.fingerprint.meanings import FIRST, MEANINGS, Fact
from sampler_parity.harness.servers.fingerprint.precedence import ORDER
from sampler_parity.harness.servers.fingerprint.probe import Over, Probe, cannot
from sampler_parity.harness.servers.fingerprint.sampler_order import NAMED
from sampler_parity.harness.servers.http import Failure
from sampler_parity.harness.strict import STRICT

SECONDS = 50.0  # of requests: the minute has time for the last one
# What tells engines apart first: a slow server has no time for all.
STATEMENTS: dict[str, Fact] = {**FIRST, **ORDER, **COUNTING, **NAMED, **MEANINGS}


class Statement(BaseModel):
    """says: an answer, or "cannot tell"; evidence: what shows it, or why not. curl: the request."""

    model_config = STRICT

    name: str
    says: str
    evidence: str
    curl: str = ""


class Like(BaseModel):
    """equal, told: statements. seen: of a server that was asked; else of its source."""

    model_config = STRICT

    engine: str
    seen: bool
    equal: int
    told: int
    differs: list[str]


class Fingerprint(BaseModel):
    """resembles: engines, most first; none where too little is alike. release: of llama.cpp's
    servers. likes: all that were compared."""

    model_config = STRICT

    address: str
    dialect: str
    says_of_itself: str
    statements: list[Statement]
    resembles: list[str]
    release: str
    release_evidence: str
    likes: list[Like]
    requests: int
    seconds: float


def fingerprint(
    client: Client, itself: str, say: Callable[[Statement], object], seconds: float = SECONDS
) -> Fingerprint:
    """itself: what the server says of itself."""
    start = time.monotonic()
    probe = Probe(client, start + seconds)
    statements = []
    for name, fact in STATEMENTS.items():
        statements.append(_stated(probe, name, fact))
        if name == "unknown names":
            probe.wide = statements[-1].says == "taken in silence"
        say(statements[-1])
    told = {statement.name: statement.says for statement in statements}
    rows = resemblances(told)
    like = [row.engine.name for row in alike(rows)]
    of, why = release(told)
    if client.dialect.text != "llama-server":
        of, why = "cannot tell", "told of llama-server only"
    return Fingerprint(
        address=client.address.url,
        dialect=client.dialect.name,
        says_of_itself=itself,
        statements=statements,
        resembles=like,
        release=of,
        release_evidence=why,
        likes=[_like(row) for row in rows],
        requests=client.asked[0],
        seconds=round(time.monotonic() - start, 1),
    )


def _stated(probe: Probe, name: str, fact: Fact) -> Statement:
    try:
        said = fact(probe)
    except Failure as failure:
        said = cannot(failure.line)
    except Over:
        said = cannot("the time is over")
    curl = probe.client.curl(said.answer.sent) if said.answer else ""
    data = {"name": name, "says": said.says, "evidence": said.evidence[:400], "curl": curl}
    return Statement.model_validate(visible(data))


def _like(row: Resemblance) -> Like:
    return Like(
        engine=row.engine.name,
        seen=row.engine.seen,
        equal=row.equal,
        told=row.told,
        differs=list(row.differs),
    )

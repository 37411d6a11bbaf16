"""A fact about a server beside its parameters: asked, and told as a result."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from sampler_parity.harness.bundle.records.server import Group, ServerResult, ServerVerdict
from sampler_parity.harness.servers.asking import Answer, Client
from sampler_parity.harness.servers.http import Failure


@dataclass(frozen=True)
class Told:
    """What a fact comes to. answer: the one that shows it."""

    verdict: ServerVerdict
    evidence: str
    answer: Answer | None = None
    figures: dict[str, float] = field(default_factory=dict)


Fact = Callable[[Client], Told]


def told(group: Group, facts: dict[str, Fact], client: Client) -> Iterator[ServerResult]:
    """Each fact in turn; a failure of the server is an error of that fact alone."""
    for name, fact in facts.items():
        before = client.asked[0]
        try:
            said = fact(client)
        except Failure as failure:
            said = Told("error", failure.line, Answer(failure.sent, refusal=failure.line))
        answer = said.answer
        yield ServerResult(
            id=f"{group}/{name}",
            server="",
            group=group,
            name=name,
            verdict=said.verdict,
            evidence=said.evidence[:400],
            sent=json.dumps(answer.sent, ensure_ascii=False) if answer else "",
            got=answer.got if answer else "",
            curl=client.curl(answer.sent) if answer else "",
            requests=client.asked[0] - before,
            figures=said.figures,
        )


def right_if(holds: bool, right: str, wrong: str, answer: Answer) -> Told:
    if answer.refusal:
        return Told("error", f"refused: {answer.refusal}", answer)
    return Told("honoured", right, answer) if holds else Told("other meaning", wrong, answer)

"""A fact about a server beside its parameters: asked, and told as a result."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from sampler_parity.harness.bundle.records.server import Group, ServerResult, ServerVerdict
from sampler_parity.harness.protocol.ask import Row
from sampler_parity.harness.protocol.interface import BackendFailure
from sampler_parity.harness.servers.client import Answer, Client
from sampler_parity.harness.servers.http import Failure
from sampler_parity.harness.servers.oracle.decoder import Logits


@dataclass(frozen=True)
class Told:
    """What a fact comes to. answer: the one that shows it."""

    verdict: ServerVerdict
    evidence: str
    answer: Answer | None = None
    figures: dict[str, float] = field(default_factory=dict)


Fact = Callable[[Client], Told]


class NotComputed(Exception):  # noqa: N818 - no defect
    """Why there are no logits to hold an answer against."""

    def __init__(self, why: str, answer: Answer) -> None:
        super().__init__(f"not computed: llama.cpp {why}")
        self.answer = answer


def rows_of(logits: Logits, prompt: Sequence[int], tokens: Sequence[int], answer: Answer) -> Row:
    """The logits that an answer's tokens were drawn from. Raises NotComputed."""
    try:
        return logits.rows(prompt, tokens)
    except BackendFailure as failure:
        raise NotComputed(str(failure), answer) from None


def told(group: Group, facts: dict[str, Fact], client: Client) -> Iterator[ServerResult]:
    """Each fact in turn; a failure of the server is an error of that fact alone."""
    for name, fact in facts.items():
        before = client.asked[0]
        try:
            said = fact(client)
        except Failure as failure:
            said = Told("error", failure.line, Answer(failure.sent, refusal=failure.line))
        except NotComputed as why:
            said = Told("error", str(why), why.answer)
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

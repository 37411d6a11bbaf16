"""An observation of a server by a check, and the record that it becomes."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from sampler_parity.harness.processes.phase import phase
from sampler_parity.harness.verdicts import ServerVerdict
from sampler_parity.programs.servers.answer import Answer
from sampler_parity.programs.servers.client import Client
from sampler_parity.programs.servers.http import ServerFailure
from sampler_parity.programs.servers.server_record import Group, ServerResult


@dataclass(frozen=True)
class Observation:
    """A verdict with its evidence: one line, and the answer that shows it."""

    verdict: ServerVerdict
    evidence: str
    answer: Answer | None = None
    figures: dict[str, float] = field(default_factory=dict)


ServerTest = Callable[[Client], Observation]


class NotComputed(Exception):  # noqa: N818 - no defect
    """The logits to compare an answer with could not be computed."""

    def __init__(self, why: str, answer: Answer) -> None:
        super().__init__(f"not computed: llama.cpp {why}")
        self.answer = answer


def observe(group: Group, tests: dict[str, ServerTest], client: Client) -> Iterator[ServerResult]:
    """Run each test in turn. A failure of the server is an error of that test alone."""
    for name, test in tests.items():
        if not client.selects(name):
            continue
        before = client.traffic.requests
        try:
            with phase(f"{group}: {name}"):
                observed = test(client)
        except ServerFailure as failure:
            observed = failed(failure)
        except NotComputed as why:
            observed = Observation("error", str(why), why.answer)
        result = result_of(client, group, name, observed)
        yield result.model_copy(update={"requests": client.traffic.requests - before})


def failed(failure: ServerFailure) -> Observation:
    """Return an error that shows the request without an answer."""
    return Observation("error", failure.line, Answer(failure.sent, refusal=failure.line))


def honoured_if(holds: bool, right: str, wrong: str, answer: Answer) -> Observation:
    """Return `honoured` or `other meaning`, and an error where the server refused."""
    if answer.refusal:
        return Observation("error", f"refused: {answer.refusal}", answer)
    return Observation("honoured" if holds else "other meaning", right if holds else wrong, answer)


def result_of(
    client: Client, group: Group, name: str, observed: Observation, limit: int | None = 400
) -> ServerResult:
    """Return the record of an observation. limit: characters of the evidence."""
    answer = observed.answer
    return ServerResult(
        id=f"{group}/{name}",
        server="",
        group=group,
        name=name,
        verdict=observed.verdict,
        evidence=observed.evidence[:limit],
        sent=json.dumps(answer.sent, ensure_ascii=False) if answer else "",
        got=answer.got if answer else "",
        curl=client.curl(answer.sent) if answer else "",
        figures=observed.figures,
    )

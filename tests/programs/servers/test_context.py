from collections.abc import Callable
from typing import Any

import pytest

from sampler_parity.programs.servers.context import check_context
from sampler_parity.programs.servers.oracle import samplers
from sampler_parity.programs.servers.oracle.generate import Oracle
from sampler_parity.programs.servers.server_record import ServerResult
from tests.support.fake_server import Answered, Answering, Sent, answered, fake_client
from tests.support.table_model import KNOWN

SIZE = 40
TOO_LONG = (400, {"error": {"message": "exceeds the available context size"}})


def ends(sent: Sent) -> Answered:
    """Answer as llama-server does without a context shift."""
    left = SIZE - len(sent["prompt"])
    return answered({**sent, "n_predict": min(sent["n_predict"], left)}) if left > 0 else TOO_LONG


def shifts(sent: Sent) -> Answered:
    return answered(sent) if len(sent["prompt"]) < SIZE else TOO_LONG


def cuts_the_prompt(sent: Sent) -> Answered:
    return ends({**sent, "prompt": sent["prompt"][1 - SIZE :]})


def ends_early(sent: Sent) -> Answered:
    return ends({**sent, "n_predict": min(sent["n_predict"], 11)})


def forgets(sent: Sent) -> Answered:
    """Continue from another token than the last when the context is full."""
    status, data = ends(sent)
    if status == 200 and sent["n_predict"] > 1:
        data["tokens"][-1] += 1
    return status, data


def refuses(sent: Sent) -> Answered:
    asked = len(sent["prompt"]) + sent["n_predict"]
    return ends(sent) if asked <= SIZE else TOO_LONG


def result(answering: Answering) -> ServerResult:
    with fake_client(answering) as client:
        (done,) = check_context(client, Oracle(samplers.llama_server, KNOWN, {}, 1), SIZE)
    return done


def test_a_text_that_ends_with_the_context_is_honoured() -> None:
    done = result(ends)
    assert done.verdict == "honoured", done.evidence
    assert done.evidence.startswith("28 tokens of 40 are the prompt, 64 are asked for, 12 come")
    assert (done.id, done.requests) == ("state/past the context", 2)


FAULTS: dict[str, tuple[Callable[[Any], Answered], str]] = {
    "shifts the context": (shifts, "token 12 is "),
    "ends early": (ends_early, "token 11 is None, expected "),
    "forgets its last token": (forgets, "token 11 is "),
    "cuts a prompt in silence": (cuts_the_prompt, "80 tokens are accepted as a prompt"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_what_is_done_otherwise_past_the_context_is_caught(fault: str) -> None:
    answering, evidence = FAULTS[fault]
    done = result(answering)
    assert (done.verdict, evidence in done.evidence) == ("other meaning", True), done.evidence


def test_a_server_that_refuses_what_does_not_fit_is_an_error() -> None:
    done = result(refuses)
    assert done.verdict == "error"
    assert "exceeds the available context size" in done.evidence

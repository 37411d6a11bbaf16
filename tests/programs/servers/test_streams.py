from threading import Barrier

import pytest

from sampler_parity.programs.servers.observation import observe
from sampler_parity.programs.servers.server_record import ServerResult
from sampler_parity.programs.servers.state import STREAMS, state_tests
from tests.support.fake_server import Answered, Answering, Sent, answered, fake_client


def result(answering: Answering) -> ServerResult:
    name = f"{STREAMS} streams at once"
    with fake_client(answering) as client:
        (done,) = observe("state", {name: state_tests(client.dialect)[name]}, client)
    return done


def interrupts(words: int) -> Answering:
    """All but one of those that are streamed at once end after so many words."""
    together = Barrier(STREAMS)

    def answering(sent: Sent) -> Answered:
        status, data = answered(sent)
        if sent.get("stream") and together.wait(timeout=60):
            pieces = data["content"].split(" ")
            content, tokens = " ".join(pieces[: words + 1]), data["tokens"][:words]
            data = {**data, "content": content, "tokens": tokens}
        return status, data

    return answering


def test_streams_that_come_at_once_are_whole() -> None:
    done = result(answered)
    assert (done.verdict, done.evidence) == ("honoured", "4/4 whole")


@pytest.mark.slow
@pytest.mark.parametrize("words", [0, 1, 23])
def test_streams_that_another_request_ends_are_reported_with_the_text_that_is_missing(
    words: int,
) -> None:
    done = result(interrupts(words))
    assert done.verdict == "other meaning"
    assert done.evidence.startswith("3/4 are cut: ")
    assert ", alone " in done.evidence

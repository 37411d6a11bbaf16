"""Servers of OpenAI's form whose penalties differ from OpenAI's reference are named."""

import pytest

from sampler_parity.programs.servers.client import Client
from sampler_parity.programs.servers.dialects import DIALECTS
from sampler_parity.programs.servers.parameters import check_parameter, prepare
from sampler_parity.programs.servers.probe import Probe
from sampler_parity.programs.servers.server_record import ServerResult
from tests.support.fake_server import (
    Answered,
    Answering,
    Sent,
    answered,
    fake_server,
    tokens_of,
)

OPENAI = DIALECTS["openai"]


def openai(defaults: Sent, counts_prompt: bool = True) -> Answering:
    """Return a server of OpenAI's form. defaults: of llama.cpp's parameters. counts_prompt: for
    penalties; else it reads the prompt's last token alone, which decides the next logits."""

    def answering(sent: Sent) -> Answered:
        neutral = {"top_k": 0, "top_p": 1.0, "min_p": 0.0, "temperature": 1.0}
        request = {**neutral, **defaults, **sent, "repeat_last_n": 1000}
        if not counts_prompt:
            request["prompt"] = tokens_of(sent["prompt"])[-1:]
        request["n_predict"] = request.pop("max_tokens", 16)
        status, data = answered({k: v for k, v in request.items() if k not in ("stream", "n")})
        if status != 200:
            return status, data
        ended = "length" if data["stop_type"] == "limit" else "stop"
        return 200, {"choices": [{"text": data["content"], "finish_reason": ended, "index": 0}]}

    return answering


def result_of(answering: Answering, name: str) -> ServerResult:
    with fake_server(answering) as address:
        probe = Probe(Client(address, OPENAI))
        prepare(probe)
        return check_parameter(probe, next(row for row in OPENAI.parameters if row.name == name))


@pytest.mark.slow
def test_a_silent_repeat_penalty_is_named() -> None:
    result = result_of(openai({"repeat_penalty": 1.05}), "repeat_penalty")
    assert (result.verdict, result.met) == ("other meaning", False)
    assert "without repeat_penalty the text is not that of its default 1.0" in result.evidence


@pytest.mark.slow
def test_a_repeat_penalty_that_requests_alone_set_is_a_note() -> None:
    result = result_of(openai({}), "repeat_penalty")
    assert (result.verdict, result.met) == ("undocumented", True)


@pytest.mark.slow
def test_a_penalty_that_counts_the_prompt_is_named() -> None:
    result = result_of(openai({}), "frequency_penalty")
    assert (result.verdict, result.met) == ("other meaning", False)
    assert "the prompt counts, documented is that it does not count" in result.evidence


@pytest.mark.slow
def test_a_penalty_that_counts_drawn_tokens_alone_passes() -> None:
    result = result_of(openai({}, counts_prompt=False), "frequency_penalty")
    assert (result.verdict, result.met) == ("honoured", True), result.evidence

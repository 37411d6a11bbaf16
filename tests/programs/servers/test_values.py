from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from sampler_parity.programs.servers.dialects import DIALECTS
from sampler_parity.programs.servers.oracle.model import KnownModel, observe_with
from sampler_parity.programs.servers.read_answer import read_answer
from sampler_parity.programs.servers.server_record import ServerResult
from sampler_parity.programs.servers.values import bound, log_softmax, value_tests
from tests.support.fake_server import Answered, Answering, Sent, answered, fake_client
from tests.support.server_faults import OF_VALUES
from tests.support.table_model import KNOWN


def results(
    answering: Answering, only: str = "", dialect: str = "llama-server", model: KnownModel = KNOWN
) -> list[ServerResult]:
    with fake_client(answering, DIALECTS[dialect]) as client:
        tests = value_tests()
        chosen = {only: tests[only]} if only else tests
        return [*observe_with(model, "probabilities", chosen, client)]


def test_the_values_of_a_faithful_server_are_the_model_s() -> None:
    done = results(answered)
    assert [(r.name, r.verdict, r.evidence) for r in done if not r.met] == []
    assert [r.name for r in done] == ["values", "values of a hot text", "values with samplers"]
    hot = done[1]
    assert hot.figures["outside"] > 0, "no token was chosen outside the list"
    assert max(r.figures["off"] for r in done) < 1e-6


@pytest.mark.parametrize("fault", OF_VALUES, ids=lambda fault: fault[0])
def test_values_that_are_not_the_model_s_are_called_by_their_meaning(fault: Any) -> None:
    _, fact, message, between = fault
    (named,) = results(between(answered), fact)
    assert named.verdict == "other meaning"
    assert message in named.evidence


def test_a_log_softmax_in_float32_stays_within_the_bound_that_is_stated() -> None:
    """The worst order for a sum: the largest first, each further one below its last bit."""
    row = np.full(4096, -17.0, np.float32)
    row[0] = 0.0
    total = np.float32(0)
    for value in np.exp(row):
        total += value
    single = float(np.log(np.exp(row[0]) / total))
    exact = float(log_softmax(row)[0])
    assert 1e-5 < abs(single - exact) <= bound(4096, exact) < 2.5e-4


def moved(by: float) -> Answering:
    """Every logprob is this much off."""

    def answering(sent: Sent) -> Answered:
        status, data = answered(sent)
        for place in data.get("completion_probabilities", ()):
            for one in (place, *place["top_logprobs"]):
                one["logprob"] += by
        return status, data

    return answering


@pytest.mark.parametrize(
    ("by", "message"), [(0.006, "within 0.006: another build's"), (0.2, "the model gives")]
)
def test_values_that_are_a_little_off_are_no_rounded_ones_but_of_another_build(
    by: float, message: str
) -> None:
    (named,) = results(moved(by), "values")
    assert message in named.evidence
    assert "rounded" not in named.evidence
    assert ("another build's" in named.evidence) == (by < 0.05)


@pytest.mark.parametrize(("by", "met"), [(0.003, True), (-0.003, True), (0.006, False)])
def test_values_of_another_engine_may_be_off_by_its_rounding(by: float, met: bool) -> None:
    done = results(moved(by), "values", model=replace(KNOWN, rounding=0.004))
    assert [r.met for r in done] == [met]


def as_mlx_lm(sent: Sent) -> Answered:
    """With a list it names the first of that in the place of the token that it drew."""
    status, data = answered({**sent, "n_predict": sent["max_tokens"], "n_probs": 5})
    places = data["completion_probabilities"]
    content = [{"id": one["id"], "logprob": one["logprob"]} for one in places]
    if "top_logprobs" in sent:
        tops = [one["top_logprobs"][::-1] for one in places]
        content = [{**top[0], "top_logprobs": top} for top in tops]
    reply = {"text": data["content"], "logprobs": {"content": content}, "finish_reason": "length"}
    return status, {"choices": [reply]}


def test_where_a_list_hides_what_was_drawn_it_is_asked_for_alone() -> None:
    done = results(as_mlx_lm, dialect="mlx-lm")
    assert [(r.name, r.verdict, r.evidence) for r in done if not r.met] == []
    assert [r.requests for r in done] == [6, 6, 6]


def test_ids_that_vllm_writes_as_texts_are_read() -> None:
    reply = {
        "tokens": ["token_id:3"],
        "token_logprobs": [-0.5],
        "top_logprobs": [{"token_id:3": -0.5, "token_id:12": -1.5}],
    }
    data = {"choices": [{"text": "a", "token_ids": [3], "logprobs": reply}]}
    answer = read_answer(DIALECTS["vllm"], {}, data)
    assert answer.tokens == (3,)
    assert answer.reports[0].token.name == 3
    assert [one.name for one in answer.reports[0].top] == [3, 12]

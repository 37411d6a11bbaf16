"""Effects of batching on logits pass. Text of another client in a reply fails."""

import itertools
from collections.abc import Callable

import numpy as np
import pytest

from sampler_parity.programs.servers.concurrency import MOVED, check_concurrency, replay
from sampler_parity.programs.servers.oracle.samplers import llama_server
from sampler_parity.programs.servers.server_record import ServerResult
from tests.support import fake_server
from tests.support.fake_server import TABLE, VOCAB, Answered, Answering, N, Sent, answered
from tests.support.table_model import KNOWN


def result(answering: Answering, clients: int) -> ServerResult:
    with fake_server.fake_client(answering) as client:
        (done,) = check_concurrency(client, KNOWN, clients)
    return done


def test_each_of_many_clients_gets_the_tokens_that_are_predicted() -> None:
    done = result(answered, 4)
    assert done.verdict == "honoured"
    assert done.evidence == "64/64 tokens as predicted, 0 at a near tie of the logits"


@pytest.mark.slow
def test_logits_that_are_moved_as_by_a_batch_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    signs = np.random.default_rng(0).choice([-1, 1], TABLE.shape)
    moved = (TABLE + 0.9 * MOVED * signs).astype(np.float32)
    monkeypatch.setattr(fake_server, "TABLE", moved)
    done = result(answered, 16)
    assert done.verdict == "honoured", done.evidence
    assert done.figures["near_ties"] >= 1


def every_second(change: Callable[[Sent], Sent]) -> Answering:
    """Change every second answer, as a neighbour would."""
    turns = itertools.count()
    return lambda sent: answered({**sent, **change(sent)} if next(turns) % 2 else sent)


def exchanged() -> Answering:
    """Answer one with the seed, and so the text, of another client."""
    before: list[Sent] = []
    leaked: list[Sent] = []

    def answering(sent: Sent) -> Answered:
        before.append(sent)
        others = [one["seed"] for one in before if one["seed"] != sent["seed"]]
        if others and not leaked:
            leaked.append(sent)
            return answered({**sent, "seed": others[0]})
        return answered(sent)

    return answering


def pooled() -> Answering:
    """Sample for all clients with the parameters of the first that came."""
    first: Sent = {}

    def answering(sent: Sent) -> Answered:
        names = ("temperature", "top_k", "repeat_penalty", "frequency_penalty", "logit_bias")
        for name in names:
            first.setdefault(name, sent[name])
        return answered({**sent, **first})

    return answering


LEAKS = {
    "another's logit_bias": every_second(lambda _: {"logit_bias": [[i, 0.5] for i in range(150)]}),
    "another's temperature": every_second(lambda _: {"temperature": 1.3}),
    "another's seed": exchanged(),
    "another's length": every_second(lambda _: {"n_predict": 12}),
    "the parameters of the first": pooled(),
    "a seed of 16 bits": lambda sent: answered({**sent, "seed": sent["seed"] % 65536}),
}


@pytest.mark.slow
@pytest.mark.parametrize("leak", LEAKS)
def test_what_of_a_client_reaches_another_is_an_error(leak: str) -> None:
    done = result(LEAKS[leak], 24)
    assert (done.verdict, done.met) == ("error", False)
    reason = "12 tokens" if leak == "another's length" else "no near tie of logits"
    assert reason in done.evidence


@pytest.mark.parametrize(("apart", "near"), [(MOVED, 1), (3 * MOVED, 0)])
def test_only_a_tie_that_rounding_reaches_is_near(apart: float, near: int) -> None:
    rows = np.full((2, N), -9, np.float32)
    rows[:, 5], rows[:, 6] = 1.0, 1.0 - apart
    done = replay(llama_server({"temperature": 0.0}, [1], VOCAB), [6, 5], rows)
    assert done.near_ties == near
    assert (done.unexplained == "") == bool(near)

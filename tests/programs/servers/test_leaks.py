"""A parameter that stays for later requests is named, with the request that left it."""

from pathlib import Path

import pytest

from sampler_parity.programs.servers.causes import by_cause
from sampler_parity.programs.servers.client import Client
from sampler_parity.programs.servers.leaks import LeakWatch
from sampler_parity.programs.servers.run import QUICK, ServerCheck, run_checks
from tests.support.fake_server import (
    EOS,
    LLAMA,
    Answered,
    Answering,
    Sent,
    answered,
    fake_client,
    fake_server_inside,
)
from tests.support.server_faults import drops


def remembers(name: str) -> Answering:
    """Keep the last value of a parameter for requests without it."""
    slot: Sent = {}

    def answering(sent: Sent) -> Answered:
        slot.update({k: v for k, v in sent.items() if k == name})
        return answered({**slot, **sent})

    return answering


VALUES = {
    "logit_bias": [[300, 100.0]],
    "repeat_penalty": 3.0,
    "top_k": 1,
    "temperature": 0.1,
}


def watched(client: Client, several: list[Sent]) -> LeakWatch:
    """Send requests between two looks."""
    watch = LeakWatch(client)
    for sent in several:
        client.complete("a b c", {"n_predict": 2, **sent})
    watch.find()
    return watch


@pytest.mark.parametrize("name", VALUES)
@pytest.mark.parametrize("place", [0, 9, 19])
def test_the_request_and_the_parameter_that_stays_are_named(name: str, place: int) -> None:
    several: list[Sent] = [{"seed": i, "min_p": 0.1} for i in range(20)]
    several[place] |= {"presence_penalty": 0.0, name: VALUES[name]}
    with fake_client(remembers(name)) as client:
        (leak,) = watched(client, several).leaks
        silent = client.complete("a", {}).sent
    assert (leak.name, leak.request.sent["seed"]) == (name, place)
    assert leak.request.sent[name] == VALUES[name]
    assert silent[name] == {"logit_bias": [], "repeat_penalty": 1, "top_k": 40}.get(name, 0.8)


def test_a_right_server_leaks_nothing() -> None:
    with fake_client() as client:
        watch = watched(client, [{name: value} for name, value in VALUES.items()])
        assert watch.leaks == []
        (result,) = watch.observe(client)
    assert (result.verdict, result.evidence[:7]) == ("honoured", "1 times")


def test_texts_that_never_repeat_or_change_once_are_not_called_a_leak() -> None:
    count = iter(range(10**6))

    def random(sent: Sent) -> Answered:
        return answered({**sent, "seed": next(count), "temperature": 2.0})

    def changing(sent: Sent) -> Answered:  # as near ties after a change of its cache
        return answered({**sent, "min_p": 0.0 if next(count) < 5 else 0.9})

    for answering in (random, changing):
        with fake_client(answering) as client:
            assert watched(client, [{"top_k": 1}] * 9).leaks == []


@pytest.mark.slow
def test_all_that_a_leak_spoils_is_listed_under_it(tmp_path: Path) -> None:
    with fake_server_inside(remembers("logit_bias")) as address:
        client = Client(address, LLAMA, eos=EOS, quick=True)
        causes: list[str] = []
        bundle = run_checks(
            ServerCheck("mine", client, QUICK),
            tmp_path / "b",
            ["x"],
            lambda _: None,
            lambda several: causes.extend(cause.line for cause in several),
        )
    assert [group.result.id for group in by_cause(bundle, LLAMA)] == ["state/leaks"]
    assert causes[0].startswith("logit_bias stays for later requests: logit_bias [[300, ")


@pytest.mark.slow
def test_a_leak_hides_no_other_fault(tmp_path: Path) -> None:
    with fake_server_inside(drops("top_p")(remembers("logit_bias"))) as address:
        client = Client(address, LLAMA, eos=EOS, quick=True)
        check = ServerCheck("mine", client, QUICK)
        bundle = run_checks(check, tmp_path / "b", ["x"], lambda _: None)
    ids = {group.result.id for group in by_cause(bundle, LLAMA)}
    assert {"state/leaks", "parameter/top_p"} <= ids

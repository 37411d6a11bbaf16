"""A parameter that is lost among many requests is named, with the rung where that begins."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from threading import Barrier, BrokenBarrierError
from unittest import mock

import pytest

from sampler_parity.programs.servers import clients
from sampler_parity.programs.servers.answer import Answer
from sampler_parity.programs.servers.clients import check_clients, rungs
from sampler_parity.programs.servers.dialects import Dialect
from sampler_parity.programs.servers.probe import Probe
from sampler_parity.programs.servers.server_record import ServerResult
from tests.support.fake_server import LLAMA, Answered, Answering, Sent, answered, fake_client
from tests.support.server_faults import drops

FEW = ("temperature", "top_p", "logit_bias", "seed", "stop")


def dialect_of(*names: str) -> Dialect:
    return replace(LLAMA, parameters=tuple(row for row in LLAMA.parameters if row.name in names))


@dataclass
class Busy:
    """Drop a parameter of each request from the `limit`-th in flight on, or refuse it, if no
    parameter is named. 0: drop it while some have no seed. clients: each request waits until all of
    them ask. seedless: how many have no seed."""

    name: str
    limit: int
    clients: Barrier = field(default_factory=partial(Barrier, 1))
    seedless: int = 0

    def at_once(self, clients: int, seedless: int) -> None:
        self.clients, self.seedless = Barrier(clients + seedless, timeout=60), seedless

    def __call__(self, sent: Sent) -> Answered:
        try:
            number = self.clients.wait() + 1
        except BrokenBarrierError:  # a client that was refused asks no more
            number = 0
        crowded = number >= self.limit if self.limit else self.seedless > 0
        if crowded and not self.name:
            self.clients.abort()
            return 503, {"error": "busy"}
        return (drops(self.name)(answered) if crowded else answered)(sent)


def result(answering: Answering, most: int = 64, dialect: Dialect = LLAMA) -> ServerResult:
    with fake_client(answering, dialect) as client:
        (result,) = check_clients(client, most)
    return result


def result_of_busy(busy: Busy, *names: str, most: int = 64) -> ServerResult:
    def counted(
        probe: Probe, wants: Sequence[Answer], seedless: int = 0
    ) -> list[tuple[Answer, Answer]]:
        busy.at_once(len(wants), seedless)
        try:
            pairs: list[tuple[Answer, Answer]] = at_once(probe, wants, seedless)
            return pairs
        finally:
            busy.at_once(1, 0)

    at_once = vars(clients)["_at_once"]
    with mock.patch.object(clients, "_at_once", counted):
        return result(busy, most, dialect_of(*names))


def test_the_rungs_double_up_to_the_number_of_clients() -> None:
    assert [rungs(n) for n in (1, 2, 16, 40)] == [[1], [2], [2, 4, 8, 16], [2, 4, 8, 16, 32, 40]]


@pytest.mark.slow
def test_a_right_server_passes_and_all_its_parameters_are_named() -> None:
    done = result(answered)
    assert done.verdict == "honoured", done.evidence
    assert done.evidence.startswith("up to 64 at once, each with its own temperature, top_k")
    assert all(name in done.evidence for name in ("logit_bias", "seed", "n_predict", "stop"))


@pytest.mark.slow
@pytest.mark.parametrize(("limit", "rung"), [(17, 32), (33, 64), (40, 64), (60, 64)])
def test_a_lost_seed_is_named_with_the_rung_where_it_begins(limit: int, rung: int) -> None:
    done = result_of_busy(Busy("seed", limit), "top_p", "seed")
    assert done.verdict == "other meaning"
    line = f"seed is lost from {rung} requests in flight on, right with {rung // 2}"
    assert done.evidence == line


def test_a_seed_that_is_lost_among_requests_without_one_is_named() -> None:
    busy = Busy("seed", 0)
    done = result_of_busy(busy, "seed", most=8)
    line = "a seed among as many requests without one is lost from 8 requests in flight on"
    assert (done.verdict, done.evidence) == ("other meaning", f"{line}, right with 4")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "limit", "rung", "others"),
    [
        ("temperature", 24, 32, ("seed",)),
        ("logit_bias", 24, 32, ("seed",)),
        ("stop", 24, 32, ("temperature",)),
        ("top_p", 60, 64, ("seed",)),
    ],
)
def test_another_parameter_that_is_lost_is_named_alone(
    name: str, limit: int, rung: int, others: tuple[str, ...]
) -> None:
    done = result_of_busy(Busy(name, limit), name, *others)
    line = f"{name} is lost from {rung} requests in flight on, right with {rung // 2}"
    assert done.evidence == line


def test_a_parameter_that_no_request_has_is_not_called_lost_among_many() -> None:
    few = dialect_of(*FEW)
    assert result(drops("top_p")(answered), 4, few).verdict == "honoured"
    assert result(drops("seed")(answered), 4, few).verdict == "honoured"


def test_the_rung_before_is_named_and_a_server_without_effects_is_not_judged() -> None:
    line = "logit_bias is lost from 6 requests in flight on, right with 4"
    assert result_of_busy(Busy("logit_bias", 5), "logit_bias", most=6).evidence == line
    assert result(drops("logit_bias")(answered), 4, dialect_of("logit_bias")).verdict == "skipped"


def test_a_server_that_refuses_the_last_rung_is_not_accused() -> None:
    done = result_of_busy(Busy("", 33), "top_p", most=40)
    assert done.verdict == "honoured"
    assert "up to 32 at once" in done.evidence
    assert "40 are not all answered" in done.evidence

"""Results of a check of a server that answers in this process, or of a proxy."""

from collections.abc import Iterator
from itertools import chain

from sampler_parity.programs.servers.client import Client
from sampler_parity.programs.servers.dialects import DIALECTS
from sampler_parity.programs.servers.observation import observe
from sampler_parity.programs.servers.parameters import check_parameter
from sampler_parity.programs.servers.probabilities import PROBABILITIES
from sampler_parity.programs.servers.probe import Probe
from sampler_parity.programs.servers.run import EVERYWHERE
from sampler_parity.programs.servers.server_record import ServerResult
from sampler_parity.programs.servers.state import check_answers, state_tests
from tests.support.fake_server import EOS, Answering, fake_server_inside

DIALECT = DIALECTS["llama-server"]


def results(answering: Answering, eos: int = EOS) -> Iterator[ServerResult]:
    with fake_server_inside(answering) as address:
        client = Client(address, DIALECT, eos=eos)
        for group in EVERYWHERE:
            yield from group(client)


def result(answering: Answering, wanted: str, eos: int = EOS) -> ServerResult:
    group, _, name = wanted.partition("/")
    with fake_server_inside(answering) as address:
        client = Client(address, DIALECT, eos=eos)
        if group == "parameter":
            return check_parameter(
                Probe(client, seeds=True), next(r for r in DIALECT.parameters if r.name == name)
            )
        if name.startswith("every answer"):
            for _ in chain.from_iterable(check(client) for check in EVERYWHERE[:2]):
                if name.partition(": ")[2] in client.traffic.broken:  # the first answer counts
                    break
            return next(one for one in check_answers(client) if one.name == name)
        facts = {"state": state_tests(DIALECT), "probabilities": PROBABILITIES}[group]
        (done,) = observe(
            "state" if group == "state" else "probabilities", {name: facts[name]}, client
        )
        return done

"""A faithful server passes, and each planted fault is called by its name."""

from collections.abc import Iterator

import pytest

from sampler_parity.harness.bundle.records.server import ServerResult
from sampler_parity.harness.servers.asking import Client
from sampler_parity.harness.servers.check import EVERYWHERE
from sampler_parity.harness.servers.dialects import DIALECTS
from sampler_parity.harness.servers.facts import told
from sampler_parity.harness.servers.parameters import Texts, one
from sampler_parity.harness.servers.probabilities import PROBABILITIES
from sampler_parity.harness.servers.state import STATE
from tests.support.fake_server import EOS, Answering, answered, fake_server
from tests.support.server_faults import FAULTS, Fault

DIALECT = DIALECTS["llama-server"]


def results(answering: Answering, eos: int = EOS) -> Iterator[ServerResult]:
    with fake_server(answering) as address:
        client = Client(address, DIALECT, eos=eos)
        for group in EVERYWHERE:
            yield from group(client)


def result(answering: Answering, wanted: str, eos: int = EOS) -> ServerResult:
    group, _, name = wanted.partition("/")
    with fake_server(answering) as address:
        client = Client(address, DIALECT, eos=eos)
        if group == "parameter":
            return one(Texts(client), next(r for r in DIALECT.parameters if r.name == name))
        facts = {"state": STATE, "probabilities": PROBABILITIES}[group]
        (said,) = told(
            "state" if group == "state" else "probabilities", {name: facts[name]}, client
        )
        return said


@pytest.mark.nightly
def test_a_faithful_server_passes_and_all_is_asked() -> None:
    done = list(results(answered))
    assert [(r.id, r.verdict, r.evidence) for r in done if not r.met] == []
    assert {r.id for r in done if r.verdict not in ("honoured", "clamped")} == {
        "parameter/unknown name"
    }
    assert len(done) == len(DIALECT.parameters) + 1 + 8 + 5


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_planted_fault_is_called_by_its_name(fault: Fault) -> None:
    named = result(fault.between(answered), fault.result)
    assert (named.verdict, named.evidence != "") == (fault.verdict, True), named.evidence
    if fault.name != "clamps nonsense":
        assert not named.met
    assert named.curl.startswith("curl http://127.0.0.1:")


def test_there_are_twenty_faults_of_every_kind() -> None:
    assert len(FAULTS) >= 20
    assert {fault.verdict for fault in FAULTS} == {"ignored", "clamped", "other meaning", "error"}

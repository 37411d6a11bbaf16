"""The same faults in a proxy before a real llama-server: each gets its name."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from sampler_parity.harness.inputs.models import GOLDEN, model_path
from sampler_parity.harness.inputs.vocabularies import read_vocab
from sampler_parity.programs.servers.address import Address
from sampler_parity.programs.servers.client import Client
from sampler_parity.programs.servers.dialects import DIALECTS
from sampler_parity.programs.servers.launch import real_servers
from sampler_parity.programs.servers.oracle import registry
from sampler_parity.programs.servers.oracle.check import check_tokens
from tests.support.fake_server import fake_server
from tests.support.real_server import started_here
from tests.support.server_faults import FAULTS, Fault
from tests.support.server_proxy import forwarding
from tests.support.server_results import result, results

SERVER = real_servers()["llama-server"]


@pytest.fixture(scope="module")
def address() -> Iterator[Address]:
    with started_here(SERVER) as address:
        yield address


@pytest.fixture(scope="module")
def eos() -> int:
    return read_vocab(model_path(GOLDEN)).eos


@pytest.mark.nightly
def test_a_faithful_proxy_before_a_real_server_passes(address: Address, eos: int) -> None:
    done = list(results(forwarding(address), eos))
    assert [(r.id, r.verdict, r.evidence) for r in done if not r.met] == []
    assert "skipped" not in {r.verdict for r in done}


# The chain of which each fault spoils a request of three.
OF_CHAINS = {
    "keeps 16 bits of a seed": "default",
    "keeps 31 bits of a seed": "default",
    "rounds a low temperature to 0": "cold",
    "takes 256 biases": "logit-bias-300",
    "takes the last five biases": "logit-bias-300",
    "ignores repeat_penalty in streams": "long",
}


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["", *OF_CHAINS])
def test_a_fault_before_a_real_server_spoils_its_predicted_chain(
    address: Address, eos: int, name: str
) -> None:
    oracle = registry.oracle_of_server("llama-server", 3)
    assert oracle is not None
    spoils = [fault.between for fault in FAULTS if fault.name == name]
    chains = {name: oracle.chains[name] for name in {*OF_CHAINS.values()}}
    answering = forwarding(address)
    with fake_server(spoils[0](answering) if spoils else answering) as proxy:
        client = Client(proxy, DIALECTS["llama-server"], eos=eos)
        done = [*check_tokens(client, replace(oracle, chains=chains))]
    wrong = {result.name for result in done if not result.met}
    assert OF_CHAINS[name] in wrong if name else not wrong


@pytest.mark.nightly
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_before_a_real_server_is_called_by_its_name(
    address: Address, eos: int, fault: Fault
) -> None:
    named = result(fault.between(forwarding(address)), fault.result, eos)
    assert (named.verdict, named.evidence != "") == (fault.verdict, True), named.evidence
    assert fault.name == "clamps nonsense" or not named.met

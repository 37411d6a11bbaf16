"""The same faults in a proxy before a real llama-server: each gets its name."""

from collections.abc import Iterator

import pytest

from sampler_parity.harness.inputs.models import GOLDEN, model_path
from sampler_parity.harness.inputs.vocabularies import read_vocab
from sampler_parity.harness.servers.address import Address
from sampler_parity.harness.servers.launch import missing, real_servers, started
from tests.support.server_faults import FAULTS, Fault
from tests.support.server_proxy import forwarding
from tests.support.server_results import result, results

SERVER = real_servers()["llama-server"]


@pytest.fixture(scope="module")
def address() -> Iterator[Address]:
    if why := missing(SERVER):
        pytest.skip(f"unavailable: {why}")
    with started(SERVER, model_path(GOLDEN)) as address:
        yield address


@pytest.fixture(scope="module")
def eos() -> int:
    return read_vocab(model_path(GOLDEN)).eos


@pytest.mark.nightly
def test_a_faithful_proxy_before_a_real_server_passes(address: Address, eos: int) -> None:
    done = list(results(forwarding(address), eos))
    assert [(r.id, r.verdict, r.evidence) for r in done if not r.met] == []
    assert "skipped" not in {r.verdict for r in done}


@pytest.mark.nightly
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_before_a_real_server_is_called_by_its_name(
    address: Address, eos: int, fault: Fault
) -> None:
    named = result(fault.between(forwarding(address)), fault.result, eos)
    assert (named.verdict, named.evidence != "") == (fault.verdict, True), named.evidence
    assert fault.name == "clamps nonsense" or not named.met

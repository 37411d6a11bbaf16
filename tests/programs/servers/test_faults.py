"""A faithful server passes, and each planted fault gets its name."""

import pytest

from sampler_parity.engines.xllamacpp.oracle import STATE
from sampler_parity.programs.servers.invariants import INVARIANTS, OF_OPENAI
from sampler_parity.programs.servers.probabilities import PROBABILITIES
from sampler_parity.programs.servers.state import KINDS
from tests.support.fake_server import answered
from tests.support.server_faults import FAULTS, Fault
from tests.support.server_results import DIALECT, result, results


@pytest.mark.nightly
def test_a_faithful_server_passes_and_all_is_asked() -> None:
    done = list(results(answered))
    assert [(r.id, r.verdict, r.evidence) for r in done if not r.met] == []
    assert {r.id for r in done if r.verdict not in ("honoured", "clamped")} == {
        "parameter/unknown name"
    }
    probabilities, state = len(PROBABILITIES), 10 + len(KINDS) + len(STATE)
    invariants = len(INVARIANTS) - len(OF_OPENAI)
    assert len(done) == len(DIALECT.parameters) + 1 + probabilities + state + invariants


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_planted_fault_is_called_by_its_name(fault: Fault) -> None:
    named = result(fault.between(answered), fault.result)
    assert (named.verdict, named.evidence != "") == (fault.verdict, True), named.evidence
    if fault.name != "clamps nonsense":
        assert not named.met
    assert named.curl.startswith("curl http://127.0.0.1:")


def test_a_logprob_of_0_everywhere_is_not_called_rounded() -> None:
    (fault,) = (one for one in FAULTS if one.name == "has a logprob of 0 for each token")
    named = result(fault.between(answered), fault.result)
    assert named.evidence == "the logprob of each token is 0"


def test_there_are_twenty_faults_of_every_kind() -> None:
    assert len(FAULTS) >= 20
    assert {fault.verdict for fault in FAULTS} == {
        *("ignored", "silently ignored", "clamped", "other meaning", "error")
    }

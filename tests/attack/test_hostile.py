"""Hostile adapters: each attack gets a verdict on its own case and leaves nothing behind."""

import os
import sys
import time

import pytest

from sampler_parity.harness.processes import supervisor
from sampler_parity.harness.protocol.process import BackendProcess
from sampler_parity.maintenance.selftest.adapters import ADAPTERS
from tests.attack import hostile
from tests.attack.charged import charged
from tests.support.alive import alive
from tests.support.examples import one_in

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="the attacks are of POSIX"),
    pytest.mark.slow,  # all of them together
]


@pytest.mark.parametrize("name", one_in(3, hostile.ATTACKS))
def test_attack_is_a_verdict_on_its_own_case(name: str) -> None:
    attack = hostile.ATTACKS[name]
    command = [sys.executable, "-I", "-S", hostile.__file__, attack.name]
    backend = BackendProcess(attack.name, command, timeout_s=0.5 if attack.hurried else 20.0)
    begun = time.monotonic()
    results, scratches = charged(attack, backend)
    verdicts = [result.backends[name].verdict for result in results]
    others = attack.verdict if attack.hello else "identical"
    assert verdicts == [others, attack.verdict, others], results[1].backends[name].detail
    assert attack.starts in (0, backend.starts)
    assert time.monotonic() - begun < 20
    assert [path for path in scratches if os.path.lexists(path)] == []
    assert not marked(backend)


def marked(backend: BackendProcess) -> list[int]:
    """Return the processes started by the backend that still run."""
    return alive(*supervisor._marked(f"{hostile.__file__}\0{backend.name}".encode()))


def test_there_are_ninety_and_each_says_what_it_does() -> None:
    assert len(hostile.ATTACKS) == len(hostile.LIST) >= 60
    assert len(hostile.ATTACKS) + len(ADAPTERS) >= 90
    texts = [attack.does for attack in hostile.LIST]
    assert all(0 < len(does) <= 60 for does in texts)

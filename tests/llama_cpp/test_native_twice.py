"""The native backend against itself in another process: no false alarm.

tests/maintenance/selftest/test_mutants.py checks the same on fewer cases, at each `make test`.
"""

import sys
from collections.abc import Iterator
from itertools import chain

import pytest

from sampler_parity.harness.checks.stages.block import StagesCase
from sampler_parity.harness.checks.stages.prepared import prepare
from sampler_parity.harness.protocol import client
from sampler_parity.harness.protocol.process import BackendProcess
from sampler_parity.harness.suite.file import expand, find_suites

COMMAND = [sys.executable, "-m", "sampler_parity.harness.backends.worker", "llama.cpp"]


@pytest.fixture
def twins() -> Iterator[list[BackendProcess]]:
    backends = [BackendProcess(name, COMMAND) for name in ("one", "two")]
    yield backends
    for backend in backends:
        backend.close()


@pytest.mark.nightly
def test_two_native_processes_agree_to_the_byte_on_every_tenth_quick_case(
    twins: list[BackendProcess],
) -> None:
    cases = [case for path in find_suites(["parity"]) for case in expand(path, "quick")]
    compared = 0
    for case in cases[::10]:
        if not isinstance(case, StagesCase) or case.n_draws or case.id.startswith("unseeded/"):
            continue
        ready = prepare(case)
        one, two = (
            client.run(
                twin,
                ready.setting,
                ready.rows,
                ready.steps,
                instances=ready.instances,
                detail=case.detail,
            )
            for twin in twins
        )
        assert one.tokens == two.tokens, case.id
        for x, y in zip(chain(*one.stages), chain(*two.stages), strict=True):
            same = [
                getattr(x, f).tobytes() == getattr(y, f).tobytes() for f in ("ids", "logits", "p")
            ]
            assert all(same), case.id
            assert (x.sorted, x.selected) == (y.sorted, y.selected), case.id
            compared += 1
    assert compared > 2000

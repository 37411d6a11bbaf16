"""A fault that hangs is interrupted, but not in a callback of the compiler, which cannot raise."""

import time
from typing import Any

import pytest

from sampler_parity.harness.faults.in_process import _time_limit

BUSY = "def busy(until, now):\n    while now() < until:\n        pass\n"


def ended(limit_s: float, compiling_s: float) -> str:
    """Return the error that ends a loop which begins in the compiler, for `compiling_s` seconds."""
    scope: dict[str, Any] = {}
    exec(compile(BUSY, "llvmlite/binding/executionengine.py", "exec"), scope)
    with _time_limit(limit_s):
        scope["busy"](time.monotonic() + compiling_s, time.monotonic)
        while True:
            pass


@pytest.mark.slow
@pytest.mark.parametrize("compiling_s", [0.0, 0.1], ids=["outside", "in the compiler"])
def test_what_does_not_end_is_ended(compiling_s: float) -> None:
    begun = time.monotonic()
    with pytest.raises(TimeoutError, match=r"no reply within 0.02 s"):
        ended(0.02, compiling_s)
    assert time.monotonic() - begun >= compiling_s


@pytest.mark.slow
def test_only_a_long_wait_is_ended_because_a_busy_machine_lets_processes_wait() -> None:
    with _time_limit(0.05):
        time.sleep(0.2)
    with pytest.raises(TimeoutError), _time_limit(0.01):
        time.sleep(60)

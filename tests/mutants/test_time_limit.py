"""A fault that does not end is ended, but not in a callback of the compiler, which cannot raise."""

import time
from typing import Any

import pytest

from sampler_parity.harness.mutants.in_process import _time_limit

IN_THE_COMPILER = "def busy(until, now):\n    while now() < until:\n        pass\n"


def test_what_does_not_end_is_ended() -> None:
    with pytest.raises(TimeoutError, match=r"no reply within 0.05 s"), _time_limit(0.05):
        while True:
            pass


def test_a_callback_of_the_compiler_is_left_before_it_is_ended() -> None:
    scope: dict[str, Any] = {}
    exec(compile(IN_THE_COMPILER, "llvmlite/binding/executionengine.py", "exec"), scope)
    until = time.monotonic() + 0.1
    with pytest.raises(TimeoutError), _time_limit(0.02):
        scope["busy"](until, time.monotonic)
        while True:
            pass
    assert time.monotonic() >= until

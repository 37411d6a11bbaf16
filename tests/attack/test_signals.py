"""Signals to a run: no process or file is left, and no recorded result is lost.

Here two of them and twenty kills; tests/attack/long_signals.py has the others (`make attack`).
"""

import sys
from pathlib import Path

import pytest

from tests.attack.killing import ENDS, Starter, Victim, end_by, kill_often

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="processes are looked for in /proc"),
    pytest.mark.slow,
]


def test_a_run_ends_whole_and_goes_on_with_what_it_has(starter: Starter, tmp_path: Path) -> None:
    victim = Victim(starter, tmp_path, cases=300)
    some = ("Ctrl-C", "Ctrl-C twice", "SIGKILL, a worker stopped")
    end_by({name: ENDS[name] for name in some}, victim)
    assert victim.finish() == {"identical": 300}


def test_killed_again_and_again_nothing_is_lost(tmp_path: Path) -> None:
    assert kill_often(8, 20261122, tmp_path).startswith("8 kills")


def test_a_run_that_forgets_a_record_is_seen(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="a record is gone"):
        kill_often(8, 20261122, tmp_path, "forgets")

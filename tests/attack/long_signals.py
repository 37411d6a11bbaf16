"""Every signal to a run, for `make attack`: too slow for `make test`."""

import sys
from pathlib import Path

import pytest

from tests.attack.killing import ENDS, Starter, Victim, end_by, kinds, send
from tests.support.alive import until

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="processes are looked for in /proc"),
    pytest.mark.slow,
]

GOES_ON = {
    "SIGKILL of a worker": "worker KILL",
    "SIGSTOP of a worker": "worker STOP",
    "SIGTERM of a worker": "worker TERM",
    "SIGKILL of a backend": "backend KILL",
}


def test_a_run_ends_whole_by_each_and_goes_on(starter: Starter, tmp_path: Path) -> None:
    victim = Victim(starter, tmp_path, cases=1200)
    end_by(ENDS, victim)
    assert victim.finish() == {"identical": 1200}


@pytest.mark.parametrize("name", GOES_ON)
def test_a_run_goes_on_without_one_of_its_processes(
    name: str, starter: Starter, tmp_path: Path
) -> None:
    victim = Victim(starter, tmp_path, cases=300)
    victim.begin()
    until(lambda: len(kinds(victim)["backend"]) == 2)
    family = victim.family()
    send(victim, GOES_ON[name])
    victim.wait()
    victim.leaves_nothing(family)
    verdicts = victim.finish()
    assert verdicts["crashed"] <= (1 if "backend" in name else 0)
    assert verdicts["identical"] == 300 - verdicts["crashed"]

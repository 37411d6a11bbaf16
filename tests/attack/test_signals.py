"""Signals to a run: nothing of it lives on, nothing lies about, nothing recorded is lost."""

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.attack.killing import Starter, Victim, children, hit, kill_often
from tests.support.alive import until

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="processes are looked for in /proc"),
    pytest.mark.slow,
]

ENDS = {
    "SIGINT": ["main INT"],
    "SIGINT twice": ["main INT", "main INT"],
    "Ctrl-C": ["group INT"],
    "Ctrl-C twice": ["group INT", "group INT"],
    "SIGTERM": ["main TERM"],
    "SIGHUP": ["group HUP"],
    "SIGQUIT": ["group QUIT"],
    "SIGKILL": ["main KILL"],
    "SIGKILL of the group": ["group KILL"],
    "SIGKILL, a worker stopped": ["worker STOP", "main KILL"],
    "SIGKILL, a backend stopped": ["backend STOP", "main KILL"],
    "SIGKILL, the keepers first": ["keeper KILL", "main KILL"],
}
GOES_ON = {
    "SIGKILL of a worker": "worker KILL",
    "SIGSTOP of a worker": "worker STOP",
    "SIGTERM of a worker": "worker TERM",
    "SIGKILL of a backend": "backend KILL",
}


@pytest.fixture(scope="module")
def starter() -> Iterator[Starter]:
    made = Starter()
    yield made
    made.close()


def kinds(victim: Victim) -> dict[str, list[int]]:
    """The processes of a run; keeper: that of the main process."""
    by_kind: dict[str, list[int]] = {
        "main": [victim.pid],
        "worker": [],
        "backend": [],
        "keeper": [],
    }
    for pid in children(victim.pid):
        kind = "keeper" if b"keeper.py" in Path(f"/proc/{pid}/cmdline").read_bytes() else "worker"
        by_kind[kind].append(pid)
    for worker in by_kind["worker"]:
        by_kind["backend"] += [
            pid
            for pid in children(worker)
            if b"adapter.py" in Path(f"/proc/{pid}/cmdline").read_bytes()
        ]
    return by_kind


def send(victim: Victim, what: str) -> None:
    kind, _, name = what.partition(" ")
    number = getattr(signal, f"SIG{name}")
    if kind == "group":
        os.killpg(victim.pid, number)
    else:
        hit(kinds(victim)[kind][0], number)


def semaphores(family: list[int]) -> list[int]:
    """Those of them that have a semaphore in shared memory."""
    return [pid for pid in family if "sem." in Path(f"/proc/{pid}/maps").read_text()]


def test_a_run_ends_whole_and_goes_on_with_what_it_has(starter: Starter, tmp_path: Path) -> None:
    victim = Victim(starter, tmp_path, cases=1200)
    for name, signals in ENDS.items():
        victim.begin()
        victim.until_more()
        until(lambda: len(kinds(victim)["backend"]) == 2)
        family = victim.family()
        assert len(family) >= 8, name  # main, 2 workers, 2 backends, 3 keepers
        assert semaphores(family) == []
        for what in signals:
            send(victim, what)
        assert victim.wait() != 0, name
        victim.leaves_nothing(family)
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


def test_killed_again_and_again_nothing_is_lost(tmp_path: Path) -> None:
    assert kill_often(20, 20261122, tmp_path).startswith("20 kills")

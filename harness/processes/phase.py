"""Name what the program does at the moment, so that no long wait is silent.

A timer of the system reports it, as a thread would prevent forks (`pool.may_fork`). Windows has no
such timer, and reports nothing.
"""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

AFTER_S = 5.0
_names = [""]  # of the phases, the innermost last
_process = 0  # the one that reports: not its copies


@contextmanager
def phase(name: str) -> Iterator[None]:
    """Report the name once if the body takes longer than AFTER_S without printing."""
    _names.append(name)
    wait(AFTER_S)
    try:
        yield
    finally:
        _names.pop()
        wait(AFTER_S)


def name() -> str:
    """Return the name of the innermost phase."""
    return _names[-1]


def wait(seconds: float) -> None:
    """Report the phase after so many seconds; 0: do not, because a line was printed."""
    if _process == os.getpid():
        signal.setitimer(signal.ITIMER_REAL, seconds)


@contextmanager
def reported(report: Callable[[str], object]) -> Iterator[None]:
    """Report long phases of this process meanwhile, each name once."""
    global _process
    main = threading.current_thread() is threading.main_thread()
    if not main or not hasattr(signal, "setitimer"):
        yield
        return
    said: list[str] = []

    def once(*_: object) -> None:
        if name() not in said:
            said.append(name())
            report(name())

    _process, before = os.getpid(), signal.signal(signal.SIGALRM, once)
    wait(AFTER_S)
    try:
        yield
    finally:
        wait(0)
        _process = 0
        signal.signal(signal.SIGALRM, before)

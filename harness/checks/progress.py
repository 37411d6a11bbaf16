"""Who watches a run, and is told what it does."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

from sampler_parity.harness.bundle.bundle import Result

BEAT_S = 1.0


class Seen(Protocol):
    """Who watches a run is told what ended; of nothing, that it is still at it."""

    def __call__(self, results: Sequence[Result], note: str = "") -> None: ...


def unseen(results: Sequence[Result], note: str = "") -> None:
    """Nobody watches."""


@contextmanager
def beating(seen: Seen) -> Iterator[None]:
    """Meanwhile who watches is told every second that it goes on. By a thread: not where processes
    are forked."""
    ended = threading.Event()

    def beat() -> None:
        while not ended.wait(BEAT_S):
            seen([])

    thread = threading.Thread(target=beat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()

"""A mutant in the process of the self-test, with the same interface as a backend process."""

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from sampler_parity.harness.faults.patch import Mutant
from sampler_parity.harness.faults.worker import Worker
from sampler_parity.harness.protocol import messages as p
from sampler_parity.harness.protocol.interface import BackendFailure
from sampler_parity.harness.protocol.server import InPlace
from sampler_parity.reference import Candidates

_AGAIN_S = 0.01
_WAITS = 20  # times the limit that a reply may take on a busy machine


class InProcess(InPlace):
    """An error that would end a worker is `crashed`, and a slow one `timeout`, as in a process."""

    worker: Worker

    def __init__(
        self,
        mutant: str | Mutant,
        timeout_s: float = 60.0,
        kind: type[Candidates] = Candidates,
        reports_sorted: bool = True,
    ) -> None:
        worker = Worker(mutant, kind, reports_sorted)
        super().__init__(f"mutant/{worker.mutant.name}", worker)
        self.timeout_s = timeout_s

    def answer(self, request: Any, timeout_s: float | None) -> p.Reply | p.ErrorReply:
        try:
            with _time_limit(timeout_s or self.timeout_s):
                return super().answer(request, timeout_s)
        except TimeoutError as error:
            raise BackendFailure("timeout", str(error)) from None
        except Exception as error:
            raise BackendFailure("crashed", f"{type(error).__name__}: {error}") from error


@contextmanager
def _time_limit(timeout_s: float) -> Iterator[None]:
    """Raise TimeoutError in code within that needs more time of the processor, or that waits long.
    Only in the main thread of a POSIX system. Nothing can be raised in a callback of the compiler,
    so the timer fires again."""
    spent, began = time.process_time(), time.monotonic()

    def ring(_signal: int, frame: FrameType | None) -> None:
        over_limit = time.process_time() - spent >= timeout_s
        if not over_limit and time.monotonic() - began < _WAITS * timeout_s:
            return
        if frame is None or "llvmlite" not in frame.f_code.co_filename:
            raise TimeoutError(f"no reply within {timeout_s:g} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, timeout_s, _AGAIN_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)

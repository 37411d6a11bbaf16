"""A mutant in the process of the self-test, behind the same surface as a backend process."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager

from pydantic import BaseModel

from sampler_parity.harness.mutants.worker import Worker
from sampler_parity.harness.protocol import messages as p
from sampler_parity.harness.protocol.handlers import answer
from sampler_parity.harness.protocol.interface import BackendFailure, R
from sampler_parity.harness.protocol.scratch import Scratch


class InProcess:
    """Requests, scratch file and answers as of a process, without starting one.

    What would end a worker is `crashed`, and what takes too long `timeout`, as there.
    """

    def __init__(self, mutant: str, timeout_s: float = 60.0) -> None:
        self.name, self.timeout_s, self.scratch = f"mutant/{mutant}", timeout_s, Scratch()
        self.worker = Worker(mutant)

    def hello(self) -> p.HelloReply:
        return self.worker.hello()

    def ask(self, request: BaseModel, reply: type[R], timeout_s: float | None = None) -> R:
        try:
            with _time_limit(timeout_s or self.timeout_s):
                answered = answer(self.worker, self.scratch, request)  # type: ignore[arg-type]
        except TimeoutError as error:
            raise BackendFailure("timeout", str(error)) from None
        except Exception as error:
            raise BackendFailure("crashed", f"{type(error).__name__}: {error}") from error
        if isinstance(answered, p.ErrorReply):
            raise BackendFailure(answered.kind, answered.message)
        assert isinstance(answered, reply)
        return answered

    def violation(self, message: str) -> BackendFailure:
        return BackendFailure("crashed", message)

    def close(self) -> None:
        self.scratch.remove()


@contextmanager
def _time_limit(timeout_s: float) -> Iterator[None]:
    """TimeoutError in what goes on within. Only in the main thread of a POSIX system."""

    def ring(_signal: int, _frame: object) -> None:
        raise TimeoutError(f"no reply within {timeout_s:g} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, timeout_s)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)

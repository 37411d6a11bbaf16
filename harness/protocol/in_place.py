"""Run a worker in this process, through the same requests and scratch file as any backend."""

from typing import Any

from sampler_parity.harness.protocol import messages as p
from sampler_parity.harness.protocol import server
from sampler_parity.harness.protocol.interface import BackendFailure, R
from sampler_parity.harness.protocol.scratch import Scratch


class InPlace:
    """A `Backend` whose worker runs in this process."""

    def __init__(self, name: str, worker: Any) -> None:
        self.name, self.worker, self.scratch = name, worker, Scratch()

    def hello(self) -> p.HelloReply:
        return server.in_version(self.worker.hello(), p.PROTOCOL_VERSION)

    def ask(self, request: Any, reply: type[R], timeout_s: float | None = None) -> R:
        answered = self.answer(request, timeout_s)
        if isinstance(answered, p.ErrorReply):
            raise BackendFailure(answered.kind, answered.message)
        assert isinstance(answered, reply)
        return answered

    def answer(self, request: Any, timeout_s: float | None) -> p.Reply | p.ErrorReply:
        """Return the worker's reply. Raises BackendFailure."""
        return server.answer(self.worker, self.scratch, request)

    def violation(self, message: str) -> BackendFailure:
        return BackendFailure("crashed", message)

    def close(self) -> None:
        self.scratch.remove()

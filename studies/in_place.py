"""A worker of a study that answers in this process."""

from typing import Any

from sampler_parity.harness.bundle import machine
from sampler_parity.harness.bundle.info import BackendInfo, RunInfo
from sampler_parity.harness.protocol import messages as p
from sampler_parity.harness.protocol.handlers import answer
from sampler_parity.harness.protocol.interface import BackendFailure, R
from sampler_parity.harness.protocol.scratch import Scratch

NAME = "own"


class InPlace:
    """Requests, scratch file and answers as of a process."""

    def __init__(self, worker: Any) -> None:
        self.name, self.scratch, self.worker = NAME, Scratch(), worker

    def hello(self) -> p.HelloReply:
        reply: p.HelloReply = self.worker.hello()
        return reply

    def ask(self, request: Any, reply: type[R], timeout_s: float | None = None) -> R:
        answered = answer(self.worker, self.scratch, request)
        if isinstance(answered, p.ErrorReply):
            raise BackendFailure(answered.kind, answered.message)
        assert isinstance(answered, reply)
        return answered

    def violation(self, message: str) -> BackendFailure:
        return BackendFailure("crashed", message)

    def close(self) -> None:
        self.scratch.remove()


def info() -> RunInfo:
    """A run of it."""
    return RunInfo(
        version="", started="", command=[], suites={}, profile="quick", seed=0,
        backends={NAME: BackendInfo(command=[])}, machine=machine.describe(),
    )  # fmt: skip

"""Backends that answer in this process, and the cases that tests of generation ask of them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from sampler_parity.harness.bundle.records.case import BackendResult
from sampler_parity.harness.parity.execute import execute
from sampler_parity.harness.protocol import messages as p
from sampler_parity.harness.protocol.handlers import answer
from sampler_parity.harness.protocol.interface import Backend, BackendFailure, R
from sampler_parity.harness.protocol.scratch import Scratch
from sampler_parity.harness.suite.case import Case

HELLO = [317, *b"hello the world: hello"]


class Inside:
    """A worker that answers in this process. edit: what is done to each reply."""

    def __init__(
        self,
        worker: Any,
        edit: Callable[[Any], Any] = lambda reply: reply,
        name: str = "llama.cpp",
    ) -> None:
        self.name, self.scratch = name, Scratch()
        self.worker, self.edit = worker, edit

    def hello(self) -> p.HelloReply:
        reply: p.HelloReply = self.worker.hello()
        return reply

    def ask(self, request: Any, reply: type[R], timeout_s: float | None = None) -> R:
        answered = answer(self.worker, self.scratch, request)
        if isinstance(answered, p.ErrorReply):
            raise BackendFailure(answered.kind, answered.message)
        assert isinstance(answered, reply)
        edited: R = self.edit(answered)
        return edited

    def violation(self, message: str) -> BackendFailure:
        return BackendFailure("crashed", message)

    def close(self) -> None:
        self.scratch.remove()


def case_of(model: Path, chain: p.ChainSpec, tokens: int = 24, **other: Any) -> Case:
    """A generation of so many tokens with a model, after HELLO."""
    prompt = other.pop("prompt", HELLO)
    block = {
        "id": "tiny",
        "description": "A generation",
        "why": "To test.",
        "chain": chain,
        "logits": {"decoded": str(model), "prompt": prompt},
        "steps": tokens,
        "detail": "token",
    }
    return Case.model_validate(block | other)


def result_of(case: Case, backend: Backend, artifacts: Path | None = None) -> BackendResult:
    return execute(case, [backend], artifacts).backends[backend.name]

"""Backends that answer in this process, and the cases that tests of generation ask of them."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from sampler_parity.harness.bundle.records import BackendResult
from sampler_parity.harness.checks.case import Case
from sampler_parity.harness.checks.execute import execute
from sampler_parity.harness.checks.generation.block import GenerationCase
from sampler_parity.harness.protocol import messages as p
from sampler_parity.harness.protocol.interface import Backend, R
from sampler_parity.harness.protocol.server import InPlace

HELLO = [317, *b"hello the world: hello"]


class Inside(InPlace):
    """A worker that answers in this process. edit: a function applied to each reply."""

    def __init__(
        self, worker: Any, edit: Callable[[Any], Any] = lambda reply: reply, name: str = "llama.cpp"
    ) -> None:
        super().__init__(name, worker)
        self.edit = edit

    def ask(self, request: Any, reply: type[R], timeout_s: float | None = None) -> R:
        edited: R = self.edit(super().ask(request, reply, timeout_s))
        return edited


def claiming(worker: Any, **fields: Any) -> Any:
    """Let a worker greet with these fields; return it."""
    hello = worker.hello().model_copy(update=fields)
    worker.hello = lambda: hello
    return worker


class EndAlone:
    """Mixed into a backend: it shows only the last stage of each step."""

    def hello(self) -> p.HelloReply:
        hello: p.HelloReply = super().hello()  # type: ignore[misc]
        return hello.model_copy(update={"capabilities": ["run", "no_stages"]})

    def ask(self, request: Any, reply: type[R], timeout_s: float | None = None) -> R:
        answered: R = super().ask(request, reply, timeout_s)  # type: ignore[misc]
        if isinstance(answered, p.RunReply):
            ends = [stages[-1:] for stages in answered.stages]
            return answered.model_copy(update={"stages": ends})
        return answered


def case_of(model: Path, chain: p.ChainSpec, tokens: int = 24, **other: Any) -> GenerationCase:
    """Return a generation of so many tokens with a model, after HELLO."""
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
    return GenerationCase.model_validate(block | other)


def result_of(case: Case, backend: Backend, artifacts: Path | None = None) -> BackendResult:
    return execute(case, [backend], artifacts).backends[backend.name]


def last_result_of(case: Case, backend: Backend) -> BackendResult:
    """Return the result of a case on a backend, which is closed then."""
    with closing(backend):
        return result_of(case, backend)

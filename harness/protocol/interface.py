"""What a backend in Python implements: a Worker, its instances, and what it may do beside."""

from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.protocol import messages as p


class Instance(Protocol):
    """One chain in one state."""

    def apply(self, stage: int | None, rows: Any) -> Any:
        """Apply one stage (None: the whole chain as one object) to candidates."""

    def accept(self, token: int) -> None: ...
    def reset(self) -> None: ...
    def clone(self) -> "Instance": ...


class Worker(Protocol):
    """A backend in Python. Candidates are whatever it likes; they are only passed on."""

    def hello(self) -> p.HelloReply: ...
    def build(self, chain: p.ChainSpec, n_vocab: int, vocab: str | None) -> Instance: ...
    def candidates(self, logits: NDArray[np.float32]) -> Any: ...
    def result(self, candidates: Any) -> tuple[Any, Any, Any, bool | None, int]:
        """ids, logits, p, sorted, selected of candidates."""


@runtime_checkable
class Decoder(Protocol):
    """A backend that computes a model's logits."""

    def decode(self, request: p.DecodeRequest, rows: NDArray[np.float32]) -> None:
        """rows: [len(tokens), n_vocab], to be filled. Raises InputError for a bad model."""


@runtime_checkable
class Drawer(Protocol):
    """An instance that draws many times from candidates without leaving its own code."""

    def draw(
        self, candidates: Any, n: int, uniforms: NDArray[np.float64] | None
    ) -> NDArray[np.int32]:
        """Apply all stages but the last once, the last n times; uniforms: to draw with, or None.

        Raises Unsupported where it cannot take uniforms.
        """


@runtime_checkable
class Generator(Protocol):
    """A backend that decodes a model, too."""

    def generate(self, request: p.GenerateRequest, rows: NDArray[np.float32]) -> p.GenerateReply:
        """rows: [n_tokens, n_vocab], to be filled. Raises InputError for a bad model."""


@runtime_checkable
class Throughput(Protocol):
    """A backend that decodes many sequences at once and times it."""

    def throughput(self, request: p.ThroughputRequest) -> p.ThroughputReply:
        """Raises InputError for a bad model."""


Result = tuple[Any, Any, Any, bool | None, int]


@runtime_checkable
class GraphGenerator(Protocol):
    """A backend that samples in the graph of the model that it decodes."""

    def generate_in_graph(
        self, request: p.GenerateRequest, rows: NDArray[np.float32]
    ) -> tuple[p.GenerateReply, list[Result]]:
        """As Generator; and of each step, what the stages in the graph left."""

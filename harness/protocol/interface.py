"""Define both sides of the protocol: a Backend gets requests, a Worker in Python answers them.

harness/protocol/client.py sends requests to a Backend; harness/protocol/server.py answers with a
Worker. A process (harness/protocol/process.py) is a Backend with a worker in any language.
"""

from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel

from sampler_parity.harness.protocol import messages as p
from sampler_parity.harness.protocol.scratch import Scratch

R = TypeVar("R", bound=BaseModel)


class BackendFailure(Exception):  # noqa: N818 - a verdict
    """A request without a result. verdict: unsupported, rejected, crashed or timeout. output: the
    last lines of a program that died."""

    def __init__(
        self,
        verdict: Literal["unsupported", "rejected", "crashed", "timeout"],
        message: str,
        output: str = "",
    ) -> None:
        super().__init__(verdict, message)
        self.verdict = verdict
        self.output = output

    @property
    def whole(self) -> str:
        """The message on the first line, then the output of the program."""
        return "\n".join(filter(None, [str(self), self.output]))

    def __str__(self) -> str:
        return str(self.args[1])


class Unclaimed(BackendFailure):
    """The backend's hello does not claim the request, or a sampler of the chain."""

    def __init__(self, message: str) -> None:
        super().__init__("unsupported", message)


class NotAsked(BackendFailure):
    """The process broke before it read the request: an earlier one is at fault, so ask again."""

    def __init__(self, message: str) -> None:
        super().__init__("crashed", message)


class Backend(Protocol):
    """Gets requests. scratch: the file that it shares with the harness."""

    name: str
    scratch: Scratch

    def hello(self) -> p.HelloReply:
        """Return the backend's description of itself. Raises BackendFailure."""

    def ask(self, request: BaseModel, reply: type[R], timeout_s: float | None = None) -> R:
        """Send a request and wait for its reply. Raises BackendFailure."""

    def violation(self, message: str) -> BackendFailure:
        """Return the failure to raise for a reply that breaks the protocol."""

    def close(self) -> None: ...


class Instance(Protocol):
    """One chain in one state."""

    def apply(self, stage: int | None, rows: Any) -> Any:
        """Apply one stage (None: the whole chain as one object) to candidates."""

    def accept(self, token: int) -> None: ...
    def reset(self) -> None: ...
    def clone(self) -> "Instance": ...


class Worker(Protocol):
    """A backend in Python. Its candidates may have any type; they are only passed on."""

    def hello(self) -> p.HelloReply: ...
    def build(self, chain: p.ChainSpec, n_vocab: int, vocab: str | None) -> Instance: ...
    def candidates(self, logits: NDArray[np.float32]) -> Any: ...
    def result(self, candidates: Any) -> tuple[Any, Any, Any, bool | None, int]:
        """Return ids, logits, p, sorted and selected of candidates."""


@runtime_checkable
class Decoder(Protocol):
    """A backend that computes a model's logits."""

    def decode(self, request: p.DecodeRequest, rows: NDArray[np.float32]) -> None:
        """Fill rows: [len(tokens), n_vocab]. Raises InputError for a bad model."""


@runtime_checkable
class Capturer(Protocol):
    """A backend that records a model's logits after texts."""

    def tokenize(self, request: p.TokenizeRequest) -> p.TokenizeReply:
        """Return the tokens of texts. Raises InputError for a bad model."""

    def capture(self, request: p.CaptureRequest, rows: NDArray[np.float32]) -> None:
        """Fill rows: [len(positions), n_vocab]. Raises InputError for a bad model."""


@runtime_checkable
class DeviceProbe(Protocol):
    """A backend that lists which devices run here."""

    def devices(self) -> p.DevicesReply: ...


@runtime_checkable
class Drawer(Protocol):
    """An instance that draws many times from candidates without leaving its own code."""

    def draw(
        self, candidates: Any, n: int, uniforms: NDArray[np.float64] | None
    ) -> NDArray[np.int32]:
        """Apply all stages but the last once, the last n times; uniforms: to draw with, or None.
        Raises Unsupported if it cannot take uniforms."""


@runtime_checkable
class Generator(Protocol):
    """A backend that also decodes a model."""

    def generate(self, request: p.GenerateRequest, rows: NDArray[np.float32]) -> p.GenerateReply:
        """Fill rows: [n_tokens, n_vocab]. Raises InputError for a bad model."""


@runtime_checkable
class Throughput(Protocol):
    """A backend that decodes many sequences at once and times it."""

    def throughput(self, request: p.ThroughputRequest) -> p.ThroughputReply:
        """Decode many sequences and time it. Raises InputError for a bad model."""


@runtime_checkable
class Sequences(Protocol):
    """A backend that decodes many sequences at once, which join, leave and are copied."""

    def sequences(
        self, request: p.SequencesRequest, rows: NDArray[np.float32]
    ) -> tuple[p.SequencesReply, "list[Result]"]:
        """Fill rows: [request.n_tokens, n_vocab]. Return the results of the stages in the graph for
        each token; none if no stage ran there. Raises InputError, Unsupported."""


@runtime_checkable
class SkipRatios(Protocol):
    """A backend into whose chain a token trie can be put."""

    def skip_ratio(self, request: p.SkipRatioRequest) -> p.SkipRatioReply:
        """Measure what a token trie saves. Raises InputError for leaves that do not fit the model,
        Unsupported."""


@dataclass(frozen=True)
class Rounds:
    """The contents of the scratch file for rounds of speculative sampling. logits: float32[drafted
    + 1, n_vocab], draft_rows: float32[drafted, n_vocab], drafts: int32[n, drafted], seeds:
    uint32[n]."""

    logits: NDArray[np.float32]
    draft_rows: NDArray[np.float32]
    drafts: NDArray[np.int32]
    seeds: NDArray[np.uint32]


@runtime_checkable
class Speculator(Protocol):
    """A backend that verifies drafts."""

    def speculate(self, request: p.SpeculativeRequest, rounds: Rounds) -> NDArray[np.int32]:
        """Return int32[n, drafted + 1]: the tokens of each round, -1 behind the last."""


Result = tuple[Any, Any, Any, bool | None, int]


@runtime_checkable
class GraphGenerator(Protocol):
    """A backend that samples in the graph of the model that it decodes."""

    def generate_in_graph(
        self, request: p.GenerateRequest, rows: NDArray[np.float32]
    ) -> tuple[p.GenerateReply, list[Result]]:
        """Generate as Generator does; return also what the graph's stages left at each step."""

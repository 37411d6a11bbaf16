"""Decode the logits that a server samples from, by the same build of llama.cpp.

It runs in a process of its own: its death is one line, and ends only the request that it was asked
for.

The prompt is one batch; then comes token by token, as a server decodes.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from sampler_parity.harness.engines.worker_command import WORKER_COMMAND
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.protocol.client import Row
from sampler_parity.harness.protocol.client_serving import sequences
from sampler_parity.harness.protocol.interface import Backend, BackendFailure
from sampler_parity.harness.protocol.process import BackendProcess
from sampler_parity.harness.protocol.sequences import (
    SequencesRequest,
    SequencesStep,
    SlotChange,
    Text,
)

_FIRST_STEP = SequencesStep(before=[SlotChange(do="join", slot=0, text=0)], batch=[0], sample=[0])
_NEXT_STEP = SequencesStep(batch=[0], sample=[0])


@dataclass(frozen=True)
class ModelLogits:
    """Give a model's logits. backend: decodes it. folder: of its own, removed with it."""

    backend: Backend
    model: Path
    n_vocab: int
    folder: "TemporaryDirectory[str] | None" = None

    def rows(self, prompt: Sequence[int], tokens: Sequence[int]) -> Row:
        """Return the logits after the prompt, and after each of these further tokens.
        float32[len(tokens) + 1, n_vocab]. Raises BackendFailure."""
        text = Text(chain=[], prompt=[*prompt], forced=[*tokens, 0])  # the last is not decoded
        steps = [_FIRST_STEP, *[_NEXT_STEP] * len(tokens)]
        request = SequencesRequest(
            model=str(self.model), n_vocab=self.n_vocab, slots=1, texts=[text], steps=steps, out=0
        )
        return sequences(self.backend, request).rows

    def close(self) -> None:
        self.backend.close()
        if self.folder is not None:
            self.folder.cleanup()


def logits_of(
    model: Path, n_vocab: int, folder: Path | None = None, release: str = ""
) -> ModelLogits:
    """Start llama.cpp for a model. folder: of a build of this release; None: the installed one.
    Raises InputError for one that does not start."""
    build = [] if folder is None else [str(folder), release]
    backend = BackendProcess("llama.cpp", [*WORKER_COMMAND, "llama.cpp", *build])
    return started(ModelLogits(backend, model, n_vocab))


def started(logits: ModelLogits) -> ModelLogits:
    """Return the logits of a backend that answers. Raises InputError for one that does not."""
    try:
        logits.backend.hello()
    except BackendFailure as failure:
        logits.close()
        problem = str(failure)
        raise InputError(f"{logits.backend.name}, for the server's logits", problem) from None
    return logits


@dataclass
class TextLogits:
    """Give the logits of a text as its tokens come. Raises BackendFailure. guess: how the text
    probably goes on, so that it is decoded in one request."""

    logits: ModelLogits
    prompt: Sequence[int]
    guess: Sequence[int] = ()
    rows: Row | None = field(default=None, init=False)

    def after(self, tokens: Sequence[int]) -> Row:
        """Return the row after the prompt and these tokens."""
        n = len(tokens)
        if self.rows is None or n > len(self.guess) or [*self.guess[:n]] != [*tokens]:
            if self.rows is not None:
                self.guess = [*tokens]
            self.rows = self.logits.rows(self.prompt, self.guess)
        row: Row = self.rows[n]
        return row

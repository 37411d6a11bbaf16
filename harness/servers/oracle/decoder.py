"""The logits that a server samples from, as the same build of llama.cpp gives them in a process of
its own: its death is one line, and ends nothing but the request that it was asked for.

The prompt is one batch; then comes token by token, as a server decodes.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from sampler_parity.harness.backends import environments, registry
from sampler_parity.harness.engines.worker_command import WORKER_COMMAND
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.inputs.hugging_face import write_folder
from sampler_parity.harness.protocol.ask import Row
from sampler_parity.harness.protocol.ask_sequences import sequences
from sampler_parity.harness.protocol.interface import Backend, BackendFailure
from sampler_parity.harness.protocol.process import BackendProcess
from sampler_parity.harness.protocol.sequences import (
    Change,
    SequencesRequest,
    SequencesStep,
    Text,
)

_JOINS = SequencesStep(before=[Change(do="join", slot=0, text=0)], batch=[0], sample=[0])
_GOES_ON = SequencesStep(batch=[0], sample=[0])


@dataclass(frozen=True)
class Logits:
    """What a model gives. backend: that decodes it. folder: of its own, which goes with it."""

    backend: Backend
    model: Path
    n_vocab: int
    folder: "TemporaryDirectory[str] | None" = None

    def rows(self, prompt: Sequence[int], tokens: Sequence[int]) -> Row:
        """After the prompt, and after each of these further tokens: float32[len(tokens) + 1,
        n_vocab]. Raises BackendFailure."""
        text = Text(chain=[], prompt=[*prompt], forced=[*tokens, 0])  # the last is not decoded
        steps = [_JOINS, *[_GOES_ON] * len(tokens)]
        request = SequencesRequest(
            model=str(self.model), n_vocab=self.n_vocab, slots=1, texts=[text], steps=steps, out=0
        )
        return sequences(self.backend, request).rows

    def close(self) -> None:
        self.backend.close()
        if self.folder is not None:
            self.folder.cleanup()


def logits_of(model: Path, n_vocab: int, folder: Path | None = None, release: str = "") -> Logits:
    """folder: of a build of this release; None: the one that is installed with us. Raises
    InputError for one that does not start."""
    if folder is None:
        backend = registry.start("llama.cpp")
    else:
        words = [*WORKER_COMMAND, "llama.cpp", str(folder), release]
        backend = BackendProcess("llama.cpp", words)
    return _begun(Logits(backend, model, n_vocab))


def logits_of_mlx_lm(model: Path, n_vocab: int) -> Logits:
    """The same as MLX LM gives them, in the environment of its server. Raises InputError."""
    name = "mlx_lm_server"
    if why := environments.missing(name):
        raise InputError("MLX LM", "its environment is not there", why)
    folder = TemporaryDirectory()
    write_folder(model, Path(folder.name))
    words = environments.worker_command(name, "", ["mlx_lm/logits", folder.name])
    return _begun(Logits(BackendProcess("mlx_lm/logits", words), model, n_vocab, folder))


def _begun(logits: Logits) -> Logits:
    try:
        logits.backend.hello()
    except BackendFailure as failure:
        logits.close()
        problem = str(failure)
        raise InputError(f"{logits.backend.name}, for the server's logits", problem) from None
    return logits


@dataclass
class Followed:
    """The logits of a text as its tokens come. guess: how it probably goes on, so that it is
    decoded in one request. Raises BackendFailure."""

    logits: Logits
    prompt: Sequence[int]
    guess: Sequence[int] = ()
    rows: Row | None = field(default=None, init=False)

    def after(self, tokens: Sequence[int]) -> Row:
        """The row after the prompt and these."""
        n = len(tokens)
        if self.rows is None or n > len(self.guess) or [*self.guess[:n]] != [*tokens]:
            if self.rows is not None:
                self.guess = [*tokens]
            self.rows = self.logits.rows(self.prompt, self.guess)
        row: Row = self.rows[n]
        return row

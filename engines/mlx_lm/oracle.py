"""Define how MLX LM's server reads the golden model, and decode it by MLX LM itself.

The server draws with random numbers of its own, so probabilities are compared, not tokens.
"""

from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from sampler_parity.harness.backends import environments
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.protocol.process import BackendProcess
from sampler_parity.programs.servers.hugging_face import write_folder
from sampler_parity.programs.servers.oracle.decoder import ModelLogits, started
from sampler_parity.programs.servers.oracle.model import KnownModel


def model(golden: KnownModel) -> KnownModel:
    """Return the golden model as the server reads it."""
    return replace(golden, text_prompts=True, adds_bos=False)


def with_own_logits(known: KnownModel, path: Path) -> KnownModel:
    """Return the model decoded by MLX LM: the probabilities that the server reports are then
    exact."""
    return replace(known, logits=partial(logits_of, path, len(known.vocab)))


def logits_of(path: Path, n_vocab: int) -> ModelLogits:
    """Start MLX LM for a model, in the environment of its server. Raises InputError."""
    name = "mlx_lm_server"
    if why := environments.missing(name):
        raise InputError("MLX LM", "its environment is not there", why)
    folder = TemporaryDirectory()
    write_folder(path, Path(folder.name))
    words = environments.worker_command(name, "", ["mlx_lm/logits", folder.name])
    return started(ModelLogits(BackendProcess("mlx_lm/logits", words), path, n_vocab, folder))

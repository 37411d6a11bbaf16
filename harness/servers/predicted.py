"""Of the servers that we start, those whose every token is predicted, and by what."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from sampler_parity.harness.backends import environments
from sampler_parity.harness.backends.llama_cpp import wheels
from sampler_parity.harness.inputs.models import GOLDEN, golden_prompts, model_path
from sampler_parity.harness.inputs.vocabularies import read_vocab
from sampler_parity.harness.servers import chains, expected
from sampler_parity.harness.servers.exact import Predicted
from sampler_parity.harness.servers.known import Known
from sampler_parity.harness.servers.law import ROUNDING
from sampler_parity.harness.servers.logits import logits_of, logits_of_mlx_lm

EACH = 9  # of a chain: 63 chains of llama-server are 567 requests


def predicted(server: str, each: int = EACH) -> Predicted | None:
    """None for a server whose tokens nothing predicts. Raises InputError without the golden
    model."""
    if server == "llama-server":
        return Predicted(expected.llama_server, known(*_xllamacpp()), chains.CHAINS, each)
    if server == "llama-cpp-python":
        ours = replace(known(), spelled=True)
        return Predicted(expected.llama_cpp_python, ours, chains.OF_LLAMA_CPP_PYTHON, each)
    return None


def in_law(server: str) -> Known | None:
    """The model of a server whose generator is its own; None for another. Raises InputError."""
    if server == "mlx-lm":
        return replace(known(), spelled=True, begins=False)
    return replace(known(), rounding=ROUNDING) if server == "vllm" else None


def with_own_logits(server: str, model: Known) -> Known:
    """The same, decoded by the engine itself where that is done here: what a server says of a
    probability is then exact."""
    if server != "mlx-lm":
        return model
    logits = partial(logits_of_mlx_lm, model_path(GOLDEN), len(model.vocab))
    return replace(model, logits=logits)


def known(*build: Any) -> Known:
    """The golden model, decoded by a build of llama.cpp: its folder and release. Raises
    InputError."""
    model = model_path(GOLDEN)
    vocab = read_vocab(model)
    return Known(vocab, golden_prompts(2), partial(logits_of, model, len(vocab), *build))


def _xllamacpp() -> tuple[Path, str]:
    """The library that the server itself runs: its extension, under the name of a libllama."""
    folder = environments.folder_of("xllamacpp")
    extension = next(folder.glob(f"lib/python*/site-packages/{wheels.EXTENSIONS['xllamacpp']}"))
    linked = folder / "libllama"
    linked.mkdir(exist_ok=True)
    library = linked / "libllama.so"
    if not library.exists():
        library.symlink_to(extension)
    version = environments.known("xllamacpp").version
    return linked, wheels.release_of("xllamacpp", version)

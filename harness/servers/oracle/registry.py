"""Of the servers that we start, those whose every token is predicted, and by what."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from sampler_parity.harness.backends import environments
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.inputs.models import GOLDEN, golden_prompts, model_path
from sampler_parity.harness.inputs.vocabularies import read_vocab
from sampler_parity.harness.llama_cpp import builds, wheels
from sampler_parity.harness.servers.oracle import chains, generate
from sampler_parity.harness.servers.oracle.check import Predicted
from sampler_parity.harness.servers.oracle.decoder import logits_of, logits_of_mlx_lm
from sampler_parity.harness.servers.oracle.generate import Pipeline
from sampler_parity.harness.servers.oracle.model import Known
from sampler_parity.harness.servers.token_distribution import ROUNDING

EACH = 9  # of a chain: 63 chains of llama-server are 567 requests


# by dialect: what predicts, which chains, whether texts alone tell of tokens
_PIPELINES: dict[str, tuple[Pipeline, Mapping[str, Mapping[str, Any]], bool]] = {
    "llama-server": (generate.llama_server, chains.CHAINS, False),
    "llama-cpp-python": (generate.llama_cpp_python, chains.OF_LLAMA_CPP_PYTHON, True),
}


def predicted(server: str, each: int = EACH) -> Predicted | None:
    """None for a server whose tokens nothing predicts. Raises InputError without the golden
    model."""
    if server not in _PIPELINES:
        return None
    return _of(server, known(*_xllamacpp()) if server == "llama-server" else known(), each)


def _of(dialect: str, model: Known, each: int) -> Predicted:
    pipeline, of_pipeline, spelled = _PIPELINES[dialect]
    return Predicted(pipeline, replace(model, spelled=spelled), of_pipeline, each)


def foretold(dialect: str, build: str, each: int) -> Predicted:
    """Of a server that somebody else started on the golden model. build: of llama.cpp, that decodes
    as the server does. Raises InputError."""
    if dialect not in _PIPELINES:
        mend = f"--golden goes with {' or '.join(_PIPELINES)}"
        raise InputError(f"dialect {dialect!r}", "nothing predicts its tokens", mend)
    return _of(dialect, known(*_built(build)) if build else known(), each)


def _built(build: str) -> tuple[Path, str]:
    folder, release = builds.resolve(build)
    if release is None:
        problem = "nothing says of which release it is"
        raise InputError(f"build {build!r}", problem, "add it with `builds add`, and --release")
    return folder, release


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

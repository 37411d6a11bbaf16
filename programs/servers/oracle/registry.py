"""Find the predictor of a server: an oracle, or a model alone."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, cast

from sampler_parity.harness.backends import environments
from sampler_parity.harness.engines.engine_file import NAMESPACE, engines_folder
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.inputs.models import GOLDEN, golden_prompts, model_path
from sampler_parity.harness.inputs.vocabularies import read_vocab
from sampler_parity.harness.llama_cpp import recorded, wheels
from sampler_parity.programs.servers.dialects import ServerParameter
from sampler_parity.programs.servers.launch import real_servers
from sampler_parity.programs.servers.observation import Observation, ServerTest
from sampler_parity.programs.servers.oracle import samplers
from sampler_parity.programs.servers.oracle.chains import CHAINS
from sampler_parity.programs.servers.oracle.decoder import logits_of
from sampler_parity.programs.servers.oracle.generate import Oracle
from sampler_parity.programs.servers.oracle.model import KnownModel
from sampler_parity.programs.servers.oracle.samplers import SamplerFactory
from sampler_parity.programs.servers.probe import Probe
from sampler_parity.programs.servers.server_record import ServerResult
from sampler_parity.reference.vocab import Vocab


def sampler_of(dialect: str) -> SamplerFactory:
    """Return the builder of the sampler of a dialect in CHAINS."""
    if dialect == "llama-server":
        return samplers.llama_server
    return cast(SamplerFactory, _of_engine(dialect, "sampler"))


def exactly(probe: Probe, row: ServerParameter) -> Observation | None:
    """Compare the values `exact` of a parameter with the reference, as the engine does it."""
    dialect = probe.client.dialect.name
    compare = _of_engine(dialect, "exactly") if dialect in real_servers() else None
    wrong: Observation | None = compare(probe, row) if compare else None
    return wrong


def own_tests(dialect: str) -> dict[str, ServerTest]:
    """Return the tests of what one engine's server alone offers."""
    return (_of_engine(dialect, "STATE") or {}) if dialect in real_servers() else {}


def random_requests(dialect: str) -> Callable[..., Iterator[ServerResult]] | None:
    """Return the check of random requests of a server, or None: of a client, the known model, and
    the size of the context, 0 if unknown."""
    check: Callable[..., Iterator[ServerResult]] | None = _of_engine(dialect, "RANDOM")
    return check


def _of_engine(server: str, name: str) -> Any:
    """Return an object of the oracle.py of a server's engine by its name, or None."""
    engine = real_servers()[server].folder
    if not (engines_folder() / engine / "oracle.py").is_file():
        return None
    return getattr(import_module(f"{NAMESPACE}.{engine}.oracle"), name, None)


def oracle_of_server(server: str, per_chain: int) -> Oracle | None:
    """Return the oracle of a server that we start; None where nothing predicts its tokens. Raises
    InputError without the golden model."""
    if server not in CHAINS:
        return None
    build = _xllamacpp() if server == "llama-server" else ()
    return _oracle(server, golden_model(*build), per_chain)


def oracle_of_dialect(dialect: str, build: str, per_chain: int) -> Oracle:
    """Return the oracle of a server on the golden model that somebody else started. build: of
    llama.cpp, that decodes as the server does; "": the installed one. Raises InputError."""
    if dialect not in CHAINS:
        fix = f"--golden works with {' or '.join(CHAINS)}"
        raise InputError(f"dialect {dialect!r}", "nothing predicts its tokens", fix)
    return _oracle(dialect, golden_model(*(_built(build) if build else ())), per_chain)


def _oracle(dialect: str, model: KnownModel, per_chain: int) -> Oracle:
    model = replace(model, text_prompts=dialect != "llama-server")
    return Oracle(sampler_of(dialect), model, CHAINS[dialect], per_chain)


def _built(build: str) -> tuple[Path, str]:
    folder, release = recorded.resolve(build)
    if release is None:
        problem = "its release is unknown"
        raise InputError(f"build {build!r}", problem, "add it with `builds add --release`")
    return folder, release


def model_of_own_generator(server: str) -> KnownModel | None:
    """Return the model of a server that draws with numbers of its own; None for another. Raises
    InputError without the golden model."""
    model = _of_engine(server, "model")
    return None if model is None else model(golden_model())


def with_own_logits(server: str, model: KnownModel) -> KnownModel:
    """Return the model decoded by the engine itself, where that is done here. The probabilities
    that a server reports are then exact."""
    decoded = _of_engine(server, "with_own_logits")
    return model if decoded is None else decoded(model, model_path(GOLDEN))


def golden_vocab() -> Vocab:
    """Return the vocabulary of the golden model. Raises InputError."""
    return read_vocab(model_path(GOLDEN))


def golden_model(*build: Any) -> KnownModel:
    """Return the golden model, decoded by a build of llama.cpp: its folder and release. Raises
    InputError."""
    vocab = golden_vocab()
    logits = partial(logits_of, model_path(GOLDEN), len(vocab), *build)
    return KnownModel(vocab, golden_prompts(2), logits)


def _xllamacpp() -> tuple[Path, str]:
    """Return the library that the server itself runs: its extension, named like a libllama."""
    folder = environments.folder_of("xllamacpp")
    extension = next(folder.glob(f"lib/python*/site-packages/{wheels.EXTENSIONS['xllamacpp']}"))
    linked = folder / "libllama"
    linked.mkdir(exist_ok=True)
    library = linked / "libllama.so"
    if not library.exists():
        library.symlink_to(extension)
    version = environments.known("xllamacpp").version
    return linked, wheels.release_of("xllamacpp", version)

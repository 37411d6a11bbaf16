"""Of the servers that we start, those whose every token is predicted, and by what."""

from functools import partial
from pathlib import Path

from sampler_parity.harness.backends import environments
from sampler_parity.harness.backends.llama_cpp import wheels
from sampler_parity.harness.inputs.models import GOLDEN, model_path
from sampler_parity.harness.servers import chains, expected
from sampler_parity.harness.servers.exact import Predicted
from sampler_parity.harness.servers.logits import Logits

EACH = 9  # of a chain: 60 chains of llama-server are 540 requests
_TOKENS = 512  # what the golden model was trained on


def predicted(server: str, each: int = EACH) -> Predicted | None:
    """None for a server whose tokens nothing predicts."""
    if server == "llama-server":
        logits = partial(Logits, model_path(GOLDEN), _TOKENS, *_xllamacpp())
        return Predicted(expected.llama_server, logits, chains.CHAINS, each)
    if server == "llama-cpp-python":
        logits = partial(Logits, model_path(GOLDEN), _TOKENS)
        asked = chains.OF_LLAMA_CPP_PYTHON
        return Predicted(expected.llama_cpp_python, logits, asked, each, spelled=True)
    return None


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

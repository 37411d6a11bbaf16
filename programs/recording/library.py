"""The recorder for programs that use libllama: a library of native/, compiled on the spot, once."""

from pathlib import Path

from sampler_parity.harness.llama_cpp.compiled import built

_SOURCES = Path(__file__).parent / "native"


def recorder() -> Path:
    """Return the library that LD_PRELOAD takes. Raises InputError without a compiler."""
    files = sorted(_SOURCES.iterdir())
    options = ["-ldl", "-pthread", f"-Wl,--version-script={_SOURCES / 'exports.map'}"]
    return built("recorder", [f for f in files if f.suffix == ".cpp"], options, files)

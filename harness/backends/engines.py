"""Every backend that a run can name: ours, then those of the folders of `engines/`.

Code that runs a backend by name, lists or checks backends (`make engines`), explains their
differences or reports on them reads these rows. To add one: docs/background/add-an-engine.md.
"""

from collections.abc import Iterator, Mapping

from sampler_parity.harness.engines.engine_file import (
    NAMESPACE,
    Engine,
    engine_file,
    engine_names,
)
from sampler_parity.harness.rows import PRODUCT, joined

_HARNESS = "sampler_parity.harness"

_OWN = (
    Engine(
        name="llama.cpp",
        what="the native chain of the installed llama-cpp-python",
        module=f"{_HARNESS}.llama_cpp.worker",
        builds=True,
        suites=["parity", "properties", "grammar", "generate", "distribution"],
    ),
    Engine(
        name="llama.cpp/graph",
        what="the same samplers in the model's graph, on its device",
        module=f"{_HARNESS}.llama_cpp.graph",
        builds=True,
        suites=["graph", "generate"],
    ),
    Engine(
        name="token_trie",
        what="the native chain with the token trie in it",
        module=f"{_HARNESS}.llama_cpp.token_trie",
        builds=True,
        suites=["trie"],
    ),
    Engine(
        name="token_trie/compiled",
        what="the same trie in C++, compiled on the spot",
        module=f"{_HARNESS}.llama_cpp.compiled_trie",
        needs="a C++ compiler",
        suites=["trie"],
    ),
    Engine(
        name="reference",
        what="the reference in a process of its own",
        module=f"{_HARNESS}.backends.reference",
        suites=["parity", "properties", "distribution", "origin"],
    ),
    Engine(
        name="null",
        what="does nothing: the lower bound of every timing",
        module=f"{_HARNESS}.backends.null",
        suites=["timing"],
    ),
)
OWN: dict[str, Engine] = {row.name: row for row in _OWN}


class Engines(Mapping[str, Engine]):
    """Map the names of all backends to their rows; reads one engine's file to find its backends."""

    def __getitem__(self, name: str) -> Engine:
        if name in OWN:
            return OWN[name]
        folder = name.partition("/")[0]
        rows = engine_file(folder).backend if folder in engine_names() else []
        for row in rows:
            if row.name == name:
                return row
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        yield from OWN
        for folder in engine_names():
            yield from (row.name for row in engine_file(folder).backend)

    def __len__(self) -> int:
        return sum(1 for _ in self)


ENGINES = Engines()

# Workers that are no engine. Faults; llama.cpp in a build for another platform; what asks a build
# which of its devices run here; and workers that the token trie completes to measure skip ratios.
_WORKERS = {
    "mutant": f"{_HARNESS}.faults.worker",
    "llama.cpp/devices": f"{_HARNESS}.llama_cpp.probe",
    "llama.cpp/elsewhere": f"{_HARNESS}.llama_cpp.platforms.worker",
    "llama.cpp": f"{_HARNESS}.trie.llama_cpp",
    "token_trie": f"{_HARNESS}.trie.token_trie",
}


def worker_module(name: str) -> str:
    """Return the module that holds the class `Worker` of a backend or a probe. Raises KeyError."""
    if name in _WORKERS:
        return _WORKERS[name]
    if name in ENGINES:
        return ENGINES[name].module
    for worker, module in joined("WORKERS"):
        if name == worker:
            return f"{PRODUCT}.{module}"
    folder, _, probe = name.partition("/")
    if folder in engine_names() and probe in engine_file(folder).probes:
        return f"{NAMESPACE}.{folder}.{probe}"
    raise KeyError(name)

"""Every backend that a run can name: ours, then those of the folders of `engines/`.

Code that runs a backend by name, lists or checks backends (`make engines`), explains their
differences or reports on them reads these rows. To add one: docs/background/add-an-engine.md.

The syntax of names:

- ENGINE: one of these rows
- ENGINE@BUILD[:DEVICE]: a registered build of libllama, or any folder of one
- ENGINE@VERSION: of an engine that has an environment of its own
- reference@RELEASE: the meaning of an older release
- mutant/NAME, mutant/engine/ENGINE/FAULT: with a planted fault
- slow/PERCENT: llama.cpp, slowed down
- NAME=BACKEND: one of these under another name
- NAME=COMMAND: any adapter; a name with a space is a command itself

`sandbox:` before any of them, which `run --sandbox` adds, means that it runs in a sandbox."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from sampler_parity.harness.engines.engine_file import NAMESPACE, Engine, engine_file, engine_names
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


_SANDBOX = "sandbox:"
_ENGINE_FAULT = "mutant/engine/"


@dataclass(frozen=True)
class BackendName:
    """short: its name in results. engine: its row, `mutant` or `slow`, or "" for a command.

    of: the part after the engine: BUILD or BUILD:DEVICE, a release, a mutant, a percentage. fault:
    planted in the engine by `mutant/engine/ENGINE/FAULT`.
    """

    short: str
    engine: str = ""
    of: str = ""
    command: str = ""
    fault: str = ""
    sandbox: bool = False


def in_sandbox(text: str) -> str:
    """Return the name of the same backend in a sandbox."""
    return f"{_SANDBOX}{text.removeprefix(_SANDBOX)}"


def parse(text: str) -> BackendName | None:
    """Parse a name or a command; None if it is neither."""
    if text.startswith(_SANDBOX):
        backend = parse(text.removeprefix(_SANDBOX))
        return backend and replace(backend, sandbox=True)
    short, is_alias, behind = text.partition("=")
    if is_alias:
        backend = _named(behind)
        return replace(backend, short=short) if backend else _command(short, behind)
    return _command(text, text) if " " in text else _named(text)


def _command(short: str, command: str) -> BackendName:
    return BackendName(short, command=command)


def _named(text: str) -> BackendName | None:
    engine, at, of = text.partition("@")
    if engine in ENGINES and not at:
        return BackendName(text, engine)
    if engine in ENGINES and of and _takes_of(engine):
        return BackendName(text, engine, of)
    if text.startswith(_ENGINE_FAULT):
        engine, _, fault = text.removeprefix(_ENGINE_FAULT).rpartition("/")
        return BackendName(text, engine, fault=fault) if fault and engine in ENGINES else None
    fault, _, of = text.partition("/")
    if (fault == "mutant" and of) or (fault == "slow" and re.fullmatch(r"[0-9]+(\.[0-9]+)?", of)):
        return BackendName(text, fault, of)
    return None


def _takes_of(engine: str) -> bool:
    row = ENGINES[engine]
    return row.builds or engine == "reference" or bool(row.environment)


def without_build(short: str) -> str:
    """Strip the build: requirements and tables name results of llama.cpp@b4753 llama.cpp."""
    return short.partition("@")[0]

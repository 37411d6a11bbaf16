"""The syntax of backend names.

- ENGINE: of engines.py
- ENGINE@BUILD[:DEVICE]: a registered build of libllama, or any folder of one
- ENGINE@VERSION: of an engine that has an environment of its own
- reference@RELEASE: the meaning of an older release
- mutant/NAME, mutant/engine/ENGINE/FAULT: with a planted fault
- slow/PERCENT: llama.cpp, slowed down
- NAME=BACKEND: one of these under another name
- NAME=COMMAND: any adapter; a name with a space is a command itself

`sandbox:` before any of them, which `run --sandbox` adds, means that it runs in a sandbox.
"""

import re
from dataclasses import dataclass, replace

from sampler_parity.harness.backends.engines import ENGINES

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

"""Backend names and the commands that run them.

A name is one of BUILT_IN, `llama.cpp@NAME` (a registered build of libllama),
`llama.cpp@FOLDER` (any other), `reference@RELEASE` (what an older release meant), `mutant/NAME`, or
`NAME=COMMAND` for any adapter; a name with a space is taken as a command itself.
"""

import shlex
import sys
from pathlib import Path

from harness import builds
from harness.by_release import known_release
from harness.errors import InputError
from harness.mutants import MUTANTS
from harness.process import BackendFailure, BackendProcess
from harness.results import BackendInfo
from reference.releases import NEWEST

_WORKER = [sys.executable, "-m", "harness.worker"]

BUILT_IN: dict[str, str] = {
    "llama.cpp": "the native chain of the installed llama-cpp-python",
    "llama.cpp/graph": "the same samplers in the model's graph, on its device",
    "token_trie": "the native chain with the token trie in it",
    "reference": "the reference in a process of its own",
    "null": "does nothing: the floor of every timing",
}

# Named in the design, but not built yet: they say so instead of being unknown.
PLANNED: dict[str, str] = {
    "tsampler": "the TypeScript sampler",
    "akunu/cpu": "Akunu's CPU pipeline",
    "akunu/gumbel": "Akunu's Gumbel-max kernel",
    "power_law": "the power-law sampler",
    "transformers": "Hugging Face logits processors",
}


def command_of(name: str) -> tuple[str, list[str]]:
    """The short name and the command of a backend. Raises InputError for an unknown one."""
    if "=" in name:
        short, _, command = name.partition("=")
        return short, shlex.split(command)
    if " " in name:
        return name, shlex.split(name)
    if name in BUILT_IN:
        return name, [*_WORKER, name]
    if name.startswith("reference@"):
        return name, [*_WORKER, "reference", known_release(name.removeprefix("reference@"))]
    if name.startswith(("llama.cpp@", "llama.cpp/graph@", "token_trie@")):
        worker, _, build = name.partition("@")
        return name, [*_WORKER, worker, *builds.worker_arguments(build)]
    if name.startswith("mutant/") and name.removeprefix("mutant/") in MUTANTS:
        return name, [*_WORKER, "mutant", name.removeprefix("mutant/")]
    if name in PLANNED:
        raise InputError(f"backend {name}", "is not available in this version")
    known = ", ".join(BUILT_IN)
    raise InputError(
        f"backend {name!r}",
        "unknown",
        f"use {known}, llama.cpp@BUILD, llama.cpp@BUILD:DEVICE or NAME=COMMAND",
    )


def references(names: list[str], reference: str) -> dict[str, str]:
    """By backend, the release whose meaning it is judged by: the one given, or with `own` that of
    its build; v0.5.0 for what is no build of llama.cpp. Raises InputError."""
    if reference != "own":
        known_release(reference)
    found = {}
    for name in names:
        command_of(name)
        found[name] = known_release(_release_of(name)) if reference == "own" else reference
    return found


def _release_of(name: str) -> str:
    if "=" not in name and name.startswith("reference@"):
        return name.removeprefix("reference@")
    if "=" in name or " " in name or not name.startswith("llama.cpp@"):
        return NEWEST
    return builds.worker_arguments(name.partition("@")[2])[1] or NEWEST


def start(name: str, timeout_s: float = 60.0) -> BackendProcess:
    short, command = command_of(name)
    return BackendProcess(short, command, timeout_s)


def inspect(name: str) -> BackendInfo:
    """What a backend says of itself, or why it does not run here."""
    short, command = command_of(name)
    shown = [Path(command[0]).name, *command[1:]]
    process = BackendProcess(short, command)
    try:
        hello = process.hello()
    except BackendFailure as failure:
        return BackendInfo(command=shown, unavailable=str(failure))
    finally:
        process.close()
    return BackendInfo(
        command=shown,
        name=hello.name,
        version=hello.version,
        build=hello.build,
        device=hello.device,
        capabilities=list(hello.capabilities),
    )

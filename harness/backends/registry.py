"""Backend names and the commands that run them.

A name is one of BUILT_IN, `llama.cpp@NAME` (a registered build of libllama),
`llama.cpp@FOLDER` (any other), `reference@RELEASE` (what an older release meant), `mutant/NAME`,
`slow/PERCENT` (llama.cpp, slowed down), or `NAME=COMMAND` for any adapter; a name with a space is
taken as a command itself.
"""

import re
import shlex
import sys
from pathlib import Path

from sampler_parity.harness.backends.llama_cpp import builds
from sampler_parity.harness.backends.llama_cpp.signatures import known_release
from sampler_parity.harness.bundle.records.case import BackendInfo
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.protocol.process import BackendFailure, BackendProcess
from sampler_parity.reference.releases import NEWEST

_WORKER = [sys.executable, "-m", "sampler_parity.harness.backends.worker"]
TSAMPLER = Path(__file__).parent / "tsampler"
_NODE = {"tsampler": "own", "tsampler/published": "published"}

BUILT_IN: dict[str, str] = {
    "llama.cpp": "the native chain of the installed llama-cpp-python",
    "llama.cpp/graph": "the same samplers in the model's graph, on its device",
    "token_trie": "the native chain with the token trie in it",
    "reference": "the reference in a process of its own",
    "akunu/cpu": "Akunu's CPU pipeline",
    "akunu/gumbel": "Akunu's Gumbel-max path, float16 noise as on the GPU and float32",
    "akunu/cuda": "the same on an NVIDIA GPU",
    "power_law": "the power-law sampler, behind the reference's filters",
    "tsampler": "tsampler's documented API in TypeScript, our implementation, on Node.js",
    "tsampler/published": "the package @lloyal-labs/tsampler in its place, where it is installed",
    "transformers": "Hugging Face's logits processors",
    "llguidance": "llguidance's grammars, GBNF by its own converter",
    "llguidance/rules": "the same engine on the rules as llama.cpp reads them",
    "xgrammar": "xgrammar's grammars, GBNF as it is",
    "xgrammar/rules": "the same engine on the rules as llama.cpp reads them",
    "null": "does nothing: the floor of every timing",
}


def command_of(name: str) -> tuple[str, list[str]]:
    """The short name and the command of a backend. Raises InputError for an unknown one."""
    if "=" in name:
        short, _, command = name.partition("=")
        return short, shlex.split(command)
    if " " in name:
        return name, shlex.split(name)
    if name in _NODE:
        return name, ["node", str(TSAMPLER / "adapter.mjs"), _NODE[name]]
    if name in BUILT_IN:
        return name, [*_WORKER, name]
    if name.startswith("reference@"):
        return name, [*_WORKER, "reference", known_release(name.removeprefix("reference@"))]
    if name.startswith(("llama.cpp@", "llama.cpp/graph@", "token_trie@")):
        worker, _, build = name.partition("@")
        return name, [*_WORKER, worker, *builds.worker_arguments(build)]
    if name.startswith("mutant/"):
        return name, [*_WORKER, "mutant", name.removeprefix("mutant/")]
    if re.fullmatch(r"slow/[0-9]+(\.[0-9]+)?", name):
        return name, [*_WORKER, "slow", name.removeprefix("slow/")]
    known = ", ".join(BUILT_IN)
    raise InputError(
        f"backend {name!r}",
        "unknown",
        f"use {known}, llama.cpp@BUILD, llama.cpp@BUILD:DEVICE or NAME=COMMAND",
    )


def references(names: list[str], reference: str | None) -> dict[str, str | None]:
    """By backend, the release whose meaning it is judged by: the one given, or with `own` that of
    its build. None: as the cases require, by v0.5.0. Raises InputError."""
    if reference not in (None, "own"):
        known_release(reference)
    found: dict[str, str | None] = {}
    for name in names:
        command_of(name)
        found[name] = _release_of(name) if reference == "own" else reference
    return found


def _release_of(name: str) -> str | None:
    """None for what is no build of llama.cpp."""
    worker, _, build = name.partition("@")
    if "=" in name or " " in name or worker not in ("llama.cpp", "reference"):
        return None
    if worker == "llama.cpp" and build:
        build = builds.worker_arguments(build)[1]
    return known_release(build or NEWEST)


def device_of(name: str) -> str:
    """The device that a backend is bound to: that of BUILD:DEVICE, cuda of akunu/cuda, else ""."""
    if name == "akunu/cuda":
        return "cuda"
    bound = "@" in name and "=" not in name and name.startswith(("llama.cpp", "token_trie"))
    return command_of(name)[1][-1] if bound else ""


def start(name: str, timeout_s: float = 60.0) -> BackendProcess:
    short, command = command_of(name)
    return BackendProcess(short, command, timeout_s)


def inspect(name: str) -> BackendInfo:
    """What a backend says of itself, or why it does not run here."""
    process = start(name)
    try:
        return about(process)
    finally:
        process.close()


def about(process: BackendProcess) -> BackendInfo:
    """The same of a backend that may go on running."""
    shown = [Path(process.command[0]).name, *process.command[1:]]
    try:
        hello = process.hello()
    except BackendFailure as failure:
        return BackendInfo(command=shown, unavailable=str(failure))
    return BackendInfo(
        command=shown,
        name=hello.name,
        version=hello.version,
        build=hello.build,
        device=hello.device,
        capabilities=list(hello.capabilities),
    )

"""The command that runs one case of a bundle again."""

import shlex

from harness.results import BackendInfo
from reference.releases import NEWEST


def replay(suite: str, case: str, seed: int, backends: dict[str, BackendInfo]) -> str:
    """The command that runs one case again. Foreign adapters are named with their command."""
    words = ["sampler-parity", "run", *([suite] if suite else []), "--case", case]
    words += ["--seed", str(seed)] if seed else []
    for name, info in backends.items():
        words += ["-b", _backend_option(name, info)]
    releases = {info.reference for info in backends.values()}
    if releases - {NEWEST}:
        words += ["--reference", releases.pop() if len(releases) == 1 else "own"]
    return shlex.join(words)


def _backend_option(name: str, info: BackendInfo) -> str:
    if not info.command or "harness.worker" in info.command or " " in name:
        return name
    return f"{name}={shlex.join(info.command)}"

"""The command that runs one case of a bundle again."""

import shlex

from sampler_parity.harness.bundle.records.case import BackendInfo
from sampler_parity.reference.releases import NEWEST

# As it stands in the commands of bundles; the second name is that of releases up to 0.1.
_WORKERS = {"sampler_parity.harness.backends.worker", "harness.worker"}


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
    if not info.command or _WORKERS & set(info.command) or " " in name:
        return name
    return f"{name}={shlex.join(info.command)}"

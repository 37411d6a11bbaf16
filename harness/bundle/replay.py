"""The command that runs one case of a bundle again, from any folder of the machine of the run."""

import os
import re
from collections.abc import Iterable

from sampler_parity.harness.bundle.info import RECORDING, BackendInfo, RunInfo
from sampler_parity.harness.processes import shell
from sampler_parity.reference.chronology import NEWEST

# As it stands in the commands of bundles; the second name is that of releases up to 0.1.
_PROGRAM = re.compile(r"harness[/\\]backends[/\\](?:(?P<folder>\w+)[/\\])?(?P<stem>\w+)\.\w+$")
_WORKERS = ("sampler_parity.harness.backends.worker", "harness.worker")


def replay(info: RunInfo, suite: str, case: str, backends: Iterable[str]) -> str:
    """Return the command that runs one case of a run again, on those of these backends that were
    in it."""
    if suite == RECORDING:
        return shell.join(info.command)
    infos = {name: info.backends[name] for name in backends if name in info.backends}
    line = command(info.paths.get(suite, suite), case, info.seed, infos)
    if accept := info.options.get("accept"):
        line += f" --accept {shell.join([accept])}"
    return f"{line} --require-all" if "require_all" in info.options else line


def command(suite: str, case: str, seed: int, backends: dict[str, BackendInfo]) -> str:
    """Format the command. suite: its name or its path. An untrusted adapter is named with its
    command."""
    parts = ["sampler-parity", "run", *([suite] if suite else []), "--case", case]
    parts += ["--seed", str(seed)] if seed else []
    for name, info in backends.items():
        parts += ["-b", backend_option(name, info)]
    parts += ["--sandbox"] if any(info.sandbox for info in backends.values()) else []
    releases = {info.reference for info in backends.values()}
    if releases - {NEWEST}:
        parts += ["--reference", releases.pop() if len(releases) == 1 else "own"]
    return shell.join(parts)


def backend_option(name: str, info: BackendInfo) -> str:
    if not info.command or (" " in name and ("=" in name or info.command == shell.split(name))):
        return name
    worker = next((i for i, word in enumerate(info.command) if word in _WORKERS), None)
    if worker is None:
        is_program = re.split(r"[@/]", name)[0] in _programs(info.command)
        return name if is_program else f"{name}={shell.join(info.command)}"
    engine, *arguments = info.command[worker + 1 :] or [name]
    engine = engine.removesuffix("/elsewhere")  # what runs a build for another platform
    of_engine = name == engine or name.startswith((f"{engine}@", f"{engine}/"))
    if of_engine and not _is_relative_path(name.partition("@")[2]):
        return name
    return f"{name}={_engine_name(engine, arguments)}"


def _programs(command: list[str]) -> set[str]:
    """Return the names that an engine of ours may have whose command names a program below
    harness/backends: the program, its folder, and the worker that it starts."""
    names: set[str] = set()
    for word, behind in zip(command, [*command[1:], ""], strict=True):
        if of_ours := _PROGRAM.search(word):
            names |= {of_ours["folder"] or "", of_ours["stem"], behind}
    return names - {""}


def _is_relative_path(build: str) -> bool:
    """Return whether a build was named by a relative folder; `./build` is, `b4753` is not."""
    return ("/" in build or os.sep in build) and not os.path.isabs(build)


def _engine_name(engine: str, arguments: list[str]) -> str:
    """Return the name of a backend by the command line of its worker."""
    if engine in ("mutant", "slow"):
        return f"{engine}/{arguments[0]}"
    if not any(arguments):
        return engine
    build, _, device = [*arguments, "", ""][:3]
    return f"{engine}@{build}:{device}" if device else f"{engine}@{build}"

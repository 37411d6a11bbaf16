"""The backends of this process, and the description of a run before it starts: the backends are
asked where they will run."""

import datetime
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from multiprocessing.util import Finalize
from typing import Any

from sampler_parity.harness.backends import registry
from sampler_parity.harness.bundle import machine
from sampler_parity.harness.bundle.info import BackendInfo, FileInfo, RunInfo
from sampler_parity.harness.protocol.process import BackendProcess
from sampler_parity.reference.chronology import NEWEST

_started: dict[tuple[int, str, float], BackendProcess] = {}


def backend(
    name: str, timeout_s: float, version: str = "", files: Sequence[FileInfo] = ()
) -> BackendProcess:
    """Return this process's backend of that name. version: of the run; the backend must report
    it. files: of the run; each start must find them."""
    key = (os.getpid(), name, timeout_s)  # a forked process leaves its parent's backends alone
    if key not in _started:
        _started[key] = registry.start(name, timeout_s, copied=True)
        # not atexit, which a forked process of an executor skips
        Finalize(None, _started[key].close, exitpriority=0)
    if version:
        _started[key].version = version
    registry.expect(_started[key], files)
    return _started[key]


@dataclass(frozen=True)
class Intent:
    """The fields of run.json that neither the backends nor the machine report. backends: as in
    `Terms`. ready_s: keep the backends running, for requests of so many seconds. state: the
    machine's `deciding()`, if the plan asked; only for processes of this machine. command: of this
    process; another one may describe the run."""

    backends: dict[str, str | None]
    suites: dict[str, str] = field(default_factory=dict)
    profile: str = "full"
    seed: int = 0
    only: tuple[str, ...] = ()
    ready_s: float | None = None
    state: Mapping[str, Any] | None = None
    command: tuple[str, ...] = field(default_factory=lambda: ("sampler-parity", *sys.argv[1:]))


def describe(intent: Intent) -> RunInfo:
    """Return the content of run.json; ask every backend to describe itself."""

    def about(name: str) -> BackendInfo:
        if not intent.ready_s:
            return registry.inspect(name)
        return registry.about(name, backend(name, intent.ready_s))

    return RunInfo(
        version=version("sampler-parity"),
        started=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        command=list(intent.command),
        suites=intent.suites,
        profile=intent.profile,
        seed=intent.seed,
        only=list(intent.only),
        backends={
            registry.command_of(name)[0]: about(name).model_copy(
                update={"reference": release or NEWEST}
            )
            for name, release in intent.backends.items()
        },
        machine=machine.describe(intent.state),
    )


def absent_of(info: dict[str, BackendInfo], names: Iterable[str]) -> dict[str, str]:
    """Return the backends that do not run here, with the reason."""
    why = {name: info[registry.command_of(name)[0]].unavailable for name in names}
    return {name: reason for name, reason in why.items() if reason}


def versions_of(info: RunInfo, names: Iterable[str]) -> dict[str, str]:
    """Return the version of each backend in the header of the run."""
    return {name: info.backends[registry.command_of(name)[0]].version for name in names}

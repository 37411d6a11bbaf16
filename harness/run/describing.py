"""What a run is, before anything is run: asked of its backends, where they will run."""

import datetime
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from importlib.metadata import version

from sampler_parity.harness.backends import registry
from sampler_parity.harness.bundle import machine
from sampler_parity.harness.bundle.info import BackendInfo, RunInfo
from sampler_parity.harness.run.started import backend
from sampler_parity.reference.chronology import NEWEST


def _command_line() -> tuple[str, ...]:
    """That of this process, which another may be asked with."""
    return ("sampler-parity", *sys.argv[1:])


@dataclass(frozen=True)
class Intent:
    """What run.json says of a run beside what its backends and its machine say. backends: as of
    `Terms`. ready_s: they go on running, for requests of so many seconds."""

    backends: dict[str, str | None]
    suites: dict[str, str] = field(default_factory=dict)
    profile: str = "full"
    seed: int = 0
    only: tuple[str, ...] = ()
    ready_s: float | None = None
    command: tuple[str, ...] = field(default_factory=_command_line)


def describe(intent: Intent) -> RunInfo:
    """run.json of a run; asks every backend what it is."""

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
        machine=machine.describe(),
    )


def absent_of(info: dict[str, BackendInfo], names: Iterable[str]) -> dict[str, str]:
    """The backends that do not run here, and why."""
    why = {name: info[registry.command_of(name)[0]].unavailable for name in names}
    return {name: reason for name, reason in why.items() if reason}


def versions_of(info: RunInfo, names: Iterable[str]) -> dict[str, str]:
    """What each of the backends says in the header of the run."""
    return {name: info.backends[registry.command_of(name)[0]].version for name in names}
